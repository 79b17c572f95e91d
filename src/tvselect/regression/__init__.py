"""Sparse regression on functions of columns and of several columns: a second opinion."""

from tvselect.regression.opinion import Opinion, RegressionRun, run_regression, second_opinion

__all__ = ["Opinion", "RegressionRun", "run_regression", "second_opinion"]
