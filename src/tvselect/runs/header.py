"""The names of the columns: whether there are any, and whether the target is one of them."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

import numpy as np

from tvselect.inputs.errors import SourceError
from tvselect.inputs.facts import FileFacts
from tvselect.inputs.table import refuse_repeated
from tvselect.inputs.text import number_of
from tvselect.runs.errors import RunError, hint
from tvselect.sources.csv import CsvFiles
from tvselect.sources.stored import TableFiles
from tvselect.words import listed

MOST_LABELS = 200_000


def check_names(files: TableFiles, target: str, what: str = "the target") -> None:
    """Raise a RunError for columns of the same name, and a target that is not there."""
    names, where = files.names, files.where
    if _may_lack_header(files) and (target not in names or len(set(names)) < len(names)):
        raise RunError(
            f"the first line of {where} holds numbers ({listed(names, 3)}); if these are no names, "
            "write a line of names above it"
        )
    refuse_repeated(names, where, "rename them")
    if target in files.in_some:
        n = files.in_some[target]
        raise RunError(f"{what} {target!r} is in {n} of {len(files.files)} files of {where}")
    if target in names:
        return
    with suppress(SourceError):
        if _has_row(files, target):
            raise RunError(
                f"no column of {where} is named {target!r}, but a row is; if its rows are to be "
                "columns, say --transpose"
            )
    raise RunError(f"no column named {target!r} in {where}; {hint(target, names)}")


def _has_row(files: TableFiles, label: str) -> bool:
    """Whether the first column has a label; very many rows are no columns-to-be."""
    if files.is_transposed or not files.names or files.estimate_rows() > MOST_LABELS:
        return False
    return label in files.column(files.names[0]).to_pylist()


def facts_of(files: TableFiles) -> FileFacts:
    """How files are read."""
    return FileFacts(
        encoding=files.encoding,
        delimiter=files.dialect.delimiter if isinstance(files, CsvFiles) else None,
        sheets=files.sheets,
        is_transposed=files.is_transposed,
        numeric_names=_may_lack_header(files),
    )


def _may_lack_header(files: TableFiles) -> bool:
    """Whether all names are numbers, and do not just count the columns."""
    numbers = [number_of(name) for name in files.names]
    steps = {b - a for a, b in pairwise(numbers)}
    is_count = steps == {1.0} and numbers[0] in (0.0, 1.0)
    is_text = isinstance(files, CsvFiles) and not files.is_transposed
    return is_text and len(numbers) > 1 and not is_count and not np.isnan(numbers).any()
