"""How a stream is played: from a source to what was found, for the estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from tvselect.bandit import engine
from tvselect.bandit.engine import StoppingRule, StopReason
from tvselect.inputs import InputError, OutcomeReader
from tvselect.inputs.errors import check_scalar
from tvselect.selectors.base import (
    BanditFit,
    as_reward,
    check_count,
    check_share,
)
from tvselect.selectors.batches import BatchCursor, StreamScorer, StreamState, known_batches
from tvselect.selectors.copies import kind_of_decoys
from tvselect.selectors.encoding import StreamEncoder
from tvselect.selectors.layout import DecoyKind, Groups, lay_out_arms
from tvselect.selectors.results import Ledger, too_few
from tvselect.selectors.search import Search, progress_bar, set_up_search
from tvselect.sources import Batch, Source
from tvselect.workers import Runner, opened

MOST_KNOCKOFFS = 2000
"""Numeric columns up to which decoys are knockoffs by default."""
SHARE_SKIPPED = 0.25
"""Of all batches; with more, there is a warning."""


class StreamFit(BanditFit):
    """A fit to the batches of a stream; see :class:`tvselect.StreamingThompsonSelector`."""

    is_stream = True
    batch_size: int
    n_rounds: int | None
    cost: Any
    n_features_to_select: int | None
    prior: Any
    groups: Groups
    always_include: Sequence[Any] | None
    max_fdr: float | None
    decoys: Literal["auto"] | DecoyKind | None
    discount: float | None
    n_jobs: int | None
    runner: Any
    window: int | Literal["auto"]
    random_state: Any
    journal: str | Path | None
    verbose: int
    _search: Search
    _stream: StreamState
    _ledger: Ledger | None
    _by_parts: bool

    def _play_source(self, source: Source, outcomes: OutcomeReader) -> Self:
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
            search = self._search
            with search.journal:
                cursor = BatchCursor(
                    source,
                    int(self.batch_size),
                    search.header.entropy,
                    known_batches(source, int(self.batch_size), search.journal),
                )
                warned = self._warn_of_too_few(
                    cursor.n_batches, search.layout.n_candidates, stacklevel=3
                )
                try:
                    reason = self._play_batches(source, cursor, runner, rule)
                    source.require_unchanged()
                except BaseException:
                    if search.chains.n_plays:
                        self._read_off(StopReason.ERROR, cursor.n_batches)
                    raise
        self._read_off(reason, cursor.n_batches)
        self._warn_of_end(stacklevel=3)
        warned |= self._warn_of_skipped(stacklevel=3)
        if reason is StopReason.ROUNDS and not warned and not self.support_.any():
            warned = self._warn_of_sorted(cursor, stacklevel=3)
        evidence, layout = self.history_.evidence, self.history_.layout
        if reason is StopReason.ROUNDS and evidence and not warned and not self.support_.any():
            n_passing = int(np.count_nonzero(self.history_.passing()[: layout.n_candidates]))
            self._warn_of_too_few(evidence.n_batches, n_passing, stacklevel=3)
        return self

    def _begin(
        self,
        source: Source,
        outcomes: OutcomeReader,
        batch_size: int | None,
        *,
        n_workers: int = 1,
    ) -> None:
        """Set up the search and the stream, from the journal if it holds plays already."""
        reward, names = as_reward(self.reward), source.names
        kind = self._decoy_kind(source)
        layout = lay_out_arms(
            names, self.groups, self.always_include, n_copies=int(kind is not None)
        )
        identity = {
            "data": source.identity() if batch_size and self.journal is not None else None,
            "batch_size": batch_size,
            "names": names,
            "family": self.family,
            "decoy_kind": kind,
        }
        search = set_up_search(
            self,
            layout,
            reward,
            identity=identity,
            n_workers=n_workers,
            discount=1.0 if self.discount is None else float(self.discount),
            with_decoys=kind is not None,
        )
        encoder = StreamEncoder(names, source.categorical, decoys=kind, max_cuts=reward.max_cuts)
        stream = StreamState(reward, layout, encoder, outcomes, search.header.entropy)
        try:
            stream.restore(search.journal)
        except BaseException:
            search.journal.close()
            raise
        self._search, self._stream, self._by_parts = search, stream, batch_size is None
        self._ledger = None
        if kind is not None:
            assert self.max_fdr is not None
            self._ledger = Ledger(layout.n_candidates, len(search.chains), float(self.max_fdr))

    def _decoy_kind(self, source: Source) -> DecoyKind | None:
        """What decoys are made of."""
        if self.max_fdr is None:
            return None
        if self.decoys != "auto":
            return "shuffled" if self.decoys == "plain" else self.decoys
        n_numbers = int(np.count_nonzero(~source.categorical))
        return "knockoffs" if n_numbers <= MOST_KNOCKOFFS else "shuffled"

    def _play_batches(
        self,
        source: Source,
        batches: Callable[[int], Batch | None],
        runner: Runner,
        rule: StoppingRule,
    ) -> StopReason | None:
        """Play on batches until the rule says stop."""
        self._stream.refuse_other_kinds(source)
        search, total = self._search, None
        if isinstance(batches, BatchCursor) and batches.n_batches and self.n_rounds:
            total = batches.n_batches * self.n_rounds
        scorer = StreamScorer(
            self._stream,
            batches,
            runner=runner,
            n_chains=len(search.chains),
            n_rounds=self.n_rounds,
            journal=search.journal,
        )
        bar = progress_bar(search, total, "batches", self.verbose)
        with scorer, bar as watch:
            return engine.play(search.chains, scorer, search.journal, rule, watch)

    def _read_off(self, reason: StopReason | None, n_fresh: int | None) -> None:
        """What was found so far; batches from number ``n_fresh`` on have rows seen before."""
        search, ledger, evidence = self._search, self._ledger, None
        if ledger is not None:
            ledger.follow(search.journal, n_fresh)
            evidence = ledger.evidence()
        self._conclude(
            search,
            reason,
            evidence=evidence,
            decoys=self._stream.encoder.decoys,
            is_stream=True,
            family=self._stream.outcomes.family,
            # Without a journal the data of a stream is not hashed.
            fingerprint=None if self.journal is None else self._search.header.fingerprint,
            n_rounds=None if self._by_parts else self.n_rounds,
            batch_size=None if self._by_parts else int(self.batch_size),
        )
        history = self.history_
        layout = history.layout
        self.decoy_rates_ = history.means(arms=slice(layout.n_candidates, None))
        self.e_values_ = np.full(len(layout.names), np.nan)
        self.selected_since_ = np.full(len(layout.names), -1)
        if evidence is not None:
            self.e_values_ = layout.by_feature(evidence.e_values, np.nan)
            self.selected_since_ = layout.by_feature(evidence.since, -1)

    def _warn_of_too_few(self, n_batches: int | None, n_likely: int, stacklevel: int) -> bool:
        """Say that nothing can be selected, where it cannot."""
        ledger = self._ledger
        if ledger is None or n_batches is None:
            return False
        n_arms = self._search.layout.n_candidates
        if text := too_few(n_batches, n_arms, ledger.max_fdr, n_likely):
            warnings.warn(text, RuntimeWarning, stacklevel=stacklevel + 1)
        return bool(text)

    def _warn_of_skipped(self, stacklevel: int) -> bool:
        """Say that batches had nothing to teach, where these are many."""
        n_batches, n_skipped = self.n_plays_, self.history_.n_skipped
        n_short = self.n_rounds or 1  # the last batch of a round may be
        is_many = n_skipped > n_short + SHARE_SKIPPED * n_batches
        if not n_skipped or (n_skipped < n_batches and not is_many):
            return False
        text = "every batch was skipped: too few rows, or y is constant, in each of them"
        if n_skipped < n_batches:
            text = (
                f"{n_skipped} of {n_batches} batches hold a single class or value of y, or too few "
                "rows, and were skipped: what is selected rests on the others. Take larger batches "
                "(batch_size), shuffle rows that are sorted; a table that fits into memory is "
                "better played as a whole, where every play sees all rows"
            )
        warnings.warn(text, RuntimeWarning, stacklevel=stacklevel + 1)
        return True

    def _warn_of_sorted(self, cursor: BatchCursor, stacklevel: int) -> bool:
        """Say that rows are sorted by a number, which hides what it depends on, where they are."""
        outcomes, n_batches = self._stream.outcomes, cursor.n_batches or 0
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
        if first.max() >= last.min() and last.max() >= first.min():
            return False
        warnings.warn(
            "nothing is selected, and all y of the first batch lie on one side of those at the "
            "end: rows sorted by y, or by something that follows it, hide what it depends on. "
            "Shuffle the rows; a table that fits into memory can be played as a whole",
            RuntimeWarning,
            stacklevel=stacklevel + 1,
        )
        return True

    def _check_parameters(self) -> None:
        check_scalar(self.batch_size, "batch_size", Integral, min_val=1)
        check_count(self.n_rounds, "n_rounds")
        self._check_shared()
        if self.n_rounds is None and self.patience is None and self.time_limit is None:
            raise ValueError("n_rounds=None never ends: set patience or time_limit")
        kind_of_decoys(self.decoys, self.max_fdr)
        if self.discount is not None:
            check_share(self.discount, "discount", "right")
