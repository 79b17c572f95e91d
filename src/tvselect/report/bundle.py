"""The extra ``report``: its packages, and what they make once and keep in the user's cache."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tvselect.files import write_text

#: In a process of its own: where memory is limited, the engine does not raise but aborts.
ENGINE = "import sys, vl_convert; sys.stdout.buffer.write(vl_convert.javascript_bundle().encode())"
SECONDS_TO_MAKE = 300.0
_making: subprocess.Popen[bytes] | None = None


class ChartError(RuntimeError):
    """The library of charts could not be made; says why and what to do."""


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


def cache_folder() -> Path:
    """Where to keep what takes long to make; it need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tvselect"


def prepare() -> None:
    """Let another process make the script, if it is not kept: a later page waits less for it."""
    global _making
    if _making is None and _kept() is None:
        code = "from tvselect.report.bundle import bundle; bundle()"
        quiet = subprocess.DEVNULL
        with suppress(OSError):  # whoever makes the page makes it, too
            _making = subprocess.Popen(
                [sys.executable, "-c", code], stdin=quiet, stdout=quiet, stderr=quiet
            )


@cache
def bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script. To make it takes seconds, so it is kept.

    Raises
    ------
    ChartError
        When its engine fails, as it does where the address space is limited.
    ModuleNotFoundError
        Without the extra: ``pip install 'tvselect[report]'``.
    """
    if _making is not None:
        _making.wait()
    if (script := _kept()) is not None:
        return script
    need("vl_convert")
    script = _ask_engine()
    if "</script" in script.lower() or "<!--" in script:
        raise ValueError("the chart library of vl-convert cannot be put into a page")
    with suppress(OSError):  # no room to keep it
        path = _path()
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, f"{_digest(script)}\n{script}")
    return script


def _ask_engine() -> str:
    try:
        done = subprocess.run(
            [sys.executable, "-c", ENGINE],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS_TO_MAKE,
            check=True,
        )
        return done.stdout.decode()
    except (OSError, UnicodeDecodeError, subprocess.SubprocessError) as error:
        raise ChartError(
            "the engine of the charts, vl-convert, could not run here; if the address space is "
            "limited (ulimit -v), lift the limit once: what it makes is kept"
        ) from error


def _kept() -> str | None:
    """The script that an earlier page has kept, if it is whole."""
    with suppress(PackageNotFoundError, OSError, UnicodeDecodeError):
        digest, _, script = _path().read_text(encoding="utf-8").partition("\n")
        if digest == _digest(script):
            return script
    return None


def _path() -> Path:
    return cache_folder() / f"vega-{version('vl-convert-python')}.js"


def _digest(script: str) -> str:
    return hashlib.sha256(script.encode()).hexdigest()
