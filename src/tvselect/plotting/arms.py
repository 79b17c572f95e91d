"""What a fitted selector found, one entry per arm: what all figures start from.

Only what ``fit`` left behind is read, never a parameter: these can change after ``fit``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from tvselect.selectors import StreamingThompsonSelector, ThompsonSelector
    from tvselect.selectors.history import History

    Selector: TypeAlias = ThompsonSelector | StreamingThompsonSelector

Highlight = Sequence[str] | Sequence[int] | NDArray[Any]
INTERVAL = (0.025, 0.975)


class FittedArms(NamedTuple):
    """Arms of a fit; columns that are always included are none.

    Attributes
    ----------
    names : tuple of str
        An arm of one column has its name, a group its label; a decoy is the knockoff of a
        column.
    probabilities : float64 array (arms,)
    intervals : float64 array (arms, 2)
        95 %.
    selected : bool array (arms,)
    threshold : float64 array (arms,)
    features : int64 array (arms,)
        The first column of each; of a decoy, the column it stands for.
    played : bool array (arms,)
        In any chain. The probability of an arm that was not is its prior's mean.
    decoys : bool array (arms,)
    """

    names: tuple[str, ...]
    probabilities: NDArray[np.float64]
    intervals: NDArray[np.float64]
    selected: NDArray[np.bool_]
    threshold: NDArray[np.float64]
    features: NDArray[np.int64]
    played: NDArray[np.bool_]
    decoys: NDArray[np.bool_]

    def take(self, arms: NDArray[np.intp]) -> Self:
        """Some of the arms, in that order."""
        taken: list[Any] = [values[arms] for values in self[1:]]
        return type(self)(tuple(self.names[arm] for arm in arms), *taken)

    def join(self, others: FittedArms) -> Self:
        """These and others."""
        pairs = zip(self[1:], others[1:], strict=True)
        joined: list[Any] = [np.concatenate(pair) for pair in pairs]
        return type(self)(self.names + others.names, *joined)


class Payoffs(NamedTuple):
    """How often arms were paid and not paid, the decoys last; less what is forgotten."""

    paid: NDArray[np.float64]
    unpaid: NDArray[np.float64]

    @property
    def played(self) -> NDArray[np.bool_]:
        """Which arms were played."""
        return (self.paid + self.unpaid) > 0


def fitted_arms(selector: Selector) -> FittedArms:
    """Read the arms off a fitted selector, without decoys.

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
    history = selector.history_
    arms, features = np.unique(history.arm_of_feature, return_index=True)
    features = features[arms >= 0]
    return FittedArms(
        names=_names(history, features),
        probabilities=selector.inclusion_probabilities_[features],
        intervals=selector.inclusion_intervals_[features],
        selected=selector.support_[features],
        threshold=selector.threshold_[features],
        features=features,
        played=pooled_payoffs(history).played[: features.size],
        decoys=np.zeros(features.size, dtype=np.bool_),
    )


def fitted_decoys(selector: Selector) -> FittedArms:
    """Read the decoys off a fitted selector, in the order of ``history_.decoy_of``.

    They have the thresholds of the columns they stand for, and are never selected.

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect import LassoReward, StreamingThompsonSelector
    >>> X = np.random.default_rng(0).random((400, 2))
    >>> selector = StreamingThompsonSelector(LassoReward(), batch_size=100, decoys="knockoffs")
    >>> fitted_decoys(selector.fit(X, X[:, 1])).names
    ('knockoff of x0', 'knockoff of x1')
    """
    check_is_fitted(selector, ["history_", "support_"])
    history = selector.history_
    features = history.decoy_of
    counts = pooled_payoffs(history)
    a, b = (values[count_arms(history) :] for values in _posterior(history, counts))
    return FittedArms(
        names=history.decoy_names,
        probabilities=a / (a + b),
        intervals=np.column_stack([betaincinv(a, b, q) for q in INTERVAL]),
        selected=np.zeros(features.size, dtype=np.bool_),
        threshold=selector.threshold_[features],
        features=features,
        played=counts.played[count_arms(history) :],
        decoys=np.ones(features.size, dtype=np.bool_),
    )


def find_arms(highlight: Highlight, arms: FittedArms, history: History) -> NDArray[np.int64]:
    """The arms that names, indices or a mask stand for, each once.

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
                f"highlight has {item!r}; it takes names of columns, or indices from 0 to {n - 1}"
            )
        if arm < 0:
            raise ValueError(f"{item!r} is always included: it is no arm and has no path")
        found.append(arm)
    return np.array(list(dict.fromkeys(found)), dtype=np.int64)


def count_arms(history: History) -> int:
    """Number of arms that are no decoys."""
    return int(history.arm_of_feature.max(initial=-1)) + 1


def payoffs(history: History, chain: int) -> Payoffs:
    """What a chain has counted up to its last play."""
    n = count_arms(history) + history.decoy_of.size
    counts = Payoffs(np.zeros(n), np.zeros(n))
    for play in history.journal.plays(chain):
        for values, more in zip(counts, (play.rewards, ~play.rewards), strict=True):
            values[play.arms] = history.discount * values[play.arms] + more
    return counts


def pooled_payoffs(history: History) -> Payoffs:
    """What all chains have counted together."""
    chains = [payoffs(history, chain) for chain in range(history.n_chains)]
    return Payoffs(*np.sum(chains, axis=0))


def chain_ends(history: History, chain: int) -> NDArray[np.float64]:
    """Inclusion probabilities of all arms after the last play of a chain, the decoys last."""
    a, b = _posterior(history, payoffs(history, chain))
    return a / (a + b)


def _posterior(
    history: History, counts: Payoffs
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    a, b = history.prior
    return a + counts.paid, b + counts.unpaid


def _names(history: History, features: NDArray[np.int64]) -> tuple[str, ...]:
    """Names of the arms: the user's label of a group, else the name of the column."""
    return tuple(
        history.labels.get(arm, str(history.names[first])) for arm, first in enumerate(features)
    )
