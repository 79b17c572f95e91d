"""The inside of the native core, for tests: ``probes.cpp``, compiled once for each of its sources.

The core's sources are those of the repository, or of the folder that the environment variable
``TVSELECT_CORE`` names (:mod:`tests.exactness.patched` sets it); ``TVSELECT_CORE_FLAGS`` are
flags behind those of every build, as for checked bounds.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import shlex
from pathlib import Path

import numpy as np

import hatch_build
from tvselect import core
from tvselect.rewards import bart_play  # noqa: F401  declares the structs of plays
from tvselect.trees import sampler  # noqa: F401  and those of chains

HERE = Path(__file__).parent
BUILDS = HERE.parents[1] / "build" / "probes"
SOURCES = "*.[hc]*"


def build() -> Path:
    """Compile the probes, unless that was done before with the same sources and flags."""
    sources = Path(os.environ.get("TVSELECT_CORE", hatch_build.CORE))
    extra = shlex.split(os.environ.get("TVSELECT_CORE_FLAGS", ""))
    level = os.environ.get("TVSELECT_SIMD", best_level())
    total = hashlib.sha256(f"{extra} {level}".encode())
    for file in (Path(hatch_build.__file__), *sorted(sources.iterdir()), *_own_sources()):
        total.update(file.read_bytes())
    name = f"probes_{total.hexdigest()[:20]}"
    folder = BUILDS if sources == hatch_build.CORE else sources.parent / "probes"
    library = folder / f"lib{name}{hatch_build.suffix()}"
    if not library.exists():
        hatch_build.compile_library(
            HERE / "probes.cpp", folder, name=name, core=sources, level=level, extra=extra
        )
    return library


def best_level() -> str:
    """The highest instruction set that this machine can run."""
    n = int(core.library.tvs_level())
    return f"v{n}" if n else hatch_build.levels()[-1]


def _own_sources() -> list[Path]:
    return sorted(file for file in HERE.glob(SOURCES) if file.suffix in (".h", ".cpp"))


_function = functools.partial(core.function, source=ctypes.CDLL(str(build())))
_STATE = "state: u8[5]!"


NODES = "trees: trees; tree: int; node: int"


def _fill(name: str, kind: str):
    of_kind = _function(f"fill_{name}", f"state: u8[5]!; about: float; out: {kind}[n]!")
    return lambda state, out, about=0.0: of_kind(state, about, out)


def _of_tree(name: str, place: str | None = None):
    more = f"; {place}: int" if place else ""
    return _function(name, f"trees: trees; tree: int{more}", int)


seed = _function("seed", "seeds: u8[3]; state: u8[5]!")
fill_words = _fill("words", "u8")
fill_halves = _fill("halves", "u8")
fill_uniforms = _fill("uniforms", "f8")
fill_floats = _fill("floats", "f4")
fill_normals = _fill("normals", "f8")
fill_exponentials = _fill("exponentials", "f8")
fill_gammas = _fill("gammas", "f8")
fill_chi_squares = _fill("chi_squares", "f8")
fill_below = _fill("below", "i8")
normals_of = _function("normals_of", "rng: generator; out: f8[n]!")
shuffle = _function("shuffle", "state: u8[5]!; values: i8[n]!")
floats_reaching = _function("floats_reaching", "state: u8[5]!; bounds: f4[n]; found: i4[n]!", int)
draw_rows = _function("draw_rows", "state: u8[5]!; rows: i8[rows]!; order: i8[table]!")
normal_between = _function(
    "normal_between", "rng: generator; mean: float; sd: float; low: float; high: float; out: f8[n]!"
)

bit_place = _function("bit_place", "row: int", int)
rows_at_most = _function(
    "rows_at_most",
    "codes: u8[codes]; start: int; width: int; masks: u8[words, leaves]; leaf: int; cut: int;"
    "missing_left: bool; out: u8[words]!",
    int,
)
overlaps = _function(
    "overlaps",
    "masks: u8[words, leaves]; n_sets: int; rows: u8[words]; weights: f8[room]; out: i4[room]!",
    float,
)
spread = _function("spread", "values: f8[rows]; out: f8[rows]!")
sum_over = _function("sum_over", "values: f8[rows]; rows: u8[words]", float)

nth_leaf, nth_split, nth_prunable, nth_pair = (
    _of_tree(f"nth_{name}", "rank") for name in ("leaf", "split", "prunable", "pair")
)
is_prunable, split_child, pairs_after = (
    _of_tree(name, "node") for name in ("is_prunable", "split_child", "pairs_after")
)
n_prunable, n_pairs = _of_tree("n_prunable"), _of_tree("n_pair")
_open_cuts = _function("open_cuts", f"{NODES}; column: int; n_cuts: int; range: i8[2]!")
draw_pairs = _function("draw_pairs", "rng: generator; pairs: i8[pairs, 2]; out: i8[n, 2]!")
split = _function(
    "split",
    "chain: chain; design: design; tree: int; node: int; column: int; cut: int; missing_left: bool",
)
merge = _function("merge", "chain: chain; tree: int; node: int")


def open_cuts(trees, tree, node, column, n_cuts):
    """Range of the cuts of a column that the splits above leave open."""
    found = np.zeros(2, dtype=np.int64)
    _open_cuts(trees, tree, node, column, n_cuts, found)
    return found.tolist()


quantile_of = _function("quantile_of", "values: f8[n]!; share: float", float)
find_pairs = _function(
    "find_pairs", "columns: i8[columns]; known: i8[known, 2]; found: i8[room, 2]!", int
)

LOOP = "rng: generator; design: design; prior: prior; chain: chain; trace: trace; "
collect_statistics = _function(
    "collect_statistics", LOOP + "thin: int; out: f8[draws, statistics]!"
)
collect_shapes = _function("collect_shapes", LOOP + "thin: int; base: int; out: i8[draws, trees]!")
MAX_NODES = 127
MAX_ROWS = 64
MAX_COLUMNS = 8


def _forest(of: str, mark: str = "") -> str:
    """Nodes of forests in preorder, see :class:`tests.exactness.simulate.Forest`."""
    parts = {"of_columns": "i8", "cuts": "i8", "missing_left": "b1", "depths": "i8", "means": "f8"}
    nodes = "; ".join(
        f"{name}: {kind}[{of}trees, {MAX_NODES}]{mark}"
        for name, kind in parts.items() if of or name != "depths"
    )  # fmt: skip
    return f"{nodes}; sizes: i8[{of}trees]{mark}"


simulate = _function(
    "simulate",
    "rng: generator; codes: u1[columns, rows]; n_cuts: i8[columns]; has_missing: b1[columns];"
    "thetas: f8[thetas]; is_sparse: bool; min_leaf: int; base: float; power: float;"
    "column_weights: f8[columns]; leaf_sd: float; theta_index: i8[draws]!;"
    + _forest("draws, ", "!"),
)
evaluate = _function("evaluate", f"codes: u1[columns, rows]; {_forest('')}; out: f8[rows]!")
replicates = _function(
    "replicates",
    LOOP + "under_test: int; n_rounds: int; noise_df: float; noise_sum: float; mask: b1[padded];"
    f"theta_index: i8[draws]; {_forest('draws, ')};"
    "fit: f8[padded]!; before: f8[draws, functions=12]!; after: f8[draws, functions=12]!",
)
