"""The report of a run: one HTML file that a manager can read and a statistician can check.

:func:`gather` needs nothing but the package; the page (:func:`render`, :func:`write_report`)
needs ``pip install 'tvselect[report]'``. Modules are imported when their functions are used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tvselect.report.findings import About, Findings
    from tvselect.report.gathering import gather
    from tvselect.report.page import render, write_report

__all__ = ["About", "Findings", "gather", "render", "write_report"]

_homes = {"About": "findings", "Findings": "findings", "gather": "gathering"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'tvselect.report' has no attribute {name!r}")
    return getattr(import_module(f"tvselect.report.{_homes.get(name, 'page')}"), name)
