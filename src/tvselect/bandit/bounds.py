"""What is proved about the bandit: Assumption 1 and the regret bounds of the paper, and our own.

Liu and Rockova (2021) leave some constants open. They are parameters here, and 0 unless given: the
least that the statement can mean.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tvselect.bandit.oracle import MEDIAN_MODEL_COST, threshold
from tvselect.bandit.regret import Floats, Means, arm_values

MOST_ARMS = 16


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
    >>> from tvselect.bandit.regret import dependent_means
    >>> best = [True, True, False]
    >>> round(identifiability_margin(dependent_means(3, [0, 1], needs=1, low=0.6), best), 3)
    0.1
    >>> round(identifiability_margin(dependent_means(3, [0, 1], needs=1, low=0.4), best), 3)
    -0.1
    """
    signals = np.asarray(best, dtype=np.bool_)
    if signals.size > MOST_ARMS:
        raise ValueError(f"all sets are looked at: at most {MOST_ARMS} arms, got {signals.size}")
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
    The game is that of :func:`tvselect.bandit.regret.simulate_game`; signals that fall below the
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
