"""Thompson Variable Selection on streams: tables with more rows than memory, or that never end."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from importlib.metadata import version
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_scalar
from sklearn.utils.validation import validate_data

from tvselect.bandit.arms import Arms
from tvselect.bandit.chain import ThompsonChain
from tvselect.bandit.journal import Header, MemoryJournal, SqliteJournal
from tvselect.bandit.oracle import MEDIAN_MODEL_COST, Oracle
from tvselect.bandit.stopping import Stopping
from tvselect.inputs import InputError, OutcomeReader
from tvselect.rewards import Reward
from tvselect.runners import HereRunner, Runner, open_runner, opened
from tvselect.runners.base import call
from tvselect.selectors.base import BanditSelector
from tvselect.selectors.encoding import StreamEncoder
from tvselect.selectors.features import Deal, Groups, is_frame
from tvselect.selectors.fingerprint import fingerprint
from tvselect.selectors.game import widest_window
from tvselect.selectors.history import History
from tvselect.selectors.journals import begin_journals, stored_window
from tvselect.selectors.passes import Passes
from tvselect.selectors.settings import (
    PerArm,
    arm_priors,
    arm_thresholds,
    as_reward,
    check_count,
    check_time_limit,
    check_wanted,
    entropy_of,
)
from tvselect.selectors.stream import Stream, deal_stream
from tvselect.sources import ArraySource, Batch, Source, SourceError, open_source

PARTIAL_FIT = "batches handed in"


class StreamingThompsonSelector(BanditSelector):
    """Select variables by Thompson sampling, one play per batch of rows (Liu and Rockova 2021).

    For tables with many rows, files larger than memory and data that arrives. A batch reads
    only the columns that are played.

    Parameters
    ----------
    reward : Reward, callable or None
        What a played variable is paid; None is ``BartReward()``. A callable
        ``(X, y, rng) -> values in [0, 1]`` sees the played columns of the batch.
    batch_size : int, default=1000
        Rows of a batch.
    n_rounds : int or None, default=1
        Passes over the data. The first reads it in order, each later one resamples the
        rows with replacement. None goes on until ``patience`` or ``time_limit`` ends it.
    patience : int, optional
        Stop when the selected set has not changed for that many plays.
    time_limit : float, optional
        Stop after that many seconds.
    cost : float or array, default=(sqrt(5) - 1) / 2
        As in :class:`ThompsonSelector`, like the next four.
    n_features_to_select : int, optional
    prior : (float, float) or (array, array), default=(1.0, 1.0)
    groups : mapping or sequence, optional
    always_include : sequence, optional
    decoys : {"knockoffs"} or None
        "knockoffs" adds a second-order Gaussian knockoff of every numeric column, as an arm
        that can never be selected. Decoys that pass the threshold say how many of the
        selected variables may be false. Every batch then reads all numeric columns.
    discount : float, optional
        In (0, 1]: what is left of an arm's earlier payoffs when it is played again. Below 1
        a variable whose role ends is dropped, and one that gains a role is found; the
        memory is about ``1 / (1 - discount)`` plays. None forgets nothing.
    family : {"auto", "gaussian", "probit"}, default="auto"
        Continuous or two-class outcome; "auto" decides with the whole of ``y`` in ``fit``,
        else with the first batch that has more than one value.
    n_chains : int, default=1
        Independent games on the same batches, pooled by adding counts.
    n_jobs : int, optional
        Threads or processes that play at the same time.
    runner : {"threads", "processes"}, address, distributed.Client or Runner, optional
        Where plays run: threads by default; an address such as ``tcp://head-node:8786``,
        or a client, is a Dask cluster (``n_jobs`` is not used then). Workers open the
        files themselves, so that these must be at the same place for all of them.
    window : "auto" or int, default="auto"
        At most so many batches are played from one state of the arms, at the same time,
        never more than a tenth of those that are done. "auto" is 1, as in the paper,
        unless there are more workers than chains: 16 per worker then. The numbers depend
        on the window, not on the number, kind or speed of the workers.
    random_state : int, SeedSequence, RandomState, Generator or None
    journal : path, optional
        File that keeps every play (SQLite). A run on the same data and settings goes on
        with the next unread batch.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    support_, inclusion_probabilities_, inclusion_intervals_, n_plays_, stop_reason_, history_, \
chain_supports_, chain_agreement_, inclusion_spread_, threshold_, n_features_in_, feature_names_in_
        As in :class:`ThompsonSelector`. ``n_plays_`` counts batches, also skipped ones: a
        batch with a single class is passed over and counted in ``history_.n_skipped``.
    decoy_probabilities_ : float64 array
        Inclusion probabilities of the decoys, in the order of ``history_.decoy_of``.
    n_decoys_selected_ : int
        Decoys that were played and passed the threshold.
    false_discovery_share_ : float
        Estimated share of false discoveries among the selected variables that have a decoy:
        decoys that passed, over variables that passed, at most 1; NaN without decoys.

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect import StreamingThompsonSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((20_000, 30))
    >>> y = 10 * X[:, 3] + 5 * (X[:, 7] > 0.5) + rng.standard_normal(20_000)
    >>> selector = StreamingThompsonSelector(batch_size=500, random_state=0).fit(X, y)
    >>> np.flatnonzero(selector.support_)
    array([3, 7])
    >>> for first in range(0, 20_000, 2000):  # doctest: +ELLIPSIS
    ...     selector.partial_fit(X[first : first + 2000], y[first : first + 2000])
    StreamingThompsonSelector(batch_size=500, random_state=0)...
    >>> selector.n_plays_
    50
    """

    def __init__(
        self,
        reward: Reward | Callable[..., ArrayLike] | None = None,
        *,
        batch_size: int = 1000,
        n_rounds: int | None = 1,
        patience: int | None = None,
        time_limit: float | None = None,
        cost: float | ArrayLike = MEDIAN_MODEL_COST,
        n_features_to_select: int | None = None,
        prior: tuple[float | ArrayLike, float | ArrayLike] = (1.0, 1.0),
        groups: Groups = None,
        always_include: Sequence[Any] | None = None,
        decoys: Literal["knockoffs"] | None = None,
        discount: float | None = None,
        family: Literal["auto", "gaussian", "probit"] = "auto",
        n_chains: int = 1,
        n_jobs: int | None = None,
        runner: Any = None,
        window: int | Literal["auto"] = "auto",
        random_state: Any = None,
        journal: str | Path | None = None,
        verbose: int = 0,
    ) -> None:
        self.reward = reward
        self.batch_size = batch_size
        self.n_rounds = n_rounds
        self.patience = patience
        self.time_limit = time_limit
        self.cost = cost
        self.n_features_to_select = n_features_to_select
        self.prior = prior
        self.groups = groups
        self.always_include = always_include
        self.decoys = decoys
        self.discount = discount
        self.family = family
        self.n_chains = n_chains
        self.n_jobs = n_jobs
        self.runner = runner
        self.window = window
        self.random_state = random_state
        self.journal = journal
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> StreamingThompsonSelector:
        """Play the game on a table in memory, batch after batch.

        Parameters
        ----------
        X : array-like or data frame (rows, columns)
        y : array-like

        Returns
        -------
        StreamingThompsonSelector
            Itself, fitted.
        """
        source = self._array_source(X, y, reset=True)
        outcomes = OutcomeReader(self.family)
        # All of y is here to decide with: its first batch may have fewer values than the whole.
        whole = _as_one_batch(source)
        outcomes.read(whole.target(), whole.n_rows)
        return self._play(source, outcomes)

    def fit_source(
        self, source: Any, target: str | None = None, *, columns: Sequence[str] | None = None
    ) -> StreamingThompsonSelector:
        """Play the game on files, or on anything that hands out batches.

        Parameters
        ----------
        source : path, list of paths, Arrow or polars data, iterator, or Source
            Parquet files, folders and globs, CSV (also gzip), Feather; see
            :func:`tvselect.sources.open_source`.
        target : str, optional
            Name of the outcome's column; not needed for iterators of ``(X, y)``.
        columns : sequence of str, optional
            Columns to choose from; all but the target by default.

        Returns
        -------
        StreamingThompsonSelector
            Itself, fitted.
        """
        opened = open_source(source, target, columns=columns)
        self.n_features_in_ = len(opened.names)
        self.feature_names_in_ = np.array(opened.names, dtype=object)
        return self._play(opened, OutcomeReader(self.family))

    def partial_fit(self, X: Any, y: Any) -> StreamingThompsonSelector:
        """Play once on a batch of any size, and go on from all earlier ones.

        With a journal that holds plays already, the first call goes on from these: hand in
        the batch after the first ``n_plays_`` ones.

        Parameters
        ----------
        X : array-like or data frame (rows, columns)
        y : array-like

        Returns
        -------
        StreamingThompsonSelector
            Itself, fitted.
        """
        source = self._array_source(X, y, reset=not hasattr(self, "_stream"))
        batch = _as_one_batch(source)
        reward = as_reward(self.reward)
        if batch.n_rows < reward.min_rows:
            raise ValueError(
                f"the batch has {batch.n_rows} rows; {type(reward).__name__} needs at least "
                f"{reward.min_rows}"
            )
        disk: SqliteJournal | None = None
        is_new = not hasattr(self, "_stream")
        if is_new:
            self._check_parameters()
            outcomes = OutcomeReader(self.family)
            disk = self._begin(source, outcomes, HereRunner(), identity=PARTIAL_FIT)
        elif self.journal is not None:
            if self._stream.header.settings["batch_size"] is not None:
                raise ValueError(
                    "partial_fit cannot add to the journal of a fit, which holds the batches of "
                    "its table; set journal=None to go on in memory"
                )
            disk = SqliteJournal(self.journal)
        try:
            with (
                closing(disk) if disk is not None else nullcontext(),
                open_runner(None, self.n_jobs).hand_out(call) as run,
            ):
                if disk is not None:
                    disk.begin(self._stream.header)
                self._refuse_other_kinds(source)
                self._stream.hear(batch, run, disk)
        except BaseException:
            if is_new:
                del self._stream
            raise
        self.stop_reason_ = "every batch handed in is played"
        self._read_off()
        return self

    def _play(self, source: Source, outcomes: OutcomeReader) -> StreamingThompsonSelector:
        self._check_parameters()
        reward = as_reward(self.reward)
        if self.batch_size < reward.min_rows:
            raise InputError(
                f"batches of {self.batch_size} rows are too small: {type(reward).__name__} needs "
                f"at least {reward.min_rows}",
                "take more rows with {batch_size}",
            )
        if not source.can_repeat and self.n_rounds != 1:
            raise ValueError(
                f"n_rounds={self.n_rounds}, but this stream can be read only once: use n_rounds=1"
            )
        identity = "" if self.journal is None else source.identity()
        with opened(self.runner, self.n_jobs) as runner:
            return self._hear(source, outcomes, runner, identity)

    def _hear(
        self, source: Source, outcomes: OutcomeReader, runner: Runner, identity: str
    ) -> StreamingThompsonSelector:
        disk = self._begin(source, outcomes, runner, identity=identity)
        with closing(disk) if disk is not None else nullcontext():
            self._refuse_other_kinds(source)
            try:
                passes = Passes(
                    self._stream,
                    source,
                    disk,
                    int(self.batch_size),
                    self.n_rounds,
                    self.time_limit,
                )
                self.stop_reason_ = passes.hear_all(runner, self.verbose)
            except BaseException:
                if self._stream.n_batches:
                    self.stop_reason_ = "stopped by an error"
                    self._read_off()
                raise
        self._read_off()
        if 0 < self._stream.n_batches == self.history_.n_skipped:
            warnings.warn(
                "every batch was skipped: too few rows, or y is constant, in each of them",
                RuntimeWarning,
                stacklevel=4,
            )
        return self

    def _begin(
        self, source: Source, outcomes: OutcomeReader, runner: Runner, *, identity: str
    ) -> SqliteJournal | None:
        """Set up the game, from the journal if it holds plays already; returns that on disk."""
        reward = as_reward(self.reward)
        dealt = deal_stream(
            source.names, np.arange(len(source.names)), self.groups, self.always_include
        )
        check_wanted(self.n_features_to_select, dealt)
        decoy_of = np.empty(0, dtype=np.int64)
        if self.decoys is not None:
            decoy_of = np.flatnonzero(~source.categorical & (dealt.arm_of_feature >= 0))
        c = _with_decoys(arm_thresholds(self.cost, dealt), dealt, decoy_of)
        a, b = (_with_decoys(v, dealt, decoy_of) for v in arm_priors(self.prior, dealt))
        n_arms = dealt.n_arms + decoy_of.size
        discount = 1.0 if self.discount is None else float(self.discount)
        settings = {
            "arms": dealt.arm_of_feature,
            "threshold": np.broadcast_to(c, n_arms),
            "prior": [np.broadcast_to(value, n_arms) for value in (a, b)],
            "n_features_to_select": self.n_features_to_select,
            "batch_size": None if identity == PARTIAL_FIT else int(self.batch_size),
            "decoys": self.decoys,
            "discount": discount,
            "family": self.family,
            "names": source.names,
        }
        window = widest_window(self.window, runner, self.n_chains)
        header = Header(
            fingerprint=fingerprint(identity, reward, settings),
            entropy=entropy_of(self.random_state),
            n_arms=n_arms,
            n_chains=self.n_chains,
            settings={
                "reward": repr(reward),
                "batch_size": settings["batch_size"],
                "window": window,
            },
            version=version("tvselect"),
        )
        is_auto = self.window == "auto"
        memory, disk, entropy = begin_journals(
            header, self.journal, MemoryJournal(), self.random_state, any_window=is_auto
        )
        window = stored_window(memory) if is_auto else window
        oracle = Oracle(self.n_features_to_select, dealt.n_arms)
        stopping = Stopping(patience=self.patience)
        self._stream = Stream(
            header=header,
            reward=reward,
            chains=[
                ThompsonChain(
                    Arms(n_arms, a, b, c, discount),
                    oracle,
                    stopping,
                    entropy=entropy,
                    chain=k,
                    window=window,
                )
                for k in range(self.n_chains)
            ],
            head=StreamEncoder(
                source.names,
                source.categorical,
                decoys=self.decoys is not None,
                max_cuts=getattr(reward, "max_cuts", 100),
            ),
            outcomes=outcomes,
            memory=memory,
            groups=self.groups,
            always_include=self.always_include,
        )
        self._dealt, self._decoy_of = dealt, decoy_of
        try:
            self._stream.restore(disk)
        except BaseException:
            if disk is not None:
                disk.close()
            raise
        return disk

    def _read_off(self) -> None:
        """What was found so far."""
        stream, dealt = self._stream, self._dealt
        arms = stream.chains[0].arms
        self.history_ = History(
            stream.memory,
            len(stream.chains),
            stream.head.names,
            dealt.arm_of_feature,
            (arms.prior_a, arms.prior_b),
            arms.discount,
            self._decoy_of,
            dealt.labels,
        )
        pooled = self._conclude(stream.chains, stream.chains[0].oracle, dealt)
        self.decoy_probabilities_ = pooled.means()[dealt.n_arms :]
        self.n_decoys_selected_ = int(pooled.passing[dealt.n_arms :].sum())
        self.false_discovery_share_ = float("nan")
        if stream.head.decoys:
            selected = int(self.support_[self._decoy_of].sum())
            self.false_discovery_share_ = min(1.0, self.n_decoys_selected_ / max(1, selected))

    def _refuse_other_kinds(self, source: Source) -> None:
        """Refuse text where numbers were, and numbers where text was."""
        was_text = self._stream.head.categorical
        for j in np.flatnonzero(source.categorical != was_text):
            now, before = ("numbers", "text") if was_text[j] else ("text", "numbers")
            raise SourceError(
                f"column {source.names[j]!r} holds {now}, in the batches before {before}; make "
                "them alike"
            )

    def _array_source(self, X: Any, y: Any, *, reset: bool) -> ArraySource:
        if y is None:
            raise ValueError(
                "This StreamingThompsonSelector estimator requires y to be passed, but the target "
                "y is None."
            )
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return ArraySource(X, y)
        return ArraySource(validate_data(self, X, reset=reset, ensure_all_finite=False), y)

    def _check_parameters(self) -> None:
        check_scalar(self.batch_size, "batch_size", Integral, min_val=1)
        check_scalar(self.n_chains, "n_chains", Integral, min_val=1)
        for name in ("n_rounds", "patience", "n_features_to_select"):
            check_count(getattr(self, name), name)
        check_time_limit(self.time_limit)
        if self.n_rounds is None and self.patience is None and self.time_limit is None:
            raise ValueError("n_rounds=None never ends: set patience or time_limit")
        if self.decoys not in (None, "knockoffs"):
            raise ValueError(f"decoys must be 'knockoffs' or None, got {self.decoys!r}")
        if self.discount is not None:
            check_scalar(
                self.discount, "discount", Real, min_val=0.0, max_val=1.0,
                include_boundaries="right",
            )  # fmt: skip
            if math.isnan(self.discount):
                raise ValueError("discount must be a number in (0, 1], got nan")


def _as_one_batch(source: ArraySource) -> Batch:
    """All rows of a table."""
    assert source.n_rows is not None
    return next(source.batches(source.n_rows, 0, np.random.default_rng(0)))


def _with_decoys(value: PerArm, dealt: Deal, decoy_of: NDArray[np.int64]) -> PerArm:
    """A setting by arm, and for a decoy that of the feature it stands for."""
    if np.ndim(value) == 0:
        return value
    array = np.asarray(value)
    return np.concatenate([array, array[dealt.arm_of_feature[decoy_of]]])
