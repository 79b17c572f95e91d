"""Columns of a stream that begin to vary after the rows by which others are cut."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from tests.selectors.runs import assert_same
from tests.selectors.streams import (
    NAMES,
    SIGNALS,
    make_data,
    parts,
    play_parts,
    quick_bart,
    selector,
)

N_ROWS, LATE = 3500, 1000


def late_data():
    X, y = make_data(n=N_ROWS)
    X[:LATE, [3, 5]] = 0.0
    return X, y


@pytest.mark.parametrize("decoys", [None, "knockoffs", "shuffled"])
def test_a_column_that_begins_to_vary_is_found(decoys):
    fitted = selector(quick_bart(), decoys=decoys).fit(*late_data())
    assert_array_equal(np.flatnonzero(fitted.support_), SIGNALS)


def test_text_that_begins_to_vary_is_found():
    X, y = make_data(n=N_ROWS)
    kind = np.random.default_rng(5).choice(["p", "q"], N_ROWS)
    kind[:LATE] = "p"
    frame = pd.DataFrame(X, columns=NAMES).assign(kind=kind)
    fitted = selector(quick_bart(), decoys="shuffled").fit(frame, y + 9.0 * (kind == "q"))
    assert "kind" in fitted.get_feature_names_out()


def test_the_same_by_parts_by_threads_and_after_a_stop(tmp_path):
    X, y = late_data()
    settings = {"decoys": "knockoffs", "n_chains": 2}
    once = selector(quick_bart(), **settings).fit(X, y)
    assert_same(once, selector(quick_bart(), n_jobs=2, **settings).fit(X, y))
    journal = tmp_path / "run.tvs"
    by_parts = parts(X, y)
    play_parts(selector(quick_bart(), journal=journal, **settings), by_parts[:15])
    assert_same(
        once, play_parts(selector(quick_bart(), journal=journal, **settings), by_parts[15:])
    )
