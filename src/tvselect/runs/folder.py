"""The folder of a run: run.json, the journal and what was found. Writes are atomic."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tvselect import report
from tvselect.bandit.stopping import StopReason
from tvselect.files import write_text
from tvselect.records import RecordError, parse_json, read_record, to_json
from tvselect.runs.errors import RunError
from tvselect.runs.plan import Plan, Settings

SCHEMA = 3
INSTALL = "pip install 'tvselect[cli]'"
State = Literal["running", "done", "interrupted", "failed"]


@dataclass(frozen=True)
class RunRecord:
    """What run.json says."""

    schema: int
    version: str  #: Of tvselect
    versions: dict[str, str]  #: Of Python and of what the numbers depend on
    command: str
    created: str
    state: State  #: "running" is also what a killed run leaves behind
    stop_reason: StopReason | None  #: None as long as it runs
    n_plays: int
    seconds: float  #: Of the last start or resume
    table_hash: str  #: Of the table's files
    #: Hash of data and settings, as in journal and report; None before the first results.
    fingerprint: str | None
    settings: Settings
    plan: Plan
    warnings: tuple[str, ...]


class RunFolder:
    """Where a run is kept."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.journal = path / "journal.sqlite"  #: Every play
        self.record = path / "run.json"  #: What was run
        self.selected = path / "selected.csv"  #: The selected variables
        self.variables = path / "variables.csv"  #: All variables
        self.interactions = path / "interactions.csv"  #: Pairs that act together, if there are any
        self.findings = path / "findings.json"  #: What the report shows
        self.report = path / "report.html"

    def write_run(self, run: RunRecord) -> None:
        """Write run.json, one line for each entry."""
        entries = (f'"{name}": {to_json(value)}' for name, value in vars(run).items())
        write_text(self.record, "{" + ",\n ".join(entries) + "}\n")

    def read_run(self) -> RunRecord:
        """Read run.json.

        Raises
        ------
        RunError
            When the folder does not exist or run.json is not of this version; says so.
        """
        if not self.path.is_dir():
            raise RunError(f"there is no folder {self.path}; look at the path of the run")
        remedy = "is this the folder of a run?"
        try:
            values = parse_json(self.record.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise RunError(f"{self.record} does not exist; {remedy}") from None
        except OSError as error:
            raise RunError(f"{self.record} cannot be read ({error.strerror})") from None
        except (RecordError, UnicodeDecodeError):
            raise RunError(f"{self.record} is no JSON or was cut off; {remedy}") from None
        if isinstance(values, dict) and values.get("schema", SCHEMA) != SCHEMA:
            raise RunError(
                f"{self.record} has schema {values['schema']!r}, this tvs reads {SCHEMA}; "
                "use the tvselect that wrote it"
            )
        try:
            return read_record(RunRecord, values)
        except RecordError as error:
            at = f" (at {error.where!r})" if error.where else ""
            raise RunError(
                f"{self.record} was not written by this version of tvs{at}; is this the right "
                "folder?"
            ) from None

    def read_findings(self) -> report.Findings:
        """Read findings.json.

        Raises
        ------
        RunError
            When it is missing or something else.
        """
        remedy = f"'tvs resume {self.path}' writes it"
        try:
            return report.Findings.from_json(self.findings.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise RunError(f"{self.findings} does not exist; {remedy}") from None
        except UnicodeDecodeError:
            raise RunError(f"{self.findings} is damaged; {remedy}") from None
        except ValueError:
            raise RunError(f"{self.findings} is not as tvs wrote it; {remedy}") from None

    def render_again(self) -> None:
        """Write report.html from findings.json.

        Raises
        ------
        RunError
            When the report is not installed, or the run has no findings.
        """
        findings = self.read_findings()
        try:
            page = report.render(findings)
        except ModuleNotFoundError:
            raise RunError(f"the report needs more packages: {INSTALL}") from None
        write_text(self.report, page)

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
        stem = Path(table.rstrip("/")).name.split(".")[0].strip("*?[] -") or "table"
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
