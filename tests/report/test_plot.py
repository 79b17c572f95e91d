"""Figures of a run for papers, from its findings or its folder."""

from __future__ import annotations

import pytest
from matplotlib import pyplot

from tests.decoyed import fit_signals
from tests.report.test_page import evident, joint_run
from tvselect.cli import main
from tvselect.report import gather, plot_run


@pytest.fixture(scope="module")
def joint(tmp_path_factory):
    """A folder with the findings of a run in which two columns act together."""
    folder = tmp_path_factory.mktemp("run")
    found = gather(*joint_run(), target="price", random_state=0)
    (folder / "findings.json").write_text(found.to_json())
    return folder


@pytest.mark.parametrize(
    ("kind", "suffix", "words"),
    [
        ("rates", ".svg", ["age", "dose", "noise", "selection rate, with 95 % interval"]),
        ("effects", ".svg", ["age", "dose", "expected price"]),
        ("interactions", ".svg", ["age", "dose", "expected price"]),
        ("rates", ".pdf", []),
        ("effects", ".png", []),
    ],
)
def test_every_kind_is_written_the_same_twice(joint, kind, suffix, words, tmp_path):
    files = [tmp_path / f"{name}{suffix}" for name in "ab"]
    before = dict(pyplot.rcParams)
    for file in files:
        figure = plot_run(joint, kind, file, width=5)
        assert figure.get_figwidth() == 5
    assert dict(pyplot.rcParams) == before
    assert pyplot.get_fignums() == []
    if suffix != ".svg":  # ids of an SVG are drawn at random
        assert files[0].read_bytes() == files[1].read_bytes()
    text = files[0].read_bytes().decode("latin-1")
    assert [word for word in words if word not in text] == []


def test_evidence_of_a_stream():
    (axes,) = plot_run(gather(evident()), "evidence").axes
    assert axes.get_xscale() == "log"
    needed = 6 / (0.1 * 2)  # e-BH: 6 variables, 2 of them selected
    assert [line.get_xdata()[0] for line in axes.lines if "needed" in line.get_label()] == [needed]
    assert {text.get_text() for text in axes.get_yticklabels()} == {f"c{j}" for j in range(6)}


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("effects", "The table was not at hand"),
        ("evidence", "e-values are of streams"),
        ("interactions", "no pair of variables"),
        ("many", "kind must be one of rates, effects"),
    ],
)
def test_what_a_run_does_not_have_is_said(kind, problem):
    with pytest.raises(ValueError, match=problem):
        plot_run(gather(fit_signals([0.6, 0, 0])[0]), kind)


def test_by_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(
        "a,y\n" + "".join(f"{k % 7},{k % 7 + k % 3}\n" for k in range(90))
    )
    select = ["select", "t.csv", "-t", "y", "--plays", "5", "--reward", "pvalue", "--out", "run"]
    assert main([*select, "--no-report", "--family", "gaussian"]) == 0
    assert main(["plot", "run", "-o", "fig.pdf"]) == 0
    assert capsys.readouterr().out.endswith("fig.pdf\n")
    assert (tmp_path / "fig.pdf").read_bytes().startswith(b"%PDF")
    for arguments, problem in (
        (["fig.pdf"], "fig.pdf exists already; say --force"),
        (["fig.txt"], "fig.txt must end in .pdf, .svg, .png"),
        (["e.pdf", "--kind", "evidence"], "there is no figure of evidence"),
    ):
        assert main(["plot", "run", "-o", *arguments]) == 1
        assert problem in capsys.readouterr().err
    assert main(["plot", "run", "-o", "fig.pdf", "--force"]) == 0
