"""The rows of api.md: ``python docs/api_page.py`` writes signatures and first sentences anew.

A name is added to the page as a row of one of its tables, with its parameters where there are
parentheses: ``| `tvselect.name()` | |``.
"""

import inspect
import pkgutil
import re
from pathlib import Path

PAGE = Path(__file__).with_name("api.md")
ROW = re.compile(r"^\| `(?P<name>tv\w+(?:\.\w+)+)(?P<called>\(.*\))?` \|.*\|$", re.MULTILINE)
MARKUP = re.compile(r":\w+:(?=`)| \[\d\]_")
WIDTH = 90


def names(text: str) -> list[str]:
    """What the page lists, in its order."""
    return [row["name"] for row in ROW.finditer(text)]


def signature(found: object) -> str:
    """Parameters without types, cut off where they get too many."""
    parameters = inspect.signature(found).parameters.values()
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in parameters]
    whole = str(inspect.Signature(bare)).replace("|", "\\|")
    return whole if len(whole) <= WIDTH else f"{whole[: whole.rindex(',', 0, WIDTH)]}, ...)"


def row(match: re.Match[str]) -> str:
    """One row: the name with its parameters, the first sentence of its documentation."""
    found = pkgutil.resolve_name(match["name"])
    called = signature(found) if match["called"] else ""
    summary, _, _ = inspect.getdoc(found).partition("\n\n")
    return f"| `{match['name']}{called}` | {MARKUP.sub('', ' '.join(summary.split()))} |"


def renewed(text: str) -> str:
    """The page with all rows as the code has them."""
    return ROW.sub(row, text)


def linked(text: str) -> str:
    """The page for the site: each name leads to a page of its own."""
    return ROW.sub(
        lambda match: (
            match[0]
            .replace(f"`{match['name']}(", f"{{py:obj}}`{match['name']}` `(", 1)
            .replace(f"| `{match['name']}`", f"| {{py:obj}}`{match['name']}`", 1)
        ),
        text,
    )


def stubs(text: str) -> str:
    """What autosummary makes these pages from."""
    return ".. autosummary::\n   :toctree: ../api\n\n" + "".join(
        f"   {name}\n" for name in names(text)
    )


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text()))
