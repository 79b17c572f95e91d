"""A forest as flat arrays, and its value at rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tvselect.jit import kernel
from tvselect.trees.cutting import MISSING
from tvselect.trees.state import COLUMN, CUT, LEAF, LEFT, MISSING_LEFT, Chain


@dataclass(frozen=True)
class Forest:
    """One draw of a forest.

    All arrays run over the nodes of all trees; the nodes of tree ``t`` are
    ``starts[t]`` to ``starts[t + 1]``, its root first. A split sends a row to
    node ``left`` when its code in ``column`` is at most ``cut`` (its value is below
    the cut point), or is missing and ``missing_left`` holds, else to ``left + 1``.

    Attributes
    ----------
    starts : int64 array
        First node of each tree, and the number of nodes.
    left : int64 array
        Left child, -1 for leaves.
    column : int64 array
        Column of the table that is split on, -1 for leaves.
    cut : uint8 array
    missing_left : bool array
    value : float64 array
        Leaf means in units of the outcome (probit: latent units), 0 for splits.
    """

    starts: NDArray[np.int64]
    left: NDArray[np.int64]
    column: NDArray[np.int64]
    cut: NDArray[np.uint8]
    missing_left: NDArray[np.bool_]
    value: NDArray[np.float64]

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.starts.size - 1

    def only(self, trees: Iterable[int]) -> Forest:
        """The forest of some of the ``trees``, given by number."""
        spans = [slice(*self.starts[t : t + 2]) for t in trees]
        nodes = np.arange(self.left.size)
        chosen = np.concatenate([nodes[:0], *(nodes[span] for span in spans)])
        moved = np.full(self.left.size + 1, -1, dtype=np.int64)
        moved[chosen] = np.arange(chosen.size)
        return Forest(
            starts=np.cumsum([0, *(span.stop - span.start for span in spans)]),
            left=moved[self.left[chosen]],
            column=self.column[chosen],
            cut=self.cut[chosen],
            missing_left=self.missing_left[chosen],
            value=self.value[chosen],
        )

    @property
    def n_splits(self) -> int:
        """Number of splits of all trees."""
        return int(np.count_nonzero(self.left >= 0))

    def uses(self, n_columns: int) -> NDArray[np.bool_]:
        """Whether a tree splits on a column (trees, ``n_columns``)."""
        used = np.zeros((self.n_trees, n_columns), dtype=np.bool_)
        tree = np.repeat(np.arange(self.n_trees), np.diff(self.starts))
        is_split = self.left >= 0
        used[tree[is_split], self.column[is_split]] = True
        return used

    def depths(self) -> NDArray[np.int64]:
        """Depth of every node; roots have 0."""
        depth = np.zeros(self.left.size, dtype=np.int64)
        for node in _parents_first(self):
            depth[self.left[node] : self.left[node] + 2] = depth[node] + 1
        return depth

    def split_counts(self, n_columns: int) -> NDArray[np.int64]:
        """How many splits each of the ``n_columns`` columns of the table has."""
        return np.bincount(self.column[self.left >= 0], minlength=n_columns)

    def branch_pairs(self, n_columns: int) -> NDArray[np.int64]:
        """How often two columns (columns, columns) are split on in one branch, one below the other.

        Symmetric (``n_columns``, ``n_columns``), with zeros on the diagonal.
        """
        pairs = np.zeros((n_columns, n_columns), dtype=np.int64)
        left, columns = self.left.tolist(), self.column.tolist()
        above: dict[int, list[int]] = {}
        for node in _parents_first(self):
            column, path = columns[node], above.pop(node, [])
            for other in path:
                pairs[column, other] += 1
            path = path if column in path else [*path, column]
            above[left[node]] = above[left[node] + 1] = path
        pairs += pairs.T
        np.fill_diagonal(pairs, 0)
        return pairs

    def evaluate(self, codes: NDArray[np.uint8], n_rows: int) -> NDArray[np.float64]:
        """Sum of the trees at ``n_rows`` rows that are given as ``codes`` (columns, rows)."""
        out = np.zeros(n_rows)
        codes = codes.view()
        codes.flags.writeable = False  # as those of a BinnedTable are: one kernel for both
        evaluate_forest(
            self.starts, self.left, self.column, self.cut, self.missing_left, self.value, codes, out
        )
        return out


def join_forests(forests: Sequence[Forest]) -> Forest:
    """One forest of all their trees."""
    sizes = [forest.left.size for forest in forests]
    offsets = np.cumsum([0, *sizes])
    starts = [forest.starts[:-1] + k for forest, k in zip(forests, offsets[:-1], strict=True)]
    left = np.concatenate([forest.left for forest in forests])
    return Forest(
        starts=np.concatenate([*starts, offsets[-1:]]),
        left=np.where(left >= 0, left + np.repeat(offsets[:-1], sizes), -1),
        column=np.concatenate([forest.column for forest in forests]),
        cut=np.concatenate([forest.cut for forest in forests]),
        missing_left=np.concatenate([forest.missing_left for forest in forests]),
        value=np.concatenate([forest.value for forest in forests]),
    )


def _parents_first(forest: Forest) -> list[int]:
    left = forest.left.tolist()
    order = [root for root in forest.starts[:-1].tolist() if left[root] >= 0]
    for node in order:
        order.extend(child for child in (left[node], left[node] + 1) if left[child] >= 0)
    return order


def snapshot(chain: Chain, columns: NDArray[np.int64], scale: float) -> Forest:
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


@kernel
def evaluate_forest(
    starts: NDArray[np.int64],
    left: NDArray[np.int64],
    column: NDArray[np.int64],
    cut: NDArray[np.uint8],
    missing_left: NDArray[np.bool_],
    value: NDArray[np.float64],
    codes: NDArray[np.uint8],
    out: NDArray[np.float64],
) -> None:
    """Walk every row down every tree and add up the leaf means."""
    for tree in range(starts.shape[0] - 1):
        for row in range(out.shape[0]):
            node = starts[tree]
            while left[node] >= 0:
                code = codes[column[node], row]
                goes_left = code <= cut[node] or (code == MISSING and missing_left[node])
                node = left[node] if goes_left else left[node] + 1
            out[row] += value[node]
