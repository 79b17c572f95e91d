"""What was silently wrong with cells and files: wild values, separators, masks, folders."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.cli.makers import QUICK, make_table, write
from tests.hardening.faults.base import expect, fault, select, tvs
from tvselect import StreamingThompsonSelector, ThompsonSelector


def friedman():
    rng = np.random.default_rng(0)
    X = rng.random((300, 50))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return X, f + 10 * X[:, 3] + 5 * X[:, 4] + rng.normal(size=300)


def found_in(X, y):
    """The columns that are selected, and what is said."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        fitted = ThompsonSelector(n_plays=200, random_state=0).fit(X, y)
    return np.flatnonzero(fitted.support_).tolist(), [str(one.message) for one in heard]


@fault("5", "One cell of 999", "x3 is lost (0.98 -> 0.14), x43 selected")
def one_wild_cell(folder):
    X, y = friedman()
    X[0, 3] = 999.0
    found, heard = found_in(X, y)
    expect(found == [0, 1, 2, 3, 4], found)
    return f"x0 to x4 are selected; {len(heard)} warning(s)" + "".join(f": `{t}`" for t in heard)


@fault("5", "A row of -9999", "nothing is selected")
def one_wild_row(folder):
    X, y = friedman()
    X[7] = -9999.0
    found, heard = found_in(X, y)
    expect(found == [0, 1, 2, 3, 4], found)
    return f"x0 to x4 are selected; {len(heard)} warning(s)" + "".join(f": `{t}`" for t in heard)


@fault("5", "One outcome of 10^12, or 10^4", "nothing is selected")
def one_wild_outcome(folder):
    said = []
    for value in (1e12, 1e4):
        X, y = friedman()
        y[0] = value
        found, _ = found_in(X, y)
        expect(len(found) >= 4 and set(found) <= {0, 1, 2, 3, 4}, found)
        said.append(f"{len(found)} of 5 and none false with {value:.0e}")
    return ", ".join(said)


def thousands():
    table = make_table()
    cells = [f"{round(10_000 * abs(value)) + 1000:,}" for value in table["a"].to_pylist()]
    return table.set_column(0, "a", [cells])


@fault("6", "Thousands commas in TSV", "51,067 becomes 51.067, and nothing says so")
def separate_thousands(folder):
    write(folder / "t.tsv", thousands())
    done = tvs(folder, "select", "t.tsv", "-t", "y", *QUICK, "--json")
    expect(done.returncode == 0, done.stderr)
    said = [text for text in json.loads(done.stdout)["decisions"] if "'a'" in text]
    expect(len(said) == 1 and "Read as numbers" in said[0], done.stdout)
    return f"`{said[0]}`"


@fault("7", "Masked arrays", "the mask is dropped by both fits")
def honour_masks(folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 5))
    y = 2 * X[:, 1] + rng.normal(size=2000)
    hidden = rng.random(X.shape) < 0.1
    masked = np.ma.masked_array(np.where(hidden, 1e6, X), hidden)
    for make in (
        lambda: ThompsonSelector(n_plays=20, random_state=0),
        lambda: StreamingThompsonSelector(batch_size=100, random_state=0),
    ):
        with_holes = np.where(hidden, np.nan, X)
        rates = [make().fit(table, y).selection_rates_ for table in (masked, with_holes)]
        expect(np.array_equal(*rates), rates)
    return "masked cells are missing cells, to the bit, in both"


@fault("12", "A column that only some files of a folder have", "vanishes without a word")
def tell_of_columns_in_some_files(folder):
    (folder / "parts").mkdir()
    table = make_table()
    pq.write_table(table, folder / "parts" / "1.parquet")
    pq.write_table(table.append_column("late", table["a"]), folder / "parts" / "2.parquet")
    done = select(folder, *QUICK, "--json", table="parts")
    expect("late" in done.stdout + done.stderr, done.stderr)
    told = json.loads(done.stdout)
    return f"`late`: {told['left_out'].get('late', 'to choose from')}"


@fault("12", "The key of a Hive folder", "is not offered")
def offer_keys(folder):
    table = make_table()
    for key in ("u", "v"):
        (folder / "parts" / f"site={key}").mkdir(parents=True)
        pq.write_table(table, folder / "parts" / f"site={key}" / "1.parquet")
    done = select(folder, *QUICK[2:], "--json", table="parts")
    told = json.loads(done.stdout)
    expect(told["n_columns"] == 6, done.stdout + done.stderr)
    return "`site` is a column to choose from"


@fault("13", "Shuffled ranks 1 to n", "dropped as row numbers, silently in a pipe")
def keep_ranks(folder):
    rank = np.argsort(np.argsort(make_table()["a"].to_numpy())) + 1
    write(folder / "ranks.csv", make_table().set_column(0, "a", [rank]))
    done = select(folder, *QUICK, "--json", table="ranks.csv")
    names = {found["name"] for found in json.loads(done.stdout)["selected"]}
    expect("a" in names, done.stdout)
    return "kept, and selected"


@fault("14", "Feather dictionary<int>", "played as categories (0.17 -> 0.78)")
def read_dictionaries(folder):
    whole = [round(3 * value) for value in make_table()["a"].to_pylist()]
    table = make_table().set_column(0, "a", [whole])
    coded = table.set_column(0, "a", table["a"].dictionary_encode())
    write(folder / "plain.parquet", table)
    write(folder / "coded.feather", coded)
    texts = []
    for number, name in enumerate(("plain.parquet", "coded.feather")):
        done = select(folder, *QUICK, table=name, out=f"run{number}")
        expect(done.returncode == 0, done.stderr)
        texts.append((folder / f"run{number}" / "variables.csv").read_text())
    expect(texts[0] == texts[1], texts)
    return "the same as Parquet, to the bit"


@fault("14", "Feather dictionary<date>", "fails")
def read_coded_dates(folder):
    days = np.datetime64("2020-01-01") + np.arange(120) % 40
    table = make_table().append_column("when", pa.array(days).dictionary_encode())
    write(folder / "dates.feather", table)
    done = select(folder, *QUICK, table="dates.feather")
    expect(done.returncode == 0, done.stderr)
    return "read as days"
