import pickle

import pytest

from tvselect.inputs import Numbered

NAMES = ("x0", "x1", "x2", "x3")


def test_they_are_the_names_that_a_tuple_would_hold():
    names = Numbered(4)
    assert list(names) == list(NAMES)
    assert len(names) == 4
    assert names == NAMES
    assert names == list(NAMES)
    assert names == Numbered(4)
    assert names != NAMES[:3]
    assert names != ("x0", "x1", "x2", "y")
    assert names != "x0x1x2x3"
    assert repr(names) == "Numbered(4)"
    assert names[-1] == "x3"
    assert names[1:3] == NAMES[1:3]
    assert hash(names) == hash(Numbered(4)) == hash(NAMES)
    assert pickle.loads(pickle.dumps(names)) == names


def test_a_name_is_found_without_a_search():
    names = Numbered(10**12)
    assert names.index("x999999999999") == 10**12 - 1
    for wrong in ("x1000000000000", "x01", "x-1", "x", "X1", "x1 ", 1):
        assert wrong not in names
    with pytest.raises(ValueError, match="'y' is not among"):
        names.index("y")
    with pytest.raises(ValueError, match="is not among"):
        names.index("x5", 6)
    with pytest.raises(IndexError):
        Numbered(3)[3]
