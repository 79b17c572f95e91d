"""What a fitted selector found, one entry per arm: what all figures start from.

Only what ``fit`` left behind is read, never a parameter: these can change after ``fit``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tvselect.selectors import StreamingThompsonSelector, ThompsonSelector
    from tvselect.selectors.history import History

    Selector: TypeAlias = ThompsonSelector | StreamingThompsonSelector

Highlight = Sequence[str] | Sequence[int] | NDArray[Any]


class FittedArms(NamedTuple):
    """Arms of a fit, of all chains together; columns that are always included are none."""

    #: An arm of one column has its name, a group its label; a decoy says of which column.
    names: tuple[str, ...]
    probabilities: NDArray[np.float64]  #: Of an arm that was never played, its prior's mean
    intervals: NDArray[np.float64]  #: 95 %
    selected: NDArray[np.bool_]
    threshold: NDArray[np.float64]
    features: NDArray[np.int64]  #: The first column of each; of a decoy, the column it stands for
    times_played: NDArray[np.int64]
    decoys: NDArray[np.bool_]  #: They are the last, and never selected

    @property
    def played(self) -> NDArray[np.bool_]:
        """Arms that were played, in any chain."""
        return self.times_played > 0

    def take(self, arms: NDArray[np.intp]) -> Self:
        """Some of the arms, in that order."""
        taken: list[Any] = [values[arms] for values in self[1:]]
        return type(self)(tuple(self.names[arm] for arm in arms), *taken)


def fitted_history(selector: Selector) -> History:
    """The read-out of a selector.

    Raises
    ------
    sklearn.exceptions.NotFittedError
    """
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(selector, "history_")
    return selector.history_


def fitted_arms(history: History) -> FittedArms:
    """All arms of a run, the decoys last.

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect import LassoReward, StreamingThompsonSelector
    >>> X = np.random.default_rng(0).random((400, 3))
    >>> selector = StreamingThompsonSelector(
    ...     LassoReward(), batch_size=50, groups={"pair": [0, 1]}, decoys="knockoffs"
    ... )
    >>> fitted_arms(selector.fit(X, X[:, 1]).history_).names
    ('pair', 'x2', 'decoy of pair', 'decoy of x2')
    """
    layout = history.layout
    arms, features = np.unique(layout.arm_of_feature, return_index=True)
    features = features[arms >= 0]
    labels, names = layout.labels, layout.names
    own = tuple(labels.get(arm, str(names[first])) for arm, first in enumerate(features))
    return FittedArms(
        names=own + layout.decoy_names,
        probabilities=history.means(),
        intervals=history.intervals,
        selected=history.selected(),
        threshold=history.thresholds(),
        features=np.concatenate([features, layout.decoy_of]),
        times_played=history.times_played,
        decoys=np.arange(layout.n_arms) >= layout.n_candidates,
    )


def find_arms(highlight: Highlight, names: Sequence[str], history: History) -> NDArray[np.int64]:
    """The arms that names, indices or a mask stand for, each once; ``names`` are the arms'.

    Examples
    --------
    >>> find_arms(["pair", "x2", 0], ("x0", "pair"), selector.history_)  # doctest: +SKIP
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
        elif isinstance(item, str) and item in names:
            arm = names.index(item)
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
