"""What the sampler reads and what it changes, as named tuples of arrays.

The trick that makes an iteration cheap: the leaves of all trees stand in one
list, and the chain keeps how many rows every two of them share
(``Leaves.gram``). Residual sums of leaves then follow from these counts and from
the leaf means alone, so that no iteration passes over the rows; only a proposed
split looks at its column, eight rows at a time.

The tuples are small because every part of the kernel is compiled for just what
it is handed: compilation stays short.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tvselect.trees.bits import in_bit_order, n_words

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
WordArray = NDArray[np.uint64]

# Fields of a node. Children come in pairs (left, left + 1); ``LEFT == 0`` is a leaf.
PARENT, LEFT, COLUMN, CUT, MISSING_LEFT, DEPTH, LEAF = range(7)
N_FIELDS = 8
# Fields of a column in the tally.
COUNT, SINCE, TOTAL, PRESENT = range(4)
# Whole numbers of the tally.
N_SPLITS, CONCENTRATION, ACCEPTED, N_DONE = range(4)
# Real numbers of the response.
PRECISION, SQUARES = range(2)
# What is known of the response: nothing is latent, or bounds, a grade, a class.
OBSERVED, BOUNDS, GRADES, CLASSES = range(4)
LOWER, UPPER, LEVEL = range(3)
MOST_LEVELS = 100

MAX_DEPTH = 63


class Design(NamedTuple):
    """The table as the sampler reads it.

    Attributes
    ----------
    codes : uint64 array
        Codes of one column after the other.
    starts : int64 array over the columns of the table
        The first word of each.
    widths : uint8 array
        Bits of a code of each: 1, 2 or 8, see :mod:`tvselect.trees.bits`.
    n_cuts, has_missing : arrays over the columns of the table
    columns : int64 array
        The columns that may be split on; everything else counts in their order.
    n_rows : int
    """

    codes: WordArray
    starts: IntArray
    widths: NDArray[np.uint8]
    n_cuts: NDArray[np.uint8]
    has_missing: NDArray[np.bool_]
    columns: IntArray
    n_rows: int


class PriorParameters(NamedTuple):
    """The prior in the numbers that the kernel needs (units of the working response).

    Attributes
    ----------
    split_log_odds : float64 array
        By depth ``d``: ``log(p_d (1 - p_{d+1})^2 / (1 - p_d))``.
    min_leaf : int
    leaf_precision : float
        ``1 / tau^2``.
    noise_df, noise_sum : float
        ``nu`` and ``nu lambda``.
    free_noise : bool
        Whether the noise variance is drawn.
    latent : int
        What is known of the response: ``OBSERVED``, ``BOUNDS``, ``GRADES`` or ``CLASSES``.
    cuts : float64 array
        Cut points between the grades that a chain starts from, or the offsets of the classes.
    burn : int
        Iterations before the averages start.
    sparse_from : int
        First iteration with the Dirichlet prior on the splitting probabilities.
    shares, log_shares : float64 arrays
        ``theta / q`` on the grid, and ``log(theta / q + m)`` for m = 0, 1, ...
    column_log_weights : float64 array
        What a forest weighs for every column that it uses.
    pair_share : float
        Share of the proposals that add or remove two splits at once.
    pairs : int64 array (pairs, 2)
        First and second column of pairs that half of these proposals are about.
    latent_sweeps : int
        Iterations from one draw of the latents to the next.
    cut_steps : float64 array
        Standard deviations of the steps of the cut points.
    """

    split_log_odds: FloatArray
    min_leaf: int
    leaf_precision: float
    noise_df: float
    noise_sum: float
    free_noise: bool
    latent: int
    cuts: FloatArray
    burn: int
    sparse_from: int
    shares: FloatArray
    log_shares: FloatArray
    column_log_weights: FloatArray
    pair_share: float
    pairs: IntArray
    latent_sweeps: int
    cut_steps: FloatArray


Values = TypeVar("Values", Design, PriorParameters)


class Trees(NamedTuple):
    """Shape of the forest: nodes (trees, capacity, fields) and splits per tree."""

    nodes: IntArray
    splits: IntArray


class Leaves(NamedTuple):
    """All leaves of the forest.

    Attributes
    ----------
    size : int64 array (1,)
        Number of leaves.
    owners : int64 array (leaves, 2)
        Tree and node of each leaf.
    masks : uint64 array (words, leaves)
        Rows of each leaf.
    gram : float64 array (leaves, leaves)
        Rows that two leaves share; the diagonal holds leaf sizes.
    sums, means, fitted : float64 arrays
        Sum of the response, leaf mean, and sum of the forest over a leaf's rows.
    """

    size: IntArray
    owners: IntArray
    masks: WordArray
    gram: FloatArray
    sums: FloatArray
    means: FloatArray
    fitted: FloatArray


class Tally(NamedTuple):
    """Splits by column.

    Attributes
    ----------
    columns : int64 array (columns, 4)
        Splits now, the iteration since which that holds, and sums over the draws
        after burn-in of the count and of "count > 0".
    ladder : int64 array
        ``ladder[m]``: columns with more than ``m`` splits.
    whole : int64 array
        Splits in all, place of ``theta`` on its grid, accepted proposals, iterations
        done.
    """

    columns: IntArray
    ladder: IntArray
    whole: IntArray


class ResponseState(NamedTuple):
    """The response, by row in the order of the bits.

    Attributes
    ----------
    values : float64 array
        What the forest models now.
    observed : float64 array (3, rows)
        The bounds of the values, equal where these are known, and the grade or class (-1: the
        padding).
    fit : float64 array
        The forest, when latents were drawn last.
    cuts : float64 array
        Cut points between the grades.
    subset_sums : float64 array
        See :func:`tvselect.trees.bits.tabulate_sums`.
    real : float64 array
        ``1 / sigma^2`` and the sum of squared values.
    """

    values: FloatArray
    observed: FloatArray
    fit: FloatArray
    cuts: FloatArray
    subset_sums: FloatArray
    real: FloatArray


class Proposal(NamedTuple):
    """Scratch: rows of a proposed left child, and how many each leaf shares with it."""

    rows: WordArray
    shared: IntArray


class Chain(NamedTuple):
    """The state of the Markov chain and its running tallies."""

    trees: Trees
    leaves: Leaves
    tally: Tally
    response: ResponseState
    proposal: Proposal


class Trace(NamedTuple):
    """One value per iteration."""

    precision: FloatArray
    theta: FloatArray
    n_splits: IntArray


def read_only(values: Values) -> Values:
    """The same tuple with views of its arrays that cannot be written to.

    To Numba these are another type: what arrives in a process is of it, and a kernel is compiled
    for one type alone where all are.
    """
    return type(values)(*map(locked, values))


def locked(value: Any) -> Any:
    """A view of an array that cannot be written to; anything else as it is."""
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    return value


def row_mask(n_rows: int) -> WordArray:
    """All rows of a table as bits."""
    bits = in_bit_order(np.ones(n_rows, dtype=np.uint8))
    return np.packbits(bits, bitorder="little").view(np.uint64)


def allocate(n_trees: int, n_rows: int, n_columns: int) -> Chain:
    """The arrays of a chain that has not begun.

    There is room for a multiple of four leaves, so that loops over leaves may run on to
    the next multiple of four (:func:`tvselect.trees.bits.whole_fours`).
    """
    words = n_words(n_rows)
    capacity = 4 * (n_trees // 2 + 8)
    return Chain(
        trees=Trees(
            nodes=np.zeros((n_trees, 31, N_FIELDS), dtype=np.int64),
            splits=np.zeros(n_trees, dtype=np.int64),
        ),
        leaves=Leaves(
            size=np.zeros(1, dtype=np.int64),
            owners=np.zeros((capacity, 2), dtype=np.int64),
            masks=np.zeros((words, capacity), dtype=np.uint64),
            gram=np.zeros((capacity, capacity)),
            sums=np.zeros(capacity),
            means=np.zeros(capacity),
            fitted=np.zeros(capacity),
        ),
        tally=Tally(
            columns=np.zeros((n_columns, 4), dtype=np.int64),
            ladder=np.zeros(capacity, dtype=np.int64),
            whole=np.zeros(4, dtype=np.int64),
        ),
        response=ResponseState(
            values=np.zeros(64 * words),
            observed=np.zeros((3, 64 * words)),
            fit=np.zeros(64 * words),
            cuts=np.zeros(MOST_LEVELS),
            subset_sums=np.zeros((16 * words, 16)),
            real=np.zeros(2),
        ),
        proposal=Proposal(
            rows=np.zeros(words, dtype=np.uint64),
            shared=np.zeros(capacity, dtype=np.int64),
        ),
    )


def new_trace(n_iterations: int) -> Trace:
    """Room for the values of so many iterations."""
    return Trace(
        precision=np.zeros(n_iterations),
        theta=np.zeros(n_iterations),
        n_splits=np.zeros(n_iterations, dtype=np.int64),
    )


def with_more_room(chain: Chain) -> Chain:
    """The same state with twice the room for nodes and leaves."""

    def doubled(old: NDArray[Any], *axes: int) -> NDArray[Any]:
        shape = tuple(2 * s if axis in axes else s for axis, s in enumerate(old.shape))
        new = np.zeros(shape, dtype=old.dtype)
        new[tuple(slice(s) for s in old.shape)] = old
        return new

    trees, leaves = chain.trees, chain.leaves
    return chain._replace(
        trees=trees._replace(nodes=doubled(trees.nodes, 1)),
        leaves=Leaves(
            size=leaves.size,
            owners=doubled(leaves.owners, 0),
            masks=doubled(leaves.masks, 1),
            gram=doubled(leaves.gram, 0, 1),
            sums=doubled(leaves.sums, 0),
            means=doubled(leaves.means, 0),
            fitted=doubled(leaves.fitted, 0),
        ),
        tally=chain.tally._replace(ladder=doubled(chain.tally.ladder, 0)),
        proposal=chain.proposal._replace(shared=doubled(chain.proposal.shared, 0)),
    )
