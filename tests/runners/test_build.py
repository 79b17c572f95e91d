"""Workers with another tvselect are refused, not believed."""

from __future__ import annotations

import pytest

from tvselect.runners import ProcessRunner, WorkerError, open_runner
from tvselect.runners import processes as module
from tvselect.runners.build import difference, this_build

OTHERS = [
    ({"tvselect": "0.0.1"}, "tvselect 0.0.1, here it is"),
    ({"sources": "others"}, "with other sources"),
    ({"numpy": "1.0"}, "numpy 1.0, here it is"),
]


@pytest.mark.parametrize(("change", "said"), OTHERS)
def test_another_build_is_told_apart(change, said):
    ours = this_build()
    assert difference(ours, dict(ours)) == ""
    assert said in difference(ours, {**ours, **change})
    assert "cannot say" in difference(ours, None)


@pytest.mark.parametrize(("change", "said"), OTHERS)
def test_processes_of_another_build_are_refused(change, said, monkeypatch):
    ours = this_build()
    monkeypatch.setattr(module, "this_build", lambda: {**ours, **change})
    with (
        ProcessRunner(1).bind(abs) as run,
        pytest.raises(WorkerError, match=r"a process has .*start again"),
    ):
        run([-1, -2])


@pytest.mark.parametrize(("change", "said"), OTHERS)
def test_workers_of_another_build_are_refused(change, said, client):
    client.run(pretend, change)
    try:
        runner = open_runner(client)
        with runner.bind(abs) as run, pytest.raises(WorkerError, match=said):
            run([-1, -2])
    finally:
        client.run(pretend, {})
    with open_runner(client).bind(abs) as run:
        assert run([-1, -2]) == [1, 2]


def pretend(change):
    """Let the record of a worker say something else."""
    from tvselect.runners import build

    build.this_build.cache_clear()
    build.this_build().update(change)


def test_workers_without_such_a_package_are_refused(client, monkeypatch):
    def unheard_of():
        raise ModuleNotFoundError("No module named 'tvselect.runners.build'")

    monkeypatch.setattr("tvselect.runners.cluster.this_build", unheard_of)
    runner = open_runner(client)
    with runner.bind(abs) as run, pytest.raises(WorkerError, match="no tvselect like this one"):
        run([-1])
