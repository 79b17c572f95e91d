"""Tests of the command line: in a folder of their own, with a report that costs nothing.

Interactions are looked for as always, but compared with so few outcomes without any that none can
be reported: a comparison with as many as usual takes most of the time of a small run.
"""

import json

import pytest

import tvselect.selectors.interactions
from tests.cli.makers import FEW_WITHOUT, QuickFindings, quick_gather, quick_render
from tvselect.cli import main


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def quick_report(monkeypatch):
    monkeypatch.setattr(tvselect.selectors.interactions, "N_WITHOUT", FEW_WITHOUT)
    monkeypatch.setattr("tvselect.report.prepare", lambda: None)
    monkeypatch.setattr("tvselect.report.gather", quick_gather)
    monkeypatch.setattr("tvselect.report.render", quick_render)
    monkeypatch.setattr("tvselect.report.Findings", QuickFindings)


@pytest.fixture
def tvs(capsys, quick_report):
    """Run a command; returns the exit code, stdout and stderr."""

    def run(*arguments):
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return run


@pytest.fixture
def answer(tvs):
    """Run a command with --json that must succeed; returns what it prints."""

    def run(*arguments):
        code, out, err = tvs(*arguments, "--json", "--quiet")
        assert (code, err) == (0, "")
        return json.loads(out)

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
