"""The read-out of a fit: one record that never changes, and all that is found is a view of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from tvselect.bandit.burn_in import BurnIn
from tvselect.bandit.counts import Counts, FreshArms
from tvselect.bandit.journal import Journal
from tvselect.bandit.play import Play
from tvselect.bandit.stopping import StopReason
from tvselect.control.decoy_fdr import false_ones, q_values
from tvselect.inputs.outcome import AskedFamily
from tvselect.selectors.evidence import Evidence
from tvselect.selectors.layout import ArmLayout, PerArm

FloatArray = NDArray[np.float64]
SomeArms = NDArray[np.int64] | slice
EVERY_ARM = slice(None)
INTERVAL = (0.025, 0.975)


@dataclass(frozen=True)
class Asked:
    """What a run was asked to do."""

    is_stream: bool  #: Whether a play is a batch of rows
    reward: str  #: Its ``repr``
    family: AskedFamily
    seed: int
    window: int  #: Most plays that are chosen together
    #: Hash of data and settings; None for a stream without a journal, whose data is not hashed.
    fingerprint: str | None
    n_plays: int | None = None
    patience: int | None = None
    n_rounds: int | None = None
    time_limit: float | None = None  #: Seconds
    #: Rows of a batch; None where they differ, or where there are no batches.
    batch_size: int | None = None
    n_rows: int | None = None  #: None for a stream, which does not count them
    decoys: str | None = None  #: Their kind; None where none were played
    burn_in: int = 0  #: Plays after which the leading arms start anew; 0 for never


class ChainTotals(NamedTuple):
    """A chain from its first play to its last."""

    counts: Counts  #: Of all arms
    n_played: NDArray[np.int64]  #: Arms that each play tried
    n_rewarded: NDArray[np.int64]  #: Arms with a reward
    seconds: FloatArray  #: That it took


@dataclass(frozen=True, eq=False)
class History:
    """What a fit did and found, up to the play with which it ended.

    A journal may grow when the fit goes on; a history does not. Arms are the variables that
    can be selected, then the decoys.
    """

    journal: Journal  #: Every play
    n_chains: int  #: Independent searches
    n_plays: int  #: Of each chain
    layout: ArmLayout  #: Which features make an arm
    prior: tuple[PerArm, PerArm]  #: Beta prior of the arms
    threshold: PerArm  #: Selection rate that an arm has to exceed
    asked: Asked  #: What the run was asked to do
    stop_reason: StopReason  #: Why it ended
    discount: float = 1.0  #: What is left of an arm's earlier rewards when it is played again
    burn_in: BurnIn | None = None  #: Plays after which the leading arms start anew
    n_wanted: int | None = None  #: Known size of the model, in arms
    max_fdr: float | None = None  #: Largest share of false selections; None: the median model
    evidence: Evidence | None = None  #: Of a stream with decoys
    #: Totals of an earlier history of the same journal, to go on from.
    before: tuple[ChainTotals, ...] = ()

    def extended(
        self,
        n_plays: int,
        stop_reason: StopReason,
        asked: Asked,
        evidence: Evidence | None = None,
    ) -> History:
        """The run after ``n_plays``, with its new ``stop_reason``, ``asked`` and ``evidence``."""
        return replace(
            self,
            n_plays=n_plays,
            stop_reason=stop_reason,
            asked=asked,
            evidence=evidence,
            before=self.totals,
        )

    @property
    def plays(self) -> list[Play]:
        """Plays of the first chain, in order."""
        return list(self.plays_of(0))

    def plays_of(self, chain: int, start: int = 0) -> Iterator[Play]:
        """Plays of ``chain`` in order, from number ``start`` on."""
        return islice(self.journal.plays(chain, start), max(self.n_plays - start, 0))

    @property
    def names(self) -> Sequence[str]:
        """Names of the features."""
        return self.layout.names

    @property
    def arm_of_feature(self) -> NDArray[np.int64]:
        """The arm of each feature, -1 for those that are always included."""
        return self.layout.arm_of_feature

    @property
    def labels(self) -> Mapping[int, str]:
        """What the user calls the arms of several features."""
        return self.layout.labels

    def fresh_arms(self, chain: int) -> FreshArms | None:
        """Arms of ``chain`` that started anew after burn-in; None where it ended before that."""
        if self.burn_in is None or self.n_plays <= self.burn_in.n_plays:
            return None
        counts, n_plays = Counts.zeros(self.layout.n_arms), self.burn_in.n_plays
        for _ in counts.follow(islice(self.plays_of(chain), n_plays)):
            pass
        return FreshArms(n_plays, self.burn_in.leaders(counts.successes, counts.failures))

    @cached_property
    def totals(self) -> tuple[ChainTotals, ...]:
        """Every chain counted to its end, in one walk over its plays."""
        return tuple(self._total(chain) for chain in range(self.n_chains))

    def _total(self, chain: int) -> ChainTotals:
        none, no_seconds = np.empty(0, dtype=np.int64), np.empty(0)
        counts, *done = (
            self.before[chain]
            if self.before
            else ChainTotals(
                Counts.zeros(self.layout.n_arms, self.discount), none, none, no_seconds
            )
        )
        counts = counts.copy()
        rows = [
            (play.arms.size, np.count_nonzero(play.rewards), play.seconds)
            for play in counts.follow(
                self.plays_of(chain, done[0].size), fresh=self.fresh_arms(chain)
            )
        ]
        new = np.array(rows, dtype=np.float64).reshape(-1, 3).T
        return ChainTotals(
            counts,
            *(np.append(old, more.astype(old.dtype)) for old, more in zip(done, new, strict=True)),
        )

    @cached_property
    def times_played(self) -> NDArray[np.int32]:
        """By arm the plays that its counts know, in all chains: those since it started anew."""
        return self._over_chains([total.counts.times_played for total in self.totals])

    def played(self, chain: int | None = None) -> NDArray[np.int64]:
        """Arms that were played, of one ``chain`` or of all together: few of very many."""
        own = self.times_played if chain is None else self.totals[chain].counts.times_played
        return np.flatnonzero(own)

    @property
    def candidates(self) -> slice:
        """The arms that can be selected."""
        return slice(self.layout.n_candidates)

    @property
    def seconds(self) -> float:
        """Time spent on plays, by all chains."""
        return float(sum(total.seconds.sum() for total in self.totals))

    @property
    def n_skipped(self) -> int:
        """Batches of a stream that were skipped: a single class, or too few rows."""
        return int(np.count_nonzero(self.totals[0].n_played == 0))

    def sizes(self, steps: NDArray[np.int64]) -> FloatArray:
        """How many arms were played and rewarded at ``steps``, averaged over chains (2, steps).

        Plays count from 1; 0 is before the first.
        """
        sizes = np.zeros((2, steps.size))
        n_chains = np.zeros(steps.size)
        for total in self.totals:
            is_there = (steps >= 1) & (steps <= total.n_played.size)
            at = steps[is_there] - 1
            sizes[:, is_there] += total.n_played[at], total.n_rewarded[at]
            n_chains += is_there
        return sizes / np.maximum(n_chains, 1)

    def posterior(
        self, chain: int | None = None, arms: SomeArms = EVERY_ARM
    ) -> tuple[FloatArray, FloatArray]:
        """Beta parameters of some ``arms``, of one ``chain`` or of all together."""
        totals = self.totals if chain is None else self.totals[chain : chain + 1]
        a, b = (np.broadcast_to(value, self.layout.n_arms)[arms] for value in self.prior)
        return (
            a + self._over_chains([total.counts.successes[arms] for total in totals]),
            b + self._over_chains([total.counts.failures[arms] for total in totals]),
        )

    @staticmethod
    def _over_chains(counts: list[NDArray[Any]]) -> NDArray[Any]:
        return counts[0] if len(counts) == 1 else np.sum(counts, axis=0, dtype=counts[0].dtype)

    def means(self, chain: int | None = None, arms: SomeArms = EVERY_ARM) -> FloatArray:
        """Selection rates of some ``arms``, of one ``chain`` or of all together."""
        a, b = self.posterior(chain, arms)
        b += a
        return np.divide(a, b, out=a)

    @cached_property
    def intervals(self) -> FloatArray:
        """95 % intervals of the arms that can be selected (arms, 2), of all chains together."""
        return self.intervals_of(np.arange(self.layout.n_candidates))

    def intervals_of(self, arms: NDArray[np.int64]) -> FloatArray:
        """95 % intervals (arms, 2) of these ``arms``, of all chains together."""
        a, b = self.posterior(arms=arms)
        # Most arms share their counts with many others.
        pairs, places = np.unique(a + 1j * b, return_inverse=True)
        return np.column_stack([betaincinv(pairs.real, pairs.imag, q)[places] for q in INTERVAL])

    def leading_decoys(self, most: int, chain: int | None = None) -> NDArray[np.int64]:
        """At ``most`` so many decoys of ``chain``, or of all, by falling selection rate."""
        played = self.played(chain)
        decoys = played[played >= self.layout.n_candidates]
        return decoys[np.argsort(-self.means(chain, decoys), kind="stable")[:most]]

    def passing(self, chain: int | None = None) -> NDArray[np.bool_]:
        """Arms, and decoys, of ``chain``, or of all, that were played and exceed the threshold."""
        played = self.played(chain)
        passing = np.zeros(self.layout.n_arms, dtype=np.bool_)
        passing[played] = self.means(chain, played) > self.thresholds()[played]
        return passing

    def q_values(self, chain: int | None = None) -> FloatArray:
        """The smallest false discovery rate at which each candidate arm is selected.

        Of one ``chain`` or of all together; NaN where no decoys were played.
        """
        n, n_copies = self.layout.n_candidates, self.layout.n_copies
        if self.evidence is not None:
            return self.evidence.q_values
        if n_copies == 0:
            return np.full(n, np.nan)
        scores, decoys = self._scores(chain)
        return q_values(scores, decoys, n_copies, scores > 0.0)

    @property
    def expected_false(self) -> float:
        """Expected number of false ones among the selected arms; NaN without decoys."""
        n, n_copies = self.layout.n_candidates, self.layout.n_copies
        if self.evidence is not None:
            return self.evidence.expected_false(self.selected()[:n])
        if n_copies == 0:
            return float("nan")
        scores, decoys = self._scores()
        chosen = scores[self.selected()[:n]]
        if chosen.size == 0:
            return 0.0
        return float(min(chosen.size, false_ones(chosen.min(keepdims=True), decoys, n_copies)[0]))

    def _scores(self, chain: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Selection rates of the candidates, 0 where they do not pass; of decoys that do."""
        arms = np.flatnonzero(self.passing(chain))
        own, decoys = np.split(arms, [np.searchsorted(arms, self.layout.n_candidates)])
        scores = np.zeros(self.layout.n_candidates)
        scores[own] = self.means(chain, own)
        return scores, self.means(chain, decoys)

    def selected(self, chain: int | None = None) -> NDArray[np.bool_]:
        """Arms that make the model, of one ``chain`` or of all; never a decoy.

        Of too many the highest. With evidence these are the arms that it proves; where
        rewards fade, of these the ones that still pass.
        """
        passing = self.passing(chain)
        passing[self.layout.n_candidates :] = False
        if self.evidence is not None:
            proven = self.evidence.selected(chain)
            passing[: proven.size] = proven & (passing[: proven.size] | (self.discount == 1.0))
        elif self.max_fdr is not None:
            passing[: self.layout.n_candidates] &= self.q_values(chain) <= self.max_fdr
        if self.n_wanted is not None and np.count_nonzero(passing) > self.n_wanted:
            arms = np.flatnonzero(passing)
            falling = np.argsort(-self.means(chain, arms), kind="stable")
            passing[arms[falling[self.n_wanted :]]] = False
        return passing

    def thresholds(self) -> FloatArray:
        """The threshold of every arm."""
        return np.broadcast_to(np.asarray(self.threshold, dtype=np.float64), self.layout.n_arms)

    @cached_property
    def support(self) -> NDArray[np.bool_]:
        """Features that are selected, or always included."""
        return self.layout.by_feature(self.selected(), True)

    @cached_property
    def ranking(self) -> NDArray[np.int64]:
        """1 for selected features, the others from 2 on, the most likely first."""
        rest = np.flatnonzero(~self.support)
        means = self.layout.by_feature(self.means(arms=self.candidates), 1.0)[rest]
        played = self.layout.by_feature(self.times_played, 1)[rest] > 0
        ranks = np.ones(self.support.size, dtype=np.int64)
        ranks[rest[np.lexsort([-means, ~played])]] = np.arange(2, rest.size + 2)
        return ranks

    @cached_property
    def chain_supports(self) -> NDArray[np.bool_]:
        """What each chain alone selects (chains, features)."""
        chains = range(self.n_chains)
        return np.array([self.layout.by_feature(self.selected(chain), True) for chain in chains])

    @property
    def chain_agreement(self) -> float:
        """How alike the sets of the chains are; NaN for one chain."""
        return mean_jaccard(self.chain_supports)

    @cached_property
    def spread(self) -> FloatArray:
        """Standard deviation over the chains of the rates of arms that can be selected."""
        chains = range(self.n_chains)
        return np.std([self.means(chain, self.candidates) for chain in chains], axis=0)

    def paths(
        self,
        arms: NDArray[np.int64],
        steps: NDArray[np.int64] | None = None,
        chain: int | None = None,
    ) -> FloatArray:
        """Selection rates of some arms after some plays, in one walk over these.

        Parameters
        ----------
        arms : int array
        steps : increasing int array, optional
            Numbers of plays done, 0 for the prior; all of them by default.
        chain : int, optional
            All chains together by default.

        Returns
        -------
        float64 array (steps, arms)
        """
        if steps is None:
            longest = self.n_plays if chain is None else self.journal.n_plays(chain)
            steps = np.arange(min(self.n_plays, longest) + 1)
        chosen, inverse = np.unique(arms, return_inverse=True)
        places = np.full(self.layout.n_arms, -1)
        places[chosen] = np.arange(chosen.size)
        a, b = (np.broadcast_to(value, places.shape)[chosen] for value in self.prior)
        successes, failures = np.zeros((2, steps.size, chosen.size))
        for walked in range(self.n_chains) if chain is None else [chain]:
            counts, n_done = Counts.zeros(chosen.size, self.discount), 0
            walk = counts.follow(self.plays_of(walked), places, self.fresh_arms(walked))
            for row, step in enumerate(steps):
                n_done += sum(1 for _ in islice(walk, int(step) - n_done))
                successes[row] += counts.successes
                failures[row] += counts.failures
        paths: FloatArray = (a + successes) / ((a + successes) + (b + failures))
        return paths[:, inverse]

    def trajectories(
        self, features: Sequence[str] | Sequence[int], chain: int = 0
    ) -> NDArray[np.float64]:
        """Selection rates of some features over the plays of a chain.

        Parameters
        ----------
        features : names or indices
        chain : int, default=0

        Returns
        -------
        float64 array (plays + 1, features)
            The first row is the prior mean.
        """
        places = [self._place(item) for item in features]
        arms = self.arm_of_feature[places]
        if (arms < 0).any():
            name = self.names[places[int(np.flatnonzero(arms < 0)[0])]]
            raise ValueError(f"{name!r} is always included: it is no arm and has no trajectory")
        return self.paths(arms, chain=chain)

    def decoy_trajectories(self, chain: int = 0) -> NDArray[np.float64]:
        """Selection rates of the decoys over the plays of ``chain`` (plays + 1, decoys)."""
        arms = np.arange(self.layout.n_candidates, self.layout.n_arms)
        return self.paths(arms, chain=chain)

    def to_frame(self) -> Any:
        """One row per play: chain, play, arms played, arms rewarded, seconds (needs pandas)."""
        try:
            import pandas as pd
        except ModuleNotFoundError:
            raise ModuleNotFoundError("to_frame needs pandas: pip install pandas") from None
        rows = [
            (chain, play, *row)
            for chain, total in enumerate(self.totals)
            for play, row in enumerate(zip(*total[1:], strict=True))
        ]
        return pd.DataFrame(rows, columns=["chain", "play", "n_played", "n_rewarded", "seconds"])

    def _place(self, item: Any) -> int:
        if isinstance(item, str):
            if item not in self.names:
                raise ValueError(f"no feature is named {item!r}")
            return self.names.index(item)
        return int(item)


def mean_jaccard(sets: NDArray[np.bool_]) -> float:
    """Mean Jaccard index over pairs of rows; two empty sets agree. NaN for one row."""
    values = [
        (a & b).sum() / union if (union := (a | b).sum()) else 1.0 for a, b in combinations(sets, 2)
    ]
    return float(np.mean(values)) if values else float("nan")
