"""Tables of a study as Markdown, made from its rows alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tvstudy.check import Checked
from tvstudy.rows import FINISHED, Row
from tvstudy.summary import N_SIGNALS, Cell, CellKey, summarise


def hamming_table(rows: Sequence[Row], n_planned: int | None = None) -> list[str]:
    """Mean Hamming distance of every method in every cell, the lowest in bold.

    In bold, too: what is within one standard error of the difference from the lowest. A
    method that saw another number of data sets than ``n_planned`` has it in brackets.
    """
    cells = summarise(rows)
    lines = [
        "| method | " + " | ".join(_title(cell) for cell in cells) + " | mean | seconds |",
        "|---|" + "---|" * (len(cells) + 2),
    ]
    for method in dict.fromkeys(row["method"] for row in rows):
        found = [by_method.get(method) for by_method in cells.values()]
        texts = [
            _distance(cell, by_method, n_planned)
            for cell, by_method in zip(found, cells.values(), strict=True)
        ]
        seen = [cell for cell in found if cell is not None and cell.n]
        mean, seconds = "-", "-"
        if len(seen) == len(cells):
            mean = f"{np.mean([cell.means['hamming'] for cell in seen]):.2f}"
        if seen:
            seconds = f"{np.mean([cell.means['seconds'] for cell in seen]):.1f}"
        lines.append(f"| {method} | " + " | ".join(texts) + f" | {mean} | {seconds} |")
    return lines


def _title(cell: CellKey) -> str:
    setup, _, n_columns = cell
    return f"{setup}, p={n_columns:,}"


def _full_title(cell: CellKey) -> str:
    setup, n_rows, n_columns = cell
    return f"{setup}, n={n_rows:,}, p={n_columns:,}"


def _distance(cell: Cell | None, rivals: dict[str, Cell], n_planned: int | None) -> str:
    if cell is None:
        return "-"
    if not cell.n:
        return "not finished"
    best = min((c for c in rivals.values() if c.n), key=lambda c: c.means["hamming"])
    mean, error = cell.means["hamming"], cell.errors["hamming"]
    margin = np.hypot(np.nan_to_num(error), np.nan_to_num(best.errors["hamming"]))
    text = f"{mean:.2f}{_error(error)}"
    text = f"**{text}**" if mean - best.means["hamming"] <= margin else text
    if cell.n_unfinished:
        return f"{text} ({cell.n} of {cell.n + cell.n_unfinished})"
    return text if n_planned in (None, cell.n) else f"{text} ({cell.n})"


def measures_table(rows: Sequence[Row]) -> list[str]:
    """Hamming distance, shares of signals found and of false ones, and time: a line a method."""
    lines = [
        "| data | method | data sets | Hamming distance | TPR | FDR | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    for key, by_method in summarise(rows).items():
        for method, cell in by_method.items():
            rates = (
                f"{cell.means[name]:.2f}" + _error(cell.errors[name]) for name in ("power", "fdp")
            )
            texts = [
                _full_title(key), method, str(cell.n),
                _distance(cell, by_method, None), *(rates if cell.n else "--"),
                f"{cell.means['seconds']:.1f}" if cell.n else "-",
            ]  # fmt: skip
            lines.append("| " + " | ".join(texts) + " |")
    return lines


def _error(error: float) -> str:
    return "" if np.isnan(error) else f" ± {error:.2f}"


def error_table(rows: Sequence[Row]) -> list[str]:
    """Signals missed and noise selected per data set, in every cell."""
    cells = summarise(rows)
    lines = [
        "| method | " + " | ".join(_title(cell) for cell in cells) + " |",
        "|---|" + "---|" * len(cells),
    ]
    for method in dict.fromkeys(row["method"] for row in rows):
        texts = []
        for by_method in cells.values():
            cell = by_method.get(method)
            if cell is None or not cell.n:
                texts.append("-")
                continue
            missed = N_SIGNALS * (1.0 - cell.means["power"])
            false = max(0.0, cell.means["hamming"] - missed)
            texts.append(f"{missed:.1f} + {false:.1f}")
        lines.append(f"| {method} | " + " | ".join(texts) + " |")
    return lines


def verdict(rows: Sequence[Row], champion: str) -> list[str]:
    """The champion against the best rival of every cell, on the data sets that both saw.

    The standard error is that of the paired differences. Rivals are ordered by their mean
    difference, so the table shows the one that is hardest to beat, and the false discovery rates
    of both. Methods whose name begins like the champion's, up to its first comma, are variants
    of it and no rivals.
    """
    family = champion.split(",")[0]
    by_cell: dict[CellKey, dict[str, dict[int, Row]]] = {}
    for row in rows:
        if row["status"] == FINISHED:
            cell = by_cell.setdefault((row["setup"], row["n_rows"], row["n_columns"]), {})
            cell.setdefault(row["method"], {})[row["replicate"]] = row
    lines = [
        f"| data | hardest rival | {champion} minus rival | data sets | FDR of both | |",
        "|---|---|---|---|---|---|",
    ]
    for key, by_method in by_cell.items():
        own = by_method.pop(champion, {})
        shared = {
            rival: sorted(theirs.keys() & own.keys())
            for rival, theirs in by_method.items()
            if rival.split(",")[0] != family
        }
        paired = {
            rival: np.array([own[r]["hamming"] - by_method[rival][r]["hamming"] for r in both])
            for rival, both in shared.items()
            if len(both) > 1
        }
        if not paired:
            continue
        rival, difference = max(paired.items(), key=lambda item: item[1].mean())
        mean = difference.mean()
        error = difference.std(ddof=1) / np.sqrt(difference.size)
        word = "within one s.e." if abs(mean) <= error else "ahead" if mean < 0 else "behind"
        rates = [np.mean([d[r]["fdp"] for r in shared[rival]]) for d in (own, by_method[rival])]
        lines.append(
            f"| {_full_title(key)} | {rival} | {mean:+.2f} ± {error:.2f} | {difference.size} | "
            f"{rates[0]:.2f} / {rates[1]:.2f} | {word} |"
        )
    return lines


def calibration_table(rows: Sequence[Row], method: str) -> list[str]:
    """How often variables with a final selection rate between two values are signals."""
    pairs = [
        (rate, j < N_SIGNALS)
        for row in rows
        if row["method"] == method and row["status"] == FINISHED
        for j, rate in row.get("selection_rates", ())
    ]
    rates, true = np.array([p for p, _ in pairs]), np.array([t for _, t in pairs])
    lines = ["| selection rate | variables | signals | share |", "|---|---|---|---|"]
    for low in np.arange(0.2, 1.0, 0.1):
        inside = (rates >= low - 1e-9) & (rates < low + 0.1 - 1e-9)
        if inside.any():
            share = true[inside].mean()
            lines.append(
                f"| {low:.1f} to {low + 0.1:.1f} | {inside.sum()} | {true[inside].sum()} | "
                f"{share:.2f} |"
            )
    return lines


def check_table(checked: Sequence[Checked]) -> list[str]:
    """How many rows of each method gave the same selection again; those that did not, by name."""
    lines = ["| method | run again | the same | other |", "|---|---|---|---|"]
    for method in dict.fromkeys(one.method for one in checked):
        of_method = [one for one in checked if one.method == method]
        other = [one.key.removesuffix(f"/{method}") for one in of_method if not one.same]
        n = len(of_method)
        lines.append(f"| {method} | {n} | {n - len(other)} | {', '.join(other) or '-'} |")
    return lines
