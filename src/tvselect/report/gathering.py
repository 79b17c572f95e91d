"""From a fitted selector, and the table if it is at hand, to the findings of a report."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs import as_generator
from tvselect.inputs.outcome import Outcome
from tvselect.inputs.seeds import RandomState
from tvselect.plotting.arms import FittedArms, fitted_arms, fitted_history
from tvselect.report.evidence import lookalikes_of, outcome_of, selected_columns, shapes_of
from tvselect.report.findings import About, Decoys, Findings, ReportedVariable
from tvselect.report.names import readable, shown
from tvselect.report.rows import sample_rows
from tvselect.selectors.history import History
from tvselect.selectors.layout import decoy_name

if TYPE_CHECKING:
    from tvselect.plotting.arms import Selector

MOST_DRAWN, MOST_DECOYS, MOST_MEMBERS = 100, 30, 20
MOST_ROWS, MOST_STEPS = 1000, 200
KINDS: Mapping[str, Any] = {"gaussian": "continuous", "probit": "two classes"}
PACKAGES = ("tvselect", "numpy", "scipy", "numba", "scikit-learn")


def gather(
    selector: Selector,
    X: Any = None,
    y: Any = None,
    *,
    title: str | None = None,
    target: str = "y",
    about: About | None = None,
    notes: Sequence[str] = (),
    random_state: RandomState = None,
) -> Findings:
    """Gather what the report of a run shows.

    Parameters
    ----------
    selector : ThompsonSelector or StreamingThompsonSelector
        Fitted.
    X, y : table and outcome, optional
        With the columns that the selector was fitted on, or for a stream a sample of its
        rows. Without them, partial dependence and look-alikes are left out.
    title : str, optional
    target : str, default="y"
        What the outcome is called.
    about : About, optional
        Where the run comes from: table, command, folder, and more by label.
    notes : sequence of str
        Decisions about the table, one sentence each.
    random_state : None, int, SeedSequence or Generator
        For the sample of rows and the forest behind partial dependence.

    Returns
    -------
    Findings

    Raises
    ------
    sklearn.exceptions.NotFittedError
    ValueError
        When X has other columns than the selector was fitted on.

    Examples
    --------
    >>> from tvselect import LassoReward, ThompsonSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((100, 5))
    >>> selector = ThompsonSelector(LassoReward(), n_plays=20, random_state=0).fit(X, X[:, 3])
    >>> findings = gather(selector, target="price")
    >>> findings.title, findings.n_selected, findings.variables[0].name
    ('What matters for price', 1, 'x3')
    """
    history = fitted_history(selector)
    every = fitted_arms(history)
    rng = as_generator(random_state)
    drawn = _worth_drawing(every)
    n_plays = history.n_plays
    steps = np.unique(np.linspace(0, n_plays, min(MOST_STEPS, n_plays + 1)).astype(np.int64))
    played, paid = history.sizes(steps)
    target = readable(target) or "the outcome"
    rows = None
    if X is not None:
        named = hasattr(selector, "feature_names_in_")
        rows = sample_rows(X, y, history.names, named=named, most=MOST_ROWS, rng=rng)
    outcome, outcome_note = outcome_of(history, rows, y)
    chosen = selected_columns(history, every)
    dependence, dependence_note = shapes_of(rows, outcome, outcome_note, chosen, rng)
    resemblances, resemblance_note = lookalikes_of(history, every, rows, chosen)
    always = np.flatnonzero(history.arm_of_feature < 0)
    about = about or About()
    return Findings(
        title=readable(title or f"What matters for {target}"),
        target=target,
        outcome="unknown" if outcome is None else KINDS[outcome.family],
        classes=_class_labels(outcome),
        n_columns=len(history.names),
        n_variables=history.layout.n_candidates,
        n_selected=int(every.selected.sum()),
        n_unplayed=int((~every.decoys & ~every.played).sum()),
        n_plays=n_plays,
        n_skipped=history.n_skipped if history.asked.is_stream else 0,
        n_chains=history.n_chains,
        seconds=history.seconds,
        stop_reason=history.stop_reason,
        asked=replace(history.asked, reward=_readable_repr(history.asked.reward)),
        agreement=_finite(history.chain_agreement),
        decoys=_decoys(history),
        variables=_variables(history, every, drawn, history.paths(drawn, steps)),
        always=tuple(shown(history.names[j], int(j)) for j in always[:MOST_DRAWN]),
        steps=tuple(map(int, steps)),
        played=tuple(map(float, played)),
        paid=tuple(map(float, paid)),
        dependence=dependence,
        dependence_note=dependence_note,
        resemblances=resemblances,
        resemblance_note=resemblance_note,
        notes=tuple(readable(note) for note in notes),
        about=About(
            readable(about.table),
            readable(about.command),
            readable(about.folder),
            {readable(label): readable(text) for label, text in about.more.items()},
        ),
        settings=_readable_repr(str(selector)),
        versions={
            "Python": f"{platform.python_version()} on {platform.system()}",
            **{name: version(name) for name in PACKAGES},
        },
    )


def _worth_drawing(arms: FittedArms) -> NDArray[np.int64]:
    """Selected arms, played ones and decoys of the highest pi; not too many of them."""
    falling = np.argsort(-arms.probabilities, kind="stable")
    decoys = falling[arms.decoys[falling] & arms.played[falling]][:MOST_DECOYS]
    room = MOST_DRAWN - decoys.size
    selected = falling[arms.selected[falling]][:room]
    others = falling[(arms.played & ~arms.selected & ~arms.decoys)[falling]]
    return np.concatenate([selected, others[: room - selected.size], decoys])


def _variables(
    history: History, every: FittedArms, drawn: NDArray[np.int64], paths: NDArray[np.float64]
) -> tuple[ReportedVariable, ...]:
    arm_of_feature, names = history.arm_of_feature, history.names
    made = []
    for place, arm in enumerate(drawn):
        column = int(every.features[arm])
        members = np.flatnonzero(arm_of_feature == arm)[: MOST_MEMBERS + 1]
        made.append(
            ReportedVariable(
                name=_shown_arm(every, int(arm), history),
                role=_role(every, int(arm)),
                pi=float(every.probabilities[arm]),
                low=float(every.intervals[arm, 0]),
                high=float(every.intervals[arm, 1]),
                threshold=float(every.threshold[arm]),
                n_played=int(every.times_played[arm]),
                n_chains=0 if every.decoys[arm] else int(history.chain_supports[:, column].sum()),
                members=tuple(shown(names[j], int(j)) for j in members) if members.size > 1 else (),
                path=tuple(float(value) for value in paths[:, place].round(4)),
            )
        )
    return tuple(made)


def _role(every: FittedArms, arm: int) -> Any:
    if every.decoys[arm]:
        return "decoy"
    return "selected" if every.selected[arm] else "unselected"


def _shown_arm(every: FittedArms, arm: int, history: History) -> str:
    """The name of a column, of a group, or of the column that a decoy stands for."""
    column = int(every.features[arm])
    if every.decoys[arm]:
        return decoy_name(shown(history.names[column], column))
    if arm in history.labels:
        return readable(history.labels[arm], 120) or f"(group {arm})"
    return shown(history.names[column], column)


def _class_labels(outcome: Outcome | None) -> tuple[str, ...]:
    if outcome is None or outcome.classes is None:
        return ()
    return tuple(readable(label, 40) for label in outcome.classes)


def _decoys(history: History) -> Decoys | None:
    if history.decoy_of.size == 0:
        return None
    share = history.false_discovery_share
    return Decoys(history.decoy_of.size, history.n_decoys_selected, share)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _readable_repr(text: str) -> str:
    """Without the addresses of functions in memory, which help nobody."""
    return readable(re.sub(r" at 0x[0-9a-fA-F]+", "", text))
