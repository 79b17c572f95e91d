"""Figures without a screen, and quick selectors of known truth."""

from __future__ import annotations

import pytest

from tests.decoyed import fit_chances


def fit(chances, **settings):
    return fit_chances(chances, **settings)[0]


@pytest.fixture(autouse=True)
def off_screen():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")
