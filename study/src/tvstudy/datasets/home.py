"""Where the files of real data are."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def find_folder(data_home: str | os.PathLike[str] | None, name: str, files: Iterable[str]) -> Path:
    """``data_home`` when it holds one of the files, else its subfolder ``name``.

    None is the environment variable ``TVSELECT_DATA``, or ``~/tvselect_data``.
    """
    given = data_home or os.environ.get("TVSELECT_DATA") or "~/tvselect_data"
    home = Path(given).expanduser()
    return home if any((home / file).is_file() for file in files) else home / name
