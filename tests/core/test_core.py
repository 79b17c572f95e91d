"""The door to the native core: what does not fit is refused by name, and nothing else gets in."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

from tests.exactness.patched import ROOT, patched_copy, run_with
from tvselect import core
from tvselect.bandit.oracle import join_partners
from tvselect.core import pack
from tvselect.inputs import read_outcome
from tvselect.omics.plink import count_genotypes
from tvselect.rewards import bart_play
from tvselect.rewards.screening import correlate
from tvselect.selectors.copies import add_by_value  # noqa: F401  declares
from tvselect.trees import Prior, bin_table, start_chain, state, working_response
from tvselect.trees.bins import encode_columns
from tvselect.trees.forest import Forest
from tvselect.trees.state import (
    CLASSES,
    MAX_DEPTH,
    NO_GROUPS,
    DrawnRows,
    check_chain,
    copy_sample,
    new_sample,
    with_more_room,
)

HEADER = (ROOT / "core" / "tvselect.h").read_text()
SOURCES = [path.read_text() for path in sorted((ROOT / "src" / "tvselect").rglob("*.py"))]
# Parts of arrays, and what NumPy declares.
ITEMS = {
    "generator", "regression_noise", "pair", "node", "owner", "column_count", "totals", "noise",
    "part", "group_numbers",
}  # fmt: skip
VIEWS = {"array", "matrix"}
ABOUT_ITSELF = {"level", "version", "source", "size_of"}


REASON = r"prior\.\w+ is not what the other parameters ask for"


def ints(*shape):
    return np.zeros(shape, dtype=np.int64)


def small(*shape):
    return np.zeros(shape, dtype=np.uint8)


def locked(array):
    array.flags.writeable = False
    return array


def genotypes(**changes):
    return count_genotypes(*({"stored": small(3, 5), "counts": ints(3, 4)} | changes).values())


def encode(starts, n_rows=10):
    block, zeros = np.zeros((3, n_rows)), np.zeros(3)
    encode_columns(block, small(3), zeros, zeros, np.array(starts), zeros, small(3, 64))


def join(number):
    return join_partners(np.zeros((1, 2), np.int32), np.zeros(2, np.int32), number)


def table_of(n_rows=100):
    rng = np.random.default_rng(1)
    X = rng.random((n_rows, 4))
    X[:, 1] = X[:, 1] > 0.5
    return bin_table(X), working_response(read_outcome(X[:, 0] + rng.random(n_rows), n_rows))


def design(**changes):
    return pack(table_of()[0].design()._replace(**changes))


def prior(**changes):
    return pack(Prior().parameters(table_of()[1], np.ones(2))._replace(**changes))


def chain_of(n_rows=100, **settings):
    settings = {"n_iterations": 20, "n_burn": 10, "rng": np.random.default_rng(1)} | settings
    return start_chain(*table_of(n_rows), Prior(n_trees=3), **settings)


def run_chain(**changes):
    chain = chain_of()
    vars(chain).update(changes)
    chain.advance()


def draw_of(rows, *shadows):
    return DrawnRows(rows, np.array(shadows, dtype=np.int64), np.tile(rows, (len(shadows), 1)))


def copy(call=copy_sample, **changes):
    arguments = dict(
        table=table_of()[0].design(), observed=np.zeros((2, 128)),
        draw=draw_of(np.arange(70), 1, 3), sample=new_sample(6, 70),
    ) | changes  # fmt: skip
    call(*arguments.values())
    return arguments["sample"]


def mixed_chain(part):
    """A chain with a part of another one, of another table or with more room."""
    chain = chain_of()
    other = chain_of(columns=np.array([1])) if part == "tally" else chain_of(300)
    if part in ("leaves", "proposal", "groups"):
        other.chain = with_more_room(other.chain)
    mixed = chain.chain._replace(**{part: getattr(other.chain, part)})
    check_chain(mixed, chain.design, chain.prior)


def forest(**changes):
    parts = dict(
        starts=np.array([0, 3]), left=np.array([1, -1, -1]), column=np.array([0, -1, -1]),
        cut=small(3), missing_left=np.zeros(3, dtype=np.bool_), value=np.arange(3.0),
    ) | changes  # fmt: skip
    return Forest(**parts).evaluate(small(1, 64), 64)


def trees_in_place_of_leaves():
    chain = chain_of().chain
    pack(chain._replace(trees=chain.leaves))


def test_what_fits_gets_in():
    counts = ints(3, 4)
    assert genotypes(counts=counts) is None
    np.testing.assert_array_equal(counts, [[0, 0, 20, 0]] * 3)
    genotypes(stored=locked(small(3, 5)))
    genotypes(stored=small(0, 5), counts=ints(0, 4))
    assert table_of()[0].starts.tolist() == [0, 8 * 2, 18, 34]
    design()
    prior()
    pack(copy().design(6, 70))
    np.testing.assert_array_equal(forest(), 1.0)


WRONG_TYPES = [
    ("genotypes.stored must be an array of uint8, got int8",
     lambda: genotypes(stored=np.zeros((3, 5), dtype=np.int8))),
    ("genotypes.counts must be an array of int64, got float64",
     lambda: genotypes(counts=np.zeros((3, 4)))),
    ("genotypes.counts must be an array of int64, got >i8",
     lambda: genotypes(counts=np.zeros((3, 4), dtype=">i8"))),
    ("must be an array of uint8, got list", lambda: genotypes(stored=[[0, 1]])),
    ("must be an array of uint8, got NoneType", lambda: genotypes(stored=None)),
    ("must be an array of uint8, got uint8",
     lambda: genotypes(stored=np.ma.zeros((3, 5), dtype=np.uint8))),
    ("chain.trees must be a trees, got Leaves", trees_in_place_of_leaves),
    ("copy_sample.draw must be a draw, got Design",
     lambda: copy(state._copy_sample, draw=table_of()[0].design(), groups=NO_GROUPS)),
    (r"run\.rng must be a numpy\.random\.Generator, got None", lambda: run_chain(rng=None)),
    ("forest", lambda: forest(cut=np.zeros(3))),
    ("correlate.n_present must be an array of int64",
     lambda: correlate(small(2, 64), np.zeros(10), np.zeros(2), np.zeros(2))),
]  # fmt: skip
WRONG_VALUES = [
    (r"counts must be of shape \(3, 4\), got \(2, 4\)", lambda: genotypes(counts=ints(2, 4))),
    (r"must be of shape \(3, 4\), got \(3, 5\)", lambda: genotypes(counts=ints(3, 5))),
    (r"must be of shape .*, got \(15,\)", lambda: genotypes(stored=small(15))),
    ("genotypes.stored must be stored row by row", lambda: genotypes(stored=small(5, 3).T)),
    ("counts must be writable and stored row by row",
     lambda: genotypes(counts=ints(3, 8)[:, ::2])),
    ("genotypes.counts must be writable", lambda: genotypes(counts=locked(ints(3, 4)))),
    ("zip", count_genotypes),
    ("zip", lambda: count_genotypes(small(3, 5))),
    ("zip", lambda: count_genotypes(small(3, 5), ints(3, 4), ints(3, 4))),
    *(("join_partners.n_arms must have 64 bits", partial(join, n))
      for n in (2**63, -(2**63) - 1, 10**30)),
    ("starts must not fall", lambda: encode([0, 2, 1, 3])),
    ("starts must be from 0 to 3, got 4", lambda: encode([0, 1, 2, 4])),
    ("starts must be from 0 to 3, got -1", lambda: encode([-1, 1, 2, 3])),
    (r"starts must be of shape \(4\), got \(3,\)", lambda: encode([0, 1, 3])),
    (r"codes must be of shape \(3, 70\)", lambda: encode([0, 1, 2, 3], n_rows=70)),
    ("columns must be from 0 to 3, got 4", lambda: design(columns=np.array([0, 4]))),
    ("columns must be from 0 to 3, got -1", lambda: design(columns=np.array([-1, 0]))),
    ("design.starts must be from 0 to", lambda: design(starts=np.array([0, 16, 18, 100]))),
    ("has no 100 rows of every column", lambda: design(starts=np.array([0, 16, 18, 49]))),
    ("design.codes has no 129 rows of every column", lambda: design(n_rows=129)),
    ("design.n_rows must be 1 or more, got 0", lambda: design(n_rows=0)),
    ("widths must be 1, 2 or 8", lambda: design(widths=np.array([8, 3, 8, 8], dtype=np.uint8))),
    (r"design.widths must be of shape \(4\)", lambda: design(widths=small(3))),
    ("design", lambda: design(codes=np.zeros(40, dtype=np.uint64))),
    (r"design.n_cuts must be of shape \(4\)", lambda: design(n_cuts=small(3))),
    *(("no room for 6 columns", partial(copy, sample=new_sample(*size)))
      for size in ((5, 70), (6, 60))),
    ("observed must be of 100 rows", lambda: copy(observed=np.zeros((2, 64)))),
    *((f"groups must be of {needed} rows", partial(copy, groups=np.zeros(n, dtype=np.int32)))
      for n, needed in ((99, 100), (100, 70))),
    ("not among the 100", lambda: copy(draw=draw_of(100 - np.arange(70)))),
    ("columns that the table does not have", lambda: copy(draw=draw_of(np.arange(70), 4))),
    *(("chain", partial(mixed_chain, part))
      for part in ("leaves", "response", "proposal", "tally", "groups")),
    ("a chain needs a column to split on", lambda: chain_of(columns=ints(0))),
    *(("forest", partial(forest, **{name: np.array(values)})) for name, values in (
        ("left", [2, -1, -1]), ("left", [1, -1]), ("starts", [0, 4]), ("starts", [-1, 3]),
        ("starts", [3, 0]), ("column", [1, -1, -1]),
    )),
    *((REASON, partial(prior, **changes)) for changes in (
        dict(latent=9), dict(latent=CLASSES), dict(latent_sweeps=0),
        dict(split_log_odds=np.zeros(MAX_DEPTH)),
        dict(shares=np.zeros(0), log_shares=np.zeros((0, 64))),
    )),
]  # fmt: skip


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [(TypeError, *case) for case in WRONG_TYPES] + [(ValueError, *case) for case in WRONG_VALUES],
)
def test_what_does_not_fit_is_refused_by_name(error, message, call):
    with pytest.raises(error, match=message):
        call()


def header(pattern):
    """What a pattern finds in the header without comments, an array being one word."""
    plain = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.DOTALL)
    return re.findall(pattern, re.sub(r"(ARRAY|MATRIX)\([^)]*\)", "array", plain))


def test_every_struct_is_declared_on_both_sides():
    bodies = header(r"typedef struct \{([^}]*)\} tvs_(\w+);")
    structs = {name: re.findall(r"(\w+)(?=\s*[,;])", body) for body, name in bodies}
    assert structs.keys() - ITEMS - VIEWS == core._structs.keys()
    for name, declared in core._structs.items():
        assert [field.name for field in declared.fields] == structs[name]
        assert core.library.tvs_size_of(name.encode()) in (0, ctypes.sizeof(declared.memory))
        assert all(hasattr(record, "__doc__") for record in core._struct_of)
    outer = ("reward", "room", "arms", "log", "forest", "regression", "regression_state")
    assert all(core.library.tvs_size_of(name.encode()) > 0 for name in outer)
    assert core.library.tvs_size_of(b"nothing") == 0


def test_every_function_is_declared_once_on_both_sides():
    found = dict(header(r"TVS_API[^;(]*?tvs_(\w+)\(([^)]*)\)"))
    declared = [name for text in SOURCES for name in re.findall(r'\bfunction\(\s*f?"(\w+)"', text)]
    assert sorted(declared) == sorted(found.keys() - ABOUT_ITSELF)
    for name in declared:
        native = getattr(core.library, f"tvs_{name}")
        if native.argtypes is not None:  # its module was imported
            assert len(native.argtypes) == found[name].count(",") + 1, name
    assert len(core.library.tvs_score.argtypes) == 3


def test_the_reasons_to_come_back_have_the_same_numbers():
    listed = re.search(r"enum \{\s*TVS_DONE(.*?)\};", HEADER, re.DOTALL)
    found = ["DONE", *re.findall(r"TVS_(\w+)", listed[1])]
    assert [getattr(bart_play, name) for name in found] == list(range(len(found)))


def test_a_struct_of_another_library_is_refused():
    class Other(NamedTuple):
        starts: Annotated[Any, "i8[n]"]

    with pytest.raises(ImportError, match="is of another version; install tvselect again"):
        core.struct("forest")(Other)


IMPORT = "import tvselect.core; print(tvselect.core.library._name)"


def refused(done):
    """The last line that a process wrote that was to fail."""
    assert done.returncode == 1
    return done.stderr.splitlines()[-1]


def test_a_library_of_another_version_is_refused(tmp_path):
    version = f"#define TVS_VERSION {core.VERSION}"
    patched_copy(tmp_path, ("core/tvselect.h", version, version + "1"), flags=("-O0",))
    assert refused(run_with(tmp_path, "-c", IMPORT)) == (
        f"ImportError: the native library in {tmp_path / 'tvselect'} is of another version; "
        "install tvselect again"
    )


@pytest.mark.parametrize("damaged", [False, True])
def test_a_library_that_is_missing_or_damaged_is_named(tmp_path, damaged):
    package = tmp_path / "tvselect"
    ignored = shutil.ignore_patterns("__pycache__", "libtvselect_*")
    shutil.copytree(ROOT / "src" / "tvselect", package, ignore=ignored)
    library = package / Path(core.library._name).name.replace("v3", "v2").replace("v4", "v2")
    if damaged:
        library.write_bytes(b"\x7fELF" + bytes(100))
    assert refused(run_with(tmp_path, "-c", IMPORT)) == (
        f"ImportError: the native library {library} cannot be loaded; install tvselect again"
    )


def run_here(level, *arguments, **settings):
    return subprocess.run(
        [sys.executable, *(arguments or ("-c", IMPORT))],
        env={**os.environ, "TVSELECT_SIMD": level}, capture_output=True, text=True, **settings,
    )  # fmt: skip


@pytest.mark.skipif(not core.library.tvs_level(), reason="there is one library only")
@pytest.mark.parametrize("asked", ["v1", "v5", "v9", "avx2", "", "2"])
def test_an_instruction_set_that_is_not_there_is_refused(asked):
    said = f"ImportError: TVSELECT_SIMD={asked} is not one of those that this processor runs: v2"
    assert refused(run_here(asked)).startswith(said)


@pytest.mark.skipif(not core.library.tvs_level(), reason="there is one library only")
def test_a_lower_instruction_set_may_be_asked_for():
    library = Path(core.library._name)
    for level in range(2, core.library.tvs_level() + 1):
        if library.with_name(re.sub("v[234]", f"v{level}", library.name)).exists():
            assert f"_v{level}." in run_here(f"v{level}").stdout


def test_the_command_line_says_in_a_line_that_the_core_cannot_be_loaded(tmp_path):
    command = ("-m", "tvselect.cli", "select", "table.csv", "-t", "y")
    done = run_here("v9", *command, cwd=tmp_path)
    assert refused(done).startswith("tvs: error: TVSELECT_SIMD=v9 is not one of")
    assert len(done.stderr.splitlines()) == 1
