"""The grid of a study: which method runs on which data set, with which seeds."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

PAPER_SETUPS = ("linear", "friedman-correlated", "forest", "liang")


@dataclass(frozen=True)
class Task:
    """One cell and replicate of a study.

    Attributes
    ----------
    setup : str
    n_rows, n_columns : int
    replicate : int
        From 0; data sets are the same for all methods.
    method : str

    Examples
    --------
    >>> from tvstudy import Task
    >>> Task("linear", 300, 1000, 0, "LASSO").key
    'linear/300/1000/0/LASSO'
    """

    setup: str
    n_rows: int
    n_columns: int
    replicate: int
    method: str

    @property
    def key(self) -> str:
        """What a row of results is known by."""
        return f"{self.setup}/{self.n_rows}/{self.n_columns}/{self.replicate}/{self.method}"

    @property
    def data_seed(self) -> int:
        """Seed of the data set."""
        return zlib.crc32(self.key.removesuffix(self.method).encode())

    @property
    def method_seed(self) -> int:
        """Seed of the method."""
        return zlib.crc32(self.key.encode())


@dataclass(frozen=True)
class Grid:
    """Sizes and set-ups of a study."""

    setups: tuple[str, ...]
    sizes: tuple[tuple[int, int], ...]
    n_replicates: int


OFFLINE = Grid(PAPER_SETUPS, ((300, 1_000), (300, 10_000)), 50)
ONLINE = Grid(PAPER_SETUPS, ((10_000, 1_000),), 20)


def tasks(
    grid: Grid, methods: Iterable[str], *, n_replicates: int | None = None,
    setups: Sequence[str] | None = None, n_columns: Sequence[int] | None = None,
) -> Iterator[Task]:  # fmt: skip
    """All tasks, replicate by replicate: a study that is cut short has fewer, but whole ones.

    Parameters
    ----------
    grid : Grid
        Set-ups, sizes and the number of replicates.
    methods : iterable of str
        Names of methods.
    n_replicates : int, optional
        Other than the grid's.
    setups, n_columns : sequences, optional
        Only these of the grid's.

    Examples
    --------
    >>> from tvstudy import tasks
    >>> from tvstudy.grid import OFFLINE
    >>> [task.key for task in tasks(OFFLINE, ["LASSO"], n_replicates=1, n_columns=[1000])][:2]
    ['linear/300/1000/0/LASSO', 'friedman-correlated/300/1000/0/LASSO']
    """
    methods = list(methods)
    for replicate in range(grid.n_replicates if n_replicates is None else n_replicates):
        for n, p in grid.sizes:
            for setup in grid.setups:
                if (setups is None or setup in setups) and (n_columns is None or p in n_columns):
                    for method in methods:
                        yield Task(setup, n, p, replicate, method)
