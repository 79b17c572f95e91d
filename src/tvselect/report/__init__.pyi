from .findings import About, Findings
from .gathering import gather
from .page import render, write_report

__all__ = ["About", "Findings", "gather", "render", "write_report"]
