"""The face of the trees: run BART or DART on a table."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs import Outcome, read_outcome, read_table
from tvselect.inputs.errors import check_scalar
from tvselect.inputs.outcome import AskedFamily
from tvselect.seeds import RandomState, as_generator
from tvselect.trees.bins import BinnedTable, bin_table
from tvselect.trees.prior import Prior
from tvselect.trees.response import ON_LATENT_SCALE, Response, working_response
from tvselect.trees.result import BartRun, Draw
from tvselect.trees.sampler import Sampler, start_chain
from tvselect.trees.state import PRECISION

GLANCE_SECONDS = 0.2


def run_bart(
    X: Any,
    y: Any,
    *,
    n_trees: int = 10,
    n_iterations: int = 1000,
    n_burn: int | None = None,
    sparse: bool = False,
    family: AskedFamily = "auto",
    columns: Sequence[int] | Sequence[str] | None = None,
    prior: Prior | None = None,
    max_cuts: int = 100,
    noise_scale: float | Literal["sd", "linear"] = "sd",
    sigma: float | None = None,
    n_keep: int = 100,
    random_state: RandomState = None,
    verbose: int = 0,
) -> BartRun:
    """Run Bayesian additive regression trees (BART), or DART with ``sparse=True``.

    Parameters
    ----------
    X : array-like, data frame or BinnedTable
        Rows and columns of numbers; missing values are legal. A table that was
        binned before (:func:`bin_table`) is used as it is.
    y : array-like
        Numbers, labels of classes, grades, counts or survival times, see ``family``.
    n_trees : int, default=10
        With three or more classes: of each class.
    n_iterations : int, default=1000
        Iterations in all, burn-in included.
    n_burn : int, optional
        Iterations that averages leave out; half of them by default.
    sparse : bool, default=False
        Dirichlet prior on the splitting probabilities.
    family : {"auto", "gaussian", "probit", "classes", "ordinal", "counts", "survival"}
        What the outcome is; "auto" decides as :func:`tvselect.inputs.read_outcome` says.
    columns : sequence of int or str, optional
        Only these columns may be split on.
    prior : Prior, optional
        All settings of the prior; ``n_trees`` and ``sparse`` are then taken from it.
    max_cuts : int, default=100
        At most that many cut points per column; a binned table keeps its own.
    noise_scale : float, "sd" or "linear", default="sd"
        Rough guess of the noise standard deviation that scales its prior: a number,
        the standard deviation of ``y``, or that of the residuals of a linear model on
        the columns (complete ones, fewer than the rows).
    sigma : float, optional
        Fix the noise standard deviation instead of drawing it. ``inf`` switches the
        likelihood off: the run then draws from the prior.
    n_keep : int, default=100
        Forests to keep for :meth:`BartRun.predict`.
    random_state : None, int, SeedSequence or Generator
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    BartRun

    Notes
    -----
    When interrupted (Ctrl-C) after burn-in, the run so far is returned with a
    warning.

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect.trees import run_bart
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 1000))
    >>> y = 10 * X[:, 3] + 5 * (X[:, 7] > 0.5) + rng.standard_normal(200)
    >>> found = run_bart(X, y, sparse=True, n_iterations=5000, random_state=1)
    >>> [str(name) for name in found.table(2)["variable"]]
    ['x3', 'x7']
    """
    n_iterations = int(check_scalar(n_iterations, "n_iterations", Integral, min_val=1))
    if n_burn is None:
        n_burn = n_iterations // 2
    n_burn = int(check_scalar(n_burn, "n_burn", Integral, min_val=0, max_val=n_iterations - 1))
    check_scalar(n_keep, "n_keep", Integral, min_val=1)
    if sigma is not None and not (isinstance(sigma, Real) and sigma > 1e-50):
        raise ValueError(f"sigma must be a positive number or None, got {sigma!r}")
    if prior is None:
        prior = Prior(n_trees=n_trees, sparse=bool(sparse))
    elif not isinstance(prior, Prior):
        raise TypeError(f"prior must be a Prior or None, got {prior!r}")
    rng = as_generator(random_state)
    table = X if isinstance(X, BinnedTable) else bin_table(X, max_cuts=max_cuts)
    outcome = read_outcome(y, table.n_rows, family=family)
    if table.n_rows < 2 * prior.min_leaf:
        raise ValueError(
            f"X has {table.n_rows} rows, but a split needs two leaves of at least "
            f"{prior.min_leaf} rows each; pass prior=Prior(min_leaf=...) to allow smaller ones"
        )
    if sigma is not None and outcome.family in ON_LATENT_SCALE:
        raise ValueError(f"sigma cannot be fixed: {outcome.family!r} has no noise to draw")
    chosen = _column_indices(columns, table.names)
    response = working_response(outcome, _noise_guess(noise_scale, X, outcome, chosen))
    prior = replace(prior, n_trees=prior.n_trees * response.n_forests)
    chain = start_chain(
        table,
        response,
        prior,
        columns=chosen,
        n_iterations=n_iterations,
        n_burn=n_burn,
        sigma=sigma,
        rng=rng,
    )
    chain.advance(0)  # compiles at the very first use: not part of the time reported
    started = time.perf_counter()
    draws = _advance(chain, response, n_burn, n_keep, verbose)
    seconds = time.perf_counter() - started
    return _result(chain, response, outcome, table, draws, n_burn, seconds)


def _advance(
    chain: Sampler, response: Response, n_burn: int, n_keep: int, verbose: int
) -> list[Draw]:
    """Advance a chain to its end, keeping draws at even distances after burn-in."""
    from tqdm.auto import tqdm

    n_draws = chain.n_iterations - n_burn
    kept_at = n_burn + np.ceil(np.arange(1, n_keep + 1) * n_draws / n_keep).astype(int)
    kept_at = np.unique(kept_at)
    draws: list[Draw] = []
    stride = 10
    with tqdm(
        total=chain.n_iterations, desc="BART", unit=" iterations", disable=verbose < 1
    ) as bar:
        try:
            while chain.n_done < chain.n_iterations:
                goal = int(kept_at[len(draws)])
                began, before = time.perf_counter(), chain.n_done
                chain.advance(min(stride, goal - chain.n_done))
                if time.perf_counter() - began < GLANCE_SECONDS / 2:
                    stride *= 2
                bar.update(chain.n_done - before)
                if chain.n_done == goal:
                    draws.append(_draw(chain, response))
        except KeyboardInterrupt:
            if chain.n_done <= n_burn:
                raise
            if not draws:
                draws.append(_draw(chain, response))
            warnings.warn(
                f"interrupted after {chain.n_done} of {chain.n_iterations} iterations; "
                "the result covers these",
                RuntimeWarning,
                stacklevel=3,
            )
    return draws


def _draw(chain: Sampler, response: Response) -> Draw:
    """The present forest, noise and cut points, in units of the outcome or of its latent."""
    cuts = response.cuts
    if response.family == "ordinal":
        cuts = chain.chain.response.cuts[: cuts.size].copy()
    precision = float(chain.chain.response.real[PRECISION])
    sigma = response.scale / precision**0.5 if precision > 0.0 else np.inf
    return Draw(chain.forest(response.scale), sigma, cuts)


def _result(
    chain: Sampler,
    response: Response,
    outcome: Outcome,
    table: BinnedTable,
    draws: list[Draw],
    n_burn: int,
    seconds: float,
) -> BartRun:
    mean_splits, inclusion = chain.averages()
    done = slice(chain.n_done)
    with np.errstate(divide="ignore"):
        sigma = response.scale / np.sqrt(chain.trace.precision[done])
    return BartRun(
        family=response.family,
        names=tuple(table.names[j] for j in chain.columns),
        mean_splits=mean_splits,
        inclusion=inclusion,
        last_splits=chain.counts,
        sigma=sigma,
        theta=chain.trace.theta[done],
        n_splits=chain.trace.n_splits[done],
        forest=chain.forest(response.scale),
        draws=tuple(draws),
        n_burn=n_burn,
        acceptance_rate=chain.acceptance_rate,
        seconds=seconds,
        outcome=outcome,
        cuts=table.cuts,
        center=response.center,
    )


def _column_indices(
    columns: Sequence[int] | Sequence[str] | None, names: Sequence[str]
) -> NDArray[np.int64]:
    if columns is None:
        return np.arange(len(names), dtype=np.int64)
    wanted = list(columns) if np.iterable(columns) and not isinstance(columns, str) else []
    if not wanted:
        raise ValueError(
            f"columns must be a sequence of at least one column name or index, got {columns!r}"
        )
    places = {name: j for j, name in enumerate(names)}
    chosen = []
    for column in wanted:
        if isinstance(column, str):
            if column not in places:
                raise ValueError(f"columns names {column!r}, which X does not have")
            chosen.append(places[column])
        elif type(column) is bool or not (
            isinstance(column, int | np.integer) and 0 <= column < len(names)
        ):
            raise ValueError(
                f"columns has {column!r}; it takes names, or indices from 0 to {len(names) - 1}"
            )
        else:
            chosen.append(int(column))
    for place, times in Counter(chosen).most_common(1):
        if times > 1:
            raise ValueError(f"columns has {names[place]!r} {times} times")
    return np.array(chosen, dtype=np.int64)


def _noise_guess(
    noise_scale: float | Literal["sd", "linear"],
    X: Any,
    outcome: Outcome,
    columns: NDArray[np.int64],
) -> float | Literal["sd"]:
    if isinstance(noise_scale, str):
        legal = noise_scale in ("sd", "linear")
    else:
        legal = isinstance(noise_scale, Real) and 0 < noise_scale < np.inf
    if not legal:
        raise ValueError(
            f"noise_scale must be a positive number, 'sd' or 'linear', got {noise_scale!r}"
        )
    if noise_scale == "sd" or outcome.family not in ("gaussian", "survival"):
        return "sd"
    if noise_scale == "linear":
        return _linear_residual_sd(X, outcome, columns)
    return float(noise_scale)


def _linear_residual_sd(X: Any, outcome: Outcome, columns: NDArray[np.int64]) -> float:
    if isinstance(X, BinnedTable):
        raise ValueError("noise_scale='linear' needs the table itself, not a binned one")
    table = read_table(X)
    n_free = table.n_rows - columns.size - 1
    if n_free < 1:
        raise ValueError(
            f"noise_scale='linear' needs more rows than columns + 1, got {table.n_rows} rows "
            f"and {columns.size} columns; use 'sd'"
        )
    values = np.concatenate([table.block(int(j), int(j) + 1) for j in columns])
    if np.isnan(values).any():
        raise ValueError("noise_scale='linear' needs columns without missing values; use 'sd'")
    design = np.column_stack([np.ones(table.n_rows), values.T])
    residuals = outcome.values - design @ np.linalg.lstsq(design, outcome.values, rcond=None)[0]
    guess = float(np.sqrt(np.sum(residuals**2) / n_free))
    if not guess > 1e-8 * outcome.values.std():
        raise ValueError("noise_scale='linear': the linear model fits y exactly; use 'sd'")
    return guess
