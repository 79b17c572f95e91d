"""Genotypes and cells: PLINK, AnnData, matrices of 10x Genomics, and linkage of neighbours.

A format is read into :class:`StoredColumns`; ``tvselect.sources`` makes a table of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tvselect.inputs.columns import ColumnFile


class StoredColumns(NamedTuple):
    """Columns that stay in a file, and what that file says of its rows."""

    file: ColumnFile
    names: list[str]  #: Of its columns
    ids: Sequence[tuple[str, str]]  #: Family and name of the rows
    rows: Any  #: What is known of the rows, as an Arrow table; None if nothing
