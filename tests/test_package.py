from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tvselect
from docs import api_page
from tvselect import trees

ROOT = Path(__file__).parents[1]


def test_version_is_that_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert tvselect.__version__ == project["project"]["version"]


@pytest.mark.parametrize("name", tvselect.__all__)
def test_public_names_are_found(name):
    assert name in dir(tvselect)
    assert getattr(tvselect, name).__name__ == name


@pytest.mark.parametrize("name", trees.__all__)
def test_public_names_of_the_trees_are_found(name):
    assert getattr(trees, name).__name__ == name


@pytest.mark.parametrize("name", [*tvselect.__all__, *(f"trees.{name}" for name in trees.__all__)])
def test_public_names_are_described(name):
    found = tvselect
    for part in name.split("."):
        found = getattr(found, part)
    assert found.__doc__


def test_the_api_page_has_the_public_names():
    assert {f"tvselect.{name}" for name in tvselect.__all__} <= set(
        api_page.names(api_page.PAGE.read_text())
    )


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="tvselect attribute nothing"):
        _ = tvselect.nothing
    with pytest.raises(ImportError, match="nothing"):
        from tvselect import nothing  # noqa: F401


def test_a_star_import_brings_the_public_names():
    names: dict[str, object] = {}
    exec("from tvselect import *", names)
    assert set(tvselect.__all__) <= set(names)


def test_importing_the_package_loads_nothing_heavy():
    loaded = modules_after("import tvselect")
    assert "tvselect" in loaded
    assert not loaded & {"numpy", "scipy", "sklearn", "narwhals", "tqdm"}


def test_a_selector_is_made_without_what_it_may_need_later():
    """Beyond scikit-learn's base, next to nothing is loaded before there is data."""
    loaded = modules_after("import tvselect; tvselect.ThompsonSelector()")
    assert "tvselect.selectors.thompson" in loaded
    base = modules_after("import sklearn.base")
    others = {name.partition(".")[0] for name in loaded - base}
    assert others <= {"tvselect", "lazy_loader", "sqlite3", "_sqlite3", "concurrent"}
    rooms = {name.split(".")[1] for name in loaded if name.startswith("tvselect.")}
    assert not rooms & {"cli", "runs", "report", "plotting"}


def test_figures_and_pages_are_loaded_when_they_are_made():
    loaded = modules_after("import tvselect.plotting, tvselect.report, tvselect.runs.folder")
    tops = {name.partition(".")[0] for name in loaded}
    assert not tops & {"jinja2", "matplotlib"}


def modules_after(script):
    script = f"{script}; import sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())
