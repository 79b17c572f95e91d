"""What users read: one name for one thing, and every parameter described."""

from __future__ import annotations

import argparse
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

from docs import api_page
from tvselect.cli.parse import make_parser

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
API = api_page.names(api_page.PAGE.read_text())

#: Other names of the selection rate, and the words of the bandit's picture.
OTHER_NAMES = r"\b[Pp]i\b|π|(?i:success rate|inclusion probabilit)"
GAMES = r"(?i:\bgames?\b|\bpaid\b|\bpays?\b|\bpayments?\b|(?<!\.)\bpayoffs?\b(?!\.py))"
NUMBER = re.compile(r"sin\(\\?pi\b")
#: The paper's notation and picture; densities; the picture in short.
ALLOWED = {"method.md": (OTHER_NAMES, GAMES), "trees.md": (OTHER_NAMES,), "what.md": (GAMES,)}


def other_words(text, allowed=()):
    """The lines of a text that name the selection rate or the search in another way."""
    banned = [words for words in (OTHER_NAMES, GAMES) if words not in allowed]
    lines = NUMBER.sub("", text).splitlines()
    return [line for line in lines if any(re.search(words, line) for words in banned)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_say_selection_rate_and_search(page):
    assert other_words(page.read_text(), ALLOWED.get(page.name, ())) == []


def test_the_command_line_says_selection_rate_and_search():
    top = make_parser()
    (commands,) = (a for a in top._actions if isinstance(a, argparse._SubParsersAction))
    for command in (top, *commands.choices.values()):
        assert other_words(command.format_help()) == []


def test_other_words_are_seen():
    bad = ["a success rate", "its $\\pi$", "The game", "paid by bart", "the column `pi`"]
    assert other_words("\n".join(bad)) == bad
    assert not other_words("10 sin(pi x0 x1)\na selection rate\n`BatchReader.payoffs`\nPI\ntopics")


def test_the_api_page_says_what_the_code_says():
    """``python docs/api_page.py`` writes it anew."""
    page = api_page.PAGE.read_text()
    assert api_page.renewed(page) == page
    assert 13 <= sum(name.startswith("tvselect.") for name in API) <= 55


@pytest.mark.parametrize("name", API)
def test_every_parameter_is_described(name):
    found = pkgutil.resolve_name(name)
    assert parameters(found) - described(found) == set()
    for method in methods(found):
        if not inspect.getdoc(method).startswith("See :meth:"):
            assert parameters(method) - described(method) - {"self"} == set(), method


@pytest.mark.parametrize(
    ("tree", "names"), [("src/tvselect", "**/*.py"), ("study/src/tvstudy", "*.py")]
)
def test_the_map_names_every_module(tree, names):
    page = (ROOT / "docs" / "design.md").read_text()
    (named,) = re.findall(rf"(?ms)^{tree}/\n(.*?)^```", page)
    modules = {path.name for path in (ROOT / tree).glob(names)}
    assert modules ^ set(re.findall(r"\w+\.py", named)) <= {"__init__.py", "__main__.py"}


def parameters(found):
    try:
        return set(inspect.signature(found).parameters)
    except ValueError:  # an exception that is made as Python's own
        return set()


def methods(found):
    """The public methods that a class defines itself."""
    names = vars(found) if inspect.isclass(found) else ()
    public = [getattr(found, name) for name in names if not name.startswith("_")]
    return [method for method in public if inspect.isfunction(method) or inspect.ismethod(method)]


def described(found):
    """Parameters in a section of the docstring, in its sentences, or commented as fields."""
    text = inspect.getdoc(found) or ""
    names = set(re.findall(r"``(\w+)``", text))
    for section in re.findall(r"(?ms)^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\w+\n-+$|\Z)", text):
        for line in re.findall(r"(?m)^\S[^:\n]*", section):
            names |= {name.strip(" *") for name in line.split(",")}
    for base in inspect.getmro(found) if inspect.isclass(found) else ():
        if base.__module__.startswith("tv"):
            source = inspect.getsource(base)
            names |= set(re.findall(r"(?m)^    (\w+): .*  #: ", source))
            names |= set(re.findall(r"(?m)^    #: .*\n    (\w+): ", source))
    return names
