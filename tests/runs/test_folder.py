"""Folders of runs: atomic writes, variables as CSV, and what someone else has changed."""

import json
import os
import re

import numpy as np
import pytest

from fuzz.targets.runs import sound_run
from tests.cli.makers import changed, write
from tests.decoyed import fit_signals
from tvselect.bandit.journal import Journal
from tvselect.cli import main
from tvselect.records import to_json, write_text
from tvselect.runs import RunError
from tvselect.runs.folder import RunFolder, from_csv, new_folder, to_csv
from tvselect.runs.play import read_off


def test_a_run_comes_back(tmp_path):
    folder = RunFolder(tmp_path)
    folder.write_run(sound_run())
    assert folder.read_run() == sound_run()


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda run: run.pop("plan"), "plan"),
        (lambda run: run.update(more=1), "more"),
        (lambda run: run["settings"].update(seed="7"), "settings.seed"),
        (lambda run: run["settings"].update(plays=True), "settings.plays"),
        (lambda run: run["settings"].update(reward="gold"), "settings.reward"),
        (lambda run: run["settings"].update(decoys=True), "settings.decoys"),
        (lambda run: run["settings"].update(max_fdr="0.1"), "settings.max_fdr"),
        (lambda run: run["plan"].update(columns=["a", 1]), r"plan.columns\[1\]"),
        (lambda run: run["plan"].update(feature_groups={"g": "a"}), "plan.feature_groups.g"),
        (lambda run: run["plan"]["facts"]["left_out"]["id"].update(reason="dull"),
         "plan.facts.left_out.id.reason"),
        (lambda run: run["plan"]["facts"]["mode"].update(stream=1), "plan.facts.mode.stream"),
        (lambda run: run.update(settings=[]), "settings"),
        (lambda run: run["settings"].pop("window"), "settings.window"),
        (lambda run: run.update(stop_reason="because"), "stop_reason"),
    ],
)  # fmt: skip
def test_a_changed_run_is_refused(change, where, tmp_path):
    values = json.loads(to_json(sound_run()))
    change(values)
    (tmp_path / "run.json").write_text(json.dumps(values))
    with pytest.raises(RunError, match=rf"run.json was not written .*\(at '{where}'\)"):
        RunFolder(tmp_path).read_run()


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


def test_only_a_run_is_said_to_be_resumed(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(RunError, match=r"never overwritten; choose another --out$"):
        new_folder(str(tmp_path), "t.csv")
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(RunError, match="go on with the run: tvs resume"):
        new_folder(str(tmp_path), "t.csv")


@pytest.mark.parametrize("stream", [False, True], ids=["memory", "stream"])
def test_run_json_and_the_report_say_the_same(stream, tmp_path, capsys):
    table = write(tmp_path / "prices.csv", changed(kind=["u", "v", "w"] * 40))
    folder, options = RunFolder(tmp_path / "run"), ["--plays", "10", "--seed", "1"]
    options += ["--stream" if stream else "--no-stream", "--out", str(folder.path)]
    assert main(["select", str(table), "-t", "y", *options]) == 0
    assert ("nothing can be selected" in capsys.readouterr().err) == stream
    run, findings = folder.read_run(), folder.read_findings()
    with Journal(folder.journal) as journal:
        assert run.fingerprint == findings.asked.fingerprint == journal.header.fingerprint
    assert run.stop_reason is findings.stop_reason
    assert run.settings.seed == findings.asked.seed == 1
    page = folder.report.read_text(encoding="utf-8")
    labels = re.findall('<dt class="name">(.*?)</dt>', page)
    assert len(set(map(str.lower, labels))) == len(labels)
    assert "of prices.csv help to explain y, in 120 rows." in page
    assert "What explains y?" in page
    assert str(tmp_path) not in page  # it is mailed to others
    assert '<dt class="name">Seed</dt><dd>1</dd>' in page
    assert page.count(run.fingerprint) == 2  # to reproduce, and in the checklist
    assert main(["report", str(folder.path)]) == 0
    assert folder.report.read_text(encoding="utf-8") == page
    capsys.readouterr()
    assert main(["report", str(folder.path), "--methods", "--json"]) == 0
    methods = json.loads(capsys.readouterr().out)["methods"]
    assert methods.startswith("Methods\n\nVariables")
    assert main(["report", str(folder.path), "--methods"]) == 0
    assert capsys.readouterr().out == f"{methods.rstrip()}\n"


@pytest.fixture
def selector():
    return fit_signals([0.65, 0.6, 0, 0, 0], twins=[(0, 2)], feature_groups={"pair": [3, 4]})[0]


def test_there_and_back(selector, tmp_path):
    median = read_off(fit_signals([0.65, 0, 0], max_fdr=None)[0])
    assert {variable.q_value for variable in median} == {None}
    for found in (median, read_off(selector)):
        (tmp_path / "variables.csv").write_text(to_csv(found))
        assert from_csv(tmp_path / "variables.csv") == found
    by_name = {variable.name: variable for variable in found}
    assert by_name["c0"].q_value == pytest.approx(selector.q_values_[0], abs=1e-6)
    assert by_name["c0"].claim == by_name["c2"].claim is not None
    assert by_name["c3"].claim is None
    assert by_name["c3"].group == "pair"


def test_streams_have_two_columns_more(selector, tmp_path):
    selector.e_values_ = np.array([1e9, 50.0, 40.0, 0.5, 0.5])
    selector.selected_since_ = np.full(5, 4)
    found = read_off(selector)
    text = to_csv(found, of_stream=True)
    more = ",group,e_value,selected_since,effect,direction,of_class,seen"
    assert text.splitlines()[0].endswith(more)
    (tmp_path / "variables.csv").write_text(text)
    assert from_csv(tmp_path / "variables.csv") == found
    assert {v.name: v.selected_since for v in found if not v.selected} == {"c3": None, "c4": None}
    assert {v.selected_since for v in found if v.selected} == {4}


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("q_value,", ""),
        lambda text: text.replace("\n", ",1\n"),
        lambda text: text.replace("yes,", "yes,much"),
    ],
)
def test_a_changed_file_is_refused(selector, change, tmp_path):
    (tmp_path / "variables.csv").write_text(change(to_csv(read_off(selector))))
    with pytest.raises(RunError, match="write it again: tvs resume "):
        from_csv(tmp_path / "variables.csv")
