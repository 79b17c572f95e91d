"""Direct mail, with and without knockoffs, and the table of the variables that are selected."""

from __future__ import annotations

from benchmarks.mail import BATCH_SIZES, TIME_LIMIT, tables
from benchmarks.paper.edition import Edition
from tvstudy.datasets import load_direct_mail


def section(edition: Edition) -> list[str]:
    lines = ["## Direct mail", ""]
    if edition.mail is None:
        return [*lines, "Not made: `make paper MAIL=charity_mail.csv.gz` says where the data are."]
    sizes, limit = edition.either((BATCH_SIZES, TIME_LIMIT), (BATCH_SIZES[:1], 60.0))
    if edition.at_most is not None:
        limit = min(limit, 100.0 * edition.at_most)
    path = edition.mail
    piece = edition.piece(
        "mail", lambda: {"lines": list(tables(load_direct_mail(path), sizes, limit))}
    )
    return [
        *lines,
        "The paper's data are closed; this is an open experiment of the same kind, treated the "
        "same way: streamed in batches until the model is stable for 100 plays, without decoys "
        "and with a knockoff of every variable. The paper: no decoy is selected when batches are "
        "large enough.",
        "",
        *piece["lines"],
    ]
