"""Thompson Variable Selection on a table: parameters, fit, and what is found."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_scalar
from sklearn.utils.validation import _num_samples, validate_data

from tvselect.after.interactions import Interaction, SelectedData, find_interactions
from tvselect.bandit import engine
from tvselect.bandit.engine import StoppingRule
from tvselect.bandit.oracle import NO_PAIRS, BurnIn
from tvselect.decoys.knockoffs import describe_cost
from tvselect.inputs import Numbered, Table, read_outcome
from tvselect.inputs.blocks import RowBlocks, name_of, take_blocks, units_needed
from tvselect.inputs.columns import (
    VALUES_IN_CACHE,
    SparseColumns,
    at_rows,
    in_blocks,
    is_sparse,
    refuse_nonfinite,
)
from tvselect.inputs.dependence import find_dependence
from tvselect.inputs.doubts import DoubtWarning, find_doubts
from tvselect.inputs.outcome import AskedFamily, warn_of_guess
from tvselect.inputs.rows import (
    check_weights,
    copied_rows,
    numbered,
    rows_to_use,
    take_rows,
    warn_of_index,
)
from tvselect.inputs.table import Features, as_given, is_frame, read_features, read_table
from tvselect.omics.linkage import clump_labels, fine_map
from tvselect.regression import second_opinion
from tvselect.rewards import BartReward, Data, Reward
from tvselect.rewards.screening import screen_pairs
from tvselect.seeds import RandomStream
from tvselect.selectors.base import MOST_DOUBTED, BanditSelector, as_reward, check_count
from tvselect.selectors.claims import by_shares, find_claims, find_stand_ins
from tvselect.selectors.copies import (
    FEWEST_COPIES,
    check_decoys,
    draw_decoys,
    kind_of_decoys,
    preselect_arms,
    warn_of_factors,
)
from tvselect.selectors.fingerprint import identity_of
from tvselect.selectors.layout import ArmColumns, ArmLayout, DecoyKind, Groups, lay_out_arms
from tvselect.selectors.scoring import TableScorer, TableWork, start_for
from tvselect.selectors.search import Search, progress_bar, seed_of_run, set_up_search
from tvselect.words import waiting
from tvselect.workers import opened

BURN_IN, LEADERS = 150, 1000
DEFAULT_LEVEL = 0.1
MOST_PLAYS, SETTLED = 1000, 80


class ThompsonSelector(BanditSelector):
    """Select variables by Thompson sampling (Liu and Rockova 2021).

    Every variable is an arm of a bandit. A play draws a random set of variables, likely
    ones more often, and fits a model to these alone; the reward of each is 1 if it proves
    useful there, else 0. Its selection rate is the share of its plays with a reward of 1.
    Decoys, copies of the variables that know nothing of the outcome, play along. Selected
    are the variables with a selection rate above ``c`` (1/2 by default) and so far above the
    decoys that at most the share ``max_fdr`` of them is expected to be false.

    Parameters
    ----------
    reward : Reward, callable, "bart", "lasso", "importance", "pvalue" or None
        How the variables of a play are scored; None is "bart", ``BartReward.with_decoys()``, and
        ``BartReward()`` in a search without decoys. A callable
        ``(X, y, rng) -> values in [0, 1]`` sees the played columns.
    n_plays : int, optional
        Plays of every chain. None goes on until for 80 plays no arm has come to, or fallen from,
        a selection rate above its threshold (``patience`` in :class:`Search` sets another number);
        1,000 plays at most.
    max_fdr : float or None, default=0.1
        False discovery rate: the largest expected share of false ones among the selected
        variables, at least 0.001. None selects the median model of the paper, which promises
        nothing.
    decoys : {"auto", "shuffled", "plain", "knockoffs"} or None, default="auto"
        "shuffled" are copies of the table with its rows in another order (what many columns
        owe to common factors stays), the default; "plain" keep no factors, so that columns may be
        selected for these alone; "knockoffs" also keep how a column goes with all others, for at
        most 10,000 columns, and are the only ones for rewards that stand-ins of signals have, too:
        all but trees. None, and "auto" without ``max_fdr``, plays without. See :doc:`/errors` for
        what each guarantees.
    n_features_to_select : int, optional
        Known size of the model, in arms: exactly that many are selected, those of the largest
        selection rates, whatever their q-values; no more are played at once, beside decoys.
    feature_groups : mapping, sequence or "ld", optional
        Columns that make one arm: ``{"label": [columns]}``, or one label per column.
        Text and categorical columns of a data frame are one arm each. "ld" (linkage
        disequilibrium) makes one of neighbouring columns that are much alike, as variants of a
        genome are, see :func:`tvselect.omics.linkage.find_clumps`; ``claims_`` then says how
        the evidence is shared within.
    always_include : sequence, optional
        Columns that are part of every play and always selected.
    family : {"auto", "gaussian", "probit", "classes", "ordinal", "counts", "survival"}
        What the outcome is: a number, two classes, three or more, ordered grades, counts, or
        times until an event, some of them censored. "auto" decides by the values, see
        :func:`tvselect.inputs.read_outcome`, and warns where it has to guess.
    time_limit : float, optional
        Stop after that many seconds.
    n_jobs : int, optional
        Threads or processes that play at the same time.
    random_state : int, RandomState, Generator or None
    second_opinion : bool, default=True
        Whether a sparse regression on lines, bends and products of two of all columns is asked
        beside the trees. Selected is what either finds, at the level ``max_fdr`` for both
        together. Of trees with decoys, where rows have no order. False is the selector of the
        paper.
    verbose : int, default=0
        1 shows a progress bar.
    search : Search, optional
        What few people set: burn-in, patience, cost, prior, chains, window, workers, journal.

    Attributes
    ----------
    support_ : bool array (n_features,)
    q_values_ : float64 array (n_features,)
        The smallest false discovery rate at which each variable is selected; NaN without
        decoys, 0 for columns always included.
    expected_false_ : float
        Expected number of false ones among the selected variables; NaN without decoys.
    claims_ : tuple of Claim
        Variables that cannot be told apart on these rows, the surest first: at least one of
        each claim matters, at the claim's own q-value.
    interactions_ : tuple of Interaction
        Pairs of selected variables whose effects do not add up, the surest first, with
        q-values of their own; computed when first asked for.
    ranking_ : int64 array (n_features,)
        1 for selected variables, then by selection rate.
    decoy_test_ : SwapTest or None
        Whether a classifier can tell knockoffs from the columns.
    selection_rates_ : float64 array (n_features,)
        ``a / (a + b)``: how often the variable has a reward of 1 when it is played (with
        the prior mixed in), not a posterior probability. 1 for columns always included.
    selection_rate_intervals_ : float64 array (n_features, 2)
        2.5 % and 97.5 % quantiles of the Beta posterior of that frequency.
    n_plays_ : int
        Plays of every chain.
    stop_reason_ : StopReason
    result_ : SearchResult
    chain_supports_ : bool array (n_chains, n_features)
        What each chain alone selects.
    chain_agreement_ : float
        Mean Jaccard index of the chains' sets, pairwise; NaN for one chain.
    selection_rate_spread_ : float64 array (n_features,)
        Standard deviation of the selection rate over the chains.
    n_features_in_ : int
    feature_names_in_ : array of str, when the table has names

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect import ThompsonSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 300))
    >>> y = 10 * X[:, 3] + 5 * (X[:, 7] > 0.5) + rng.standard_normal(200)
    >>> selector = ThompsonSelector(n_plays=100, random_state=0).fit(X, y)
    >>> np.flatnonzero(selector.support_)
    array([3, 7])
    >>> selector.transform(X).shape
    (200, 2)
    """

    def __init__(
        self,
        reward: Reward | Callable[..., ArrayLike] | str | None = None,
        *,
        n_plays: int | None = None,
        max_fdr: float | None = 0.1,
        decoys: Literal["auto"] | DecoyKind | None = "auto",
        n_features_to_select: int | None = None,
        feature_groups: Groups = None,
        always_include: Sequence[Any] | None = None,
        family: AskedFamily = "auto",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        second_opinion: bool = True,
        verbose: int = 0,
        search: Search | None = None,
    ) -> None:
        self.reward = reward
        self.n_plays = n_plays
        self.max_fdr = max_fdr
        self.decoys = decoys
        self.n_features_to_select = n_features_to_select
        self.feature_groups = feature_groups
        self.always_include = always_include
        self.family = family
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.second_opinion = second_opinion
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
        """Find the columns of a table that explain an outcome.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame (rows, columns)
            Numbers, and in data frames text, categories or dates; missing values where the
            reward can take them.
        y : array-like
            Numbers, labels of classes, grades, counts, or survival times as a structured array
            of event and time.
        sample_weight : array-like (rows,), optional
            A row of weight 2 counts twice as much as one of weight 1. All together count no more
            than as many rows of equal weight as tell as much (Kish); see :doc:`/errors`.
        groups : array-like (rows,) or str, optional
            Which rows belong together, such as those of one patient, donor or household: labels,
            or the name of a column of ``X``, which is then no feature. Decoys are moved as whole
            groups. Fewer than 15 show nothing. See :doc:`/errors`.
        order : array-like (rows,) or str, optional
            Times, dates or numbers by which rows follow each other, where neighbours are alike;
            the name of a column, which is then no feature; or "rows", as they stand. Decoys are
            the same series at another time; with ``groups`` those of another group.

        Returns
        -------
        ThompsonSelector
            Itself, fitted.
        """
        check_count(self.n_plays, "n_plays")
        self._check_shared()
        self._refuse_no_target(y)
        n_plays, patience = self.n_plays or MOST_PLAYS, self._search.patience
        if self.n_plays is None and patience is None:
            patience = SETTLED
        kind = kind_of_decoys(self.decoys, self.max_fdr, as_reward(self.reward))
        reward = as_reward(self.reward, kind is not None)
        seed = seed_of_run(self)
        features, data, blocks, copies = self._read(
            X, y, sample_weight, groups, order, reward, seed
        )
        outcome, n_units, spread = data.outcome, None, 1.0
        observations = copies if blocks is None else blocks
        is_told = isinstance(X, Table)  # who makes one has looked at it
        unproven = warn_of_doubts(data, is_told, may_depend=observations is None)
        # Which columns make an arm, each with its decoys, and which arms take part.
        is_linked = isinstance(self.feature_groups, str) and self.feature_groups == "ld"
        by = self.feature_groups
        if is_linked:
            by = clump_labels(features.X, features.feature_of, features.names)
        # With so many trees by themselves can select a single column at the level.
        n_copies = 0 if kind is None else max(FEWEST_COPIES, ceil(1.0 / (self.max_fdr or 1.0)))
        layout = lay_out_arms(features.names, by, self.always_include, n_copies=n_copies)
        identity = {"data": identity_of(data), "family": outcome.family, "copies": kind}
        if blocks is not None:
            identity |= blocks.identity
            n_units = blocks.n_units(data.X, outcome.values)
            spread = blocks.spread(n_units)
            if n_copies and n_units < (needed := units_needed(n_copies)):
                warnings.warn(blocks.too_few(n_units, needed), stacklevel=2)
            elif n_copies and blocks.is_same_in_groups(outcome.values):
                warnings.warn(
                    f"y is the same in all rows of each of the {blocks.n_groups:,} groups, which "
                    "are as many observations and no more; one row for each group, such as the "
                    "means of its columns, shows what many rows of it hide",
                    stacklevel=2,
                )
        columns = layout.columns(features.feature_of)
        with opened(self._search.runner, self.n_jobs) as runner:
            n_threads = 1 if runner.is_remote else runner.n_workers
            with waiting("TVS: looking for pairs of columns", self.verbose):
                data, arm_pairs = with_pairs(data, columns, reward, copies, n_threads, spread)
            self.decoy_test_, decoys = None, None
            if kind is not None:
                if kind == "knockoffs" and self.verbose >= 1:
                    print(describe_cost(data.n_rows, data.X.shape[1], n_copies), file=sys.stderr)
                with waiting("TVS: drawing decoys", self.verbose):
                    n_seen = n_units or data.n_effective
                    decoys = draw_decoys(kind, data.X, n_copies, seed, observations, n_seen)
                data, columns = preselect_arms(
                    data, columns, decoys, entropy=seed, n_threads=n_threads, verbose=self.verbose
                )
                with waiting("TVS: comparing knockoffs with the columns", self.verbose):
                    self.decoy_test_ = check_decoys(decoys, features.X, seed)
            opinion, is_ordered = None, blocks is not None and blocks.is_ordered
            if decoys and self.second_opinion and isinstance(reward, BartReward) and not is_ordered:
                n_arms = 2 * layout.n_candidates  # with their first decoys
                n_places = columns.starts[n_arms]
                opinion = second_opinion(
                    data,
                    columns.columns[:n_places],
                    columns.arms[:n_places].astype(np.int32),
                    n_arms,
                    layout.n_candidates,
                    columns.always,
                    RandomStream.SECOND_OPINION.generator(seed),
                    copies,
                )
            # The plays.
            reward = reward.settled(data)
            search = set_up_search(
                self,
                layout,
                reward,
                identity=identity,
                n_workers=runner.n_workers,
                entropy=seed,
                idle=columns.idle,
                burn_in=self._burn_in(layout, columns, arm_pairs),
                pairs=arm_pairs,
                has_patience=patience is not None,
            )
            work = TableWork(start_for(runner, reward, data), columns)
            rule = StoppingRule(n_plays, patience, self.time_limit)
            with (
                search.journal,
                runner.bind(work) as run,
                progress_bar(search, n_plays, "plays", self) as watch,
            ):
                scorer = TableScorer(run, work, n_threads if runner.shares_memory else 0)
                reason = engine.play(search.chains, scorer, search.journal, rule, watch)
        # What was found.
        factors = np.empty((data.n_rows, 0)) if decoys is None else decoys.factors
        result = self._result(
            search,
            reason,
            is_stream=False,
            family=outcome.family,
            fingerprint=search.header.fingerprint,
            n_plays=n_plays,
            patience=patience,
            n_rows=data.n_rows,
            decoys=kind,
            n_units=n_units,
            n_groups=blocks.n_groups if blocks and blocks.has_groups else None,
            unproven=unproven,
        )
        if opinion is not None:
            result = replace(result, opinion=opinion)
            stand_ins = find_stand_ins(result, data.X, columns, factors)
            result = replace(result, stand_ins=stand_ins)
        self._show(result)
        self.claims_ = find_claims(self.result_, data.X, columns, factors)
        if is_linked:
            shares = fine_map(
                [claim.columns for claim in self.claims_],
                features.X,
                np.searchsorted(features.feature_of, np.arange(len(features.names))),
                outcome,
                RandomStream.LINKAGE.generator(seed),
            )
            if shares:
                self.claims_ = tuple(map(by_shares, self.claims_, shares))
        self._selected_data = SelectedData.of(features, self.support_, outcome, observations)
        self._interactions: tuple[Interaction, ...] | None = None
        level = 1.0 if self.max_fdr is None else self.max_fdr
        is_claimed = any(claim.q_value <= level for claim in self.claims_)
        is_found = is_claimed or self.result_.selected().any()
        if decoys is not None and not is_found:
            warn_of_factors(decoys, outcome, stacklevel=2)
        self._warn_of_end(stacklevel=2)
        return self

    @property
    def interactions_(self) -> tuple[Interaction, ...]:
        """Pairs of selected features whose effects do not add up, the surest first.

        Those with a q-value of at most ``max_fdr`` (0.1 without one). Computed when first asked
        for, in a second or some, by forests on the selected columns alone; of more than 5,000 rows
        as many are looked at. Empty for more than 40 selected features, and for survival times,
        where censoring decides on what scale effects add up.
        """
        if not hasattr(self, "_selected_data"):
            raise AttributeError("interactions_ is there after fit")
        if self._interactions is None:
            rng = RandomStream.INTERACTIONS.generator(self.result_.asked.seed)
            found: tuple[Interaction, ...] = ()
            if not self.result_.shows_nothing:
                found = find_interactions(self._selected_data, self.result_.names, rng)
            level = DEFAULT_LEVEL if self.result_.max_fdr is None else self.result_.max_fdr
            self._interactions = tuple(pair for pair in found if pair.q_value <= level)
        return self._interactions

    def _read(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | str | None,
        order: ArrayLike | str | None,
        reward: Reward,
        seed: int,
    ) -> tuple[Features, Data, RowBlocks | None, NDArray[np.int64] | None]:
        """What a fit is given, as numbers; which rows belong together, or are copies."""
        warn_of_index(X, y, stacklevel=3)
        X, blocks = take_blocks(as_given(X), groups, order)
        self._rows_told = name_of(groups), name_of(order)
        weights = None
        if sample_weight is not None:
            weights = check_weights(sample_weight, _num_samples(y))
            if not weights.all():
                some = np.flatnonzero(weights)
                X, y, weights = take_rows(X, some), take_rows(y, some), weights[some]
                blocks = None if blocks is None else blocks.at(some)
        features = self._features(X)
        refuse_nonfinite(features.X, features.column_names, reward.takes_missing)
        n_rows = features.X.shape[0]
        outcome = read_outcome(y, n_rows, family=self.family)
        warn_of_guess(outcome, stacklevel=3)
        copies = None if blocks is not None else copied_rows(features.X, outcome.values)
        rows, weights, n_effective = rows_to_use(
            copies, weights, not reward.takes_weights, RandomStream.WEIGHTS.generator(seed)
        )
        if rows is not None:
            features = replace(features, X=at_rows(features.X, rows))
            outcome = outcome.rows(rows)
            if np.ptp(outcome.values) == 0.0:
                raise ValueError("y is constant in the rows that sample_weight leaves")
        data = Data(features.X, outcome, features.column_names, weights, n_effective=n_effective)
        if copies is not None:
            n_copies = n_rows - int(copies.max()) - 1
            warnings.warn(
                f"{n_copies} of {n_rows} rows are copies of others, in the outcome, too: a row "
                "and its copies are one observation, of as much weight",
                stacklevel=3,
            )
        if blocks is not None:
            blocks = blocks if rows is None else blocks.at(rows)
            return features, replace(data, groups=blocks.groups), blocks, None
        if rows is None or not np.any(np.diff(rows) == 0):
            return features, data, None, None
        return features, data, None, numbered(rows)

    def _features(self, X: Any) -> Features:
        """Columns of numbers, from a table of any kind."""
        if isinstance(X, Table):
            self.n_features_in_ = X.n_columns
            self.feature_names_in_ = np.array(X.names, dtype=object)
            features = read_features(X)
            if features.X.shape[0] < 2:
                raise ValueError(f"X has {features.X.shape[0]} rows; at least 2 are needed")
            return features
        checks: dict[str, Any] = {"ensure_all_finite": False, "ensure_min_samples": 2}
        if is_frame(X):
            validate_data(self, X, skip_check_array=True)
            features = read_features(X)
            if isinstance(features.X, np.ndarray):
                check_array(features.X, input_name="X", **checks)
            return features
        given = X
        try:
            X = validate_data(self, X, accept_sparse="csc", **checks)
        except OverflowError:
            read_table(given)  # which says where
            raise
        if X is not given and not is_sparse(X):
            read_table(given)  # whole numbers that were rounded
        names = getattr(self, "feature_names_in_", None)
        return Features(
            SparseColumns(X) if is_sparse(X) else X,
            Numbered(X.shape[1]) if names is None else tuple(names),
            np.arange(X.shape[1]),
        )

    def _burn_in(
        self, layout: ArmLayout, columns: ArmColumns, arm_pairs: NDArray[np.int32]
    ) -> BurnIn:
        """The burn-in that the settings ask for: "auto" is one for wide searches with decoys."""
        n_plays = self._search.burn_in
        if isinstance(n_plays, str):
            if n_plays != "auto":
                raise ValueError(f"burn_in must be 'auto' or a number of plays, got {n_plays!r}")
            n_idle = 0 if columns.idle is None else np.count_nonzero(columns.idle)
            is_wide = layout.n_copies and layout.n_arms - n_idle > LEADERS
            n_plays = BURN_IN if is_wide else 0
        n_plays = int(check_scalar(n_plays, "burn_in", Integral, min_val=0))
        return BurnIn(n_plays, LEADERS, tuple(arm_pairs.ravel().tolist()))


def warn_of_doubts(data: Data, is_told: bool, may_depend: bool) -> bool:
    """Warn of what may spoil the selection, unless ``is_told``; whether rows seem to depend."""
    X = data.X
    if not isinstance(X, np.ndarray) or X.size > MOST_DOUBTED:
        return False
    blocks = (
        (here.start, np.ascontiguousarray(X[:, here].T, dtype=np.float64))
        for here in in_blocks(X.shape[1], len(X), VALUES_IN_CACHE)
    )
    dependence = find_dependence(data.names, X, data.outcome) if may_depend else None
    if not is_told:
        doubts = [*find_doubts(data.names, blocks, data.outcome), dependence]
        for doubt in filter(None, doubts):
            warnings.warn(doubt.sentence, DoubtWarning, stacklevel=3)
    return dependence is not None


def with_pairs(
    data: Data,
    columns: ArmColumns,
    reward: Reward,
    copies: NDArray[np.int64] | None = None,
    n_threads: int = 1,
    spread: float = 1.0,
) -> tuple[Data, NDArray[np.int32]]:
    """The data with pairs of columns that stand out, for rewards that use them, and their arms."""
    if not getattr(reward, "pair_share", 0.0):
        return data, NO_PAIRS
    pairs = screen_pairs(data.X, data.outcome, copies, n_threads, spread=spread).columns
    arms = columns.arm_of(pairs)
    are_two = (arms >= 0).all(axis=1) & (arms[:, 0] != arms[:, 1])
    arms = arms[are_two]
    _, firsts = np.unique(np.sort(arms, axis=1), axis=0, return_index=True)
    return replace(data, pairs=pairs[are_two]), arms[np.sort(firsts)].astype(np.int32)
