"""Tables of the battery as Markdown: false selections, signals found, time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tvstudy.rows import FINISHED, LEVELS, Row
from tvstudy.summary import CellKey

NULL = "null: "
ALLOWED = 0.1
"""Share of runs without any signal that may select something."""

Groups = dict[CellKey, dict[str, list[Row]]]


def null_tables(rows: Sequence[Row]) -> list[str]:
    """Per method: the share of runs that select anything where there is no signal.

    In bold: above the allowed share by more than two of its standard errors.
    """
    cells = _groups(rows, lambda row: row["setup"].startswith(NULL))
    sizes = sorted({p for _, _, p in cells})
    lines: list[str] = []
    for method in _methods(cells):
        texts: dict[str, dict[int, str]] = {}
        verdicts = []
        for (setup, _, p), by_method in cells.items():
            if n := len(by_method.get(method, ())):
                share = float(np.mean([_n_selected(row) > 0 for row in by_method[method]]))
                verdicts.append(share <= ALLOWED + 2 * _share_error(ALLOWED, n))
                text = f"{100 * share:.1f} ± {100 * _share_error(share, n):.1f}"
                text = text if verdicts[-1] else f"**{text}**"
                texts.setdefault(_named(setup.removeprefix(NULL)), {})[p] = f"{text} ({n})"
        every = [row for by in cells.values() for row in by.get(method, ())]
        share = float(np.mean([_n_selected(row) > 0 for row in every]))
        lines += [
            f"**{method}**: {sum(verdicts)} of {len(verdicts)} cells at most "
            f"{ALLOWED:.0%} + 2 s.e.; all {len(every):,} runs together "
            f"{100 * share:.1f} ± {100 * _share_error(share, len(every)):.1f} %.",
            "",
            "| columns, outcome | " + " | ".join(f"p={p:,}" for p in sizes) + " |",
            "|---|" + "---|" * len(sizes),
            *(
                f"| {setup} | " + " | ".join(by_size.get(p, "-") for p in sizes) + " |"
                for setup, by_size in texts.items()
            ),
            "",
        ]
    return lines[:-1]


def fdr_table(rows: Sequence[Row], level: float) -> list[str]:
    """Signals found and false discovery rates at a level, the methods below each other.

    In bold: above the level by more than two standard errors.
    """
    cells = _groups(rows, lambda row: not row["setup"].startswith(NULL) and "at" in row)
    lines = [
        "| data | method | data sets | signals | found | FDR, columns | claims "
        "| columns a claim | FDR, claims |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for cell, by_method in cells.items():
        for method, some in by_method.items():
            signals = np.mean([row["n_signals"] for row in some])
            made = [claims for claims in _at(some, level, "n_claims") if claims is not None]
            by_claim = ["-"] * 3
            if made:
                by_claim = [
                    f"{np.mean(made):.1f}",
                    f"{np.mean(_at(some, level, 'claim_size')):.1f}",
                    _rate(_at(some, level, "claim_fdp"), level),
                ]
            texts = [
                _title(cell), method, str(len(some)), f"{signals:.1f}",
                _plus_minus(_at(some, level, "n_true")), _rate(_at(some, level, "fdp"), level),
                *by_claim,
            ]  # fmt: skip
            lines.append("| " + " | ".join(texts) + " |")
    return lines


def duel_table(rows: Sequence[Row], ours: str, rival: str, level: float) -> list[str]:
    """Signals that two methods find at a level, on the data sets that both saw."""
    cells = _groups(rows, lambda row: not row["setup"].startswith(NULL) and "at" in row)
    lines = [
        f"| data | both saw | {ours} | {rival} | difference | |",
        "|---|---|---|---|---|---|",
    ]
    for cell, by_method in cells.items():
        found = [
            dict(zip((row["replicate"] for row in some), _at(some, level, "n_true"), strict=True))
            for some in (by_method.get(ours, []), by_method.get(rival, []))
        ]
        both = sorted(found[0].keys() & found[1].keys())
        if both:
            own, theirs = (np.array([one[k] for k in both]) for one in found)
            mean = float((own - theirs).mean())
            lines.append(
                f"| {_title(cell)} | {len(both)} | {own.mean():.2f} | {theirs.mean():.2f} | "
                f"{_plus_minus(own - theirs)} | "
                f"{'ahead' if mean > 0 else 'behind' if mean < 0 else 'level'} |"
            )
    return lines


def time_table(rows: Sequence[Row]) -> list[str]:
    """Median seconds of a run, CPU and clock, by kind of data and size."""
    cells = _groups(rows, lambda row: "cpu_seconds" in row, lambda name: name.split(":")[0])
    methods = _methods(cells)
    lines = ["| data | " + " | ".join(methods) + " |", "|---|" + "---|" * len(methods)]
    for cell, by_method in cells.items():
        texts = []
        for method in methods:
            some = by_method.get(method, [])
            medians = (np.median([r[k] for r in some]) for k in ("cpu_seconds", "seconds") if some)
            texts.append(" / ".join(f"{median:.1f}" for median in medians) or "-")
        lines.append(f"| {_title(cell)} | " + " | ".join(texts) + " |")
    return lines


def choice_table(rows: Sequence[Row]) -> list[str]:
    """Variants next to each other, each by its own rule: noise, signals found, FDR, time."""
    nulls = _groups(rows, lambda row: row["setup"].startswith(NULL))
    cells = _groups(rows, lambda row: not row["setup"].startswith(NULL))
    lines = [
        "| variant | null runs | select anything | data sets | share found | FDR, columns "
        "| FDR, claims | CPU seconds | " + " | ".join(_title(cell) for cell in cells) + " |",
        "|---|" + "---|" * (7 + len(cells)),
    ]
    for method in dict.fromkeys([*_methods(nulls), *_methods(cells)]):
        quiet = [row for by in nulls.values() for row in by.get(method, [])]
        some = [row for by in cells.values() for row in by.get(method, [])]
        claimed = [row["at"][0]["claim_fdp"] for row in some if "at" in row]
        claimed = [fdp for fdp in claimed if fdp is not None]
        texts = [
            method, str(len(quiet)), _plus_minus([_n_selected(row) > 0 for row in quiet]),
            str(len(some)), _plus_minus([row["power"] for row in some]),
            _plus_minus([row["fdp"] for row in some]), _plus_minus(claimed),
            f"{np.median([row['cpu_seconds'] for row in quiet + some]):.1f}",
        ]  # fmt: skip
        for by_method in cells.values():
            here = by_method.get(method, [])
            means = (np.mean([row[k] for row in here]) for k in ("power", "fdp") if here)
            texts.append(", ".join(f"{mean:.2f}" for mean in means) or "-")
        lines.append("| " + " | ".join(texts) + " |")
    return lines


def not_finished_list(rows: Sequence[Row]) -> list[str]:
    """Runs without a result and why, so that none is left out silently."""
    lost = [row for row in rows if row["status"] != FINISHED]
    return [f"- {row['key']}: {row.get('error', row['status'])}" for row in lost]


def _groups(
    rows: Sequence[Row], wanted: Callable[[Row], bool], name: Callable[[str], str] = str
) -> Groups:
    """Finished rows by cell and method, both in the order of the rows."""
    groups: Groups = {}
    for row in rows:
        if row["status"] == FINISHED and wanted(row):
            cell = groups.setdefault((name(row["setup"]), row["n_rows"], row["n_columns"]), {})
            cell.setdefault(row["method"], []).append(row)
    return groups


def _methods(cells: Groups) -> list[str]:
    return list(dict.fromkeys(method for by_method in cells.values() for method in by_method))


def _n_selected(row: Row) -> int:
    return len(row["selected"])


def _at(rows: Sequence[Row], level: float, name: str) -> list[Any]:
    return [row["at"][LEVELS.index(level)][name] for row in rows]


def _share_error(share: float, n: int) -> float:
    return float(np.sqrt(share * (1.0 - share) / n))


def _plus_minus(values: ArrayLike) -> str:
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.size == 0:
        return "-"
    error = numbers.std(ddof=1) / np.sqrt(numbers.size) if numbers.size > 1 else np.nan
    return f"{numbers.mean():.2f}" if np.isnan(error) else f"{numbers.mean():.2f} ± {error:.2f}"


def _rate(values: Sequence[float], level: float) -> str:
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    text = _plus_minus(values)
    return text if np.mean(values) <= level + 2 * error else f"**{text}**"


def _title(cell: CellKey) -> str:
    return f"{_named(cell[0])}, n={cell[1]:,}, p={cell[2]:,}"


def _named(setup: str) -> str:
    """A set-up as it is shown: its columns are correlated, not its rows."""
    return setup.replace("AR(", "columns AR(")
