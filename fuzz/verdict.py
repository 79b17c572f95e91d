"""Which errors are our own.

- ``InputError`` (with ``SourceError``), ``RunError``, ``RecordError`` and ``JournalError``,
  always.
- Plain ``ValueError``, ``TypeError``, ``OSError`` and the errors of a missing or forbidden file,
  if a ``raise`` in tvselect or tvstudy makes them; not their subclasses of other packages, and
  not the same types when Python or a library raises them under our feet.

Everything else is a fault, warnings included.
"""

from __future__ import annotations

import dis
from pathlib import Path
from types import TracebackType

import tvselect
import tvstudy
from tvselect.bandit.journal import JournalError
from tvselect.inputs import InputError
from tvselect.records import RecordError
from tvselect.runs import RunError

OURS = (InputError, RunError, RecordError, JournalError)
PLAIN = (ValueError, TypeError, OSError, FileNotFoundError, PermissionError)
HOMES = tuple(str(Path(package.__file__).parent) for package in (tvselect, tvstudy))


def own_name(error: BaseException) -> str | None:
    """The name of an error of ours, None for a foreign one."""
    if isinstance(error, OURS):
        return type(error).__name__
    if type(error) in PLAIN and _is_raised_by_us(error.__traceback__):
        return type(error).__name__
    return None


def fault_in(error: BaseException) -> str | None:
    """What is wrong with an error, None if it is a good one of ours."""
    if own_name(error) is None:
        return f"foreign {type(error).__name__}: {str(error)[:200]}"
    if not str(error).strip():
        return f"{type(error).__name__} without a message"
    return None


def _is_raised_by_us(traceback: TracebackType | None) -> bool:
    """Whether the last frame is in one of our packages, and at a ``raise``."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return False
    code = traceback.tb_frame.f_code
    if not code.co_filename.startswith(HOMES):
        return False
    return dis.opname[code.co_code[traceback.tb_lasti]] in ("RAISE_VARARGS", "RERAISE")
