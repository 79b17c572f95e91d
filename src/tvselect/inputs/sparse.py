"""Sparse matrices read by column: what is asked for becomes an array, the whole never does."""

from __future__ import annotations

from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.file_columns import FileColumns
from tvselect.inputs.ranks import centred_ranks, ranks_beside_zeros


@final
class SparseColumns:
    """A sparse matrix that hands out columns as arrays; zeros are values, NaN is missing.

    Parameters
    ----------
    matrix : scipy sparse matrix or array
        Of any format; taken by column from then on.

    Attributes
    ----------
    matrix : scipy sparse matrix or array (CSC)
    shape : (int, int)
    dtype : numpy.dtype

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> X = SparseColumns(csr_array([[0, 2, 0], [1, 0, 0]]))
    >>> X[:, np.array([1, 2])]
    array([[2., 0.],
           [0., 0.]])
    """

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix.tocsc()
        if self.matrix.dtype.kind not in "biuf":
            raise TypeError(f"X is a sparse matrix of {self.matrix.dtype}; it must hold numbers")
        if not self.matrix.has_canonical_format:
            self.matrix = self.matrix.copy()
            self.matrix.sum_duplicates()
        self.shape: tuple[int, int] = self.matrix.shape
        self.dtype: np.dtype[Any] = self.matrix.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: tuple[Any, ...]) -> NDArray[np.floating[Any]]:
        """Rows and columns, by slices or places, as an array by column."""
        rows, columns = (
            np.arange(n)[k] if isinstance(k, slice) else np.ravel(k)
            for k, n in zip(key, self.shape, strict=True)
        )
        if columns.size / self.shape[1] <= rows.size / self.shape[0]:
            part = self.matrix[:, columns]
            part = part if rows.size == self.shape[0] and isinstance(key[0], slice) else part[rows]
        else:
            part = self._by_row[rows][:, columns]
        dense: NDArray[Any] = part.toarray(order="F")
        return dense if dense.dtype in (np.float32, np.float64) else dense.astype(np.float64)

    @property
    def stored(self) -> tuple[NDArray[Any], ...]:
        """The arrays that all of it is made of."""
        return self.matrix.data, self.matrix.indices, self.matrix.indptr

    def sum(self) -> Any:
        """Of all values."""
        return self.matrix.data.sum()

    def column(self, place: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The rows that are stored of a column, and their values."""
        values, rows, starts = self.stored
        here = slice(starts[place], starts[place + 1])
        return rows[here], values[here].astype(np.float64)

    @cached_property
    def _by_row(self) -> Any:
        return self.matrix.tocsr()


@final
class ChosenColumns:
    """Some columns of an array, a sparse matrix or a file, read when they are asked for.

    Parameters
    ----------
    X : array, SparseColumns or FileColumns (rows, columns)
    places : int64 array
        The columns of ``X``.
    """

    def __init__(self, X: WholeMatrix, places: NDArray[np.int64]) -> None:
        self.X, self.places = X, places
        self.shape: tuple[int, int] = (len(X), places.size)
        self.dtype: np.dtype[Any] = X.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: tuple[Any, ...]) -> NDArray[Any]:
        """All rows, or some by a slice, of some of these columns."""
        rows, columns = key
        return self.X[rows, self.places[columns]]


WholeMatrix = NDArray[Any] | SparseColumns | FileColumns
Matrix = WholeMatrix | ChosenColumns
"""Numbers (rows, columns) whose columns are read by ``X[:, columns]``."""


def is_sparse(X: Any) -> bool:
    """Whether a table is one of SciPy's sparse matrices; does not import them."""
    return hasattr(X, "tocsc") and hasattr(X, "nnz")


def ranks_of(X: Matrix, columns: NDArray[np.int64]) -> NDArray[np.float64]:
    """:func:`tvselect.inputs.ranks.centred_ranks` (columns, rows) of some columns."""
    if isinstance(X, ChosenColumns):
        return ranks_of(X.X, X.places[columns])
    if not isinstance(X, SparseColumns):
        return centred_ranks(np.ascontiguousarray(X[:, columns].T, dtype=np.float64))
    ranks = np.empty((columns.size, len(X)))
    for line, place in zip(ranks, columns.tolist(), strict=True):
        rows, values = X.column(place)
        stored, line[:] = ranks_beside_zeros(values, len(X))
        line[rows] = stored
    return ranks
