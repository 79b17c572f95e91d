"""The report of a run: one HTML file that a manager can read and a statistician can check.

:func:`gather` needs nothing but the package; the page (:func:`render`, :func:`write_report`)
needs ``pip install 'tvselect[report]'``.
"""

from tvselect.report.findings import About, Findings
from tvselect.report.gathering import gather
from tvselect.report.page import prepare, render, write_report

__all__ = ["About", "Findings", "gather", "prepare", "render", "write_report"]
