"""The folder of a run: run.json, the journal and what was found. Writes are atomic."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tvselect.runs.errors import RunError
from tvselect.runs.plan import Plan, Settings
from tvselect.runs.records import from_dict, to_dict

SCHEMA = 1
State = Literal["running", "done", "interrupted", "failed"]


@dataclass(frozen=True)
class Run:
    """What run.json says.

    Attributes
    ----------
    schema : int
    version : str
        Of tvselect.
    versions : dict
        Of Python and of what the numbers depend on.
    command : str
    created : str
    state : {"running", "done", "interrupted", "failed"}
        "running" is also what a killed run leaves behind.
    stop_reason : str
    n_plays : int
    seconds : float
        Of the last start or resume.
    fingerprint : str
        Hash of the table's files.
    settings : Settings
    plan : Plan
    warnings : tuple of str
    """

    schema: int
    version: str
    versions: dict[str, str]
    command: str
    created: str
    state: State
    stop_reason: str
    n_plays: int
    seconds: float
    fingerprint: str
    settings: Settings
    plan: Plan
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunFolder:
    """Where a run is kept."""

    path: Path

    @property
    def journal(self) -> Path:
        """Every play."""
        return self.path / "journal.sqlite"

    @property
    def record(self) -> Path:
        """What was run."""
        return self.path / "run.json"

    @property
    def selected(self) -> Path:
        """The selected variables."""
        return self.path / "selected.csv"

    @property
    def variables(self) -> Path:
        """All variables."""
        return self.path / "variables.csv"

    @property
    def findings(self) -> Path:
        """What the report shows."""
        return self.path / "findings.json"

    @property
    def report(self) -> Path:
        """The report."""
        return self.path / "report.html"

    def write_run(self, run: Run) -> None:
        """Write run.json."""
        write_text(self.record, json.dumps(to_dict(run), indent=1) + "\n")

    def read_run(self) -> Run:
        """Read run.json.

        Raises
        ------
        RunError
            When the folder does not exist or run.json is not of this version; says so.
        """
        if not self.path.is_dir():
            raise RunError(f"there is no folder {self.path}; look at the path of the run")
        values = read_json(self.record, "is this the folder of a run?")
        if isinstance(values, dict) and values.get("schema", SCHEMA) != SCHEMA:
            raise RunError(
                f"{self.record} has schema {values['schema']!r}, this tvs reads {SCHEMA}; "
                "use the tvselect that wrote it"
            )
        return from_dict(Run, values, f"{self.record}:")

    def remove(self) -> None:
        """Remove a folder in which nothing was learned."""
        shutil.rmtree(self.path)


def new_folder(out: str | Path | None, table: str) -> RunFolder:
    """Make a folder that did not exist before, or take an empty one.

    Raises
    ------
    RunError
        When there is something already, or it cannot be made.
    """
    try:
        if out is not None:
            path = Path(out).expanduser()
            path.mkdir(parents=True, exist_ok=path.is_dir() and not any(path.iterdir()))
            return RunFolder(path)
        stem = Path(table.rstrip("/")).name.split(".")[0].strip("*?[] ") or "table"
        number = 1
        while True:
            try:
                Path(f"tvs-{stem}-{number}").mkdir()
            except FileExistsError:
                number += 1
                continue
            return RunFolder(Path(f"tvs-{stem}-{number}"))
    except FileExistsError:
        raise RunError(
            f"{out} exists already and is never overwritten; go on with it by 'tvs resume {out}', "
            "or choose another --out"
        ) from None
    except OSError as error:
        raise RunError(
            f"the folder {out or 'of the run'} cannot be made ({error.strerror}); choose another "
            "place with --out"
        ) from None


def read_json(path: Path, remedy: str) -> Any:
    """The content of a JSON file, or one line about what is wrong with it."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RunError(f"{path} does not exist; {remedy}") from None
    except OSError as error:
        raise RunError(f"{path} cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise RunError(f"{path} is no JSON or was cut off; {remedy}") from None


def write_text(path: Path, text: str) -> None:
    """Write a file all at once: readers see the old one or the new one."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
