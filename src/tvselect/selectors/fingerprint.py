"""A hash of all that the plays of a fit depend on: a journal is continued only where it agrees."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.bandit.journal import JournalError
from tvselect.inputs.columns import ChosenColumns, FileColumns, Matrix, SparseColumns
from tvselect.rewards import Data
from tvselect.selectors.describing import UnknowableError, describe

NAMES_AT_A_TIME = 100_000
LARGE = 2**31


def fingerprint(known: Mapping[str, Any], *, strict: bool) -> str:
    """Hash of all that the plays depend on; the same in every process.

    Raises
    ------
    JournalError
        With ``strict``, when something cannot be told from another of its kind.
    """
    try:
        text = describe(dict(known), strict=strict)
    except UnknowableError as error:
        raise JournalError(
            f"the reward holds {error}, which cannot be told from another one: a journal could go "
            "on with another reward; give the reward numbers, text, arrays and functions only, "
            "or a method __dask_tokenize__ that says what it is, or leave the journal out"
        ) from None
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _held(X: Matrix, digest: Any) -> Sequence[NDArray[Any]]:
    """The arrays that a table is made of; what is in a file is hashed there."""
    assert not isinstance(X, ChosenColumns)
    if isinstance(X, FileColumns):
        digest.update(X.file.identity().encode())
        return [X.front]
    return X.stored if isinstance(X, SparseColumns) else [X]


def identity_of(data: Data) -> str:
    """Hash of a table and its outcome."""
    digest = hashlib.sha256()
    digest.update(f"{data.X.shape!r} {data.X.dtype.str}".encode())
    for first in range(0, len(data.names), NAMES_AT_A_TIME):  # there may be millions of names
        names = "".join(f"\0{name}" for name in data.names[first : first + NAMES_AT_A_TIME])
        digest.update(names.encode("utf-8", "surrogatepass"))
    for X in _held(data.X, digest):
        if X.nbytes >= LARGE and X.flags.f_contiguous and not X.flags.c_contiguous:
            X = X.T  # in a file, rows of such a table would be read from one end to the other
        for block in np.array_split(X, max(1, X.nbytes >> 26)):
            digest.update(np.ascontiguousarray(block).data)
    digest.update(describe([data.outcome.values, data.sample_weight]).encode())
    if data.outcome.upper is not None:
        digest.update(describe(data.outcome.upper).encode())
    return digest.hexdigest()
