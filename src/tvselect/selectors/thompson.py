"""Thompson Variable Selection for wide tables, as a scikit-learn selector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_scalar
from sklearn.utils.validation import validate_data

from tvselect.bandit import engine
from tvselect.bandit.oracle import MEDIAN_MODEL_COST
from tvselect.bandit.stopping import StoppingRule
from tvselect.inputs import Numbered, Table, read_outcome
from tvselect.inputs.finite import refuse_nonfinite
from tvselect.rewards import Data, Reward
from tvselect.runners import Runner, opened
from tvselect.selectors.base import BanditSelector, as_reward, warn_of_interrupt
from tvselect.selectors.features import Features, is_frame, read_features
from tvselect.selectors.fingerprint import identity_of
from tvselect.selectors.game import progress_bar, set_up_game
from tvselect.selectors.layout import Groups, lay_out_arms
from tvselect.selectors.scoring import TableScorer, TableWork


class ThompsonSelector(BanditSelector):
    """Select variables by Thompson sampling (Liu and Rockova 2021).

    Every variable is an arm of a bandit. A play draws a random set of variables, likely
    ones more often; the reward looks at the data restricted to them and pays each 0 or 1;
    the payoffs are counted. A variable is selected when it was paid in more than the share
    ``c`` of its plays (1/2 by default).

    Parameters
    ----------
    reward : Reward, callable or None
        What a played variable is paid; None is ``BartReward()``. A callable
        ``(X, y, rng) -> values in [0, 1]`` sees the played columns.
    n_plays : int, default=500
    patience : int, optional
        Stop when the selected set has not changed for that many plays.
    time_limit : float, optional
        Stop after that many seconds.
    cost : float or array, default=(sqrt(5) - 1) / 2
        ``C`` in (0, 1), one for all or one per column; sets the threshold
        ``c = log(1/C) / log((1 + C)/C)``, 1/2 by default. A higher cost makes a lower
        threshold.
    n_features_to_select : int, optional
        Known size of the model, in arms: at most that many are played and selected.
    prior : (float, float) or (array, array), default=(1.0, 1.0)
        Beta prior of the arms, one for all or one value per column.
    groups : mapping or sequence, optional
        Columns that make one arm: ``{"label": [columns]}``, or one label per column.
        Text and categorical columns of a data frame are one arm each.
    always_include : sequence, optional
        Columns that are part of every play and always selected.
    family : {"auto", "gaussian", "probit"}, default="auto"
        Continuous or two-class outcome; "auto" takes two distinct values for two classes.
    n_chains : int, default=1
        Independent runs, pooled by adding counts.
    n_jobs : int, optional
        Threads or processes that play at the same time.
    runner : {"threads", "processes"}, address, distributed.Client or Runner, optional
        Where plays run: threads by default; an address such as ``tcp://head-node:8786``,
        or a client, is a Dask cluster (``n_jobs`` is not used then).
    window : "auto" or int, default="auto"
        At most so many plays are chosen from one state of the arms and paid at the same
        time, never more than a tenth of the plays that are done. "auto" is 1, as in the
        paper, unless there are more workers than chains: 16 per worker then. The numbers
        depend on the window, not on the number, kind or speed of the workers.
    random_state : int, RandomState, Generator or None
    journal : path, optional
        File that keeps every play (SQLite). If it holds plays of the same data and
        settings already, the run goes on where it stopped.
    warm_start : bool, default=False
        A second ``fit`` on the same data goes on with the plays of the first.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    support_ : bool array (n_features,)
    inclusion_probabilities_ : float64 array (n_features,)
        ``a / (a + b)``: how often the reward pays the variable when it is played (with the
        prior mixed in), not a posterior probability. 1 for columns always included.
    inclusion_intervals_ : float64 array (n_features, 2)
        2.5 % and 97.5 % quantiles of the Beta posterior of that frequency.
    n_plays_ : int
        Plays of every chain.
    stop_reason_ : StopReason
    history_ : History
    chain_supports_ : bool array (n_chains, n_features)
        What each chain alone selects.
    chain_agreement_ : float
        Mean Jaccard index of the chains' sets, pairwise; NaN for one chain.
    inclusion_spread_ : float64 array (n_features,)
        Standard deviation of the inclusion probability over the chains.
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
        reward: Reward | Callable[..., ArrayLike] | None = None,
        *,
        n_plays: int = 500,
        patience: int | None = None,
        time_limit: float | None = None,
        cost: float | ArrayLike = MEDIAN_MODEL_COST,
        n_features_to_select: int | None = None,
        prior: tuple[float | ArrayLike, float | ArrayLike] = (1.0, 1.0),
        groups: Groups = None,
        always_include: Sequence[Any] | None = None,
        family: Literal["auto", "gaussian", "probit"] = "auto",
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
        self.patience = patience
        self.time_limit = time_limit
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

    def fit(self, X: Any, y: Any, **fit_params: ArrayLike | None) -> ThompsonSelector:
        """Play the game on a table and an outcome.

        Parameters
        ----------
        X : array-like or data frame (rows, columns)
            Numbers, and in data frames text or categories; missing values where the
            reward can take them.
        y : array-like
            Continuous outcome or two classes of any label type.
        **fit_params
            ``sample_weight`` (array-like), only for rewards that use weights: a keyword
            of its own would promise scikit-learn that every reward does.

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

    def _fit(
        self, X: Any, y: Any, fit_params: dict[str, ArrayLike | None], runner: Runner
    ) -> ThompsonSelector:
        reward = as_reward(self.reward)
        features = self._features(X, reward)
        n_rows = features.X.shape[0]
        data = Data(
            features.X,
            read_outcome(y, n_rows, family=self.family),
            features.column_names,
            self._weights(fit_params, reward, n_rows),
        )
        layout = lay_out_arms(features.names, self.groups, self.always_include)
        feedback = reward.start(data)
        work = TableWork(feedback, layout.columns(features.feature_of))
        kept = getattr(self, "history_", None) if self.warm_start else None
        rule = StoppingRule(self.n_plays, self.patience, self.time_limit)
        game = set_up_game(
            self,
            layout,
            reward,
            identity={"data": identity_of(data), "family": data.outcome.family},
            n_workers=runner.n_workers,
            journal=None if kept is None else kept.journal,
        )
        with (
            game.journal,
            runner.bind(work) as run,
            progress_bar(game, total=self.n_plays, unit="plays", verbose=self.verbose) as watch,
        ):
            scorer = TableScorer(run, feedback, runner.shares_memory)
            reason = engine.play(game.chains, scorer, game.journal, rule, watch)
        self._conclude(
            game,
            reason,
            is_stream=False,
            fingerprint=game.header.fingerprint,
            n_plays=self.n_plays,
            n_rows=n_rows,
        )
        warn_of_interrupt(reason, stacklevel=3)
        return self

    def _features(self, X: Any, reward: Reward) -> Features:
        checks: dict[str, Any] = {"ensure_all_finite": False, "ensure_min_samples": 2}
        if is_frame(X):
            if isinstance(X, Table):
                self.n_features_in_ = X.n_columns
                self.feature_names_in_ = np.array(X.names, dtype=object)
            else:
                validate_data(self, X, skip_check_array=True)
            features = read_features(X)
            check_array(features.X, input_name="X", **checks)
        else:
            X = validate_data(self, X, **checks)
            names = getattr(self, "feature_names_in_", None)
            features = Features(
                X,
                Numbered(X.shape[1]) if names is None else tuple(names),
                np.arange(X.shape[1]),
            )
        refuse_nonfinite(features.X, features.column_names, reward.takes_missing)
        return features

    def _weights(
        self, fit_params: dict[str, ArrayLike | None], reward: Reward, n_rows: int
    ) -> NDArray[np.float64] | None:
        if unknown := set(fit_params) - {"sample_weight"}:
            raise TypeError(f"fit got an unexpected argument {min(unknown)!r}")
        sample_weight = fit_params.get("sample_weight")
        if sample_weight is None:
            return None
        if not reward.takes_weights:
            raise ValueError(
                f"{type(reward).__name__} does not use sample_weight; leave it out or take a "
                "reward that does, such as LassoReward"
            )
        weights = np.asarray(sample_weight, dtype=np.float64)
        if weights.shape != (n_rows,):
            raise ValueError(f"sample_weight has shape {weights.shape}, X has {n_rows} rows")
        if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
            raise ValueError("sample_weight must be finite, not negative and not all zero")
        return weights
