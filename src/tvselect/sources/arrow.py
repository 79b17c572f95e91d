"""What the readers of Arrow files share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.arrow import as_numbers, as_target, as_text, load
from tvselect.inputs.errors import SourceError
from tvselect.inputs.frames import Columns
from tvselect.inputs.kinds import Field
from tvselect.inputs.table import Table
from tvselect.inputs.text import Rows
from tvselect.sources.chunks import Chunk
from tvselect.sources.columns import categorical_mask


@contextmanager
def arrow_errors(what: str, remedy: str) -> Iterator[None]:
    """Turn pyarrow's errors into a SourceError that says where and what to do."""
    exceptions = (load("pyarrow").ArrowException, OSError, UnicodeDecodeError, LookupError)
    try:
        yield
    except exceptions as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(". ")
        raise SourceError(f"{what}: {reason}", remedy) from error


def pooled(blocks: Iterable[Any], least: int) -> Iterator[Any]:
    """Record batches put together to tables of at least some rows."""
    pa = load("pyarrow")
    held: list[Any] = []
    for block in chain(blocks, [None]):
        if block is not None:
            held.append(pa.Table.from_batches([block]))
        n_rows = sum(map(len, held))
        if n_rows >= least or (block is None and n_rows > 0):
            yield pa.concat_tables(held, promote_options="permissive")
            held = []


def lazy_chunk(
    read: Callable[[str], Any], fields: Sequence[Field], n_rows: int, where: str, lock: Lock
) -> Chunk:
    """Columns that are read when first asked for, and kept as long as the chunk.

    Parameters
    ----------
    read : callable
        ``read(name)``: the Arrow array of a column.
    fields : sequence of Field
        The last one is the target.
    n_rows : int
    where : str
        The chunk's name in error messages.
    lock : Lock
        Held while reading; chunks that share a reader share it.
    """
    names = tuple(field.name for field in fields)
    kept: dict[str, Any] = {}

    def column(name: str, convert: Callable[[Any], Any]) -> Any:
        with lock:
            if name not in kept:
                what = f"column {name!r} of {where} cannot be read"
                with arrow_errors(what, "the file is damaged or has changed; write it again"):
                    values = read(name)
                    if len(values) != n_rows:
                        raise SourceError(f"{what}: the file has changed; start again")
                    kept[name] = convert(values)
            return kept[name]

    def numbers(columns: Columns, rows: Rows) -> NDArray[np.floating[Any]]:
        places = range(len(names) - 1)[columns] if isinstance(columns, slice) else columns
        parts = [column(names[j], as_numbers)[rows] for j in places]
        with np.errstate(invalid="ignore"):  # a signalling NaN is a missing value like others
            return np.array(parts).T

    table = Table(
        n_rows,
        names[:-1],
        numbers,
        categorical=categorical_mask(fields[:-1]),
        text=lambda j: column(names[j], as_text),
    )
    return Chunk(table, lambda: column(names[-1], as_target))
