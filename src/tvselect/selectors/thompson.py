"""Thompson Variable Selection for wide tables; needs no scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tvselect.bandit import engine
from tvselect.bandit.burn_in import BurnIn
from tvselect.bandit.oracle import MEDIAN_MODEL_COST, NO_PAIRS
from tvselect.bandit.stopping import StoppingRule
from tvselect.inputs import read_outcome
from tvselect.inputs.columns import refuse_nonfinite
from tvselect.inputs.errors import check_scalar
from tvselect.inputs.outcome import AskedFamily
from tvselect.inputs.rows import check_weights, copied_rows, even_rows, numbered
from tvselect.inputs.table import Features, read_features
from tvselect.omics.linkage import clump_labels, fine_map
from tvselect.rewards import Data, Reward
from tvselect.rewards.screening import screen_pairs
from tvselect.seeds import RandomStream
from tvselect.selectors.base import (
    BanditFit,
    as_reward,
    warn_of_guess,
    warn_of_interrupt,
    weighted,
)
from tvselect.selectors.claims import by_shares, find_claims
from tvselect.selectors.copies import (
    check_decoys,
    copies_for,
    draw_decoys,
    kind_of_decoys,
    let_play,
    warn_of_factors,
)
from tvselect.selectors.file_feedback import start_for
from tvselect.selectors.fingerprint import identity_of
from tvselect.selectors.interactions import (
    MOST_FEATURES,
    MOST_ROWS,
    Interaction,
    SelectedData,
    find_interactions,
)
from tvselect.selectors.layout import ArmColumns, ArmLayout, DecoyKind, Groups, lay_out_arms
from tvselect.selectors.scoring import TableScorer, TableWork
from tvselect.selectors.search import progress_bar, seed_of_run, set_up_search
from tvselect.workers import Runner, opened

BURN_IN, LEADERS = 150, 1000
DEFAULT_LEVEL = 0.1


class ThompsonFit(BanditFit):
    """The parameters of a :class:`ThompsonSelector`, and its fit to a Table."""

    def __init__(
        self,
        reward: Reward | Callable[..., ArrayLike] | str | None = None,
        *,
        n_plays: int = 500,
        burn_in: int | Literal["auto"] = "auto",
        patience: int | None = None,
        time_limit: float | None = None,
        max_fdr: float | None = 0.1,
        decoys: Literal["auto"] | DecoyKind | None = "auto",
        cost: float | ArrayLike = MEDIAN_MODEL_COST,
        n_features_to_select: int | None = None,
        prior: tuple[float | ArrayLike, float | ArrayLike] = (1.0, 1.0),
        groups: Groups = None,
        always_include: Sequence[Any] | None = None,
        family: AskedFamily = "auto",
        n_chains: int = 1,
        n_jobs: int | None = None,
        runner: Any = None,
        window: int | Literal["auto"] = "auto",
        random_state: Any = None,
        journal: str | Path | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.reward = reward
        self.n_plays = n_plays
        self.burn_in = burn_in
        self.patience = patience
        self.time_limit = time_limit
        self.max_fdr = max_fdr
        self.decoys = decoys
        self.cost = cost
        self.n_features_to_select = n_features_to_select
        self.prior = prior
        self.groups = groups
        self.always_include = always_include
        self.family = family
        self.n_chains = n_chains
        self.n_jobs = n_jobs
        self.runner = runner
        self.window = window
        self.random_state = random_state
        self.journal = journal
        self.warm_start = warm_start
        self.verbose = verbose

    def fit(self, X: Any, y: Any, **fit_params: ArrayLike | None) -> Self:
        """Find the columns of a table that explain an outcome.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame (rows, columns)
            Numbers, and in data frames text, categories or dates; missing values where the
            reward can take them.
        y : array-like
            Numbers, labels of classes, grades, counts, or survival times as a structured array
            of event and time.
        **fit_params
            ``sample_weight`` (array-like): a row of weight 2 counts as two rows. Where a reward
            has no use for weights the rows are repeated, see
            :func:`tvselect.inputs.rows.repeated_rows`.

        Returns
        -------
        ThompsonSelector
            Itself, fitted.
        """
        check_scalar(self.n_plays, "n_plays", Integral, min_val=1)
        self._check_shared()
        self._refuse_no_target(y)
        with opened(self.runner, self.n_jobs) as runner:
            return self._fit(X, y, fit_params, runner)

    def _fit(self, X: Any, y: Any, fit_params: dict[str, ArrayLike | None], runner: Runner) -> Self:
        kind = kind_of_decoys(self.decoys, self.max_fdr)
        reward = as_reward(self.reward, kind is not None)
        kept = getattr(self, "history_", None) if self.warm_start else None
        journal = None if kept is None else kept.journal
        seed = seed_of_run(self, journal)
        features, data, observations = self._read(X, y, fit_params, reward, seed)
        outcome = data.outcome
        layout = self._lay_out(features, kind)
        identity = {"data": identity_of(data), "family": outcome.family, "copies": kind}
        columns = layout.columns(features.feature_of)
        n_threads = 1 if runner.is_remote else runner.n_workers
        data, arm_pairs = with_pairs(data, columns, reward, observations, n_threads)
        self.decoy_test_, decoys = None, None
        if kind is not None:
            decoys = draw_decoys(kind, data.X, layout.n_copies, seed, observations)
            data, columns = let_play(
                data, columns, decoys, entropy=seed, n_threads=n_threads, verbose=self.verbose
            )
            self.decoy_test_ = check_decoys(decoys, features.X, seed)
        n_playing = layout.n_arms if columns.idle is None else int((~columns.idle).sum())
        is_wide = kind is not None and n_playing > LEADERS
        burn_in = plays_of_burn_in(self.burn_in, is_wide, heard=arm_pairs.ravel().tolist())
        reward = reward.settled(data)
        feedback = start_for(runner, reward, data)
        work = TableWork(feedback, columns)
        rule = StoppingRule(self.n_plays, self.patience, self.time_limit)
        search = set_up_search(
            self,
            layout,
            reward,
            identity=identity,
            n_workers=runner.n_workers,
            journal=journal,
            entropy=seed,
            idle=columns.idle,
            burn_in=burn_in,
            pairs=arm_pairs,
        )
        with (
            search.journal,
            runner.bind(work) as run,
            progress_bar(search, total=self.n_plays, unit="plays", verbose=self.verbose) as watch,
        ):
            scorer = TableScorer(run, work, n_threads if runner.shares_memory else 0)
            reason = engine.play(search.chains, scorer, search.journal, rule, watch)
        self._conclude(
            search,
            reason,
            is_stream=False,
            family=outcome.family,
            fingerprint=search.header.fingerprint,
            n_plays=self.n_plays,
            n_rows=data.n_rows,
            decoys=kind,
        )
        factors = None if decoys is None else decoys.factors
        self.claims_ = find_claims(self.history_, data.X, columns, factors)
        if self._is_linked:
            shares = fine_map(
                [claim.columns for claim in self.claims_],
                features.X,
                np.searchsorted(features.feature_of, np.arange(len(features.names))),
                outcome,
                RandomStream.LINKAGE.generator(seed),
            )
            if shares:
                self.claims_ = tuple(map(by_shares, self.claims_, shares))
        self._selected_data = keep_selected(data, features, self.support_, observations)
        self._interactions: tuple[Interaction, ...] | None = None
        if decoys is not None and not self._has_found():
            warn_of_factors(decoys, outcome, stacklevel=3)
        warn_of_interrupt(reason, stacklevel=3)
        return self

    def _read(
        self,
        X: Any,
        y: Any,
        fit_params: dict[str, ArrayLike | None],
        reward: Reward,
        seed: int,
    ) -> tuple[Features, Data, NDArray[np.int64] | None]:
        """What a fit is given, as numbers; the observation of each row, where rows are copies."""
        X, y, weights, observations = weighted(X, y, fit_params, reward, seed)
        features = self._features(X, reward)
        n_rows = features.X.shape[0]
        outcome = read_outcome(y, n_rows, family=self.family)
        warn_of_guess(outcome, stacklevel=4)
        data = Data(
            features.X,
            outcome,
            features.column_names,
            None if weights is None else check_weights(weights, n_rows),
        )
        self._warn_of_doubts(data)
        if observations is None:
            observations = copied_rows(data.X, outcome.values)
            warn_of_copies(observations, stacklevel=4)
        return features, data, observations

    @property
    def _is_linked(self) -> bool:
        """Whether neighbours that are alike are one variable."""
        return isinstance(self.groups, str) and self.groups == "ld"

    def _lay_out(self, features: Features, decoys: DecoyKind | None) -> ArmLayout:
        groups = self.groups
        if self._is_linked:
            groups = clump_labels(features.X, features.feature_of, features.names)
        n_copies = 0 if decoys is None else copies_for(self.max_fdr)
        return lay_out_arms(features.names, groups, self.always_include, n_copies=n_copies)

    def _has_found(self) -> bool:
        """Whether a column was selected or a claim made."""
        level = 1.0 if self.history_.max_fdr is None else self.history_.max_fdr
        is_claimed = any(claim.q_value <= level for claim in self.claims_)
        return is_claimed or bool(self.history_.selected().any())

    @property
    def interactions_(self) -> tuple[Interaction, ...]:
        """Pairs of selected features whose effects do not add up, the surest first.

        Those with a q-value of at most ``max_fdr`` (0.1 without one). Found out when first asked
        for, in a second or some, by forests on the selected columns alone; of more than 5,000 rows
        as many are looked at. Empty for more than 40 selected features, and for survival times,
        where censoring decides on what scale effects add up.
        """
        if not hasattr(self, "_selected_data"):
            raise AttributeError("interactions_ is there after fit")
        if self._interactions is None:
            rng = RandomStream.INTERACTIONS.generator(self.history_.asked.seed)
            found = find_interactions(self._selected_data, self.history_.names, rng)
            level = DEFAULT_LEVEL if self.history_.max_fdr is None else self.history_.max_fdr
            self._interactions = tuple(pair for pair in found if pair.q_value <= level)
        return self._interactions

    def _features(self, X: Any, reward: Reward) -> Features:
        features = self._as_numbers(X)
        refuse_nonfinite(features.X, features.column_names, reward.takes_missing)
        return features

    def _as_numbers(self, X: Any) -> Features:
        """Columns of numbers from a Table; other tables are for the selector."""
        self.n_features_in_ = X.n_columns
        self.feature_names_in_ = np.array(X.names, dtype=object)
        return read_features(X)

    def _warn_of_doubts(self, data: Data) -> None:
        """What may spoil the selection; the command line has said so before."""


def warn_of_copies(observations: NDArray[np.int64] | None, stacklevel: int) -> None:
    """Say that rows are copies of others, where many are."""
    if observations is not None:
        n_copies = observations.size - int(observations.max()) - 1
        warnings.warn(
            f"{n_copies} of {observations.size} rows are copies of others, in the outcome, too: a "
            "row and its copies are taken for one observation. If they are one by mistake, leave "
            "the copies out",
            UserWarning,
            stacklevel=stacklevel + 1,
        )


def keep_selected(
    data: Data,
    features: Features,
    support: NDArray[np.bool_],
    observations: NDArray[np.int64] | None,
) -> SelectedData:
    """The columns of selected features, which of these each belongs to, and the outcome."""
    of_selected = np.flatnonzero(support[features.feature_of])
    if np.count_nonzero(support) > MOST_FEATURES:
        of_selected = of_selected[:0]
    rows = even_rows(data.n_rows, MOST_ROWS)
    return SelectedData(
        np.array(features.X[np.ix_(rows, of_selected)], dtype=np.float64),
        features.feature_of[of_selected],
        data.outcome.rows(rows),
        None if observations is None else numbered(observations[rows]),
    )


def with_pairs(
    data: Data,
    columns: ArmColumns,
    reward: Reward,
    observations: NDArray[np.int64] | None = None,
    n_threads: int = 1,
) -> tuple[Data, NDArray[np.int32]]:
    """The data with pairs of columns that stand out, and the pairs of their arms.

    For rewards that know what to do with them (``pair_share``); columns of the same arm, and
    those always included, are in no pair.
    """
    if not getattr(reward, "pair_share", 0.0):
        return data, NO_PAIRS
    pairs = screen_pairs(data.X, data.outcome, observations, n_threads).columns
    arms = columns.arm_of(pairs)
    are_two = (arms >= 0).all(axis=1) & (arms[:, 0] != arms[:, 1])
    arms = arms[are_two]
    _, firsts = np.unique(np.sort(arms, axis=1), axis=0, return_index=True)
    return replace(data, pairs=pairs[are_two]), arms[np.sort(firsts)].astype(np.int32)


def plays_of_burn_in(
    burn_in: int | Literal["auto"], is_wide: bool, heard: Sequence[int] = ()
) -> BurnIn | None:
    """The burn-in that the settings ask for: "auto" is one for wide searches."""
    if isinstance(burn_in, str):
        if burn_in != "auto":
            raise ValueError(f"burn_in must be 'auto' or a number of plays, got {burn_in!r}")
        burn_in = BURN_IN if is_wide else 0
    n_plays = int(check_scalar(burn_in, "burn_in", Integral, min_val=0))
    return BurnIn(n_plays, LEADERS, tuple(heard)) if n_plays else None
