"""Spreadsheets: one sheet as text, read by python-calamine."""

from __future__ import annotations

import csv
import io
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from importlib import import_module
from typing import Any, NamedTuple
from xml.parsers.expat import ExpatError, ParserCreate
from zipfile import ZipFile

from tvselect.inputs.arrow import most_unpacked
from tvselect.inputs.errors import SourceError
from tvselect.sources.files import DataFile
from tvselect.sources.texts import UTF_8, HeldText
from tvselect.sources.zipped import FAULTS

LARGEST_WHOLE = 2.0**53
DAY = timedelta(days=1)


class Sheet(NamedTuple):
    """A sheet of a workbook.

    Attributes
    ----------
    text : HeldText
        As CSV.
    name : str
    others : tuple of str
        Names of other sheets that hold something.
    """

    text: HeldText
    name: str
    others: tuple[str, ...]


def read_sheet(file: DataFile, name: str | None) -> Sheet:
    """A sheet by its name, or the first that holds something.

    Raises
    ------
    ModuleNotFoundError
        Without python-calamine; says how to install it.
    SourceError
        When it is damaged or locked, holds nothing or no such sheet.
    """
    try:
        calamine = import_module("python_calamine")
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "reading spreadsheets needs python-calamine: pip install 'tvselect[excel]'"
        ) from None
    with file.open() as stream:
        data = stream.read()
    _refuse_bomb(data, file.path)
    try:
        _require_whole(data)
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        filled = {n: s for n in book.sheet_names if (s := book.get_sheet_by_name(n)).height > 0}
        if name is not None and name not in filled:
            raise SourceError(f"{file.path} has no sheet {name!r}; it has {_listed(filled)}")
        if not filled:
            raise SourceError(
                f"{file.path} is empty", "it needs a line of column names and rows below it"
            )
        chosen = next(iter(filled)) if name is None else name
        rows = filled[chosen].to_python()
    except calamine.PasswordError:
        raise SourceError(f"{file.path} is locked", "save it without a password") from None
    except (OSError, ExpatError, calamine.CalamineError) as error:
        raise SourceError(
            f"{file.path} cannot be read as a spreadsheet: {error}",
            "it is damaged, cut off or of another format: save it again",
        ) from error
    others = tuple(other for other in filled if other != chosen)
    return Sheet(HeldText(file, UTF_8, data=_as_csv(rows)), chosen, others)


def _as_csv(rows: list[list[Any]]) -> bytes:
    """Rows as CSV; those and columns in which nothing stands are left out."""
    used = [any(row[place] != "" for row in rows) for place in range(len(rows[0]))]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in rows:
        cells = [_cell(value) for value, is_used in zip(row, used, strict=True) if is_used]
        if any(cells):
            writer.writerow(cells)
    return out.getvalue().encode()


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < LARGEST_WHOLE else repr(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    if isinstance(value, timedelta):
        return repr(value / DAY)
    return str(value)


def _refuse_bomb(data: bytes, path: str) -> None:
    limit = most_unpacked(len(data))
    n_bytes = 0
    with suppress(*FAULTS), ZipFile(io.BytesIO(data)) as archive:
        n_bytes = sum(item.file_size for item in archive.infolist())
    if n_bytes > limit:
        raise SourceError(f"{path} unpacks to more than {limit:,} bytes", "save it as Parquet")


def _require_whole(data: bytes) -> None:
    """Raise an ExpatError for a .ods that was cut off: calamine would look for its end for ever."""
    with (
        suppress(*FAULTS, KeyError),
        ZipFile(io.BytesIO(data)) as archive,
        archive.open("content.xml") as content,
    ):
        ParserCreate("utf-8").ParseFile(content)  # whatever it says of itself


def _listed(names: Any) -> str:
    return ", ".join(map(repr, names)) or "none that holds anything"
