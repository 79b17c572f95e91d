"""Every kind of question, every rival: errors, false discoveries, signals found and time.

``make study-rivals`` runs what its folder of rows lacks, runs some rows again to see whether they
hold, and writes the page with a figure for each question. No default was chosen on these data sets.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import matplotlib
import numpy as np

from benchmarks.records import ROOT, heading, record
from tvstudy.check import check_rows
from tvstudy.figures import plot_study
from tvstudy.grid import PAPER_SETUPS, Task
from tvstudy.methods import ALL_METHODS
from tvstudy.rows import Row, by_cpu
from tvstudy.runner import run_study
from tvstudy.summary import summarise
from tvstudy.tables import check_table, measures_table, verdict

Cells = tuple[tuple[str, int, int], ...]
STREAMS = "Streams, 10,000 rows"
QUESTIONS: dict[str, Cells] = {
    "The paper's set-ups, 1,000 columns": tuple((s, 300, 1_000) for s in PAPER_SETUPS),
    "The paper's set-ups, 10,000 columns": tuple((s, 300, 10_000) for s in PAPER_SETUPS),
    "Bumps in groups": tuple(
        (setup, n, 500) for setup in ("bumps", "bumps: classes") for n in (250, 500)
    ),
    "Many signals": tuple(
        (f"AR({r}): {n} signals", 300, 1_000) for r in (0.5, 0.9) for n in (10, 20)
    ),
    "Two classes": tuple((f"two classes: {s}", 500, 1_000) for s in PAPER_SETUPS),
    "Three classes": (("three classes: expression", 150, 200),),
    "Nothing there": tuple(
        (f"null: {kind}", 300, p)
        for kind in ("normal, normal", "AR(0.9), normal", "normal, classes")
        for p in (200, 2_000)
    ),
    STREAMS: tuple((s, 10_000, 1_000) for s in PAPER_SETUPS),
}
METHODS = (
    "TVS-FDR",
    "TVS",
    "TVS paper, M=1000",
    "DART, 10 chains of 20 trees",
    "IPSS",
    "IPSS, LASSO",
    "Boruta",
    "knockoffs, q=0.1",
    "knockoffs, TVS, q=0.1",
    "hidimstat, CRT",
    "hidimstat, knockoffs",
    "stability selection",
    "spike-and-slab LASSO",
    "SIS + BART",
)
ON_STREAMS = (
    "TVS online, s=1000, M=1000, patience 100",
    "TVS-FDR",
    "DART, 50 trees",
    "spike-and-slab LASSO",
    "SIS + BART",
    "alpha-investing",
)
CHAMPION = "TVS-FDR"
FEWER = {
    "Boruta": 2,
    "IPSS": 10,
    "IPSS, LASSO": 10,
    "hidimstat, CRT": 5,
    "hidimstat, knockoffs": 2,
    "knockoffs, TVS, q=0.1": 5,
}
"""Data sets of a cell for methods that take minutes."""
NOT_WIDE = ("Boruta", "knockoffs, q=0.1", "knockoffs, TVS, q=0.1")
"""Not on 10,000 columns: an hour, or 9 GB."""


def plan(n: int, methods: Sequence[str], questions: Sequence[str]) -> Iterator[Task]:
    """All tasks, data set by data set."""
    for replicate in range(n):
        for question in questions:
            asked = [m for m in (ON_STREAMS if question == STREAMS else METHODS) if m in methods]
            for setup, n_rows, n_columns in QUESTIONS[question]:
                for method in asked:
                    if replicate < FEWER.get(method, n) and not (
                        n_columns >= 10_000 and method in NOT_WIDE
                    ):
                        yield Task(setup, n_rows, n_columns, replicate, method)


def of_question(rows: list[Row], question: str) -> list[Row]:
    cells = QUESTIONS[question]
    return [r for r in rows if (r["setup"], r["n_rows"], r["n_columns"]) in cells]


def overview(rows: list[Row], questions: Sequence[str]) -> list[str]:
    """Hamming distance and false share of every method, means over the cells of a question."""
    lines = ["| method | " + " | ".join(questions) + " |", "|---|" + "---|" * len(questions)]
    by_question = [summarise(of_question(rows, question)) for question in questions]
    for method in dict.fromkeys(row["method"] for row in rows):
        texts = []
        for cells in by_question:
            seen = [by_method.get(method) for by_method in cells.values()]
            done = [cell.means for cell in seen if cell is not None and cell.n]
            complete = bool(done) and len(done) == len(cells)
            means = [np.mean([m[name] for m in done]) for name in ("hamming", "fdp") if complete]
            texts.append(" / ".join(f"{mean:.2f}" for mean in means) or "-")
        lines.append(f"| {method} | " + " | ".join(texts) + " |")
    return lines


def hold(rows: list[Row], per_method: int, n_jobs: int) -> str:
    """Whether rows that are run again select the same."""
    checked = check_rows(rows, per_method, n_jobs=n_jobs)
    print("\n".join(check_table(checked)))
    other = [one.key for one in checked if not one.same]
    return (
        "The rows were collected over several commits. Do they hold for the code of this page? "
        f"{per_method} row(s) of every method, of those of less than a minute, taken at random, "
        "were run again (`python -m tvstudy check`): "
        f"{len(checked) - len(other)} of {len(checked)} selected the same columns"
        + (f", other ones in {'; '.join(other)}." if other else ".")
    )


def against_the_hardest(rows: list[Row], questions: Sequence[str]) -> list[str]:
    """The default next to the hardest rival of every cell; other rules of TVS are no rivals."""
    rows = [r for r in rows if r["method"] == CHAMPION or not r["method"].startswith("TVS")]
    return verdict([row for q in questions for row in of_question(rows, q)], CHAMPION)


def page(rows: list[Row], questions: Sequence[str], held: str) -> list[str]:
    lines = [
        *heading("Every question, every rival", "make study-rivals"),
        "TVS-FDR: `ThompsonSelector()` as it comes, false discovery rate 0.1; TVS: the median rule "
        "(`max_fdr=None`); TVS paper: that rule with the paper's trees. IPSS: the package as it "
        "comes, boosted stumps or LASSO, q-values of at most 0.1. Knockoffs: second-order "
        "Gaussian, with LASSO statistics or with the selection rates of TVS. Methods for "
        "numbers take classes as numbers. Hamming distance: signals missed plus noise selected; "
        "bold: the lowest of the cell, and what lies within one standard error of the difference "
        "from it. TPR: share of the signals found; FDR: mean share of false ones among the "
        "selected. Seconds: of CPU, median. ± is a standard error. Survival times, where the "
        "rivals are others, have [a page of their own](survival.md); more data sets with fewer "
        "rivals are on the pages of [errors](errors.md) and [bumps](bumps.md). [Every "
        "row](rivals/rows.jsonl): what was selected, and how long it took.",
        "",
        held,
        "",
        "Hamming distance / share of false ones, means over the cells of each question. Slow "
        "methods saw fewer data sets, the first ones; how many, the tables below say.",
        "",
        *overview(rows, questions),
        "",
        "TVS-FDR next to the rival that is hardest to beat in each cell, on the data sets that "
        "both saw, two at least; ± is the standard error of the paired difference. A rival with a "
        "share of false ones above 0.1 buys its finds with them.",
        "",
        *against_the_hardest(rows, questions),
    ]
    for k, question in enumerate(questions):
        some = of_question(rows, question)
        if not some:
            continue
        name = f"rivals_{k + 1}.png"
        plot_study(some).savefig(ROOT / "docs" / "images" / name, dpi=80)
        lines += ["", f"## {question}", "", *measures_table(some)]
        lines += ["", f"![errors, power and time: {question}](../images/{name})"]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, required=True, help="folder of the rows")
    parser.add_argument("-n", type=int, default=50, help="data sets a cell")
    names = list(dict.fromkeys(METHODS + ON_STREAMS))
    parser.add_argument("--method", nargs="*", choices=names, default=names)
    parser.add_argument("--question", nargs="*", choices=QUESTIONS, default=list(QUESTIONS))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--time-limit", type=float, default=600.0, help="seconds per selection")
    parser.add_argument("--check", type=int, default=3, help="rows of a method to run again")
    parser.add_argument("--only-page", action="store_true", help="run nothing new")
    options = parser.parse_args()
    for name in options.method:
        ALL_METHODS[name](0)  # what it imports, the processes of the runs need not
    todo = [] if options.only_page else plan(options.n, options.method, options.question)
    rows = run_study(todo, options.rows, n_jobs=options.jobs, time_limit=options.time_limit)
    matplotlib.use("Agg")
    rows = sorted(
        (row for row in by_cpu(rows) if row["method"] in names and row["replicate"] < options.n),
        key=lambda row: names.index(row["method"]),
    )
    held = hold(rows, options.check, options.jobs)
    record("rivals.md", page(rows, list(QUESTIONS), held))


if __name__ == "__main__":
    main()
