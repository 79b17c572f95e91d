"""The state of the sampler: arrays, laid out as the native core takes them.

``core/tvselect.h`` says what every field of the structs is, ``core/gibbs.h`` is the sampler's loop.

Sets of rows are bits, 64 rows to a word, and a column takes as many words for 64 rows as its codes
have bits. Of eight, the bytes of eight words are the codes. Of two (codes 0, 1, 2 and missing, as
genotypes have), the first word says which rows have at least 1 and the second which have 2; a
missing one is in the second alone. Of one, the word says which rows have 1. Row ``64 w + 8 b + i``
is bit ``8 i + b`` of word ``w``, and byte ``8 i + b`` of a column of eight bits; inside the sampler
everything by row is in this order of the bits. Rows past the end of the table are in no set.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvselect.core import allocate, function, struct

Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Small = NDArray[np.int32]
Words = NDArray[np.uint64]

MISSING = 255
WIDE = 8
"""Bits of a code in a column of many values."""
# Fields of a node. Children come in pairs (left, left + 1); ``LEFT == 0`` is a leaf.
PARENT, LEFT, COLUMN, CUT, MISSING_LEFT, DEPTH, LEAF = range(7)
# Fields of a column in the tally, its whole numbers, and real numbers of the response.
COUNT, SINCE, TOTAL, PRESENT = range(4)
N_SPLITS, CONCENTRATION, ACCEPTED, N_DONE = range(4)
PRECISION, SQUARES = range(2)
# What is known of the response: nothing is latent, or bounds, a grade, a class.
OBSERVED, BOUNDS, GRADES, CLASSES = range(4)
MOST_LEVELS = 100
MAX_DEPTH = 63
NO_GROUPS: Small = np.empty(0, dtype=np.int32)
BYTE_ONES = np.uint64(0x0101010101010101)
SHIFTS = np.arange(8, dtype=np.uint64)

_transpose_codes = function("transpose_codes", "codes: u1[codes]; out: u1[codes]!")


def n_words(n_rows: int) -> int:
    """Words that a set of rows takes."""
    return -(-n_rows // 64)


def in_bit_order(values: NDArray[Any]) -> NDArray[Any]:
    """Values (..., rows) padded with zeros to whole words, in the order of the bits."""
    n_rows = values.shape[-1]
    padded = np.zeros((*values.shape[:-1], 64 * n_words(n_rows)), dtype=values.dtype)
    padded[..., :n_rows] = values
    return in_row_order(padded, padded.shape[-1])


def in_row_order(values: NDArray[Any], n_rows: int) -> NDArray[Any]:
    """Undo :func:`in_bit_order`: either way every 64 values are a square that is transposed."""
    squares = values.reshape(*values.shape[:-1], -1, 8, 8).swapaxes(-1, -2)
    return squares.reshape(values.shape)[..., :n_rows]


def pack_codes(codes: Bytes, width: int) -> Words:
    """Pack codes (columns, rows padded to a multiple of 64) of ``width`` bits each into words."""
    if width == WIDE:
        return _transposed(codes).view(np.uint64)
    words = codes.view(np.uint64)
    words = words.reshape(len(codes), -1, 8)
    low, high = (
        np.bitwise_or.reduce(((words >> np.uint64(bit)) & BYTE_ONES) << SHIFTS, axis=2)
        for bit in range(2)
    )
    if width == 1:
        return low
    return np.stack([low ^ high, high], axis=2).reshape(len(codes), -1)


def unpack_codes(words: Words, width: int) -> Bytes:
    """Undo :func:`pack_codes`."""
    if width == WIDE:
        return _transposed(words.view(np.uint8))
    planes = (words.reshape(len(words), -1, width, 1) >> SHIFTS) & BYTE_ONES
    if width == 1:
        return planes.reshape(len(words), -1).view(np.uint8)
    at_least_1, at_least_2 = planes[:, :, 0], planes[:, :, 1]
    low = at_least_1 ^ at_least_2
    six_more_bits = (low & at_least_2) * np.uint64(252)
    both = low | (at_least_2 << np.uint64(1)) | six_more_bits
    return both.reshape(len(words), -1).view(np.uint8)


def _transposed(codes: Bytes) -> Bytes:
    out = np.empty(codes.shape, dtype=np.uint8)
    _transpose_codes(np.ascontiguousarray(codes).ravel(), out.reshape(-1))
    return out


def _check_design(design: Design) -> None:
    if design.n_rows < 1:
        raise ValueError(f"design.n_rows must be 1 or more, got {design.n_rows}")
    widths = design.widths
    if not ((widths == 1) | (widths == 2) | (widths == WIDE)).all():
        raise ValueError("design.widths must be 1, 2 or 8")
    ends = design.starts + n_words(design.n_rows) * widths.astype(np.int64)
    if ends.max(initial=0) > design.codes.size:
        raise ValueError(f"design.codes has no {design.n_rows} rows of every column")


@struct("design", _check_design)
class Design(NamedTuple):
    """The table as the sampler reads it; it counts columns in the order of ``columns``."""

    codes: Annotated[Words, "u8[words]"]  # one column of the table after the other
    starts: Annotated[Ints, "i8[table] < words"]  # the first word of each
    widths: Annotated[Bytes, "u1[table]"]  # bits of a code of each
    n_cuts: Annotated[Bytes, "u1[table]"]
    has_missing: Annotated[Bools, "b1[table]"]
    columns: Annotated[Ints, "i8[columns] < table"]  # that may be split on
    n_rows: int


def _check_prior(prior: PriorParameters) -> None:
    has_levels = prior.latent in (GRADES, CLASSES)
    for name, is_right in (
        ("latent", OBSERVED <= prior.latent <= CLASSES),
        ("latent_sweeps", prior.latent_sweeps >= 1),
        ("split_log_odds", prior.split_log_odds.size > MAX_DEPTH),
        ("shares", prior.shares.size > 0),
        ("ratios", prior.ratios.size > 0),
        ("cuts", prior.cuts.size <= MOST_LEVELS and (prior.cuts.size > 0) == has_levels),
        ("cut_steps", prior.latent != GRADES or prior.cut_steps.size == prior.cuts.size),
    ):
        if not is_right:
            raise ValueError(f"prior.{name} is not what the other parameters ask for")


@struct("prior", _check_prior)
class PriorParameters(NamedTuple):
    """The prior in the numbers that the core needs, in units of the working response."""

    split_log_odds: Annotated[Floats, "f8[depths]"]  # by depth: log(p_d (1 - p_{d+1})^2 / (1-p_d))
    min_leaf: int
    leaf_precision: float
    noise_df: float  # nu
    noise_sum: float  # nu lambda
    free_noise: bool  # whether the noise variance is drawn
    latent: int  # OBSERVED, BOUNDS, GRADES or CLASSES
    cuts: Annotated[Floats, "f8[cuts]"]  # first cut points between grades, or offsets of classes
    burn: int  # iterations before the averages start
    sparse_from: int  # the first iteration with the Dirichlet prior
    shares: Annotated[Floats, "f8[grid]"]  # theta / q
    log_shares: Annotated[Floats, "f8[grid, table]"]  # log(theta / q + m) for m = 0, 1, ...
    column_log_weights: Annotated[Floats, "f8[columns]"]  # of every column that a forest uses
    pair_share: float  # of the proposals, those that add or remove two splits
    pairs: Annotated[Ints, "i8[pairs, 2]"]  # columns that half of these are about
    latent_sweeps: int  # iterations from one draw of the latents to the next
    cut_steps: Annotated[Floats, "f8[steps]"]  # standard deviations of the steps of cut points
    ratios: Annotated[Floats, "f8[ratios]"]  # rho, variance of groups over that of the noise


@struct("trees")
class Trees(NamedTuple):
    """The shape of the forest."""

    nodes: Annotated[Small, "i4[trees, nodes, 8]!"]
    splits: Annotated[Ints, "i8[trees]!"]


@struct("leaves")
class Leaves(NamedTuple):
    """All leaves of the forest: room for them, and how many there are."""

    size: Annotated[Ints, "i8[1]!"]
    owners: Annotated[Small, "i4[leaves, 2]!"]  # tree and node of each
    masks: Annotated[Words, "u8[words, leaves]!"]  # its rows
    gram: Annotated[Small, "i4[leaves, leaves]!"]  # rows that two of them share
    sums: Annotated[Floats, "f8[leaves]!"]  # of the response over its rows
    means: Annotated[Floats, "f8[leaves]!"]
    fitted: Annotated[Floats, "f8[leaves]!"]  # sum of the forest over its rows


@struct("tally")
class Tally(NamedTuple):
    """Splits by column: COUNT and so on; columns with more than m; N_SPLITS and so on."""

    columns: Annotated[Ints, "i8[columns, 4]!"]
    ladder: Annotated[Ints, "i8[leaves]!"]
    whole: Annotated[Ints, "i8[4]!"]


@struct("response")
class ResponseState(NamedTuple):
    """The response, by row in the order of the bits."""

    values: Annotated[Floats, "f8[rows]!"]  # what the forest models now
    observed: Annotated[Floats, "f8[levels=3, rows]!"]  # bounds; the grade or class, -1 for none
    fit: Annotated[Floats, "f8[rows]!"]  # the forest, when latents were drawn last
    cuts: Annotated[Floats, "f8[cuts]!"]  # between grades
    spread: Annotated[Floats, "f8[rows]!"]  # values in the order in which they are added up
    real: Annotated[Floats, "f8[2]!"]  # PRECISION, SQUARES


@struct("proposal")
class Proposal(NamedTuple):
    """Scratch: rows of a proposed left child, and how many of them each leaf has."""

    rows: Annotated[Words, "u8[words]!"]
    shared: Annotated[Small, "i4[leaves]!"]


@struct("groups")
class Groups(NamedTuple):
    """Groups of rows with a random intercept, or none."""

    whole: Annotated[Ints, "i8[2]!"]  # how many parts, PLACE of rho on its grid
    parts: Annotated[Ints, "i8[pieces, 3]!"]  # word, group, which of its rows
    rows: Annotated[Floats, "f8[leaves, groups]!"]  # of a group that a leaf has
    of_split: Annotated[Floats, "f8[two=2, groups]!"]  # scratch: the same of a proposal's children
    sizes: Annotated[Floats, "f8[groups]!"]  # n
    weights: Annotated[Floats, "f8[groups]!"]  # rho / (1 + rho n)
    rest: Annotated[Floats, "f8[groups]!"]  # sum of the response minus the forest over its rows


@struct("chain")
class Chain(NamedTuple):
    """The state of the Markov chain and its running tallies."""

    trees: Trees
    leaves: Leaves
    tally: Tally
    response: ResponseState
    proposal: Proposal
    groups: Groups


@struct("trace")
class Trace(NamedTuple):
    """One value per iteration."""

    precision: Annotated[Floats, "f8[iterations]!"]
    theta: Annotated[Floats, "f8[iterations]!"]
    ratio: Annotated[Floats, "f8[iterations]!"]
    n_splits: Annotated[Ints, "i8[iterations]!"]


@struct("draw")
class DrawnRows(NamedTuple):
    """Which rows a chain sees, and columns that it sees a second time, each in another order."""

    rows: Annotated[Ints, "i8[rows]!"]
    shadows: Annotated[Ints, "i8[shadows]!"]
    shuffled: Annotated[Ints, "i8[shadows, rows]!"]


@struct("sample")
class Sample(NamedTuple):
    """Columns copied at some rows, the shadows behind them, and what is known of the response."""

    codes: Annotated[Words, "u8[words]!"]
    starts: Annotated[Ints, "i8[columns]! < words"]
    widths: Annotated[Bytes, "u1[columns]!"]
    n_cuts: Annotated[Bytes, "u1[columns]!"]
    has_missing: Annotated[Bools, "b1[columns]!"]
    observed: Annotated[Floats, "f8[sides=2, rows]!"]
    groups: Annotated[Small, "i4[grouped]!"]

    def design(self, n_columns: int, n_rows: int) -> Design:
        """The first columns as the sampler reads them."""
        return Design(*self[:5], np.arange(n_columns, dtype=np.int64), n_rows)


def locked(value: Any) -> Any:
    """A view of an array that cannot be written to; anything else as it is."""
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    return value


def new_chain(
    n_trees: int,
    n_rows: int,
    n_columns: int,
    n_groups: int = 0,
    n_nodes: int = 31,
    n_leaves: int | None = None,
) -> Chain:
    """The arrays of a chain that has not begun, with room for multiples of eight."""
    words, groups = n_words(n_rows), -(-n_groups // 8) * 8
    return allocate(
        Chain,
        trees=n_trees,
        nodes=n_nodes,
        leaves=n_leaves or 8 * (n_trees // 4 + 4),
        columns=n_columns,
        words=words,
        rows=64 * words,
        cuts=MOST_LEVELS,
        groups=groups,
        pieces=words + groups if groups else 0,
    )


def new_sample(n_columns: int, n_rows: int, n_grouped: int = 0) -> Sample:
    """Room for copies of columns at some rows."""
    words = n_words(n_rows)
    parts = {"starts": np.arange(n_columns) * WIDE * words}
    size = n_columns * WIDE * words
    lengths = {"words": size, "columns": n_columns, "rows": 64 * words, "grouped": n_grouped}
    return allocate(Sample, parts, **lengths)


def with_more_room(chain: Chain) -> Chain:
    """The same state with twice the room for nodes and leaves."""
    n_trees, n_nodes, _ = chain.trees.nodes.shape
    words, n_leaves = chain.leaves.masks.shape
    n_columns = len(chain.tally.columns)
    n_groups = chain.groups.sizes.size
    larger = new_chain(n_trees, 64 * words, n_columns, n_groups, 2 * n_nodes, 2 * n_leaves)
    structs: Iterator[tuple[Any, Any]] = zip(chain, larger, strict=True)
    for old, new in structs:
        for values, room in zip(old, new, strict=True):
            room[tuple(map(slice, values.shape))] = values
    return larger


run = function(
    "run", "rng: generator; design: design; prior: prior; chain: chain; trace: trace; stop: int"
)
"""Run iterations until ``stop`` of them are done.

It ends early, between two iterations, when the arrays of the chain could become too small in the
next one. The chain itself holds how many iterations are done, so that an interrupt on the way back
to Python loses nothing.
"""
_copy_sample = function(
    "copy_sample",
    "table: design; observed: f8[sides=2, padded]; draw: draw; sample: sample; groups: i4[grouped]",
)
_begin = function(
    "begin",
    "chain: chain; design: design; prior: prior; observed: f8[sides=2, padded]; "
    "groups: i4[grouped]; precision: float",
)


def copy_sample(
    table: Design, observed: Floats, draw: DrawnRows, sample: Sample, groups: Small = NO_GROUPS
) -> None:
    """Copy the columns of a design at the drawn rows, their groups, and the shadows behind them."""
    n_copies = table.columns.size + draw.shadows.size
    if n_copies > sample.starts.size or sample.observed.shape[1] != 64 * n_words(draw.rows.size):
        raise ValueError(f"the sample has no room for {n_copies} columns and {draw.rows.size} rows")
    if observed.shape[1] != 64 * n_words(table.n_rows):
        raise ValueError(f"observed must be of {table.n_rows} rows")
    for rows in (draw.rows, draw.shuffled):
        if rows.size and not 0 <= rows.min() <= rows.max() < table.n_rows:
            raise ValueError(f"draw has rows that are not among the {table.n_rows} of the table")
    if draw.shadows.size and not 0 <= draw.shadows.min() <= draw.shadows.max() < table.widths.size:
        raise ValueError("draw.shadows has columns that the table does not have")
    for found, n_rows in ((groups, table.n_rows), (sample.groups, draw.rows.size)):
        if found.size != (n_rows if groups.size else 0):
            raise ValueError(f"groups must be of {n_rows} rows or of none, got {found.size}")
    _copy_sample(table, observed, draw, sample, groups)


def begin(
    chain: Any, design: Any, prior: Any, observed: Floats, groups: Small, precision: float
) -> None:
    """Make a packed chain a forest of stumps with means zero, whatever its arrays held before.

    ``observed`` is what is known of the response, in the order of the bits: its bounds, or its
    grade or class counted from 1. ``groups`` are those of the rows, which stand together.
    """
    check_chain(chain.record, design.record, prior.record)
    check_observed(observed, design.record.n_rows, prior.record)
    n_rows, room = design.record.n_rows, chain.record.groups.sizes.size
    if groups.size != (n_rows if room else 0) or n_groups(groups, prior.record) > room:
        raise ValueError(f"groups must be of {n_rows} rows and of at most {room} groups")
    _begin(chain, design, prior, observed, groups, precision)


def n_groups(groups: Small, prior: PriorParameters) -> int:
    """How many groups a chain has; every one of several classes has them to itself."""
    n_classes = prior.cuts.size if prior.latent == CLASSES else 1
    block = groups[: groups.size // n_classes]
    return n_classes * (1 + int(np.count_nonzero(np.diff(block)))) if block.size else 0


def check_observed(observed: Floats, n_rows: int, prior: PriorParameters) -> None:
    """Refuse observations of another number of rows, and grades or classes that do not exist."""
    if observed.shape[1] != 64 * n_words(n_rows):
        raise ValueError(f"observed must be of {n_rows} rows")
    if prior.latent in (GRADES, CLASSES):
        levels = in_row_order(observed[0], n_rows)
        highest = prior.cuts.size + (prior.latent == GRADES)
        if not ((levels >= 1) & (levels <= highest)).all():
            raise ValueError(f"observed must hold grades or classes from 1 to {highest}")


def check_chain(chain: Chain, design: Design, prior: PriorParameters) -> None:
    """Refuse a chain whose arrays do not match a design and a prior."""
    words, leaves = n_words(design.n_rows), chain.leaves.sums.size
    for name, found, wanted in (
        ("leaves.masks", chain.leaves.masks.shape[0], words),
        ("response.values", chain.response.values.size, 64 * words),
        ("proposal.rows", chain.proposal.rows.size, words),
        ("proposal.shared", chain.proposal.shared.size, leaves),
        ("tally.ladder", chain.tally.ladder.size, leaves),
        ("groups.rows", len(chain.groups.rows), leaves),
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
    parts, groups = len(chain.groups.parts), chain.groups.sizes.size
    if groups % 8 or (groups and parts < words + groups):
        raise ValueError("a chain has room for a multiple of eight groups")
    if leaves % 8 or prior.cuts.size > chain.response.cuts.size:
        raise ValueError("a chain has room for a multiple of eight leaves and at most 100 grades")
