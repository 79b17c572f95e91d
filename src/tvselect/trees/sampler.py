"""A chain in progress: start it, advance it, look at it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvselect.core import allocate, pack
from tvselect.trees import state
from tvselect.trees.bins import BinnedTable
from tvselect.trees.forest import Forest, snapshot
from tvselect.trees.prior import NO_PAIRS, Prior
from tvselect.trees.response import Response
from tvselect.trees.state import Chain, Design, Floats, Ints, Small


class Sampler:
    """A Markov chain over forests, the same however many steps it is advanced in.

    ``precision`` is ``1 / sigma^2`` at the start, and later if the noise is not drawn; 0 switches
    the likelihood off. ``columns`` are the places in the table of the columns of the design, and
    ``groups`` those of its rows, in which the rows of a group stand together.
    """

    def __init__(
        self,
        design: Design,
        prior: state.PriorParameters,
        observed: Floats,
        *,
        n_trees: int,
        n_iterations: int,
        precision: float,
        rng: np.random.Generator,
        columns: Ints | None = None,
        groups: Small = state.NO_GROUPS,
    ) -> None:
        self.design = design
        self.columns = design.columns if columns is None else columns
        self.prior = prior
        self.rng = rng
        self.n_iterations = n_iterations
        self.trace = allocate(state.Trace, iterations=n_iterations)
        self._inputs = pack(design), pack(prior)
        n = state.n_groups(groups, prior)
        self.chain = state.new_chain(n_trees, design.n_rows, design.columns.size, n)
        state.begin(self._outputs[0], *self._inputs, observed, groups, precision)

    @property
    def chain(self) -> Chain:
        """The state of the chain."""
        return self._chain

    @chain.setter
    def chain(self, chain: Chain) -> None:
        state.check_chain(chain, self.design, self.prior)
        self._chain = chain
        self._outputs: tuple[Any, Any] = pack(chain), pack(self.trace)

    def advance(self, n_iterations: int | None = None) -> None:
        """Run ``n_iterations`` more, or all that are left."""
        stop = self.n_iterations
        if n_iterations is not None:
            stop = min(stop, self.n_done + n_iterations)
        while True:
            state.run(self.rng, *self._inputs, *self._outputs, stop)
            if self.n_done >= stop:
                return
            self.chain = state.with_more_room(self.chain)

    @property
    def n_done(self) -> int:
        """Iterations done so far."""
        return int(self.chain.tally.whole[state.N_DONE])

    @property
    def counts(self) -> Ints:
        """Splits of the present forest by column."""
        return self.chain.tally.columns[:, state.COUNT].copy()

    def averages(self) -> tuple[Floats, Floats]:
        """Mean splits by column, and share of forests with it, after burn-in; zeros before."""
        tally = self.chain.tally.columns
        open_span = np.maximum(self.n_done - np.maximum(tally[:, state.SINCE], self.prior.burn), 0)
        open_span[tally[:, state.COUNT] == 0] = 0
        n_draws = max(self.n_done - self.prior.burn, 1)
        total = tally[:, state.TOTAL] + open_span * tally[:, state.COUNT]
        return total / n_draws, (tally[:, state.PRESENT] + open_span) / n_draws

    @property
    def acceptance_rate(self) -> float:
        """Share of proposed births and deaths that were accepted."""
        proposed = max(self.n_done * self.chain.trees.splits.size, 1)
        return float(self.chain.tally.whole[state.ACCEPTED] / proposed)

    def forest(self, scale: float = 1.0) -> Forest:
        """The present forest, leaf means multiplied by ``scale``."""
        return snapshot(self.chain, self.columns, scale)

    def fitted(self) -> Floats:
        """The present forest at the rows of the table, in working units."""
        leaves = self.chain.leaves
        size = leaves.size[0]
        words = np.ascontiguousarray(leaves.masks[:, :size].T)
        bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
        return state.in_row_order(leaves.means[:size] @ bits, self.design.n_rows)


def start_chain(
    table: BinnedTable,
    response: Response,
    prior: Prior,
    *,
    columns: Ints | None = None,
    rows: Ints | None = None,
    shadows: Ints | None = None,
    column_weights: Floats | None = None,
    n_iterations: int,
    n_burn: int,
    sigma: float | None = None,
    pairs: Ints = NO_PAIRS,
    groups: Small = state.NO_GROUPS,
    rng: np.random.Generator,
) -> Sampler:
    """Start a chain on all columns of a table, or on the given places ``columns``.

    ``rows`` restricts it to some rows. ``shadows`` are columns of which copies with shuffled rows
    compete for splits, behind the others. With either of them, or with ``groups`` (the code of the
    group of each row, which shares a random intercept), columns are copied, and the forest counts
    them as in play. The prior of a forest is multiplied by the weight, in (0, 1], of every column
    and shadow that it uses (``column_weights``). With a sparse prior the first half of the burn-in
    splits on all columns alike. ``sigma`` fixes the noise, in units of the outcome; ``inf``
    switches the likelihood off. ``pairs`` (pairs, 2) are columns that proposals of two splits try
    together.
    """
    design, observed = table.design(columns), response.observed
    if shadows is None:
        shadows = np.empty(0, dtype=np.int64)
    n_columns = design.columns.size + shadows.size
    parameters = prior.parameters(
        response,
        np.ones(n_columns) if column_weights is None else column_weights,
        burn=n_burn,
        sparse_from=n_burn // 2,
        free_noise=sigma is None,
        pairs=pairs,
    )
    of_table = design.columns if rows is None and not shadows.size else None
    grouped = groups
    if rows is not None or shadows.size or response.n_forests > 1 or groups.size:
        rows = np.arange(table.n_rows) if rows is None else rows
        rows = rows[np.lexsort((rows, groups[rows]))] if groups.size else rows
        shuffled = rng.permuted(np.tile(rows, (shadows.size, 1)), axis=1)
        # Every forest of several classes sees the same rows, one block after the other.
        rows, shuffled = (np.tile(part, response.n_forests) for part in (rows, shuffled))
        sample = state.new_sample(n_columns, rows.size, rows.size if groups.size else 0)
        state.copy_sample(
            design, observed, state.DrawnRows(rows, shadows, shuffled), sample, groups
        )
        grouped = sample.groups
        design, observed = sample.design(n_columns, rows.size), sample.observed
    return Sampler(
        design,
        parameters,
        observed,
        n_trees=prior.n_trees,
        n_iterations=n_iterations,
        precision=response.precision if sigma is None else (sigma / response.scale) ** -2,
        rng=rng,
        columns=of_table,
        groups=grouped,
    )
