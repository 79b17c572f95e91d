"""The door to the native core: what does not fit is refused by name, and nothing else gets in."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
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
    DrawnRows,
    check_chain,
    copy_sample,
    new_sample,
    with_more_room,
)

HEADER = (ROOT / "core" / "tvselect.h").read_text()
SOURCES = [path.read_text() for path in sorted((ROOT / "src" / "tvselect").rglob("*.py"))]
# Parts of arrays, and what NumPy declares.
ITEMS = {"generator", "pair", "node", "owner", "column_count", "totals", "noise"}
VIEWS = {"array", "matrix"}
ABOUT_ITSELF = {"level", "version", "source", "size_of"}


def genotypes(**changes):
    arguments = {"stored": np.zeros((3, 5), dtype=np.uint8), "counts": np.zeros((3, 4), np.int64)}
    return count_genotypes(*(arguments | changes).values())


def locked(array):
    array.flags.writeable = False
    return array


def test_what_fits_gets_in():
    counts = np.zeros((3, 4), dtype=np.int64)
    assert genotypes(counts=counts) is None
    np.testing.assert_array_equal(counts, [[0, 0, 20, 0]] * 3)
    genotypes(stored=locked(np.zeros((3, 5), dtype=np.uint8)))
    genotypes(stored=np.zeros((0, 5), dtype=np.uint8), counts=np.zeros((0, 4), dtype=np.int64))


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        (
            {"stored": np.zeros((3, 5), dtype=np.int8)},
            TypeError,
            "count_genotypes.stored must be an array of uint8, got int8",
        ),
        (
            {"counts": np.zeros((3, 4))},
            TypeError,
            "count_genotypes.counts must be an array of int64, got float64",
        ),
        (
            {"counts": np.zeros((3, 4), dtype=">i8")},
            TypeError,
            "count_genotypes.counts must be an array of int64, got >i8",
        ),
        ({"stored": [[0, 1]]}, TypeError, "must be an array of uint8, got list"),
        ({"stored": None}, TypeError, "must be an array of uint8, got NoneType"),
        (
            {"stored": np.ma.zeros((3, 5), dtype=np.uint8)},
            TypeError,
            "must be an array of uint8, got uint8",
        ),
        (
            {"counts": np.zeros((2, 4), dtype=np.int64)},
            ValueError,
            r"count_genotypes.counts must be of shape \(3, 4\), got \(2, 4\)",
        ),
        (
            {"counts": np.zeros((3, 5), dtype=np.int64)},
            ValueError,
            r"must be of shape \(3, 4\), got \(3, 5\)",
        ),
        ({"stored": np.zeros(15, dtype=np.uint8)}, ValueError, r"must be of shape .*, got \(15,\)"),
        (
            {"stored": np.zeros((5, 3), dtype=np.uint8).T},
            ValueError,
            "count_genotypes.stored must be stored row by row",
        ),
        (
            {"counts": np.zeros((3, 8), dtype=np.int64)[:, ::2]},
            ValueError,
            "count_genotypes.counts must be writable and stored row by row",
        ),
        (
            {"counts": locked(np.zeros((3, 4), dtype=np.int64))},
            ValueError,
            "count_genotypes.counts must be writable",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name(changes, error, said):
    with pytest.raises(error, match=said):
        genotypes(**changes)


def test_arguments_are_neither_left_out_nor_added():
    counts = np.zeros((3, 4), dtype=np.int64)
    stored = np.zeros((3, 5), dtype=np.uint8)
    for arguments in ((), (stored,), (stored, counts, counts)):
        with pytest.raises(ValueError, match="zip"):
            count_genotypes(*arguments)


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**30])
def test_numbers_have_64_bits(number):
    pairs, arms = np.zeros((1, 2), dtype=np.int32), np.zeros(2, dtype=np.int32)
    with pytest.raises(ValueError, match=r"join_partners.n_arms must have 64 bits"):
        join_partners(pairs, arms, number)


@pytest.mark.parametrize(
    ("starts", "said"),
    [
        ([0, 2, 1, 3], "encode_columns.starts must not fall"),
        ([0, 1, 2, 4], "encode_columns.starts must be from 0 to 3, got 4"),
        ([-1, 1, 2, 3], "encode_columns.starts must be from 0 to 3, got -1"),
        ([0, 1, 3], r"encode_columns.starts must be of shape \(4\), got \(3,\)"),
    ],
)
def test_stretches_of_an_array_are_within_it(starts, said):
    with pytest.raises(ValueError, match=said):
        encode_columns(
            np.zeros((3, 10)), np.ones(3, dtype=np.uint8), np.zeros(3), np.zeros(3),
            np.array(starts), np.zeros(3), np.zeros((3, 64), dtype=np.uint8),
        )  # fmt: skip


def design(n_rows=100, n_columns=4):
    X = np.random.default_rng(0).random((n_rows, n_columns))
    X[:, 1] = X[:, 1] > 0.5
    return bin_table(X).design()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"columns": np.array([0, 4])}, "design.columns must be from 0 to 3, got 4"),
        ({"columns": np.array([-1, 0])}, "design.columns must be from 0 to 3, got -1"),
        ({"starts": np.array([0, 16, 18, 100])}, "design.starts must be from 0 to"),
        ({"starts": np.array([0, 16, 18, 49])}, "design.codes has no 100 rows of every column"),
        ({"n_rows": 129}, "design.codes has no 129 rows of every column"),
        ({"widths": np.array([8, 3, 8, 8], dtype=np.uint8)}, "design.widths must be 1, 2 or 8"),
        ({"widths": np.array([8, 8, 8], dtype=np.uint8)}, r"design.widths must be of shape \(4\)"),
        ({"codes": np.zeros(40, dtype=np.uint64)}, "design"),
        ({"n_cuts": np.zeros(3, dtype=np.uint8)}, r"design.n_cuts must be of shape \(4\)"),
    ],
)
def test_a_design_has_the_codes_of_its_columns(changes, said):
    whole = design()
    assert whole.starts.tolist() == [0, 16, 18, 34]
    pack(whole)
    with pytest.raises(ValueError, match=said):
        pack(whole._replace(**changes))


def test_a_struct_is_not_another_one():
    chain = chain_of()
    with pytest.raises(TypeError, match=r"chain.trees must be a trees, got Leaves"):
        pack(chain.chain._replace(trees=chain.chain.leaves))
    with pytest.raises(TypeError, match=r"copy_sample.draw must be a draw, got Design"):
        copy_sample_with(draw=chain.design)


def chain_of(n_rows=100, family="gaussian", **settings):
    rng = np.random.default_rng(1)
    X = rng.random((n_rows, 4))
    y = X[:, 0] + rng.random(n_rows)
    return start_chain(
        bin_table(X), working_response(read_outcome(y, n_rows)), Prior(n_trees=3),
        n_iterations=20, n_burn=10, rng=rng, **settings,
    )  # fmt: skip


def copy_sample_with(**changes):
    arguments = dict(
        table=design(),
        observed=np.zeros((2, 128)),
        draw=DrawnRows(np.arange(70), np.array([1, 3]), np.tile(np.arange(70), (2, 1))),
        sample=new_sample(6, 70),
    )
    arguments |= changes
    is_draw = isinstance(arguments["draw"], DrawnRows)
    (copy_sample if is_draw else state._copy_sample)(*arguments.values())
    return arguments["sample"]


def test_a_sample_is_copied_where_there_is_room():
    sample = copy_sample_with()
    pack(sample.design(6, 70))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sample": new_sample(5, 70)}, "no room for 6 columns and 70 rows"),
        ({"sample": new_sample(6, 60)}, "no room for 6 columns and 70 rows"),
        ({"observed": np.zeros((2, 64))}, "observed must be of 100 rows"),
        (
            {"draw": DrawnRows(100 - np.arange(70), np.arange(0), np.zeros((0, 70), np.int64))},
            "rows that are not among the 100",
        ),
        (
            {"draw": DrawnRows(np.arange(70), np.array([4]), np.zeros((1, 70), np.int64))},
            "columns that the table does not have",
        ),
    ],
)
def test_samples_that_do_not_belong_together_are_refused(changes, said):
    with pytest.raises(ValueError, match=said):
        copy_sample_with(**changes)


@pytest.mark.parametrize("part", ["leaves", "response", "proposal", "tally"])
def test_a_chain_of_another_table_is_refused(part):
    chain, other = chain_of(), chain_of(300)
    if part == "tally":
        other = chain_of(columns=np.array([1]))
    if part in ("leaves", "proposal"):
        other.chain = with_more_room(other.chain)
    mixed = chain.chain._replace(**{part: getattr(other.chain, part)})
    with pytest.raises(ValueError, match="chain"):
        check_chain(mixed, chain.design, chain.prior)


def forest(**changes):
    parts = dict(
        starts=np.array([0, 3]),
        left=np.array([1, -1, -1]),
        column=np.array([0, -1, -1]),
        cut=np.zeros(3, dtype=np.uint8),
        missing_left=np.zeros(3, dtype=np.bool_),
        value=np.arange(3.0),
    )
    return Forest(**(parts | changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"left": np.array([2, -1, -1])},
        {"left": np.array([1, -1])},
        {"starts": np.array([0, 4])},
        {"starts": np.array([-1, 3])},
        {"starts": np.array([3, 0])},
        {"column": np.array([1, -1, -1])},
        {"cut": np.zeros(3)},
    ],
)
def test_a_forest_that_leads_nowhere_is_refused(changes):
    codes = np.zeros((1, 64), dtype=np.uint8)
    np.testing.assert_array_equal(forest().evaluate(codes, 64), 1.0)
    with pytest.raises((ValueError, TypeError), match="forest"):
        forest(**changes).evaluate(codes, 64)


def test_correlations_need_an_outcome_for_every_row():
    codes, out = np.zeros((2, 64), dtype=np.uint8), np.zeros(2)
    with pytest.raises(TypeError, match=r"correlate.n_present must be an array of int64"):
        correlate(codes, np.zeros(10), out, out)


def header_structs():
    """Names of the structs with their fields, as the header has them."""
    plain = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.DOTALL)
    found = {}
    for body, name in re.findall(r"typedef struct \{([^}]*)\} tvs_(\w+);", plain):
        body = re.sub(r"(ARRAY|MATRIX)\([^)]*\)", "array", body)
        fields = re.findall(r"(\w+)(?=\s*[,;])", body)
        found[name] = fields
    return found


def test_every_struct_is_declared_on_both_sides():
    structs = header_structs()
    assert structs.keys() - ITEMS - VIEWS == core._structs.keys()
    for name, declared in core._structs.items():
        assert [field.name for field in declared.fields] == structs[name]
        assert core.library.tvs_size_of(name.encode()) in (0, ctypes.sizeof(declared.memory))
        assert all(hasattr(record, "__doc__") for record in core._struct_of)
    outer = ("reward", "room", "arms", "log", "forest")
    assert all(core.library.tvs_size_of(name.encode()) > 0 for name in outer)
    assert core.library.tvs_size_of(b"nothing") == 0


def header_functions():
    """Names of the functions with the number of their parameters."""
    plain = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.DOTALL)
    plain = re.sub(r"(ARRAY|MATRIX)\([^)]*\)", "array", plain)
    calls = re.findall(r"TVS_API[^;(]*?tvs_(\w+)\(([^)]*)\)", plain)
    return {name: 0 if text == "void" else text.count(",") + 1 for name, text in calls}


def test_every_function_is_declared_once_on_both_sides():
    declared = [name for text in SOURCES for name in re.findall(r'\bfunction\(\s*f?"(\w+)"', text)]
    assert sorted(declared) == sorted(set(header_functions()) - ABOUT_ITSELF)


def test_functions_take_as_many_parameters_as_the_header_says():
    for name, n_parameters in header_functions().items():
        if name not in ABOUT_ITSELF:
            native = getattr(core.library, f"tvs_{name}")
            if native.argtypes is not None:  # its module was imported
                assert len(native.argtypes) == n_parameters, name
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


def test_a_library_of_another_version_is_refused(tmp_path):
    version = f"#define TVS_VERSION {core.VERSION}"
    patched_copy(tmp_path, ("core/tvselect.h", version, version + "1"), flags=("-O0",))
    done = run_with(tmp_path, "-c", IMPORT)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    folder = tmp_path / "tvselect"
    assert last == (
        f"ImportError: the native library in {folder} is of another version; install tvselect again"
    )


def copy_without_libraries(folder):
    ignored = shutil.ignore_patterns("__pycache__", "libtvselect_*")
    shutil.copytree(ROOT / "src" / "tvselect", folder / "tvselect", ignore=ignored)
    return folder / "tvselect"


@pytest.mark.parametrize("damaged", [False, True])
def test_a_library_that_is_missing_or_damaged_is_named(tmp_path, damaged):
    package = copy_without_libraries(tmp_path)
    library = Path(core.library._name).name.replace("v3", "v2").replace("v4", "v2")
    if damaged:
        (package / library).write_bytes(b"\x7fELF" + bytes(100))
    done = run_with(tmp_path, "-c", IMPORT)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: the native library {package / library} cannot be loaded; "
        "install tvselect again"
    )


@pytest.mark.skipif(not core.library.tvs_level(), reason="there is one library only")
@pytest.mark.parametrize("asked", ["v1", "v5", "v9", "avx2", "", "2"])
def test_an_instruction_set_that_is_not_there_is_refused(asked):
    done = run_here(asked)
    assert done.returncode == 1
    assert re.match(
        rf"ImportError: TVSELECT_SIMD={asked} is not one of those that this processor runs: v2",
        done.stderr.splitlines()[-1],
    )


@pytest.mark.skipif(not core.library.tvs_level(), reason="there is one library only")
def test_a_lower_instruction_set_may_be_asked_for():
    for level in range(2, core.library.tvs_level() + 1):
        library = Path(core.library._name)
        if library.with_name(re.sub("v[234]", f"v{level}", library.name)).exists():
            assert f"_v{level}." in run_here(f"v{level}").stdout


def run_here(level):
    return subprocess.run(
        [sys.executable, "-c", IMPORT], env={**os.environ, "TVSELECT_SIMD": level},
        capture_output=True, text=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("latent", 9),
        ("latent", CLASSES),
        ("latent_sweeps", 0),
        ("split_log_odds", np.zeros(MAX_DEPTH)),
        ("shares", np.zeros(0)),
    ],
)
def test_a_prior_that_the_sampler_cannot_run_on_is_refused(name, value):
    prior = Prior().parameters(working_response(read_outcome(np.arange(9.0), 9)), np.ones(2))
    changes = {name: value}
    if name == "shares":
        changes["log_shares"] = np.zeros((0, 64))
    with pytest.raises(ValueError, match=r"prior\.\w+ is not what the other parameters ask for"):
        pack(prior._replace(**changes))


def test_codes_have_a_place_for_every_row():
    block, one = np.zeros((1, 70)), np.zeros(1)
    with pytest.raises(ValueError, match=r"encode_columns\.codes must be of shape \(1, 70\)"):
        encode_columns(
            block, np.zeros(1, np.uint8), one, one, np.zeros(2, np.int64), np.zeros(0),
            np.zeros((1, 64), np.uint8),
        )  # fmt: skip


def test_a_chain_needs_a_column():
    table = bin_table(np.arange(20.0)[:, None])
    response = working_response(read_outcome(np.arange(20.0), 20))
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="a chain needs a column to split on"):
        start_chain(
            table, response, Prior(), columns=np.zeros(0, np.int64), n_iterations=1, n_burn=0,
            rng=rng,
        )  # fmt: skip


def test_random_numbers_come_from_numpy():
    table = bin_table(np.arange(20.0)[:, None])
    response = working_response(read_outcome(np.arange(20.0), 20))
    chain = start_chain(
        table, response, Prior(), n_iterations=1, n_burn=0, rng=np.random.default_rng(0)
    )
    chain.rng = None
    with pytest.raises(TypeError, match=r"run\.rng must be a numpy\.random\.Generator, got None"):
        chain.advance()


def test_the_command_line_says_in_a_line_that_the_core_cannot_be_loaded(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "tvselect.cli", "select", "table.csv", "-t", "y"],
        cwd=tmp_path,
        env={**os.environ, "TVSELECT_SIMD": "v9"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[0].startswith("tvs: error: TVSELECT_SIMD=v9 is not one of")
    assert len(done.stderr.splitlines()) == 1
