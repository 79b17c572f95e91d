"""What both selectors share: parameters, scikit-learn's methods, what was found."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_scalar, estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from tvselect.bandit.engine import StopReason
from tvselect.inputs.blocks import named_columns, without_columns
from tvselect.inputs.errors import InterruptWarning
from tvselect.inputs.table import as_given
from tvselect.rewards import BartReward, FunctionReward, Reward
from tvselect.selectors.results import SearchResult, feature_findings, import_pandas, to_html
from tvselect.selectors.search import Search, SearchRun

MOST_DOUBTED = 2**28
"""Values of a table that is looked at for what may spoil the selection."""
REWARDS = {"lasso": "LassoReward", "importance": "ImportanceReward", "pvalue": "PValueReward"}


class BanditSelector(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A scikit-learn selector; ``SelectorMixin``, slow to import, is called when needed."""

    is_stream = False
    reward: Any
    search: Search | None
    random_state: Any
    n_features_to_select: int | None
    time_limit: float | None
    max_fdr: float | None
    verbose: int
    _rows_told: tuple[str | None, str | None] = None, None  #: Names of groups and order

    def __new__(cls, *_: Any, **params: Any) -> Self:
        """Refuse unknown parameters, by their names."""
        known = cls._get_param_names()
        for name in sorted(params.keys() - set(known)):
            nearest = get_close_matches(name, known, 1)
            hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
            if name in Search._get_param_names():
                hint = f": say search=Search({name}=...)"
            raise TypeError(f"{cls.__name__} has no parameter {name!r}{hint}")
        return super().__new__(cls)

    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """The selected columns, as a mask or as indices."""
        mask = self._get_support_mask()
        return np.flatnonzero(mask) if indices else mask

    @property
    def row_columns_(self) -> tuple[str, ...]:
        """Columns that ``groups`` and ``order`` of the fit were, which are no features."""
        return named_columns(*self._rows_told)

    def transform(self, X: Any) -> Any:
        """The selected columns of a table."""
        # Undecorated: set_output works on this method already.
        X = without_columns(as_given(X), set(self.row_columns_))
        return _mixin().transform.__wrapped__(self, X)

    def inverse_transform(self, X: Any) -> Any:
        """A table of selected columns with zeros in place of the others."""
        return _mixin().inverse_transform(self, X)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the selected columns."""
        return _mixin().get_feature_names_out(self, input_features)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "support_")
        return self.support_

    def _transform(self, X: Any) -> Any:
        return _mixin()._transform(self, X)

    def set_params(self, **params: Any) -> Self:
        """Change parameters, also those of the default ``reward`` and ``search``.

        Examples
        --------
        >>> from tvselect import ThompsonSelector
        >>> selector = ThompsonSelector().set_params(reward__n_trees=50, search__patience=100)
        >>> selector.reward.n_trees, selector.search.patience
        (50, 100)
        """
        of_reward = any(name.startswith("reward__") for name in params)
        reward = params.get("reward", self.reward)
        if of_reward and (reward is None or isinstance(reward, str)):
            has_decoys = params.get("max_fdr", self.max_fdr) is not None and not self.is_stream
            params = {"reward": as_reward(reward, has_decoys), **params}
        if self.search is None and any(name.startswith("search__") for name in params):
            params = {"search": Search(), **params}
        return super().set_params(**params)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = as_reward(self.reward).takes_missing
        return tags

    def _repr_html_(self) -> str:
        """What was found, and the parameters."""
        found = to_html(self) if hasattr(self, "result_") else ""
        return found + estimator_html_repr(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _result(self, search: SearchRun, reason: StopReason | None, **asked: Any) -> SearchResult:
        """What was done and found."""
        assert reason is not None
        asked["groups"], asked["order"] = self._rows_told
        asked = {"patience": self._search.patience, "time_limit": self.time_limit, **asked}
        return search.result(reason, **asked)

    def _show(self, result: SearchResult) -> None:
        """Make attributes of what was found."""
        layout, self.result_ = result.layout, result
        self.stop_reason_ = result.stop_reason
        self.n_plays_ = result.n_plays
        self.threshold_ = layout.by_feature(result.thresholds(), 0.0)
        self.support_ = result.support
        self.q_values_ = layout.by_feature(result.q_values(), 0.0)
        self.expected_false_ = result.expected_false
        self.ranking_ = result.ranking
        self.selection_rates_ = layout.by_feature(result.means(arms=result.candidates), 1.0)
        self.selection_rate_intervals_ = np.column_stack(
            [layout.by_feature(bound, 1.0) for bound in result.intervals(result.candidates).T]
        )
        self.chain_supports_ = result.chain_supports
        self.chain_agreement_ = result.chain_agreement
        self.selection_rate_spread_ = layout.by_feature(result.spread, 0.0)

    def to_frame(
        self, X: Any = None, y: Any = None, *, groups: ArrayLike | str | None = None
    ) -> Any:
        """What was found about every column, as a pandas data frame, the best on top.

        Its index is the number of the column, so that ``sort_index()`` brings back the order
        of the table.

        Parameters
        ----------
        X, y : table and outcome, optional
            With the columns that the selector was fitted on; effects are then measured, by a model
            of at most 1,000 rows, in some seconds.
        groups : array-like (rows,) or str, optional
            Which rows of ``X`` belong together, as in :meth:`ThompsonSelector.fit`; by default the
            column that the fit was told of, if ``X`` has it.

        Returns
        -------
        pandas.DataFrame
            ``name``; ``selected``; ``q_value`` (NaN without decoys); ``selection_rate``
            with its 95 % interval from ``low`` to ``high``; ``times_played``; ``ranking``;
            ``claim``, the number of the claim that the column belongs to (1 is
            ``claims_[0]``), or ``<NA>``. Of a stream with error control also ``e_value`` and
            ``selected_since``, the batch since which the column is selected. With a table also
            ``effect``, how far the outcome moves with the column, or the chance of the class that
            ``of_class`` names, and ``direction``: up, down, valley, peak, unclear, or by
            category; of the selected and of the best of the others. Of columns that cannot be told
            apart, two have effects, each without the other.

        Raises
        ------
        ModuleNotFoundError
            Without pandas.

        Examples
        --------
        >>> import numpy as np
        >>> from tvselect import LassoReward, ThompsonSelector
        >>> X = np.random.default_rng(0).random((100, 5))
        >>> selector = ThompsonSelector(LassoReward(), n_plays=50, random_state=0)
        >>> frame = selector.fit(X, X[:, 3]).to_frame()
        >>> frame.name[3], int(frame.index[0]), bool(frame.selected[3])
        ('x3', 3, True)
        """
        order, found = feature_findings(self)
        frame = import_pandas().DataFrame(found).rename_axis("column")
        for name in {"claim", "selected_since"} & found.keys():
            frame[name] = frame[name].astype("Int64").mask(frame[name] == 0)
        if X is not None:
            from tvselect.after.dependence import find_effects

            effects = {effect.column: effect for effect in find_effects(self, X, y, groups)}
            for name, field in (("effect", "size"), ("direction",) * 2, ("of_class",) * 2):
                values = {column: getattr(effect, field) for column, effect in effects.items()}
                frame[name] = frame.index.map(values)
        return frame.take(order)

    @property
    def _search(self) -> Search:
        return Search() if self.search is None else self.search

    def _check_shared(self) -> None:
        """Refuse values that the parameters of both selectors cannot have."""
        if not isinstance(self.search, Search | None):
            raise TypeError(
                f"search must be a Search, such as Search(patience=100), got {self.search!r}"
            )
        check_scalar(self.verbose, "verbose", (Real, np.bool_))
        check_scalar(self._search.n_chains, "n_chains", Integral, min_val=1)
        check_count(self._search.patience, "patience")
        callbacks = self._search.callbacks
        if not (callbacks is None or callable(callbacks) or all(map(callable, callbacks))):
            raise TypeError(f"callbacks must be a function or several, got {callbacks!r}")
        check_count(self.n_features_to_select, "n_features_to_select")
        if (limit := self.time_limit) is not None:
            check_scalar(limit, "time_limit", Real, min_val=0.0, include_boundaries="neither")
            if math.isnan(limit):
                raise ValueError("time_limit must be a number of seconds, got nan")

    def _warn_of_end(self, stacklevel: int) -> None:
        """Warn that the run was interrupted, or ended before its first play."""
        if self.stop_reason_ is StopReason.INTERRUPTED:
            text = "interrupted; the result covers the plays so far"
            warnings.warn(text, InterruptWarning, stacklevel=stacklevel + 1)
        if self.stop_reason_ is StopReason.TIME_LIMIT and self.n_plays_ == 0:
            warnings.warn(
                f"the time limit of {self.time_limit:g} s was over before the first play: nothing "
                "was learned, so nothing is selected; give it more time",
                RuntimeWarning,
                stacklevel=stacklevel + 1,
            )

    def _refuse_no_target(self, y: Any) -> None:
        if y is None:
            name = type(self).__name__
            raise ValueError(
                f"This {name} estimator requires y to be passed, but the target y is None."
            )


def as_reward(
    reward: Reward | Callable[..., ArrayLike] | str | None, has_decoys: bool = False
) -> Reward:
    """The reward that a setting stands for: a rule, its name, or a function; None is "bart"."""
    if reward is None or reward == "bart":
        return BartReward.with_decoys() if has_decoys else BartReward()
    if isinstance(reward, str):
        from tvselect import rewards

        if reward not in REWARDS:
            known = ", ".join(map(repr, ("bart", *REWARDS)))
            raise ValueError(
                f"reward must be a Reward, a function or one of {known}; got {reward!r}"
            )
        found: Reward = getattr(rewards, REWARDS[reward])()
        return found
    return reward if isinstance(reward, Reward) else FunctionReward(reward)


def check_count(value: Any, name: str) -> None:
    """Refuse what is neither None nor a whole number from 1 on."""
    if value is not None:
        check_scalar(value, name, Integral, min_val=1)


def _mixin() -> Any:
    from sklearn.feature_selection import SelectorMixin

    return SelectorMixin
