"""Which tvselect this is: workers with another one would give other numbers without a word."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import tvselect
from tvselect.core import library

LIBRARIES = ("numpy", "scipy", "scikit-learn")


@cache
def this_build() -> dict[str, str]:
    """Version and sources of this package and its native core, and the libraries behind them.

    Examples
    --------
    >>> sorted(this_build())
    ['numpy', 'python', 'scikit-learn', 'scipy', 'sources', 'tvselect']
    """
    return {
        "tvselect": tvselect.__version__,
        "sources": _digest(),
        "python": ".".join(platform.python_version_tuple()[:2]),
        **{name: _version(name) for name in LIBRARIES},
    }


def difference(ours: dict[str, str], theirs: object) -> str:
    """What makes two builds another one, in words; empty if they are the same.

    Examples
    --------
    >>> difference({"tvselect": "1.0", "sources": "a"}, {"tvselect": "0.9", "sources": "b"})
    'tvselect 0.9, here it is 1.0'
    >>> difference({"tvselect": "1.0", "sources": "a"}, {"tvselect": "1.0", "sources": "b"})
    'tvselect 1.0 with other sources'
    """
    if not isinstance(theirs, dict):
        return "a tvselect that cannot say what it is"
    if ours == theirs:
        return ""
    for name, ours_is in ours.items():
        if name != "sources" and theirs.get(name) != ours_is:
            return f"{name} {theirs.get(name)}, here it is {ours_is}"
    return f"tvselect {theirs.get('tvselect')} with other sources"


def _digest() -> str:
    folder = Path(tvselect.__file__).parent
    total = hashlib.sha256(str(library.tvs_source()).encode())
    for file in sorted(folder.rglob("*.py")):
        total.update(file.relative_to(folder).as_posix().encode() + b"\0")
        total.update(file.read_bytes().replace(b"\r\n", b"\n"))
    return total.hexdigest()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
