"""The paper's direct-mail recipe on an open experiment of 50,083 households.

``make study-mail MAIL=charity_mail.csv.gz`` prints the tables and records them: who gives after a
letter, streamed in batches until the model has been stable for 100 plays, with and without
knockoffs as decoys.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks.records import heading, record
from tvselect import StreamingThompsonSelector
from tvstudy.datasets import load_direct_mail

BATCH_SIZES = (1000, 2000, 5000)
TIME_LIMIT = 600.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", help="the experiment as CSV (also gzip)")
    mail = load_direct_mail(parser.parse_args().path)
    names = np.array(mail.feature_names)
    chosen: dict[str, np.ndarray] = {}
    lines = [
        *heading("Direct mail: who gives after a letter", "make study-mail MAIL=..."),
        f"{len(mail.target):,} households, {names.size} variables (covariates, the mail indicator, "
        f"their products), {100 * mail.target.mean():.1f} % gave. M=1,000, until the model has "
        f"been stable for 100 plays, at most {TIME_LIMIT:.0f} s.",
        "",
        "| batch | error control | plays | seconds | selected | expected false, at most |",
        "|---|---|---|---|---|---|",
    ]
    for max_fdr in (None, 0.1):
        for size in BATCH_SIZES:
            selector = StreamingThompsonSelector(
                batch_size=size,
                n_rounds=None,
                patience=100,
                time_limit=TIME_LIMIT,
                max_fdr=max_fdr,
                random_state=0,
            )
            started = time.perf_counter()
            selector.fit(mail.data, mail.target)
            seconds = time.perf_counter() - started
            label = f"s={size:,}" + (", FDR 0.1" if max_fdr else "")
            chosen[label] = np.where(selector.support_, selector.selection_rates_, np.nan)
            lines.append(
                f"| {size:,} | {f'FDR {max_fdr}' if max_fdr else 'none'} | {selector.n_plays_} | "
                f"{seconds:.0f} | {selector.support_.sum()} | {selector.expected_false_:.2g} |"
            )
            print(lines[-1], flush=True)
    table = np.column_stack(list(chosen.values()))
    order = np.argsort(-np.nan_to_num(table).sum(axis=1), kind="stable")
    lines += [
        "",
        "Selected variables and their selection rate:",
        "",
        "| variable | " + " | ".join(chosen) + " |",
        "|---|" + "---|" * len(chosen),
    ]
    for j in order[: int((~np.isnan(table)).any(axis=1).sum())]:
        cells = ("" if np.isnan(value) else f"{value:.2f}" for value in table[j])
        lines.append(f"| {names[j]} | " + " | ".join(cells) + " |")
    record("mail.md", lines)


if __name__ == "__main__":
    main()
