"""No pickle is ever read: not in the source, not in a journal, whoever wrote it."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import numpy as np
import pytest

import tvselect
from tests.hardening.scripts import python
from tests.selectors.streams import make_data, selector
from tvselect.bandit.journal import Journal, JournalError
from tvselect.decoys.knockoffs import STORED, restore_knockoffs

SOURCE = Path(tvselect.__file__).parent
MAY_UNPICKLE = re.compile(
    r"""
    ^\s*(import|from)\s+(pickle|_pickle|cPickle|dill|cloudpickle|shelve|marshal)\b
    | ^\s*from\s+joblib\s+import\s.*\bload\b
    | \bjoblib\.load\( | read_pickle\( | allow_pickle\s*=\s*True
    | \b(np|numpy)\.load\((?!.*allow_pickle\s*=\s*False)
    """,
    re.MULTILINE | re.VERBOSE,
)


def test_no_source_reads_a_pickle():
    """Except what a driver and its own workers tell each other."""
    files = [file for file in SOURCE.rglob("*.py") if file.name != "workers.py"]
    assert len(files) > 50
    assert [file for file in files if MAY_UNPICKLE.search(file.read_text())] == []
    for text in ("import pickle", "from pickle import loads", "from joblib import load",
                 "np.load(f)", "np.load(f, allow_pickle=True)", "joblib.load(f)",
                 "pd.read_pickle(f)"):  # fmt: skip
        assert MAY_UNPICKLE.search(text)


class Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def trapped(path, names=("names",)):
    file = io.BytesIO()
    trap = np.array([Trap(path)], dtype=object)
    np.savez(file, **dict.fromkeys(names, trap))
    return file.getvalue()


def test_the_trap_works(tmp_path):
    with np.load(io.BytesIO(trapped(tmp_path / "sprung")), allow_pickle=True) as file:
        assert file["names"].shape == (1,)
    assert (tmp_path / "sprung").exists()


@pytest.mark.parametrize("name", ["encoder", "outcome"])
@pytest.mark.parametrize("kind", ["trap", "zip", "other arrays", "text", "empty"])
def test_a_head_that_cannot_be_read_is_refused_unopened(name, kind, tmp_path):
    X, y = make_data()
    path = tmp_path / "run.journal"
    selector(journal=path).fit(X[:300], y[:300])
    file = io.BytesIO()
    np.savez(file, names=np.array(["a"]))
    blob = {
        "trap": trapped(tmp_path / "sprung"),
        "zip": trapped(tmp_path / "sprung")[:-30],
        "other arrays": file.getvalue(),
        "text": b'{"a": 1}',
        "empty": b"",
    }[kind]
    with Journal(path) as journal:
        journal.keep(name, blob)
    with pytest.raises(
        JournalError, match=r"run\.journal' is damaged at '(encoder|outcome)'.*the version"
    ):
        selector(journal=path).fit(X[:300], y[:300])
    assert not (tmp_path / "sprung").exists()


def test_knockoffs_with_a_trap_are_refused(tmp_path):
    with pytest.raises(ValueError, match="not stored knockoffs"):
        restore_knockoffs(trapped(tmp_path / "sprung", list(STORED)))
    assert not (tmp_path / "sprung").exists()


RESUMED = """
journal = sys.argv[1]
fit_stream(None, 6, decoys="knockoffs")
fit(None, 5)
for stop in (True, False):
    fit_stream(journal, 6, decoys="knockoffs", time_limit=1e-9 if stop else None)
names = []
sys.addaudithook(lambda event, details: names.append(event) if "pickle" in event else None)
fit_stream(journal, 6, decoys="knockoffs")
fit(journal + "-offline", 5)
fit(journal + "-offline", 10)
print(names)
import pickle
pickle.loads(pickle.dumps(fit))
print(names)
"""


def test_a_run_that_goes_on_reads_no_pickle(tmp_path):
    resumed, after = python(RESUMED, tmp_path / "run.journal").stdout.splitlines()
    assert resumed == "[]"
    assert "pickle.find_class" in after
