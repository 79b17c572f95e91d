"""A forest as flat arrays, and its value at rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from tvselect.core import function, struct
from tvselect.trees.state import COLUMN, CUT, LEAF, LEFT, MISSING, MISSING_LEFT, Chain

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_POINTS = 62
BY_NODE = ("left", "column", "cut", "missing_left", "value")


def _check_nodes(forest: Forest) -> None:
    """Every node has one parent at most, so that each walk from a root ends."""
    n_nodes, roots = forest.left.size, forest.starts[:-1]
    is_split = forest.left >= 0
    children = forest.left[is_split]
    if np.any(roots >= n_nodes) or np.any(children > n_nodes - 2):
        raise ValueError("forest.starts and forest.left must be nodes of the forest")
    below = np.concatenate([roots, children, children + 1])
    if np.bincount(below, minlength=1).max() > 1:
        raise ValueError("forest.left must give every node one parent at most")
    if np.any(forest.column[is_split] < 0):
        raise ValueError("forest.column must be a column where a node is split")


@struct("forest", _check_nodes)
@dataclass(frozen=True)
class Forest:
    """One draw of a forest.

    All arrays run over the nodes of all trees. A split sends a row to node ``left`` when its code
    in ``column`` is at most ``cut`` (its value is below the cut point), or is missing and
    ``missing_left`` holds, else to ``left + 1``. ``starts`` has the first node of each tree, its
    root, and the number of nodes; leaves have ``left`` and ``column`` -1, and in ``value`` their
    mean in units of the outcome (probit: latent units), which is 0 for splits.
    """

    starts: Annotated[Ints, "i8[starts] <= nodes"]
    left: Annotated[Ints, "i8[nodes]"]
    column: Annotated[Ints, "i8[nodes]"]
    cut: Annotated[NDArray[np.uint8], "u1[nodes]"]
    missing_left: Annotated[NDArray[np.bool_], "b1[nodes]"]
    value: Annotated[Floats, "f8[nodes]"]

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.starts.size - 1

    @property
    def n_splits(self) -> int:
        """Number of splits of all trees."""
        return int(np.count_nonzero(self.left >= 0))

    def only(self, trees: Iterable[int]) -> Forest:
        """The forest of some of the ``trees``, given by number."""
        spans = [np.arange(*self.starts[t : t + 2]) for t in trees]
        chosen = np.concatenate([self.starts[:0], *spans])
        moved = np.full(self.left.size + 1, -1, dtype=np.int64)
        moved[chosen] = np.arange(chosen.size)
        parts = {name: getattr(self, name)[chosen] for name in BY_NODE}
        parts["left"] = moved[parts["left"]]
        return Forest(np.cumsum([0, *(span.size for span in spans)]), **parts)

    def uses(self, n_columns: int) -> NDArray[np.bool_]:
        """Whether a tree splits on a column (trees, ``n_columns``)."""
        used = np.zeros((self.n_trees, n_columns), dtype=np.bool_)
        tree = np.repeat(np.arange(self.n_trees), np.diff(self.starts))
        is_split = self.left >= 0
        used[tree[is_split], self.column[is_split]] = True
        return used

    def depths(self) -> Ints:
        """Depth of every node; roots have 0."""
        depths = np.zeros(self.left.size, dtype=np.int64)
        level, depth = self.starts[:-1], 0
        while (left := self.left[level][self.left[level] >= 0]).size:
            level, depth = np.concatenate([left, left + 1]), depth + 1
            depths[level] = depth
        return depths

    def split_counts(self, n_columns: int) -> Ints:
        """How many splits each of the ``n_columns`` columns of the table has."""
        return np.bincount(self.column[self.left >= 0], minlength=n_columns)

    def branch_pairs(self, n_columns: int) -> Ints:
        """How often columns split below one another: symmetric (``n_columns``, ``n_columns``)."""
        pairs = np.zeros((n_columns, n_columns), dtype=np.int64)
        left, columns = self.left.tolist(), self.column.tolist()
        waiting: list[tuple[int, list[int]]] = [(root, []) for root in self.starts[:-1].tolist()]
        for node, above in waiting:  # grows on the way
            if left[node] >= 0:
                column = columns[node]
                for other in above:
                    pairs[column, other] += 1
                path = above if column in above else [*above, column]
                waiting += [(left[node], path), (left[node] + 1, path)]
        pairs += pairs.T
        np.fill_diagonal(pairs, 0)
        return pairs

    def evaluate(self, codes: NDArray[np.uint8], n_rows: int) -> Floats:
        """Sum of the trees at ``n_rows`` rows that are given as ``codes`` (columns, rows)."""
        out = np.zeros(n_rows)
        self.add_at_points(codes, 0, np.zeros((0, MISSING), dtype=np.int64), out[:, None])
        return out

    def add_at_points(self, codes: NDArray[np.uint8], first: int, below: Ints, out: Floats) -> None:
        """Add the sum of the trees to ``out`` (rows, points), with some columns set to points.

        Those are the columns from ``first`` on: bit ``k`` of ``below`` (columns, codes) says
        whether point ``k`` has at most that code. The other columns are as in ``codes``
        (columns, rows).
        """
        if self.column.max(initial=-1) >= len(codes) or len(out) > codes.shape[1]:
            raise ValueError(f"the forest needs more than {codes.shape} columns and rows")
        if out.shape[1] > MOST_POINTS:
            raise ValueError(f"at most {MOST_POINTS} points at a time, got {out.shape[1]}")
        room = np.empty((2, self.left.size), dtype=np.int64)
        _evaluate_at_points(self, codes, first, below, *room, out)


_evaluate_at_points = function(
    "evaluate_at_points",
    f"forest: forest; codes: u1[columns, padded]; first: int; below: i8[set, codes={MISSING}];"
    "nodes: i8[nodes]!; points_of: i8[nodes]!; out: f8[rows<=padded, points]!",
)


def join_forests(forests: Sequence[Forest]) -> Forest:
    """One forest of all their trees."""
    sizes = [forest.left.size for forest in forests]
    offsets = np.cumsum([0, *sizes])
    starts = [forest.starts[:-1] + k for forest, k in zip(forests, offsets[:-1], strict=True)]
    parts = {name: np.concatenate([getattr(f, name) for f in forests]) for name in BY_NODE}
    left = parts["left"]
    parts["left"] = np.where(left >= 0, left + np.repeat(offsets[:-1], sizes), -1)
    return Forest(np.concatenate([*starts, offsets[-1:]]), **parts)


def snapshot(chain: Chain, columns: Ints, scale: float) -> Forest:
    """Copy the forest out of a chain, leaf means multiplied by ``scale``."""
    sizes = 2 * chain.trees.splits + 1
    nodes = np.concatenate([tree[:n] for tree, n in zip(chain.trees.nodes, sizes, strict=True)])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    is_split = nodes[:, LEFT] > 0
    offsets = np.repeat(starts[:-1], sizes)
    return Forest(
        starts=starts,
        left=np.where(is_split, nodes[:, LEFT] + offsets, -1),
        column=np.where(is_split, columns[np.where(is_split, nodes[:, COLUMN], 0)], -1),
        cut=np.where(is_split, nodes[:, CUT], 0).astype(np.uint8),
        missing_left=is_split & (nodes[:, MISSING_LEFT] == 1),
        value=np.where(is_split, 0.0, scale * chain.leaves.means[nodes[:, LEAF]]),
    )
