"""The page: findings in, one self-contained HTML file out."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tvselect.files import write_text
from tvselect.report import charts, sentences
from tvselect.report.bundle import bundle
from tvselect.report.extra import need
from tvselect.report.findings import Findings
from tvselect.report.gathering import gather

if TYPE_CHECKING:
    from tvselect.plotting.arms import Selector


def render(findings: Findings) -> str:
    """The page of findings, as text.

    It loads nothing from anywhere: scripts, styles and data are in it, and its security policy
    forbids the browser to fetch or to run anything else.

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
    library, script, style = bundle(), _template("report.js"), _template("report.css")
    page = str(
        _environment()
        .get_template("report.html.jinja")
        .render(
            f=findings,
            charts=charts,
            sentences=sentences,
            bundle=library,
            script=script,
            style=style,
            policy=_policy([library, script], [style]),
        )
    )
    # Half a surrogate pair is text in JSON, but cannot be written.
    return page.encode("utf-8", "replace").decode()


def write_report(
    selector: Selector,
    path: str | os.PathLike[str],
    X: Any = None,
    y: Any = None,
    **options: Any,
) -> Path:
    """Write the report of a run to an HTML file; options as of :func:`gather`.

    The file appears at once or not at all; one of the same name is replaced.

    Returns
    -------
    pathlib.Path
        Of the file.

    Examples
    --------
    >>> write_report(selector, "report.html", X, y, target="price")  # doctest: +SKIP
    PosixPath('report.html')
    """
    path = Path(path)
    write_text(path, render(gather(selector, X, y, **options)))
    return path


def _environment() -> Any:
    jinja2 = need("jinja2")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_template),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["count"] = lambda number: f"{number:,}"
    environment.filters["two"] = lambda number: f"{number:.2f}"
    environment.filters["short"] = lambda number: f"{number:.4g}"
    environment.filters["plural"] = sentences.plural
    return environment


def _template(name: str) -> str:
    return files("tvselect.report").joinpath("templates", name).read_text(encoding="utf-8")


def _policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """A Content-Security-Policy that allows these scripts and styles, and nothing else."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(map(_hash, scripts))}",
            f"style-src {' '.join(map(_hash, styles))}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
