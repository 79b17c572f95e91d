"""How to report a run: every number is that of the run, and nothing is said that was not done."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.decoyed import fit_chances, fit_signals, stream_heights
from tvselect.after.worth import Worth
from tvselect.report import describe_methods, gather, render

ALWAYS = (
    "Liu, Y. and Ročková, V. (2023)",
    "tvselect: Thompson Variable Selection",
    "only you know",
)


def found(signals=(0.65, 0.6, 0, 0, 0), options=None, **settings):
    selector, X, y = fit_signals(signals, **settings)
    return gather(selector, X, y, target="price", random_state=0, **(options or {}))


CASES = {
    "decoys": (
        lambda: found(options={"left_out": {"constant": 2, "identifier": 1}}, n_chains=2),
        ["The outcome was price (a number).",
         "400 rows and 5 columns besides it, after 3 columns were left out beforehand "
         "(constant: 2, identifier: 1).",
         "80 plays in each of 2 chains", "with seed 0", "all 80 plays are done",
         "10 copies of every column (decoys), shuffled apart", "a false discovery rate of 0.1",
         "Bates et al. 2023", "Bates, S., Candès, E.",
         "Of 5 variables, 2 were selected for price at a false discovery rate of 0.1; the expected "
         "number of false ones is 0.1: c0 (q = 0.050, selection rate 0.9"],
        ["Wang", "knockoffs", "told apart on", "part of every play"],
    ),
    "median model": (
        lambda: gather(fit_chances([0.9, 0.1, 0.5], always_include=["c1"])[0]),
        ["c1 was part of every play.", "the median model, which makes no statement",
         "- Decoys: none", "- False selections to expect: not known"],
        ["false discovery rate of", "Bates", "Wang", "copies of every"],
    ),
    "nothing": (
        lambda: found(np.zeros(20)),
        ["No column could be told from the decoys at a false discovery rate of 0.10.",
         "The best was c", "This does not exclude weaker effects."],
        ["Of 20 variables,"],
    ),
    "claims": (
        lambda: found([0.6, 0.6, 0, 0, 0], twins=[(0, 2)]),
        ["At least one of each set matters", "were claimed together", "rank correlation of 0.6"],
        ["the median model"],
    ),
    "stream": (
        lambda: gather(stream_heights([0.9, 0.2, 0.1], max_fdr=0.1)),
        ["one batch", "e-BH rule (Wang and Ramdas 2022)", "Wang, R. and Ramdas, A.",
         "every batch handed in is played", "(decoys), shuffled"],
        ["Bates", "fingerprint of data"],
    ),
    "worth": (
        lambda: replace(found(), worth=Worth("R2", (0.7, 0.8), (0.6, 0.7), (0.0, 0.0), (2, 3),
                                             300, 1.5)),
        ["On held-out rows, with the selection made again in each of 2 parts, R2 was",
         "- Checked on held-out rows: R2"],
        ["no (tvs worth)"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("make", "said", "unsaid"), CASES.values(), ids=CASES)
def test_what_was_done_is_said_and_nothing_else(make, said, unsaid):
    text = describe_methods(make())
    assert [words for words in (*ALWAYS, *said) if words not in text] == []
    assert [words for words in unsaid if words in text] == []
    assert "\N{NO-BREAK SPACE}" not in text
    titles = [
        line for line in text.splitlines() if line in ("Methods", "Results", "To cite", "Checklist")
    ]
    assert titles == ["Methods", "Results", "To cite", "Checklist"]


def test_the_report_ends_with_it():
    page = render(found())
    assert page.index("For the statistician") < page.index("How to report this")
    assert "shuffled apart from what they share with common factors, took part" in page
