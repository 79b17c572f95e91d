"""Tables that people have, and a quick report in place of the real one.

``python -m tests.cli.makers`` is ``tvs`` with the quick report, for tests of processes.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq

import tvselect.after.interactions
import tvselect.report
from tvselect.after.dependence import Effect
from tvselect.after.worth import Stability, Worth
from tvselect.cli import main
from tvselect.selectors.thompson import ThompsonSelector

FEW_WITHOUT = 2
QUICK = ("--iterations", "50", "--trees-only", "--plays", "60", "--seed", "1")
INTERACTIONS = ThompsonSelector.interactions_


@dataclass(frozen=True)
class QuickFindings:
    """Findings that cost nothing."""

    title: str
    n_plays: int
    effects: tuple[Effect, ...] = ()
    worth: Worth | None = None
    stability: Stability | None = None
    seconds: float = 1.0

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> QuickFindings:
        content = json.loads(text)
        if "title" not in content:
            raise ValueError("no findings")
        for name, record in (("worth", Worth), ("stability", Stability)):
            content[name] = content[name] and record(**content[name])
        return cls(**content)


def quick_gather(
    fit, X, y, *, title, target, about, notes, left_out, worth, stability, random_state
):
    assert X.n_rows == len(y)
    assert set(X.names) - set(fit.result_.names) == set(fit.row_columns_)
    json.dumps(asdict(about))
    effects = (Effect(0, "a", 5.5, "up", ""),)
    return QuickFindings(title, fit.n_plays_, effects, worth, stability)


def quick_render(findings: QuickFindings) -> str:
    return f"<html>{findings.title} {findings.worth}</html>"


def make_quick(put=setattr) -> None:
    """Take the real report and the search for interactions away; ``put`` may take them back."""
    put(ThompsonSelector, "interactions_", ())
    put(tvselect.report, "gather", quick_gather)
    put(tvselect.report, "render", quick_render)
    put(tvselect.report, "Findings", QuickFindings)


def quick(arguments=None) -> int:
    """Run a command in a process of its own: the real report is gone from it."""
    make_quick()
    return main(arguments)


def make_table(n_rows: int = 120, seed: int = 3) -> pa.Table:
    """Two signals, ``a`` and ``b``, three columns of noise and the target ``y``."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(5, n_rows)).round(4)
    y = (3 * X[0] - 2 * X[1] + rng.normal(size=n_rows)).round(4)
    return pa.table([*X, y], names=["a", "b", "n1", "n2", "n3", "y"])


def make_joint_table(n_rows: int = 200) -> pa.Table:
    """As :func:`make_table`, but the signals count for more where both are high."""
    table = make_table(n_rows)
    a, b = table["a"].to_numpy(), table["b"].to_numpy()
    rng = np.random.default_rng(0)
    y = 2 * a + 2 * b + 8 * (a > 0) * (b > 0) + rng.normal(size=n_rows)
    return table.set_column(5, "y", pa.array(y))


def write(path: Path, table: pa.Table | None = None, sep: str = ",") -> Path:
    """Write a table in the format of the ending."""
    table = make_table() if table is None else table
    name = path.name
    if name.endswith((".parquet", ".pq")):
        pq.write_table(table, path)
    elif name.endswith((".feather", ".arrow")):
        pa.feather.write_feather(table, path)
    else:
        mark = "\t" if ".tsv" in name else sep
        with pa.output_stream(path, compression="gzip" if name.endswith(".gz") else None) as file:
            pa.csv.write_csv(table, file, pa.csv.WriteOptions(delimiter=mark))
    return path


def text_of(table: pa.Table | None = None, sep: str = ",") -> str:
    """A table as CSV."""
    table = make_table() if table is None else table
    out = pa.BufferOutputStream()
    pa.csv.write_csv(table, out, pa.csv.WriteOptions(delimiter=sep))
    return out.getvalue().to_pybytes().decode()


def changed(table: pa.Table | None = None, **columns) -> pa.Table:
    """A table with some columns replaced, or new ones behind the others."""
    table = make_table() if table is None else table
    for name, values in columns.items():
        values = values if isinstance(values, pa.Array | pa.ChunkedArray) else list(values)
        column = values if isinstance(values, pa.Array | pa.ChunkedArray) else [values]
        if name in table.column_names:
            table = table.set_column(table.column_names.index(name), name, column)
        else:
            table = table.append_column(name, column)
    return table


def rewritten(column: str, change, table: pa.Table | None = None) -> pa.Table:
    """A table with the cells of a column written in another way."""
    table = make_table() if table is None else table
    return changed(table, **{column: map(change, table[column].to_pylist())})


def put(path: Path, content: object) -> Path:
    """Write text, bytes or a table into a file."""
    if isinstance(content, pa.Table):
        return write(path, content)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def rows_of(table: pa.Table | None = None) -> list[list[object]]:
    """The names of the columns, then the rows."""
    table = make_table() if table is None else table
    return [table.column_names, *(list(row.values()) for row in table.to_pylist())]


def names(found: dict) -> list[str]:
    """The selected variables of an answer."""
    return [variable["name"] for variable in found["selected"]]


if __name__ == "__main__":
    sys.exit(quick())
