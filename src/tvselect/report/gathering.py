"""From a fitted selector, and the table if it is at hand, to the findings of a report."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs import as_generator
from tvselect.inputs.outcome import Outcome
from tvselect.inputs.seeds import RandomState
from tvselect.plotting.arms import FittedArms, fitted_arms, fitted_decoys
from tvselect.report.course import follow
from tvselect.report.dependence import MODEL
from tvselect.report.evidence import lookalikes_of, outcome_of, selected_columns, shapes_of
from tvselect.report.findings import Decoys, Findings, Variable
from tvselect.report.names import readable, shown
from tvselect.report.rows import sample_rows
from tvselect.selectors.features import decoy_name

if TYPE_CHECKING:
    from tvselect.plotting.arms import Selector

MOST_DRAWN, MOST_DECOYS, MOST_MEMBERS = 100, 30, 20
MOST_ROWS = 1000
KINDS: Mapping[str, Any] = {"gaussian": "continuous", "probit": "two classes"}
PACKAGES = ("tvselect", "numpy", "scipy", "numba", "scikit-learn")


def gather(
    selector: Selector,
    X: Any = None,
    y: Any = None,
    *,
    title: str | None = None,
    target: str = "y",
    about: Mapping[str, Any] | None = None,
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
    about : mapping, optional
        Label to text: settings, versions, fingerprint, seed, command. They come before what
        the selector itself knows, and replace it where labels are the same.
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
    every = fitted_arms(selector).join(fitted_decoys(selector))
    history = selector.history_
    rng = as_generator(random_state)
    drawn = _worth_drawing(every)
    course = follow(history, drawn)
    target = readable(target) or "the outcome"
    rows = None
    if X is not None:
        named = hasattr(selector, "feature_names_in_")
        rows = sample_rows(X, y, history.names, named=named, most=MOST_ROWS, rng=rng)
    outcome, outcome_note = outcome_of(selector, rows, y)
    chosen = selected_columns(selector, every)
    dependence, dependence_note = shapes_of(rows, outcome, outcome_note, chosen, rng)
    resemblances, resemblance_note = lookalikes_of(selector, every, rows, chosen)
    always = np.flatnonzero(history.arm_of_feature < 0)
    is_stream = hasattr(selector, "false_discovery_share_")
    header = history.journal.header
    settings = {} if header is None else header.settings
    return Findings(
        title=readable(title or f"What matters for {target}"),
        target=target,
        outcome="unknown" if outcome is None else KINDS[outcome.family],
        classes=_class_labels(outcome),
        n_rows=settings.get("n_rows"),
        batch_rows=settings.get("batch_size"),
        n_columns=len(history.names),
        n_variables=int((~every.decoys).sum()),
        n_selected=int(every.selected.sum()),
        n_unplayed=int((~every.decoys & ~every.played).sum()),
        unit="batch" if is_stream else "play",
        n_plays=int(selector.n_plays_),
        n_skipped=history.n_skipped if is_stream else 0,
        n_chains=history.n_chains,
        seconds=course.seconds,
        stop_reason=readable(selector.stop_reason_),
        agreement=_finite(selector.chain_agreement_),
        decoys=_decoys(selector),
        variables=_variables(selector, every, drawn, course.pi, course.n_played),
        always=tuple(shown(history.names[j], int(j)) for j in always[:MOST_DRAWN]),
        steps=tuple(map(int, course.steps)),
        played=tuple(map(float, course.played)),
        paid=tuple(map(float, course.paid)),
        dependence=dependence,
        dependence_note=dependence_note,
        resemblances=resemblances,
        resemblance_note=resemblance_note,
        notes=tuple(readable(note) for note in notes),
        about=_about(selector, about or {}, is_stream=is_stream),
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
    selector: Selector,
    every: FittedArms,
    drawn: NDArray[np.int64],
    paths: NDArray[np.float64],
    n_played: NDArray[np.int64],
) -> tuple[Variable, ...]:
    arm_of_feature, names = selector.history_.arm_of_feature, selector.history_.names
    made = []
    for place, arm in enumerate(drawn):
        column = int(every.features[arm])
        members = np.flatnonzero(arm_of_feature == arm)[: MOST_MEMBERS + 1]
        made.append(
            Variable(
                name=_shown_arm(every, int(arm), selector),
                role=_role(every, int(arm)),
                pi=float(every.probabilities[arm]),
                low=float(every.intervals[arm, 0]),
                high=float(every.intervals[arm, 1]),
                threshold=float(every.threshold[arm]),
                n_played=int(n_played[place]),
                n_chains=0 if every.decoys[arm] else int(selector.chain_supports_[:, column].sum()),
                members=tuple(shown(names[j], int(j)) for j in members) if members.size > 1 else (),
                path=tuple(float(value) for value in paths[:, place].round(4)),
            )
        )
    return tuple(made)


def _role(every: FittedArms, arm: int) -> Any:
    if every.decoys[arm]:
        return "decoy"
    return "selected" if every.selected[arm] else "unselected"


def _shown_arm(every: FittedArms, arm: int, selector: Selector) -> str:
    """The name of a column, of a group, or of the column that a decoy stands for."""
    history, column = selector.history_, int(every.features[arm])
    if every.decoys[arm]:
        return decoy_name(shown(history.names[column], column))
    if arm in history.labels:
        return readable(history.labels[arm], 120) or f"(group {arm})"
    return shown(history.names[column], column)


def _class_labels(outcome: Outcome | None) -> tuple[str, ...]:
    if outcome is None or outcome.classes is None:
        return ()
    return tuple(readable(label, 40) for label in outcome.classes)


def _decoys(selector: Selector) -> Decoys | None:
    if selector.history_.decoy_of.size == 0:
        return None
    share = _finite(getattr(selector, "false_discovery_share_", float("nan")))
    n_passed = int(getattr(selector, "n_decoys_selected_", 0))
    return Decoys(selector.history_.decoy_of.size, n_passed, 0.0 if share is None else share)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _about(
    selector: Selector, about: Mapping[str, Any], *, is_stream: bool
) -> tuple[tuple[str, str], ...]:
    """What the caller says, then what the selector knows of itself."""
    known: dict[str, Any] = dict(about)
    header = selector.history_.journal.header
    if header is not None:
        known.setdefault("Reward", header.settings.get("reward", ""))
        known.setdefault("Seed", header.entropy)
        # Without a journal, a stream's fingerprint leaves out the data.
        if not is_stream or selector.journal is not None:
            known.setdefault("Fingerprint of data and settings", header.fingerprint)
    known.setdefault("Settings", str(selector))
    known.setdefault("Partial dependence", MODEL)
    known.setdefault("Versions", ", ".join(f"{name} {version(name)}" for name in PACKAGES))
    known.setdefault("Python", f"{platform.python_version()} on {platform.system()}")
    # The address of a function in memory helps nobody.
    texts = {label: re.sub(r" at 0x[0-9a-fA-F]+", "", str(text)) for label, text in known.items()}
    return tuple((readable(label), readable(text)) for label, text in texts.items())
