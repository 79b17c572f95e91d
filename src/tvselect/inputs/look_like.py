"""Columns of text that look like dates or numbers, in a form that is not read as such."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from tvselect.inputs.facts import Doubt
from tvselect.inputs.text import TextColumn
from tvselect.inputs.written import SHARE_OF_NUMBERS, number_of

#: 31/12/2019, 31.12.2019 and 31 Dec 2019, with a time behind it or not
DATE = re.compile(
    r"(\d{1,2}([/.-])\d{1,2}\2\d{4}|\d{1,2}[ .-]+[^\W\d_]{3,9}[ .,-]+\d{4})([ T,]+\d{1,2}:\d{2}.*)?"
)
#: 12 kg, 3,5mm
WITH_UNIT = re.compile(r"[+-]?\d+(?:[.,]\d+)?\s?([^\W\d_/]{1,5}(?:/[^\W\d_]{1,5})?\.?)")
Look = Literal["dates as text", "units as text", "codes as text"]
FEWEST_NUMBERS = 5
SHARE_OF_CODED = 0.5
MOST_CODES = 3


def doubts_about_text(texts: Mapping[str, TextColumn]) -> tuple[Doubt, ...]:
    """What the columns look like, a doubt for each kind of them.

    Examples
    --------
    >>> from tvselect.inputs.text import encode_text
    >>> (doubt,) = doubts_about_text({"day": encode_text(["31/12/2019", "1/2/2020"])})
    >>> doubt.kind, doubt.names
    ('dates as text', ('day',))
    """
    looks: dict[Look, Callable[[TextColumn], bool]] = {
        "dates as text": _is_dates,
        "units as text": _has_unit,
        "codes as text": _has_codes,
    }
    found: dict[Look, list[str]] = {}
    for name, text in texts.items():
        look = next((look for look, holds in looks.items() if holds(text)), None)
        if look is not None:
            found.setdefault(look, []).append(name)
    return tuple(Doubt(look, tuple(names)) for look, names in found.items())


def _is_dates(text: TextColumn) -> bool:
    """Whether nearly all cells are dates."""
    is_date = [DATE.fullmatch(level.strip()) is not None for level in text.levels]
    return any(is_date) and _share(text, is_date) >= SHARE_OF_NUMBERS


def _has_unit(text: TextColumn) -> bool:
    """Whether nearly all cells are numbers with one unit."""
    matches = [WITH_UNIT.fullmatch(level.strip()) for level in text.levels]
    units = [match[1] for match in matches if match is not None]
    is_one = len(set(units)) == 1 and len(units) >= FEWEST_NUMBERS
    return is_one and _share(text, [match is not None for match in matches]) >= SHARE_OF_NUMBERS


def _has_codes(text: TextColumn) -> bool:
    """Whether most cells are numbers, and the others a few signs or words."""
    is_number = np.isfinite([number_of(level) for level in text.levels])
    n_numbers = int(is_number.sum())
    if n_numbers < FEWEST_NUMBERS or not 0 < is_number.size - n_numbers <= MOST_CODES:
        return False
    return _share(text, is_number.tolist()) >= SHARE_OF_CODED


def _share(text: TextColumn, holds: list[bool]) -> float:
    """The share of the cells with a label that has the property."""
    return float(np.mean(np.array(holds)[text.codes[text.codes >= 0]]))
