"""Python in a process of its own, with a deadline instead of a test that hangs."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

DEADLINE = 300.0

GAME = """
import json, os, signal, sys
import numpy as np
from tests.bandit.plays import listed
from tests.nested import nested
from tests.decoyed import Marginal
from tvselect import Search, StreamingThompsonSelector, ThompsonSelector
from tvselect.bandit.journal import Journal, JournalError

rng = np.random.default_rng(0)
X = rng.standard_normal((600, 20))
y = X[:, 3] - X[:, 7] + rng.standard_normal(600)

def fit(journal=None, n_plays=40, **settings):
    made = ThompsonSelector(
        Marginal(), **nested(n_plays=n_plays, random_state=1, journal=journal, **settings)
    )
    return made.fit(X[:60], y[:60])

def fit_stream(journal=None, n_plays=40, **settings):
    made = StreamingThompsonSelector(
        Marginal(),
        **nested(batch_size=-(-600 // n_plays), random_state=1, journal=journal, **settings),
    )
    return made.fit(X, y)

def bits(fitted):
    plays = listed(fitted.result_.journal, fitted.result_.n_chains)
    return [plays, fitted.selection_rates_.tobytes().hex(), fitted.support_.tolist()]
"""


def python(
    script: str, *arguments: Any, deadline: float = DEADLINE, **environment: Any
) -> subprocess.CompletedProcess[str]:
    """Run a script after the lines of ``GAME``; it must end well."""
    done = subprocess.run(
        [sys.executable, "-c", GAME + textwrap.dedent(script), *map(str, arguments)],
        env={**os.environ, **{name: str(value) for name, value in environment.items()}},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=deadline,
    )
    assert done.returncode == 0, done.stderr
    return done
