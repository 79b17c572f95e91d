"""No pickle is ever read: not in the source, not in a journal, whoever wrote it."""

from __future__ import annotations

import ast
import io
import os
from pathlib import Path

import numpy as np
import pytest

import tvselect
from tests.hardening.scripts import python
from tests.selectors.streams import make_data, selector
from tvselect.bandit.journal import Journal, JournalError
from tvselect.decoys.knockoffs import STORED, restore_knockoffs

SOURCE = Path(tvselect.__file__).parent
PICKLERS = {"pickle", "_pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal"}


def readers_of_pickle(tree):
    """Lines of code that may unpickle."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
            if node.module == "joblib" and any(alias.name == "load" for alias in node.names):
                yield node.lineno
        elif isinstance(node, ast.Call):
            names = []
            called = ast.unparse(node.func)
            allowed = {word.arg: ast.unparse(word.value) for word in node.keywords}
            if called in ("np.load", "numpy.load") and allowed.get("allow_pickle") != "False":
                yield node.lineno
            if called.endswith(("read_pickle", "joblib.load")):
                yield node.lineno
            if allowed.get("allow_pickle") == "True":
                yield node.lineno
        else:
            continue
        if any(name.split(".")[0] in PICKLERS for name in names):
            yield node.lineno


def test_no_source_reads_a_pickle():
    """Except what a driver and its own workers tell each other."""
    among_us = {"workers.py"}
    files = [file for file in SOURCE.rglob("*.py") if file.name not in among_us]
    assert len(files) > 50
    found = [(str(file), *readers_of_pickle(ast.parse(file.read_text()))) for file in files]
    assert [entry for entry in found if len(entry) > 1] == []


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from pickle import loads",
        "import numpy as np\nnp.load(f)",
        "import numpy as np\nnp.load(f, allow_pickle=True)",
        "from joblib import load",
        "import joblib\njoblib.load(f)",
        "pd.read_pickle(f)",
    ],
)
def test_what_reads_a_pickle_is_found(text):
    assert list(readers_of_pickle(ast.parse(text)))


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
