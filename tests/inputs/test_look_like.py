"""Text that looks like dates or numbers is pointed out; other text is left alone."""

from __future__ import annotations

import pytest

from tvselect.inputs.doubts import doubts_about_text
from tvselect.inputs.text import encode_text

NUMBERS = [f"{i}.5" for i in range(20)]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["31/12/2019", "01/02/2020", None], "dates as text"),
        (["12/31/2019", "1/2/2020"], "dates as text"),
        (["31.12.2019 10:00", "01.02.2020 11:30"], "dates as text"),
        (["31 Dec 2019", "01 Mai 2020"], "dates as text"),
        ([f"{i}.5 kg" for i in range(10)], "units as text"),
        ([f"{i},5km/h" for i in range(10)], "units as text"),
        ([*NUMBERS, "-", "-", "-"], "codes as text"),
        ([*NUMBERS, "unknown", "unknown", "?", "n.a."], "codes as text"),
    ],
)
def test_what_text_looks_like(cells, kind):
    (doubt,) = doubts_about_text({"x": encode_text(cells)})
    assert (doubt.kind, doubt.names) == (kind, ("x",))
    assert "taken as text? 'x'" in doubt.sentence


@pytest.mark.parametrize(
    "cells",
    [
        ["low", "medium", "high"],
        ["1", "2", "3", "other", "other"],
        ["12A", "13B", "14C", "15D", "16E"],
        ["18-25", "26-35", "36-50"],
        ["rs123", "rs124"],
        ["1.2.3", "1.2.4"],
        ["", None],
        [None, None],
        [],
    ],
)
def test_other_text_is_left_alone(cells):
    assert not doubts_about_text({"x": encode_text(cells)})
