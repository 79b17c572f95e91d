"""Columns by name and pattern."""

import pytest

from tvselect.runs import RunError
from tvselect.runs.plan import expand, read_groups

NAMES = ["id", "gene_1", "gene_2", "a,b", "x[1]", " padded"]


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([], []),
        (["gene_2", "id"], ["id", "gene_2"]),
        (["gene_*"], ["gene_1", "gene_2"]),
        (["gene_?, id"], ["id", "gene_1", "gene_2"]),
        (["a,b"], ["a,b"]),
        (["x[1]"], ["x[1]"]),
        ([" padded"], [" padded"]),
        (["id,"], ["id"]),
        (["*"], NAMES),
    ],
)
def test_expand(items, expected):
    assert expand(items, NAMES, "--exclude", "t.csv") == expected


@pytest.mark.parametrize("item", ["gen_1", "GENE_1"])
def test_a_misspelt_name(item):
    with pytest.raises(RunError, match=r"--exclude names .* did you mean 'gene_1'"):
        expand([item], NAMES, "--exclude", "t.csv")


def test_groups_take_patterns(tmp_path):
    path = tmp_path / "groups.csv"
    path.write_text("\ufeffcolumn,group\ngene_*,genes\n", encoding="utf-8")
    assert read_groups(path, NAMES) == {"genes": ["gene_1", "gene_2"]}
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(RunError, match="no UTF-8 text"):
        read_groups(path, NAMES)


def test_an_empty_cell_is_no_group(tmp_path):
    path = tmp_path / "groups.csv"
    path.write_text("column,group\ngene_1,genes\nid,\ngene_2, \n")
    assert read_groups(path, NAMES) == {"genes": ["gene_1"]}
