"""What is printed, and where: findings on standard output, everything else on standard error.

On a terminal findings are a table to read, in a pipe lines with tabs, with ``--json`` JSON.
Decisions and remarks go to standard error; the progress bar is for a terminal only.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tvselect.words import command, counted, escaped, level, listed, printable, shorten

if TYPE_CHECKING:
    from tvselect.runs.compare import Compared, Comparison
    from tvselect.runs.folder import VariableResult
    from tvselect.runs.play import Result

DONE, INTERRUPTED = 0, 130
RUNNERS_UP, MOST_ROWS = 3, 40
BAR_WIDTH = 20
EIGHTHS = " ▏▎▍▌▋▊▉█"


def open_streams() -> None:
    """Make standard output and error writable, even where the caller has closed them.

    A closed one becomes the null device: its number would otherwise go to the next file opened.
    Characters that its encoding lacks are escaped as in Python.
    """
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            handle = os.open(os.devnull, os.O_WRONLY)
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
            setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


class Terminal:
    """Where a command prints: ``quiet``, as JSON, or ``for_people`` as a table even in a pipe."""

    def __init__(
        self, *, quiet: bool = False, json: bool = False, for_people: bool = False
    ) -> None:
        self.is_json = json
        self.is_live = sys.stderr.isatty() and not quiet
        self.is_pretty = (sys.stdout.isatty() or for_people) and not json
        self._is_quiet = quiet

    def say(self, text: str) -> None:
        """Print a line for people on standard error, unless ``--quiet``."""
        if self._is_quiet:
            return
        text = printable(text)
        if self.is_live:  # a line each for other programs
            text = textwrap.fill(
                text,
                max(40, shutil.get_terminal_size().columns - 1),
                subsequent_indent="    " if text.startswith("  ") else "",
                break_long_words=False,
                break_on_hyphens=False,
            )
        print(text, file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """Print an error, or how a run ended, even with ``--quiet``."""
        print(f"tvs: {printable(text)}", file=sys.stderr, flush=True)

    def warn(self, *texts: str) -> None:
        """Print warnings."""
        for text in texts:
            self.note(f"warning: {' '.join(text.split())}")

    def trace(self, text: str) -> None:
        """Print a traceback."""
        print(*map(printable, text.splitlines()), sep="\n", file=sys.stderr, flush=True)

    def show(self, as_json: Any, lines: Iterable[str]) -> None:
        """Print findings as JSON or as lines, without characters that control the terminal."""
        if self.is_json:
            print(json.dumps(as_json, indent=1, allow_nan=False))
        else:
            print("\n".join(map(printable, lines)))

    def show_rows(self, rows: Iterable[Iterable[str]]) -> None:
        """Print findings for scripts: cells with tabs between them, see :func:`escaped`."""
        for row in rows:
            print("\t".join(map(escaped, row)))


def show_result(result: Result, terminal: Terminal, *, is_part: bool = False) -> int:
    """Show what a run found, of a part of the rows in sentences alone; returns the exit code."""
    from tvselect.runs.folder import cells_of

    run, selected = result.run, result.selected
    terminal.warn(*run.warnings)
    before, after = _what_it_means(result)
    if terminal.is_pretty and not is_part:
        others = [v for v in result.variables if not v.selected]
        q = "q (unproven)" if result.fit.result_.asked.unproven else "q-value"
        lines = variable_lines(selected, others, q)
        terminal.show(None, ["", *before, "", *lines, "", *after])
    else:
        for line in filter(None, (*before, *after)):
            terminal.say(line)
    if terminal.is_json and not is_part:
        terminal.show(_as_json(result), ())
    elif not (terminal.is_pretty or is_part):
        shown = ["variable", "q_value", "selection_rate", "low", "high"]
        shown += ["group"] * any(v.group for v in result.variables)
        shown += ["seen"] * any(v.seen for v in selected)
        cells = (cells_of(v) for v in selected)
        terminal.show_rows([shown, *([str(row[name]) for name in shown] for row in cells)])
    terminal.warn(*result.about_report)
    if result.was_interrupted:
        what = "while the report was made; the run is kept, and the report is made by"
    elif run.state == "interrupted":
        are = "is" if run.n_plays == 1 else "are"
        what = f"after {counted(run.n_plays, 'play')}, which {are} kept; go on with"
    else:
        return DONE
    terminal.note(f"interrupted {what}: {command('resume', result.folder.path)}")
    return INTERRUPTED


def show_parts(by: str, found: Sequence[tuple[str, Result]], terminal: Terminal) -> None:
    """Show the runs of parts of the rows side by side; as JSON each by itself."""
    from tvselect.runs.compare import compare

    if not terminal.is_json:
        show_comparison(compare(*(result.folder for _, result in found)), terminal)
        return
    parts = [{"value": label, **_as_json(result)} for label, result in found]
    terminal.show({"by": by, "parts": parts}, ())


def _what_it_means(result: Result) -> tuple[list[str], list[str]]:
    """What is to be said before and after the variables."""
    from tvselect.report.gathering import best_unselected, control_of, joint_claims
    from tvselect.report.sentences import NOTHING, describe_false, describe_nothing, why_stopped

    run, searched, folder = result.run, result.fit.result_, result.folder
    control, claims = control_of(result.fit), joint_claims(result.fit)
    n_selected = int(searched.selected().sum())
    before: list[str] = []
    is_off = control.max_fdr is None
    if not is_off and not n_selected and not claims and run.n_plays:
        best = best_unselected(result.fit)
        n_rows = run.plan.facts.outcome.n_rows
        before += [NOTHING, *describe_nothing(control, best, n_rows), ""]
    plays = counted(run.n_plays, "batch" if run.plan.stream else "play")
    because = why_stopped(searched.stop_reason, searched.asked)
    before.append(
        f"{n_selected:,} of {counted(searched.layout.n_candidates, 'variable')} selected "
        f"for {run.plan.target!r} ({plays}, {run.seconds:.1f} s: {because})"
    )
    if n_selected:
        before.append(describe_false(n_selected, control))
    if always := [v.name for v in result.variables if v.always]:
        before.append(f"Always part of the model, not tested: {listed(always)}.")
    after: list[str] = []
    if pairs := result.interactions:
        for pair in pairs[:MOST_ROWS]:
            names = " x ".join(map(shorten, pair.names))
            after.append(f"interactions: {names} (q {level(pair.q_value)})")
        if len(pairs) > MOST_ROWS:
            after.append(f"... and {len(pairs) - MOST_ROWS:,} more in interactions.csv")
        after.append("")
    if claims:
        surely = "At least one of these matters, but these rows cannot tell which:"
        after.append("These rows cannot tell apart:" if is_off else surely)
        for claim in claims[:MOST_ROWS]:
            q = "" if claim.q_value is None else f" (q-value {level(claim.q_value)})"
            after.append(f"  {'' if is_off else 'one of: '}{claim}{q}")
        after.append("")
    after.append(f"Report: {result.page}" if result.page else f"Found:  {folder.selected}")
    if n_selected:
        transform = command("transform", folder.path)
        after.append(f"Next:   {transform} TABLE -o OUT keeps these columns")
    return before, after


def _as_json(result: Result) -> dict[str, Any]:
    from tvselect.report.decisions import describe_doubts, why_left_out
    from tvselect.report.gathering import control_of
    from tvselect.runs.plan import describe_plan

    run, plan, control = result.run, result.run.plan, control_of(result.fit)
    outcome = plan.facts.outcome
    return {
        "run": str(result.folder.path),
        "state": run.state,
        "stop_reason": run.stop_reason,
        "target": plan.target,
        "family": outcome.family,
        "stream": plan.stream,
        "n_rows": outcome.n_rows,
        "n_columns": len(plan.columns),
        "n_plays": run.n_plays,
        "seconds": run.seconds,
        "seed": run.settings.seed,
        "selected": [{**v._asdict(), "group": v.group or None} for v in result.selected],
        "always": list(plan.always),
        "left_out": {name: why_left_out(why) for name, why in plan.facts.left_out.items()},
        "decisions": describe_plan(plan),
        "warnings": [*describe_doubts(plan.facts), *run.warnings],
        "max_fdr": control.max_fdr,
        "expected_false": control.expected_false,
        "unproven": control.unproven,
        "n_decoys": control.n_decoys,
        "highest_decoy": control.highest,
        "claims": [
            {
                "columns": claim.names,
                "shares": claim.shares or None,
                "selection_rate": claim.selection_rate,
                "q_value": None if math.isnan(claim.q_value) else claim.q_value,
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
    selected: Sequence[VariableResult], others: Sequence[VariableResult], q_value: str = "q-value"
) -> list[str]:
    """The selected variables with numbers and bars, then the best others; a line for a group."""
    selected, others = _one_a_group(selected), _one_a_group(others)[:RUNNERS_UP]
    shown = [*selected[:MOST_ROWS], *others]
    is_seen = any(v.seen for v in shown)
    rows = [["variable", q_value, "selection rate", "95 % interval", *["seen"] * is_seen]]
    for v in shown:
        q = "" if v.q_value is None else level(v.q_value)
        rate = f"{v.selection_rate:4.2f}  {bar(v.selection_rate)}"
        seen = [shorten(v.seen)] * is_seen
        rows.append([shorten(v.group or v.name), q, rate, f"{v.low:.2f} to {v.high:.2f}", *seen])
    if all(v.q_value is None for v in shown):
        rows = [[name, *rest] for name, _, *rest in rows]
    lines = aligned(rows)
    n_selected = 1 + min(len(selected), MOST_ROWS)
    if others:
        lines.insert(n_selected, "  not selected, the best of them:")
    if len(selected) > MOST_ROWS:
        lines.insert(n_selected, f"  ... and {len(selected) - MOST_ROWS:,} more in selected.csv")
    return lines


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as lines with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _one_a_group(variables: Sequence[VariableResult]) -> list[VariableResult]:
    firsts: dict[object, VariableResult] = {}
    for v in variables:
        firsts.setdefault(v.group or (v.name,), v)
    return list(firsts.values())


def bar(share: float) -> str:
    """A bar of text, padded to its width; of number signs where there are no blocks."""
    full, part = divmod(round(8 * BAR_WIDTH * share), 8)
    text = EIGHTHS[-1] * full + EIGHTHS[part].strip()
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = "#" * round(BAR_WIDTH * share)
    return text.ljust(BAR_WIDTH)


def show_comparison(found: Comparison, terminal: Terminal) -> None:
    """Show who selects what, how alike runs are, and in what they differ."""
    runs = range(1, len(found.folders) + 1)
    every = "both" if len(runs) == 2 else "all"
    n_all = sum(one.in_all for one in found.variables)
    index = "Jaccard index" if len(runs) == 2 else "mean Jaccard index"
    agreement = (
        f"{n_all} of {len(found.variables)} variables by {every} ({index} {found.jaccard:.2f})."
    )
    largest = found.largest_difference
    if terminal.is_json:
        as_json = {
            "runs": found.folders,
            "jaccard": found.jaccard,
            "same": not found.differences,
            "differences": found.differences,
            "effects": found.effects,
            "variables": [_as_entry(one) for one in found.variables],
            "largest_difference": largest and _as_entry(largest),
        }
        terminal.show(as_json, ())
        return
    if not terminal.is_pretty:
        names = ("selected", "selection_rate", "q_value", "effect", "direction")
        cells = [["variable", *(f"{name}_{number}" for name in names for number in runs)]]
        for one in found.variables:
            answers = ("yes" if is_selected else "no" for is_selected in one.selected)
            numbers = (*one.selection_rate, *one.q_value, *one.effect)
            shown = ("" if x is None else f"{x:.6f}" for x in numbers)
            cells.append([one.name, *answers, *shown, *one.direction])
        terminal.show_rows(cells)
        for sentence in (*found.differences, *found.effects, agreement):
            terminal.say(sentence)
        return
    rates, levels = [f"rate {k}" for k in runs], [f"q {k}" for k in runs]
    rows = [["variable", "selected", *rates, "change", *levels]]
    for one in found.variables:
        by = " and ".join(str(k) for k, chosen in zip(runs, one.selected, strict=True) if chosen)
        rates = ["-" if x is None else f"{x:.2f}" for x in one.selection_rate]
        change = "" if one.difference is None else f"{one.difference:+.2f}"
        q_values = ("-" if x is None else level(x) for x in one.q_value)
        rows.append([one.name, f"by {every if one.in_all else by}", *rates, change, *q_values])
    lines = [f"{number}: {folder}" for number, folder in zip(runs, found.folders, strict=True)]
    lines += [f"  {sentence}" for sentence in found.differences or ["Same data, same settings."]]
    lines += ["", *aligned(rows), "", agreement]
    if largest is not None and largest.difference:
        known = [rate for rate in largest.selection_rate if rate is not None]
        ends = known if len(known) == 2 else [min(known), max(known)]
        change = f"{largest.name}, from {ends[0]:.2f} to {ends[1]:.2f}."
        lines.append(f"Largest change of the selection rate: {change}")
    terminal.show(None, [*lines, *found.effects])


def _as_entry(one: Compared) -> dict[str, Any]:
    return {**one._asdict(), "difference": one.difference}
