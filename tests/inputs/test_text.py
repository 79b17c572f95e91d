"""Numbers with marks and signs."""

from __future__ import annotations

import math

import pytest

from tvselect.inputs.text import decide_writing, encode_text, look_at, read_number, read_numbers


def look(cells):
    found = look_at(encode_text(cells))
    assert found is not None
    return found


def decide(cells, known=(), usual=".", given=None):
    return decide_writing({"x": look(cells)}, known, usual, given).get("x")


def read(cells, **options):
    return read_numbers(cells, decide(cells, **options)).tolist()


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1,234.5", "12", "1,000,000"], [1234.5, 12, 1_000_000]),
        (["1.234,5", "12", "1.000.000"], [1234.5, 12, 1_000_000]),
        (["0,5", "51,067"], [0.5, 51.067]),
        (["1,5", "1.234"], [1.5, 1234.0]),
        (["1.5", "1,234"], [1.5, 1234.0]),
        (["$1,234", "$5", "-$7.50"], [1234, 5, -7.5]),
        (["1.234 €", "5,50 EUR"], [1234, 5.5]),
        (["£1", "GBP 2"], [1, 2]),
        (["12.3%", "0", "100 %"], [12.3, 0, 100]),
        (["1 234,5", "2\u00a0000"], [1234.5, 2000]),
        (["1'234.50", "7"], [1234.5, 7]),
        (["\u22121.5", "2.5", "\u2212$1,000"], [-1.5, 2.5, -1000]),
        (["(1.50)", "2.5", "($1,000)", "( 3 )"], [-1.5, 2.5, -1000, -3]),
        # A whole number below 1000 stands beside: there are no fractions of three digits.
        (["51,067", "999"], [51067, 999]),
        # A long one without marks: there are no marks of thousands.
        (["51,067", "51067"], [51.067, 51067]),
    ],
)
def test_a_column_as_a_whole(cells, values):
    assert read(cells) == values


def test_the_rest_of_the_table_tells():
    cells = ["51,067", "12,345"]
    assert read(cells, known=[","]) == [51.067, 12.345]
    assert read(cells, known=["."]) == [51067, 12345]
    assert decide(cells, known=["."]).known_by == "table"
    looks = {"x": look(cells), "other": look(["1,5"])}
    assert decide_writing(looks, (), ".")["x"].decimal == ","


@pytest.mark.parametrize(
    ("cells", "options", "told"),
    [
        (["51,067", "12,345"], {}, ("guess", "12,345", 12345.0)),
        (["51,067", "12,345"], {"usual": ","}, ("guess", "12,345", 12.345)),
        (["51,067"], {"known": [".", ","]}, ("guess", "51,067", 51067.0)),
        (["51,067"], {"given": ","}, ("user", "51,067", 51.067)),
        (["51.067", "1.234"], {"usual": ","}, ("guess", "1.234", 1.234)),
        (["$" + "9" * 400, "$5"], {}, ("column", "$5", 5.0)),  # too large for an example
        # Plain numbers need nothing.
        (["51.067", "1.234"], {}, None),
        (["51.067", "1.234"], {"known": ["."], "usual": ","}, None),
        (["1", "2.5", "1e3", ".5", "x", *["7"] * 9], {}, None),
        (["1,5", "1.5"], {}, None),  # two ways in one column
    ],
)
def test_what_tells_and_what_nothing_tells_is_a_guess(cells, options, told):
    found = decide(cells, **options)
    assert (found and (found.known_by, found.cell, found.value)) == told


@pytest.mark.parametrize(
    "text",
    ["", "-", "$", "x1", "12.03.2020", "192.168.0.1", "1,2,3", "1,234,56", "$5€", "5-10", "1_0",
     "(-5)", "(1) 234", "((5))", "()"],
)  # fmt: skip
def test_no_numbers(text):
    assert math.isnan(read_number(text, "."))
    assert math.isnan(read_number(text, ","))
    assert look_at(encode_text([text])) is None


@pytest.mark.parametrize(
    ("cells", "units"),
    [
        (["$5", "€7"], ("$", "€")),
        (["5%", "0.2"], ("", "%")),
        (["5%", "0"], ()),
        (["$5", "7"], ()),
        (["5 €", "7 EUR"], ()),
    ],
)
def test_several_units(cells, units):
    assert look(cells).mixed_units == units
    assert (decide(cells) is None) == bool(units)


def test_a_cell_that_is_written_otherwise_is_missing():
    assert math.isnan(read([*(f"{i}.5" for i in range(19)), "1,5"])[-1])


def test_blank_cells_are_no_words_and_numbers_that_are_all_in_brackets_are_labels():
    cells = ["1.5", "2.5", "", "  ", "", "", "3,000.5"]
    assert look(cells).n == 3
    assert read(cells)[:2] + read(cells)[6:] == [1.5, 2.5, 3000.5]
    assert look_at(encode_text(["(1)", "(2)", ""])) is None
    assert look_at(encode_text(["", " ", None])) is None
