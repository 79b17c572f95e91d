"""``tvs warm`` compiles what a first use would."""

from __future__ import annotations

import json
import os

import pytest

from tvselect.cli.command import main


@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="nothing is compiled")
def test_kernels_are_compiled_and_said_to_be_kept(capsys):
    assert main(["warm"]) == 0
    assert "; kept in " in capsys.readouterr().out
    assert main(["warm", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["n_kernels"] == 0
    assert said["folder"]
