"""The folder of a run: run.json, the journal and what was found. Writes are atomic."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tvselect import report
from tvselect.bandit.stopping import StopReason
from tvselect.files import write_text
from tvselect.records import RecordError, parse_json, read_record, to_json
from tvselect.runs.errors import RunError
from tvselect.runs.owning import claim, locked, make_folders, require_plain
from tvselect.runs.plan import Plan, Settings
from tvselect.sources.addresses import without_secrets

SCHEMA = 4
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
    table_stamp: str  #: Hash of their sizes and times
    #: Hash of data and settings, as in journal and report; None before the first results.
    fingerprint: str | None
    settings: Settings
    plan: Plan
    warnings: tuple[str, ...]


class RunFolder:
    """Where a run is kept.

    Parameters
    ----------
    path : Path
    made : tuple of Path
        Folders that were made for this run, innermost first: it may remove them.
    """

    def __init__(self, path: Path, made: tuple[Path, ...] = ()) -> None:
        self.path = path
        self._made = made
        self.journal = path / "journal.sqlite"  #: Every play
        self.record = path / "run.json"  #: What was run
        self.selected = path / "selected.csv"  #: The selected variables
        self.variables = path / "variables.csv"  #: All variables
        self.interactions = path / "interactions.csv"  #: Pairs that act together, if there are any
        self.findings = path / "findings.json"  #: What the report shows
        self.report = path / "report.html"
        self.lock = path / "run.lock"  #: Held by the one who writes

    @property
    def files(self) -> tuple[Path, ...]:
        """All files that a run writes."""
        beside = (self.journal.with_name(self.journal.name + end) for end in ("-wal", "-shm"))
        return (
            self.record, self.selected, self.variables, self.interactions, self.findings,
            self.report, self.journal, *beside, self.lock,
        )  # fmt: skip

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep others from writing here.

        Raises
        ------
        RunError
            When somebody else is writing, or a file is a link or a pipe.
        """
        require_plain(self.files)
        with locked(self.lock):
            yield

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
        require_plain(self.files)
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

    def render(self, findings: report.Findings) -> None:
        """Write report.html.

        Raises
        ------
        RunError
            When the report is not installed.
        """
        try:
            page = report.render(findings)
        except ModuleNotFoundError:
            raise RunError(f"the report as a page needs more packages: {INSTALL}") from None
        write_text(self.report, page)

    def remove(self) -> None:
        """Remove what this run has made, as nothing was learned; what was there before stays."""
        for file in self.files:
            with suppress(OSError):
                file.unlink()
        with suppress(OSError):
            for folder in self._made:
                folder.rmdir()


def new_folder(out: str | Path | None, table: str) -> RunFolder:
    """Make a folder that did not exist before, or take an empty one: for this run alone.

    Raises
    ------
    RunError
        When there is something already, or it cannot be made.
    """
    try:
        if out is not None:
            path = Path(out).expanduser()
            folder = RunFolder(path, make_folders(path))
            if not path.is_dir():
                raise FileExistsError
            claim(path, folder.lock)
            return folder
        name = Path(without_secrets(table).rstrip("/")).name
        stem = name.split(".")[0].split("@")[-1].strip("*?[] -") or "table"
        number = 1
        while True:
            path = Path(f"tvs-{stem}-{number}")
            try:
                path.mkdir()
            except FileExistsError:
                number += 1
                continue
            folder = RunFolder(path, (path,))
            claim(path, folder.lock)
            return folder
    except FileExistsError:
        is_run = RunFolder(Path(out or "").expanduser()).record.exists()
        go_on = f"go on with it by 'tvs resume {out}', or " if is_run else ""
        raise RunError(
            f"{out} exists already and is never overwritten; {go_on}choose another --out"
        ) from None
    except OSError as error:
        raise RunError(
            f"the folder {out or 'of the run'} cannot be made ({error.strerror}); choose another "
            "place with --out"
        ) from None
