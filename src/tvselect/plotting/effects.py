"""What features do to the outcome: one as a curve or points, two together as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from tvselect.after.dependence import Dependence, JointEffect, Scale, joint_effect
from tvselect.inputs.errors import needed
from tvselect.plotting.canvas import BLUE, FONT_SIZE, HOW, axes_on, clean
from tvselect.words import level, readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from tvselect.plotting.rates import Selector

LONGEST_NAME, LONGEST_LABEL = 24, 14
WIDEST_LABELS = 36


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
        """Draw a ``pair`` on ``ax``; ``selector``, ``X``, ``y`` as in :func:`joint_effect`."""
        return cls(joint_effect(selector, X, y, pair)).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on new axes."""
        effect = self.effect
        self.figure_, self.ax_ = axes_on(ax, 5.5, 4.5)
        edges = _edges(effect.first), _edges(effect.second)
        style: dict[str, Any] = dict(cmap="viridis", edgecolors="face", linewidth=0.2)
        mesh = self.ax_.pcolormesh(*edges, effect.mean.T, gid="heat-cells", **style)
        bar = self.figure_.colorbar(mesh, ax=self.ax_)
        bar.set_label(readable(effect.outcome, 40), fontsize=FONT_SIZE + 1, parse_math=False)
        bar.ax.tick_params(labelsize=FONT_SIZE)
        first, second = (readable(name, LONGEST_NAME) for name in effect.names)
        self.ax_.set_xlabel(first, parse_math=False)
        self.ax_.set_ylabel(second, parse_math=False)
        q = "" if effect.q_value is None else f" (q = {level(effect.q_value)})"
        title = f"{first} x {second}{q}"
        self.ax_.set_title(title, fontsize=FONT_SIZE + 2, parse_math=False)
        clean(self.ax_)
        for scale, axis in zip(effect[1:3], (self.ax_.xaxis, self.ax_.yaxis), strict=True):
            if scale.is_date and not scale.labels:
                _show_dates(axis)
        if effect.first.labels:
            _name_places(self.ax_, effect.first.at, effect.first.labels)
        if effect.second.labels:
            labels = [readable(label, LONGEST_LABEL) for label in effect.second.labels]
            self.ax_.set_yticks(effect.second.at, labels, parse_math=False)
        return self


def plot_dependence(dependence: Dependence, ax: Axes) -> None:
    """Draw how the outcome depends on one feature, with a band of 90 %; numbers as a curve."""
    at, mean, low, high = dependence.at, dependence.mean, dependence.low, dependence.high
    if dependence.labels:
        ax.vlines(at, low, high, color=BLUE, alpha=0.6, lw=1.6)
        ax.plot(at, mean, "o", color=BLUE, ms=5.5, gid="curve-points")
        _name_places(ax, at, dependence.labels)
        ax.set_xlim(-0.5, len(at) - 0.5)
    else:
        ax.fill_between(at, low, high, color=BLUE, alpha=0.2, lw=0)
        ax.plot(at, mean, color=BLUE, lw=1.8)
        ax.plot(at, mean, "o", color=BLUE, ms=14, alpha=0, gid="curve-points")  # to point at
        ax.margins(x=0)
        if dependence.is_date:
            _show_dates(ax.xaxis)
    clean(ax)


def _show_dates(axis: Axis) -> None:
    """Name days since 1970-01-01 by the calendar."""
    dates = needed("matplotlib.dates", HOW)
    days = dates.AutoDateLocator(minticks=3, maxticks=6)
    axis.set_major_locator(days)
    axis.set_major_formatter(dates.ConciseDateFormatter(days))


def _name_places(ax: Axes, at: Sequence[float] | NDArray[Any], labels: Sequence[str]) -> None:
    """Labels below the places of values, slanted where they would touch each other."""
    shown = [readable(label, LONGEST_LABEL) for label in labels]
    ax.set_xticks(at, shown, parse_math=False)
    if sum(len(label) + 2 for label in shown) > WIDEST_LABELS:
        for tick in ax.get_xticklabels():
            tick.set(rotation=35, ha="right", rotation_mode="anchor")


def _edges(scale: Scale) -> NDArray[np.float64]:
    """Where cells begin and end: halfway between values, or one wide each around places."""
    at = np.array(scale.at)
    if scale.labels or at.size == 1:
        return np.append(at, at[-1] + 1.0) - 0.5
    return np.concatenate([at[:1], (at[1:] + at[:-1]) / 2, at[-1:]])
