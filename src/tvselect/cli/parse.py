"""The command line: commands, options, examples. Imports nothing heavy."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import tvselect

EXAMPLES = """examples:
  tvs select prices.csv --target price
  tvs resume tvs-prices-1 --plays 1000
  tvs transform tvs-prices-1 prices.csv -o short.csv
  tvs demo

tvs COMMAND --help has more. Exit codes: 0 done, 1 error, 2 wrong usage, 130 interrupted.
"""
SELECT_EXAMPLES = """examples:
  tvs select prices.csv --target price
  tvs select genes.parquet --target survived --exclude 'id,batch_*' --chains 4 --jobs 4
  tvs select sales/ --target bought --stream --rounds 3
  tvs select genes.parquet --target survived --max-fdr 0.2 --decoys knockoffs
  tvs select genes.parquet --target survived --cluster tcp://head-node:8786
  tvs select genes.tsv --target survived --transpose
  tvs select study.bed --phenotype pheno.tsv --target height --covariates age,sex,PC1-PC10
  zcat prices.csv.gz | tvs select - --target price --json --quiet > result.json

A column counts as found when it does better than decoys, artificial columns without a signal:
so much better that on average at most one in ten that are found is false (--max-fdr 0.1).
--max-fdr none: when it proves useful in more than half of its plays (selection rate > 0.5).
Ctrl-C ends the run in good order; 'tvs resume' goes on with it.
"""
MARKS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "blank": " ", "space": " "}


class Options(argparse.Namespace):
    """What the user asked for: the options of the command, and these."""

    command: str
    arguments: list[str]
    debug: bool = False
    quiet: bool = False
    json: bool = False


def make_parser() -> argparse.ArgumentParser:
    """The parser of ``tvs``."""
    top = argparse.ArgumentParser(
        prog="tvs",
        description="Which columns of a table matter? Thompson Variable Selection.",
        epilog=EXAMPLES,
        formatter_class=_formatter,
    )
    top.add_argument("--version", action="version", version=f"tvs {tvselect.__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_select(commands)
    resume = _command(commands, "resume", "go on with a run that was stopped, or extend it")
    resume.add_argument("run", **RUN)
    resume.add_argument("--plays", **COUNT, help="plays in all; as planned")
    resume.add_argument("--rounds", **COUNT, help="of a stream, in all")
    resume.add_argument("--time-limit", **SECONDS)
    _add_places(resume)
    resume.add_argument("--table", **MOVED)
    resume.add_argument("--no-report", **NO_REPORT)
    report = _command(commands, "report", "write report.html of a run again").add_argument
    report("run", **RUN)
    report("--open", action="store_true", help="show it in the browser")
    worth = _command(
        commands, "worth", "how well the selected columns predict held-out rows"
    ).add_argument
    worth("run", **RUN)
    worth("--folds", **FOLDS, default=5, help="parts of the rows to hold back; 5")
    worth("--jobs", **COUNT, help="plays at a time")
    worth("--table", **MOVED)
    transform = _command(
        commands, "transform", "keep only the selected columns of a table"
    ).add_argument
    transform("run", **RUN)
    transform("table", metavar="TABLE", help="the table, or a new one like it")
    transform(
        "-o", "--out", metavar="OUT", required=True,
        help="file to write: .csv, .tsv (also .gz), .parquet, .feather, .arrow",
    )  # fmt: skip
    transform("--sep", **MARK, help="what is between the cells of a CSV")
    transform(
        "--phenotype", metavar="FILE", dest="phenotypes",
        help="table of the people of a .bed file; that of the run",
    )  # fmt: skip
    transform("--force", action="store_true", help="overwrite OUT")
    compare = _command(commands, "compare", "who selects what: two runs side by side").add_argument
    compare("runs", metavar="RUN", nargs=2, help="folders of two runs")
    demo = _command(commands, "demo", "select 5 of 10,000 columns of a made-up table").add_argument
    demo("--out", metavar="FOLDER", help="where to write; a temporary folder")
    for name, default in (("--rows", 300), ("--columns", 10_000), ("--plays", 300)):
        demo(name, **COUNT, default=default)
    demo("--seed", **SEED, default=0)
    completion = _command(
        commands, "completion", "print a script that completes tvs in a shell"
    ).add_argument
    completion("shell", choices=("bash", "zsh", "tcsh"))
    return top


def _add_select(commands: Any) -> None:
    select = _command(commands, "select", "find the columns that explain a target", SELECT_EXAMPLES)
    select.add_argument(
        "table", metavar="TABLE",
        help="CSV, TSV or .txt (also .gz, .bz2, .zst, .zip), .xlsx, Parquet, Arrow/Feather, a "
        "folder of Parquet files, PLINK .bed, AnnData .h5ad, .mtx, or - for standard input",
    )  # fmt: skip
    outcome = select.add_mutually_exclusive_group(required=True).add_argument
    outcome("-t", "--target", metavar="NAME", help="column to explain")
    outcome(
        "--time", metavar="NAME", help="column to explain: the time until an event, see --event"
    )
    select.add_argument(
        "--event", metavar="NAME",
        help="with --time: column that says whether the event took place (1) or the row was "
        "censored (0)",
    )  # fmt: skip
    columns = select.add_argument_group("columns (names and patterns such as 'gene_*')")
    columns.add_argument("--exclude", **NAMES, help="leave these out")
    columns.add_argument("--include", **NAMES, help="keep these although they would be left out")
    columns.add_argument("--always", **NAMES, help="make these part of every play")
    columns.add_argument(
        "--feature-groups", metavar="FILE|ld",
        help='columns that are one variable: JSON {"group": ["a", "b"]} or CSV column,group; or '
        "ld: neighbouring columns that are much alike, as in a genome",
    )  # fmt: skip
    table = select.add_argument_group("the table").add_argument
    table(
        "--family", choices=("gaussian", "probit", "classes", "ordinal", "counts"),
        help="the target is a number, one of two classes, of more classes, an ordered grade, or a "
        "count; detected",
    )  # fmt: skip
    table(
        "--stream", action=argparse.BooleanOptionalAction,
        help="read it batch by batch, or all into memory; decided by its size",
    )  # fmt: skip
    table("--sep", **MARK, help="between the cells of a CSV; detected")
    table("--decimal", choices=(".", ","), help="before the fraction of a number; detected")
    table("--sheet", metavar="NAME", help="of a spreadsheet; the first")
    table(
        "--transpose", action="store_true",
        help="its rows are the columns, named by its first column, as with genes in rows",
    )  # fmt: skip
    cells = select.add_argument_group("genotypes (PLINK .bed) and cells (.h5ad, .mtx)").add_argument
    cells(
        "--phenotype", metavar="FILE", dest="phenotypes",
        help="table with a column IID (people) or barcode (cells), the target and covariates; "
        "without one the target is 'phenotype' of the .fam file",
    )  # fmt: skip
    cells("--layer", metavar="NAME", help="of an AnnData file; X")
    cells(
        "--covariates", **NAMES,
        help="columns of that table, or of obs, that are part of every play, such as "
        "age,sex,PC1-PC10",
    )  # fmt: skip
    search = select.add_argument_group("the search")
    search.add_argument("--plays", **COUNT, help="how many random subsets to try; 500")
    search.add_argument(
        "--reward", choices=("bart", "lasso", "importance", "pvalue"), default="bart",
        help="how the columns of a subset are scored; bart",
    )  # fmt: skip
    search.add_argument(
        "--iterations", **COUNT, help="of the trees in a play; 500, or 1000 without decoys"
    )
    search.add_argument(
        "--max-fdr", type=_level, default=0.1, metavar="SHARE",
        help="largest share of false ones among the selected, on average; 0.1; 'none' for the "
        "median model, without such a limit",
    )  # fmt: skip
    search.add_argument(
        "--decoys", choices=("auto", "shuffled", "plain", "knockoffs", "none"), default="auto",
        help="columns without a signal that the others are measured by; chosen automatically; "
        "'plain' lets columns be selected for a factor that many share",
    )  # fmt: skip
    search.add_argument("--chains", **COUNT, default=1, help="independent searches; 1")
    _add_places(search)
    search.add_argument(
        "--window", **COUNT,
        help="most plays chosen before their scores are known; runs with the same window give "
        "identical results with any number of workers; 1, or 16 per worker where there are more "
        "workers than chains",
    )  # fmt: skip
    search.add_argument("--seed", **SEED, help="drawn and written down if not given")
    search.add_argument("--patience", **COUNT, help="stop after N plays of no change")
    search.add_argument("--time-limit", **SECONDS)
    stream = select.add_argument_group("streams").add_argument
    stream("--batch-size", **COUNT, help="rows of a play; 1000")
    stream("--rounds", **COUNT, help="passes over the rows; 1")
    select.add_argument(
        "--out", metavar="FOLDER", help="folder of the run; tvs-<table>-<number> if not given"
    )
    select.add_argument("--no-report", **NO_REPORT)


def _add_places(command: Any) -> None:
    places = command.add_mutually_exclusive_group().add_argument
    places("--jobs", **COUNT, help="plays at a time, here")
    places(
        "--cluster", type=_address, metavar="ADDRESS",
        help="run on a Dask cluster, such as tcp://head-node:8786",
    )  # fmt: skip


def _command(commands: Any, name: str, help: str, epilog: str | None = None) -> Any:
    parser = commands.add_parser(
        name,
        help=help,
        description=help[0].upper() + help[1:] + ".",
        epilog=epilog,
        formatter_class=_formatter,
    )
    if name != "completion":
        parser.add_argument("--json", action="store_true", help="print JSON, for machines")
        parser.add_argument("-q", "--quiet", action="store_true", help="say only what was found")
    parser.add_argument("--debug", action="store_true", help="show where an error comes from")
    return parser


def _formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=26)


def _whole(name: str, lowest: int, problem: str) -> Callable[[str], int]:
    def read(text: str) -> int:
        number = int(text)
        if number < lowest:
            raise argparse.ArgumentTypeError(f"{problem}, got {text}")
        return number

    read.__name__ = name  # what argparse calls it in its messages
    return read


def _seconds(text: str) -> float:
    number = float(text)
    if not 0.0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a positive number of seconds, got {text}")
    return number


def _level(text: str) -> float | None:
    if text.lower() == "none":
        return None
    number = float(text)
    if not 0.0 < number < 1.0:
        raise argparse.ArgumentTypeError(f"must lie between 0 and 1, or be none, got {text}")
    return number


def _address(text: str) -> str:
    if "://" not in text:
        raise argparse.ArgumentTypeError(
            f"must be the address of a Dask scheduler such as tcp://head-node:8786, got {text}"
        )
    return text


def _mark(text: str) -> str:
    return MARKS.get(text, text)


_seconds.__name__ = "number of seconds"
_level.__name__ = "share"
Shared = dict[str, Any]
COUNT: Shared = dict(type=_whole("whole number", 1, "must be at least 1"), metavar="N")
FOLDS: Shared = dict(type=_whole("whole number", 2, "must be at least 2"), metavar="N")
SEED: Shared = dict(type=_whole("seed", 0, "must not be negative"), metavar="N")
SECONDS: Shared = dict(type=_seconds, metavar="SECONDS", help="stop after that")
MARK: Shared = dict(type=_mark, metavar="MARK", dest="delimiter")
NAMES: Shared = dict(metavar="A,B", action="append", default=[])
NO_REPORT: Shared = dict(
    action="store_true", help="write no report.html; 'tvs report' can do so later"
)
RUN: Shared = dict(metavar="RUN", help="folder of a run")
MOVED: Shared = dict(metavar="TABLE", help="where the table is now, if it has moved")
