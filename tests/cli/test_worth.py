"""``tvs worth``: predictions of held-out rows, added to a run."""

import json

import numpy as np
import pytest

from tests.cli.makers import QUICK, write


@pytest.fixture
def run(answer, here):
    return answer("select", write(here / "t.csv"), "-t", "y", *QUICK)["run"]


def test_scores_are_printed_and_kept(answer, run, here):
    found = answer("worth", run, "--folds", "3")
    assert (found["score"], len(found["selected"]), found["n_rows"]) == ("R2", 3, 120)
    assert np.mean(found["selected"]) > 0.5 > np.mean(found["none"])
    kept = json.loads((here / run / "findings.json").read_text())["worth"]
    assert kept == found
    assert "selected columns  R2" in (here / run / "report.html").read_text()


def test_what_it_costs_is_said_before(tvs, run):
    code, out, err = tvs("worth", run, "--folds", "2")
    assert code == 0
    assert out.splitlines()[0].startswith("selected columns  R2")
    assert "Selecting again 2 times" in err


def test_a_stream_has_no_folds(answer, failure, here):
    stream = ("--stream", "--batch-size", "40")
    stream += ("--max-fdr", "none")
    run = answer("select", write(here / "t.csv"), "-t", "y", *QUICK, *stream)["run"]
    assert "a run on a stream" in failure("worth", run)


def test_too_many_folds(failure, run):
    assert "less than five for each of 60 folds" in failure("worth", run, "--folds", "60")


def test_a_single_fold_is_wrong_usage(tvs, run):
    code, _, err = tvs("worth", run, "--folds", "1")
    assert code == 2
    assert "argument --folds: must be at least 2, got 1" in err


@pytest.mark.parametrize("wrong", [("--table", "nowhere.csv"), ("--folds", "60")])
def test_nothing_is_announced_that_cannot_be_done(tvs, run, wrong):
    code, _, err = tvs("worth", run, *wrong)
    assert code == 1
    assert "Selecting again" not in err


def test_another_table_is_refused(failure, run, here):
    table = here / "t.csv"
    table.write_text(table.read_text().replace("0.1", "0.2"))
    assert "is not the table that the run was begun with" in failure("worth", run)
