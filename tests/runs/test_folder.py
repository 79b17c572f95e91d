"""Folders of runs: atomic writes, and reading what someone else has changed."""

import json
import os

import pytest

from tvselect.inputs.facts import LeftOut, OutcomeProfile, ReadingMode, TableFacts
from tvselect.runs.errors import RunError
from tvselect.runs.folder import Run, RunFolder, new_folder, write_text
from tvselect.runs.plan import Plan, Settings
from tvselect.runs.records import to_dict


def make_run():
    facts = TableFacts(
        where="t.csv", n_columns=3, mode=ReadingMode(False, "small", 10),
        outcome=OutcomeProfile("y", "gaussian", False, False, 10, 0, 10, ()),
        left_out={"id": LeftOut("identifier")}, dates=("b",), numbers={"a": "?"},
        infinite={"a": 2}, missing=("a", "b"), copies=(("a", "b"),),
    )  # fmt: skip
    plan = Plan(
        table="/data/t.csv", delimiter=",", decimal=".", columns=("a", "b"), always=(),
        groups={"g": ("a", "b")}, facts=facts,
    )  # fmt: skip
    return Run(
        schema=1, version="1", versions={"numpy": "2"}, command="tvs", created="now", state="done",
        stop_reason="", n_plays=3, seconds=1.5, fingerprint="f", settings=Settings(seed=7),
        plan=plan,
    )  # fmt: skip


def test_a_run_comes_back(tmp_path):
    folder = RunFolder(tmp_path)
    folder.write_run(make_run())
    assert folder.read_run() == make_run()


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda run: run.pop("plan"), "plan"),
        (lambda run: run.update(more=1), "more"),
        (lambda run: run["settings"].update(seed="7"), "settings.seed"),
        (lambda run: run["settings"].update(plays=True), "settings.plays"),
        (lambda run: run["settings"].update(reward="gold"), "settings.reward"),
        (lambda run: run["plan"].update(columns=["a", 1]), "plan.columns"),
        (lambda run: run["plan"].update(groups={"g": "a"}), "plan.groups.g"),
        (lambda run: run["plan"]["facts"]["left_out"]["id"].update(reason="dull"),
         "plan.facts.left_out.id.reason"),
        (lambda run: run["plan"]["facts"]["mode"].update(stream=1), "plan.facts.mode.stream"),
        (lambda run: run.update(settings=[]), "settings"),
    ],
)  # fmt: skip
def test_a_changed_run_is_refused(change, where, tmp_path):
    values = json.loads(json.dumps(to_dict(make_run())))
    change(values)
    (tmp_path / "run.json").write_text(json.dumps(values))
    with pytest.raises(RunError, match=rf"run.json was not written .*\(at '{where}'\)"):
        RunFolder(tmp_path).read_run()


def test_settings_that_came_later_have_their_defaults(tmp_path):
    values = json.loads(json.dumps(to_dict(make_run())))
    del values["settings"]["cluster"], values["settings"]["window"]
    (tmp_path / "run.json").write_text(json.dumps(values))
    assert RunFolder(tmp_path).read_run() == make_run()


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "run.json"
    write_text(path, "old")

    def fails(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OSError, match="disk full"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_written_files_are_as_readable_as_others(tmp_path):
    (tmp_path / "other").touch()
    write_text(tmp_path / "mine", "text")
    assert (tmp_path / "mine").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ("data/prices.csv.gz", "tvs-prices-1"),
        ("parts/", "tvs-parts-1"),
        ("all/*.csv", "tvs-table-1"),
        ("s3://bucket/sales.parquet", "tvs-sales-1"),
    ],
)
def test_names_of_folders(table, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert str(new_folder(None, table).path) == name
    assert str(new_folder(None, table).path) == name[:-1] + "2"
