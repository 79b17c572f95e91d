"""The files that a path, folder, glob, address or list of these stands for, and their hashes."""

from __future__ import annotations

import io
import os
import sys
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from hashlib import sha256
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, Any
from zipfile import BadZipFile, ZipFile

from tvselect.inputs.arrow import arrow_errors, load
from tvselect.inputs.errors import SourceError
from tvselect.sources.addresses import errors_at, open_remote, without_secrets
from tvselect.words import is_utf8

ENDS, SAMPLES = 64 * 1024, 16
FOOTERS = (b"PAR1", b"ARROW1")  # how Parquet and Arrow files end, behind the size of the footer
CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
PACKED = (".gz", ".bz2", ".zst", ".zip")
ZIP_FAULTS = (BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, zlib.error)
STANDARD_INPUT = "-"
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True)
class DataFile:
    """A file and its Arrow file system, or bytes in memory."""

    path: str
    filesystem: Any
    root: str = ""  #: The folder in which it was found, if any
    data: bytes | None = None  #: Standard input, or a text made from the file

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return self.stamp()[0]

    def stamp(self) -> tuple[int, ...]:
        """Size and time of the file, and the inode of a local one."""
        if self.data is not None:
            return len(self.data), 0
        if self.is_local:
            found = os.stat(self.path)
            return found.st_size, found.st_mtime_ns, found.st_ino
        info = self.filesystem.get_file_info(self.path)
        return int(info.size or 0), int(info.mtime_ns or 0)

    @property
    def is_packed(self) -> bool:
        """Whether it is compressed, by its extension."""
        return self.data is None and self.path.lower().endswith(PACKED)

    @property
    def is_local(self) -> bool:
        """Whether it is a file of this machine."""
        return self.data is None and self.filesystem.type_name == "local"

    def open(self, *, mapped: bool = False) -> Any:
        """The file for random access; if ``mapped``, a local one is mapped into memory."""
        if self.data is not None:
            return load("pyarrow").BufferReader(self.data)
        if mapped and self.is_local:
            return load("pyarrow").memory_map(self.path)
        return self.filesystem.open_input_file(self.path)

    def open_stream(self) -> Any:
        """The file as a stream, decompressed according to its extension."""
        if self.data is not None:
            return self.open()
        if self.path.lower().endswith(".zip"):
            archive: Any = self.path if self.is_local else io.BytesIO(self.open().read())
            return load("pyarrow").PythonFile(_open_member(archive, self.path), mode="r")
        codec = CODECS.get(PurePath(self.path).suffix.lower())
        return self.filesystem.open_input_stream(self.path, compression=codec)


def find_files(paths: Paths, suffixes: tuple[str, ...]) -> list[DataFile]:
    """The files of paths, folders, globs or addresses; in folders those with these suffixes."""
    if paths == STANDARD_INPUT:
        if sys.stdin is None or sys.stdin.isatty():
            raise SourceError("nothing comes through standard input; pipe a table into it")
        return [DataFile("standard input", None, data=sys.stdin.buffer.read())]
    items = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not items:
        raise SourceError("the list of files is empty")
    found: list[DataFile] = []
    for item in items:
        find = _find_remote if "://" in (text := os.fspath(item)) else _find_local
        found += find(text, suffixes)
    return found


def shown(paths: Paths) -> str:
    """Paths in an error message; addresses without their secrets."""
    if paths == STANDARD_INPUT:
        return "standard input"
    if isinstance(paths, str | os.PathLike):
        return without_secrets(os.fspath(paths))
    first = without_secrets(os.fspath(next(iter(paths), "")))
    return first if len(paths) < 2 else f"{first} and {len(paths) - 1} more"


def _find_local(item: str, suffixes: tuple[str, ...]) -> list[DataFile]:
    try:
        path = Path(item).expanduser()
        is_folder = path.is_dir()
    except PermissionError:
        raise
    except (OSError, RuntimeError) as error:  # too long a name, the home of nobody
        raise SourceError(f"{item[:200]!r} cannot be a path ({error.args[-1]})") from error
    found = [path]
    if is_folder:
        inside = (file.relative_to(path) for file in path.rglob("*") if file.is_file())
        found = _some_in(item, sorted(path / f for f in inside if _is_meant(f, suffixes)), suffixes)
    elif has_magic(item) and not path.exists():
        found = sorted(map(Path, glob(str(path), recursive=True)))
        if not found:
            raise FileNotFoundError(f"no file matches {item!r}; look at the path")
    root = ""
    if found != [path]:  # a folder, or the one in which a glob begins to search
        above = next(part for part in (path, *path.parents) if not has_magic(str(part)))
        root = str(above.absolute())
    for file in found:
        if not is_utf8(str(file)):
            raise SourceError(f"the name {str(file)!a} is not UTF-8", "rename the file")
        if not file.exists():
            raise FileNotFoundError(f"{file} does not exist; look at the path")
        if file.is_dir():
            raise SourceError(f"{file} is a folder; a glob must match files only")
        if not file.is_file():  # a pipe without a writer would block
            raise SourceError(f"{file} is no file but a pipe or a device", "save it as a file")
        if not os.access(file, os.R_OK):
            raise PermissionError(f"{file} may not be read; ask for the right, or copy it")
    local = load("pyarrow.fs").LocalFileSystem()
    return [DataFile(str(file.absolute()), local, root) for file in found]


def _find_remote(url: str, suffixes: tuple[str, ...]) -> list[DataFile]:
    fs, seen = load("pyarrow.fs"), without_secrets(url)
    with errors_at(url):
        filesystem, path = open_remote(url)
        info = filesystem.get_file_info(path)
        listed = fs.FileSelector(path, recursive=True) if info.type == fs.FileType.Directory else []
        inside = filesystem.get_file_info(listed)
    if info.type == fs.FileType.NotFound:
        raise FileNotFoundError(f"{seen} does not exist; look at the address")
    if info.is_file:
        return [DataFile(path, filesystem)]
    files = sorted(
        each.path
        for each in inside
        if each.is_file and _is_meant(PurePosixPath(each.path).relative_to(path), suffixes)
    )
    return [DataFile(file, filesystem, path) for file in _some_in(seen, files, suffixes)]


def _is_meant(file: PurePath, suffixes: tuple[str, ...]) -> bool:
    # Spark and Dask write files that are not data, such as those in _temporary.
    hidden = any(part.startswith((".", "_")) for part in file.parts)
    return not hidden and file.name.lower().endswith(suffixes)


def _some_in(folder: str, files: list[Any], suffixes: tuple[str, ...]) -> list[Any]:
    if not files:
        raise SourceError(
            f"the folder {folder} holds no file that ends in {', '.join(suffixes)}; for other "
            f"files pass a glob, such as {folder.rstrip('/')}/*.csv"
        )
    return files


def hash_files(files: Iterable[DataFile], start: str) -> str:
    """A hash of ``start`` and of the name, size, ends, footer and samples of each file."""
    total = sha256(start.encode())
    for file in files:
        with (
            arrow_errors(f"{file.path} cannot be read", "look whether it is still there"),
            file.open() as stream,
        ):
            size = stream.size()
            total.update(f"{PurePosixPath(file.path).name}\0{size}\0".encode())
            last = max(0, size - ENDS)
            for place in sorted({last * k // (SAMPLES + 1) for k in range(SAMPLES + 2)}):
                stream.seek(place)
                part = stream.read(ENDS)
                total.update(part)
            n_footer = 0
            for magic in FOOTERS:
                if part.endswith(magic):
                    n_footer = int.from_bytes(part[-len(magic) - 4 : -len(magic)], "little")
            stream.seek(max(0, size - n_footer))
            total.update(stream.read(n_footer))
    return total.hexdigest()


def hash_stamps(files: Iterable[DataFile]) -> str:
    """A hash of the sizes and times of files."""
    return sha256(repr([file.stamp()[:2] for file in files]).encode()).hexdigest()


def _open_member(archive: Any, path: str) -> IO[bytes]:
    """The only file of an archive, without what macOS adds."""
    try:
        opened = ZipFile(archive)
        names = [item.filename for item in opened.infolist() if not item.is_dir()]
        names = [name for name in names if not name.startswith(("__MACOSX/", "."))]
        if len(names) == 1:
            return opened.open(names[0])
    except ZIP_FAULTS as error:
        raise OSError(f"the archive is damaged or locked ({error})") from error
    raise SourceError(
        f"{path} holds {len(names)} files; it must hold one table", "unpack it, and name the table"
    )
