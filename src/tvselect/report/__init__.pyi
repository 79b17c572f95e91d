from .charts import plot_run
from .findings import About, Findings
from .gathering import gather
from .methods import describe_methods
from .page import render, render_comparison, write_report

__all__ = [
    "About",
    "Findings",
    "describe_methods",
    "gather",
    "plot_run",
    "render",
    "render_comparison",
    "write_report",
]
