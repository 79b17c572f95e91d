"""Tables whose rows are to be columns, such as genes in rows."""

from __future__ import annotations

import csv
import io

from tvselect.inputs.arrow import load
from tvselect.inputs.errors import SourceError
from tvselect.inputs.table import refuse_repeated
from tvselect.inputs.text import Mark
from tvselect.sources.csv import CsvFiles
from tvselect.sources.dialect import BLANKS
from tvselect.sources.stored import TableFiles
from tvselect.sources.texts import HeldText


def transposed(files: TableFiles, decimal: Mark | None) -> CsvFiles:
    """The same table with its rows as columns, named by the first column.

    The names of the columns, which would be those of the rows, are left out.

    Raises
    ------
    SourceError
        When the first column has empty or repeated names.
    """
    first, *others = files.names
    refuse_repeated(files.names, files.where, "rename them")
    if not others:
        raise SourceError(
            f"{files.where} has one column", "to transpose it, it needs names and values"
        )
    delimiter = ","
    if isinstance(files, CsvFiles):
        cells = files.read_cells(files.names)
        delimiter = "," if files.dialect.delimiter == BLANKS else files.dialect.delimiter
    else:
        table, string = files.read(), load("pyarrow").string()
        cells = table.cast(load("pyarrow").schema([(name, string) for name in files.names]))
    names = cells.column(0).to_pylist()
    for number, name in enumerate(names, start=1):
        if not name:
            raise SourceError(
                f"row {number} of {files.where} has no name in its first column, {first!r}",
                "a column-to-be needs one",
            )
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(names)
    for place in range(1, len(others) + 1):
        writer.writerow(cells.column(place).to_pylist())
    text = HeldText(files.files[0], files.encoding, data=out.getvalue().encode())
    turned = CsvFiles(
        files.where, files.files, delimiter, decimal, texts=[text], format=files.format
    )
    turned.is_transposed, turned.sheets = True, files.sheets
    return turned
