"""Two features that act together: a heat map of the outcome over both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs import read_outcome
from tvselect.inputs.rows import sample_rows
from tvselect.plotting.canvas import FONT_SIZE, axes_on, clean
from tvselect.plotting.effects import JointEffect, cell_edges
from tvselect.plotting.labels import level, shorten
from tvselect.seeds import RandomStream
from tvselect.selectors.results import fitted_history

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tvselect.plotting.arms import Selector
    from tvselect.selectors.results import History

MOST_ROWS = 1000
LONGEST_NAME, LONGEST_LABEL = 24, 14


def joint_effect(
    selector: Selector, X: Any, y: Any, pair: Sequence[str] | Sequence[int] | None = None
) -> JointEffect:
    """How the outcome depends on two selected features together.

    Partial dependence by a forest on the selected columns, of at most 1,000 rows: both features
    are set to every pair of about 13 quantiles, or of the values if there are few, and the
    predictions are averaged.

    Parameters
    ----------
    selector : ThompsonSelector or StreamingThompsonSelector
        Fitted.
    X, y : table and outcome
        With the columns that the selector was fitted on.
    pair : two names or column numbers, optional
        By default, the pair of ``selector.interactions_`` with the lowest q-value.

    Raises
    ------
    ValueError
        When no interaction was found and no pair is named, or when a pair is not two selected
        columns.

    Examples
    --------
    >>> from tvselect import LassoReward, ThompsonSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (200, 5))
    >>> y = X[:, 0] + X[:, 1] + 3 * X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=200)
    >>> selector = ThompsonSelector(LassoReward(), n_plays=30, random_state=0).fit(X, y)
    >>> effect = joint_effect(selector, X, y)
    >>> effect.names, effect.q_value
    (('x0', 'x1'), 0.05)
    >>> effect.mean.round() + 0
    array([[0., 1.],
           [1., 5.]])
    """
    from tvselect.plotting.dependence import DependenceForest

    history = fitted_history(selector)
    found = {pair.columns: pair.q_value for pair in getattr(selector, "interactions_", ())}
    if pair is None and not found:
        raise ValueError("no interaction was found: name a pair")
    columns = next(iter(found)) if pair is None else _selected_pair(pair, history)
    rng = RandomStream.JOINT_EFFECT.generator(history.asked.seed)
    is_named = hasattr(selector, "feature_names_in_")
    family = history.asked.family
    table, target = sample_rows(
        X, y, history.names, named=is_named, most=MOST_ROWS, rng=rng, family=family
    )
    outcome = read_outcome(target, table.n_rows, family=family)
    others = np.setdiff1d(np.flatnonzero(history.support), columns).tolist()
    forest = DependenceForest(table, outcome, [*columns, *others], rng)
    effect = forest.joint_effect(*columns)
    name = str(getattr(y, "name", None) or "y") if effect.outcome == "y" else effect.outcome
    return effect._replace(outcome=name, q_value=found.get((min(columns), max(columns))))


class InteractionDisplay:
    """Figure of how the outcome depends on two features together.

    Where the effects of both add up, all rows of the heat map show the same steps from left to
    right. Where they do not, the features act together.

    Parameters
    ----------
    effect : JointEffect

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> display = InteractionDisplay.from_estimator(selector, X, y)  # doctest: +SKIP
    >>> display.figure_.savefig("interaction.pdf")  # doctest: +SKIP
    """

    def __init__(self, effect: JointEffect) -> None:
        self.effect = effect

    @classmethod
    def from_estimator(
        cls,
        selector: Selector,
        X: Any,
        y: Any,
        pair: Sequence[str] | Sequence[int] | None = None,
        *,
        ax: Axes | None = None,
    ) -> Self:
        """Draw a pair of selected features; parameters as of :func:`joint_effect`.

        Parameters
        ----------
        selector : ThompsonSelector or StreamingThompsonSelector
            Fitted.
        X, y : table and outcome
            With the columns that the selector was fitted on.
        pair : two names or column numbers, optional
            By default, the pair of ``selector.interactions_`` with the lowest q-value.
        ax : matplotlib axes, optional
            To draw on; new ones by default.
        """
        return cls(joint_effect(selector, X, y, pair)).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on new axes."""
        effect = self.effect
        self.figure_, self.ax_ = axes_on(ax, 5.5, 4.5)
        across, up = (cell_edges(*cells) for cells in (effect.first, effect.second))
        mesh = self.ax_.pcolormesh(across, up, effect.mean.T, cmap="viridis", rasterized=True)
        bar = self.figure_.colorbar(mesh, ax=self.ax_)
        bar.set_label(shorten(effect.outcome), fontsize=FONT_SIZE + 1, parse_math=False)
        bar.ax.tick_params(labelsize=FONT_SIZE)
        first, second = (shorten(name, LONGEST_NAME) for name in effect.names)
        self.ax_.set_xlabel(first, parse_math=False)
        self.ax_.set_ylabel(second, parse_math=False)
        q = "" if effect.q_value is None else f" (q = {level(effect.q_value)})"
        title = f"{first} x {second}{q}"
        self.ax_.set_title(title, fontsize=FONT_SIZE + 2, parse_math=False)
        clean(self.ax_)
        if effect.first.labels:
            labels = [shorten(label, LONGEST_LABEL) for label in effect.first.labels]
            turn = 0 if sum(map(len, labels)) < 40 else 35
            self.ax_.set_xticks(effect.first.at, labels, parse_math=False, rotation=turn)
        if effect.second.labels:
            labels = [shorten(label, LONGEST_LABEL) for label in effect.second.labels]
            self.ax_.set_yticks(effect.second.at, labels, parse_math=False)
        return self


def _selected_pair(
    pair: Sequence[str] | Sequence[int] | NDArray[Any], history: History
) -> tuple[int, int]:
    """The columns of two names or numbers."""
    selected = np.flatnonzero(history.support).tolist()
    places = {str(history.names[j]): j for j in selected} | {j: j for j in selected}
    items = np.asarray(pair, dtype=object).ravel().tolist()
    columns = [places[item] for item in items if item in places]
    if not len(items) == len(set(columns)) == 2:
        raise ValueError(f"pair must be two selected columns, by name or number; got {pair!r}")
    return columns[0], columns[1]
