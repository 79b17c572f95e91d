"""What is asked for, in any kind and of anyone: categories, names, options, tables."""

from __future__ import annotations

import shlex
import string
from contextlib import suppress
from datetime import date
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli import conftest
from tests.cli.makers import QUICK, write
from tests.cli.test_output import HOSTILE
from tests.hardening.test_laws import lawful, slower
from tvselect.cli.parse import COMMANDS, Either
from tvselect.inputs import read_outcome
from tvselect.inputs.errors import InputError
from tvselect.runs import RunError
from tvselect.runs.data import open_stream, prepare
from tvselect.runs.inspect import TableOptions, inspect_table
from tvselect.runs.plan import FileOptions
from tvselect.words import command, printable

# Categories

LEVELS = {
    "whole": [3, -1, 10**17, 0, 7],
    "floats": [0.5, -2.0, 1e300, 0.0, 3.0],
    "truths": [True, False],
    "texts": ["b", "", "10", "9", "ä"],
    "days": [date(2020, 1, 1 + day) for day in (4, 2, 9, 0)],
    "times": list(pd.date_range("2020-01-01", periods=3, freq="12h")),
    "periods": list(pd.period_range("2020-01", periods=4, freq="M")),
    "intervals": list(pd.interval_range(0.0, 4.0, 4)),
    "mixed": ["low", 2, 0.5, None],
}


@slower
@given(st.sampled_from(sorted(LEVELS)), st.booleans(), st.randoms(use_true_random=False), st.data())
def test_categories_of_any_kind_are_the_outcomes_they_look_like(kind, is_ordered, random, data):
    levels = [level for level in LEVELS[kind] if level is not None]
    random.shuffle(levels)
    used = data.draw(st.lists(st.sampled_from(range(len(levels))), min_size=2, unique=True))
    codes = [*used, *used, *data.draw(st.lists(st.sampled_from(used), max_size=30))]
    y = pd.Series(pd.Categorical.from_codes(codes, categories=levels, ordered=is_ordered))
    outcome = read_outcome(y, len(y))
    many = "ordinal" if is_ordered else "classes"
    assert outcome.family == ("probit" if len(used) == 2 else many)
    assert len(outcome.classes) == len(used)
    pairs = set(zip(codes, outcome.values.tolist(), strict=True))
    assert len(pairs) == len(used)  # each level is one class
    if is_ordered:
        assert [code for code, _ in sorted(pairs, key=lambda pair: pair[1])] == sorted(used)


# Commands

names_of_files = st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=30)


@lawful
@given(names_of_files | st.text(string.punctuation + " \n\ta", min_size=1))
def test_a_proposed_command_hands_a_name_over_as_one_word(name):
    expected = f"./{name}" if name.startswith("-") else name
    assert shlex.split(command("resume", name)) == ["tvs", "resume", expected]
    assert shlex.split(printable(command("resume", name))) == ["tvs", "resume", printable(expected)]


# Options

here, tvs = conftest.here, conftest.tvs
VALUES = ("", HOSTILE, "caf\udce9", "nan", "1e999")
SMALL = ("--plays", "2", "--reward", "pvalue", "--no-report", "--seed", "1")
CALLS = {
    "select": ("select", "t.csv", "-t", "y", *SMALL),
    "resume": ("resume", "run"),
    "report": ("report", "run"),
    "worth": ("worth", "run", "--folds", "2"),
    "transform": ("transform", "run", "t.csv", "-o", "out.csv", "--force"),
    "compare": ("compare", "run", "run"),
    "demo": ("demo", "--rows", "20", "--columns", "5", "--plays", "2", "--out", "demo"),
    "completion": ("completion", "bash"),
}


def options_of(name):
    for options in COMMANDS[name][1].values():
        for option in options:
            yield from option.options if isinstance(option, Either) else (option,)


@pytest.mark.parametrize("name", CALLS)
def test_every_option_takes_or_refuses_any_text_in_a_line(name, tvs, here):
    write(here / "t.csv")
    assert tvs("select", "t.csv", "-t", "y", *QUICK, "--no-report", "--out", "run")[0] == 0
    call, found = CALLS[name], set()
    options = [
        option for option in options_of(name) if "store_true" not in option.settings.values()
    ]
    places = [option.names for option in options if not option.names.startswith("-")]
    for option, value in product(options, VALUES):
        given, flag = [*call], option.names.split()[-1]
        if flag in places:
            given[1 + places.index(flag)] = value
        else:
            given.append(f"{flag}={value}")
        if flag == "--time":
            given = [word for word in given if word not in ("-t", "y")]
        code, _, err = tvs(*given)
        said = (given, code, err)
        assert code in (0, 1, 2), said
        assert "should not happen" not in err, said
        assert value or code or option.settings.get("action") == "append", said
        assert code != 1 or err.splitlines()[-1].startswith("tvs: error: "), said
        assert not (here / "PWNED").exists(), said
        found.add(code)
    assert 2 in found


# Tables

CELLS = {
    "numbers": st.integers(-(10**6), 10**6).map(lambda n: n / 1000),
    "whole": st.integers(-5, 40),
    "texts": st.sampled_from(["a", "b", "Ä", "c d", "1a"]),
    "truths": st.booleans(),
    "days": st.dates(date(1930, 1, 1), date(2030, 1, 1)),
    "digits": st.sampled_from(["1", "2.5", "x", "07"]),
}


@st.composite
def tables(draw):
    """Columns of several kinds, with gaps, and a target."""
    n = draw(st.integers(12, 40))
    columns = {"y": draw(st.lists(CELLS["numbers"], min_size=n, max_size=n, unique=True))}
    for j, kind in enumerate(
        draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=2, max_size=5))
    ):
        cells = CELLS[kind] if draw(st.booleans()) else st.none() | CELLS[kind]
        columns[f"{kind}{j}"] = draw(st.lists(cells, min_size=n, max_size=n))
    if draw(st.booleans()):
        columns["y"][draw(st.integers(0, n - 1))] = None
    return pa.table(columns)


@slower
@given(tables(), st.sampled_from(["csv", "parquet"]), st.integers(2, 50))
def test_memory_and_stream_read_the_same(tmp_path_factory, table, ending, size):
    path = tmp_path_factory.getbasetemp() / f"t.{ending}"
    (pa.csv.write_csv if ending == "csv" else pq.write_table)(table, path)
    read = {}
    for is_stream in (False, True):
        with suppress(RunError, InputError):
            options = TableOptions("y", is_stream)
            plan, files, raw = inspect_table(FileOptions(str(path)), options)
            read[is_stream] = plan, files, raw
    if len(read) < 2:
        return
    (plan, files, raw), (streamed, parts, _) = read[False], read[True]
    whole, y = prepare(plan, files, raw)
    source = open_stream(streamed, parts)
    shared = [name for name in plan.columns if name in streamed.columns]
    start = 0
    for batch in source.batches(size, 0, np.random.default_rng(0)):
        rows = slice(start, start := start + batch.n_rows)
        np.testing.assert_array_equal(batch.target(), y[rows])
        for name in shared:
            here, there = whole.names.index(name), source.names.index(name)
            if whole.categorical[here]:
                assert batch.labels(there).tolist() == whole.text(here).labels(rows).tolist()
            else:
                numbers = batch.numbers(np.array([there]))
                np.testing.assert_array_equal(numbers, whole.numbers(np.array([here]), rows))
    assert start == len(y)
