"""``tvs warm`` compiles what a first use would."""

from __future__ import annotations

import json
import os

import pytest

from tests.cli.makers import write
from tvselect.cli.command import main
from tvselect.runs import warming


@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="nothing is compiled")
def test_kernels_are_compiled_and_said_to_be_kept(capsys):
    assert main(["warm"]) == 0
    assert "; kept in " in capsys.readouterr().out
    assert main(["warm", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["n_kernels"] == 0
    assert said["folder"]


@pytest.mark.parametrize(
    ("arguments", "is_needed"),
    [
        (("--plays", "5"), True),
        (("--reward", "pvalue", "--plays", "5"), False),
        (("--stream", "--batch-size", "50"), False),
    ],
    ids=["default", "another reward", "stream"],
)
def test_plays_are_compiled_ahead_where_they_are_used(tvs, here, monkeypatch, arguments, is_needed):
    called = []
    monkeypatch.setattr(warming, "compile_in_parallel", lambda: called.append(1))
    tvs("select", write(here / "t.csv"), "-t", "y", "--no-report", *arguments)
    assert bool(called) == is_needed
