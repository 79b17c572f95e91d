"""What a reward is made of: no two that pay differently look the same."""

from __future__ import annotations

import copy
import functools
import subprocess
import sys
import threading
from functools import partial
from types import SimpleNamespace

import cloudpickle
import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from tvselect import ImportanceReward, PValueReward, Search, ThompsonSelector
from tvselect.bandit.journal import JournalError
from tvselect.rewards import FunctionReward
from tvselect.selectors.fingerprint import UnknowableError, describe


def above(X, y, rng, limit=0.5):
    return [abs(np.corrcoef(x, y)[0, 1]) > limit for x in X.T]


def closed_over(limit):
    return lambda X, y, rng: above(X, y, rng, limit)


def with_global(limit):
    names = {"above": above, "LIMIT": limit}
    exec("def pay(X, y, rng):\n    return above(X, y, rng, LIMIT)", names)
    names["pay"].__module__ = "__main__"
    return names["pay"]


class Payer:
    def __init__(self, limit):
        self.limit = limit

    def __call__(self, X, y, rng):
        return above(X, y, rng, self.limit)


class SlottedPayer:
    __slots__ = ("limit",)
    __init__, __call__ = Payer.__init__, Payer.__call__


def make_class(limit):
    class Local:
        def __call__(self, X, y, rng):
            return above(X, y, rng, limit)

    return Local()


class Compiled:
    """As Numba wraps a function: what it was made of is the attribute ``py_func``."""

    def __init__(self, function):
        self.py_func, self.lock = function, threading.Lock()


KINDS = {
    "partial": lambda limit: partial(above, limit=limit),
    "partial of a partial": lambda limit: partial(partial(above, limit=limit)),
    "closure": closed_over,
    "default": lambda limit: lambda X, y, rng, limit=limit: above(X, y, rng, limit),
    "keyword default": lambda limit: lambda X, y, rng, *, limit=limit: above(X, y, rng, limit),
    "global": with_global,
    "object": Payer,
    "slots": SlottedPayer,
    "method": lambda limit: Payer(limit).__call__,
    "array": lambda limit: partial(above, limit=np.full(3, limit)),
    "namespace": lambda limit: partial(above, limit=SimpleNamespace(value=limit)),
    "local class": make_class,
    "wrapper": lambda limit: functools.wraps(above)(closed_over(limit)),
    "compiled": lambda limit: Compiled(lambda X, y, rng: X[0] > limit),
    "cached": lambda limit: functools.cache(lambda X, y, rng: X[0] > limit),
    "reward": lambda limit: FunctionReward(closed_over(limit)),
    "setting": PValueReward,
    "estimator": lambda limit: ImportanceReward(RandomForestRegressor(max_features=limit)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_made_of_something_else_is_something_else(kind):
    """Use changes nothing: Python notes things down in classes, when an object is copied."""
    made = KINDS[kind](0.5)
    before = describe(made)
    assert before == describe(KINDS[kind](0.5)) != describe(KINDS[kind](0.9))
    assert " at 0x" not in before
    if kind not in ("compiled", "cached"):  # these cannot be pickled
        copy.deepcopy(made)
        cloudpickle.dumps(made)
    repr(made), hash(made)
    assert describe(made) == before


def test_descriptions_tell_values_apart():
    values = [
        np.zeros(3), np.zeros(4), np.zeros(3, np.float32), np.array(["a", None], dtype=object),
        [1, "1"], ["1", 1], {"a": 1}, {1}, None, lambda X: X[0] > 1, lambda X: X[0] > 2,
    ]  # fmt: skip
    assert len({describe(value) for value in values}) == len(values)


def test_what_cannot_be_known_is_refused_with_a_journal_only(tmp_path):
    rng = np.random.default_rng(0)
    X, lock = rng.normal(size=(50, 4)), threading.Lock()

    def pay(X, y, rng):
        with lock:
            return np.ones(X.shape[1])

    with pytest.raises(UnknowableError, match="lock"):
        describe(pay)
    ThompsonSelector(pay, n_plays=3, random_state=1).fit(X, X[:, 0])
    with pytest.raises(JournalError, match=r"the reward holds a _thread\.lock.*leave the journal"):
        ThompsonSelector(pay, n_plays=3, search=Search(journal=tmp_path / "j")).fit(X, X[:, 0])
    assert not (tmp_path / "j").exists()


def test_values_that_refer_to_themselves():
    ring = [1]
    ring.append(ring)
    assert describe(ring) == describe(ring)

    def countdown(n):
        return n and countdown(n - 1)

    assert describe(countdown) == describe(countdown)


SCRIPT = """
import numpy as np
from functools import partial
from tvselect.selectors.fingerprint import describe
GLOBAL = {"b", "a", "c"}
class Payer:
    def __init__(self): self.names = {"x", "y", "z"}
    def __call__(self, X, y, rng): return len(GLOBAL | self.names), np.sum(X)
def made(k): return lambda X, y, rng: (k, Payer(), partial(int, base=k))
print(describe([made(3), Payer()]))
"""


def test_it_is_the_same_in_every_process():
    texts = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(texts) == 1
    assert "0x" not in texts.pop()


def test_code_of_ones_own_counts(tmp_path, monkeypatch):
    """A helper module that is edited is another one; an installed package goes by its name."""
    monkeypatch.syspath_prepend(tmp_path)
    texts = set()
    for factor in (1, 2):
        (tmp_path / "helper_of_mine.py").write_text(f"def scale(x):\n    return {factor} * x\n")
        sys.modules.pop("helper_of_mine", None)
        import helper_of_mine

        names = {"helper": helper_of_mine, "np": np}
        exec("def pay(X, y, rng):\n    return helper.scale(np.ones(3))", names)
        names["pay"].__module__ = "__main__"
        texts.add(describe(names["pay"]))
    assert len(texts) == 2
    assert describe(np) == "'numpy'"
