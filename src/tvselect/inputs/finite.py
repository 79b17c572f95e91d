"""Values that cannot be used, found in blocks of columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tvselect.inputs.file_columns import FileColumns
from tvselect.inputs.sparse import WholeMatrix

VALUES_AT_ONCE = 2**22


def refuse_nonfinite(
    X: WholeMatrix, names: Sequence[str], takes_missing: bool, *, takes_empty: bool = False
) -> None:
    """Raise a ValueError that names the first column with values that cannot be used.

    These are infinite ones, missing ones where the reward takes none, and columns without
    any value unless ``takes_empty``: a batch of a stream may have such columns.
    """
    if isinstance(X, FileColumns):  # its reader hands out nothing that is infinite
        refuse_nonfinite(X.front, names, takes_missing, takes_empty=takes_empty)
        missing = np.empty(0, np.int64) if takes_missing else X.file.with_missing()
        if missing.size:
            name = names[X.front.shape[1] + int(missing[0])]
            raise ValueError(
                f"X contains NaN, which the reward cannot take, in column {name!r}"
                + (f" and {missing.size - 1} more" if missing.size > 1 else "")
            )
        return
    with np.errstate(over="ignore", invalid="ignore"):
        if X.dtype.kind != "f" or np.isfinite(X.sum()):
            return
    n = X.shape[1]
    infinite, some, empty = (np.zeros(n, dtype=np.bool_) for _ in range(3))
    step = max(1, VALUES_AT_ONCE // max(1, len(X)))
    for first in range(0, n, step):
        block = slice(first, first + step)
        missing = np.isnan(X[:, block])
        infinite[block] = np.isinf(X[:, block]).any(axis=0)
        some[block], empty[block] = missing.any(axis=0), missing.all(axis=0)
    for bad, what, remedy in (
        (infinite, "infinity", "put numbers or NaN there, or leave the column out"),
        (
            some & (not takes_missing),
            "NaN, which the reward cannot take,",
            "fill it in, or leave the column out",
        ),
        (empty & (not takes_empty), "no value at all", "leave the column out"),
    ):
        places = np.flatnonzero(bad)
        if places.size:
            others = f" and {places.size - 1} more" if places.size > 1 else ""
            name = names[int(places[0])]
            raise ValueError(f"X contains {what} in column {name!r}{others}; {remedy}")
