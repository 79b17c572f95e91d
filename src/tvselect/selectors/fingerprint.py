"""A hash of all that the plays of a fit depend on: a journal is continued only where it agrees."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import CodeType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.sparse import ChosenColumns, SparseColumns
from tvselect.rewards import Data

NAMES_AT_A_TIME = 100_000
LARGE = 2**31


def fingerprint(known: Mapping[str, Any]) -> str:
    """Hash of all that the plays depend on; the same in every process."""
    return hashlib.sha256(describe(dict(known)).encode()).hexdigest()


def identity_of(data: Data) -> str:
    """Hash of a table and its outcome."""
    digest = hashlib.sha256()
    digest.update(f"{data.X.shape!r} {data.X.dtype.str}".encode())
    for first in range(0, len(data.names), NAMES_AT_A_TIME):  # there may be millions of names
        names = "".join(f"\0{name}" for name in data.names[first : first + NAMES_AT_A_TIME])
        digest.update(names.encode("utf-8", "surrogatepass"))
    assert not isinstance(data.X, ChosenColumns)
    for X in data.X.stored if isinstance(data.X, SparseColumns) else [data.X]:
        if X.nbytes >= LARGE and X.flags.f_contiguous and not X.flags.c_contiguous:
            X = X.T  # in a file, rows of such a table would be read from one end to the other
        for block in np.array_split(X, max(1, X.nbytes >> 26)):
            digest.update(np.ascontiguousarray(block).data)
    digest.update(describe([data.outcome.values, data.sample_weight]).encode())
    if data.outcome.upper is not None:
        digest.update(describe(data.outcome.upper).encode())
    return digest.hexdigest()


def describe(value: Any) -> str:
    """Text that stands for a setting, without memory addresses and without omissions.

    A function is known by its name and its code, not by values that it remembers; any other
    callable by its type.
    """
    if isinstance(value, np.ndarray):
        return _describe_array(value)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {describe(item)}' for key, item in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(describe, value))}]"
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(describe, value)))}}}"
    if isinstance(value, CodeType):
        return describe([value.co_code, value.co_names, value.co_consts])
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if hasattr(value, "get_params"):
        return describe(type(value)) + describe(value.get_params(deep=False))
    if hasattr(value, "__code__"):
        return f"{value.__module__}.{value.__qualname__}{describe(value.__code__)}"
    return describe(type(value)) if callable(value) else repr(value)


def _describe_array(array: NDArray[Any]) -> str:
    if array.dtype.hasobject:
        return describe(array.tolist())
    content = hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()
    return f"array({array.dtype.str}, {array.shape}, {content})"
