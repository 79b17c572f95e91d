"""What the sampler reads and what it changes, as named tuples of arrays.

They are structs of the native core, which holds the sampler itself (``core/gibbs.h`` is its loop).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvselect.core import function, struct
from tvselect.trees.bits import WIDE, in_row_order, n_words

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
WordArray = NDArray[np.uint64]
SmallArray = NDArray[np.int32]

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
ALIGNMENT = 64


def _check_codes(design: Design) -> None:
    """The codes of every column of the table must be there."""
    if design.n_rows < 1:
        raise ValueError(f"design.n_rows must be 1 or more, got {design.n_rows}")
    widths = design.widths
    if not ((widths == 1) | (widths == 2) | (widths == WIDE)).all():
        raise ValueError("design.widths must be 1, 2 or 8")
    ends = design.starts + n_words(design.n_rows) * widths.astype(np.int64)
    if ends.max(initial=0) > design.codes.size:
        raise ValueError(f"design.codes has no {design.n_rows} rows of every column")


@struct(
    "design",
    """
    codes: u8[words]
    starts: i8[table] < words
    widths: u1[table]
    n_cuts: u1[table]
    has_missing: b1[table]
    columns: i8[columns] < table
    n_rows: int
    """,
    _check_codes,
)
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


def _check_prior(prior: PriorParameters) -> None:
    """What kernels take for granted."""
    has_levels = prior.latent in (GRADES, CLASSES)
    for name, is_right in (
        ("latent", OBSERVED <= prior.latent <= CLASSES),
        ("latent_sweeps", prior.latent_sweeps >= 1),
        ("split_log_odds", prior.split_log_odds.size > MAX_DEPTH),
        ("shares", prior.shares.size > 0),
        ("cuts", prior.cuts.size <= MOST_LEVELS and (prior.cuts.size > 0) == has_levels),
        ("cut_steps", prior.latent != GRADES or prior.cut_steps.size == prior.cuts.size),
    ):
        if not is_right:
            raise ValueError(f"prior.{name} is not what the other parameters ask for")


def check_levels(observed: FloatArray, n_rows: int, prior: PriorParameters) -> None:
    """Grades and classes of all rows must be among those that there are."""
    if prior.latent in (GRADES, CLASSES):
        levels = in_row_order(observed[0], n_rows)
        highest = prior.cuts.size + (prior.latent == GRADES)
        if not ((levels >= 1) & (levels <= highest)).all():
            raise ValueError(f"observed must hold grades or classes from 1 to {highest}")


@struct(
    "prior",
    """
    split_log_odds: f8[depths]
    min_leaf: int
    leaf_precision: float
    noise_df: float
    noise_sum: float
    free_noise: bool
    latent: int
    cuts: f8[cuts]
    burn: int
    sparse_from: int
    shares: f8[grid]
    log_shares: f8[grid, table]
    column_log_weights: f8[columns]
    pair_share: float
    pairs: i8[pairs, 2]
    latent_sweeps: int
    cut_steps: f8[steps]
    """,
    _check_prior,
)
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


@struct(
    "trees",
    """
    nodes: i4[trees, nodes, 8]!
    splits: i8[trees]!
    """,
)
class Trees(NamedTuple):
    """Shape of the forest: nodes (trees, capacity, fields) and splits per tree."""

    nodes: SmallArray
    splits: IntArray


@struct(
    "leaves",
    """
    size: i8[1]!
    owners: i4[leaves, 2]!
    masks: u8[words, leaves]!
    gram: i4[leaves, leaves]!
    sums: f8[leaves]!
    means: f8[leaves]!
    fitted: f8[leaves]!
    """,
)
class Leaves(NamedTuple):
    """All leaves of the forest.

    Attributes
    ----------
    size : int64 array (1,)
        Number of leaves.
    owners : int32 array (leaves, 2)
        Tree and node of each leaf.
    masks : uint64 array (words, leaves)
        Rows of each leaf.
    gram : int32 array (leaves, leaves)
        Rows that two leaves share; the diagonal holds leaf sizes.
    sums, means, fitted : float64 arrays
        Sum of the response, leaf mean, and sum of the forest over a leaf's rows.
    """

    size: IntArray
    owners: SmallArray
    masks: WordArray
    gram: SmallArray
    sums: FloatArray
    means: FloatArray
    fitted: FloatArray


@struct(
    "tally",
    """
    columns: i8[columns, 4]!
    ladder: i8[leaves]!
    whole: i8[4]!
    """,
)
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


@struct(
    "response",
    """
    values: f8[rows]!
    observed: f8[levels=3, rows]!
    fit: f8[rows]!
    cuts: f8[cuts]!
    spread: f8[rows]!
    real: f8[2]!
    """,
)
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
    spread : float64 array
        The values in the order in which the core adds them up.
    real : float64 array
        ``1 / sigma^2`` and the sum of squared values.
    """

    values: FloatArray
    observed: FloatArray
    fit: FloatArray
    cuts: FloatArray
    spread: FloatArray
    real: FloatArray


@struct(
    "proposal",
    """
    rows: u8[words]!
    shared: i4[leaves]!
    """,
)
class Proposal(NamedTuple):
    """Scratch: rows of a proposed left child, and how many each leaf shares with it."""

    rows: WordArray
    shared: SmallArray


@struct(
    "chain",
    """
    trees: trees
    leaves: leaves
    tally: tally
    response: response
    proposal: proposal
    """,
)
class Chain(NamedTuple):
    """The state of the Markov chain and its running tallies."""

    trees: Trees
    leaves: Leaves
    tally: Tally
    response: ResponseState
    proposal: Proposal


@struct(
    "trace",
    """
    precision: f8[iterations]!
    theta: f8[iterations]!
    n_splits: i8[iterations]!
    """,
)
class Trace(NamedTuple):
    """One value per iteration."""

    precision: FloatArray
    theta: FloatArray
    n_splits: IntArray


def locked(value: Any) -> Any:
    """A view of an array that cannot be written to; anything else as it is."""
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    return value


def zeros(shape: int | tuple[int, ...], kind: type = np.float64) -> NDArray[Any]:
    """Zeros that begin at a multiple of 64 bytes: a vector of eight numbers is one access then."""
    n_items = shape if isinstance(shape, int) else math.prod(shape)
    size = n_items * np.dtype(kind).itemsize
    memory = np.zeros(size + ALIGNMENT, dtype=np.uint8)
    first = -memory.__array_interface__["data"][0] % ALIGNMENT
    return memory[first : first + size].view(kind).reshape(shape)


def allocate(n_trees: int, n_rows: int, n_columns: int) -> Chain:
    """The arrays of a chain that has not begun.

    There is room for a multiple of eight leaves, so that loops over leaves may run on to
    the next multiple of eight.
    """
    words = n_words(n_rows)
    capacity = 8 * (n_trees // 4 + 4)
    return Chain(
        trees=Trees(
            nodes=zeros((n_trees, 31, N_FIELDS), np.int32),
            splits=zeros(n_trees, np.int64),
        ),
        leaves=Leaves(
            size=zeros(1, np.int64),
            owners=zeros((capacity, 2), np.int32),
            masks=zeros((words, capacity), np.uint64),
            gram=zeros((capacity, capacity), np.int32),
            sums=zeros(capacity),
            means=zeros(capacity),
            fitted=zeros(capacity),
        ),
        tally=Tally(
            columns=zeros((n_columns, 4), np.int64),
            ladder=zeros(capacity, np.int64),
            whole=zeros(4, np.int64),
        ),
        response=ResponseState(
            values=zeros(64 * words),
            observed=zeros((3, 64 * words)),
            fit=zeros(64 * words),
            cuts=zeros(MOST_LEVELS),
            spread=zeros(64 * words),
            real=zeros(2),
        ),
        proposal=Proposal(
            rows=zeros(words, np.uint64),
            shared=zeros(capacity, np.int32),
        ),
    )


def new_trace(n_iterations: int) -> Trace:
    """Room for the values of so many iterations."""
    return Trace(
        precision=zeros(n_iterations),
        theta=zeros(n_iterations),
        n_splits=zeros(n_iterations, np.int64),
    )


def with_more_room(chain: Chain) -> Chain:
    """The same state with twice the room for nodes and leaves."""

    def doubled(old: NDArray[Any], *axes: int) -> NDArray[Any]:
        shape = tuple(2 * s if axis in axes else s for axis, s in enumerate(old.shape))
        new = zeros(shape, old.dtype.type)
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


run = function(
    "run",
    """
    rng: generator
    design: design
    prior: prior
    chain: chain
    trace: trace
    stop: int
    """,
)
"""Run iterations until ``stop`` of them are done.

It ends early, between two iterations, when the arrays of the chain could become too small in the
next one. The chain itself holds how many iterations are done, so that an interrupt on the way back
to Python loses nothing.
"""


def check_chain(chain: Chain, design: Design, prior: PriorParameters) -> None:
    """Refuse a chain that does not belong to a design and a prior."""
    words, leaves = n_words(design.n_rows), chain.leaves.sums.size
    for name, found, wanted in (
        ("leaves.masks", chain.leaves.masks.shape[0], words),
        ("response.values", chain.response.values.size, 64 * words),
        ("proposal.rows", chain.proposal.rows.size, words),
        ("proposal.shared", chain.proposal.shared.size, leaves),
        ("tally.ladder", chain.tally.ladder.size, leaves),
    ):
        if found != wanted:
            raise ValueError(f"{name} of the chain has length {found} where {wanted} is needed")
    n_columns = design.columns.size
    if n_columns == 0:
        raise ValueError("a chain needs a column to split on")
    if min(chain.tally.columns.shape[0], prior.column_log_weights.size) < n_columns:
        raise ValueError(f"the chain and its prior must be of {n_columns} columns")
    if prior.pairs.size and not 0 <= prior.pairs.min() <= prior.pairs.max() < n_columns:
        raise ValueError(f"prior.pairs must be of columns from 0 to {n_columns - 1}")
    if leaves % 8 or prior.cuts.size > chain.response.cuts.size:
        raise ValueError("a chain has room for a multiple of eight leaves and at most 100 grades")
