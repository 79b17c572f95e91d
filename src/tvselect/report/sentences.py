"""What the findings say, in plain sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvselect.bandit.engine import StopReason
from tvselect.words import counted, level, plural

if TYPE_CHECKING:
    from tvselect.after.dependence import Dependence
    from tvselect.after.worth import Worth
    from tvselect.report.findings import Best, Control, Findings, HeatMap, ReportedInteraction
    from tvselect.selectors.results import Asked

NOTHING = "Nothing here can be told from noise."
OFF = "Error control is off: how many of the selected are false is not known."


def why_stopped(reason: StopReason, asked: Asked) -> str:
    """Why a run ended, to follow "because"."""
    all_plays = "the only play is" if asked.n_plays == 1 else f"all {asked.n_plays} plays are"
    return {
        StopReason.PLAYS: f"{all_plays} done",
        StopReason.PATIENCE: f"the model has not changed for {asked.patience} plays",
        StopReason.TIME_LIMIT: f"the time limit of {asked.time_limit or 0:g} s is reached",
        StopReason.ROUNDS: f"the stream has ended after {counted(asked.n_rounds or 0, 'round')}",
        StopReason.BATCHES: "every batch handed in is played",
        StopReason.ALL_SKIPPED: "every batch is skipped",
        StopReason.CALLBACK: "a callback has stopped it",
        StopReason.INTERRUPTED: "it was interrupted",
        StopReason.ERROR: "of an error",
    }[reason]


def describe_false(n_selected: int, control: Control) -> str:
    """How many of the selected are false, as far as it is known."""
    if control.expected_false is None:
        return OFF
    among = ", with 1 selected" if n_selected == 1 else f" among these {n_selected:,}"
    off = "" if control.max_fdr is not None else " No limit was set: error control is off."
    if control.unproven:
        off += " This is unproven, as rows seem to depend on each other: see the warnings."
    return f"Expected number of false ones{among}: {control.expected_false:.2g}.{off}"


def describe_rows(asked: Asked) -> str:
    """Which rows belong together, as the run was told; empty where each stands for itself."""
    said = []
    if asked.groups is not None:
        by = f" by {asked.groups}" if asked.groups else ""
        n = "" if asked.n_groups is None else f": {counted(asked.n_groups, 'group')}"
        said.append(f"Rows belong together{by}{n}.")
    if asked.order is not None:
        by = "as they stand" if asked.order == "rows" else f"by {asked.order or 'given times'}"
        n_units = None if asked.n_units == asked.n_groups else asked.n_units
        much = "" if n_units is None else f": about {n_units:,} independent stretches"
        said.append(f"Rows follow each other in time, {by}{much}.")
    return " ".join(said)


def describe_nothing(control: Control, best: Best | None, n_rows: int | None) -> list[str]:
    """What would have been needed for a selection, where there is none."""
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


def describe_trajectories(findings: Findings) -> str:
    """The chart of trajectories in words."""
    shown = findings.of_role("selected")
    ends = ", ".join(f"{variable.name} {variable.selection_rate:.2f}" for variable in shown[:5])
    where = f"The selected ones end at: {ends}." if shown else "None is selected."
    return (
        f"Lines of the selection rate of {len(findings.variables)} variables over "
        f"{counted(findings.n_plays, findings.unit)}. {where} The table below has the numbers."
    )


def describe_sizes(findings: Findings) -> str:
    """The chart of sizes in words."""
    if len(findings.steps) < 2:
        return "Nothing was played."
    first, last = findings.played[1], findings.played[-1]
    if len(findings.steps) == 2:
        were = "was" if first == 1 else "were"
        return f"{first:,.0f} {tried_together(findings, first)} {were} tried together."
    what = tried_together(findings, 2)
    return f"At first {first:,.0f} {what} were tried together, in the end {last:,.0f}."


def tried_together(findings: Findings, n: float) -> str:
    """What a play is made of, beside a number."""
    return "variables and decoys" if findings.control.n_decoys else plural("variable", n)


def in_words(shape: Dependence) -> str:
    """What a curve or points do, in a few words."""
    first, last = shape.mean[0], shape.mean[-1]
    top, bottom = max(shape.mean), min(shape.mean)
    if shape.labels:
        highest, lowest = (shape.labels[shape.mean.index(value)] for value in (top, bottom))
        if highest == lowest:
            return f"{top:.3g} at {highest}."
        return f"Lowest at {lowest} ({bottom:.3g}), highest at {highest} ({top:.3g})."
    ends = f"from {first:.3g} to {last:.3g}"
    return {
        "up": f"The outcome rises {ends}.",
        "down": f"The outcome falls {ends}.",
        "valley": f"Lowest in between ({bottom:.3g}); {ends} at the ends.",
        "peak": f"Highest in between ({top:.3g}); {ends} at the ends.",
    }.get(shape.direction, "No clear trend on its own; it may matter together with others.")


SCORES = {
    "R2": "share of the variance that is predicted (R²; 1 is all of it)",
    "AUC": "share of pairs of rows from both classes in the right order (AUC; 0.5 is chance)",
    "concordance": "share of pairs of rows in the right order (concordance; 0.5 is chance)",
    "log-loss": "mean negative log-probability of the true class (log-loss; 0 is best)",
}


def describe_worth(worth: Worth) -> str:
    """How the scores of predictions were found, and what they are."""
    few, many = min(worth.n_selected), max(worth.n_selected)
    n_selected = f"{few:,}" if few == many else f"{few:,} to {many:,}"
    return (
        f"{worth.held_back} were held back in {len(worth.none)} parts. For each part the selection "
        f"was made again without it ({n_selected} columns), a model was fitted to the other rows, "
        f"and the held-back rows were predicted. This took {worth.seconds:,.0f} s. Shown is the "
        f"{SCORES[worth.score]}, the mean over the parts with its standard error."
    )


def what_is_shown(findings: Findings) -> str:
    """What the pictures of the outcome show, as a noun."""
    target = findings.target
    if findings.outcome == "two classes":
        return f"chance that {target} is “{findings.classes[-1]}”"
    return {
        "classes": f"chance of one class of {target}, the one that changes most",
        "grades": f"mean grade of {target}, counted from 0 for “{(*findings.classes, '')[0]}”",
        "counts": f"mean number of {target}",
        "survival times": f"median {target}",
    }.get(findings.outcome, f"expected {target}")


def values_of(findings: Findings) -> str:
    """What the outcome holds, in a few words."""
    labels = findings.classes
    listed = ", ".join(labels[:-1]) + f" or {labels[-1]}" if labels else ""
    return {
        "continuous": "a number",
        "two classes": listed,
        "classes": f"{len(labels)} classes: {listed}",
        "grades": f"{len(labels)} grades: {listed}",
        "counts": "a count",
        "survival times": "a time until an event, some censored",
    }.get(findings.outcome, "not recorded")


def describe_pair(pair: ReportedInteraction, heat_map: HeatMap) -> str:
    """What one variable of a pair does, where the other makes the greatest difference to it."""
    first, second = pair.names
    changes = [high - low for low, high in zip(heat_map.mean[0], heat_map.mean[-1], strict=True)]
    least, most = (changes.index(change) for change in (min(changes), max(changes)))
    start, end = heat_map.first.ticks[0], heat_map.first.ticks[-1]
    ticks = heat_map.second.ticks
    return (
        f"From {first} = {start} to {end}, the outcome changes by {changes[least]:+.3g} where "
        f"{second} = {ticks[least]}, and by {changes[most]:+.3g} where it is {ticks[most]}."
    )
