"""The names that a report must survive."""

from __future__ import annotations

import pytest

from tests.decoyed import fit_chances

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "\"quotes\" and 'quotes' & ampersand;",
    "<!--",
    "datum.x[0]['y']",
    "a.b.c",
    "{{ 7 * 7 }}{% raw %}",
    "line\nbreak\ttab",
    "emoji \N{FAMILY} \U0001f469\u200d\U0001f52c",
    "x" * 10_000,
    "right\u202eto left",
    "javascript:alert(3)",
    "lone \ud800 surrogate",
    "nul \x00 byte",
    "__proto__",
    "",
)


@pytest.fixture(scope="session")
def hostile():
    """A run on columns of hostile names, every second one selected, and its table."""
    chances = [0.95 if j % 2 == 0 else 0.1 for j in range(len(HOSTILE))]
    return fit_chances(chances, names=list(HOSTILE))
