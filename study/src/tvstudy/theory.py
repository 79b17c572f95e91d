"""Regret in theory: what a game pays and costs, simulated games, proved bounds, and their picture.

Liu and Rockova (2021) leave some constants of their bounds open. They are parameters here, and 0
unless given: the least that the statement can mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tvselect.bandit.oracle import MEDIAN_MODEL_COST, threshold
from tvselect.plotting.canvas import BLUE, FONT_SIZE, VERMILION, axes_on, clean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Means = Callable[[Mask], Floats]
"""``means(played)``: the arms' means when these are played, both of shape (runs, arms)."""


def global_reward(rewards: ArrayLike, C: ArrayLike = MEDIAN_MODEL_COST) -> float:
    """The reward of a play: the sum of ``log(C + gamma)`` over the played arms.

    Parameters
    ----------
    rewards : array-like
        ``gamma``, in [0, 1], of the played arms only.
    C : float or array-like
        The cost of an arm, or one of each played arm.

    Examples
    --------
    >>> round(global_reward([1, 1, 0], C=0.5), 3)
    0.118
    """
    return float(np.log(np.asarray(C) + np.asarray(rewards)).sum())


def arm_values(theta: ArrayLike, C: ArrayLike = MEDIAN_MODEL_COST) -> Floats:
    """What arms of these means add to the expected reward, negative below the threshold.

    This is ``theta log((C + 1) / C) - log(1 / C)``, or ``L (theta - c)`` with the threshold ``c``
    that ``C`` stands for and ``L = log((C + 1) / C)``.

    Examples
    --------
    >>> arm_values([0.9, 0.6, 0.1]).round(3)
    array([ 0.385,  0.096, -0.385])
    """
    return np.log1p(1 / np.asarray(C)) * (np.asarray(theta) - threshold(np.asarray(C)))


def expected_reward(
    played: ArrayLike, theta: ArrayLike, C: ArrayLike = MEDIAN_MODEL_COST
) -> Floats:
    """Expected reward of sets of arms, given as masks over the last axis."""
    return np.where(played, arm_values(theta, C), 0.0).sum(axis=-1)


def cumulative_regret(
    played: Iterable[ArrayLike], theta: ArrayLike, C: ArrayLike = MEDIAN_MODEL_COST
) -> Floats:
    """Regret after each play of a search with known, independent arm means.

    Parameters
    ----------
    played : iterable of integer arrays
        The arms of each play, for example ``(play.arms for play in journal.plays())``.
    theta : array-like
        The mean of every arm.
    C : float or array-like
        The cost of an arm, or one of every arm.

    Examples
    --------
    >>> cumulative_regret([[0, 1], [1], [0]], theta=[0.9, 0.1]).round(3)
    array([0.385, 1.155, 1.155])
    """
    values = arm_values(theta, C)
    most = np.maximum(values, 0).sum()
    losses = [most - values[np.asarray(arms, dtype=np.intp)].sum() for arms in played]
    return np.cumsum(np.array(losses, dtype=np.float64))


@dataclass(frozen=True, slots=True)
class Game:
    """What came of a simulated game, by run: after each play, and of each arm at the end.

    Attributes
    ----------
    regret : array of shape (n_runs, n_plays)
        Summed over the plays so far.
    right_set, signals_played, right_model : masks of shape (n_runs, n_plays)
        Whether the play was that of the best set; whether it held all arms of the best set;
        whether the arms with a posterior mean above the threshold are the best set after it.
    posterior_means, times_played : arrays of shape (n_runs, n_arms)
    """

    regret: Floats
    right_set: Mask
    signals_played: Mask
    right_model: Mask
    posterior_means: Floats
    times_played: NDArray[np.int64]


def simulate_game(
    theta: ArrayLike | Means,
    n_plays: int,
    rng: np.random.Generator,
    *,
    C: ArrayLike = MEDIAN_MODEL_COST,
    n_runs: int = 1,
    best: ArrayLike | None = None,
) -> Game:
    """Thompson sampling with Bernoulli arms and Beta(1, 1) priors, many runs side by side.

    A play of no arm is legal here and pays nothing; so every arm of fixed mean is a game of its
    own, which is what :func:`regret_bound` is about.

    Parameters
    ----------
    theta : array-like or callable
        The arms' means, or ``means(played)`` when they depend on what is played.
    n_plays : int
    rng : numpy Generator
    C : float or array-like
        The cost of an arm, or one of every arm.
    n_runs : int
    best : mask of arms
        The best set, for means that depend on what is played.

    Examples
    --------
    >>> game = simulate_game([0.9, 0.1], 300, np.random.default_rng(1), n_runs=100)
    >>> game.regret.shape, game.posterior_means.mean(axis=0).round(1)
    ((100, 300), array([0.9, 0.1]))
    >>> float(game.right_model[:, -1].mean())
    1.0
    """
    c = threshold(np.asarray(C))
    if callable(theta):
        if best is None:
            raise ValueError("means that depend on the played set need best, the best set of arms")
        means, target = theta, np.asarray(best, dtype=np.bool_)[np.newaxis]
    else:
        fixed = np.asarray(theta, dtype=np.float64)[np.newaxis]
        means, target = (lambda _: fixed), fixed >= c
    most = expected_reward(target, means(target), C)
    a = np.ones((n_runs, target.shape[1]))
    b = np.ones_like(a)
    losses = np.empty((n_runs, n_plays))
    right_set, signals_played, right_model = np.empty((3, n_runs, n_plays), dtype=np.bool_)
    for t in range(n_plays):
        played = rng.beta(a, b) >= c
        mean = means(played)
        won = played & (rng.random(played.shape) < mean)
        a += won
        b += played & ~won
        losses[:, t] = most - expected_reward(played, mean, C)
        right_set[:, t] = (played == target).all(axis=1)
        signals_played[:, t] = (played >= target).all(axis=1)
        right_model[:, t] = ((a / (a + b) > c) == target).all(axis=1)
    regret, times_played = np.cumsum(losses, axis=1), (a + b - 2).astype(np.int64)
    return Game(regret, right_set, signals_played, right_model, a / (a + b), times_played)


def dependent_means(
    n_arms: int,
    signals: ArrayLike,
    *,
    needs: ArrayLike = 0,
    high: float = 0.8,
    low: float = 0.2,
    noise: float = 0.2,
) -> Means:
    """Arms whose means depend on the played set, as when a variable is seen only beside others.

    Parameters
    ----------
    n_arms : int
    signals : integer array
        The arms that are worth playing.
    needs : int, or one of each signal
        A signal's mean is ``high`` when at least so many other signals are played with it, else
        ``low``. With rising needs (0, 1, 2, ...) the signals are found one after the other. Where
        all need another, the game can be lost: lone plays teach them to stay away.
    high, low : float
    noise : float
        The mean of all other arms, whatever is played.

    Examples
    --------
    >>> means = dependent_means(3, [0, 1], needs=[0, 1])
    >>> means(np.array([[False, True, True], [True, True, True]]))
    array([[0.8, 0.2, 0.2],
           [0.8, 0.8, 0.2]])
    """
    index = np.asarray(signals, dtype=np.intp)

    def means(played: Mask) -> Floats:
        theta = np.full((len(played), n_arms), noise)
        shown = played[:, index]
        others = shown.sum(axis=1, keepdims=True) - shown
        theta[:, index] = np.where(others >= needs, high, low)
        return theta

    return means


def identifiability_margin(theta: ArrayLike | Means, best: ArrayLike) -> float:
    """The margin ``alpha`` with which Assumption 1 (strong identifiability) holds.

    The assumption: in every set that holds it, a signal has ``theta_i(S*) >= theta_i(S) > 1/2 +
    alpha``, and any other arm ``theta_i(S) < 1/2 - alpha``.

    Parameters
    ----------
    theta : array-like or callable
        The arms' means, or ``means(played)`` when they depend on what is played.
    best : mask of arms
        The best set, ``S*``.

    Returns
    -------
    float
        The assumption holds for every ``alpha`` below it; for none where it is 0 or less.

    Examples
    --------
    >>> best = [True, True, False]
    >>> round(identifiability_margin(dependent_means(3, [0, 1], needs=1, low=0.6), best), 3)
    0.1
    >>> round(identifiability_margin(dependent_means(3, [0, 1], needs=1, low=0.4), best), 3)
    -0.1
    """
    signals = np.asarray(best, dtype=np.bool_)
    if signals.size > 16:
        raise ValueError(f"all sets are looked at: at most 16 arms, got {signals.size}")
    played = np.arange(2**signals.size)[:, np.newaxis] >> np.arange(signals.size) & 1 == 1
    means = theta(played) if callable(theta) else np.broadcast_to(theta, played.shape)
    at_best = means[(played == signals).all(axis=1)]
    margin = float(np.where(signals, means - 0.5, 0.5 - means)[played].min())
    better_elsewhere = played & signals & (means > at_best + 1e-12)
    return min(margin, 0.0) if better_elsewhere.any() else margin


def known_size_bound(
    theta: ArrayLike,
    n_wanted: int,
    n_plays: ArrayLike,
    epsilon: float,
    *,
    open_constant: float = 0.0,
) -> Floats:
    """The paper's Lemma 2, after Wang and Chen (2018): the size ``q*`` of the best set is known.

    ``sum_{i not in S*} (Delta_i - eps) log T / (Delta_i - 2 eps)^2 + const p / eps^4 + p^2``. The
    rewards of a play may depend on each other.

    Parameters
    ----------
    theta : array-like
        The arms' means; the best set is that of the largest.
    n_wanted : int
        ``q*``. So many arms are played at a time.
    n_plays : int or array-like
    epsilon : float
        Any positive number below half of each ``Delta_i``, by which the mean of an arm outside the
        best set is below the least mean in it.
    open_constant : float
        ``const``, which the paper leaves open.

    Examples
    --------
    >>> known_size_bound([0.9, 0.1], 1, [100, 10_000], epsilon=0.1).round(1)
    array([13. , 21.9])
    """
    means = np.sort(np.asarray(theta, dtype=np.float64))[::-1]
    gaps = means[n_wanted - 1] - means[n_wanted:]
    if not 0 < 2 * epsilon < gaps.min():
        raise ValueError(f"epsilon must be below {gaps.min() / 2:.3g}, half of the least gap")
    rate = ((gaps - epsilon) / (gaps - 2 * epsilon) ** 2).sum()
    return rate * _log(n_plays) + open_constant * means.size / epsilon**4 + means.size**2


def independent_arms_bound(
    theta: ArrayLike,
    n_plays: ArrayLike,
    epsilon: float,
    C: float = MEDIAN_MODEL_COST,
    *,
    open_constant: float = 0.0,
) -> Floats:
    """The paper's Lemma 3, after Wang and Chen (2018): independent rewards, size unknown.

    ``log T sum_i eta_i + p (p^2 / eps^2 + 3) Delta_max + const (8 Delta_max / eps^2)
    (4 / eps^2 + 1)^q* log(q* / eps^2)`` where ``eta_i`` is the largest ``8 B^2 |S| / (Delta_S - 2 B
    (q*^2 + 2) eps)`` of the wrong sets that hold arm i: cubic in p.

    Parameters
    ----------
    theta : array-like
        The arms' means.
    n_plays : int or array-like
    epsilon : float
        Any positive number with ``Delta_S > 2 B (q*^2 + 2) eps`` for all wrong sets, where
        ``Delta_S`` is the loss of a play of S and ``B = log((C + 1) / C)``.
    C : float
        The cost of an arm.
    open_constant : float
        ``const``, which the paper leaves open.

    Examples
    --------
    >>> independent_arms_bound([0.9, 0.1], [100, 10_000], epsilon=0.01).round(-2)
    array([62000., 62400.])
    """
    values = np.sort(np.atleast_1d(arm_values(theta, C)))[::-1]
    p, q, worst = values.size, int((values >= 0).sum()), float(np.abs(values).sum())
    B = float(np.log1p(1 / C))
    limit = float(np.abs(values).min()) / (2 * B * (q**2 + 2))
    if not 0 < epsilon < limit:
        raise ValueError(f"epsilon must be between 0 and {limit:.3g}, got {epsilon}")
    rate = 0.0
    for i, value in enumerate(values):  # of each size, the best set with arm i that is not S*
        others = np.delete(values, i)
        losses = values[:q].sum() - value - np.r_[0.0, np.cumsum(others)]
        if i < q:
            losses[q - 1] += others[q - 2] - others[q - 1] if 1 < q < p else np.inf
        slack = 2 * B * (q**2 + 2) * epsilon
        rate += float((8 * B**2 * np.arange(1, p + 1) / (losses - slack)).max())
    bound = rate * _log(n_plays) + p * (p**2 / epsilon**2 + 3) * worst
    if open_constant:
        power = np.float64(4 / epsilon**2 + 1) ** q
        bound += open_constant * 8 * worst / epsilon**2 * power * np.log(q / epsilon**2)
    return bound


def dependent_arms_bound(
    n_arms: int,
    n_signals: int,
    alpha: float,
    n_plays: ArrayLike,
    largest_loss: float,
    *,
    open_constants: tuple[float, float] = (0.0, 0.0),
) -> Floats:
    """The paper's Theorem 1: means depend on the played set, Assumption 1 holds; linear in p.

    ``Delta_max (8 p log T / alpha^2 + c(alpha) q* + (2 + 4 / alpha^2) p)``.

    Parameters
    ----------
    n_arms, n_signals : int
        ``p`` and ``q*``.
    alpha : float
        The margin of Assumption 1, see :func:`identifiability_margin`.
    n_plays : int or array-like
    largest_loss : float
        ``Delta_max``, the most that a play can lose against the best set.
    open_constants : pair of float
        ``C_1`` and ``C_2`` in ``c(alpha)``, which the paper leaves open. The bound is true with 0:
        it is then still above :func:`regret_bound`.

    Examples
    --------
    >>> dependent_arms_bound(2, 1, 0.4, [100, 10_000], largest_loss=0.77).round(1)
    array([518.1, 872.7])
    """
    if not 0 < alpha < 0.5:
        raise ValueError(f"alpha must be between 0 and 0.5, got {alpha}")
    first, second = open_constants
    open_part = first + second * (1 - 2 * alpha) / (32 * alpha)
    per_signal = (
        open_part * np.exp(-4 * alpha) / -np.expm1(-(alpha**2) / 2)
        + 8 / alpha**2 / np.expm1(2 * alpha)
        + np.exp(-1) / -np.expm1(-alpha / 8)
        + np.ceil(8 / alpha) * (3 + 1 / alpha)
    )
    per_arm = 8 * _log(n_plays) / alpha**2 + 2 + 4 / alpha**2
    return largest_loss * (n_arms * per_arm + n_signals * per_signal)


def regret_bound(
    theta: ArrayLike,
    n_plays: ArrayLike,
    C: ArrayLike = MEDIAN_MODEL_COST,
    *,
    largest_loss: float | None = None,
) -> Floats:
    """Our bound of the expected regret, every constant given; tighter than the paper's.

    With ``D = |theta - c|``, an arm below its threshold is played at most
    ``2 log(T) / D^2 + 4 / D^2 + 3`` times on average in ``T`` plays, and an arm above it is ever
    left out at most ``1 / d^3 + 6 / d^2 + 3`` times, ``d = min(D, (1 - c) / 2)``; each such mistake
    costs ``L D``. Summed over p arms this has the form of the paper's bounds, ``p log T``.

    Parameters
    ----------
    theta : array-like
        The arms' means. Where they depend on the played set but keep to their side of the
        threshold: the lowest that a signal's mean and the highest that a noise arm's can get.
    n_plays : int or array-like
    C : float or array-like
        The cost of an arm, or one of every arm.
    largest_loss : float, optional
        For means that depend on the played set: the most that a play can lose against the best
        set. The bound is then this loss times the mistakes, as in :func:`dependent_arms_bound`.

    Notes
    -----
    The game is that of :func:`simulate_game`; signals that fall below the
    threshold without others (``needs``) are not covered. The argument is that of Agrawal and Goyal
    (2013, "Further optimal regret bounds for Thompson sampling") for a fixed threshold. An arm with
    ``s`` successes in ``k`` plays is played with probability ``q = P(Bin(k + 1, c) <= s)``. Below
    the threshold it is played a next time within T plays with probability ``min(1, T q)`` or
    less; by Hoeffding, ``s >= k (c - D/2)`` and otherwise ``q`` are below ``exp(-k D^2 / 2)``; sum
    over k. Above the threshold it waits ``1/q - 1`` plays on average. Where ``s >= (k + 1) c``,
    ``q`` is at least 1/2, and Hoeffding gives ``6 / D^2 + 3`` in all. Elsewhere ``q`` is at least
    its last term, and ratios of binomial terms sum to
    ``(1 - c) / (1 - theta) exp(-2 (k + 1) D^2) / D`` or less. Waiting falls with ``theta``: one may
    put ``theta <= (1 + c) / 2``, where the first factor is at most 2. Dependence on the played set
    changes nothing but that successes dominate, or are dominated by, binomial ones.

    Examples
    --------
    >>> regret_bound([0.9, 0.1], [100, 10_000]).round(1)
    array([ 71.4, 117.9])
    """
    c, values = threshold(np.asarray(C)), np.atleast_1d(arm_values(theta, C))
    gaps = np.abs(np.atleast_1d(theta) - c)
    plays = np.asarray(n_plays, dtype=np.float64)[..., np.newaxis]
    with np.errstate(divide="ignore", invalid="ignore"):
        narrow = np.minimum(gaps, (1 - c) / 2)
        left_out = 1 / narrow**3 + 6 / narrow**2 + 3
        let_in = (2 * _log(plays) + 4) / gaps**2 + 3
        mistakes = np.minimum(plays, np.where(values >= 0, left_out, let_in))
    return (mistakes * (np.abs(values) if largest_loss is None else largest_loss)).sum(axis=-1)


def _log(n_plays: ArrayLike) -> Floats:
    return np.log(np.maximum(np.asarray(n_plays, dtype=np.float64), 1))


class RegretBand(NamedTuple):
    """Cumulative regret after each play, over the runs."""

    plays: NDArray[np.int64]  #: From 1
    mean: NDArray[np.float64]  #: Over the runs
    low: NDArray[np.float64]  #: 5 % quantile
    high: NDArray[np.float64]  #: 95 % quantile
    n_runs: int  #: How many there are


def regret_band(curves: ArrayLike) -> RegretBand:
    """Mean and spread of regret curves.

    Parameters
    ----------
    curves : array-like (runs, plays), or (plays,) for one run
        Cumulative regret, such as ``simulate_game(...).regret``.

    Examples
    --------
    >>> band = regret_band([[1.0, 2.0], [3.0, 4.0]])
    >>> band.plays, band.mean, band.low.round(1), band.n_runs
    (array([1, 2]), array([2., 3.]), array([1.1, 2.1]), 2)
    """
    regret = np.atleast_2d(np.asarray(curves, dtype=np.float64))
    if regret.ndim != 2 or regret.size == 0:
        raise ValueError(f"curves must have shape (runs, plays), got {regret.shape}")
    low, high = np.quantile(regret, [0.05, 0.95], axis=0)
    plays = np.arange(1, regret.shape[1] + 1)
    return RegretBand(plays, regret.mean(axis=0), low, high, len(regret))


def plot_regret(
    curves: ArrayLike, *, bound: ArrayLike | None = None, ax: Axes | None = None
) -> Axes:
    """Draw mean regret with a 5-95 % band over runs, plays on a logarithmic axis.

    Parameters
    ----------
    curves : array-like (runs, plays), or (plays,) for one run
        Cumulative regret, such as ``simulate_game(...).regret``.
    bound : array-like (plays,), optional
        Such as ``regret_bound(theta, range(1, n_plays + 1))``. It is drawn as a dashed line.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> game = simulate_game([0.9, 0.1], 1000, rng, n_runs=200)  # doctest: +SKIP
    >>> bound = regret_bound([0.9, 0.1], range(1, 1001))  # doctest: +SKIP
    >>> plot_regret(game.regret, bound=bound).figure.savefig("regret.pdf")  # doctest: +SKIP
    """
    band = regret_band(curves)
    limit = None if bound is None else np.asarray(bound, dtype=np.float64)
    if limit is not None and limit.shape != band.plays.shape:
        raise ValueError(f"bound has shape {limit.shape}, the curves have {band.plays.size} plays")
    _, ax = axes_on(ax, 5.0, 3.6)
    if band.n_runs > 1:
        ax.fill_between(
            band.plays, band.low, band.high, color=BLUE, alpha=0.2, lw=0, label="5-95 % of runs"
        )
    mean = f"mean of {band.n_runs:,} runs" if band.n_runs > 1 else "one run"
    ax.plot(band.plays, band.mean, color=BLUE, lw=1.6, label=mean)
    if limit is not None:
        ax.plot(band.plays, limit, color=VERMILION, ls=(0, (5, 2)), lw=1.4, label="bound")
    ax.set(xlabel="play", ylabel="cumulative regret", xscale="log", ylim=(0, None))
    ax.set_xlim(1, max(band.plays.size, 2))
    ax.xaxis.set_major_formatter("{x:,.0f}")
    clean(ax)
    ax.legend(loc="upper left", frameon=False, fontsize=FONT_SIZE)
    return ax
