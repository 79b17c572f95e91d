"""The packages of the extra ``report``, imported when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def need(module: str) -> Any:
    """A module of the extra, or an error that says how to get it.

    Examples
    --------
    >>> need("jinja_of_tomorrow")
    Traceback (most recent call last):
        ...
    ModuleNotFoundError: the report needs jinja_of_tomorrow: pip install 'tvselect[report]'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"the report needs {error.name}: pip install 'tvselect[report]'", name=error.name
        ) from error
