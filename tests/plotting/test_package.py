from __future__ import annotations

import subprocess
import sys

import pytest
from sklearn.exceptions import NotFittedError

from tvselect import StreamingThompsonSelector, ThompsonSelector, plotting

DISPLAYS = [plotting.SelectionPathDisplay, plotting.SelectionRateDisplay]


def test_importing_the_room_does_not_import_matplotlib():
    code = "import sys, tvselect.plotting; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_selector_that_is_not_fitted_is_refused(display):
    with pytest.raises(NotFittedError):
        display.from_estimator(ThompsonSelector())
    with pytest.raises(NotFittedError):
        display.from_estimator(StreamingThompsonSelector())


@pytest.mark.parametrize("display", DISPLAYS)
def test_without_matplotlib_the_extra_is_named(display, fit, monkeypatch):
    selector = fit([0.9, 0.1])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"tvselect\[plot\]"):
        display.from_estimator(selector)
