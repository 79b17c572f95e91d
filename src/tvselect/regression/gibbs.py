"""Spike-and-slab regression on given functions: the model, and chains of the Gibbs sampler."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from tvselect.core import allocate, function, struct

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Small = NDArray[np.int32]

ALWAYS, ALONE, TOGETHER, OF_GROUPS = range(4)
"""Whose slab a function has: those always in, those of one column, of several; intercepts."""
SLAB_DF = np.array([np.inf, 6.0, 6.0, 4.0])
SLAB_SUM = np.array([0.0, 0.6, 0.6, 0.4])
WIDE = 4.0
NOISE_DF, NOISE_SUM = 3.0, 0.5
TAILS = np.array([np.inf, 16.0, 8.0, 4.0, 2.0])
RATES = np.log(2.0) * np.linspace(-2.0, 2.0, 9)
N_FIRST, REST = 300, 8
ROWS_AT_ONCE = 16


@struct("regression")
class Regression(NamedTuple):
    """What is known and believed beforehand, see ``core/regression.h``."""

    functions: Annotated[Singles, "f4[functions, padded]"]
    log_odds: Annotated[Floats, "f8[functions]"]  # that a function is in; infinite: always
    kinds: Annotated[NDArray[np.uint8], "u1[functions] < slabs"]
    owners: Annotated[Small, "i4[functions, together]"]  # columns that it is of, or -1
    slab_df: Annotated[Floats, "f8[slabs]"]
    slab_sum: Annotated[Floats, "f8[slabs]"]
    noise_df: float
    noise_sum: float
    n_first: int  # functions that may come and go in every sweep
    rest: int  # the others in one of so many
    near_starts: Annotated[Ints, "i8[functions+1] <= near"]
    near: Annotated[Ints, "i8[near] < functions"]  # with which a function may change places
    tails: Annotated[Floats, "f8[tails]"]  # degrees of freedom of the noise
    tail_constants: Annotated[Floats, "f8[tails]"]
    rates: Annotated[Floats, "f8[rates]"]  # log of the factor of the odds of ALONE
    rate_constants: Annotated[Floats, "f8[rates]"]
    groups: Annotated[Small, "i4[grouped] < groups"]
    group_sums: Annotated[Singles, "f4[functions, groups]"]
    group_sizes: Annotated[Floats, "f8[groups]"]


@struct("regression_state")
class RegressionState(NamedTuple):
    """Where a chain is, and what it has counted."""

    real: Annotated[Floats, "f8[3]!"]  # 1 / sigma^2, places of the tail and of the rate
    coefficients: Annotated[Floats, "f8[functions]!"]
    slabs: Annotated[Floats, "f8[slabs]!"]
    residual: Annotated[Singles, "f4[padded]!"]
    weights: Annotated[Singles, "f4[padded]!"]
    intercepts: Annotated[Floats, "f8[groups]!"]
    group_sums: Annotated[Floats, "f8[groups]!"]
    shares: Annotated[Floats, "f8[groups]!"]
    sizes: Annotated[Floats, "f8[functions]!"]  # sums of squares
    room: Annotated[Floats, "f8[functions]!"]
    members: Annotated[Ints, "i8[functions]!"]
    times_in: Annotated[Ints, "i8[functions]!"]
    owner_times_in: Annotated[Ints, "i8[owners]!"]
    seen: Annotated[Ints, "i8[owners]!"]
    scores: Annotated[Floats, "f8[rows]!"]


regress = function(
    "regress",
    """
    rng: generator
    model: regression
    state: regression_state
    n_sweeps: int
    n_burn: int
    """,
)


class Terms(NamedTuple):
    """Functions that a regression may use, each of mean 0 and variance 1 but those always in."""

    functions: Singles  #: (functions, rows)
    log_odds: Floats  #: That a function is in, a priori; infinite: always
    kinds: NDArray[np.uint8]  #: ALWAYS, ALONE or TOGETHER
    owners: Small  #: (functions, 3): the owners of its columns, -1 for none
    degrees: Small  #: Of a function of one column: 1 for a line; else 0

    @classmethod
    def join(cls, parts: list[Terms]) -> Terms:
        """All of them."""
        columns: Any = zip(*parts, strict=True)
        return cls(*map(np.concatenate, columns))

    def at(self, places: Ints) -> Terms:
        """Some of them."""
        parts: Any = (entry[places] for entry in self)
        return Terms(*parts)


class Posterior(NamedTuple):
    """What a chain says after burn-in."""

    of_functions: Floats  #: How often each was in
    of_owners: Floats  #: How often any function of each was in
    scores: Floats  #: By row the mean residual, less where it is far out


def start(
    terms: Terms,
    y: Floats,
    n_owners: int,
    near: tuple[Ints, Ints],
    groups: Small,
    tails: Floats = TAILS,
) -> tuple[Regression, RegressionState]:
    """The model, and a chain with no function in; ``y`` has a variance of about 1."""
    n_functions, n_rows = terms.functions.shape
    functions = np.zeros((n_functions, -(-n_rows // ROWS_AT_ONCE) * ROWS_AT_ONCE), np.float32)
    functions[:, :n_rows] = terms.functions
    n_groups = int(groups.max(initial=-1)) + 1
    group_sums = np.zeros((n_functions, n_groups), np.float32)
    np.add.at(
        group_sums.T, groups, terms.functions.T if groups.size else np.empty((0, n_functions))
    )
    odds = np.exp(terms.log_odds[terms.kinds == ALONE])
    none_in = -np.log1p(np.exp(RATES)[:, None] * odds).sum(axis=1)
    tails = TAILS[:1] if groups.size else tails
    half = tails / 2
    with np.errstate(invalid="ignore"):
        constants = gammaln(half + 0.5) - gammaln(half) - 0.5 * np.log(half)
    model = Regression(
        functions,
        terms.log_odds,
        terms.kinds,
        terms.owners,
        SLAB_DF,
        SLAB_SUM,
        NOISE_DF,
        NOISE_SUM,
        N_FIRST,
        REST,
        *near,
        tails,
        np.where(np.isinf(tails), 0.0, constants),
        RATES,
        none_in,
        groups,
        group_sums,
        np.bincount(groups, minlength=n_groups).astype(np.float64),
    )
    state = allocate(
        RegressionState,
        functions=n_functions,
        slabs=SLAB_DF.size,
        padded=functions.shape[1],
        groups=n_groups,
        owners=n_owners,
        rows=n_rows,
    )
    state.real[:] = 1.0, 0.0, RATES.size // 2
    state.slabs[:] = np.where(np.isinf(SLAB_DF), WIDE, SLAB_SUM / SLAB_DF)
    state.residual[:n_rows] = y
    state.weights[:n_rows] = 1.0
    state.sizes[:] = np.einsum("ij,ij->i", functions, functions)
    return model, state


def run(
    rng: np.random.Generator, model: Regression, state: RegressionState, n_burn: int, n_keep: int
) -> Posterior:
    """Run a chain for ``n_burn + n_keep`` sweeps."""
    regress(rng, model, state, n_burn + n_keep, n_burn)
    # Half a sweep more for either: nothing is sure after a finite number of sweeps.
    share: Floats = (state.owner_times_in.astype(np.float64) + 0.5) / (n_keep + 1.0)
    return Posterior(state.times_in / n_keep, share, state.scores / n_keep)
