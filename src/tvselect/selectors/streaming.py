"""Thompson Variable Selection on streams: tables with more rows than memory, or that never end."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_scalar
from sklearn.utils.validation import _num_samples, validate_data

from tvselect.bandit import engine
from tvselect.bandit.engine import StoppingRule, StopReason
from tvselect.control import fewest_wins
from tvselect.inputs import InputError, OutcomeReader
from tvselect.inputs.blocks import ALL_ALONE, RowBlocks, name_of, take_blocks, units_needed
from tvselect.inputs.dependence import find_dependence
from tvselect.inputs.doubts import DoubtWarning
from tvselect.inputs.errors import check_share
from tvselect.inputs.outcome import AskedFamily, grades_as_numbers, warn_of_guess
from tvselect.inputs.rows import (
    check_weights,
    repeated_rows,
    take_rows,
    thinned_rows,
    warn_of_index,
)
from tvselect.inputs.table import as_given, is_frame
from tvselect.rewards import Reward
from tvselect.seeds import RandomStream
from tvselect.selectors.base import MOST_DOUBTED, BanditSelector, as_reward, check_count
from tvselect.selectors.batches import (
    BatchCursor,
    BatchReader,
    BatchRows,
    GivenBatch,
    StreamScorer,
    known_batches,
    without_copies,
)
from tvselect.selectors.copies import NO_KNOCKOFFS, kind_of_decoys
from tvselect.selectors.encoding import StreamEncoder
from tvselect.selectors.layout import DecoyKind, Groups, lay_out_arms
from tvselect.selectors.results import Ledger
from tvselect.selectors.search import (
    Search,
    SearchRun,
    progress_bar,
    seed_of_run,
    set_up_search,
)
from tvselect.sources import ArraySource, Batch, Source, open_source
from tvselect.workers import Runner, open_runner, opened

CROWD = 32
"""Most variables that share a forest, with their decoys, unless more are in the model."""
N_COPIES = 3
"""Decoys of every variable, unless rows belong together."""
SHARE_SKIPPED = 0.25
"""Of all batches; with more, there is a warning."""


class StreamingThompsonSelector(BanditSelector):
    """Select variables by Thompson sampling, one play per batch of rows (Liu and Rockova 2021).

    For tables with many rows, files larger than memory and data that arrives. Every variable
    is played together with decoys, copies that know nothing of the outcome; how often it
    beats these copies is evidence which may be looked at after every batch: at any moment, and
    at whatever moment one stops, the expected share of false ones among the selected
    variables is at most ``max_fdr``. Several rounds over the same rows prove more, at their end.

    Parameters
    ----------
    reward : Reward, callable, "bart", "lasso", "importance", "pvalue" or None
        How the variables of a play are scored; None is "bart", ``BartReward()``. A callable
        ``(X, y, rng) -> values in [0, 1]`` sees the played columns of the batch.
    batch_size : int, default=1000
        Rows of a batch.
    n_rounds : int or None, default=1
        Passes over the data. With error control and no ``discount``, the 32 variables that lead
        after the first (more where more are above their threshold) play in all batches of the
        others; what these say counts once all of them are over, for half of the e-value: decide on
        a number before you see results. Otherwise later passes resample the rows with replacement,
        and prove nothing. None goes on until ``time_limit``, or patience (see :class:`Search`),
        ends it.
    max_fdr : float or None, default=0.1
        The largest expected share of false discoveries among the selected variables. None is
        the paper's median rule: all variables above their threshold, without decoys.
    decoys : {"auto", "knockoffs", "shuffled", "plain"} or None, default="auto"
        What variables have to beat. "shuffled" ("auto", too) are the columns with the rows of the
        batch in another order; where common factors drive many of 20 to 2,000 numeric columns,
        a decoy keeps its column's share of these, and batches read some 100 columns more. A
        column that goes with a signal beside factors can then win in its place; it is selected
        only if it is rewarded in a quarter of its plays. "knockoffs"
        keep the correlations with all other columns, so that it does not; they cost power and
        time, and batches read the columns that go with those played; with other rewards than
        trees they are "auto", and no others will do. "plain" is shuffled without regard to
        factors. Text has shuffled decoys. None goes with ``max_fdr=None``.
    discount : float, optional
        In (0, 1]: what is left of an arm's earlier rewards when it is played again. Below 1
        a variable whose role ends is dropped, and one that gains a role is found; the
        memory is about ``1 / (1 - discount)`` plays. None forgets nothing. Evidence fades, too:
        an e-value E above 1 becomes ``E**discount`` before the variable is played again, so that
        about ``log(4) / (1 - discount)`` is the most that its logarithm reaches; selected is
        what is proven after this, and above its threshold now.
    n_features_to_select : int, optional
        Exactly so many are selected: those of the largest e-values, then selection rates. As in
        :class:`ThompsonSelector`, like all that follow.
    feature_groups : mapping or sequence, optional
    always_include : sequence, optional
    family : {"auto", "gaussian", "probit", "classes", "ordinal", "counts", "survival"}
        "auto" decides by the whole of ``y`` in ``fit``, elsewhere by the first batch that varies.
    time_limit : float, optional
    n_jobs : int, optional
    random_state : int, SeedSequence, RandomState, Generator or None
    verbose : int, default=0
        With 1, a progress bar; with error control it says how many variables are proven, and in
        how many batches (``next_in``) the next one is likely to be.
    search : Search, optional

    Attributes
    ----------
    support_, selection_rates_, selection_rate_intervals_, n_plays_, stop_reason_, result_, \
chain_supports_, chain_agreement_, selection_rate_spread_, threshold_, n_features_in_, \
feature_names_in_
        As in :class:`ThompsonSelector`. ``n_plays_`` counts batches, also skipped ones: a
        batch with a single class is passed over and counted in ``result_.n_skipped``.
    e_values_ : float64 array
        By feature the evidence for it: 1 before anything is known, and under no stopping rule
        expected to be above 1 for a variable that plays no role. Averaged over chains; NaN
        without decoys and for features that are always included, like the next two.
    q_values_ : float64 array
        By feature the smallest ``max_fdr`` at which it is selected (e-BH).
    selected_since_ : int64 array
        By feature after how many batches it was selected for good; -1 for the others.
    expected_false_ : float
        The largest expected number of false ones among the selected: their number times
        their largest q-value; NaN without decoys.
    decoy_rates_ : float64 array
        Selection rates of the decoys, in the order of ``result_.decoy_of``.

    Notes
    -----
    A variable has three decoys, one where rows belong together. A play on new rows multiplies
    its e-value by about 4 where it is rewarded and no decoy is, and makes it smaller where only
    decoys are; the selected variables are those of e-BH [1]_. The guarantee needs decoys that
    are exchangeable with the columns of no role: see ``decoys``. Some seven wins are needed for a
    variable to be selected, so the stream must have more batches than that; of several rounds,
    what a variable and its decoys are rewarded on the rows of a batch is one bet.

    With decoys, 32 variables play at a time, unless more are above their threshold. Who plays first
    is decided by the first three batches (up to ten, until there are 1,000 rows): by ranks, and
    by what a forest of the leaders leaves.

    References
    ----------
    .. [1] Xu, Z., Wang, R. and Ramdas, A. (2021). A unified framework for bandit multiple
       testing. *NeurIPS*.

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

    is_stream = True
    _run: SearchRun

    def __init__(
        self,
        reward: Reward | Callable[..., ArrayLike] | str | None = None,
        *,
        batch_size: int = 1000,
        n_rounds: int | None = 1,
        max_fdr: float | None = 0.1,
        decoys: Literal["auto"] | DecoyKind | None = "auto",
        discount: float | None = None,
        n_features_to_select: int | None = None,
        feature_groups: Groups = None,
        always_include: Sequence[Any] | None = None,
        family: AskedFamily = "auto",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        search: Search | None = None,
    ) -> None:
        self.reward = reward
        self.batch_size = batch_size
        self.n_rounds = n_rounds
        self.max_fdr = max_fdr
        self.decoys = decoys
        self.discount = discount
        self.n_features_to_select = n_features_to_select
        self.feature_groups = feature_groups
        self.always_include = always_include
        self.family = family
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.search = search

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | str | None = None,
        order: ArrayLike | str | None = None,
    ) -> Self:
        """Search a table in memory, batch after batch.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame (rows, columns)
        y : array-like
        sample_weight : array-like (rows,), optional
            A row of weight 2 counts as two rows. With error control, where each is evidence
            once, rows are left out by their weights instead.
        groups : array-like (rows,) or str, optional
            As in :meth:`ThompsonSelector.fit`. Every group is evidence once.
        order : array-like (rows,) or str, optional
            As in :meth:`ThompsonSelector.fit`.

        Returns
        -------
        StreamingThompsonSelector
            Itself, fitted.
        """
        source, family, blocks = self._table(X, y, sample_weight, groups, order, reset=True)
        outcomes = OutcomeReader(family)
        # All of y is here to decide with: its first batch may have fewer values than the whole.
        whole = source.whole()
        outcome = outcomes.read(whole.target(), whole.n_rows)
        if outcome is not None:
            warn_of_guess(outcome, stacklevel=3)
        rows = None if blocks is None else BatchRows(blocks.has_groups, blocks.is_ordered)
        return self._play_source(source, outcomes, rows)

    def fit_source(
        self,
        source: Any,
        target: str | None = None,
        *,
        columns: Sequence[str] | None = None,
        groups: str | None = None,
        order: str | None = None,
    ) -> Self:
        """Search files, or on anything that hands out batches.

        Parameters
        ----------
        source : path, list of paths, Arrow or polars data, iterator, or Source
            Parquet files, folders and globs, CSV (also gzip), Feather; see
            :func:`tvselect.sources.open_source`.
        target : str, optional
            Name of the outcome's column; not needed for iterators of ``(X, y)``.
        columns : sequence of str, optional
            Columns to choose from; all but the target by default.
        groups : str, optional
            The column that says which rows belong together; those of a group stand together.
        order : "rows", optional
            Rows that follow each other in time.

        Returns
        -------
        StreamingThompsonSelector
            Itself, fitted.
        """
        if order not in (None, "rows"):
            raise ValueError(f"a stream is read row by row: order must be 'rows', not {order!r}")
        opened, rows = open_source(source, target, columns=columns), None
        names = [name for name in opened.names if name != groups]
        if groups is not None:
            if not isinstance(source, Source):
                opened = open_source(source, target, columns=[*names, groups])
            if opened.names[-1] != groups:
                raise ValueError(f"groups={groups!r} must be the last column of the source")
            rows = BatchRows(True, order is not None, len(names), bool(opened.categorical[-1]))
        elif order is not None:
            rows = BatchRows(False, True)
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        self._rows_told = groups, order
        is_told = isinstance(source, Source)  # who makes one has looked at it
        return self._play_source(opened, OutcomeReader(self.family), rows, is_told=is_told)

    def partial_fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | str | None = None,
        order: ArrayLike | str | None = None,
    ) -> Self:
        """Play once on a batch of any size, and go on from all earlier ones.

        With a journal that holds plays already, the first call goes on from these: hand in
        the batch after the first ``n_plays_`` ones.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame (rows, columns)
        y : array-like
        sample_weight : array-like (rows,), optional
            As in :meth:`fit`.
        groups, order : array-like (rows,) or str, optional
            As in :meth:`fit`, in every batch or in none. A batch has groups that none before had.

        Returns
        -------
        StreamingThompsonSelector
            Itself, fitted.
        """
        is_new = not hasattr(self, "_run")
        source, family, blocks = self._table(X, y, sample_weight, groups, order, reset=is_new)
        rows = None
        if blocks is not None:
            rows = BatchRows(blocks.has_groups, blocks.is_ordered, is_cut=False)
        if not is_new and (rows is None) != (self._reader.rows is None):
            raise ValueError("say groups and order in every batch, as in the first one, or in none")
        batch, reward = source.whole(), as_reward(self.reward)
        if batch.n_rows < reward.min_rows:
            raise ValueError(
                f"the batch has {batch.n_rows} rows; {type(reward).__name__} needs at least "
                f"{reward.min_rows}"
            )
        try:
            if is_new:
                self._check_parameters()
                self._begin(source, OutcomeReader(family), None, rows)
            elif self._search.journal is not None:
                if not self._by_parts:
                    raise ValueError(
                        "partial_fit cannot add to the journal of a fit, which holds the batches "
                        "of its table; set journal=None to go on in memory"
                    )
                self._run.journal.attach(self._search.journal, self._run.header)
            with self._run.journal:
                rule = StoppingRule(self._run.chains.n_plays + 1)
                here = open_runner(None, self.n_jobs)
                if self._counts_once:
                    n_done = self._run.chains.n_plays
                    batch = without_copies(batch, source, n_done, is_told=n_done > 0)
                if not self._run.chains.n_plays:
                    self._doubt_rows(source, batch, stacklevel=3)
                reason = self._play(source, GivenBatch(batch), here, rule)
                if reason is StopReason.INTERRUPTED:
                    raise KeyboardInterrupt
        except BaseException:
            if is_new and hasattr(self, "_run"):
                del self._run
            raise
        self._read_off(StopReason.BATCHES, None)
        return self

    def _play_source(
        self,
        source: Source,
        outcomes: OutcomeReader,
        rows: BatchRows | None,
        *,
        is_told: bool = False,
    ) -> Self:
        """Play on all batches of a source that were not played yet."""
        self._check_parameters()
        reward, batch_size = as_reward(self.reward), int(self.batch_size)
        if batch_size < reward.min_rows:
            raise InputError(
                f"batches of {batch_size} rows are too small: {type(reward).__name__} needs "
                f"at least {reward.min_rows}",
                "take more rows with {batch_size}",
            )
        if not source.can_repeat and self.n_rounds != 1:
            raise ValueError(
                f"n_rounds={self.n_rounds}, but this stream can be read only once: use n_rounds=1"
            )
        if rows is not None and self.n_rounds != 1:
            raise ValueError(f"n_rounds={self.n_rounds}; with groups or order use n_rounds=1")
        rule = StoppingRule(None, self._search.patience, self.time_limit)
        with opened(self._search.runner, self.n_jobs) as runner:
            self._begin(source, outcomes, batch_size, rows, n_workers=runner.n_workers)
            search = self._run
            with search.journal as journal:
                n_batches = known_batches(source, batch_size, journal)
                cursor = BatchCursor(
                    source,
                    batch_size,
                    search.header.entropy,
                    n_batches,
                    self._counts_once,
                    again=self._ledger is not None and self._ledger.table is not None,
                )
                if hopeless := self._too_few(n_batches, search.layout.n_candidates):
                    warnings.warn(hopeless, RuntimeWarning, stacklevel=3)
                try:
                    if not (is_told or search.chains.n_plays):
                        self._doubt_rows(source, cursor(0), stacklevel=4)
                    reason = self._play(source, cursor, runner, rule)
                    source.require_unchanged()
                except BaseException:
                    if search.chains.n_plays:
                        self._read_off(StopReason.ERROR, cursor.n_batches)
                    raise
        self._read_off(reason, cursor.n_batches)
        self._warn_of_end(stacklevel=3)
        first_groups = self._reader.rows and self._reader.rows.before
        if (
            first_groups
            and not is_told
            and len(first_groups) == min(batch_size, source.n_rows or batch_size)
        ):
            warnings.warn(ALL_ALONE.format(" of the first batch"), UserWarning, stacklevel=3)
        if self.result_.shows_nothing:
            n_units, series = self.result_.asked.n_units or 0, RowBlocks.of(2, order="rows")
            told = series.too_few(n_units, units_needed(1), "batches")
            warnings.warn(told, UserWarning, stacklevel=3)
        elif doubt := self._doubt(cursor, ask_why=reason is StopReason.ROUNDS and not hopeless):
            warnings.warn(doubt, RuntimeWarning, stacklevel=3)
        return self

    def _begin(
        self,
        source: Source,
        outcomes: OutcomeReader,
        batch_size: int | None,
        rows: BatchRows | None = None,
        *,
        n_workers: int = 1,
    ) -> None:
        """Set up the search and the stream, from the journal if it holds plays already."""
        reward, names, journal = as_reward(self.reward), source.names, self._search.journal
        categorical = source.categorical
        if rows is not None and rows.column is not None:
            names, categorical = names[: rows.column], categorical[: rows.column]
        kind = kind_of_decoys(self.decoys, self.max_fdr, reward)
        if kind == "knockoffs" and rows is not None:
            raise ValueError(NO_KNOCKOFFS)
        if kind == "knockoffs" and reward.rewards_stand_ins and any(categorical):
            raise ValueError(
                f"columns of text have shuffled decoys on a stream, which promise nothing with "
                f"{type(reward).__name__}: leave these columns out, or use the default reward or "
                "max_fdr=None"
            )
        if self.max_fdr is None:
            kind = None
        n_copies = 0 if kind is None else N_COPIES if rows is None else 1
        discount = 1.0 if self.discount is None else float(self.discount)
        layout = lay_out_arms(names, self.feature_groups, self.always_include, n_copies=n_copies)
        identity = {
            "data": source.identity() if batch_size and journal is not None else None,
            "batch_size": batch_size,
            "names": names,
            "family": self.family,
            "decoy_kind": kind,
            "crowd": CROWD,
        }
        if rows is not None:
            identity["rows"] = repr(rows)
        search = set_up_search(
            self,
            layout,
            reward,
            identity=identity,
            n_workers=n_workers,
            entropy=seed_of_run(self),
            discount=discount,
            n_joining=n_copies,
            crowd=CROWD if n_copies else None,
        )
        encoder = StreamEncoder(names, categorical, kind, n_copies, reward.max_cuts)
        seeds = RandomStream.STREAM_DECOYS.seeds(search.header.entropy)
        decoy_key = int(seeds.generate_state(1, np.uint64)[0])
        reader = BatchReader(reward, layout, encoder, outcomes, decoy_key, rows)
        try:
            self._reader = reader.restored(search.journal)
        except BaseException:
            search.journal.close()
            raise
        self._run, self._by_parts = search, batch_size is None
        self._ledger: Ledger | None = None
        if kind is not None:
            assert self.max_fdr is not None
            # Rounds after the first are evidence, too, in a run that begins with them.
            has_rounds = batch_size is not None and self.n_rounds not in (None, 1)
            if has_rounds and discount == 1.0 and not search.chains.n_plays:
                search.journal.keep("rounds", b"count")
            self._ledger = Ledger(
                layout.n_candidates,
                n_copies,
                len(search.chains),
                float(self.max_fdr),
                discount,
                rounds_count=search.journal.kept("rounds") is not None,
            )

    def _doubt_rows(self, source: Source, batch: Batch | None, stacklevel: int) -> None:
        """Warn where rows of the first batch seem to depend on each other; the journal keeps it."""
        numbers, texts = np.flatnonzero(~source.categorical), np.flatnonzero(source.categorical)
        if batch is None or self._reader.rows or batch.n_rows * numbers.size > MOST_DOUBTED:
            return
        with suppress(TypeError, ValueError):  # of an outcome that cannot be read, the play says so
            outcome = copy(self._reader.outcomes).read(batch.target(), batch.n_rows)
            labels = {source.names[j]: batch.labels(j).astype(str) for j in texts.tolist()}
            keys = {name: np.unique(of, return_inverse=True)[1] for name, of in labels.items()}
            names = [source.names[j] for j in numbers]
            doubt = outcome and find_dependence(names, batch.numbers(numbers), outcome, keys)
            if doubt:
                warnings.warn(doubt.sentence, DoubtWarning, stacklevel=stacklevel)
                self._run.journal.keep("unproven", b"1")

    def _play(
        self, source: Source, batches: BatchCursor | GivenBatch, runner: Runner, rule: StoppingRule
    ) -> StopReason | None:
        """Play on batches until the rule says stop."""
        self._reader.refuse_other_kinds(source)
        run, total = self._run, (batches.n_batches or 0) * (self.n_rounds or 0) or None
        ledger, outlook = self._ledger, None
        if ledger is not None:

            def outlook() -> dict[str, int]:
                ledger.follow(run.journal, batches.n_batches)
                return ledger.outlook()

        with (
            StreamScorer(self._reader, batches, run, runner, self.n_rounds) as scorer,
            progress_bar(run, total, "batches", self, outlook) as watch,
        ):
            try:
                return engine.play(run.chains, scorer, run.journal, rule, watch)
            finally:
                self._reader = scorer.reader

    def _read_off(self, reason: StopReason | None, n_fresh: int | None) -> None:
        """What was found so far; batches from number ``n_fresh`` on have rows seen before."""
        search, ledger, evidence = self._run, self._ledger, None
        if ledger is not None:
            ledger.follow(search.journal, n_fresh)
            n_rounds, n_more = divmod(search.chains.n_plays, n_fresh or search.chains.n_plays + 1)
            if ledger.table is not None and n_rounds >= max(2, self.n_rounds or 2) and not n_more:
                assert n_fresh is not None
                ledger.close(search.journal, n_fresh)
            evidence = ledger.evidence()
        result = self._result(
            search,
            reason,
            evidence=evidence,
            n_units=None if self._reader.rows is None else self._reader.rows.n_units,
            unproven=search.journal.kept("unproven") is not None,
            decoys=self._reader.encoder.decoys,
            is_stream=True,
            family=self._reader.outcomes.family,
            # Without a journal the data of a stream is not hashed.
            fingerprint=None if self._search.journal is None else search.header.fingerprint,
            n_rounds=None if self._by_parts else self.n_rounds,
            rounds_count=ledger is not None and ledger.table is not None,
            batch_size=None if self._by_parts else int(self.batch_size),
        )
        self._show(result)
        layout = result.layout
        self.decoy_rates_ = result.means(arms=slice(layout.n_candidates, None))
        self.e_values_ = np.full(len(layout.names), np.nan)
        self.selected_since_ = np.full(len(layout.names), -1)
        if evidence is not None:
            self.e_values_ = layout.by_feature(evidence.e_values, np.nan)
            since = np.where(result.selected()[result.candidates], evidence.since, -1)
            self.selected_since_ = layout.by_feature(since, -1)

    def _too_few(self, n_batches: int | None, n_likely: int) -> str | None:
        """Why nothing can be selected where ``n_batches`` cannot prove ``n_likely`` arms, if so."""
        if self._ledger is None or n_batches is None:
            return None
        n_arms, level = self._run.layout.n_candidates, self._ledger.max_fdr
        n_likely, n_copies = max(1, n_likely), self._run.layout.n_copies
        needed = fewest_wins(n_arms, level * self._ledger.share, n_likely, n_copies)
        if n_batches >= needed:
            return None
        return (
            f"nothing can be selected: to prove {n_likely} of {n_arms} variables at a false "
            f"discovery rate of {level:g} takes at least {needed} batches of new rows, and there "
            f"are {n_batches}. Take smaller batches, or switch error control off; a table that "
            "fits into memory is better played as a whole, where every play sees all rows"
        )

    def _doubt(self, cursor: BatchCursor, *, ask_why: bool) -> str | None:
        """Why something may have been missed: skipped batches, sorted rows, too few batches.

        The last two only where the caller does ``ask_why`` and nothing is selected.
        """
        result, n_batches = self.result_, self.n_plays_
        if 0 < n_batches == result.n_skipped:
            return "every batch was skipped: too few rows, or y is constant, in each of them"
        n_short = self.n_rounds or 1  # the last batch of a round may be
        if result.n_skipped > n_short + SHARE_SKIPPED * n_batches:
            return (
                f"{result.n_skipped} of {n_batches} batches hold a single class or value of y, or "
                "too few rows, and were skipped: what is selected rests on the others. Take larger "
                "batches (batch_size), shuffle rows that are sorted; a table that fits into memory "
                "is better played as a whole, where every play sees all rows"
            )
        if not ask_why or self.support_.any():
            return None
        if self._are_sorted(cursor):
            return (
                "nothing is selected, and all y of the first batch lie on one side of those at the "
                "end: rows sorted by y, or by something that follows it, hide what it depends on. "
                "Shuffle the rows; a table that fits into memory can be played as a whole"
            )
        n_passing = int(np.count_nonzero(result.passing()[result.candidates]))
        n_fresh = result.evidence.n_batches if result.evidence else None
        return self._too_few(n_fresh, n_passing)

    def _are_sorted(self, cursor: BatchCursor) -> bool:
        """Whether all numbers of the first batch lie on one side of those at the end."""
        outcomes, n_batches = self._reader.outcomes, cursor.n_batches or 0
        is_number = outcomes.family in ("gaussian", "counts")
        if not is_number or not cursor.source.can_repeat or n_batches < 2:
            return False
        ends = []
        for number in (0, max(1, n_batches - 2)):  # the last one may be short
            batch = cursor(number)
            outcome = None if batch is None else outcomes.read(batch.target(), batch.n_rows)
            if outcome is None:
                return False
            ends.append(outcome.values)
        first, last = ends
        return bool(first.max() < last.min() or last.max() < first.min())

    @property
    def _counts_once(self) -> bool:
        """Whether copies of a row are left out: rows are evidence, and not in groups of them."""
        return self._ledger is not None and self._reader.rows is None

    def _check_parameters(self) -> None:
        check_scalar(self.batch_size, "batch_size", Integral, min_val=1)
        check_count(self.n_rounds, "n_rounds")
        self._check_shared()
        if self._search.burn_in not in ("auto", 0):
            raise ValueError(f"streams have no burn-in: burn_in={self._search.burn_in!r}, say 0")
        if self.n_rounds is None and self._search.patience is None and self.time_limit is None:
            raise ValueError("n_rounds=None never ends: set patience or time_limit")
        if self.discount is not None:
            check_share(self.discount, "discount", "right")

    def _table(
        self,
        X: Any,
        y: Any,
        weights: ArrayLike | None,
        groups: ArrayLike | str | None,
        order: ArrayLike | str | None,
        *,
        reset: bool,
    ) -> tuple[ArraySource, AskedFamily, RowBlocks | None]:
        """Rows group by group and in time, the family of their outcome, and which belong together.

        They are repeated by their weights or, with error control, left out by these.
        """
        self._refuse_no_target(y)
        warn_of_index(X, y, stacklevel=3)
        self._rows_told = name_of(groups), name_of(order)
        X, blocks = take_blocks(as_given(X), groups, order)
        rows = None
        if weights is not None:
            reward = as_reward(self.reward)
            if reward.takes_weights:
                raise ValueError(
                    f"{type(reward).__name__} takes no sample_weight on a stream; take BartReward"
                )
            rng = RandomStream.WEIGHTS.generator(getattr(self, "n_plays_", 0))
            choose = repeated_rows if self.max_fdr is None else thinned_rows
            rows = choose(check_weights(weights, _num_samples(y)), rng)
            if rows.size < 2:
                raise ValueError("sample_weight leaves fewer than two rows")
        if blocks is not None:
            blocks = blocks if rows is None else blocks.at(rows)
            by_group = blocks.by_group
            rows = by_group if rows is None else rows[by_group]
            blocks = blocks.at(by_group)
        if rows is not None:
            X, y = take_rows(X, rows), take_rows(y, rows)
        y, family = grades_as_numbers(y, self.family)
        X, codes = as_given(X), None if blocks is None else blocks.codes
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
        else:
            checks: dict[str, Any] = {"ensure_all_finite": False, "accept_sparse": ["csc", "csr"]}
            X = validate_data(self, X, reset=reset, **checks)
        return ArraySource(X, y, groups=codes), family, blocks
