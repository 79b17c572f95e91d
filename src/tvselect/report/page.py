"""The page: findings in, one self-contained HTML file out."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tvselect.after.dependence import MODEL
from tvselect.after.worth import standard_error
from tvselect.inputs.errors import needed
from tvselect.records import write_text
from tvselect.report import methods, sentences
from tvselect.report.charts import draw_charts, draw_comparison
from tvselect.report.findings import Findings
from tvselect.report.gathering import gather
from tvselect.words import as_cell, command, level, listed, percent, plural, readable

if TYPE_CHECKING:
    from tvselect.plotting.rates import Selector

STRONG = 0.9
MOST_STEPS = 11
MOST_COMPARED = 100


def render(findings: Findings) -> str:
    """The page of ``findings``, as text.

    It loads nothing: pictures, scripts, styles and data are in it, and its security policy forbids
    the browser to fetch or run anything else.

    Raises
    ------
    ModuleNotFoundError
        Without the extra: ``pip install 'tvselect[report]'``.

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect import LassoReward, ThompsonSelector
    >>> from tvselect.report import gather
    >>> X = np.random.default_rng(0).random((100, 5))
    >>> selector = ThompsonSelector(LassoReward(), n_plays=20, random_state=0).fit(X, X[:, 3])
    >>> page = render(gather(selector, title="A first look"))
    >>> "<title>A first look</title>" in page, "1 of 5 variables" in page
    (True, True)
    """
    charts = draw_charts(findings)
    n_steps = len(findings.steps)
    return _fill(
        "report.html.jinja",
        f=findings,
        charts=charts,
        say=sentences,
        methods=methods,
        command=command,
        effects={effect.name: effect for effect in findings.effects},
        twins=[
            f"{group.variable} and {group.alike[0].name}"
            for group in findings.resemblances
            if abs(group.alike[0].correlation) >= STRONG
        ],
        places=np.linspace(0, n_steps - 1, min(n_steps, MOST_STEPS)).round().astype(int).tolist(),
        standard_error=standard_error,
        selected_list=selected_list(findings),
        model=MODEL,
    )


def render_comparison(found: Any) -> str:
    """The page of a comparison of runs (see :mod:`tvselect.runs.compare`), as text."""
    charts = draw_comparison(found)
    return _fill("compare.html.jinja", found=found, charts=charts, shown=MOST_COMPARED)


def _fill(template: str, **values: Any) -> str:
    """A page from its template, with the style sheet and script of all pages."""
    jinja2 = needed("jinja2", "the report needs jinja2: pip install 'tvselect[report]'")
    templates = files("tvselect.report").joinpath("templates")

    def read(name: str) -> str:
        return templates.joinpath(name).read_text(encoding="utf-8")

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(read),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        at=lambda values, places: [values[place] for place in places],
        count="{:,}".format,
        two="{:.2f}".format,
        short=lambda number: "" if number is None else f"{number:.4g}",
        plural=plural,
        percent=percent,
        level=lambda q_value: "" if q_value is None else level(q_value),
        listed=partial(listed, quoted=False),
        sha256=lambda text: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode(),
    )
    page: str = environment.get_template(template).render(
        script=read("report.js"), style=read("report.css"), readable=readable, **values
    )
    # Half a surrogate pair is text in JSON, but cannot be written.
    return page.encode("utf-8", "replace").decode()


def selected_list(findings: Findings) -> str:
    """The selected variables as CSV, for a link to save them."""
    effects = {effect.name: effect for effect in findings.effects}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["variable", "q_value", "selection_rate", "effect", "direction"])
    for v in findings.of_role("selected"):
        effect = effects.get(v.name)
        shown = ("", "") if effect is None else (f"{effect.size:.6g}", effect.direction)
        q_value = "" if v.q_value is None else f"{v.q_value:.6g}"
        writer.writerow([as_cell(v.name), q_value, f"{v.selection_rate:.6f}", *shown])
    return out.getvalue()


def write_report(
    selector: Selector, path: str | os.PathLike[str], X: Any = None, y: Any = None, **options: Any
) -> Path:
    """Write the report of a run to an HTML file.

    The file is replaced in one step: it is never there in part.

    Parameters
    ----------
    selector : ThompsonSelector or StreamingThompsonSelector
        Fitted.
    path : path-like
        File to write.
    X, y : table and outcome, optional
        With the columns that the selector was fitted on, or for a stream a sample of its rows.
    **options : any
        Handed to :func:`gather`.

    Returns
    -------
    pathlib.Path
        Path of the file.

    Examples
    --------
    >>> write_report(selector, "report.html", X, y, target="price")  # doctest: +SKIP
    PosixPath('report.html')
    """
    path = Path(path)
    write_text(path, render(gather(selector, X, y, **options)))
    return path
