"""Run BART or DART on a table; the results of a run and its predictions."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import repeat
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri
from sklearn.utils import check_scalar

from tvselect.inputs import Outcome, read_outcome, read_table
from tvselect.inputs.blocks import one_per_row
from tvselect.inputs.errors import InterruptWarning, check_share, needed
from tvselect.inputs.outcome import AskedFamily, Family, warn_of_guess
from tvselect.inputs.table import find_feature
from tvselect.seeds import RandomState, as_generator
from tvselect.trees.bins import BinnedTable, Cuts, bin_table
from tvselect.trees.forest import Forest
from tvselect.trees.prior import Prior
from tvselect.trees.response import ON_LATENT_SCALE, Response, chances_of_classes, working_response
from tvselect.trees.sampler import Sampler, start_chain
from tvselect.trees.state import PRECISION, Floats, Ints

GLANCE_SECONDS = 0.2
N_NOISE = 25
"""Quantiles of the noise for which each draw stands in a predictive interval."""


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
    groups: Any = None,
    prior: Prior | None = None,
    max_cuts: int = 100,
    noise_scale: float | Literal["sd", "linear"] = "sd",
    sigma: float | None = None,
    n_keep: int = 100,
    alpha: float | None = None,
    beta: float | None = None,
    k: float | None = None,
    nu: float | None = None,
    q: float | None = None,
    n_chains: int = 1,
    n_jobs: int | None = None,
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
    groups : array-like, optional
        Label of the group of each row, of any kind: patients with several rows each, say. The rows
        of a group share a normal random intercept beside the forest.
    prior : Prior, optional
        All settings of the prior; ``n_trees`` and ``sparse`` are then taken from it.
    max_cuts : int, default=100
        Maximum number of cut points per column; a binned table keeps its own.
    noise_scale : float, "sd" or "linear", default="sd"
        Rough guess of the noise standard deviation that scales its prior: a number,
        the standard deviation of ``y``, or that of the residuals of a linear model on
        the columns (complete ones, fewer than the rows).
    sigma : float, optional
        Fix the noise standard deviation instead of drawing it. ``inf`` switches the
        likelihood off: the run then draws from the prior.
    n_keep : int, default=100
        Forests of each chain to keep for :meth:`BartRun.predict`.
    alpha, beta, k, nu, q : float, optional
        Of the prior, by the names of Chipman, George and McCulloch (2010): a node at depth ``d``
        splits with probability ``alpha * (1 + d) ** -beta`` (0.95, 2); ``k`` (2) shrinks the leaf
        means; ``nu`` (3) and ``q`` (0.9) are degrees of freedom and quantile of the noise. They are
        ``base``, ``power``, ``k``, ``noise_df`` and ``noise_quantile`` of :class:`Prior`.
    n_chains : int, default=1
        Independent chains, each of ``n_iterations``, whose draws are pooled;
        :meth:`BartRun.summary` says whether they agree.
    n_jobs : int, optional
        Threads for the chains; one by default. The numbers do not depend on it.
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
    for name, count in (("n_keep", n_keep), ("n_chains", n_chains), ("n_jobs", n_jobs or 1)):
        check_scalar(count, name, Integral, min_val=1)
    if sigma is not None and not (isinstance(sigma, Real) and sigma > 1e-50):
        raise ValueError(f"sigma must be a positive number or None, got {sigma!r}")
    named = dict(base=alpha, power=beta, k=k, noise_df=nu, noise_quantile=q)
    named = {name: value for name, value in named.items() if value is not None}
    if prior is None:
        prior = Prior(n_trees=n_trees, sparse=bool(sparse), **named)  # type: ignore[arg-type]
    elif named:
        raise ValueError(f"the prior is given: say {', '.join(named)} in prior=Prior(...)")
    elif not isinstance(prior, Prior):
        raise TypeError(f"prior must be a Prior or None, got {prior!r}")
    rng = as_generator(random_state)
    table = X if isinstance(X, BinnedTable) else bin_table(X, max_cuts=max_cuts)
    outcome = read_outcome(y, table.n_rows, family=family)
    if outcome is not y:
        warn_of_guess(outcome, stacklevel=2)
    if table.n_rows < 2 * prior.min_leaf:
        raise ValueError(
            f"X has {table.n_rows} rows, but a split needs two leaves of at least "
            f"{prior.min_leaf} rows each; pass prior=Prior(min_leaf=...) to allow smaller ones"
        )
    if sigma is not None and outcome.family in ON_LATENT_SCALE:
        raise ValueError(f"sigma cannot be fixed: {outcome.family!r} has no noise to draw")
    labels = _labels(groups, table.n_rows)
    code_of = {label: code for code, label in enumerate(dict.fromkeys(labels))}
    chosen = _column_indices(columns, table.names)
    response = working_response(outcome, _noise_guess(noise_scale, X, outcome, chosen))
    chains = [
        start_chain(
            table,
            response,
            replace(prior, n_trees=prior.n_trees * response.n_forests),
            columns=chosen,
            n_iterations=n_iterations,
            n_burn=n_burn,
            sigma=sigma,
            groups=np.array([code_of[label] for label in labels], dtype=np.int32),
            rng=one,
        )
        for one in ([rng] if n_chains == 1 else rng.spawn(n_chains))
    ]
    started = time.perf_counter()
    with ThreadPoolExecutor(min(n_jobs or 1, n_chains)) as pool:
        draws = _advance(chains, response, len(code_of), n_burn, n_keep, verbose, pool)
    seconds = time.perf_counter() - started
    n_done = min(chain.n_done for chain in chains)

    def traced(name: str) -> NDArray[Any]:
        """A trace of all chains, or of the only one."""
        traces = np.stack([getattr(chain.trace, name)[:n_done] for chain in chains])
        return traces if n_chains > 1 else traces[0]

    with np.errstate(divide="ignore"):
        noise = response.scale / np.sqrt(traced("precision"))
    mean_splits, inclusion = np.mean([chain.averages() for chain in chains], axis=0)
    last = chains[-1]
    return BartRun(
        family=response.family,
        names=tuple(table.names[j] for j in last.columns),
        mean_splits=mean_splits,
        inclusion=inclusion,
        last_splits=last.counts,
        sigma=noise,
        theta=traced("theta"),
        n_splits=traced("n_splits"),
        forest=last.forest(response.scale),
        draws=tuple(draw for of_chain in draws for draw in of_chain),
        n_burn=n_burn,
        acceptance_rate=float(np.mean([chain.acceptance_rate for chain in chains])),
        seconds=seconds,
        outcome=outcome,
        cuts=table.cuts,
        center=response.center,
        groups=tuple(code_of),
        group_sd=noise * np.sqrt(traced("ratio")) if labels else np.empty(0),
        n_chains=n_chains,
    )


def run_to_end(*arguments: Any, **settings: Any) -> BartRun:
    """:func:`run_bart`, except that Ctrl-C always raises KeyboardInterrupt."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", InterruptWarning)
        try:
            return run_bart(*arguments, **settings)
        except InterruptWarning:
            raise KeyboardInterrupt from None


class Prediction(NamedTuple):
    """Means of predictions, and intervals around them, by row."""

    mean: Floats
    low: Floats
    high: Floats


class Draw(NamedTuple):
    """One draw: forest, noise, cut points or class offsets, and mean intercepts of groups."""

    forest: Forest
    sigma: float
    cuts: Floats
    intercepts: Floats


@dataclass(frozen=True, repr=False)
class BartRun:
    """What a run of :func:`run_bart` found.

    Attributes
    ----------
    family : str
        Of the outcome.
    names : tuple of str
        Names of the columns that could be split on; all arrays by column follow them.
    mean_splits : float64 array
        Average number of splits on each column per forest, after burn-in.
    inclusion : float64 array
        Share of the forests after burn-in that split on the column at least once.
    last_splits : int64 array
        Splits on each column in the last forest.
    sigma, theta, n_splits : arrays
        One value per iteration, burn-in included: noise standard deviation, DART's
        concentration (constant under the plain prior) and splits of the forest. Of several
        chains (chains, iterations).
    forest : Forest
        The last forest, of the last chain.
    draws : tuple of Draw
        Forests and what goes with them, kept after burn-in, evenly spaced, for prediction; chain
        after chain, as many of each.
    n_burn : int
        Iterations that averages leave out.
    acceptance_rate : float
        Share of the proposed births and deaths that were accepted.
    seconds : float
        Time in the sampler.
    outcome : Outcome
        What the forests were fitted to.
    cuts : Cuts
        Cut points of the columns.
    center : float
        Added to the sum of the trees in predictions.
    groups : tuple
        Labels of the groups of rows, if there are any.
    group_sd : float64 array
        Standard deviation of their random intercepts, one value per iteration.
    n_chains : int
        Chains that are pooled.
    """

    family: Family
    names: tuple[str, ...]
    mean_splits: Floats
    inclusion: Floats
    last_splits: Ints
    sigma: Floats
    theta: Floats
    n_splits: Ints
    forest: Forest
    draws: tuple[Draw, ...]
    n_burn: int
    acceptance_rate: float
    seconds: float
    outcome: Outcome
    cuts: Cuts
    center: float
    groups: tuple[Any, ...] = ()
    group_sd: Floats = field(default_factory=lambda: np.empty(0))
    n_chains: int = 1

    @property
    def classes(self) -> NDArray[Any] | None:
        """The labels of classes or grades, in their order."""
        return self.outcome.classes

    @property
    def forests(self) -> tuple[Forest, ...]:
        """The forests of the draws that were kept."""
        return tuple(draw.forest for draw in self.draws)

    @overload
    def predict(self, X: Any, groups: Any = None, *, interval: None = None) -> Floats: ...
    @overload
    def predict(self, X: Any, groups: Any = None, *, interval: float) -> Prediction: ...
    @overload
    def predict(self, X: Any, groups: Any = None, *, draws: Literal[True]) -> Floats: ...

    def predict(
        self, X: Any, groups: Any = None, *, interval: float | None = None, draws: bool = False
    ) -> Floats | Prediction:
        """Posterior mean of the outcome at new rows, over the kept forests, or more.

        Parameters
        ----------
        X : array-like, data frame or BinnedTable
            The columns of the table that the run was given, in the same order; or that
            table itself, binned.
        groups : array-like, optional
            Label of the group of each row. A group of the run brings its random intercept; new
            ones, and all rows without this argument, have an intercept of 0.
        interval : float, optional
            Probability of an interval, such as 0.9: with it, the mean and the ends of the interval.
            It holds a new outcome, its noise included; of classes, "probit" and "classes", it holds
            the probability.
        draws : bool, default=False
            Every kept draw of the posterior instead of their mean.

        Returns
        -------
        float64 array, or Prediction with ``interval``
            Means ("gaussian"), probabilities of the second class ("probit") or of every class
            (rows, classes), mean counts, mean grades counted from 0 ("ordinal"), median times
            ("survival"). With ``draws`` (draws, rows) or (draws, rows, classes), chain after chain.

        Examples
        --------
        >>> import numpy as np
        >>> from tvselect import run_bart
        >>> rng = np.random.default_rng(0)
        >>> X = rng.random((300, 2))
        >>> y = 3 * X[:, 0] + rng.normal(size=300)
        >>> run = run_bart(X[:200], y[:200], n_chains=2, random_state=0)
        >>> mean, low, high = run.predict(X[200:], interval=0.9)
        >>> bool(0.8 < np.mean((low < y[200:]) & (y[200:] < high)) < 1)
        True
        >>> run.predict(X[200:], draws=True).shape
        (200, 100)
        """
        if interval is not None:
            check_share(interval, "interval")
            if draws:
                raise ValueError("draws and interval exclude each other; take quantiles of draws")
        if not isinstance(X, BinnedTable):
            codes, n_rows = self.cuts.encode(X), np.shape(X)[0]
        elif X.cuts is self.cuts:
            codes, n_rows = X.codes, X.n_rows
        else:
            raise ValueError("X was binned with other cut points; pass the table itself")
        labels = _labels(groups, n_rows)
        code_of = {label: code for code, label in enumerate(self.groups)}
        places = np.array([code_of.get(label, -1) for label in labels], dtype=np.int64)

        def of_draw(draw: Draw, noise: Floats | None = None) -> Floats:
            known = np.append(draw.intercepts, np.zeros((*draw.intercepts.shape[:-1], 1)), axis=-1)
            intercepts = known[..., places].T if labels else np.float64(0.0)
            return self.expected(draw, lambda f: f.evaluate(codes, n_rows), intercepts, noise)

        if draws:
            return np.stack([of_draw(draw) for draw in self.draws])
        mean = np.asarray(sum(map(of_draw, self.draws), np.float64(0.0)) / len(self.draws))
        if interval is None:
            return mean
        noise = None
        if self.family not in ("probit", "classes"):
            noise = ndtri((np.arange(N_NOISE) + 0.5) / N_NOISE)
        ends = (1 - interval) / 2, (1 + interval) / 2
        values = [np.atleast_2d(of_draw(draw, noise)) for draw in self.draws]
        if noise is None:
            values = [value.reshape(1, *mean.shape) for value in values]
        return Prediction(mean, *np.quantile(np.concatenate(values), ends, axis=0))

    def expected(
        self,
        draw: Draw,
        evaluate: Callable[[Forest], Floats],
        intercepts: Any = 0.0,
        noise: Floats | None = None,
    ) -> Floats:
        """Expected outcome under one ``draw``.

        ``evaluate`` gives the values of a forest; ``intercepts`` of the rows are added to them.
        With standard normal ``noise`` (values,), the outcomes that it makes (values, rows).
        """
        if self.family == "classes":
            n_classes = draw.cuts.size
            trees = range(draw.forest.n_trees)
            values = [evaluate(draw.forest.only(trees[k::n_classes])) for k in range(n_classes)]
            return chances_of_classes(np.stack(values, axis=-1) + draw.cuts + intercepts)
        value = self.center + evaluate(draw.forest) + intercepts
        if self.family == "probit":
            return np.asarray(ndtr(value))
        if noise is not None:
            value = value + draw.sigma * noise[:, None]
        if self.family == "survival":
            return np.exp(value)
        if self.family == "gaussian":
            return value
        levels, cuts = np.unique(self.outcome.values), draw.cuts
        if self.family == "counts":
            shares = np.searchsorted(np.sort(self.outcome.values), levels[1:])
            cuts = ndtri(shares / self.outcome.values.size)
        if noise is not None:
            return levels[np.searchsorted(cuts, value)]
        expected = np.full(value.shape, levels[0])
        for step, cut in zip(np.diff(levels), cuts, strict=True):
            expected += step * ndtr((value - cut) / draw.sigma)
        return expected

    def table(self, top: int | None = None) -> dict[str, NDArray[Any]]:
        """All columns, or the ``top`` ones, by mean number of splits, ready for a data frame."""
        order = np.argsort(-self.mean_splits, kind="stable")[:top]
        return {
            "variable": np.array(self.names)[order],
            "mean_splits": self.mean_splits[order],
            "inclusion": self.inclusion[order],
            "last_splits": self.last_splits[order],
        }

    def traces(self) -> dict[str, NDArray[Any]]:
        """What was traced and varies, (chains, iterations) each, burn-in included."""
        found: dict[str, NDArray[Any]] = {"n_splits": self.n_splits}
        if self.family not in ON_LATENT_SCALE:
            found = {"sigma": self.sigma, **found}
        if np.ptp(self.theta) > 0:
            found["theta"] = self.theta
        if self.groups:
            found["group_sd"] = self.group_sd
        return {name: np.atleast_2d(trace) for name, trace in found.items()}

    def summary(self) -> dict[str, NDArray[Any]]:
        """Mean, spread, R-hat and effective size of what was traced, ready for a data frame.

        Returns
        -------
        dict
            Columns ``parameter``, ``mean``, ``sd``, ``low`` and ``high`` (a 90 % interval),
            ``r_hat`` and ``ess``, see :func:`r_hat` and :func:`effective_size`; NaN for fewer than
            four draws after burn-in. Whether predictions have mixed,
            ``r_hat(run.predict(X, draws=True).reshape(run.n_chains, -1, n_rows))`` says.
        """
        traces = {name: trace[:, self.n_burn :] for name, trace in self.traces().items()}
        is_long = next(iter(traces.values())).shape[1] >= 4
        rows = []
        for name, trace in traces.items():
            mixing = (
                (float(r_hat(trace)), float(effective_size(trace))) if is_long else (np.nan,) * 2
            )
            moments = trace.mean(), trace.std(ddof=1), *np.quantile(trace, (0.05, 0.95))
            rows.append((name, *moments, *mixing))
        names = ("parameter", "mean", "sd", "low", "high", "r_hat", "ess")
        return dict(zip(names, map(np.array, zip(*rows, strict=True)), strict=True))

    def to_arviz(self, X: Any = None, groups: Any = None) -> Any:
        """The draws after burn-in for ArviZ: what was traced, and expected outcomes at some rows.

        Parameters
        ----------
        X : array-like, data frame or BinnedTable, optional
            Rows of which the expected outcome is added, as ``mu`` of ``predictions``.
        groups : array-like, optional
            As in :meth:`predict`.

        Returns
        -------
        xarray.DataTree, or arviz.InferenceData before ArviZ 1.0

        Raises
        ------
        ModuleNotFoundError
            Without ArviZ: ``pip install 'tvselect[arviz]'``.
        """
        arviz = needed("arviz", "this needs ArviZ: pip install 'tvselect[arviz]'")
        found = {"posterior": {n: trace[:, self.n_burn :] for n, trace in self.traces().items()}}
        if X is not None:
            drawn = self.predict(X, groups, draws=True)
            found["predictions"] = {"mu": drawn.reshape(self.n_chains, -1, *drawn.shape[1:])}
        if hasattr(arviz, "InferenceData"):
            return arviz.from_dict(**found)
        return arviz.from_dict(found)

    def __repr__(self) -> str:
        """A few lines: the run, the noise, the columns that are used most."""
        drawn = (..., slice(self.n_burn, None))
        noise = f", sigma {self.sigma[drawn].mean():.4g}"
        n_iterations = f"{self.n_splits.shape[-1]} iterations"
        if self.n_chains > 1:
            n_iterations = f"{self.n_chains} chains of {n_iterations}"
        lines = [
            f"BartRun: {self.forest.n_trees} trees, {n_iterations} "
            f"({self.n_burn} burn-in), {len(self.names)} columns, {self.family}, "
            f"{self.seconds:.3g} s",
            f"splits per forest {self.n_splits[drawn].mean():.1f}, acceptance rate "
            f"{self.acceptance_rate:.2f}{'' if self.family in ON_LATENT_SCALE else noise}",
        ]
        if self.n_chains > 1:
            found = self.summary()
            each = zip(found["parameter"], found["r_hat"], found["ess"], strict=True)
            said = (f"{name} {r:.2f} ({ess:.0f})" for name, r, ess in each)
            lines.append(f"R-hat (effective size): {', '.join(said)}")
        rows = [row for row in zip(*self.table(10).values(), strict=True) if row[1] > 0]
        if rows:
            width = max(8, *(len(name) for name, *_ in rows))
            lines.append(f"{'variable':<{width}}  splits per forest  share of forests")
            lines += [
                f"{name:<{width}}  {mean:17.2f}  {share:16.2f}" for name, mean, share, _ in rows
            ]
        return "\n".join(lines)


def _advance(
    chains: Sequence[Sampler],
    response: Response,
    n_groups: int,
    n_burn: int,
    n_keep: int,
    verbose: int,
    pool: ThreadPoolExecutor,
) -> list[list[Draw]]:
    """Advance chains side by side to their end, keeping draws at even distances after burn-in."""
    from tqdm.auto import tqdm

    first, *others = chains
    n_draws = first.n_iterations - n_burn
    kept_at = np.unique(n_burn + np.ceil(np.arange(1, n_keep + 1) * n_draws / n_keep).astype(int))
    draws: list[list[Draw]] = [[] for _ in chains]
    stride, total = 10, first.n_iterations
    with tqdm(total=total, desc="BART", unit=" iterations", disable=verbose < 1) as bar:
        try:
            while first.n_done < total:
                goal = int(kept_at[len(draws[0])])
                began, before = time.perf_counter(), first.n_done
                n_next = min(stride, goal - before)
                if others:
                    list(pool.map(Sampler.advance, chains, repeat(n_next)))
                else:
                    first.advance(n_next)
                if time.perf_counter() - began < GLANCE_SECONDS / 2:
                    stride *= 2
                bar.update(first.n_done - before)
                if first.n_done == goal:
                    for kept, chain in zip(draws, chains, strict=True):
                        kept.append(_draw(chain, response, n_groups))
        except KeyboardInterrupt:
            pool.shutdown()  # chains that are under way end their stride
            n_done = min(chain.n_done for chain in chains)
            if n_done <= n_burn:
                raise
            n_kept = min(map(len, draws))
            for kept, chain in zip(draws, chains, strict=True):
                del kept[n_kept:]
                if not kept:
                    kept.append(_draw(chain, response, n_groups))
            warnings.warn(
                f"interrupted after {n_done} of {total} iterations; the result covers these",
                InterruptWarning,
                stacklevel=3,
            )
    return draws


def _draw(chain: Sampler, response: Response, n_groups: int) -> Draw:
    """The present forest and all else, in units of the outcome or of its latent."""
    cuts = response.cuts
    if response.family == "ordinal":
        cuts = chain.chain.response.cuts[: cuts.size].copy()
    precision = float(chain.chain.response.real[PRECISION])
    sigma = response.scale / precision**0.5 if precision > 0.0 else np.inf
    groups, n_forests = chain.chain.groups, response.n_forests
    intercepts = (groups.weights * groups.rest)[: n_forests * n_groups] * (precision > 0.0)
    if n_forests > 1:
        intercepts = intercepts.reshape(n_forests, n_groups)
    return Draw(chain.forest(response.scale), sigma, cuts, response.scale * intercepts)


def _labels(groups: Any, n_rows: int) -> list[Any]:
    return [] if groups is None else one_per_row(groups, n_rows, "groups", "one label").tolist()


def _column_indices(columns: Sequence[int] | Sequence[str] | None, names: Sequence[str]) -> Ints:
    if columns is None:
        return np.arange(len(names), dtype=np.int64)
    is_sequence = np.iterable(columns) and not isinstance(columns, str)
    if not (is_sequence and len(columns)):
        raise ValueError(
            f"columns must be a sequence of at least one column name or index, got {columns!r}"
        )
    chosen = [find_feature(column, names, "columns") for column in columns]
    for place, times in Counter(chosen).most_common(1):
        if times > 1:
            raise ValueError(f"columns has {names[place]!r} {times} times")
    return np.array(chosen, dtype=np.int64)


def _noise_guess(
    noise_scale: float | Literal["sd", "linear"], X: Any, outcome: Outcome, columns: Ints
) -> float | Literal["sd"]:
    is_number = isinstance(noise_scale, Real) and 0 < noise_scale < np.inf
    if not (is_number or (isinstance(noise_scale, str) and noise_scale in ("sd", "linear"))):
        raise ValueError(
            f"noise_scale must be a positive number, 'sd' or 'linear', got {noise_scale!r}"
        )
    if noise_scale == "sd" or outcome.family not in ("gaussian", "survival"):
        return "sd"
    if noise_scale != "linear":
        return float(noise_scale)
    if isinstance(X, BinnedTable):
        raise ValueError("noise_scale='linear' needs the table itself, not a binned one")
    table = read_table(X)
    n_free = table.n_rows - columns.size - 1
    if n_free < 1:
        raise ValueError(
            f"noise_scale='linear' needs more rows than columns + 1, got {table.n_rows} rows "
            f"and {columns.size} columns; use 'sd'"
        )
    values = np.asarray(table.numbers(columns), dtype=np.float64)
    if np.isnan(values).any():
        raise ValueError("noise_scale='linear' needs columns without missing values; use 'sd'")
    design = np.column_stack([np.ones(table.n_rows), values])
    residuals = outcome.values - design @ np.linalg.lstsq(design, outcome.values, rcond=None)[0]
    guess = float(np.sqrt(np.sum(residuals**2) / n_free))
    if not guess > 1e-8 * outcome.values.std():
        raise ValueError("noise_scale='linear': the linear model fits y exactly; use 'sd'")
    return guess


def r_hat(draws: ArrayLike) -> Floats:
    """Rank-normalised split R-hat (Vehtari et al. 2021); 1 where chains have mixed.

    Parameters
    ----------
    draws : array (chains, draws, ...)
        After burn-in, at least four of each chain. The halves of a chain count as chains.

    Returns
    -------
    float64 array (...)
        The larger of that of the draws and that of their distances from the median; more than 1.01
        or so says that the chains are too short. NaN where all draws are the same.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> float(r_hat(rng.normal(size=(4, 1000))).round(2))
    1.0
    >>> float(r_hat(rng.normal(size=(4, 1000)) + [[0], [0], [0], [1]]).round(1))
    1.1
    """
    split = _halves(draws)
    folded = np.abs(split - np.median(split, axis=(0, 1)))
    return np.fmax(*(_plain_r_hat(_normal_scores(values)) for values in (split, folded)))


def effective_size(draws: ArrayLike) -> Floats:
    """Bulk effective sample size (Vehtari et al. 2021): how many independent draws tell as much.

    Parameters
    ----------
    draws : array (chains, draws, ...)
        After burn-in, at least four of each chain.

    Returns
    -------
    float64 array (...)
        NaN where all draws are the same.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(size=(4, 1000))
    >>> bool(3000 < effective_size(noise) < 5000)
    True
    >>> sticky = np.repeat(noise[:, ::10], 10, axis=1)
    >>> bool(250 < effective_size(sticky) < 650)
    True
    """
    z = _normal_scores(_halves(draws))
    n_chains, n = z.shape[:2]
    centred = z - z.mean(axis=1, keepdims=True)
    power = np.abs(np.fft.rfft(centred, 2 * n, axis=1)) ** 2
    covariance = np.fft.irfft(power, axis=1)[:, :n].mean(axis=0) / n
    within = covariance[0] * n / (n - 1)
    total = within * (n - 1) / n + z.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = 1.0 - (within - covariance) / total
    # Geyer's initial monotone sequence: sums of two neighbours fall, and stay above 0.
    pairs = correlation[: n // 2 * 2].reshape(n // 2, 2, *z.shape[2:]).sum(axis=1)
    pairs = np.minimum.accumulate(pairs, axis=0)
    length = 2.0 * np.where(pairs > 0.0, pairs, 0.0).sum(axis=0) - 1.0
    size = n_chains * n
    found = size / np.maximum(length, 1.0 / np.log10(size))
    return np.where(within > 0.0, found, np.nan)


def _halves(draws: ArrayLike) -> Floats:
    """The halves of chains as chains."""
    values = np.asarray(draws, dtype=np.float64)
    if values.ndim < 2 or values.shape[1] < 4:
        raise ValueError(
            f"draws must be (chains, draws, ...) with at least 4 draws, got shape {values.shape}"
        )
    half = values.shape[1] // 2
    return np.concatenate([values[:, :half], values[:, -half:]])


def _normal_scores(values: Floats) -> Floats:
    """The normal quantiles of ranks among all chains; ties have their mean rank."""
    from scipy.stats import rankdata

    flat = values.reshape(-1, *values.shape[2:])
    return ndtri((rankdata(flat, axis=0) - 0.375) / (len(flat) + 0.25)).reshape(values.shape)


def _plain_r_hat(values: Floats) -> Floats:
    n = values.shape[1]
    within = values.var(axis=1, ddof=1).mean(axis=0)
    between = values.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.sqrt((n - 1) / n + between / within)
