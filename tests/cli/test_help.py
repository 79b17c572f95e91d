"""Help, version, completion, and what is no command."""

import shutil
import subprocess
import sys

import pytest

from tvselect import __version__

HEAVY = ("numpy", "scipy", "sklearn", "pyarrow", "pandas", "tqdm", "narwhals", "shtab")


@pytest.mark.parametrize("arguments", [["--help"], ["select", "--help"], ["--version"]])
def test_imports_nothing_heavy(arguments):
    code = (
        "import sys; from tvselect.cli import main; code = main(sys.argv[2:]);"
        "print([name for name in sys.argv[1].split(',') if name in sys.modules], code)"
    )
    command = [sys.executable, "-c", code, ",".join(HEAVY), *arguments]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == "[] 0"


def test_has_examples(tvs):
    code, out, err = tvs("select", "--help")
    assert (code, err) == (0, "")
    assert "tvs select prices.csv --target price" in out


def test_version(tvs):
    assert tvs("--version")[:2] == (0, f"tvs {__version__}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["choose"],
        ["select", "t.csv"],
        ["select", "t.csv", "-t", "y", "--plays", "0"],
        ["select", "t.csv", "-t", "y", "--plays", "many"],
        ["select", "t.csv", "-t", "y", "--seed", "-1"],
        ["select", "t.csv", "-t", "y", "--time-limit", "nan"],
        ["select", "t.csv", "-t", "y", "--reward", "money"],
        ["select", "t.csv", "-t", "y", "--max-fdr", "1"],
        ["select", "t.csv", "-t", "y", "--max-fdr", "little"],
        ["select", "t.csv", "-t", "y", "--decoys", "ducks"],
        ["transform", "run", "t.csv"],
        ["completion", "dos"],
    ],
)
def test_wrong_usage(arguments, tvs):
    code, out, err = tvs(*arguments)
    assert (code, out) == (2, "")
    assert "usage: tvs" in err


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion(shell, tvs):
    code, out, err = tvs("completion", shell)
    assert (code, err) == (0, "")
    assert "transform" in out
    assert "--target" in out or shell == "tcsh"  # shtab completes no options there


def test_completion_in_bash(tvs, here):
    if shutil.which("bash") is None:
        pytest.skip("needs bash")
    (here / "script").write_text(tvs("completion", "bash")[1])
    subprocess.run(["bash", "-n", here / "script"], check=True)
