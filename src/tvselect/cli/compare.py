"""``tvs compare``: two runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tvselect.cli.parser import Options
from tvselect.cli.terminal import Terminal

if TYPE_CHECKING:
    from tvselect.runs.compare import Comparison, Pair


def compare(options: Options, terminal: Terminal) -> int:
    """Show who selects what, how alike the runs are, and in what they differ."""
    from tvselect.runs import compare
    from tvselect.runs.folder import RunFolder

    found = compare.compare(*(RunFolder(Path(path)) for path in options.runs))
    if terminal.is_json:
        terminal.print_json(_as_json(found))
    elif terminal.is_pretty:
        terminal.print_lines(_lines(found))
    else:
        header = ["variable", "selected_1", "selected_2", "selection_rate_1",
                  "selection_rate_2", "q_value_1", "q_value_2"]  # fmt: skip
        terminal.print_rows([header, *map(_cells, found.pairs)])
        for sentence in found.differences:
            terminal.say(sentence)
        terminal.say(_agreement(found))
    return 0


def _cells(pair: Pair) -> list[str]:
    numbers = map(_number, (*pair.selection_rate, *pair.q_value))
    return [pair.name, *("yes" if s else "no" for s in pair.selected), *numbers]


def _lines(found: Comparison) -> list[str]:
    from tvselect.plotting.labels import level

    lines = [f"1: {found.folders[0]}", f"2: {found.folders[1]}"]
    lines += [f"  {sentence}" for sentence in found.differences or ["Same data, same settings."]]
    width = max([len(pair.name) for pair in found.pairs] + [len("variable")])
    lines += ["", f"  {'variable':<{width}}  {'selected':<9}  rate 1 rate 2  change     q 1    q 2"]
    for pair in found.pairs:
        who = {(True, True): "by both", (True, False): "by 1", (False, True): "by 2"}[pair.selected]
        change = " " * 7 if pair.difference is None else f"{pair.difference:+7.2f}"
        q = " ".join(f"{'-' if q is None else level(q):>6}" for q in pair.q_value)
        rates = " ".join(
            "     -" if rate is None else f"{rate:6.2f}" for rate in pair.selection_rate
        )
        lines.append(f"  {pair.name:<{width}}  {who:<9} {rates} {change}  {q}")
    lines += ["", _agreement(found)]
    largest = found.largest_difference
    if largest is not None and largest.difference:
        first, second = largest.selection_rate
        lines.append(
            f"Largest change of the selection rate: {largest.name}, from {first:.2f} to "
            f"{second:.2f}."
        )
    return lines


def _agreement(found: Comparison) -> str:
    both = sum(all(pair.selected) for pair in found.pairs)
    return f"{both} of {len(found.pairs)} variables by both (Jaccard index {found.jaccard:.2f})."


def _as_json(found: Comparison) -> dict[str, Any]:
    largest = found.largest_difference
    return {
        "runs": found.folders,
        "jaccard": found.jaccard,
        "same": not found.differences,
        "differences": found.differences,
        "variables": [_pair_as_json(pair) for pair in found.pairs],
        "largest_difference": None if largest is None else _pair_as_json(largest),
    }


def _pair_as_json(pair: Pair) -> dict[str, Any]:
    return {**pair._asdict(), "difference": pair.difference}


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"
