"""How far a selection can be believed: decoys, q-values, claims, and these in sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tvselect.plotting.labels import level
from tvselect.report.names import readable, shown

if TYPE_CHECKING:
    from tvselect.plotting.arms import Fit
    from tvselect.selectors.results import History

MOST_NAMES = 20
NOTHING = "Nothing here can be told from noise."
OFF = "Error control is off: how many of the selected are false is not known."


@dataclass(frozen=True)
class Control:
    """What is known about false selections."""

    max_fdr: float | None  #: Largest share of false ones that was asked for; None: no control
    expected_false: float | None  #: Expected number of false ones among the selected
    kind: str | None  #: Of the decoys
    n_decoys: int
    n_copies: int  #: Decoys of a variable
    n_above: int  #: Decoys above their threshold
    highest: float | None  #: The highest selection rate of a decoy that was played


@dataclass(frozen=True)
class JointClaim:
    """Variables that these rows cannot tell apart: at least one of them matters."""

    variables: tuple[str, ...]  #: The likeliest first; not more than can be read
    n_variables: int
    selection_rate: float  #: How often at least one of them proved useful
    q_value: float | None  #: None without decoys

    def __str__(self) -> str:
        more = self.n_variables - len(self.variables)
        return f"{', '.join(self.variables)}{f' and {more:,} more' if more else ''}"


@dataclass(frozen=True)
class Best:
    """The variable that came nearest to being selected."""

    name: str
    selection_rate: float
    q_value: float
    threshold: float


def control_of(fit: Fit) -> Control:
    """What a fit knows about its false selections."""
    history = fit.history_
    layout = history.layout
    leading = history.leading_decoys(1)
    expected = float(fit.expected_false_)
    return Control(
        max_fdr=history.max_fdr,
        expected_false=None if np.isnan(expected) else expected,
        kind=history.asked.decoys,
        n_decoys=layout.n_decoys,
        n_copies=layout.n_copies,
        n_above=int(np.count_nonzero(history.passing()[layout.n_candidates :])),
        highest=float(history.means(arms=leading[:1])[0]) if leading.size else None,
    )


def joint_claims(fit: Fit) -> tuple[JointClaim, ...]:
    """The claims that a fit makes about more than one variable, the surest first."""
    history = fit.history_
    found = []
    for claim in getattr(fit, "claims_", ()):
        first_of_arm: dict[int, int] = {}
        for column in claim.columns:
            first_of_arm.setdefault(int(history.arm_of_feature[column]), column)
        is_made = history.max_fdr is None or claim.q_value <= history.max_fdr
        names = [variable_name(history, *pair) for pair in first_of_arm.items()]
        if claim.shares:
            pairs = zip(claim.names, claim.shares, strict=True)
            names = [f"{name} ({share:.0%})" for name, share in pairs]
        if is_made and len(names) > 1:
            found.append(
                JointClaim(
                    tuple(names[:MOST_NAMES]),
                    len(names),
                    claim.selection_rate,
                    None if np.isnan(claim.q_value) else claim.q_value,
                )
            )
    return tuple(found)


def variable_name(history: History, arm: int, column: int) -> str:
    """What an arm is called on a page: by its label, or by its first column."""
    if arm in history.labels:
        return readable(history.labels[arm], 120) or f"(group {arm})"
    return shown(history.names[column], column)


def best_unselected(fit: Fit) -> Best | None:
    """The arm that came nearest to being selected; None without q-values, or if none is left."""
    history = fit.history_
    features = history.layout.first_features
    q = fit.q_values_[features]
    n = features.size
    played = (history.times_played[:n] > 0) & ~history.selected()[:n] & ~np.isnan(q)
    if not played.any():
        return None
    rates = history.means(arms=history.candidates)
    arm = int(np.lexsort([-rates, q, ~played])[0])
    name = variable_name(history, arm, int(features[arm]))
    return Best(name, float(rates[arm]), float(q[arm]), float(history.thresholds()[arm]))


def describe_false(n_selected: int, control: Control) -> str:
    """How many of the selected are false, as far as it is known.

    Examples
    --------
    >>> describe_false(5, Control(0.1, 0.3, "shuffled", 1000, 10, 2, 0.6))
    'Expected number of false ones among these 5: 0.3.'
    >>> describe_false(5, Control(None, None, None, 0, 0, 0, None))
    'Error control is off: how many of the selected are false is not known.'
    """
    if control.expected_false is None:
        return OFF
    found = f"{control.expected_false:.2g}."
    off = "" if control.max_fdr is not None else " No limit was set: error control is off."
    if n_selected == 1:
        return f"Expected number of false ones, with 1 selected: {found}{off}"
    return f"Expected number of false ones among these {n_selected:,}: {found}{off}"


def describe_nothing(control: Control, best: Best | None, n_rows: int | None) -> list[str]:
    """What would have been needed for a selection, where there is none.

    Examples
    --------
    >>> control = Control(0.1, 0.0, "shuffled", 2000, 10, 5, 0.98)
    >>> for sentence in describe_nothing(control, Best("x74", 0.53, 0.6, 0.5), 300):
    ...     print(sentence)
    The best variable, x74, has a q-value of 0.60; 0.10 or less was asked for.
    It proved useful in 0.53 of its plays, the best of 2,000 decoys in 0.98.
    A variable on its own has to be above every decoy, and above 0.5.
    With 300 rows, only stronger effects can be seen than there are here.
    """
    said = []
    if best is not None and control.max_fdr is not None:
        said.append(
            f"The best variable, {best.name}, has a q-value of {level(best.q_value)}; "
            f"{level(control.max_fdr)} or less was asked for."
        )
        is_enough = control.n_copies * control.max_fdr >= 1  # to be the highest of all
        if control.highest is not None and is_enough:
            said += [
                f"It proved useful in {best.selection_rate:.2f} of its plays, the best of "
                f"{control.n_decoys:,} decoys in {control.highest:.2f}.",
                "A variable on its own has to be above every decoy, and above "
                f"{best.threshold:.3g}.",
            ]
    rows = "these rows" if n_rows is None else f"{n_rows:,} rows"
    said.append(f"With {rows}, only stronger effects can be seen than there are here.")
    return said
