"""What a run sets up once, offline and on streams: arms, chains, seed, window and journal."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_scalar

from tvselect.bandit.arms import Arms, count
from tvselect.bandit.chain import Chains, Play, ThompsonChain
from tvselect.bandit.engine import StopReason, Watcher
from tvselect.bandit.journal import Header, Journal, JournalError
from tvselect.bandit.oracle import (
    MEDIAN_MODEL_COST,
    NO_BURN_IN,
    NO_PAIRS,
    BurnIn,
    Oracle,
    threshold,
)
from tvselect.rewards import Reward
from tvselect.seeds import entropy_of
from tvselect.selectors.fingerprint import fingerprint
from tvselect.selectors.layout import ArmLayout, PerArm
from tvselect.selectors.results import Asked, Evidence, SearchResult

if TYPE_CHECKING:
    from tvselect.selectors.base import BanditSelector

WIDEST_WINDOW = 10**6
PLAYS_PER_WORKER = 16


@dataclass(eq=False, repr=False)
class Search(BaseEstimator):  # type: ignore[misc]
    """How variables are searched for: what few people set.

    Parameters
    ----------
    patience : int, optional
        Stop when the selected set has not changed for that many plays.
    burn_in : int or "auto", default="auto"
        After that many plays the 1,000 leading arms, decoys among them, start anew from their
        prior and go on among themselves; their earlier rewards count no more. In the first plays
        hundreds of arms share a forest, and a signal may lose there as often as noise does. 0 is
        never, as in the paper and on streams; "auto" is 150 in a search of more than 1,000 arms
        with decoys, else 0.
    cost : float or array, default=(sqrt(5) - 1) / 2
        ``C`` in (0, 1), one for all or one per column; sets the threshold
        ``c = log(1/C) / log((1 + C)/C)``, 1/2 by default. A higher cost makes a lower threshold.
    prior : (float, float) or (array, array), default=(1.0, 1.0)
        Beta prior of the arms, one for all or one value per column.
    n_chains : int, default=1
        Independent searches, pooled by adding counts; on streams of the same batches.
    window : "auto" or int, default="auto"
        The largest number of plays that are chosen from one state of the arms and scored at the
        same time; never more than a tenth of the plays that are done, since burn-in once that is
        over. "auto" is 1, as in the paper, unless there are more workers than chains: 16 per
        worker then. The numbers depend on the window, not on the number, kind or speed of the
        workers.
    runner : {"threads", "processes"}, address, distributed.Client or Runner, optional
        Where plays run: threads by default; an address such as ``tcp://head-node:8786``, or a
        client, is a Dask cluster (``n_jobs`` is not used then). Workers open the files of a
        stream themselves, so that these must be at the same place for all of them.
    journal : path, optional
        File that keeps every play (SQLite). If it holds plays of the same data and settings, the
        run goes on where it stopped; on a stream with the next unread batch.
    callbacks : function or sequence of functions, optional
        Called with a :class:`Progress` about ten times a second, or after every window of plays
        that takes longer. The run stops in good order when one returns True.

    Examples
    --------
    >>> from tvselect import Search, ThompsonSelector
    >>> ThompsonSelector(search=Search(patience=100))
    ThompsonSelector(search=Search(patience=100))
    >>> search = Search(callbacks=lambda progress: progress.seconds > 600)
    """

    patience: int | None = None
    burn_in: int | Literal["auto"] = "auto"
    cost: float | ArrayLike = MEDIAN_MODEL_COST
    prior: tuple[float | ArrayLike, float | ArrayLike] = (1.0, 1.0)
    n_chains: int = 1
    window: int | Literal["auto"] = "auto"
    runner: Any = None
    journal: str | Path | None = None
    callbacks: Callable[[Progress], Any] | Sequence[Callable[[Progress], Any]] | None = None


@dataclass(eq=False)
class Progress:
    """How far a search has come, for the ``callbacks`` of :class:`Search`."""

    n_plays: int  #: Of every chain, those of an earlier run included; of a stream batches
    n_total: int | None  #: Those asked for; None where that is not known
    seconds: float  #: Since the first play of this call
    _search: SearchRun = field(init=False, repr=False)

    @cached_property
    def _found(self) -> SearchResult:
        return self._search.result(
            StopReason.CALLBACK, is_stream=False, family="auto", fingerprint=None
        )

    @property
    def names(self) -> Sequence[str]:
        """Of the variables."""
        return self._search.layout.names

    @property
    def selection_rates(self) -> NDArray[np.float64]:
        """By variable, as ``selection_rates_`` after a fit."""
        return self._search.layout.by_feature(self._found.means(), 1.0)

    @property
    def leading(self) -> list[str]:
        """Variables above the threshold, the best first; decoys decide in the end."""
        is_leading = self._search.layout.by_feature(self._found.passing(), False)
        rates, places = self.selection_rates, np.flatnonzero(is_leading)
        return [self.names[j] for j in places[np.argsort(-rates[places], kind="stable")]]


@dataclass(frozen=True)
class SearchRun:
    """A search, set up: all that its plays need but the data."""

    layout: ArmLayout
    reward: Reward
    chains: Chains
    journal: Journal  #: With the plays of earlier runs; open on disk, where that was asked for
    header: Header  #: What the journal is written for
    max_fdr: float | None = None

    def result(
        self, reason: StopReason, evidence: Evidence | None = None, **asked: Any
    ) -> SearchResult:
        """What was done and found so far."""
        chain, n_plays = self.chains[0], self.chains.n_plays
        arms, n_burned_in = chain.arms, chain.burn_in.n_plays
        successes = np.stack([one.arms.successes for one in self.chains])
        failures = np.stack([one.arms.failures for one in self.chains])
        if 0 < n_plays == n_burned_in:  # where the leaders stand at their prior already
            successes[:] = failures[:] = 0
            for k, (won, lost) in enumerate(zip(successes, failures, strict=True)):
                for play in self.journal.plays(k):
                    count(won, lost, play.arms, play.rewards)
        is_fresh = 0 < n_burned_in < n_plays
        return SearchResult(
            journal=self.journal,
            n_plays=n_plays,
            layout=self.layout,
            prior=(arms.prior_a, arms.prior_b),
            threshold=arms.threshold,
            asked=Asked(
                reward=repr(self.reward),
                seed=chain.entropy,
                window=chain.window,
                burn_in=n_burned_in,
                **asked,
            ),
            stop_reason=reason,
            successes=successes,
            failures=failures,
            fresh=tuple(one.arms.drawable() for one in self.chains) if is_fresh else (),
            discount=arms.discount,
            n_wanted=chain.oracle.n_wanted,
            max_fdr=self.max_fdr,
            evidence=evidence,
        )


def set_up_search(
    selector: BanditSelector,
    layout: ArmLayout,
    reward: Reward,
    *,
    identity: Mapping[str, Any],
    entropy: int,
    n_workers: int = 1,
    discount: float = 1.0,
    n_joining: int = 0,
    crowd: int | None = None,
    idle: NDArray[np.bool_] | None = None,
    burn_in: BurnIn = NO_BURN_IN,
    pairs: NDArray[np.int32] = NO_PAIRS,
    has_patience: bool = False,
) -> SearchRun:
    """Set up a new search, or one that goes on with the plays of a journal.

    ``identity`` is what else the plays depend on, the data above all. Every arm is played with
    ``n_joining`` decoys of its own, at most a ``crowd`` at once, ``pairs`` (pairs, 2) together,
    ``idle`` ones never. Raises a ValueError for settings that do not fit the arms, and a
    JournalError for a journal that is damaged or of another search.
    """
    settings = selector._search
    c, prior = law_of_arms(settings, layout)
    n_wanted = selector.n_features_to_select
    if n_wanted is not None and n_wanted > layout.n_candidates:
        raise ValueError(
            f"n_features_to_select={n_wanted} is more than the {layout.n_candidates} arms there are"
        )
    known = {
        "arms": layout.arm_of_feature,
        "decoys": layout.n_copies,
        "threshold": np.broadcast_to(c, layout.n_arms),
        "prior": [np.broadcast_to(value, layout.n_arms) for value in prior],
        "n_features_to_select": n_wanted,
        "discount": discount,
        "burn_in": burn_in if burn_in.n_plays else None,
        "reward": reward,
        **identity,
    }
    header = Header(
        fingerprint=fingerprint(known, strict=settings.journal is not None),
        entropy=entropy,
        n_arms=layout.n_arms,
        n_chains=settings.n_chains,
        window=widest_window(settings.window, n_workers, settings.n_chains),
        version=version("tvselect"),
    )
    journal = Journal()
    stored = _begin(journal, header, selector)
    oracle = Oracle(n_wanted, layout.n_candidates, n_joining, pairs, crowd)
    chains = Chains(
        ThompsonChain(
            Arms(layout.n_arms, *prior, c, discount, idle),
            oracle,
            entropy=stored.entropy,
            chain=k,
            window=stored.window,
            has_patience=has_patience or settings.patience is not None,
            burn_in=burn_in,
        )
        for k in range(settings.n_chains)
    )
    chains.follow(journal)
    max_fdr = selector.max_fdr if layout.n_copies else None
    return SearchRun(layout, reward, chains, journal, stored, max_fdr)


def _begin(journal: Journal, header: Header, selector: BanditSelector) -> Header:
    """Begin a journal, or go on with one, whose seed and window the run then has."""
    settings = selector._search
    if settings.journal is None:
        return journal.begin(header)
    stored, name = journal.attach(settings.journal, header), journal.name
    if stored.window != header.window and settings.window != "auto":
        journal.close()
        raise JournalError(
            f"{name}: the run was begun with window={stored.window}, which its numbers depend on, "
            f"not {header.window}; go on with window={stored.window} or 'auto', or start anew"
        )
    if stored.version != header.version:
        warnings.warn(
            f"{name} was begun by tvselect {stored.version}; this is {header.version}, whose "
            "numbers may be others from here on",
            RuntimeWarning,
            stacklevel=4,
        )
    if isinstance(selector.random_state, Integral) and stored.entropy != selector.random_state:
        warnings.warn(
            f"{name} was begun with another random_state; the run goes on with that one",
            RuntimeWarning,
            stacklevel=4,
        )
    return stored


def law_of_arms(settings: Search, layout: ArmLayout) -> tuple[PerArm, tuple[PerArm, PerArm]]:
    """Thresholds and Beta priors of the arms, from costs and priors of the features."""
    cost, prior = layout.by_arm(settings.cost, "cost"), settings.prior
    if not np.all(np.greater(cost, 0) & np.less(cost, 1)):
        raise ValueError(f"cost must lie strictly between 0 and 1, got {settings.cost!r}")
    if not isinstance(prior, tuple | list) or len(prior) != 2:
        raise ValueError(f"prior must be a pair (a, b), got {prior!r}")
    a, b = (layout.by_arm(value, "prior") for value in prior)
    if not all(np.all(np.isfinite(value) & np.greater(value, 0)) for value in (a, b)):
        raise ValueError(f"prior must be positive and finite, got {prior!r}")
    return threshold(cost), (a, b)


def widest_window(window: int | Literal["auto"], n_workers: int, n_chains: int) -> int:
    """Most plays that are chosen together; "auto" as :class:`Search` says."""
    if isinstance(window, str):
        if window != "auto":
            raise ValueError(f"window must be 'auto' or a number of plays, got {window!r}")
        return 1 if n_workers <= n_chains else -(-PLAYS_PER_WORKER * n_workers // n_chains)
    check_scalar(window, "window", Integral, min_val=1, max_val=WIDEST_WINDOW)
    return int(window)


def seed_of_run(selector: BanditSelector) -> int:
    """Seed of a run: that of its journal, where it goes on with one."""
    path = selector._search.journal
    if path is not None and Path(path).exists():
        with Journal(path) as journal:
            if journal.header is not None:
                return journal.header.entropy
    return entropy_of(selector.random_state)


@contextmanager
def progress_bar(
    search: SearchRun,
    total: int | None,
    unit: str,
    selector: BanditSelector,
    outlook: Callable[[], Mapping[str, int]] | None = None,
) -> Iterator[Watcher]:
    """A bar of the plays of one chain, with an ``outlook``; calls callbacks that may stop it."""
    from tqdm.auto import tqdm

    chain, started = search.chains[0], time.perf_counter()
    callbacks = selector._search.callbacks or ()
    callbacks = [callbacks] if callable(callbacks) else list(callbacks)
    hidden = selector.verbose < 1
    with tqdm(
        total=total, initial=chain.n_plays, desc="TVS", unit=f" {unit}", disable=hidden
    ) as bar:

        def watch(plays: Sequence[Play]) -> bool:
            bar.update(chain.n_plays - bar.n)
            if not bar.disable:
                model = chain.oracle.model(chain.arms)
                found = {"selected": model.size} if outlook is None else outlook()
                bar.set_postfix(played=plays[-1].arms.size, **found, refresh=False)
            if not callbacks:
                return False
            seconds = time.perf_counter() - started
            progress = Progress(chain.n_plays, total, seconds)
            progress._search = search
            said = [callback(progress) for callback in callbacks]
            return any(isinstance(answer, bool | np.bool_) and bool(answer) for answer in said)

        yield watch
