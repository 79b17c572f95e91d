"""What may spoil a selection is named: leaks, codes, slips, identifiers, copies, rare classes."""

from __future__ import annotations

import numpy as np
import pytest

from tvselect.inputs import read_outcome
from tvselect.inputs.doubts import FEWEST_ROWS, doubts_about_text, find_doubts
from tvselect.inputs.outcome import survival_array
from tvselect.inputs.text import encode_text

N = 200
RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=N)
TWO = np.quantile(NORMAL, 0.7) < NORMAL


def look(columns, y, **settings):
    blocks = [
        (j, np.asarray(values, dtype=np.float64)[None]) for j, values in enumerate(columns.values())
    ]
    return find_doubts(list(columns), blocks, read_outcome(y, len(y)), **settings)


def noise(seed=1):
    return np.random.default_rng(seed).normal(size=N)


COUNTS = np.random.default_rng(3).poisson(1.0, N)


def with_cells(value, n, x=None):
    x = noise() if x is None else np.array(x, dtype=np.float64)
    x[5 : 5 + n] = value
    return x


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (-np.exp(NORMAL), NORMAL),
        (np.round(NORMAL, 1), NORMAL),
        (np.where(np.arange(N) % 3 == 0, np.nan, NORMAL), NORMAL),
        (TWO * 2.0 - 1.0, TWO),
        (-NORMAL, np.where(TWO, "a", "b")),
        (np.where(np.arange(N) % 3 == 0, np.nan, NORMAL), TWO),
    ],
)
def test_a_column_that_is_the_outcome_in_other_words_is_named(x, y):
    (doubt,) = look({"a": noise(), "leak": x, "b": noise(2)}, y)
    assert (doubt.kind, doubt.names) == ("leak", ("leak",))
    assert doubt.value > 0.99
    assert "Too good to be true? 'leak'" in doubt.sentence


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (NORMAL + 0.3 * noise(), NORMAL),
        (np.abs(NORMAL), NORMAL),
        (NORMAL + noise(), TWO),
        (TWO & (np.arange(N) % 10 == 0), TWO),
        (np.where(np.arange(N) % 3 > 0, np.nan, NORMAL), NORMAL),
        (np.zeros(N), TWO),
        (NORMAL[: FEWEST_ROWS - 1], NORMAL[: FEWEST_ROWS - 1]),
        (np.exp(noise()), NORMAL),
        (np.random.default_rng(5).standard_t(2, N), NORMAL),
        (COUNTS, NORMAL),
        (99.0 * (np.arange(N) % 2), NORMAL),
        (np.round(100 * np.random.default_rng(6).random(N)) % 100, NORMAL),
        (with_cells(50.0, 1, np.arange(N) % 3), NORMAL),
        (np.full(N, np.nan), NORMAL),
        ([1e308, -1e308] * (N // 2), NORMAL),
    ],
)
def test_neither_strong_columns_nor_few_rows_nor_plain_columns_raise_a_doubt(x, y):
    assert look({"x": x}, y) == ()


AFTER = np.where(TWO & (np.arange(N) % 4 > 0), np.abs(NORMAL), 0.0)  # days in care, of the ill


@pytest.mark.parametrize("y", [TWO, ~TWO])
def test_a_column_that_only_one_class_has_is_named_but_no_rare_mark(y):
    (doubt,) = look({"a": np.where(np.arange(N) % 3 == 0, AFTER, 0.0), "after": AFTER}, y)
    assert (doubt.kind, doubt.names, doubt.value) == ("one class", ("after",), 0.0)
    assert "Known only after the outcome? 'after': 0 in all rows of one class" in doubt.sentence


@pytest.mark.parametrize(
    ("x", "kind", "value"),
    [
        (with_cells(-9999.0, 12), "code", -9999.0),
        (with_cells(999.0, 1), "code", 999.0),
        (with_cells(99.0, 3, COUNTS), "code", 99.0),
        (with_cells(88.0, 3, np.arange(N) % 2), "code", 88.0),
        (with_cells(-1234.0, 7), "code", -1234.0),
        (with_cells(-1234.0, 1), "wild cell", -1234.0),
        (with_cells(1e300, 1), "wild cell", 1e300),
    ],
)
def test_values_far_from_all_others_are_named(x, kind, value):
    (doubt,) = look({"a": noise(4), "x": x}, NORMAL)
    assert (doubt.kind, doubt.names, doubt.value) == (kind, ("x",), value)
    assert f"{value:g}" in doubt.sentence


def test_a_row_of_codes_is_one_doubt_and_both_ends_of_a_column_may_be_codes():
    columns = {name: with_cells(-999.0, 1, noise(seed)) for seed, name in enumerate("abcdefg")}
    columns["g"][20:25] = 999.0
    low, high = sorted(look(columns, NORMAL), key=lambda doubt: doubt.value)
    assert (low.value, low.names) == (-999.0, tuple("abcdefg"))
    assert "'e' and 2 more" in low.sentence
    assert (high.value, high.names) == (999.0, ("g",))


def test_identifiers_and_copies_are_named_unless_told_not_to():
    order = np.random.default_rng(7).permutation(N)
    columns = {
        "a": noise(),
        "n": np.arange(N),
        "customer_id": 1000 + order[::-1] ** 2,
        "b": with_cells(np.nan, 3, noise(2)),
        "again": noise(),
        "b2": with_cells(np.nan, 3, noise(2)),
        "zero": np.zeros(N),
        "nought": np.zeros(N),
    }
    identifier, copies = look(columns, NORMAL)
    assert (identifier.kind, identifier.names) == ("identifier", ("n", "customer_id"))
    assert (copies.kind, copies.names, copies.n) == ("copies", ("a", "again"), 2)
    assert look(columns, NORMAL, with_structure=False) == ()


def test_texts_that_share_a_rare_category_are_no_copies():
    town, shop = np.arange(N) % 4, np.arange(N) * 7 % 5
    town[:2] = shop[:2] = 8, 9
    levels = {"town": town, "shop": shop, "town again": town}
    pairs = [(name, codes == code) for name, codes in levels.items() for code in np.unique(codes)]
    block = np.array([column for _, column in pairs], dtype=np.float64)
    outcome = read_outcome(NORMAL, N, family="gaussian")
    (copies,) = find_doubts([name for name, _ in pairs], [(0, block)], outcome)
    assert (copies.kind, copies.names, copies.n) == ("copies", ("town", "town again"), 1)


@pytest.mark.parametrize(
    ("value", "n", "kind"),
    [(-9999.0, 5, "outcome code"), (999.0, 1, "outcome code"), (-1234.0, 1, "outcome cell")],
)
def test_values_of_the_outcome_far_from_all_others_are_named(value, n, kind):
    (doubt,) = look({"x": noise()}, with_cells(value, n, NORMAL))
    assert (doubt.kind, doubt.names, doubt.value) == (kind, (), value)
    assert f"{value:g}" in doubt.sentence
    assert doubt.is_of_outcome


def test_of_classes_leaks_rare_ones_and_labels_written_in_two_ways_are_named():
    label = np.array(list("abc"))[np.digitize(NORMAL, [-0.5, 0.5])]
    one = (label == "a") + 0.1 * noise(3)
    (doubt,) = look({"tells a": one, "leak": np.digitize(NORMAL, [-0.5, 0.5])}, label)
    assert (doubt.kind, doubt.names) == ("leak", ("leak",))
    rare = np.where(np.arange(N) < 4, "rare", label)
    (doubt,) = look({"x": noise()}, rare)
    assert (doubt.kind, doubt.names, doubt.n) == ("few rows", ("rare",), 4)
    alike = np.array(["yes", "no", "Yes ", "other"])[np.arange(N) % 4]
    (doubt,) = look({"x": noise()}, alike)
    assert (doubt.kind, doubt.names) == ("labels", ("Yes ", "yes"))


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
    [["low", "medium", "high"], ["1", "2", "3", "other", "other"], ["rs123", "rs124"],
     ["12A", "13B", "14C", "15D", "16E"], ["18-25", "26-35", "36-50"], ["1.2.3", "1.2.4"],
     ["", None], [None, None], []],
)  # fmt: skip
def test_other_text_is_left_alone(cells):
    assert not doubts_about_text({"x": encode_text(cells)})


ABC = np.array(list("abc"))[np.arange(N) % 3]


@pytest.mark.parametrize("filled", [noise(), np.ones(N)])
@pytest.mark.parametrize(
    ("y", "is_there"),
    [
        (TWO, TWO),
        (np.where(TWO, "bought", "not"), ~TWO),
        (ABC, ABC == "a"),
        (ABC, ABC != "a"),
        (np.where(TWO, np.exp(NORMAL), 0.0), TWO),  # what was paid, 0 if nothing
        (np.where(TWO, 40 + np.arange(N) % 30, 3), TWO),
        (survival_array(np.exp(noise(4)), TWO), TWO),  # a date of death
    ],
)
def test_a_column_that_is_empty_but_for_one_class_is_named(y, is_there, filled):
    """An invoice number, a date of payment: there only once the outcome is known."""
    paid = np.where(is_there & (np.arange(N) % 5 > 0), filled, np.nan)
    by_chance = np.where(np.random.default_rng(3).random(N) < 0.6, noise(), np.nan)
    (doubt,) = look({"a": noise(2), "paid": paid, "b": by_chance}, y)
    assert (doubt.kind, doubt.names) == ("absent", ("paid",))
    assert "Known only after the outcome? 'paid': empty but for rows of some" in doubt.sentence
    assert "(--exclude)" in doubt.sentence
