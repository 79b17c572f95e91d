"""From a fitted selector, and the table if it is at hand, to the findings of a report."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs import Table, read_outcome
from tvselect.inputs.outcome import Family, Outcome
from tvselect.inputs.rows import sample_rows
from tvselect.plotting.arms import FittedArms, decoy_name, fitted_arms
from tvselect.plotting.dependence import DependenceForest
from tvselect.report.control import best_unselected, control_of, joint_claims, variable_name
from tvselect.report.dependence import MOST_SHOWN, partial_dependence
from tvselect.report.findings import (
    About,
    Findings,
    LookAlike,
    OutcomeKind,
    ReportedVariable,
    Resemblance,
)
from tvselect.report.interactions import report_interactions
from tvselect.report.lookalikes import ALIKE, chance_level, find_lookalikes
from tvselect.report.names import readable, shown
from tvselect.seeds import RandomState, as_generator
from tvselect.selectors.results import History, fitted_history
from tvselect.selectors.worth import Worth
from tvselect.sources.addresses import without_secrets
from tvselect.words import counted

if TYPE_CHECKING:
    from tvselect.plotting.arms import Fit

MOST_DRAWN, MOST_DECOYS, MOST_MEMBERS = 100, 5, 20
MOST_ROWS, MOST_STEPS = 1000, 200
MOST_CHOSEN, MOST_COMPARED = 100, 30
KINDS: Mapping[Family, OutcomeKind] = {
    "gaussian": "continuous",
    "probit": "two classes",
    "classes": "classes",
    "ordinal": "grades",
    "counts": "counts",
    "survival": "survival times",
}
PACKAGES = ("tvselect", "numpy", "scipy", "scikit-learn")
NO_TABLE = "The table was not at hand when this report was written."


def gather(
    selector: Fit,
    X: Any = None,
    y: Any = None,
    *,
    title: str | None = None,
    target: str = "y",
    about: About | None = None,
    notes: Sequence[str] = (),
    worth: Worth | None = None,
    random_state: RandomState = None,
) -> Findings:
    """Gather what the report of a run shows.

    Parameters
    ----------
    selector : ThompsonSelector, StreamingThompsonSelector or ThompsonFit
        Fitted.
    X, y : table and outcome, optional
        With the columns that the selector was fitted on, or for a stream a sample of its
        rows. Without them, partial dependence and look-alikes are left out.
    title : str, optional
        Of the page.
    target : str, default="y"
        What the outcome is called.
    about : About, optional
        Where the run comes from: table, command, folder, and more by label.
    notes : sequence of str
        Decisions about the table, one sentence each.
    worth : Worth, optional
        How well the selected columns predict, see :func:`tvselect.held_out_worth`.
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
    history, arms = fitted_history(selector), fitted_arms(selector, MOST_DECOYS)
    rng = as_generator(random_state)
    drawn = _worth_drawing(arms)
    n_plays = history.n_plays
    steps = np.unique(np.linspace(0, n_plays, min(MOST_STEPS, n_plays + 1)).astype(np.int64))
    played, rewarded = history.sizes(steps)
    target = readable(target) or "the outcome"
    table = None
    if X is not None:
        is_named = hasattr(selector, "feature_names_in_")
        table, y = sample_rows(
            X,
            y,
            history.names,
            named=is_named,
            most=MOST_ROWS,
            rng=rng,
            family=history.asked.family,
        )
    outcome, note = _read_outcome(history, y)
    chosen = _chosen_columns(history, arms)
    forest, dependence_note = _forest(table, outcome, note, chosen, rng)
    dependence, effects = (
        ((), ()) if forest is None else partial_dependence(forest, _shown(history, chosen))
    )
    resemblances, resemblance_note = _lookalikes(history, arms, table, chosen)
    classes = () if outcome is None or outcome.classes is None else outcome.classes
    agreement = history.chain_agreement
    about = about or About()
    return Findings(
        title=readable(title or f"What matters for {target}"),
        target=target,
        outcome="unknown" if outcome is None else KINDS[outcome.family],
        classes=tuple(readable(label, 40) for label in classes),
        n_columns=len(history.names),
        n_variables=history.layout.n_candidates,
        n_selected=int(arms.selected.sum()),
        n_unplayed=int((~arms.decoys & ~arms.played).sum()),
        n_plays=n_plays,
        n_skipped=history.n_skipped if history.asked.is_stream else 0,
        n_chains=history.n_chains,
        seconds=history.seconds,
        stop_reason=history.stop_reason,
        asked=replace(history.asked, reward=_without_addresses(history.asked.reward)),
        agreement=agreement if np.isfinite(agreement) else None,
        control=control_of(selector),
        claims=joint_claims(selector),
        best=best_unselected(selector),
        variables=tuple(_variables(selector, drawn, history.paths(drawn.arms, steps))),
        always=_shown(history, np.flatnonzero(history.arm_of_feature < 0)[:MOST_DRAWN]),
        steps=tuple(steps.tolist()),
        played=tuple(played.tolist()),
        rewarded=tuple(rewarded.tolist()),
        dependence=dependence,
        dependence_note=dependence_note,
        effects=effects,
        worth=worth,
        interactions=report_interactions(getattr(selector, "interactions_", ()), forest),
        resemblances=resemblances,
        resemblance_note=resemblance_note,
        notes=tuple(map(readable, notes)),
        about=About(
            _fit_to_tell(about.table),
            _fit_to_tell(about.command),
            readable(about.folder),
            {readable(label): _fit_to_tell(text) for label, text in about.more.items()},
        ),
        settings="" if "Settings" in about.more else _without_addresses(str(selector)),
        versions={
            "Python": f"{platform.python_version()} on {platform.system()}",
            **{name: version(name) for name in PACKAGES},
        },
    )


def _worth_drawing(arms: FittedArms) -> FittedArms:
    """Selected arms, and played ones and decoys that lead; not too many of them."""
    falling = np.argsort(-arms.rates, kind="stable")
    decoys = falling[arms.decoys[falling]]
    room = MOST_DRAWN - decoys.size
    selected = falling[arms.selected[falling]][:room]
    others = falling[(arms.played & ~arms.selected & ~arms.decoys)[falling]]
    return arms.take(np.concatenate([selected, others[: room - selected.size], decoys]))


def _variables(
    selector: Fit, drawn: FittedArms, paths: NDArray[np.float64]
) -> Iterable[ReportedVariable]:
    history = selector.history_
    e_values, since = (getattr(selector, name, None) for name in ("e_values_", "selected_since_"))
    for place, path in enumerate(paths.T.round(4).tolist()):
        arm, column = int(drawn.arms[place]), int(drawn.features[place])
        is_decoy, is_selected = bool(drawn.decoys[place]), bool(drawn.selected[place])
        members = np.flatnonzero(history.arm_of_feature == arm)[: MOST_MEMBERS + 1]
        name = variable_name(history, arm, column)
        if is_decoy:
            (original,), (copy,) = history.layout.origins(drawn.arms[place : place + 1])
            name = variable_name(history, int(original), column)
            name = decoy_name(name, int(copy), history.layout.n_copies)
        low, high = drawn.intervals[place].tolist()
        yield ReportedVariable(
            name=name,
            role="decoy" if is_decoy else "selected" if is_selected else "unselected",
            selection_rate=float(drawn.rates[place]),
            low=low,
            high=high,
            threshold=float(drawn.threshold[place]),
            n_played=int(drawn.times_played[place]),
            n_chains=0 if is_decoy else int(history.chain_supports[:, column].sum()),
            q_value=_known(drawn.q_values[place]),
            e_value=None if is_decoy or e_values is None else _known(e_values[column]),
            selected_since=int(since[column]) if is_selected and since is not None else None,
            members=_shown(history, members) if members.size > 1 else (),
            path=tuple(path),
        )


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _read_outcome(history: History, y: Any) -> tuple[Outcome | None, str]:
    """The outcome of the rows at hand, or why there is none."""
    if y is None:
        return None, NO_TABLE
    try:
        return read_outcome(y, len(y), family=history.asked.family), ""
    except (TypeError, ValueError) as error:
        return None, f"It could not be worked out from the rows at hand: {readable(error)}."


def _chosen_columns(history: History, arms: FittedArms) -> NDArray[np.int64]:
    """Columns of the selected arms by falling selection rate, then those always included."""
    falling = np.argsort(-arms.rates, kind="stable")
    selected = falling[arms.selected[falling]][:MOST_CHOSEN]
    places = [np.flatnonzero(history.arm_of_feature == arm) for arm in (*selected, -1)]
    return np.concatenate(places)[:MOST_CHOSEN]


def _forest(
    table: Table | None,
    outcome: Outcome | None,
    note: str,
    chosen: NDArray[np.int64],
    rng: np.random.Generator,
) -> tuple[DependenceForest | None, str]:
    """A forest on the chosen columns and what it was fitted to, or why there is none."""
    if chosen.size == 0:
        return None, "There is no selected variable to look at."
    if table is None or outcome is None:
        return None, note or NO_TABLE
    try:
        forest = DependenceForest(table, outcome, chosen.tolist(), rng)
    except ValueError as error:
        return None, f"No model could be fitted to the rows at hand: {readable(error)}."
    more = f"; the first {MOST_SHOWN} are shown" if chosen.size > MOST_SHOWN else ""
    note = f"By a model of the selected variables, on {table.n_rows:,} rows{more}."
    if n := forest.n_pulled_in:
        held = f"{counted(n, 'outlier')} {'counts' if n == 1 else 'count'}"
        note += f" {held} as five robust standard deviations from the median."
    return forest, note


def _lookalikes(
    history: History, arms: FittedArms, table: Table | None, chosen: NDArray[np.int64]
) -> tuple[tuple[Resemblance, ...], str]:
    """Look-alikes of the chosen columns, and how they were found, or why not."""
    if table is None:
        return (), NO_TABLE
    columns = chosen[history.arm_of_feature[chosen] >= 0][:MOST_COMPARED]
    if columns.size == 0:
        return (), "There is no selected variable to compare with."

    def lookalike(column: int, correlation: float) -> LookAlike:
        arm = history.arm_of_feature[column]
        rate = float(arms.rates[arm]) if arms.times_played[arm] else None
        return LookAlike(shown(history.names[column], column), correlation, rate)

    candidates = np.flatnonzero(~history.support)
    matches = find_lookalikes(table, columns, candidates)
    found = tuple(
        Resemblance(name, tuple(lookalike(*match) for match in alike))
        for name, alike in zip(_shown(history, columns), matches, strict=True)
        if alike
    )
    chance = chance_level(table.n_rows, candidates.size)
    return found, (
        f"{'' if found else 'Nothing: no other column resembles a selected one. '}Shown are "
        f"resemblances of {ALIKE:g} or more, on {table.n_rows:,} rows; columns of text are not "
        f"compared. Among {counted(candidates.size, 'unrelated column')} the strongest would "
        f"reach about {chance:.2f} by chance."
    )


def _shown(history: History, columns: NDArray[np.int64]) -> tuple[str, ...]:
    return tuple(shown(history.names[j], j) for j in columns.tolist())


def _without_addresses(text: str) -> str:
    """Without the addresses of functions in memory, which help nobody."""
    return _fit_to_tell(re.sub(r" at 0x[0-9a-fA-F]+", "", text))


def _fit_to_tell(text: str) -> str:
    """Without the secrets of the addresses of tables and clusters in it."""
    return readable(without_secrets(text))
