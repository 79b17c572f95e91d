"""Tables that people have, and a quick report in place of the real one."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq

from tvselect.report.findings import Effect
from tvselect.selectors.worth import Worth

FEW_WITHOUT = 2
QUICK = ("--reward", "pvalue", "--plays", "60", "--seed", "1")


@dataclass(frozen=True)
class QuickFindings:
    """Findings that cost nothing."""

    title: str
    effects: tuple[Effect, ...] = ()
    worth: Worth | None = None
    seconds: float = 1.0

    def to_json(self) -> str:
        worth = None if self.worth is None else asdict(self.worth)
        return json.dumps({"title": self.title, "worth": worth})

    @classmethod
    def from_json(cls, text: str) -> QuickFindings:
        content = json.loads(text)
        if "title" not in content:
            raise ValueError("no findings")
        return cls(content["title"])


def quick_gather(fit, X, y, *, title, target, about, notes, random_state):
    assert X.n_rows == len(y)
    assert tuple(X.names) == tuple(fit.history_.names)
    json.dumps(asdict(about))
    return QuickFindings(title, (Effect(0, "a", 5.5, "up", ""),))


def quick_render(findings: QuickFindings) -> str:
    return f"<html>{findings.title} {findings.worth}</html>"


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


def write_rows(path: Path, header: str, rows: list[str]) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def rows_of(table: pa.Table) -> list[list[object]]:
    return [list(row.values()) for row in table.to_pylist()]
