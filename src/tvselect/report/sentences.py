"""What the findings say, in plain sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tvselect.bandit.stopping import StopReason
from tvselect.report.dependence import MODEL
from tvselect.report.findings import Dependence, Findings, ReportedVariable

FEW_PLAYS = 20
STRONG = 0.9
MOST_NAMED = 5


def headline(findings: Findings) -> str:
    """The answer in one sentence."""
    n, of = findings.n_selected, findings.n_variables
    if n == 0:
        return f"None of the {of:,} variables was selected." if of > 1 else "It was not selected."
    if of == 1:
        return "The one variable was selected."
    return f"{n:,} of {of:,} variables {'was' if n == 1 else 'were'} selected."


def asked(findings: Findings) -> list[tuple[str, str]]:
    """What was asked: labels and values."""
    kinds = {
        "continuous": "a number",
        "two classes": " or ".join(findings.classes),
        "unknown": "not recorded",
    }
    wanted = findings.asked
    facts = [("Table", findings.about.table)] if findings.about.table else []
    facts += [("Outcome", findings.target), ("Its values", kinds[findings.outcome])]
    if wanted.n_rows is not None:
        facts.append(("Rows", f"{wanted.n_rows:,}"))
    if wanted.batch_size is not None:
        facts.append(("Rows of a batch", f"{wanted.batch_size:,}"))
    facts.append(("Columns", f"{findings.n_columns:,}"))
    if findings.n_variables + len(findings.always) != findings.n_columns:
        facts.append(("Variables (groups count once)", f"{findings.n_variables:,}"))
    facts.append((plural(findings.unit, 2).capitalize(), f"{findings.n_plays:,}"))
    return facts


def reproduction(findings: Findings) -> list[tuple[str, str]]:
    """What is needed to make the run again: labels and values."""
    about, wanted = findings.about, findings.asked
    facts = [
        ("Table", about.table),
        ("Command", about.command),
        ("Folder", about.folder),
        *about.more.items(),
        ("Reward", wanted.reward),
        ("Seed", str(wanted.seed)),
        ("Fingerprint of data and settings", wanted.fingerprint or ""),
        ("Settings", findings.settings),
        ("Partial dependence", MODEL),
        ("Versions", ", ".join(f"{name} {number}" for name, number in findings.versions.items())),
        ("Time spent on plays", f"{findings.seconds:.4g} s"),
    ]
    return [(label, text) for label, text in facts if text]


def why_stopped(
    reason: StopReason,
    *,
    n_plays: int | None,
    patience: int | None,
    time_limit: float | None,
    n_rounds: int | None,
) -> str:
    """Why a run ended, from the reason and what was asked; it goes on from "because".

    Examples
    --------
    >>> asked = dict(n_plays=500, patience=20, time_limit=None, n_rounds=None)
    >>> why_stopped(StopReason.PATIENCE, **asked)
    'the model has not changed for 20 plays'
    """
    rounds = plural("round", n_rounds or 0)
    return {
        StopReason.PLAYS: f"all {n_plays} plays are done",
        StopReason.PATIENCE: f"the model has not changed for {patience} plays",
        StopReason.TIME_LIMIT: f"the time limit of {time_limit or 0:g} s is reached",
        StopReason.ROUNDS: f"the stream has ended after {n_rounds} {rounds}",
        StopReason.BATCHES: "every batch handed in is played",
        StopReason.ALL_SKIPPED: "every batch is skipped",
        StopReason.INTERRUPTED: "it was interrupted",
        StopReason.ERROR: "of an error",
    }[reason]


def is_clear(variable: ReportedVariable) -> bool:
    """Whether the interval of a variable leaves no doubt on which side of the threshold it is."""
    return variable.low > variable.threshold or variable.high < variable.threshold


def grounds(findings: Findings) -> list[str]:
    """How sure the answer is, and why."""
    selected = findings.of_role("selected")
    units = f"{findings.n_plays:,} {plural(findings.unit, findings.n_plays)}"
    wanted = findings.asked
    because = why_stopped(
        findings.stop_reason, n_plays=wanted.n_plays, patience=wanted.patience,
        time_limit=wanted.time_limit, n_rounds=wanted.n_rounds,
    )  # fmt: skip
    said = [f"The search ran for {units} and stopped because {because}."]
    if selected:
        clear = sum(map(is_clear, selected))
        said.append(
            f"{clear} of {len(selected)} selected {plural('variable', len(selected))} "
            f"{'is' if clear == 1 else 'are'} clearly above the line: the whole 95 % range is."
        )
    if findings.agreement is not None:
        said.append(
            f"{findings.n_chains} independent searches were run. Their answers agree to "
            f"{percent(findings.agreement)} (100 % would be the same variables in all of them)."
        )
    if findings.decoys is not None:
        decoys = findings.decoys
        passed = (
            f"{decoys.n_passed:,} of them passed the line; by that measure about "
            f"{percent(decoys.false_share)} of the selected variables may be false."
            if decoys.n_passed
            else "None of them passed the line, as it should be."
        )
        said.append(
            f"{decoys.n:,} decoys, artificial columns that know nothing of the outcome, took part. "
            + passed
        )
    return said


def cautions(findings: Findings) -> list[str]:
    """What to be careful about."""
    said = []
    if findings.n_plays == 0:
        said.append(f"Nothing was tried: there is no {findings.unit} to learn from.")
    elif findings.stop_reason in (StopReason.INTERRUPTED, StopReason.ERROR):
        folder = findings.about.folder
        said.append(
            "The search did not run to its end; the answer is what was known when it stopped."
            + (f" 'tvs resume {folder}' goes on with it." if folder else "")
        )
    if 0 < findings.n_plays < FEW_PLAYS:
        said.append(
            f"{findings.n_plays} {plural(findings.unit, findings.n_plays)} "
            f"{'is' if findings.n_plays == 1 else 'are'} few; let it go on for longer before you "
            "rely on the answer."
        )
    unclear = [v for v in findings.of_role("selected") if not is_clear(v)]
    if unclear and findings.n_plays >= FEW_PLAYS:
        said.append(
            f"Close to the line, could change with more {plural(findings.unit, 2)}: "
            f"{_listed([v.name for v in unclear])}."
        )
    if findings.agreement is not None and findings.agreement < 0.8:
        disputed = [v.name for v in findings.of_role("selected") if v.n_chains < findings.n_chains]
        if disputed:
            said.append(f"Not every independent search selects: {_listed(disputed)}.")
        else:
            said.append("The independent searches do not agree well.")
    if findings.decoys is not None and findings.decoys.n_passed:
        said.append(
            f"{findings.decoys.n_passed:,} {plural('decoy', findings.decoys.n_passed)} passed the "
            "line: some of the selected variables may be there by chance."
        )
    twins = [
        f"{group.variable} and {group.alike[0].name}"
        for group in findings.resemblances
        if abs(group.alike[0].correlation) >= STRONG
    ]
    if twins:
        said.append(f"Almost the same, so that either could stand for both: {_listed(twins)}.")
    if findings.n_skipped:
        said.append(
            f"{findings.n_skipped:,} of {findings.n_plays:,} batches were passed over: too few "
            "rows, or one and the same outcome in all of them."
        )
    if findings.n_unplayed:
        said.append(
            f"{findings.n_unplayed:,} {plural('variable', findings.n_unplayed)} "
            f"{'was' if findings.n_unplayed == 1 else 'were'} never tried."
        )
    return said


def outcome_scale(findings: Findings) -> str:
    """What the vertical axis of partial dependence is."""
    if findings.outcome == "two classes":
        return f"chance that {findings.target} is “{findings.classes[-1]}”"
    return f"expected {findings.target}"


def describe_trajectories(findings: Findings) -> str:
    """The chart of trajectories in words."""
    shown = findings.of_role("selected")
    ends = ", ".join(f"{variable.name} {variable.pi:.2f}" for variable in shown[:5])
    return (
        f"Lines of the success rate of {len(findings.variables)} variables over "
        f"{findings.n_plays:,} {plural(findings.unit, findings.n_plays)}. "
        + (f"The selected ones end at: {ends}. " if shown else "None is selected. ")
        + "The table below has the numbers."
    )


def describe_sizes(findings: Findings) -> str:
    """The chart of sizes in words."""
    if len(findings.steps) < 2:
        return "Nothing was played."
    if len(findings.steps) == 2:
        n = findings.played[1]
        return f"{n:,.0f} {plural('variable', n)} {'was' if n == 1 else 'were'} tried together."
    return (
        f"At first {findings.played[1]:,.0f} variables were tried together, "
        f"in the end {findings.played[-1]:,.0f}."
    )


def in_words(shape: Dependence) -> str:
    """What a curve or points do, in a few words."""
    first, last = shape.mean[0], shape.mean[-1]
    top, bottom = max(shape.mean), min(shape.mean)
    if shape.labels:
        highest = shape.labels[shape.mean.index(top)]
        lowest = shape.labels[shape.mean.index(bottom)]
        if highest == lowest:
            return f"{top:.3g} at {highest}."
        return f"Lowest at {lowest} ({bottom:.3g}), highest at {highest} ({top:.3g})."
    width = float(np.mean(np.subtract(shape.high, shape.low)))
    if top - bottom < width:
        return "No clear trend on its own; it may matter together with others."
    ends = f"from {first:.3g} to {last:.3g}"
    if abs(last - first) > 0.7 * (top - bottom):
        return f"The outcome {'rises' if last > first else 'falls'} {ends}."
    if min(first, last) - bottom > top - max(first, last):
        return f"Lowest in between ({bottom:.3g}); {ends} at the ends."
    return f"Highest in between ({top:.3g}); {ends} at the ends."


def plural(word: str, n: float) -> str:
    """The word as it stands beside a number.

    Examples
    --------
    >>> plural("play", 1), plural("play", 2), plural("batch", 0)
    ('play', 'plays', 'batches')
    """
    if n == 1:
        return word
    return f"{word}es" if word.endswith("ch") else f"{word}s"


def percent(share: float) -> str:
    """A share in percent, apart from its sign by a space that does not break.

    Examples
    --------
    >>> percent(0.254) == "25" + chr(0xA0) + "%"
    True
    """
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%"


def evenly(steps: Sequence[int], most: int = 11) -> list[int]:
    """Places of at most so many steps, evenly spread, the first and the last among them.

    Examples
    --------
    >>> evenly(range(100), 4)
    [0, 33, 66, 99]
    >>> evenly([0], 4)
    [0]
    """
    n = min(len(steps), most)
    return [round(i * (len(steps) - 1) / max(n - 1, 1)) for i in range(n)]


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    listed = ", ".join(names[:MOST_NAMED])
    return f"{listed} and {more:,} more" if more > 0 else listed
