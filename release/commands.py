"""Commands that must succeed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path


class CommandError(Exception):
    """A command failed; the message is the end of what it said."""


def run(
    *command: str | Path, cwd: Path | None = None, environment: Mapping[str, str] = os.environ
) -> str:
    """Run a command and return what it prints.

    Raises
    ------
    CommandError
        When it fails.
    """
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines()
        shown = " ".join(str(word) for word in command)
        raise CommandError("\n".join([f"$ {shown}", *said[-30:]]))
    return done.stdout
