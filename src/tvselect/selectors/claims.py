"""Claims: columns that cannot be told apart on these rows are selected together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tvselect.bandit.arms import count
from tvselect.control import q_values_by_decoys, q_values_by_probabilities, q_values_together
from tvselect.inputs.columns import Matrix, centred_ranks, evenly, in_blocks, ranks_of
from tvselect.selectors.layout import ArmColumns, IntArray
from tvselect.selectors.results import SearchResult

ALIKE, RIVALS = 0.6, 0.5
SURE, LEAST_SURE, LEAST_BELIEVED, NEARLY_ALWAYS = 0.5, 0.02, 0.25, 0.8
LEADING, MOST_LEADING = 0.4, 500
MOST_ROWS = 20_000
TINY = 1e-9
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Claim:
    """At least one of these columns matters.

    Examples
    --------
    >>> print(Claim((3, 7), ("ldl", "apob"), selection_rate=0.93, q_value=0.1))
    at least one of ldl, apob
    """

    columns: tuple[int, ...]  #: Of the table, the most likely one first
    names: tuple[str, ...]  #: Of the columns
    selection_rate: float  #: How often at least one is rewarded when some of them are played
    q_value: float  #: The smallest false discovery rate of the claim; NaN without decoys
    #: Of linked columns (``feature_groups="ld"``) what each has of the evidence; else empty.
    shares: tuple[float, ...] = ()

    def __str__(self) -> str:
        return self.names[0] if len(self.names) == 1 else f"at least one of {', '.join(self.names)}"


def by_shares(claim: Claim, shares: FloatArray) -> Claim:
    """A claim with the share of each of its columns in the evidence, the largest first."""
    order = np.argsort(-shares, kind="stable").tolist()
    return replace(
        claim,
        columns=tuple(claim.columns[k] for k in order),
        names=tuple(claim.names[k] for k in order),
        shares=tuple(shares[order].tolist()),
    )


def find_claims(
    result: SearchResult, X: Matrix, arm_columns: ArmColumns, factors: FloatArray
) -> tuple[Claim, ...]:
    """What a fit can claim, the surest first.

    The leading arms, by their own rate or that of a decoy, gather the arms with a rank correlation
    of at least 0.6 (on 20,000 rows at most, without common ``factors``). A claim is rewarded in a
    play when one of its arms is, its decoys are those of its arms, and its q-value is that of a
    column with these rewards. Claims that pass the threshold are returned.
    """
    layout = result.layout
    n, played = layout.n_candidates, result.played()
    rates_played = result.means(arms=played)
    means, best = np.zeros((2, n))
    means[played[played < n]] = rates_played[played < n]
    np.maximum.at(best, played % n, rates_played)
    sure = np.zeros((1, n)) if result.opinion is None else result.opinion.probabilities
    sure = sure.reshape(-1, n)
    np.maximum(best, sure.max(axis=0), out=best)
    leaders = np.argsort(-best, kind="stable")[:MOST_LEADING]
    leaders = leaders[best[leaders] >= LEADING]
    if leaders.size == 0:
        return ()
    ranks_of = partial(_specific_ranks, X, factors)
    heads, claim_of = _gather(leaders, ranks_of, arm_columns, n)
    won, lost = _count_together(result, claim_of, heads.size)
    a, b = (np.broadcast_to(prior, layout.n_arms)[heads] for prior in result.prior)
    rates = (a + won) / (a + b + won + lost)
    passing = (rates > result.thresholds()[heads]) & (won + lost > 0)
    scores = np.where(passing, rates, 0.0)
    q = np.full(heads.size, np.nan)
    if layout.n_copies:
        q = q_values_by_decoys(scores[0], scores[1:].ravel(), layout.n_copies, passing[0])
    if result.opinion is not None:
        # Functions of columns that are alike stand for each other: their chances add up.
        members = np.flatnonzero(claim_of >= 0)
        together = np.zeros((len(sure), heads.size))
        np.add.at(together.T, claim_of[members], sure[:, members].T)
        own, *others = np.minimum(together, 1.0)
        q = q_values_together(
            q, q_values_by_probabilities(own, np.concatenate(others), len(others))
        )
        passing[0] |= own > 0.5
    if result.shows_nothing:
        q = np.ones(heads.size)
    by_feature = layout.by_feature(claim_of, -1)
    falling = np.argsort(-layout.by_feature(means, 1.0), kind="stable")
    found = []
    for k in np.lexsort([-scores[0], q]):
        if passing[0, k]:
            columns = falling[by_feature[falling] == k].tolist()
            names = tuple(str(layout.names[j]) for j in columns)
            found.append(Claim(tuple(columns), names, float(rates[0, k]), float(q[k])))
    return tuple(found)


def find_stand_ins(
    result: SearchResult, X: Matrix, arm_columns: ArmColumns, factors: FloatArray
) -> IntArray:
    """Arms that trees select, where the regression rather believes in others like them."""
    assert result.opinion is not None
    n = result.layout.n_candidates
    sure = result.opinion.probabilities[:n]
    single = np.flatnonzero(np.diff(arm_columns.starts[: n + 1]) == 1)
    doubted = np.intersect1d(single, np.flatnonzero(result.passing()[:n] & (sure < SURE)))
    rivals = np.intersect1d(single, np.flatnonzero(sure >= LEAST_SURE))
    if doubted.size == 0 or rivals.size == 0:
        return doubted[:0]
    column_of = arm_columns.columns[arm_columns.starts[np.concatenate([doubted, rivals])]]
    ranks = _specific_ranks(X, factors, column_of)
    alike = np.abs(ranks[: doubted.size] @ ranks[doubted.size :].T) >= RIVALS
    alike &= doubted[:, None] != rivals
    of_rivals = alike @ sure[rivals]
    is_doubted = (of_rivals > sure[doubted]) & (of_rivals >= LEAST_BELIEVED)
    doubted, against = doubted[is_doubted], [set(rivals[row].tolist()) for row in alike[is_doubted]]
    won, lost = np.zeros((2, doubted.size))
    for play in result.counted_plays():
        rewards = dict(zip(play.arms.tolist(), play.rewards.tolist(), strict=True))
        for k, arm in enumerate(doubted.tolist()):
            if arm in rewards and not against[k].isdisjoint(rewards):
                won[k] += rewards[arm]
                lost[k] += not rewards[arm]
    a, b = (np.broadcast_to(prior, result.layout.n_arms)[doubted] for prior in result.prior)
    return doubted[(a + won) / (a + b + won + lost) < NEARLY_ALWAYS]


def _gather(
    leaders: IntArray, ranks_of: Callable[[IntArray], FloatArray], columns: ArmColumns, n_arms: int
) -> tuple[IntArray, IntArray]:
    """The first arm of every claim, and by arm its claim, -1 for none.

    A leader that is like no earlier one heads a claim; an arm belongs to the first head that it is
    like. Arms of several columns are like no others.
    """
    single = np.flatnonzero(np.diff(columns.starts[: n_arms + 1]) == 1)
    column_of = np.full(n_arms, -1)
    column_of[single] = columns.columns[columns.starts[single]]
    with_column = leaders[column_of[leaders] >= 0]
    ranks = ranks_of(column_of[with_column])
    alike = np.abs(ranks @ ranks.T) >= ALIKE
    is_head = np.zeros(with_column.size, dtype=np.bool_)
    for k in range(with_column.size):
        is_head[k] = not (is_head & alike[k]).any()
    heads = leaders[~np.isin(leaders, with_column[~is_head])]
    claim_of = np.full(n_arms, -1)
    claim_of[heads] = np.arange(heads.size)
    numbers, ranks = claim_of[with_column[is_head]], ranks[is_head]
    for here in in_blocks(single.size if numbers.size else 0, ranks.shape[1]):
        arms = single[here]
        alike = np.abs(ranks @ ranks_of(column_of[arms]).T) >= ALIKE
        has_one = alike.any(axis=0)
        claim_of[arms[has_one]] = numbers[alike[:, has_one].argmax(axis=0)]
    return heads, claim_of


def _specific_ranks(X: Matrix, factors: FloatArray, columns: IntArray) -> FloatArray:
    """Ranks of some columns without what they owe to common factors, of length 1 again."""
    if len(X) <= MOST_ROWS:
        ranks = ranks_of(X, columns)
    else:
        rows = evenly(len(X), MOST_ROWS)
        ranks = centred_ranks(np.ascontiguousarray(X[rows[:, None], columns].T, dtype=np.float64))
        factors = np.linalg.qr(factors[rows])[0]
    ranks -= (ranks @ factors) @ factors.T
    return ranks / np.maximum(np.linalg.norm(ranks, axis=1, keepdims=True), TINY)


def _count_together(
    result: SearchResult, claim_of: IntArray, n_claims: int
) -> tuple[IntArray, IntArray]:
    """Rewards of 1 and of 0 since burn-in of claims and of their decoys (1 + copies, claims)."""
    won, lost = np.zeros((2, n_claims * (1 + result.layout.n_copies)), dtype=np.int64)
    for play in result.counted_plays():
        copies, originals = np.divmod(play.arms, claim_of.size)
        is_in = claim_of[originals] >= 0
        places = (n_claims * copies + claim_of[originals])[is_in]
        played, rewarded = np.unique(places), places[play.rewards[is_in]]
        count(won, lost, played, np.isin(played, rewarded))
    return won.reshape(-1, n_claims), lost.reshape(-1, n_claims)
