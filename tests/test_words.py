"""Names and numbers as people read them."""

import time

import pytest

from tvselect import words

ESCAPE, NEWLINE, TAB, TURN = chr(27), chr(10), chr(9), chr(0x202E)
LONG = "ENSG00000141510.18_TP53_tumor_protein"


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        ("plural", ("play", 1), "play"),
        ("plural", ("play", 2), "plays"),
        ("counted", (0, "batch"), "0 batches"),
        ("counted", (2000, "row"), "2,000 rows"),
        ("listed", (["a", "b", "c"], 2), "'a', 'b' and 1 more"),
        ("level", (1.0,), "1.00"),
        ("level", (0.1,), "0.10"),
        ("level", (0.0125,), "0.013"),
        ("level", (0.00002,), "<0.001"),
        ("percent", (0.254,), "25\xa0%"),
        ("shorten", (LONG, 20), "ENSG000001…r_protein"),
        ("printable", (f"a{ESCAPE}[31m{NEWLINE}b",), "a\ufffd[31m\ufffdb"),
        ("readable", (f"age{NEWLINE} at  diagnosis",), "age at diagnosis"),
        ("readable", (f"safe{TURN}gnp.exe",), "safe\ufffdgnp.exe"),
        ("column_name", ("age", 3), "age"),
        ("column_name", ("", 3), "(column 3)"),
        ("column_name", ("a" * 1000, 3), "a" * 60 + "…" + "a" * 59 + " (column 3)"),
        ("escaped", (f"a{TAB}b{ESCAPE}c",), r"a\tb\x1bc"),
        ("escaped", ("d\\e",), r"d\\e"),
        ("as_cell", ("=1+1",), "'=1+1"),
        ("as_cell", ("'age",), "''age"),
        ("as_cell", ("age",), "age"),
        ("from_cell", ("'=1+1",), "=1+1"),
        ("command", ("resume", "run"), "tvs resume run"),
        ("command", ("resume", "my run;$(id)"), "tvs resume 'my run;$(id)'"),
        ("command", ("worth", "it's"), """tvs worth 'it'"'"'s'"""),
        ("command", ("compare", "-a", "/b"), "tvs compare ./-a /b"),
    ],
)
def test_words(function, arguments, expected):
    assert getattr(words, function)(*arguments) == expected


@pytest.mark.parametrize(
    ("seconds", "verbose", "said"), [(0, 1, ""), (0.3, 0, ""), (0.3, 1, "A ...\n")]
)
def test_a_word_is_said_where_something_takes_long(seconds, verbose, said, capsys, monkeypatch):
    monkeypatch.setattr(words, "SECONDS_OF_SILENCE", 0.1)
    with words.waiting("A", verbose):
        time.sleep(seconds)
    time.sleep(0.15)
    assert capsys.readouterr().err == said
