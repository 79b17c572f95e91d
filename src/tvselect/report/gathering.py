"""From a fitted selector, and the table if it is at hand, to the findings of a report."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tvselect.after import dependence
from tvselect.after.worth import Stability, Worth
from tvselect.inputs import Table, read_outcome
from tvselect.inputs.outcome import Family, Outcome
from tvselect.plotting.rates import FittedArms, decoy_name, fitted_arms
from tvselect.report import findings
from tvselect.report.findings import About, Best, Control, Findings, JointClaim
from tvselect.seeds import RandomState, as_generator
from tvselect.selectors.results import SearchResult, fitted_result
from tvselect.sources.addresses import without_secrets
from tvselect.words import LONGEST_NAME, column_name, counted, readable

if TYPE_CHECKING:
    from tvselect.plotting.rates import Selector

MOST_DRAWN, MOST_MEMBERS, MOST_NAMES = 100, 20, 20
MOST_STEPS, MOST_COMPARED, MOST_MAPS = 200, 30, 3
KINDS: Mapping[Family, findings.OutcomeKind] = {
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
    selector: Selector,
    X: Any = None,
    y: Any = None,
    *,
    title: str | None = None,
    target: str = "y",
    about: About | None = None,
    notes: Sequence[str] = (),
    worth: Worth | None = None,
    stability: Stability | None = None,
    groups: ArrayLike | str | None = None,
    left_out: Mapping[str, int] | None = None,
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
        Title of the page.
    target : str, default="y"
        Name of the outcome.
    about : About, optional
        Where the run comes from: table, command, folder, and more by label.
    notes : sequence of str
        Decisions about the table, one sentence each.
    worth : Worth, optional
        How well the selected columns predict, see :func:`tvselect.held_out_worth`.
    stability : Stability, optional
        What other seeds select, see :func:`tvselect.stability_over_seeds`.
    groups : array-like (rows,) or str, optional
        Which rows of ``X`` belong together, for the bands of partial dependence; by default the
        column that the fit was told of, if ``X`` has it.
    left_out : mapping of str to int, optional
        How many columns were left out before the fit, by the reason.
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
    result, arms = fitted_result(selector), fitted_arms(selector)
    target = readable(target) or "the outcome"
    about = about or About()
    rng = as_generator(random_state)
    table, whole, outcome, codes, why_not = _read_rows(selector, X, y, groups, rng)
    classes = () if whole is None or whole.classes is None else whole.classes
    shown = dependence.columns_to_show(selector)
    unit = "stretch" if groups is None and result.asked.groups is None else "group"
    forest, dependence_note = _fit_forest(table, outcome, codes, unit, why_not, shown, rng)
    is_told = (result.asked.groups, result.asked.order) != (None, None)
    if forest is not None and codes is None and is_told:
        dependence_note += (
            " Its bands take rows as independent, and are too narrow if they are not."
        )
    shapes, effects = ((), ()) if forest is None else dependence.partial_dependence(forest)
    if table is not None and outcome is not None:
        with suppress(ValueError):  # too few rows
            effects += dependence.runner_up_effects(shown, table, outcome, rng, codes)
    resemblances, resemblance_note = _resemblances(result, arms, table)
    n = result.n_plays
    steps = np.unique(np.linspace(0, n, min(MOST_STEPS, n + 1)).astype(np.int64))
    played, rewarded = result.sizes(steps)
    variables = tuple(_variables(selector, arms, steps))
    needed = (
        result.evidence_paths(np.empty(0, np.int64), steps)[1] if result.evidence else steps[:0]
    )
    agreement = result.chain_agreement
    return Findings(
        title=readable(title or f"What matters for {target}"),
        target=target,
        outcome="unknown" if whole is None else KINDS[whole.family],
        classes=tuple(readable(label, 40) for label in classes),
        summary=None if whole is None else _summarize(whole),
        left_out=dict(left_out or {}),
        n_columns=len(result.names),
        n_variables=result.layout.n_candidates,
        n_selected=int(arms.selected.sum()),
        n_unplayed=int((~arms.decoys & ~arms.played).sum()),
        n_plays=n,
        n_skipped=result.n_skipped if result.asked.is_stream else 0,
        n_chains=result.n_chains,
        seconds=result.seconds,
        stop_reason=result.stop_reason,
        asked=replace(
            result.asked,
            reward=_without_addresses(result.asked.reward),
            groups=result.asked.groups and readable(result.asked.groups, LONGEST_NAME),
            order=result.asked.order and readable(result.asked.order, LONGEST_NAME),
        ),
        agreement=agreement if np.isfinite(agreement) else None,
        control=control_of(selector),
        claims=joint_claims(selector),
        best=best_unselected(selector),
        variables=variables,
        always=_shown(result, np.flatnonzero(result.arm_of_feature < 0)[:MOST_DRAWN]),
        steps=tuple(steps.tolist()),
        needed=tuple(needed.round(3).tolist()),
        played=tuple(played.tolist()),
        rewarded=tuple(rewarded.tolist()),
        dependence=shapes,
        dependence_note=dependence_note,
        effects=effects,
        worth=worth,
        stability=stability,
        interactions=tuple(_interactions(selector, forest)),
        resemblances=resemblances,
        resemblance_note=resemblance_note,
        notes=tuple(map(readable, notes)),
        about=About(
            _without_secrets(about.table),
            _without_secrets(about.command),
            readable(about.folder),
            {readable(label): _without_secrets(text) for label, text in about.more.items()},
        ),
        settings="" if "Settings" in about.more else _without_addresses(str(selector)),
        versions={
            "Python": f"{platform.python_version()} on {platform.system()}",
            **{name: version(name) for name in PACKAGES},
        },
    )


def control_of(fit: Selector) -> Control:
    """What a fit knows about its false selections."""
    result = fit.result_
    layout = result.layout
    leading = result.leading_decoys(1)
    expected = float(fit.expected_false_)
    return Control(
        max_fdr=result.max_fdr,
        expected_false=None if np.isnan(expected) else expected,
        kind=result.asked.decoys,
        n_decoys=layout.n_decoys,
        n_played=int(np.count_nonzero(result.times_played[layout.n_candidates :])),
        n_copies=layout.n_copies,
        n_above=int(np.count_nonzero(result.passing()[layout.n_candidates :])),
        highest=float(result.means(arms=leading[:1])[0]) if leading.size else None,
        unproven=result.asked.unproven,
        second_opinion=result.opinion is not None,
    )


def joint_claims(fit: Selector) -> tuple[JointClaim, ...]:
    """The claims that a fit makes about more than one variable, the surest first."""
    result = fit.result_
    found = []
    for claim in getattr(fit, "claims_", ()):
        arms = dict.fromkeys(result.arm_of_feature[list(claim.columns)].tolist())
        names = [variable_name(result, arm) for arm in arms]
        if claim.shares:
            pairs = zip(claim.names, claim.shares, strict=True)
            names = [f"{name} ({share:.0%})" for name, share in pairs]
        is_made = result.max_fdr is None or claim.q_value <= result.max_fdr
        if is_made and len(names) > 1:
            shown, q = tuple(names[:MOST_NAMES]), _known(claim.q_value)
            found.append(JointClaim(shown, len(names), claim.selection_rate, q))
    return tuple(found)


def variable_name(result: SearchResult, arm: int) -> str:
    """What an arm is called on a page: by its label, or by its first column."""
    layout = result.layout
    if arm >= layout.n_candidates:
        (original,), (copy,) = layout.origins(np.array([arm]))
        return decoy_name(variable_name(result, int(original)), int(copy), layout.n_copies)
    if arm in layout.labels:
        return readable(layout.labels[arm], LONGEST_NAME) or f"(group {arm})"
    column = int(np.argmax(layout.arm_of_feature == arm))
    return column_name(result.names[column], column)


def best_unselected(fit: Selector) -> Best | None:
    """The arm that came nearest to being selected; None without q-values, or if none is left."""
    result = fit.result_
    features = result.layout.first_features
    q = fit.q_values_[features]
    n = features.size
    played = (result.times_played[:n] > 0) & ~result.selected()[:n] & ~np.isnan(q)
    if not played.any():
        return None
    rates = result.means(arms=result.candidates)
    arm = int(np.lexsort([-rates, q, ~played])[0])
    name = variable_name(result, arm)
    return Best(name, float(rates[arm]), float(q[arm]), float(result.thresholds()[arm]))


def _read_rows(
    selector: Selector, X: Any, y: Any, groups: Any, rng: np.random.Generator
) -> tuple[Table | None, Outcome | None, Outcome | None, NDArray[np.int32] | None, str]:
    """Some rows, the outcome of all and of these, their groups; and why something is missing."""
    result, table, codes, y_of_rows = selector.result_, None, None, y
    if X is not None:
        table, y_of_rows, codes = dependence.rows_of(selector, X, y, groups, rng)
    if y is None:
        return table, None, None, codes, NO_TABLE
    whole = None
    try:
        whole = read_outcome(y, len(y), family=result.asked.family)
        outcome = read_outcome(y_of_rows, len(y_of_rows), family=whole.family)
    except (TypeError, ValueError) as error:
        problem = f"The outcome of these rows cannot be read: {readable(error)}."
        return table, whole, None, codes, problem
    return table, whole, outcome, codes, NO_TABLE


def _summarize(outcome: Outcome) -> findings.OutcomeSummary:
    """What the outcome holds."""
    values, n = outcome.values, outcome.values.size
    if outcome.classes is not None:
        counts = np.bincount(values.astype(np.int64), minlength=len(outcome.classes))
        return findings.OutcomeSummary(n, None, (), tuple(counts.tolist()))
    if outcome.family == "survival":
        n_events = int(np.isfinite(outcome.times.upper).sum())
        return findings.OutcomeSummary(n, None, (), (n - n_events, n_events))
    quartiles = np.quantile(values, (0.25, 0.75)).tolist()
    return findings.OutcomeSummary(n, float(values.mean()), tuple(quartiles), ())


def _variables(
    selector: Selector, arms: FittedArms, steps: NDArray[np.int64]
) -> Iterator[findings.ReportedVariable]:
    """Selected arms, then played ones and decoys that lead; not too many of them."""
    falling = np.argsort(-arms.rates, kind="stable")
    decoys = falling[arms.decoys[falling]]
    room = MOST_DRAWN - decoys.size
    selected = falling[arms.selected[falling]][:room]
    others = falling[(arms.played & ~arms.selected & ~arms.decoys)[falling]]
    drawn = arms.take(np.concatenate([selected, others[: room - selected.size], decoys]))
    result = selector.result_
    paths = result.paths(drawn.arms, steps).T.round(4).tolist()
    evidence = np.empty((drawn.arms.size, 0))
    if result.evidence is not None:
        own = drawn.arms[~drawn.decoys]
        evidence = result.evidence_paths(own, steps)[0].T.round(3)
    e_values, since = (getattr(selector, name, None) for name in ("e_values_", "selected_since_"))
    for place, path in enumerate(paths):
        arm, column = int(drawn.arms[place]), int(drawn.features[place])
        is_decoy, is_selected = bool(drawn.decoys[place]), bool(drawn.selected[place])
        members = np.flatnonzero(result.arm_of_feature == arm)[: MOST_MEMBERS + 1]
        low, high = drawn.intervals[place].tolist()
        yield findings.ReportedVariable(
            name=variable_name(result, arm),
            role="decoy" if is_decoy else "selected" if is_selected else "unselected",
            selection_rate=float(drawn.rates[place]),
            low=low,
            high=high,
            threshold=float(drawn.threshold[place]),
            n_played=int(drawn.times_played[place]),
            n_chains=0 if is_decoy else int(result.chain_supports[:, column].sum()),
            q_value=_known(drawn.q_values[place]),
            e_value=None if is_decoy or e_values is None else _known(e_values[column]),
            selected_since=int(since[column]) if is_selected and since is not None else None,
            members=_shown(result, members) if members.size > 1 else (),
            seen="" if is_decoy else readable(result.seen[arm], LONGEST_NAME),
            path=tuple(path),
            evidence=() if is_decoy else tuple(evidence[place].tolist()),
        )


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _fit_forest(
    table: Table | None,
    outcome: Outcome | None,
    groups: NDArray[np.int32] | None,
    unit: str,
    why_not: str,
    shown: dependence.Shown,
    rng: np.random.Generator,
) -> tuple[dependence.DependenceForest | None, str]:
    """A forest on the leading columns and what it was fitted to, or why there is none."""
    if not shown.leading:
        return None, "There is no selected variable to look at."
    if table is None or outcome is None:
        return None, why_not
    try:
        forest = dependence.DependenceForest(table, outcome, shown.leading, rng, groups)
    except ValueError as error:
        return None, f"No model could be fitted to the rows at hand: {readable(error)}."
    more = ""
    if len(shown.leading) > (most := dependence.MOST_SHOWN):
        more = f"; the first {most} are shown"
    within = "" if groups is None else f" of {counted(np.unique(groups).size, unit)}"
    note = f"By a model of the selected variables, on {table.n_rows:,} rows{within}{more}."
    if n := forest.n_pulled_in:
        held = f"{counted(n, 'outlier')} {'counts' if n == 1 else 'count'}"
        note += f" {held} as five robust standard deviations from the median."
    return forest, note


def _interactions(
    selector: Selector, forest: dependence.DependenceForest | None
) -> Iterator[findings.ReportedInteraction]:
    """Interactions, the surest first, with heat maps of the first three if there is a forest."""
    for number, pair in enumerate(getattr(selector, "interactions_", ())):
        heat_map = None
        if forest is not None and number < MOST_MAPS and set(pair.columns) <= set(forest.columns):
            effect = forest.joint_effect(*pair.columns)
            heat_map = findings.HeatMap(
                effect.first, effect.second, tuple(map(tuple, effect.mean.tolist()))
            )
        first, second = map(column_name, pair.names, pair.columns)
        yield findings.ReportedInteraction((first, second), pair.strength, pair.q_value, heat_map)


def _resemblances(
    result: SearchResult, arms: FittedArms, table: Table | None
) -> tuple[tuple[findings.Resemblance, ...], str]:
    """Look-alikes of selected columns, and how they were found, or why not."""
    if table is None:
        return (), NO_TABLE
    columns = np.flatnonzero(result.support & (result.arm_of_feature >= 0))
    rates = arms.rates[result.arm_of_feature[columns]]
    columns = columns[np.argsort(-rates, kind="stable")][:MOST_COMPARED]
    if columns.size == 0:
        return (), "There is no selected variable to compare with."

    def lookalike(column: int, correlation: float) -> findings.LookAlike:
        arm = result.arm_of_feature[column]
        rate = float(arms.rates[arm]) if arms.times_played[arm] else None
        return findings.LookAlike(column_name(result.names[column], column), correlation, rate)

    candidates = np.flatnonzero(~result.support)
    matches = dependence.find_lookalikes(table, columns, candidates)
    found = tuple(
        findings.Resemblance(name, tuple(lookalike(*match) for match in alike))
        for name, alike in zip(_shown(result, columns), matches, strict=True)
        if alike
    )
    chance = dependence.chance_level(table.n_rows, candidates.size)
    nothing = "" if found else "Nothing: no other column resembles a selected one. "
    return found, (
        f"{nothing}Shown are resemblances of {dependence.ALIKE:g} or more, on {table.n_rows:,} "
        "rows; columns of text are not compared. Among "
        f"{counted(candidates.size, 'unrelated column')} the strongest would reach about "
        f"{chance:.2f} by chance."
    )


def _shown(result: SearchResult, columns: NDArray[np.int64]) -> tuple[str, ...]:
    return tuple(column_name(result.names[j], j) for j in columns.tolist())


def _without_addresses(text: str) -> str:
    """Without the addresses of functions in memory."""
    return _without_secrets(re.sub(r" at 0x[0-9a-fA-F]+", "", text))


def _without_secrets(text: str) -> str:
    """Without the secrets in addresses of tables and clusters."""
    return readable(without_secrets(text))
