"""How the result of a run is shown."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tvselect.cli.interrupts import INTERRUPTED
from tvselect.cli.terminal import Terminal
from tvselect.words import counted, listed

if TYPE_CHECKING:
    from tvselect.runs.play import Result
    from tvselect.runs.results import VariableResult
    from tvselect.selectors import Interaction

RUNNERS_UP, MOST_ROWS = 3, 40
BAR_WIDTH = 20
EIGHTHS = " ▏▎▍▌▋▊▉█"
DONE = 0


def show(result: Result, terminal: Terminal) -> int:
    """Show what was found; returns the exit code."""
    run, folder = result.run, result.folder
    for warning in run.warnings:
        terminal.warn(warning)
    before, after = _what_it_means(result)
    if terminal.is_pretty:
        others = [v for v in result.variables if not v.selected]
        table = variable_lines(_selected(result), others)
        terminal.print_lines(["", *before, "", *table, "", *after])
    else:
        for line in filter(None, (*before, *after)):
            terminal.say(line)
    if terminal.is_json:
        terminal.print_json(to_json(result))
    elif not terminal.is_pretty:
        header = ["variable", "q_value", "selection_rate", "low", "high"]
        terminal.print_rows([header, *map(_cells, _selected(result))])
    here = shlex.quote(str(folder.path))
    for warning in result.about_report:
        terminal.warn(warning)
    if result.was_interrupted:
        terminal.note(
            "interrupted while the report was made; the run is kept, and the report is made by: "
            f"tvs resume {here}"
        )
        return INTERRUPTED
    if run.state == "interrupted":
        terminal.note(
            f"interrupted after {counted(run.n_plays, 'play')}, which "
            f"{'is' if run.n_plays == 1 else 'are'} kept; go on with: tvs resume {here}"
        )
        return INTERRUPTED
    return DONE


def _selected(result: Result) -> list[VariableResult]:
    return [v for v in result.variables if v.selected and not v.always]


def _cells(v: VariableResult) -> list[str]:
    q = "" if v.q_value is None else f"{v.q_value:.6g}"
    return [v.name, q, f"{v.selection_rate:.6f}", f"{v.low:.6f}", f"{v.high:.6f}"]


def _what_it_means(result: Result) -> tuple[list[str], list[str]]:
    """What is to be said before and after the variables."""
    from tvselect.plotting.labels import level
    from tvselect.report.control import (
        NOTHING,
        best_unselected,
        control_of,
        describe_false,
        describe_nothing,
        joint_claims,
    )
    from tvselect.report.sentences import why_stopped

    run, folder, history = result.run, result.folder, result.history
    unit = "batch" if run.plan.stream else "play"
    because = why_stopped(history.stop_reason, history.asked)
    control, claims = control_of(result.fit), joint_claims(result.fit)
    n_selected = int(history.selected().sum())
    is_nothing = control.max_fdr is not None and not n_selected and not claims
    before: list[str] = []
    if is_nothing and run.n_plays:
        best = best_unselected(result.fit)
        before += [NOTHING, *describe_nothing(control, best, run.plan.n_rows), ""]
    before.append(
        f"{n_selected:,} of {counted(history.layout.n_candidates, 'variable')} selected "
        f"for {run.plan.target!r} ({counted(run.n_plays, unit)}, {run.seconds:.1f} s: "
        f"{because})"
    )
    if n_selected:
        before.append(describe_false(n_selected, control))
    if always := [v.name for v in result.variables if v.always]:
        before.append(f"Always part of the model, not tested: {listed(always)}.")
    lines: list[str] = []
    if result.interactions:
        lines += [*interaction_lines(result.interactions), ""]
    if claims:
        is_off = control.max_fdr is None
        lines.append(
            "These rows cannot tell apart:"
            if is_off
            else "At least one of these matters, but these rows cannot tell which:"
        )
        for claim in claims[:MOST_ROWS]:
            q = "" if claim.q_value is None else f" (q-value {level(claim.q_value)})"
            lines.append(f"  {'' if is_off else 'one of: '}{claim}{q}")
        lines.append("")
    lines.append(f"Report: {result.page}" if result.page else f"Found:  {folder.selected}")
    if n_selected:
        lines.append(f"Next:   tvs transform {folder.path} TABLE -o OUT keeps these columns")
    return before, lines


def to_json(result: Result) -> dict[str, Any]:
    """The result as JSON."""
    from tvselect.report.control import control_of
    from tvselect.report.decisions import why_left_out
    from tvselect.runs.plan import describe_plan, doubts_of

    run, folder, control = result.run, result.folder, control_of(result.fit)
    return {
        "run": str(folder.path),
        "state": run.state,
        "stop_reason": run.stop_reason,
        "target": run.plan.target,
        "family": run.plan.family,
        "stream": run.plan.stream,
        "n_rows": run.plan.n_rows,
        "n_columns": len(run.plan.columns),
        "n_plays": run.n_plays,
        "seconds": run.seconds,
        "seed": run.settings.seed,
        "selected": [{**v._asdict(), "group": v.group or None} for v in _selected(result)],
        "always": list(run.plan.always),
        "left_out": {n: why_left_out(why) for n, why in run.plan.facts.left_out.items()},
        "decisions": describe_plan(run.plan),
        "warnings": [*doubts_of(run.plan), *run.warnings],
        "max_fdr": control.max_fdr,
        "expected_false": control.expected_false,
        "n_decoys": control.n_decoys,
        "highest_decoy": control.highest,
        "claims": [
            {
                "columns": claim.names,
                "shares": claim.shares or None,
                "selection_rate": claim.selection_rate,
                "q_value": _known(claim.q_value),
            }
            for claim in getattr(result.fit, "claims_", ())
        ],
        "interactions": [
            {"columns": pair.names, "strength": pair.strength, "q_value": pair.q_value}
            for pair in result.interactions
        ],
        "report": result.page and str(result.page),
    }


def variable_lines(
    selected: Sequence[VariableResult], others: Sequence[VariableResult]
) -> list[str]:
    """The selected variables with their numbers and a bar, then the best of the others.

    A group of columns has one line.
    """
    from tvselect.plotting.labels import level

    selected = _one_a_group(selected)
    others = _one_a_group(others)[:RUNNERS_UP]
    shown = [*selected[:MOST_ROWS], *others]
    has_q = any(v.q_value is not None for v in shown)
    q_values = [f"  {'' if v.q_value is None else level(v.q_value):>7}" for v in shown]
    if not has_q:
        q_values = [""] * len(shown)
    names = [_short(v.group or v.name) for v in shown]
    width = max(map(len, (*names, "variable")))
    rows = [
        f"  {name:<{width}}{q}  {v.selection_rate:4.2f}  {bar(v.selection_rate)}  "
        f"{v.low:.2f} to {v.high:.2f}"
        for name, q, v in zip(names, q_values, shown, strict=True)
    ]
    head = "  q-value" if has_q else ""
    lines = [f"  {'variable':<{width}}{head}  {'selection rate':<{6 + BAR_WIDTH}}  95 % interval"]
    lines += rows[: len(shown) - len(others)]
    if len(selected) > MOST_ROWS:
        lines.append(f"  ... and {len(selected) - MOST_ROWS:,} more in selected.csv")
    if others:
        lines += ["  not selected, the best of them:", *rows[len(shown) - len(others) :]]
    return lines


def _one_a_group(variables: Sequence[VariableResult]) -> list[VariableResult]:
    firsts: dict[object, VariableResult] = {}
    for v in variables:
        firsts.setdefault(v.group or (v.name,), v)
    return list(firsts.values())


def interaction_lines(interactions: Sequence[Interaction]) -> list[str]:
    """Pairs of variables that act together, one a line.

    Examples
    --------
    >>> from tvselect.selectors import Interaction
    >>> interaction_lines([Interaction((0, 2), ("age", "dose"), 1.5, 0.05)])
    ['interactions: age x dose (q 0.050)']
    """
    from tvselect.plotting.labels import level

    lines = [
        f"interactions: {' x '.join(map(_short, pair.names))} (q {level(pair.q_value)})"
        for pair in interactions[:MOST_ROWS]
    ]
    if len(interactions) > MOST_ROWS:
        lines.append(f"... and {len(interactions) - MOST_ROWS:,} more in interactions.csv")
    return lines


def bar(share: float, width: int = BAR_WIDTH) -> str:
    """A bar of text, padded to its width.

    Examples
    --------
    >>> bar(0.5, 4), bar(0.6, 4)
    ('██  ', '██▍ ')
    """
    eighths = round(8 * width * min(max(share, 0.0), 1.0))
    full, part = divmod(eighths, 8)
    text = (EIGHTHS[-1] * full + (EIGHTHS[part] if part else "")).ljust(width)
    encoding = sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return ("#" * round(width * share)).ljust(width)
    return text


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _short(name: str, width: int = 40) -> str:
    name = " ".join(name.split())
    return name if len(name) <= width else name[: width - 3] + "..."
