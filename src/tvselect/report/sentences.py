"""What the findings say, in plain sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tvselect.bandit.engine import StopReason
from tvselect.words import counted, level, listed, percent, plural

if TYPE_CHECKING:
    from tvselect.after.dependence import Dependence
    from tvselect.after.worth import Stability, Worth
    from tvselect.report.findings import Best, Control, Findings, HeatMap, ReportedInteraction
    from tvselect.selectors.results import Asked

NOTHING = "Nothing here can be told from noise."
OFF = "Error control is off: how many of the selected are false is not known."
FEW_PLAYS, GOOD_AGREEMENT = 20, 0.8
MOST_CLASSES, MOST_CLAIMS = 4, 3
MEANS = {"counts": "the mean of", "grades": "the mean grade of", "survival times": "the median of"}
MOST_ARMS = 2**13  # of more, some are preselected


class Finding(NamedTuple):
    """What a reader learns of one selected variable."""

    name: str
    effect: str  #: What it does to the outcome, in units
    range: str  #: Where the numbers of this sentence may lie
    remarks: tuple[str, ...]  #: What it shares with others, and what is less sure


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
                "To be selected alone, a variable has to be above every decoy, and above "
                f"{best.threshold:.3g}.",
            ]
    rows = "these rows" if n_rows is None else f"{n_rows:,} rows"
    said.append(f"With {rows}, only stronger effects can be seen than there are here.")
    return said


def describe_lines(findings: Findings, *, evidence: bool = False) -> str:
    """The chart of trajectories, or of evidence, in words."""
    over = f"over {counted(findings.n_plays, findings.unit)}"
    shown = findings.of_role("selected")[:5]
    if evidence:
        what = f"the evidence (e-values) {over}, on a log scale, and the line to pass"
        ends = [f"{v.name} {v.e_value or 0.0:,.3g}" for v in shown]
    else:
        what = f"the selection rate of {len(findings.variables)} variables {over}"
        ends = [f"{v.name} {v.selection_rate:.2f}" for v in shown]
    where = f"The selected ones end at: {', '.join(ends)}." if shown else "None is selected."
    return f"Lines of {what}. {where} The table below has the numbers."


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
    n_selected = _between(worth.n_selected)
    return (
        f"{worth.held_back} were held back in {len(worth.none)} parts. For each part the selection "
        f"was made again without it ({n_selected} columns), a model was fitted to the other rows, "
        f"and the held-back rows were predicted. This took {worth.seconds:,.0f} s. Shown is the "
        f"{SCORES[worth.score]}, the mean over the parts with its standard error."
    )


def describe_stability(stability: Stability) -> str:
    """What was done again with other seeds, and how alike the answers are."""
    n_selected = _between(stability.n_selected)
    return (
        f"The search was made again on the same rows with {len(stability.seeds)} other seeds, in "
        f"{stability.seconds:,.0f} s. Each selected {n_selected} columns; two of them share "
        f"{percent(stability.jaccard)} of what either selects, on average. This is "
        "what the chance of the search does; other rows may change more."
    )


def _between(counts: Sequence[int]) -> str:
    few, many = min(counts), max(counts)
    return f"{few:,}" if few == many else f"{few:,} to {many:,}"


def seeds_disagree_on(findings: Findings) -> list[str]:
    """Selected variables that other seeds do not always select, with how many do."""
    found = findings.stability
    if found is None:
        return []
    n, shares = len(found.seeds), dict(zip(found.names, found.shares, strict=True))
    return [
        f"{v.name} ({round(n * share_of):,} of {n:,})"
        for v in findings.of_role("selected")
        if not v.members and (share_of := shares.get(v.name, 0.0)) < 1.0
    ]


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


def describe_question(findings: Findings) -> str:
    """What was asked of which rows, and what the outcome is there without any variable."""
    f, summary = findings, findings.summary
    table = f" of {f.about.table}" if f.about.table else ""
    of = f"{f.n_columns:,} columns{table}" if f.n_columns > 1 else f"the column{table}"
    asked = f"Asked was which of {of} help to explain {f.target}"
    n_rows = f.asked.n_rows or (summary and summary.n_rows)
    asked += f", in {counted(n_rows, 'row')}." if n_rows else "."
    return f"{asked} {describe_base(f)}".strip()


def describe_base(findings: Findings) -> str:
    """The outcome without any variable: how often each class, or the mean."""
    f, summary = findings, findings.summary
    if summary is None:
        return ""
    n = summary.n_rows
    where = "" if f.asked.n_rows == n else f", in {counted(n, 'row')} looked at for this report"
    if f.outcome == "two classes":
        return f"{f.target} is “{f.classes[1]}” in {share(summary.counts[1] / n)}{where}."
    if f.outcome == "survival times":
        n_events = summary.counts[1]
        return f"The event took place in {n_events:,} of them ({share(n_events / n)}){where}."
    if summary.counts:
        order = list(range(len(f.classes)))
        if f.outcome == "classes":
            order = sorted(order, key=lambda k: -summary.counts[k])
        shown = [f"“{f.classes[k]}” in {share(summary.counts[k] / n)}" for k in order]
        more = f" and {len(shown) - MOST_CLASSES} more" if len(shown) > MOST_CLASSES else ""
        return f"{f.target} is {', '.join(shown[:MOST_CLASSES])}{more}{where}."
    low, high = summary.quartiles
    return (
        f"The mean of {f.target} is {summary.mean:.4g}{where}; half of the rows lie between "
        f"{low:.4g} and {high:.4g}."
    )


def describe_selected(findings: Findings, most: int) -> list[Finding]:
    """Selected variables in a sentence each, those that move the outcome most first."""
    shapes = {shape.variable: shape for shape in findings.dependence}
    selected = findings.of_role("selected")
    order = {name: place for place, name in enumerate(shapes)}
    ranked = sorted(selected, key=lambda v: order.get(v.name, len(order)))
    claim_of = {name: claim for claim in findings.claims for name in claim.variables}
    found = []
    for v in ranked[:most]:
        effect, between = "", ""
        member = next((name for name in (v.name, *v.members) if name in shapes), None)
        if member is not None:
            effect, between = describe_effect(shapes[member], findings)
            if member != v.name:
                effect = f"For {member}: {effect}"
        remarks = []
        claim = claim_of.get(v.name)
        if claim is not None:
            others = [name for name in claim.variables if name != v.name]
            remarks.append(f"Cannot be told apart from {listed(others, 3, quoted=False)}.")
        pairs = [pair.names for pair in findings.interactions if v.name in pair.names]
        partners = [b if a == v.name else a for a, b in pairs]
        if partners:
            remarks.append(f"Acts together with {listed(partners, 3, quoted=False)}.")
        found.append(Finding(v.name, effect, between, tuple(remarks)))
    return found


def describe_effect(shape: Dependence, findings: Findings) -> tuple[str, str]:
    """What the outcome is where a variable is low and high; and the ranges of these numbers."""
    target, last = findings.target, len(shape.mean) - 1
    top, bottom = (shape.mean.index(pick(shape.mean)) for pick in (max, min))
    is_share = bool(shape.of_class)

    def value(x: float) -> str:
        return share(x) if is_share else f"{x:.3g}"

    ends = [0, last]
    if shape.direction in ("valley", "peak") and not shape.labels:
        ends = [0, bottom if shape.direction == "valley" else top, last]
    elif shape.labels and shape.direction not in ("up", "down"):
        ends = [top, bottom]
    first, *rest = dict.fromkeys(ends)
    what = f"{target} is"
    if is_share:
        what = f"{target} is “{shape.of_class}” in"
    elif findings.outcome in MEANS:
        what = f"{MEANS[findings.outcome]} {target} is"
    sentence = f"Where it is {shape.ticks[first]}, {what} {value(shape.mean[first])}"
    for k in rest:
        sentence += (
            f"; where it is {shape.ticks[k]}, {'in ' if is_share else ''}{value(shape.mean[k])}"
        )
    if shape.direction == "unclear":
        sentence += ": no clear trend on its own. It may matter together with others"
    between = (f"{value(shape.low[k])} to {value(shape.high[k])}" for k in (first, *rest))
    return f"{sentence}.", "; ".join(between)


def share(x: float) -> str:
    """A share of rows in percent; with a digit more where it is small."""
    return f"{100 * x:.1f}\N{NO-BREAK SPACE}%" if 0.0005 <= x < 0.0995 else percent(x)


def what_is_sure(findings: Findings) -> list[str]:
    """What can be relied on, a sentence each."""
    f, control, said = findings, findings.control, []
    if f.n_selected and f.n_plays and control.expected_false is not None:
        said.append(describe_false(f.n_selected, control))
    if control.max_fdr is not None and f.n_selected:
        said.append(
            "Over many tables such as this one, on average at most "
            f"{percent(control.max_fdr)} of the selected are false."
        )
    if f.stability is not None and f.n_selected and not seeds_disagree_on(f):
        said.append(f"Each of {len(f.stability.seeds)} other seeds selects them, too.")
    if control.max_fdr is not None:
        for claim in f.claims[:MOST_CLAIMS]:
            said.append(f"At least one of these matters: {claim}.")
        if len(f.claims) > MOST_CLAIMS:
            said.append(f"The same holds of {len(f.claims) - MOST_CLAIMS} more sets: see below.")
    return said


def what_is_not_sure(findings: Findings) -> list[str]:
    """What should not be relied on, the most important first."""
    f, control, unit = findings, findings.control, findings.unit
    selected = f.of_role("selected")
    said = []
    if f.n_plays == 0:
        said.append(f"Nothing was tried: there is no {unit} to learn from.")
    elif f.stop_reason in (StopReason.INTERRUPTED, StopReason.ERROR):
        said.append(
            "The search did not run to its end; the answer is what was known when it stopped."
        )
    if 0 < f.n_plays < FEW_PLAYS:
        are = "is" if f.n_plays == 1 else "are"
        said.append(
            f"{counted(f.n_plays, unit)} {are} few; let it go on for longer before you rely on the "
            "answer."
        )
    elif near := [v.name for v in selected if not v.is_settled]:
        said.append(
            f"Near the line, could change with more {plural(unit, 2)}: "
            f"{listed(near, quoted=False)}."
        )
    if control.max_fdr is None and f.n_selected:
        said.append(OFF if control.expected_false is None else "")
        if control.n_above:
            said.append(
                f"{counted(control.n_above, 'decoy')} passed the line: some of the selected "
                "variables may be there by chance."
            )
    if weak := below_the_best_decoy(f):
        said.append(
            f"No better than the best decoy: {listed(weak, quoted=False)}. Among several that are "
            "selected together a few decoys may stand, too; these are the less sure ones."
        )
    if disagreed := seeds_disagree_on(f):
        said.append(f"Not every other seed selects: {listed(disagreed, quoted=False)}.")
    if f.claims:
        said.append(
            "Which of the variables that cannot be told apart it is, these rows do not say."
        )
    if f.agreement is not None and f.agreement < GOOD_AGREEMENT:
        disputed = [v.name for v in selected if v.n_chains < f.n_chains]
        names = listed(disputed, quoted=False)
        said.append(
            f"Not every independent search selects: {names}."
            if disputed
            else "The independent searches do not agree well."
        )
    if f.n_skipped:
        said.append(
            f"{f.n_skipped:,} of {f.n_plays:,} batches were skipped: too few rows, or the same "
            "outcome in all of them."
        )
    if f.n_selected:
        said.append(
            f"What is selected goes with {f.target}; whether it is a cause, no table alone can say."
        )
        if f.dependence:
            said.append(
                "Effects are those of a model, with all other variables as they are. It was fitted "
                "to the rows of the selection: on new rows they are somewhat smaller."
            )
    if f.n_variables > f.n_selected and f.n_plays:
        said.append("What is not selected may have an effect, but none that these rows show.")
    return [sentence for sentence in said if sentence]


def below_the_best_decoy(findings: Findings) -> list[str]:
    """Selected variables that came no higher than the best decoy."""
    highest = findings.control.highest
    if highest is None:
        return []
    return [v.name for v in findings.of_role("selected") if v.selection_rate <= highest]


def describe_decoys(findings: Findings) -> str:
    """How many decoys there were, and how they did."""
    control = findings.control
    each = f", {control.n_copies} for each variable" if control.n_copies > 1 else ""
    none = "None" if control.n_above == 0 else f"{control.n_above:,}"
    best = f"; the best had a selection rate of {control.highest or 0:.2f}"
    best = "" if control.highest is None else best
    return (
        f"{counted(control.n_decoys, 'decoy')}, artificial columns that hold no signal of their "
        f"own, took part{each}. {none} of them passed the line{best}."
    )


def describe_untried(findings: Findings) -> str:
    """How many variables, and decoys, were never played; empty where all were."""
    f, control = findings, findings.control
    if not f.n_unplayed or not f.n_plays:
        return ""
    n_tried = f.n_variables - f.n_unplayed
    tried = f"{n_tried:,} of {counted(f.n_variables, 'variable')}"
    if not control.n_decoys:
        return f"{tried} were tried: the search was too short for all of them."
    were = f"{tried} and {control.n_played:,} of {counted(control.n_decoys, 'decoy')} were tried."
    why = (
        f"Of so many only those took part that go best with {f.target} by themselves, or with what "
        "these leave unexplained; columns and decoys were chosen together, by one rule."
        if f.n_variables + control.n_decoys > MOST_ARMS
        else "The search was too short for all of them."
    )
    return f"{were} {why}"
