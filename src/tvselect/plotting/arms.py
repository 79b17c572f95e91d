"""What a fitted selector found, one entry per arm: what all figures start from.

Only what ``fit`` left behind is read, never a parameter: these can change after ``fit``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.table import find_feature
from tvselect.selectors.results import fitted_history

if TYPE_CHECKING:
    from tvselect.selectors import StreamingThompsonSelector, ThompsonSelector
    from tvselect.selectors.results import History

    Selector: TypeAlias = ThompsonSelector | StreamingThompsonSelector

Highlight = Sequence[str] | Sequence[int] | NDArray[Any]
MOST_DECOYS = 5


class FittedArms(NamedTuple):
    """Arms of a fit, of all chains together; columns that are always included are none."""

    #: An arm of one column has its name, a group its label; a decoy is that of an arm.
    names: tuple[str, ...]
    arms: NDArray[np.int64]  #: Their numbers
    rates: NDArray[np.float64]  #: Of an arm that was never played, its prior's mean
    intervals: NDArray[np.float64]  #: 95 %
    q_values: NDArray[np.float64]  #: NaN for decoys, and where none were played
    selected: NDArray[np.bool_]
    threshold: NDArray[np.float64]
    features: NDArray[np.int64]  #: The first column of each; of a decoy, the column it stands for
    times_played: NDArray[np.int32]
    decoys: NDArray[np.bool_]  #: They are the last, and never selected

    @property
    def played(self) -> NDArray[np.bool_]:
        """Arms that were played, in any chain."""
        return self.times_played > 0

    @property
    def kinds(self) -> dict[str, NDArray[np.bool_]]:
        """Which arms are of which kind; every arm is of one."""
        left = ~self.selected & ~self.decoys
        return {
            "selected": self.selected,
            "not selected": left & self.played,
            "not played": left & ~self.played,
            "decoys": self.decoys,
        }

    def take(self, places: NDArray[np.intp]) -> Self:
        """Some of the arms, in that order."""
        taken: list[Any] = [values[places] for values in self[1:]]
        return type(self)(tuple(self.names[place] for place in places), *taken)

    def best(self, top: int) -> Self:
        """The ``top`` arms in falling order, see :func:`tvselect.plotting.top_arms`."""
        if top < 1:
            raise ValueError(f"top must be at least 1, got {top!r}")
        return self.take(np.lexsort([self.decoys, ~self.selected, -self.rates, ~self.played])[:top])


def fitted_arms(selector: Selector, most_decoys: int = MOST_DECOYS) -> FittedArms:
    """All arms that can be selected, and behind them the leading decoys."""
    history = fitted_history(selector)
    layout, n = history.layout, history.layout.n_candidates
    decoys = history.leading_decoys(most_decoys)
    originals, copies = layout.origins(decoys)
    arms = np.append(np.arange(n), decoys)
    features = layout.first_features
    names = [layout.labels.get(arm, str(layout.names[j])) for arm, j in enumerate(features)]
    for arm, copy in zip(originals.tolist(), copies.tolist(), strict=True):
        names.append(decoy_name(names[arm], copy, layout.n_copies))
    return FittedArms(
        names=tuple(names),
        arms=arms,
        rates=history.means(arms=arms),
        intervals=history.intervals(arms),
        q_values=np.append(selector.q_values_[features], np.full(decoys.size, np.nan)),
        selected=history.selected()[arms],
        threshold=history.thresholds()[arms],
        features=np.append(features, features[originals]),
        times_played=history.times_played[arms],
        decoys=arms >= n,
    )


def decoy_name(name: str, copy: int, n_copies: int) -> str:
    """What the decoy of a variable is called, with its number where there are several."""
    return f"decoy {copy} of {name}" if n_copies > 1 else f"decoy of {name}"


def find_arms(highlight: Highlight, names: Sequence[str], history: History) -> NDArray[np.int64]:
    """The arms that names, indices or a mask stand for, each once; ``names`` are the arms'."""
    items: list[Any] = np.atleast_1d(np.asarray(highlight, dtype=object)).tolist()
    if items and all(isinstance(item, bool | np.bool_) for item in items):
        if len(items) != len(history.names):
            n = len(history.names)
            raise ValueError(f"highlight is a mask of length {len(items)}; X has {n} columns")
        items = np.flatnonzero(items).tolist()
    found: list[int] = []
    for item in items:
        if item in names and item not in history.names:
            arm = names.index(item)
        else:
            arm = int(history.arm_of_feature[find_feature(item, history.names, "highlight")])
        if arm < 0:
            raise ValueError(f"{item!r} is always included: it is no arm and has no path")
        found.append(arm)
    return np.array(list(dict.fromkeys(found)), dtype=np.int64)
