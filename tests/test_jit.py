from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numba
import numpy as np
import pytest

import tvselect
from tvselect import jit
from tvselect.inputs import read_outcome
from tvselect.jit.sharing import CAN_SHARE
from tvselect.rewards.bart_play import for_play
from tvselect.trees import Prior, bin_table, run_bart, start_chain, working_response
from tvselect.trees.state import read_only

PLAIN = bool(numba.config.DISABLE_JIT)
compiled_only = pytest.mark.skipif(PLAIN, reason="nothing is compiled")
shared_only = pytest.mark.skipif(PLAIN or not CAN_SHARE, reason="nothing is shared")

PART = """
from tvselect.jit import part

@part
def weight(x):
    return 2.0 * x
"""

KERNELS = """
import numpy as np
from tvselect.jit import kernel
from tvselect.probe_part import weight

@kernel
def fill(out):
    for i in range(out.shape[0]):
        out[i] = weight(1.0)

@kernel
def fill_more(out):
    for i in range(out.shape[0]):
        out[i] = weight(10.0)

out, more = np.zeros(1), np.zeros(1)
fill(out)
fill_more(more)
print(out[0], more[0])
"""

SHARED = """
import numpy as np
from tvselect.jit import shared_kernel

@shared_kernel
def fill(out, value):
    for i in range(out.shape[0]):
        out[i] = value
"""

CALLERS = """
import numpy as np
from tvselect.jit import kernel, part
from tvselect.probe_part import fill

@part
def pass_on(out, value):
    fill(out, value)

@kernel
def fill_twice(out):
    pass_on(out[:1], 2.0)
    fill(out[1:], 3.0)

@kernel
def fill_once(out):
    fill(out, 4.0)

out, once = np.zeros(2), np.zeros(1)
fill_twice(out)
fill_once(once)
if not __import__("numba").config.DISABLE_JIT:
    assert len(fill.signatures) == 1, fill.signatures
print(*out, *once)
"""

USES = """
import numpy as np
import pandas as pd
from tvselect.trees import bin_table, run_bart
from tvselect.trees.cutting import encode_columns, find_cuts
from tvselect.trees.forest import evaluate_forest
from tvselect.trees.gibbs import run

X = np.random.default_rng(0).standard_normal((90, 3))
y = X[:, 0] + X[:, 1]
locked = np.asfortranarray(X)
locked.flags.writeable = False
missing = np.where(X > 2, np.nan, X)
for table, outcome, settings in (
    (X, y, {}),
    (X[:, :1], y, {"sparse": True}),
    (X[:20], y[:20] > 0, {"sparse": True}),
    (np.asfortranarray(X), y, {"columns": [2, 0], "sigma": 1.0}),
    (locked, y, {"sigma": np.inf, "n_burn": 0}),
    (X.astype(np.float32)[::-2], y[::-2].astype(int), {"n_burn": np.int32(2)}),
    (X > 0, y.astype(np.float32), {"n_iterations": np.int16(9), "noise_scale": np.float32(1)}),
    (pd.DataFrame(missing), pd.Series(y), {"max_cuts": np.uint8(7)}),
    (bin_table(missing), y.tolist(), {"random_state": np.random.MT19937(0)}),
):
    found = run_bart(table, outcome, **{"n_iterations": 10, "random_state": 0, **settings})
    found.predict(X[: len(outcome), : len(found.cuts.names)])
    found.forest.evaluate(bin_table(X).codes, 90)
for kernel in (find_cuts, encode_columns, run, evaluate_forest):
    assert len(kernel.signatures) == 1, (kernel.__name__, kernel.signatures)
"""

PLAYS = """
import pickle
import numpy as np
from tvselect import BartReward
from tvselect.inputs import read_outcome
from tvselect.rewards.base import Data
from tvselect.rewards.bart_play import find_pairs, for_play, play

rng = np.random.default_rng(0)
X = rng.random((40, 3))
data = Data(X, read_outcome(X[:, 0] + rng.standard_normal(40), 40), ("a", "b", "c"))
for shadows in (0, 5):
    here = BartReward(n_trees=2, n_iterations=4, shadows=shadows).start(data)
    buffers = []
    there = pickle.dumps(here, protocol=5, buffer_callback=buffers.append)
    there = pickle.loads(there, buffers=[bytes(buffer) for buffer in buffers])
    for feedback in (here, pickle.loads(pickle.dumps(here)), there):
        feedback(np.arange(2), np.random.default_rng(1))
for kernel in (find_pairs, for_play, play):
    assert len(kernel.signatures) == 1, (kernel.__name__, kernel.signatures)
"""

CHAINS = """
import sys
import numpy as np
from tvselect.trees import run_bart

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 3))
X[::7, 1] = np.nan
y = X[:, 0] + 0.1 * rng.standard_normal(40)
for outcome in (y, y > 0):
    found = run_bart(X, outcome, n_trees=3, n_iterations=12, sparse=True, random_state=5)
    np.savetxt(sys.stdout, np.column_stack([found.sigma, found.theta, found.n_splits]))
    np.savetxt(sys.stdout, found.predict(X).reshape(-1, 1) * [1, 0, 0])
"""


def python(script, **environment):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        env={**os.environ, **{name: str(value) for name, value in environment.items()}},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done


@compiled_only
def test_a_changed_part_recompiles_the_kernels_of_other_files_and_is_announced_once(probe):
    def found_and_announced():
        found, said = probe()
        return found, "\n".join(said).count("compiling the kernels")

    assert found_and_announced() == (FOUND, 1)
    assert found_and_announced() == (FOUND, 0)
    (probe.package / "probe_part.py").write_text(PART.replace("2.0", "3.0"))
    assert found_and_announced() == (["3.0", "30.0"], 1)


@pytest.fixture
def probe(tmp_path):
    """A copy of the package with two small kernels; returns what they find and what is said."""
    package = tmp_path / "src" / "tvselect"
    shutil.copytree(
        Path(tvselect.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    (package / "probe_part.py").write_text(PART)
    (package / "probe.py").write_text(KERNELS)

    def run(**environment):
        environment = {"NUMBA_CACHE_DIR": tmp_path / "cache", **environment}
        done = python(
            "import tvselect.probe",
            PYTHONPATH=package.parent,
            PYTHONDONTWRITEBYTECODE=1,
            **environment,
        )
        return done.stdout.split(), [line for line in done.stderr.splitlines() if line]

    run.package, run.cache = package, tmp_path / "cache"
    return run


FOUND = ["2.0", "20.0"]


@compiled_only
def test_without_a_folder_for_the_cache_kernels_are_compiled_at_every_start(probe):
    """Places that even root cannot write to: below a file."""
    (probe.package / "__pycache__").touch()
    nowhere = probe.package / "probe.py" / "folder"
    found, said = probe(NUMBA_CACHE_DIR=nowhere, HOME=nowhere, XDG_CACHE_HOME=nowhere)
    assert found == FOUND
    assert len(said) == 1
    assert "compiling the kernels" in said[0]
    assert "at every start; to keep them set NUMBA_CACHE_DIR" in said[0]


@compiled_only
def test_a_damaged_cache_is_made_anew(probe):
    assert probe()[0] == FOUND
    for suffix in ("nbi", "nbc"):
        one, other = probe.cache.rglob(f"*.{suffix}")
        one.write_bytes(b"no pickle")
        other.write_bytes(other.read_bytes()[:-7])
        found, said = probe()
        assert found == FOUND
        assert len(said) == 1
        assert "compiling the kernels" in said[0]
    assert probe() == (FOUND, [])


@compiled_only
def test_kernels_that_cannot_be_kept_are_used_all_the_same(probe):
    """Data files cannot replace folders of their names: an error as of a full disk."""
    assert probe()[0] == FOUND
    for file in probe.cache.rglob("*.nbc"):
        file.unlink()
        file.mkdir()
        (file / "inside").touch()
    found, said = probe()
    assert found == FOUND
    assert len(said) == 2
    assert "compiling the kernels" in said[0]
    assert "could not be kept (" in said[1]
    assert "set NUMBA_CACHE_DIR" in said[1]


@compiled_only
def test_kernels_are_compiled_once_whatever_the_input():
    python(USES)


@compiled_only
def test_plays_are_compiled_once_for_all_processes():
    """What arrives there in buffers cannot be written to, which is another type to Numba."""
    python(PLAYS)


def test_parts_of_plays_and_of_chains_alone_are_compiled_once():
    """The prior has one type in both, so that what is made of it is not compiled a second time."""
    table = bin_table(np.zeros((8, 2)))
    response, prior = working_response(read_outcome(np.arange(8.0), 8)), Prior(n_trees=2)
    alone = start_chain(
        table, response, prior, n_iterations=2, n_burn=0, rng=np.random.default_rng(0)
    ).prior
    in_plays = read_only(prior.parameters(response))
    of_a_play = getattr(for_play, "py_func", for_play)(
        in_plays, 0, np.zeros(2), np.zeros((0, 2), dtype=np.int64)
    )
    assert numba.typeof(alone) == numba.typeof(of_a_play)


@compiled_only
def test_compiled_and_plain_chains_agree():
    with redirect_stdout(StringIO()) as here:
        exec(CHAINS, {})
    there = python(CHAINS, NUMBA_DISABLE_JIT=1).stdout
    compiled, plain = (np.array(text.split(), dtype=float) for text in (here.getvalue(), there))
    assert compiled.size == 2 * (12 + 40) * 3
    np.testing.assert_allclose(compiled, plain, rtol=1e-9)


@compiled_only
def test_kernels_run_without_the_gil_and_without_reference_counts():
    for decorate in (jit.kernel, jit.part):
        options = decorate(lambda x: x).targetoptions
        assert options["nogil"]
        assert not options["_nrt"]
        assert "fastmath" not in options


@compiled_only
def test_a_kernel_that_another_calls_is_compiled_as_a_part_of_it():
    @jit.kernel
    def inner(x):
        return 2.0 * x

    @jit.kernel
    def outer(x):
        return inner(x) + 1.0

    assert outer(3.0) == 7.0
    assert inner.signatures == []
    assert inner(3.0) == 6.0


@pytest.fixture
def shared_probe(probe):
    """A shared kernel, and two others that call it."""
    (probe.package / "probe_part.py").write_text(SHARED)
    (probe.package / "probe.py").write_text(CALLERS)
    return probe


FILLED = ["2.0", "3.0", "4.0"]


@shared_only
def test_a_shared_kernel_is_compiled_once_and_called_by_kernels_from_the_cache(shared_probe):
    found, said = shared_probe()
    assert (found, len(said)) == (FILLED, 1)
    assert shared_probe() == (FILLED, [])


@shared_only
def test_a_shared_kernel_that_is_no_longer_kept_is_compiled_for_those_that_are(shared_probe):
    shared_probe()
    for file in shared_probe.cache.rglob("probe_part.fill-*"):
        file.unlink()
    found, said = shared_probe()
    assert (found, len(said)) == (FILLED, 1)


@shared_only
def test_a_changed_shared_kernel_is_called_as_it_is_now(shared_probe):
    shared_probe()
    (shared_probe.package / "probe_part.py").write_text(SHARED.replace("= value", "= -value"))
    assert shared_probe()[0] == ["-2.0", "-3.0", "-4.0"]


def test_a_shared_kernel_is_a_plain_function_where_nothing_is_compiled(shared_probe):
    assert shared_probe(NUMBA_DISABLE_JIT=1) == (FILLED, [])


@shared_only
def test_kernels_compiled_without_the_shared_one_call_it_once_they_are_loaded(shared_probe):
    """The caller is compiled, not called, in a process that leaves the shared kernel out."""
    source = CALLERS.split("out, once =")[0]
    (shared_probe.package / "probe.py").write_text(source)
    setting = dict(PYTHONPATH=shared_probe.package.parent, NUMBA_CACHE_DIR=shared_probe.cache)
    python(
        "import numba\n"
        "from tvselect.jit import without_shared_kernels\n"
        "from tvselect.probe import fill, fill_once\n"
        "with without_shared_kernels():\n"
        "    fill_once.compile((numba.float64[::1],))\n"
        "assert not fill.signatures",
        **setting,
    )
    done = python(
        "import numpy as np\n"
        "from tvselect.probe import fill_once\n"
        "out = np.zeros(1)\n"
        "fill_once(out)\n"
        "assert sum(fill_once.stats.cache_hits.values()) == 1\n"
        "print(*out)",
        **setting,
    )
    assert done.stdout.split() == ["4.0"]


@compiled_only
def test_parts_are_not_made_machine_code():
    @jit.part
    def weight(x):
        return 2.0 * x

    @jit.kernel
    def weigh(x):
        return weight(x)

    assert weigh(3.0) == 6.0
    (compiled,) = weight.overloads.values()
    assert compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name) == 0


@compiled_only
@pytest.mark.parametrize("was_enabled", [True, False])
def test_garbage_is_collected_after_a_compilation_as_before(was_enabled):
    @jit.kernel
    def wrong(x):
        return x.no_such_thing

    before = gc.isenabled()
    try:
        (gc.enable if was_enabled else gc.disable)()
        with pytest.raises(numba.TypingError):
            wrong(1.0)
        assert gc.isenabled() == was_enabled
    finally:
        (gc.enable if before else gc.disable)()


@pytest.mark.skipif(not PLAIN, reason="kernels are compiled")
def test_without_numba_kernels_are_plain_functions():
    def function(x):
        return x

    assert jit.kernel(function) is function
    assert jit.part(function) is function


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_a_run_works_in_this_mode():
    X = np.random.default_rng(0).standard_normal((40, 2))
    assert run_bart(X, X[:, 0], n_trees=2, n_iterations=5, random_state=0).n_splits.size == 5


@compiled_only
def test_warming_compiles_every_kernel_once():
    said = python(
        "from tvselect.jit import all_kernels\n"
        "from tvselect.runs.warming import compile_kernels\n"
        "compile_kernels()\n"
        "assert compile_kernels().n_kernels == 0\n"
        "print(*(k.__name__ for k in all_kernels() if len(k.signatures) != 1))"
    )
    assert said.stdout.split() == []
