"""Errors as the command line tells them: one line, in the words of its options."""

from __future__ import annotations

import pytest

from tests.cli.makers import write
from tvselect.cli.call import explain
from tvselect.inputs.errors import InputError
from tvselect.runs import RunError


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (InputError("'a' holds lists", "leave it out with {columns}"),
         "'a' holds lists; leave it out with --exclude"),
        (InputError("y has 3 values", "say {family}"), "y has 3 values; say --family gaussian"),
        (InputError("10 rows are too few", "raise {batch_size}"),
         "10 rows are too few; raise --batch-size"),
        (RunError("two\n lines"), "two lines"),
        (MemoryError(), "the table does not fit into memory; say --stream"),
        (FileNotFoundError(2, "No such file or directory", "t.csv"),
         "t.csv: no such file or directory"),
        (KeyError("x"),
         "this should not happen (KeyError: 'x'); run again with --debug and tell us"),
    ],
)  # fmt: skip
def test_one_line(error, line):
    assert explain(error) == line


def test_a_batch_that_is_too_small_is_told_in_options(failure, here):
    line = failure("select", write(here / "t.csv"), "-t", "y", "--batch-size", "1")
    assert "--batch-size 1 is too small: --reward bart needs at least" in line
