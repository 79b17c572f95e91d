"""Variables go through CSV unchanged."""

import numpy as np
import pytest

from tests.decoyed import fit_signals
from tvselect.runs import RunError
from tvselect.runs.folder import from_csv, to_csv
from tvselect.runs.play import read_off


@pytest.fixture
def selector():
    return fit_signals([0.65, 0.6, 0, 0, 0], twins=[(0, 2)], feature_groups={"pair": [3, 4]})[0]


def test_there_and_back(selector, tmp_path):
    found = read_off(selector)
    (tmp_path / "variables.csv").write_text(to_csv(found))
    assert from_csv(tmp_path / "variables.csv") == found
    by_name = {variable.name: variable for variable in found}
    assert by_name["c0"].q_value == pytest.approx(selector.q_values_[0], abs=1e-6)
    assert by_name["c0"].claim == by_name["c2"].claim is not None
    assert by_name["c3"].claim is None
    assert by_name["c3"].group == "pair"


def test_the_median_model_leaves_cells_empty(tmp_path):
    found = read_off(fit_signals([0.65, 0, 0], max_fdr=None)[0])
    assert {variable.q_value for variable in found} == {None}
    (tmp_path / "variables.csv").write_text(to_csv(found))
    assert from_csv(tmp_path / "variables.csv") == found


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
