"""The one file inside a zip archive, as a stream."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from typing import Any, final
from zipfile import BadZipFile, ZipFile

from tvselect.inputs.errors import SourceError

FAULTS = (BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, zlib.error)


@final
class ZipMember(io.RawIOBase):
    """The only file of an archive, unpacked as it is read.

    Parameters
    ----------
    archive : str or file
        Its path, or it, open for reading anywhere in it.
    path : str
        For error messages.

    Raises
    ------
    OSError
        When the archive is damaged or locked, then or later.
    SourceError
        When it holds no file, or several.
    """

    def __init__(self, archive: Any, path: str) -> None:
        self._zip = _sound(lambda: ZipFile(archive))
        try:
            self._member = self._find_member(path)
        except (OSError, SourceError):
            self._zip.close()
            raise

    def _find_member(self, path: str) -> Any:
        names = [item.filename for item in self._zip.infolist() if not item.is_dir()]
        # What macOS adds is no data.
        meant = [name for name in names if not name.startswith(("__MACOSX/", "."))]
        if len(meant) != 1:
            raise SourceError(
                f"{path} holds {len(meant)} files; it must hold one table",
                "unpack it, and name the table",
            )
        return _sound(lambda: self._zip.open(meant[0]))

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer; returns how many bytes there were."""
        block = _sound(lambda: self._member.read(len(buffer)))
        buffer[: len(block)] = block
        return len(block)

    def close(self) -> None:
        """Close the archive, too."""
        if not self.closed:
            self._member.close()
            self._zip.close()
        super().close()


def _sound(step: Callable[[], Any]) -> Any:
    try:
        return step()
    except FAULTS as error:
        raise OSError(f"the archive is damaged or locked ({error})") from error
