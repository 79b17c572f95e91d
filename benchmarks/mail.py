"""The paper's direct-mail recipe on an open experiment of 50,083 households.

``make study-mail MAIL=charity_mail.csv.gz`` prints the tables and records them: who gives after a
letter, streamed in batches until the model has been stable for 100 plays, with and without
knockoffs as decoys, and the whole table at once.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from benchmarks.records import heading, record_as_made
from tvselect import Search, StreamingThompsonSelector, ThompsonSelector
from tvstudy.datasets import load_direct_mail

BATCH_SIZES = (1000, 2000, 5000)
TIME_LIMIT = 600.0
LEVEL = 0.1


def selectors(
    batch_sizes: Sequence[int], time_limit: float
) -> Iterator[tuple[str, float | None, StreamingThompsonSelector | ThompsonSelector]]:
    """Rows of a play, the level of false discoveries, and the selector."""
    for max_fdr in (None, LEVEL):
        for size in batch_sizes:
            yield (
                f"{size:,}",
                max_fdr,
                StreamingThompsonSelector(
                    batch_size=size,
                    n_rounds=None,
                    search=Search(patience=100),
                    time_limit=time_limit,
                    max_fdr=max_fdr,
                    random_state=0,
                ),
            )
    yield "whole table", LEVEL, ThompsonSelector(max_fdr=LEVEL, random_state=0)


def tables(mail: Any, batch_sizes: Sequence[int], time_limit: float) -> Iterator[str]:
    """Selections with and without error control, then the variables that they select."""
    names = np.array(mail.feature_names)
    chosen: dict[str, np.ndarray] = {}
    yield (
        f"{len(mail.target):,} households, {names.size} variables (covariates, the mail indicator, "
        f"their products), {100 * mail.target.mean():.1f} % gave. Streams: until the model has "
        f"been stable for 100 plays, at most {time_limit:.0f} s. Whole table: `ThompsonSelector()` "
        "as it comes. Seconds of CPU."
    )
    yield from (
        "",
        "| batch | error control | plays | seconds | selected | expected false, at most |",
        "|---|---|---|---|---|---|",
    )
    for rows, max_fdr, selector in selectors(batch_sizes, time_limit):
        started = time.process_time()
        selector.fit(mail.data, mail.target)
        seconds = time.process_time() - started
        label = rows + (f", FDR {max_fdr}" if max_fdr else "")
        chosen[label] = np.where(selector.support_, selector.selection_rates_, np.nan)
        expected = "not known" if max_fdr is None else f"{selector.expected_false_:.2g}"
        yield (
            f"| {rows} | {f'FDR {max_fdr}' if max_fdr else 'none'} | {selector.n_plays_} | "
            f"{seconds:.0f} | {selector.support_.sum()} | {expected} |"
        )
    table = np.column_stack(list(chosen.values()))
    order = np.argsort(-np.nan_to_num(table).sum(axis=1), kind="stable")
    if np.isnan(table).all():
        yield from ("", "No variable is selected.")
        return
    yield from ("", "Selected variables and their selection rate:", "")
    yield "| variable | " + " | ".join(chosen) + " |"
    yield "|---|" + "---|" * len(chosen)
    for j in order[: int((~np.isnan(table)).any(axis=1).sum())]:
        cells = ("" if np.isnan(value) else f"{value:.2f}" for value in table[j])
        yield f"| {names[j]} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", help="the experiment as CSV (also gzip)")
    mail = load_direct_mail(parser.parse_args().path)
    title = heading("Direct mail: who gives after a letter", "make study-mail MAIL=...")
    record_as_made("mail.md", chain(title, tables(mail, BATCH_SIZES, TIME_LIMIT)))


if __name__ == "__main__":
    main()
