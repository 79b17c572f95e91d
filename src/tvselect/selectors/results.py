"""What a fit found: a record of the run that never changes, and what it says of every feature."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv
from sklearn.utils.validation import check_is_fitted

from tvselect import control
from tvselect.bandit.arms import count
from tvselect.bandit.chain import Play
from tvselect.bandit.engine import StopReason
from tvselect.bandit.journal import Journal
from tvselect.inputs.blocks import units_needed
from tvselect.inputs.errors import needed
from tvselect.inputs.outcome import AskedFamily
from tvselect.inputs.table import find_feature
from tvselect.regression import Opinion
from tvselect.selectors.layout import ArmLayout, PerArm
from tvselect.words import counted

if TYPE_CHECKING:
    from tvselect.selectors.base import BanditSelector

Ints = NDArray[np.int64]

Floats = NDArray[np.float64]
SomeArms = Ints | slice
EVERY_ARM = slice(None)
INTERVAL = (0.025, 0.975)
LARGEST_LOG = 700.0
MOST_SHOWN = 20


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
    rounds_count: bool = (
        False  #: Whether the rounds after the first are evidence once they are over
    )
    time_limit: float | None = None  #: Seconds
    #: Rows of a batch; None where they differ, or where there are no batches.
    batch_size: int | None = None
    n_rows: int | None = None  #: None for a stream, which does not count them
    decoys: str | None = None  #: Their kind; None where none were played
    #: Groups of rows, or independent stretches of time; None where each row stands for itself.
    n_units: int | None = None
    #: Column of the groups of rows; empty where labels came beside the table, None for no groups.
    groups: str | None = None
    n_groups: int | None = None  #: None also of a stream, which does not count them
    #: Column of times, or "rows" for rows as they stand; else as the column of groups.
    order: str | None = None
    unproven: bool = False  #: Whether rows seem to depend on each other though nothing was said
    burn_in: int = 0  #: Plays after which the leading arms start anew; 0 for never


@dataclass(frozen=True, eq=False)
class Evidence:
    """The e-values of a stream at one moment."""

    max_fdr: float
    log_e: Floats  #: By chain and arm
    since: Ints  #: By arm the batches after which it was selected for good, or -1
    n_batches: int  #: That count: the first time that their rows were played
    n_fresh: int | None  #: Of the first round; None where all rows were new

    @cached_property
    def log_e_values(self) -> Floats:
        """By arm, averaged over chains."""
        return control.average_log_e(self.log_e)

    @property
    def e_values(self) -> Floats:
        """By arm, averaged over chains."""
        return np.exp(np.minimum(self.log_e_values, LARGEST_LOG))

    def of(self, chain: int | None) -> Floats:
        """Log e-values by arm, of one ``chain`` or of all."""
        return self.log_e_values if chain is None else self.log_e[chain]


class Ledger:
    """Bets on arms against their decoys, play after play.

    With a ``discount`` a bettor with more than 1 goes on with ``W**discount`` of it, which is less,
    when his arm is played, and puts the rest away. Where ``rounds_count``, half of what there is to
    bet is kept for later rounds, see :meth:`close`.
    """

    def __init__(
        self,
        n_candidates: int,
        n_copies: int,
        n_chains: int,
        max_fdr: float,
        discount: float,
        *,
        rounds_count: bool = False,
    ) -> None:
        self.n_copies, self.max_fdr, self.discount = n_copies, max_fdr, discount
        self.stakes = np.zeros((n_chains, control.STAKES.size, n_candidates))
        self.log_e = np.zeros((n_chains, n_candidates))
        self.table = np.full_like(self.log_e, -np.inf) if rounds_count else None
        self.since = np.full(n_candidates, -1, dtype=np.int64)
        self.n_plays = 0
        self.n_batches = 0
        self.n_fresh: int | None = None

    def follow(self, journal: Journal, n_fresh: int | None, until: int | None = None) -> None:
        """Count what is new; plays from number ``n_fresh`` on see rows that were seen before.

        Up to ``until`` plays, or all.
        """
        plays = (journal.plays(chain, self.n_plays) for chain in range(len(self.log_e)))
        n_new = None if until is None else until - self.n_plays
        for made in islice(zip(*plays, strict=True), n_new):
            self.n_plays += 1
            if (n_fresh is None or made[0].number < n_fresh) and made[0].arms.size:
                self.n_batches += 1
                for play, stakes, log_e in zip(made, self.stakes, self.log_e, strict=True):
                    # The decoys come after their arms, in the same order, copy after copy.
                    rewards = play.rewards.reshape(1 + self.n_copies, -1)
                    arms = play.arms[: rewards.shape[1]]
                    held = stakes[:, arms]
                    held[held > 0.0] *= self.discount
                    stakes[:, arms] = held + control.log_stakes(rewards)
                    log_e[arms] = control.average_log_e(stakes[:, arms])
                self._mark()
        self.n_fresh = n_fresh

    @property
    def share(self) -> float:
        """What there is to bet on new rows; the rest is kept for a table."""
        return 1.0 if self.table is None else 0.5

    def close(self, journal: Journal, n_batches: int) -> None:
        """Bet on the table that all rounds of ``n_batches`` are, batch by batch.

        The first round has said who plays in the others; what an arm and its decoys were rewarded
        in these, on the rows of a batch, is one bet. Arms that did not play have lost their half.
        """
        assert self.table is not None
        for chain, table in enumerate(self.table):
            plays = [play for play in journal.plays(chain, n_batches) if play.arms.size]
            if not plays:
                continue
            rewards = np.zeros((n_batches, plays[0].arms.size), dtype=np.int64)
            for play in plays:
                rewards[play.number % n_batches] += play.rewards
            by_batch = rewards.reshape(n_batches, 1 + self.n_copies, -1)
            arms = plays[0].arms[: by_batch.shape[2]]
            table[arms] = control.average_log_e(
                np.sum([control.log_stakes(one) for one in by_batch], axis=0)
            )
        self._mark()

    def _mark(self) -> None:
        chosen = control.q_values_by_evidence(control.average_log_e(self._held())) <= self.max_fdr
        self.since[~chosen] = -1
        self.since[chosen & (self.since < 0)] = self.n_plays

    def _held(self) -> Floats:
        """Log e-values by chain and arm."""
        if self.table is None:
            return self.log_e
        return control.average_log_e(np.stack([self.log_e, self.table]))

    def outlook(self) -> dict[str, int]:
        """How many variables are proven, and in how many batches the next one is likely to be.

        It needs as much evidence a batch as it had so far; none comes once all rows were read.
        """
        found, p = control.average_log_e(self._held()), self.log_e.shape[1]
        n_proven = int(np.count_nonzero(control.q_values_by_evidence(found) <= self.max_fdr))
        rest = np.sort(found)[: p - n_proven]
        if not rest.size or rest[-1] <= 1.0 or self.n_plays >= (self.n_fresh or np.inf):
            return {"proven": n_proven}
        missing = np.log(p) - np.log(self.max_fdr * (n_proven + 1)) - rest[-1]
        return {
            "proven": n_proven,
            "next_in": max(1, int(np.ceil(missing / rest[-1] * self.n_batches))),
        }

    def evidence(self) -> Evidence:
        """All that was counted so far."""
        held, since = self._held().copy(), self.since.copy()
        return Evidence(self.max_fdr, held, since, self.n_batches, self.n_fresh)


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What a fit did and found, up to the play with which it ended.

    A journal may grow when the fit goes on; a result does not. Arms are the variables that
    can be selected, then the decoys.
    """

    journal: Journal  #: Every play
    n_plays: int  #: Of each chain
    layout: ArmLayout  #: Which features make an arm
    prior: tuple[PerArm, PerArm]  #: Beta prior of the arms
    threshold: PerArm  #: Selection rate that an arm has to exceed
    asked: Asked  #: What the run was asked to do
    stop_reason: StopReason  #: Why it ended
    successes: NDArray[Any]  #: Rewards of 1 by chain and arm, since the arm started anew
    failures: NDArray[Any]  #: Rewards of 0
    fresh: tuple[NDArray[np.int32], ...] = ()  #: By chain the arms that burn-in has started anew
    discount: float = 1.0  #: What is left of an arm's earlier rewards when it is played again
    n_wanted: int | None = None  #: Known size of the model, in arms
    max_fdr: float | None = None  #: Largest share of false selections; None: the median model
    evidence: Evidence | None = None  #: Of a stream with decoys
    opinion: Opinion | None = None  #: Of a regression beside the trees
    #: Arms that trees select and the regression takes for stand-ins of others.
    stand_ins: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def n_chains(self) -> int:
        """Number of independent searches."""
        return len(self.successes)

    @property
    def plays(self) -> list[Play]:
        """Plays of the first chain, in order."""
        return list(self.plays_of(0))

    def plays_of(self, chain: int, start: int = 0) -> Iterator[Play]:
        """Plays of ``chain`` in order, from number ``start`` on."""
        return islice(self.journal.plays(chain, start), max(self.n_plays - start, 0))

    def counted_plays(self) -> Iterator[Play]:
        """Plays of all chains that the counts know: those since burn-in, where that is over."""
        start = self.asked.burn_in if self.asked.burn_in < self.n_plays else 0
        for chain in range(self.n_chains):
            yield from self.plays_of(chain, start)

    @property
    def names(self) -> Sequence[str]:
        """Names of the features."""
        return self.layout.names

    @property
    def arm_of_feature(self) -> Ints:
        """The arm of each feature, -1 for those that are always included."""
        return self.layout.arm_of_feature

    @property
    def candidates(self) -> slice:
        """The arms that can be selected."""
        return slice(self.layout.n_candidates)

    @cached_property
    def made(self) -> Floats:
        """Arms played, arms rewarded and seconds of every play (chains, plays, 3)."""
        made = [
            (play.arms.size, np.count_nonzero(play.rewards), play.seconds)
            for chain in range(self.n_chains)
            for play in self.plays_of(chain)
        ]
        return np.array(made, dtype=np.float64).reshape(self.n_chains, -1, 3)

    @property
    def seconds(self) -> float:
        """Time spent on plays, by all chains."""
        return float(self.made[..., 2].sum())

    @property
    def n_skipped(self) -> int:
        """Batches of a stream that were skipped: a single class, or too few rows."""
        return int(np.count_nonzero(self.made[0, :, 0] == 0.0))

    def sizes(self, steps: Ints) -> Floats:
        """Arms played and rewarded after so many ``steps``, averaged over chains (2, steps)."""
        sizes = self.made[..., :2].mean(axis=0)
        return np.concatenate([np.zeros((1, 2)), sizes])[steps].T

    @cached_property
    def times_played(self) -> NDArray[np.int32]:
        """By arm the plays that its counts know, in all chains: those since it started anew."""
        if self.discount == 1.0:
            return (self.successes + self.failures).sum(axis=0, dtype=np.int32)
        times = np.zeros(self.layout.n_arms, dtype=np.int32)
        for play in self.counted_plays():
            times[play.arms] += 1
        return times

    def played(self, chain: int | None = None) -> Ints:
        """Arms that were played, of one ``chain`` or of all together: few of very many."""
        chains = slice(None) if chain is None else slice(chain, chain + 1)
        return np.flatnonzero((self.successes[chains] + self.failures[chains]).any(axis=0))

    def posterior(
        self, chain: int | None = None, arms: SomeArms = EVERY_ARM
    ) -> tuple[Floats, Floats]:
        """Beta parameters of some ``arms``, of one ``chain`` or of all together."""
        chains = slice(None) if chain is None else slice(chain, chain + 1)
        a, b = (
            np.broadcast_to(prior, self.layout.n_arms)[arms]
            + counts[chains, arms].sum(axis=0, dtype=counts.dtype)
            for prior, counts in zip(self.prior, (self.successes, self.failures), strict=True)
        )
        return a, b

    def means(self, chain: int | None = None, arms: SomeArms = EVERY_ARM) -> Floats:
        """Selection rates of some ``arms``, of one ``chain`` or of all together."""
        a, b = self.posterior(chain, arms)
        return a / (a + b)

    def intervals(self, arms: SomeArms) -> Floats:
        """95 % intervals (arms, 2) of some ``arms``, of all chains together."""
        a, b = self.posterior(arms=arms)
        # Most arms share their counts with many others.
        pairs, places = np.unique(a + 1j * b, return_inverse=True)
        return np.column_stack([betaincinv(pairs.real, pairs.imag, q)[places] for q in INTERVAL])

    def leading_decoys(self, most: int, chain: int | None = None) -> Ints:
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

    def q_values(self, chain: int | None = None) -> Floats:
        """The smallest false discovery rate at which each candidate arm is selected.

        Of one ``chain`` or of all together; NaN where no decoys were played.
        """
        n, n_copies = self.layout.n_candidates, self.layout.n_copies
        if self.shows_nothing:
            return np.ones(n)
        if self.evidence is not None:
            return control.q_values_by_evidence(self._proof(chain))
        if n_copies == 0:
            return np.full(n, np.nan)
        arms = np.flatnonzero(self.passing(chain))
        passing, decoys = np.split(arms, [np.searchsorted(arms, n)])
        scores = np.zeros(n)
        scores[passing] = self.means(chain, passing)
        scores[self.stand_ins] = 0.0
        q = control.q_values_by_decoys(scores, self.means(chain, decoys), n_copies, scores > 0.0)
        if self.opinion is None:
            return q
        own, *others = self.opinion.probabilities.reshape(-1, n)
        sure = control.q_values_by_probabilities(own, np.concatenate(others), len(others))
        return control.q_values_together(q, sure)

    @property
    def probabilities(self) -> Floats:
        """By candidate arm how sure the regression is that it is in; NaN where it was not asked."""
        n = self.layout.n_candidates
        return np.full(n, np.nan) if self.opinion is None else self.opinion.probabilities[:n]

    @cached_property
    def seen(self) -> list[str]:
        """By candidate arm as what the regression sees it, or that trees alone see it; or ""."""
        selected = self.selected()[self.candidates].tolist()
        if self.opinion is None:
            return [""] * len(selected)
        features = self.layout.first_features.tolist()
        forms = self.opinion.forms(len(selected))
        names = [[self.names[features[other]] for other in others] for _, others in forms]
        said = [
            f"{form} {' and '.join(some)}".strip()
            for (form, _), some in zip(forms, names, strict=True)
        ]
        return [
            text or "by trees only" * chosen for text, chosen in zip(said, selected, strict=True)
        ]

    @property
    def shows_nothing(self) -> bool:
        """Whether there are too few groups of rows, or stretches of time, to show anything."""
        n_units, n_copies = self.asked.n_units, self.layout.n_copies
        return n_copies > 0 and n_units is not None and n_units < units_needed(n_copies)

    @property
    def expected_false(self) -> float:
        """Expected number of false ones among the selected arms; NaN without decoys."""
        if self.evidence is None and self.layout.n_copies == 0:
            return float("nan")
        chosen = self.q_values()[self.selected()[: self.layout.n_candidates]]
        return float(chosen.size * chosen.max(initial=0.0))

    def _proof(self, chain: int | None) -> Floats:
        """Log e-values by candidate arm, of one ``chain`` or of all.

        None of arms that are not rewarded in a quarter of their plays (half their threshold), but
        for knockoffs: beside a signal those may be rewarded now and then that go with it.
        """
        assert self.evidence is not None
        log_e = self.evidence.of(chain)
        if self.asked.decoys == "knockoffs":
            return log_e
        needed = self.thresholds()[self.candidates] / 2
        return np.where(self.means(chain, self.candidates) > needed, log_e, -np.inf)

    def selected(self, chain: int | None = None) -> NDArray[np.bool_]:
        """Arms that make the model, of one ``chain`` or of all; never a decoy.

        With evidence, the arms that it proves; of these, with a discount, the ones that still pass.
        Of a known number the best: by evidence, then selection rate.
        """
        if self.n_wanted is not None and self.n_plays:
            return self._best(self.n_wanted, chain)
        passing = self.passing(chain)
        passing[self.layout.n_candidates :] = False
        if self.evidence is not None:
            proven = self.q_values(chain) <= self.evidence.max_fdr
            passing[: proven.size] = proven & (passing[: proven.size] | (self.discount == 1.0))
        elif self.max_fdr is not None:
            passing[: self.layout.n_candidates] = self.q_values(chain) <= self.max_fdr
        return passing

    def _best(self, n: int, chain: int | None) -> NDArray[np.bool_]:
        """The ``n`` best arms; those that were never played come last."""
        is_played = np.zeros(self.layout.n_arms, dtype=np.bool_)
        is_played[self.played(chain)] = True
        proof = np.zeros(self.layout.n_candidates)
        if self.evidence is not None:
            proof = self.evidence.of(chain)
        rates = self.means(chain, self.candidates)
        if self.opinion is not None:
            rates = np.maximum(rates, self.opinion.probabilities[: rates.size])
        order = np.lexsort([-rates, ~is_played[self.candidates], -proof])
        best = np.zeros(self.layout.n_arms, dtype=np.bool_)
        best[order[:n]] = True
        return best

    def thresholds(self) -> Floats:
        """The threshold of every arm."""
        return np.broadcast_to(np.asarray(self.threshold, dtype=np.float64), self.layout.n_arms)

    @cached_property
    def support(self) -> NDArray[np.bool_]:
        """Features that are selected, or always included."""
        return self.layout.by_feature(self.selected(), True)

    @cached_property
    def ranking(self) -> Ints:
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
    def spread(self) -> Floats:
        """Standard deviation over the chains of the rates of arms that can be selected."""
        chains = range(self.n_chains)
        return np.std([self.means(chain, self.candidates) for chain in chains], axis=0)

    def paths(self, arms: Ints, steps: Ints | None = None, chain: int | None = None) -> Floats:
        """Selection rates (steps, arms) of some ``arms``, of one ``chain`` or of all together.

        ``steps`` are increasing numbers of plays, 0 for the prior; all of them by default.
        """
        if steps is None:
            steps = np.arange(self.n_plays + 1)
        chosen, inverse = np.unique(arms, return_inverse=True)
        place_of = np.full(self.layout.n_arms, -1)
        place_of[chosen] = np.arange(chosen.size)
        sums = np.zeros((2, steps.size, chosen.size))
        for walked in range(self.n_chains) if chain is None else [chain]:
            successes, failures = np.zeros((2, chosen.size))
            fresh = place_of[self.fresh[walked]] if self.fresh else place_of[:0]
            plays, n_done = self.plays_of(walked), 0
            for row, step in enumerate(steps.tolist()):
                for play in islice(plays, step - n_done):
                    if play.number == self.asked.burn_in:
                        successes[fresh[fresh >= 0]] = failures[fresh[fresh >= 0]] = 0.0
                    places = place_of[play.arms]
                    is_chosen = places >= 0
                    rewards = play.rewards[is_chosen]
                    count(successes, failures, places[is_chosen], rewards, self.discount)
                n_done = step
                sums[:, row] += successes, failures
        priors = [np.broadcast_to(prior, place_of.shape)[None, chosen] for prior in self.prior]
        a, b = priors + sums
        return (a / (a + b))[:, inverse]

    def evidence_paths(self, arms: Ints, steps: Ints) -> tuple[Floats, Floats]:
        """Log e-values (steps, arms) of some ``arms``, and the one that was to be passed (steps).

        ``steps`` are increasing numbers of plays; the last is the end.
        """
        end, n = self.evidence, self.layout.n_candidates
        assert end is not None
        chains, counts = self.n_chains, self.asked.rounds_count
        ledger = Ledger(
            n, self.layout.n_copies, chains, end.max_fdr, self.discount, rounds_count=counts
        )
        found, needed = np.empty((steps.size, arms.size)), np.empty(steps.size)
        for row, step in enumerate(steps.tolist()):
            ledger.follow(self.journal, end.n_fresh, step)
            log_e = (end if step == self.n_plays else ledger.evidence()).log_e_values
            n_proven = int(np.count_nonzero(control.q_values_by_evidence(log_e) <= end.max_fdr))
            found[row], needed[row] = log_e[arms], np.log(n / (end.max_fdr * max(n_proven, 1)))
        return found, needed

    def trajectories(self, features: Sequence[str] | Sequence[int], chain: int = 0) -> Floats:
        """Selection rates (plays + 1, ``features``) of a ``chain``; the first is the prior's."""
        places = [find_feature(item, self.names, "features") for item in features]
        for place in places:
            if self.arm_of_feature[place] < 0:
                name = self.names[place]
                raise ValueError(f"{name!r} is always included: it is no arm and has no trajectory")
        return self.paths(self.arm_of_feature[places], chain=chain)

    def to_frame(self) -> Any:
        """One row per play: chain, play, arms played, arms rewarded, seconds (needs pandas)."""
        columns = ["n_played", "n_rewarded", "seconds"]
        frame = import_pandas().DataFrame(self.made.reshape(-1, 3), columns=columns)
        chain, play = np.divmod(frame.index, max(self.n_plays, 1))
        frame.insert(0, "chain", chain)
        frame.insert(1, "play", play)
        return frame.astype(dict.fromkeys(columns[:2], np.int64))


def mean_jaccard(sets: NDArray[np.bool_]) -> float:
    """Mean Jaccard index over pairs of rows; two empty sets agree. NaN for one row."""
    values = [
        (a & b).sum() / union if (union := (a | b).sum()) else 1.0 for a, b in combinations(sets, 2)
    ]
    return float(np.mean(values)) if values else float("nan")


def feature_findings(fit: BanditSelector) -> tuple[Ints, dict[str, Any]]:
    """Features by rank; and unsorted columns of findings, 0 for no claim and not selected."""
    result, rates, q = fitted_result(fit), fit.selection_rates_, fit.q_values_
    low, high = fit.selection_rate_intervals_.T
    claim = np.zeros(rates.size, dtype=np.int64)
    for number, one in enumerate(getattr(fit, "claims_", ()), start=1):
        claim[list(one.columns)] = number
    found = {
        "name": [str(name) for name in result.names],
        "selected": fit.support_,
        "q_value": q,
        "selection_rate": rates,
        "low": low,
        "high": high,
        "times_played": result.layout.by_feature(result.times_played, result.n_plays),
        "ranking": fit.ranking_,
        "claim": claim,
    }
    if result.opinion is not None:
        found["probability"] = result.layout.by_feature(result.probabilities, 1.0)
        found["seen"] = result.layout.by_feature(np.array(result.seen, dtype=object), "")
    if hasattr(fit, "e_values_"):  # of a stream
        since = np.where(fit.support_, fit.selected_since_, 0).clip(0)
        found |= {"e_value": fit.e_values_, "selected_since": since}
    return np.lexsort([-rates, q, fit.ranking_]), found


def to_html(fit: BanditSelector) -> str:
    """What was found as a table of HTML: the leading variables, the selected ones first."""
    (order, found), result = feature_findings(fit), fit.result_
    n_selected = int(fit.support_.sum())
    said = f"{n_selected:,} of {counted(order.size, 'variable')} selected"
    if result.max_fdr is not None:
        said += f" at a false discovery rate of {result.max_fdr:g}"
        said += f"; expected number of false ones: {fit.expected_false_:.1f}"
    if result.asked.unproven:
        said += "; unproven, as rows seem to depend on each other"
    rows = "".join(
        f"<tr><td>{escape(found['name'][j])}</td><td>{'yes' if fit.support_[j] else ''}</td>"
        f"<td>{fit.q_values_[j]:.3g}</td><td>{fit.selection_rates_[j]:.2f}</td></tr>"
        for j in order[: max(5, min(n_selected, MOST_SHOWN))]
    )
    titles = "<th>variable</th><th>selected</th><th>q-value</th><th>selection rate</th>"
    return f"<p>{said}.</p><table><tr>{titles}</tr>{rows}</table>"


def fitted_result(fit: BanditSelector) -> SearchResult:
    """The read-out of a fit; a NotFittedError where there is none."""
    check_is_fitted(fit, "result_")
    return fit.result_


def as_told(fit: Any, groups: Any, order: Any) -> tuple[Any, Any]:
    """Groups and order as given, else the columns of a fit; a ValueError if those were values."""
    if groups is None and order is None and hasattr(fit, "result_"):
        groups, order = fit.result_.asked.groups, fit.result_.asked.order
        for name, value in (("groups", groups), ("order", order)):
            if value == "":
                raise ValueError(
                    f"the selector was fitted with {name}, which are no column of X: pass "
                    f"{name}=..., one value for each row, here, too"
                )
    return groups, order


def import_pandas() -> Any:
    """Pandas, or an error that says how to get it."""
    return needed("pandas", "to_frame needs pandas: pip install pandas")
