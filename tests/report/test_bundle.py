"""The chart library is made once and kept; what is kept is not believed unless it is whole."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tvselect.report import bundle as module
from tvselect.report.bundle import bundle, prepare


@pytest.fixture
def made(monkeypatch, tmp_path):
    """How often the library was made, with an empty cache."""
    calls = []

    def make():
        calls.append(1)
        return "var vega = 1;\nvar lite = 2;"

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(module, "need", lambda _: SimpleNamespace(javascript_bundle=make))
    monkeypatch.setattr(module, "_making", None)
    bundle.cache_clear()
    yield calls
    bundle.cache_clear()


def again():
    bundle.cache_clear()
    return bundle()


def test_it_is_made_once(made):
    first = bundle()
    assert again() == first == "var vega = 1;\nvar lite = 2;"
    assert len(made) == 1


@pytest.mark.parametrize("damage", [b"", b"x", b"\xff\xfe", b"0" * 64 + b"\nalert(1)"])
def test_a_damaged_copy_is_made_again(made, damage):
    first = bundle()
    module._path().write_bytes(damage)
    assert again() == first
    assert len(made) == 2
    assert again() == first
    assert len(made) == 2


def test_without_room_it_is_made_every_time(made, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert again() == again()
    assert len(made) == 2


def test_what_cannot_be_put_into_a_page_is_refused(made, monkeypatch):
    bad = SimpleNamespace(javascript_bundle=lambda: "a </SCRIPT> b")
    monkeypatch.setattr(module, "need", lambda _: bad)
    with pytest.raises(ValueError, match="cannot be put into a page"):
        bundle()
    assert module._kept() is None


def test_another_process_makes_it_only_if_it_is_not_kept(made, monkeypatch):
    started = []

    def start(*arguments, **settings):
        started.append(arguments)
        return SimpleNamespace(wait=lambda: 0)

    monkeypatch.setattr(module.subprocess, "Popen", start)
    prepare()
    prepare()
    assert len(started) == 1
    bundle()
    monkeypatch.setattr(module, "_making", None)
    prepare()
    assert len(started) == 1
