"""The same search with other seeds."""

from __future__ import annotations

import numpy as np
import pytest

from tests.decoyed import fit_signals
from tvselect import ThompsonSelector, stability_over_seeds
from tvselect.after.worth import Stability, draw_seeds
from tvselect.plotting import plot_stability
from tvselect.report import gather, render
from tvselect.selectors.results import mean_jaccard


def test_it_is_what_fits_with_these_seeds_select():
    selector, X, y = fit_signals([0.6, 0.16, 0.15, 0, 0], n_plays=30)
    before, search = selector.support_.copy(), selector.search
    found = stability_over_seeds(selector, X, y, n_seeds=4, random_state=1)
    assert found.seeds == tuple(draw_seeds(4, 1))
    sets, rates = [], []
    for seed in found.seeds:
        again = ThompsonSelector(selector.reward, n_plays=30, random_state=seed).fit(X, y)
        sets.append(again.support_)
        rates.append(again.selection_rates_)
    shares = dict(zip(X.columns, np.mean(sets, axis=0), strict=True))
    assert dict(zip(found.names, found.shares, strict=True)) == {
        name: share for name, share in shares.items() if share
    }
    assert list(found.shares) == sorted(found.shares, reverse=True)
    assert found.selection_rates[0] == pytest.approx(np.mean(rates, axis=0)[0])
    assert found.jaccard == mean_jaccard(np.array(sets))
    assert found.n_selected == tuple(np.sum(sets, axis=1))
    assert (selector.support_ == before).all()
    assert (selector.search, selector.random_state) == (search, 0)


def test_always_included_columns_are_not_counted():
    selector, X, y = fit_signals([0.6, 0.1, 0, 0, 0], n_plays=30, always_include=["c1"])
    assert stability_over_seeds(selector, X, y, n_seeds=2, random_state=0).names == ("c0",)


def test_groups_of_the_fit_are_taken_and_two_seeds_are_needed():
    selector, X, y = fit_signals([0.6, 0, 0], n_plays=20)
    selector.fit(X, y, groups=np.arange(len(y)) % 40)
    with pytest.raises(ValueError, match="pass groups="):
        stability_over_seeds(selector, X, y)
    with pytest.raises(ValueError, match="n_seeds"):
        stability_over_seeds(selector, X, y, groups=np.arange(len(y)) % 40, n_seeds=1)


FOUND = Stability(
    seeds=tuple(range(10)), names=("c0", "c1"), shares=(1.0, 0.6), selection_rates=(0.98, 0.8),
    jaccard=0.55, n_selected=(1, 2) * 5, seconds=4.0,
)  # fmt: skip


def test_it_is_said_drawn_and_part_of_the_report():
    assert str(FOUND).splitlines() == [
        "c0  10 of 10  selection rate 0.98", "c1  6 of 10  selection rate 0.80",
        "Mean Jaccard index of 10 seeds: 0.55",
    ]  # fmt: skip
    ax = plot_stability(FOUND)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["c0", "c1"]
    assert ax.get_xlabel() == "share of 10 seeds that select it"
    selector, X, y = fit_signals([0.65, 0.6, 0, 0])
    found = gather(selector, X, y, stability=FOUND)
    page = render(found)
    for words in (
        "Would another seed say the same?",
        "Each selected 1 to 2 columns",
        "Not every other seed selects: c1 (6 of 10).",
        "share of 10 seeds that select it",
        "10, mean Jaccard index 0.55",
    ):
        assert words in page
    assert type(found).from_json(found.to_json()) == found
    agreed = Stability(**{**vars(FOUND), "shares": (1.0, 1.0)})
    page = render(gather(selector, stability=agreed))
    assert "Each of 10 other seeds selects them, too." in page
    assert "Not every other seed" not in page
