"""Thompson Variable Selection on streams: tables with more rows than memory, or that never end."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_scalar
from sklearn.utils.validation import validate_data

from tvselect.bandit import engine
from tvselect.bandit.journal import SqliteJournal
from tvselect.bandit.oracle import MEDIAN_MODEL_COST
from tvselect.bandit.stopping import StoppingRule, StopReason
from tvselect.inputs import InputError, OutcomeReader
from tvselect.rewards import Reward
from tvselect.runners import Runner, open_runner, opened
from tvselect.selectors.base import as_reward, check_count, warn_of_interrupt
from tvselect.selectors.batches import BatchCursor, StreamScorer, StreamState, known_batches
from tvselect.selectors.encoding import StreamEncoder
from tvselect.selectors.features import is_frame
from tvselect.selectors.game import progress_bar, set_up_game
from tvselect.selectors.layout import Groups, lay_out_arms
from tvselect.selectors.support import BanditSelector
from tvselect.sources import ArraySource, Batch, Source, open_source


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
        max_fdr: float | None = 0.1,
        decoys: Literal["auto", "knockoffs"] | None = "auto",
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
        self.max_fdr = max_fdr
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
        whole = source.whole()
        outcomes.read(whole.target(), whole.n_rows)
        return self._play_source(source, outcomes)

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
        return self._play_source(opened, OutcomeReader(self.family))

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
        is_new = not hasattr(self, "_game")
        source = self._array_source(X, y, reset=is_new)
        batch, reward = source.whole(), as_reward(self.reward)
        if batch.n_rows < reward.min_rows:
            raise ValueError(
                f"the batch has {batch.n_rows} rows; {type(reward).__name__} needs at least "
                f"{reward.min_rows}"
            )
        try:
            if is_new:
                self._check_parameters()
                self._begin(source, OutcomeReader(self.family), None)
            elif self.journal is not None:
                if not self._by_parts:
                    raise ValueError(
                        "partial_fit cannot add to the journal of a fit, which holds the batches "
                        "of its table; set journal=None to go on in memory"
                    )
                self._game.journal.attach(SqliteJournal(self.journal), self._game.header)
            with self._game.journal:
                rule = StoppingRule(self._game.chains.n_plays + 1)
                runner = open_runner(None, self.n_jobs)
                reason = self._play_batches(source, lambda number: batch, runner, rule)
                if reason is StopReason.INTERRUPTED:
                    raise KeyboardInterrupt
        except BaseException:
            if is_new and hasattr(self, "_game"):
                del self._game
            raise
        self._read_off(StopReason.BATCHES)
        return self

    def _play_source(self, source: Source, outcomes: OutcomeReader) -> StreamingThompsonSelector:
        """Play on all batches of a source that were not played yet."""
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
        rule = StoppingRule(None, self.patience, self.time_limit)
        with opened(self.runner, self.n_jobs) as runner:
            self._begin(source, outcomes, int(self.batch_size), n_workers=runner.n_workers)
            game = self._game
            with game.journal:
                cursor = BatchCursor(
                    source,
                    int(self.batch_size),
                    game.header.entropy,
                    known_batches(source, int(self.batch_size), game.journal),
                )
                try:
                    reason = self._play_batches(source, cursor, runner, rule)
                except BaseException:
                    if game.chains.n_plays:
                        self._read_off(StopReason.ERROR)
                    raise
        self._read_off(reason)
        warn_of_interrupt(reason, stacklevel=3)
        if 0 < self.n_plays_ == self.history_.n_skipped:
            warnings.warn(
                "every batch was skipped: too few rows, or y is constant, in each of them",
                RuntimeWarning,
                stacklevel=3,
            )
        return self

    def _begin(
        self,
        source: Source,
        outcomes: OutcomeReader,
        batch_size: int | None,
        *,
        n_workers: int = 1,
    ) -> None:
        """Set up the game and the stream, from the journal if it holds plays already."""
        reward, names = as_reward(self.reward), source.names
        has_decoys = self.decoys == "knockoffs"
        decoyed = ~source.categorical if has_decoys else None
        layout = lay_out_arms(names, self.groups, self.always_include, decoyed)
        identity = {
            "data": source.identity() if batch_size and self.journal is not None else None,
            "batch_size": batch_size,
            "names": names,
            "family": self.family,
        }
        game = set_up_game(
            self,
            layout,
            reward,
            identity=identity,
            n_workers=n_workers,
            discount=1.0 if self.discount is None else float(self.discount),
        )
        game = replace(game, max_fdr=None)
        encoder = StreamEncoder(
            names, source.categorical, decoys=has_decoys, max_cuts=reward.max_cuts
        )
        stream = StreamState(reward, layout, encoder, outcomes, game.header.entropy)
        try:
            stream.restore(game.journal)
        except BaseException:
            game.journal.close()
            raise
        self._game, self._stream, self._by_parts = game, stream, batch_size is None

    def _play_batches(
        self,
        source: Source,
        batches: Callable[[int], Batch | None],
        runner: Runner,
        rule: StoppingRule,
    ) -> StopReason | None:
        """Play on batches until the rule says stop."""
        self._stream.refuse_other_kinds(source)
        game, total = self._game, None
        if isinstance(batches, BatchCursor) and batches.n_batches and self.n_rounds:
            total = batches.n_batches * self.n_rounds
        scorer = StreamScorer(
            self._stream,
            batches,
            runner=runner,
            n_chains=len(game.chains),
            n_rounds=self.n_rounds,
            journal=game.journal,
        )
        bar = progress_bar(game, total=total, unit="batches", verbose=self.verbose)
        with scorer, bar as watch:
            return engine.play(game.chains, scorer, game.journal, rule, watch)

    def _read_off(self, reason: StopReason | None) -> None:
        """What was found so far."""
        self._conclude(
            self._game,
            reason,
            is_stream=True,
            # Without a journal the data of a stream is not hashed.
            fingerprint=None if self.journal is None else self._game.header.fingerprint,
            n_rounds=None if self._by_parts else self.n_rounds,
            batch_size=None if self._by_parts else int(self.batch_size),
        )
        history = self.history_
        self.decoy_probabilities_ = history.means()[history.layout.n_candidates :]
        self.n_decoys_selected_ = history.n_decoys_selected
        self.false_discovery_share_ = history.false_discovery_share

    def _array_source(self, X: Any, y: Any, *, reset: bool) -> ArraySource:
        self._refuse_no_target(y)
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return ArraySource(X, y)
        return ArraySource(validate_data(self, X, reset=reset, ensure_all_finite=False), y)

    def _check_parameters(self) -> None:
        check_scalar(self.batch_size, "batch_size", Integral, min_val=1)
        check_count(self.n_rounds, "n_rounds")
        self._check_shared()
        if self.n_rounds is None and self.patience is None and self.time_limit is None:
            raise ValueError("n_rounds=None never ends: set patience or time_limit")
        if self.decoys not in (None, "auto", "knockoffs"):
            raise ValueError(f"decoys must be 'knockoffs' or None, got {self.decoys!r}")
        if self.discount is not None:
            check_scalar(
                self.discount, "discount", Real, min_val=0.0, max_val=1.0,
                include_boundaries="right",
            )  # fmt: skip
            if math.isnan(self.discount):
                raise ValueError("discount must be a number in (0, 1], got nan")
