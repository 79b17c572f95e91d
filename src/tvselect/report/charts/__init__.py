"""The charts of the page, as Vega-Lite specifications; one file per chart.

Column names are values of the data or of parameters, never names of fields or part of an
expression. Colours are variables of the page's style sheet, so that charts follow it into dark
mode and onto paper.
"""

from tvselect.report.charts.leading import leading
from tvselect.report.charts.shapes import shape_of
from tvselect.report.charts.sizes import sizes
from tvselect.report.charts.trajectories import trajectories

__all__ = ["leading", "shape_of", "sizes", "trajectories"]
