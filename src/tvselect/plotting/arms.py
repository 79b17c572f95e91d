"""What a fitted selector found, one entry per arm: what all figures start from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tvselect.bandit.oracle import threshold

if TYPE_CHECKING:
    from tvselect.selectors import ThompsonSelector
    from tvselect.selectors.history import History

Highlight = Sequence[str] | Sequence[int] | NDArray[Any]


class FittedArms(NamedTuple):
    """Arms of a fit; columns that are always included are none.

    Attributes
    ----------
    names : tuple of str
        An arm of one column has its name, one of several the label of their group.
    probabilities : float64 array (arms,)
    intervals : float64 array (arms, 2)
        95 %.
    selected : bool array (arms,)
    threshold : float64 array (arms,)
    features : int64 array (arms,)
        The first column of each.
    """

    names: tuple[str, ...]
    probabilities: NDArray[np.float64]
    intervals: NDArray[np.float64]
    selected: NDArray[np.bool_]
    threshold: NDArray[np.float64]
    features: NDArray[np.int64]


def fitted_arms(selector: ThompsonSelector) -> FittedArms:
    """Read the arms off a fitted selector.

    Raises
    ------
    sklearn.exceptions.NotFittedError

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect import LassoReward, ThompsonSelector
    >>> X = np.random.default_rng(0).random((100, 4))
    >>> selector = ThompsonSelector(LassoReward(), n_plays=20, groups={"pair": [1, 2]})
    >>> fitted_arms(selector.fit(X, X[:, 3])).names
    ('x0', 'pair', 'x3')
    """
    check_is_fitted(selector, ["history_", "support_"])
    arm_of_feature = selector.history_.arm_of_feature
    arms, features = np.unique(arm_of_feature, return_index=True)
    features = features[arms >= 0]
    c = np.asarray(threshold(np.asarray(selector.cost, dtype=np.float64)))
    return FittedArms(
        names=_names(selector, features),
        probabilities=selector.inclusion_probabilities_[features],
        intervals=selector.inclusion_intervals_[features],
        selected=selector.support_[features],
        threshold=np.broadcast_to(c, arm_of_feature.shape)[features],
        features=features,
    )


def find_arms(highlight: Highlight, arms: FittedArms, history: History) -> NDArray[np.int64]:
    """The arms that names, indices, a mask or labels of groups stand for, each once.

    Examples
    --------
    >>> find_arms(["pair", "x2", 0], fitted_arms(selector), selector.history_)  # doctest: +SKIP
    array([1, 0])
    """
    n = len(history.names)
    items: list[Any] = np.atleast_1d(np.asarray(highlight, dtype=object)).tolist()
    if items and all(isinstance(item, bool | np.bool_) for item in items):
        if len(items) != n:
            raise ValueError(f"highlight is a mask of length {len(items)}; X has {n} columns")
        items = np.flatnonzero(items).tolist()
    found: list[int] = []
    for item in items:
        if isinstance(item, str) and item in history.names:
            arm = int(history.arm_of_feature[history.names.index(item)])
        elif isinstance(item, str) and item in arms.names:
            arm = arms.names.index(item)
        elif isinstance(item, int | np.integer) and 0 <= item < n:
            arm = int(history.arm_of_feature[item])
        else:
            raise ValueError(
                f"highlight has {item!r}; it takes names of columns or groups, or indices from "
                f"0 to {n - 1}"
            )
        if arm < 0:
            raise ValueError(f"{item!r} is always included: it is no arm and has no path")
        found.append(arm)
    return np.array(list(dict.fromkeys(found)), dtype=np.int64)


def chain_ends(history: History, chain: int) -> NDArray[np.float64]:
    """Inclusion probabilities of all arms after the last play of a chain."""
    n_arms = int(history.arm_of_feature.max()) + 1
    paid, unpaid = np.zeros(n_arms), np.zeros(n_arms)
    for play in history.journal.plays(chain):
        paid[play.arms] += play.rewards
        unpaid[play.arms] += ~play.rewards
    a, b = history.prior
    return (a + paid) / (a + b + paid + unpaid)


def _names(selector: ThompsonSelector, features: NDArray[np.int64]) -> tuple[str, ...]:
    history = selector.history_
    label_of: dict[int, object] = {}
    if isinstance(selector.groups, Mapping):
        for label, members in selector.groups.items():
            for member in members:
                place = history.names.index(member) if isinstance(member, str) else int(member)
                label_of[place] = label
    elif selector.groups is not None:
        label_of = dict(enumerate(selector.groups))
    played = history.arm_of_feature[history.arm_of_feature >= 0]
    sizes = np.bincount(played)
    return tuple(
        str(history.names[j]) if size == 1 else _group_name(label_of[int(j)])
        for j, size in zip(features, sizes, strict=True)
    )


def _group_name(label: object) -> str:
    return label if isinstance(label, str) else f"group {label}"
