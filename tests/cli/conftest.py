"""Tests of the command line: in a folder of their own, with a report that costs nothing.

Interactions are looked for where a test asks for them: they take most of the time of a small run.
"""

import json
import shutil

import pytest

from tests.cli.makers import FEW_WITHOUT, INTERACTIONS, QUICK, make_quick, write
from tvselect.cli import main
from tvselect.selectors.thompson import ThompsonSelector


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def tvs(capsys, monkeypatch):
    """Run a command; returns the exit code, stdout and stderr."""
    make_quick(monkeypatch.setattr)

    def run(*arguments):
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return run


@pytest.fixture
def with_interactions(tvs, monkeypatch):
    """Look for interactions, compared with so few outcomes without any that none is reported."""
    monkeypatch.setattr(ThompsonSelector, "interactions_", INTERACTIONS)
    monkeypatch.setattr("tvselect.after.interactions.N_WITHOUT", FEW_WITHOUT)


@pytest.fixture
def told(tvs):
    """Run a command with --json that must succeed, with warnings or not; returns its answer."""

    def run(*arguments):
        code, out, err = tvs(*arguments, "--json", "--quiet")
        assert code == 0, err
        found = json.loads(out)
        warnings = found.get("warnings", ())
        assert err == "".join(f"tvs: warning: {warning}\n" for warning in warnings)
        return found

    return run


@pytest.fixture
def answer(told):
    """Run a command with --json that must succeed without a warning; returns its answer."""

    def run(*arguments):
        found = told(*arguments)
        assert not found.get("warnings")
        return found

    return run


@pytest.fixture
def failure(tvs, here):
    """Run a command that must fail with one line and write nothing; returns the line."""

    def run(*arguments):
        before = sorted(here.rglob("*"))
        code, out, err = tvs(*arguments, "--quiet")
        assert (code, out) == (1, "")
        assert err.startswith("tvs: error: ")
        assert err.count("\n") == 1
        assert sorted(here.rglob("*")) == before
        return err

    return run


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A folder with a table and the run that selects from it, for tests to copy."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        make_quick(patch.setattr)
        table, out = write(folder / "t.csv"), folder / "run"
        assert main(["select", str(table), "-t", "y", *QUICK, "--quiet", "--out", str(out)]) == 0
    return folder


@pytest.fixture
def run(finished, here):
    """The finished run, as if it had been made here from t.csv."""
    shutil.copytree(finished, here, dirs_exist_ok=True)
    record = here / "run" / "run.json"
    record.write_text(record.read_text().replace(str(finished), str(here)))
    return "run"
