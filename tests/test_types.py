"""What editors and type checkers make of ``from tvselect import ThompsonSelector``."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("typed_script.py")


@pytest.mark.parametrize("checker", [("mypy", "--strict"), ("basedpyright", "--level", "error")])
def test_parameters_and_attributes_are_known_to(checker):
    """Each line asserts a type, or is a slip that has to be reported (mypy and Pyright)."""
    pytest.importorskip(checker[0])
    command = [sys.executable, "-m", *checker, SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
