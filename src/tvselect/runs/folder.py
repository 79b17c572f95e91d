"""The folder of a run: run.json, the journal and what was found, and who may write there.

Writes are atomic. A folder may come from anywhere: links and pipes in it are refused.
"""

from __future__ import annotations

import csv
import errno
import io
import os
import platform
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from tvselect import report
from tvselect.bandit.engine import StopReason
from tvselect.records import (
    RecordError,
    parse_json,
    read_record,
    to_json,
    types_of,
    write_text,
)
from tvselect.runs import RunError
from tvselect.runs.plan import Plan, Settings
from tvselect.sources.addresses import without_secrets
from tvselect.words import as_cell, command, from_cell

if TYPE_CHECKING:
    from tvselect.after.interactions import Interaction

SCHEMA = 5
PACKAGES = ("numpy", "scipy", "scikit-learn", "pyarrow")
State = Literal["running", "done", "interrupted", "failed"]
#: Of systems on which files cannot be locked; the journal still lets one run write.
NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP}


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """What run.json says."""

    schema: int = SCHEMA
    version: str = field(default_factory=lambda: version("tvselect"))
    #: Of Python and of what the numbers depend on
    versions: dict[str, str] = field(
        default_factory=lambda: {
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        }
    )
    command: str
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    state: State = "running"  #: Which is also what a killed run leaves behind
    stop_reason: StopReason | None = None  #: None as long as it runs
    n_plays: int = 0
    seconds: float = 0.0  #: Of the last start or resume
    table_hash: str  #: Of the table's files
    table_stamp: str  #: Hash of their sizes and times
    #: Hash of data and settings, as in journal and report; None before the first results.
    fingerprint: str | None = None
    settings: Settings
    plan: Plan
    warnings: tuple[str, ...] = ()


class RunFolder:
    """Where a run is kept; ``made`` are the folders made for it, innermost first."""

    def __init__(self, path: Path, made: Sequence[Path] = ()) -> None:
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
        self.files = (
            self.record, self.selected, self.variables, self.interactions, self.findings,
            self.report, self.journal, path / "journal.sqlite-wal", path / "journal.sqlite-shm",
            self.lock,
        )  # fmt: skip

    def require_plain_files(self) -> None:
        """Refuse links, pipes and devices."""
        for path in self.files:
            try:
                mode = path.lstat().st_mode
            except OSError:  # missing, or not to be read: whoever opens it says so
                continue
            if not stat.S_ISREG(mode):
                what = "a link" if stat.S_ISLNK(mode) else "no file"
                raise RunError(f"{path} is {what}; put the file itself there, or remove it")

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the folder: other processes cannot write here until the block, or process, ends."""
        self.require_plain_files()
        no_link = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            handle = os.open(self.lock, os.O_RDWR | os.O_CREAT | no_link, 0o666)
        except OSError as error:
            raise RunError(f"{self.path} cannot be written to ({error.strerror})") from None
        try:
            _lock(handle, self.path)
            yield
        finally:
            os.close(handle)

    def write_run(self, run: RunRecord) -> None:
        """Write run.json, one line for each entry."""
        entries = (f'"{name}": {to_json(value)}' for name, value in vars(run).items())
        write_text(self.record, "{" + ",\n ".join(entries) + "}\n")

    def read_run(self) -> RunRecord:
        """Read run.json; an error says what is wrong with the folder."""
        if not self.path.is_dir():
            raise RunError(f"there is no folder {self.path}; look at the path of the run")
        self.require_plain_files()
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
        """Read findings.json."""
        try:
            return report.Findings.from_json(self.findings.read_text(encoding="utf-8"))
        except FileNotFoundError:
            problem = "does not exist"
        except UnicodeDecodeError:
            problem = "is damaged"
        except ValueError:
            problem = "is not as tvs wrote it"
        raise RunError(f"{self.findings} {problem}; write it again: {command('resume', self.path)}")

    def render(self, findings: report.Findings) -> None:
        """Write report.html."""
        try:
            page = report.render(findings)
        except ModuleNotFoundError:
            raise RunError(
                "the report as a page needs more packages: pip install 'tvselect[cli]'"
            ) from None
        write_text(self.report, page)

    def remove(self) -> None:
        """Remove what this run has made; what was there before stays."""
        for file in self.files:
            with suppress(OSError):
                file.unlink()
        for folder in self._made:
            with suppress(OSError):
                folder.rmdir()


def _lock(handle: int, folder: Path) -> None:
    try:
        import fcntl
    except ModuleNotFoundError:  # on Windows, where nobody can write to a journal that is open
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RunError(
            f"another tvs is at work in {folder}, or was suspended there; let it finish or end it"
        ) from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise


def new_folder(out: str | Path | None, table: str) -> RunFolder:
    """Make a new folder for a run, or take an empty one; no other run can have it."""
    try:
        if out is None:
            name = Path(without_secrets(table).rstrip("/")).name
            stem = name.split(".")[0].split("@")[-1].strip("*?[] -") or "table"
            for number in count(1):
                path = Path(f"tvs-{stem}-{number}")
                with suppress(FileExistsError):
                    path.mkdir()
                    made = [path]
                    break
        else:
            path = Path(out).expanduser()
            made = [folder for folder in (path, *path.parents) if not folder.exists()]
            path.mkdir(parents=True, exist_ok=True)
        folder = RunFolder(path, made)
        # Of all who want an empty folder at the same time, one makes the lock.
        os.close(os.open(folder.lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        if os.listdir(path) != [folder.lock.name]:
            folder.lock.unlink()
            raise FileExistsError
        return folder
    except FileExistsError:
        is_run = RunFolder(Path(out or "").expanduser()).record.exists()
        go_on = f", or go on with the run: {command('resume', out or '')}" if is_run else ""
        raise RunError(
            f"{out} exists already and is never overwritten; choose another --out{go_on}"
        ) from None
    except OSError as error:
        raise RunError(
            f"the folder {out or 'of the run'} cannot be made ({error.strerror}); choose another "
            "place with --out"
        ) from None


class VariableResult(NamedTuple):
    """A variable: its selection rate, with the 95 % interval, and how often it was played."""

    name: str
    selected: bool
    q_value: float | None  #: None without decoys, and where always included
    selection_rate: float
    low: float
    high: float
    times_played: int
    claim: int | None  #: Number of the claim that it belongs to
    group: str
    e_value: float | None = None  #: Of a stream with error control, as the next
    selected_since: int | None = None  #: Batch
    always: bool = False  #: Included without being tested
    #: How far the outcome moves, or the chance of a class; None where nothing is known.
    effect: float | None = None
    direction: str = ""
    of_class: str = ""
    seen: str = ""  #: As what the regression beside the trees sees it, or that it does not


COLUMNS = ("variable", *(name for name in VariableResult._fields[1:] if name != "always"))
OF_STREAMS = ("e_value", "selected_since")
RATES = ("selection_rate", "low", "high")


def to_csv(variables: Sequence[VariableResult], *, of_stream: bool = False) -> str:
    """Variables as CSV, with more columns for a stream with error control.

    "selected" is yes, no, or always: included without a test. Names that a spreadsheet would
    compute have an apostrophe in front, see :func:`tvselect.words.as_cell`.
    """
    header = _header(of_stream)
    cells = (cells_of(variable, as_cell) for variable in variables)
    return _csv([header, *([row[name] for name in header] for row in cells)])


def _header(of_stream: bool) -> list[str]:
    return [name for name in COLUMNS if of_stream or name not in OF_STREAMS]


def cells_of(variable: VariableResult, text: Callable[[str], str] = str) -> dict[str, str]:
    """What files and pipes say of a variable, by column; names as ``text`` makes them."""
    cells = {}
    for name, value in variable._asdict().items():
        if isinstance(value, float):
            cells[name] = f"{value:.6f}" if name in RATES else f"{value:.6g}"
        else:
            cells[name] = "" if value is None else text(str(value))
    cells["variable"] = cells.pop("name")
    cells["selected"] = "yes" if variable.selected else "no"
    return cells | ({"selected": "always"} if variable.always else {})


def pairs_to_csv(interactions: Sequence[Interaction]) -> str:
    """Interactions as CSV."""
    rows = ((*map(as_cell, pair.names), pair.strength, pair.q_value) for pair in interactions)
    return _csv([("first", "second", "strength", "q_value"), *rows])


def _csv(rows: Iterable[Sequence[object]]) -> str:
    """Rows as CSV; beyond ASCII with the mark by which Excel knows UTF-8."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in rows:
        writer.writerow([f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row])
    text = out.getvalue()
    return text if text.isascii() else f"\ufeff{text}"


def from_csv(path: Path) -> list[VariableResult]:
    """Variables from a file that :func:`to_csv` wrote."""
    remedy = f"write it again: {command('resume', path.parent)}"
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header, *rows = csv.reader(file)
        if header not in (_header(False), _header(True)):
            raise ValueError
        return [_variable(dict(zip(header, row, strict=True))) for row in rows]
    except (OSError, UnicodeDecodeError, csv.Error):
        raise RunError(f"{path} cannot be read; {remedy}") from None
    except ValueError:
        raise RunError(f"{path} is not as tvs wrote it; {remedy}") from None


def _variable(cells: dict[str, str]) -> VariableResult:
    answer, kinds = cells.pop("selected"), types_of(VariableResult)
    values: dict[str, Any] = {"name": from_cell(cells.pop("variable"))}
    for name, cell in cells.items():
        kind, *optional = get_args(kinds[name]) or (kinds[name],)
        is_empty = optional and not cell
        values[name] = from_cell(cell) if kind is str else None if is_empty else kind(cell)
    return VariableResult(selected=answer != "no", always=answer == "always", **values)
