"""Thompson Variable Selection for wide tables, as a scikit-learn selector."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from importlib.metadata import version
from itertools import combinations
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_array, check_random_state, check_scalar
from sklearn.utils.validation import check_is_fitted, validate_data

from tvselect.bandit.arms import Arms
from tvselect.bandit.chain import ThompsonChain
from tvselect.bandit.journal import Header, Journal, MemoryJournal, SqliteJournal
from tvselect.bandit.oracle import MEDIAN_MODEL_COST, Oracle, threshold
from tvselect.bandit.stopping import Stopping
from tvselect.inputs import read_outcome
from tvselect.rewards import BartReward, Data, FunctionReward, Reward
from tvselect.selectors.features import (
    Deal,
    Features,
    Groups,
    deal,
    encode_categories,
    needs_encoding,
    refuse_nonfinite,
)
from tvselect.selectors.fingerprint import fingerprint
from tvselect.selectors.game import INTERRUPTED, payoffs_of_arms, play_all
from tvselect.selectors.history import History

INTERVAL = (0.025, 0.975)


class ThompsonSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Select variables by Thompson sampling (Liu and Rockova 2021).

    Every variable is an arm of a bandit. A play draws a random set of variables, likely
    ones more often; the reward looks at the data restricted to them and pays each 0 or 1;
    the payoffs are counted. A variable is selected when it was paid in at least the share
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
    n_chains : int, default=1
        Independent runs, pooled by adding counts.
    n_jobs : int, optional
        Threads for the chains; the numbers do not depend on it.
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
        Plays of the longest chain.
    stop_reason_ : str
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
        n_chains: int = 1,
        n_jobs: int | None = None,
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
        self.n_chains = n_chains
        self.n_jobs = n_jobs
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
        self._check_parameters()
        reward = self._reward()
        features = self._features(X, y, reward)
        data = Data(
            features.X,
            read_outcome(y, features.X.shape[0]),
            tuple(features.names[j] for j in features.feature_of),
            self._weights(fit_params, reward, features.X.shape[0]),
        )
        dealt = deal(features, self.groups, self.always_include)
        c, prior = self._threshold(dealt), self._prior(dealt)
        if self.n_features_to_select is not None and self.n_features_to_select > dealt.n_arms:
            raise ValueError(
                f"n_features_to_select={self.n_features_to_select} is more than the "
                f"{dealt.n_arms} arms there are"
            )
        payoffs = payoffs_of_arms(reward.start(data), dealt)
        memory, disk, entropy = self._journals(data, dealt, c, prior)
        oracle = Oracle(self.n_features_to_select)
        stopping = Stopping(self.n_plays, self.patience)

        def chains_so_far() -> list[ThompsonChain]:
            arms = [Arms(dealt.n_arms, *prior, c) for _ in range(self.n_chains)]
            chains = [
                ThompsonChain(arms[k], oracle, payoffs, stopping, entropy=entropy, chain=k)
                for k in range(self.n_chains)
            ]
            for chain in chains:
                for play in memory.plays(chain.chain):
                    chain.learn(play)
            return chains

        chains = chains_so_far()
        try:
            self.stop_reason_ = play_all(
                chains,
                [memory] if disk is None else [memory, disk],
                time_limit=self.time_limit,
                n_jobs=effective_n_jobs(self.n_jobs),
                verbose=self.verbose,
            )
        finally:
            if disk is not None:
                disk.close()
        if self.stop_reason_ == INTERRUPTED:
            # A chain may have learned from a play that did not get into the journal.
            chains = chains_so_far()
        self.history_ = History(memory, self.n_chains, features.names, dealt.arm_of_feature, prior)
        self._conclude(chains, oracle, dealt)
        return self

    def _conclude(self, chains: list[ThompsonChain], oracle: Oracle, dealt: Deal) -> None:
        """Pool the chains and read off what was found."""
        first = chains[0].arms
        pooled = Arms(len(first), first.prior_a, first.prior_b, first.threshold)
        pooled.add(*(chain.arms for chain in chains))
        self.n_plays_ = max(chain.n_plays for chain in chains)
        self.support_ = self._per_feature(oracle.model(pooled), dealt)
        a, b = pooled.posterior()
        self.inclusion_probabilities_ = _spread(a / (a + b), dealt, 1.0)
        self.inclusion_intervals_ = np.column_stack(
            [_spread(betaincinv(a, b, q), dealt, 1.0) for q in INTERVAL]
        )
        self.chain_supports_ = np.array(
            [self._per_feature(oracle.model(chain.arms), dealt) for chain in chains]
        )
        self.chain_agreement_ = mean_jaccard(self.chain_supports_)
        self.inclusion_spread_ = _spread(
            np.std([chain.arms.means() for chain in chains], axis=0), dealt, 0.0
        )

    @staticmethod
    def _per_feature(model: NDArray[np.int32], dealt: Deal) -> NDArray[np.bool_]:
        selected = np.zeros(dealt.n_arms, dtype=np.bool_)
        selected[model] = True
        return _spread(selected, dealt, True)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = bool(getattr(self._reward(), "takes_missing", False))
        return tags

    def _reward(self) -> Reward:
        if self.reward is None:
            return BartReward()
        if isinstance(self.reward, Reward):
            return self.reward
        return FunctionReward(self.reward)

    def _check_parameters(self) -> None:
        check_scalar(self.n_plays, "n_plays", Integral, min_val=1)
        check_scalar(self.n_chains, "n_chains", Integral, min_val=1)
        for name in ("patience", "n_features_to_select"):
            if getattr(self, name) is not None:
                check_scalar(getattr(self, name), name, Integral, min_val=1)
        if self.time_limit is not None:
            check_scalar(
                self.time_limit, "time_limit", Real, min_val=0.0, include_boundaries="neither"
            )
            if math.isnan(self.time_limit):
                raise ValueError("time_limit must be a number of seconds, got nan")

    def _features(self, X: Any, y: Any, reward: Reward) -> Features:
        if y is None:
            raise ValueError(
                "This ThompsonSelector estimator requires y to be passed, but the target y is None."
            )
        checks: dict[str, Any] = {"ensure_all_finite": False, "ensure_min_samples": 2}
        if needs_encoding(X):
            validate_data(self, X, skip_check_array=True)
            features = encode_categories(X)
            check_array(features.X, input_name="X", **checks)
        else:
            X = validate_data(self, X, **checks)
            names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(X.shape[1])])
            features = Features(X, tuple(names), np.arange(X.shape[1]))
        refuse_nonfinite(features, reward.takes_missing)
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

    def _threshold(self, dealt: Deal) -> float | NDArray[np.float64]:
        cost = _per_arm(self.cost, dealt, "cost")
        if not np.all((np.asarray(cost) > 0) & (np.asarray(cost) < 1)):
            raise ValueError(f"cost must lie strictly between 0 and 1, got {self.cost!r}")
        return threshold(cost)

    def _prior(
        self, dealt: Deal
    ) -> tuple[float | NDArray[np.float64], float | NDArray[np.float64]]:
        if not isinstance(self.prior, tuple | list) or len(self.prior) != 2:
            raise ValueError(f"prior must be a pair (a, b), got {self.prior!r}")
        a, b = (_per_arm(value, dealt, "prior") for value in self.prior)
        for value in (a, b):
            if not (np.isfinite(value).all() and np.all(np.asarray(value) > 0)):
                raise ValueError(f"prior must be positive and finite, got {self.prior!r}")
        return a, b

    def _journals(
        self, data: Data, dealt: Deal, c: Any, prior: tuple[Any, Any]
    ) -> tuple[MemoryJournal, Journal | None, int]:
        """The journal in memory, that on disk, and the seed of the run.

        Plays that an earlier run left (on disk, or with ``warm_start`` in memory) are
        in the memory journal already.
        """
        entropy = _entropy(self.random_state)
        kept = getattr(self, "history_", None) if self.warm_start else None
        settings = {
            "arms": dealt.arm_of_feature,
            "threshold": np.broadcast_to(c, dealt.n_arms),
            "prior": [np.broadcast_to(value, dealt.n_arms) for value in prior],
            "n_features_to_select": self.n_features_to_select,
        }
        header = Header(
            fingerprint=fingerprint(data, self._reward(), settings),
            entropy=entropy,
            n_arms=dealt.n_arms,
            n_chains=self.n_chains,
            settings={"reward": repr(self._reward()), "n_rows": data.n_rows},
            version=version("tvselect"),
        )
        memory = MemoryJournal() if kept is None else kept.journal
        if self.journal is None:
            return memory, None, memory.begin(header).entropy
        disk = SqliteJournal(self.journal)
        try:
            header = disk.begin(header)
            memory = MemoryJournal()
            memory.begin(header)
            for chain in range(self.n_chains):
                for play in disk.plays(chain):
                    memory.append(chain, play)
        except BaseException:
            disk.close()
            raise
        return memory, disk, header.entropy


def mean_jaccard(sets: NDArray[np.bool_]) -> float:
    """Mean Jaccard index over pairs of rows; two empty sets agree. NaN for one row."""
    values = [
        (a & b).sum() / union if (union := (a | b).sum()) else 1.0 for a, b in combinations(sets, 2)
    ]
    return float(np.mean(values)) if values else float("nan")


def _spread(values: NDArray[Any], dealt: Deal, always: Any) -> NDArray[Any]:
    """Values by arm to values by feature."""
    return np.where(dealt.arm_of_feature >= 0, values[dealt.arm_of_feature], always)


def _per_arm(value: Any, dealt: Deal, what: str) -> float | NDArray[np.float64]:
    """A setting for all, or one value per feature (alike within a group), by arm."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{what} must hold numbers, got {value!r}") from None
    if array.ndim == 0:
        return float(array)
    if array.shape != dealt.arm_of_feature.shape:
        raise ValueError(
            f"{what} has shape {array.shape}; it takes one value, or one for each of the "
            f"{dealt.arm_of_feature.size} columns"
        )
    played = dealt.arm_of_feature >= 0
    by_arm = np.empty(dealt.n_arms)
    by_arm[dealt.arm_of_feature[played]] = array[played]
    if not np.array_equal(by_arm[dealt.arm_of_feature[played]], array[played], equal_nan=True):
        raise ValueError(f"{what} must be the same for all columns of a group")
    return by_arm


def _entropy(random_state: Any) -> int:
    """Seed of the run."""
    if random_state is None:
        return secrets.randbits(128)
    if isinstance(random_state, Integral):
        if random_state < 0:
            raise ValueError(f"random_state must not be negative, got {random_state!r}")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    return int(check_random_state(random_state).randint(2**31 - 1))
