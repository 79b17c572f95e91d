"""The command line: commands, options, examples. Imports nothing heavy."""

from __future__ import annotations

import argparse
from argparse import BooleanOptionalAction, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import tvselect
from tvselect.words import is_utf8

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
  tvs select sales.csv --target bought --where "Segment = 'A' and Age >= 30"
  tvs select sales.csv --target bought --by Segment
  tvs select visits.csv --target pain --row-groups patient --order date
  tvs select study.bed --phenotype pheno.tsv --target height --covariates age,sex,PC1-PC10
  zcat prices.csv.gz | tvs select - --target price --json --quiet > result.json

A column counts as found when it does better than decoys, artificial columns without a signal:
so much better that on average at most one in ten that are found is false (--max-fdr 0.1).
--max-fdr none: when it proves useful in more than half of its plays (selection rate > 0.5).
Ctrl-C ends the run in good order; 'tvs resume' goes on with it.
"""
MARKS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "blank": " ", "space": " "}


def _checked(
    metavar: str, read: Callable[[str], Any], is_good: Callable[[Any], bool], problem: str
) -> dict[str, Any]:
    """Settings of an option whose value is read by a function and then checked."""

    def check(text: str) -> Any:
        value = read(text)
        if not is_good(value):
            raise argparse.ArgumentTypeError(f"{problem}, got {text}")
        return value

    check.__name__ = {"N": "whole number"}.get(metavar, metavar.lower())  # for argparse
    return {"type": check, "metavar": metavar}


def _filled(text: str) -> str:
    """A name or path, which no shell variable has left empty."""
    if not text:
        raise argparse.ArgumentTypeError("must not be empty")
    if not is_utf8(text):
        raise argparse.ArgumentTypeError(f"{text!a} is not UTF-8; rename it")
    return text


COUNT = _checked("N", int, lambda n: n >= 1, "must be at least 1")
AGAIN = _checked("N", int, lambda n: n >= 2, "must be at least 2") | {"dest": "n"}
SEED = _checked("N", int, lambda n: n >= 0, "must not be negative")
SECONDS = _checked("SECONDS", float, lambda x: 0.0 < x < float("inf"),
                   "must be a positive number of seconds")  # fmt: skip
SHARE = _checked("SHARE", lambda text: None if text.lower() == "none" else float(text),
                 lambda x: x is None or 0.001 <= x < 1.0,
                 "must lie between 0.001 and 1, or be none")  # fmt: skip
WIDTH = _checked("MM", float, lambda x: 10.0 <= x <= 2000.0, "must lie between 10 and 2000")
SCHEDULER = "the address of a Dask scheduler such as tcp://head-node:8786"
ADDRESS = _checked("ADDRESS", str, lambda text: "://" in text, f"must be {SCHEDULER}")
MARK = {"type": lambda text: MARKS.get(text, text), "metavar": "MARK", "dest": "delimiter"}
NAME, FILE, FOLDER = {"metavar": "NAME"}, {"metavar": "FILE"}, {"metavar": "FOLDER"}
NAMES: dict[str, Any] = {"metavar": "A,B", "action": "append", "default": []}
FLAG: dict[str, Any] = {"action": "store_true"}
PEOPLE = FILE | {"dest": "phenotypes"}
REWARDS = ("bart", "lasso", "importance", "pvalue")
DECOYS = ("auto", "shuffled", "plain", "knockoffs", "none")
KINDS = ("rates", "effects", "evidence", "interactions", "stability")
FAMILIES = ("gaussian", "probit", "classes", "ordinal", "counts")


class Option(NamedTuple):
    """An argument of a command."""

    names: str
    settings: dict[str, Any]  #: Of argparse
    help: str


class Either(NamedTuple):
    """Options of which one may be given, or has to be."""

    options: Sequence[Option]
    is_required: bool = False


# fmt: off
RUN = Option("run", {"metavar": "RUN"}, "folder of a run")
TIME_LIMIT = Option("--time-limit", SECONDS, "stop after that")
MOVED = Option("--table", {"metavar": "TABLE"}, "where the table is now, if it has moved")
NO_REPORT = Option("--no-report", FLAG, "write no report.html; 'tvs report' can do so later")
PLACES = Either((
    Option("--jobs", COUNT, "plays at a time, here"),
    Option("--cluster", ADDRESS, "run on a Dask cluster, such as tcp://head-node:8786"),
))
Groups = dict[str, Sequence[Option | Either]]
COMMANDS: dict[str, tuple[str, Groups]] = {
    "select": ("find the columns that explain a target", {
        "": (
            Option("table", {"metavar": "TABLE"},
                   "CSV, TSV or .txt (also .gz, .bz2, .zst, .zip), .xlsx, Parquet, Arrow/Feather, "
                   "a folder of Parquet files, PLINK .bed, AnnData .h5ad, .mtx, or - for standard "
                   "input"),
            Either((
                Option("-t --target", NAME, "column to explain"),
                Option("--time", NAME, "column to explain: the time until an event, see --event"),
            ), is_required=True),
            Option("--event", NAME, "with --time: column that says whether the event took place "
                                    "(1) or the row was censored (0)"),
            Option("--out", FOLDER, "folder of the run; tvs-<table>-<number> if not given"),
            NO_REPORT,
        ),
        "some of the rows": (
            Option("--where", {"metavar": "CONDITION"},
                   "only rows that meet it, as in SQL: \"Segment = 'A' and Age >= 30\""),
            Option("--by", NAME | {"metavar": "COLUMN"},
                   "a run for each value of this column, and a comparison of them"),
        ),
        "columns (names, patterns such as 'gene_*' and ranges such as PC1-PC10)": (
            Option("--exclude", NAMES, "leave these out"),
            Option("--include", NAMES, "keep these although they would be left out"),
            Option("--always", NAMES, "make these part of every play"),
            Option("--feature-groups", {"metavar": "FILE|ld"},
                   'columns that are one variable: JSON {"group": ["a", "b"]} or CSV column,group; '
                   "or ld: neighbouring columns that are much alike, as in a genome"),
        ),
        "rows that are not independent": (
            Option("--row-groups", NAME | {"metavar": "COLUMN"},
                   "column that says which rows belong together: patient, donor, household"),
            Option("--order", NAME | {"metavar": "COLUMN|rows"},
                   "column by which rows follow each other in time; or rows: as they stand"),
        ),
        "the table": (
            Option("--family", {"choices": FAMILIES},
                   "the target is a number, one of two classes, of more classes, an ordered grade, "
                   "or a count; detected"),
            Option("--stream", {"action": BooleanOptionalAction},
                   "read it batch by batch, or all into memory; decided by its size"),
            Option("--sep", MARK, "between the cells of a CSV; detected"),
            Option("--decimal", {"choices": (".", ",")},
                   "before the fraction of a number; detected"),
            Option("--sheet", NAME, "of a spreadsheet; the first"),
            Option("--transpose", FLAG, "its rows are the columns, named by its first column, as "
                                        "with genes in rows"),
        ),
        "genotypes (PLINK .bed) and cells (.h5ad, .mtx)": (
            Option("--phenotype", PEOPLE,
                   "table with a column IID (people) or barcode (cells), the target and "
                   "covariates; without one the target is 'phenotype' of the .fam file"),
            Option("--layer", NAME, "of an AnnData file; X"),
            Option("--names", NAME, "column of an AnnData file's var with the names of the genes, "
                                    "such as their symbols; its index"),
            Option("--covariates", NAMES, "columns of that table, or of obs, that are part of "
                                          "every play, such as age,sex,PC1-PC10"),
        ),
        "the search": (
            Option("--plays", COUNT,
                   "how many random subsets to try; as many as it takes to settle"),
            Option("--reward", {"choices": REWARDS, "default": "bart"},
                   "how the columns of a subset are scored; bart"),
            Option("--iterations", COUNT, "of the sampler in a play; 500, or 1000 without decoys"),
            Option("--max-fdr", SHARE | {"default": 0.1},
                   "largest share of false ones among the selected, on average; 0.1; 'none' for "
                   "the median model, without such a limit"),
            Option("--decoys", {"choices": DECOYS, "default": "auto"},
                   "columns without a signal to compare the others with; chosen "
                   "automatically; 'plain' lets columns be selected for a factor that many share"),
            Option("--trees-only", FLAG,
                   "ask no sparse regression on all columns beside the trees, as in the paper"),
            Option("--chains", COUNT | {"default": 1}, "independent searches; 1"),
            PLACES,
            Option("--window", COUNT,
                   "most plays chosen before their scores are known; runs with the same window "
                   "give identical results with any number of workers; 1, or 16 per worker if "
                   "there are more workers than chains"),
            Option("--seed", SEED, "drawn and written down if not given"),
            Option("--patience", COUNT, "stop after N plays of no change"),
            TIME_LIMIT,
        ),
        "streams": (
            Option("--batch-size", COUNT, "rows of a play; 1000"),
            Option("--rounds", COUNT, "passes over the rows; 1"),
        ),
    }),
    "resume": ("go on with a run that was stopped, or extend it", {"": (
        RUN,
        Option("--plays", COUNT, "plays in all; as planned"),
        Option("--rounds", COUNT, "of a stream, in all"),
        TIME_LIMIT, PLACES, MOVED, NO_REPORT,
    )}),
    "report": ("write report.html of a run again", {"": (
        RUN,
        Option("--open", FLAG, "show it in the browser"),
        Option("--methods", FLAG, "print how to report the run instead: paragraphs for Methods and "
                                  "Results, what to cite, a checklist with its answers"),
    )}),
    "plot": ("draw a figure of a run for a paper", {"": (
        RUN,
        Option("--kind", {"choices": KINDS, "default": "rates"},
               "the highest selection rates; what each variable does; the evidence of a stream; "
               "pairs that act together; what other seeds select; rates"),
        Option("-o --out", {"metavar": "OUT", "required": True},
               "file to write: .pdf, .svg, .png"),
        Option("--width", WIDTH | {"default": 170.0}, "of the figure; 170"),
        Option("--force", FLAG, "overwrite OUT"),
    )}),
    "worth": ("how well the selected columns predict held-out rows", {"": (
        RUN,
        Option("--folds", AGAIN | {"default": 5}, "parts of the rows to hold back; 5"),
        Option("--jobs", COUNT, "plays at a time"),
        MOVED,
    )}),
    "stability": ("with how many other seeds each column is selected", {"": (
        RUN,
        Option("--seeds", AGAIN | {"default": 10}, "how many; 10"),
        Option("--jobs", COUNT, "plays at a time"),
        MOVED,
    )}),
    "transform": ("keep only the selected columns of a table", {"": (
        RUN,
        Option("table", {"metavar": "TABLE"}, "the table, or a new one like it"),
        Option("-o --out", {"metavar": "OUT", "required": True},
               "file to write: .csv, .tsv (also .gz), .xlsx, .parquet, .feather, .arrow"),
        Option("--sep", MARK, "what is between the cells of a CSV"),
        Option("--phenotype", PEOPLE, "table of the people of a .bed file; that of the run"),
        Option("--force", FLAG, "overwrite OUT"),
    )}),
    "compare": ("compare runs: what each selects, and how effects differ", {"": (
        Option("runs", {"metavar": "RUN", "nargs": "+"}, "folders of two runs or more"),
        Option("-o --out", {"metavar": "OUT"}, "page to write: .html"),
        Option("--force", FLAG, "overwrite OUT"),
    )}),
    "demo": ("select 5 of 10,000 columns of a made-up table", {"": (
        Option("--out", FOLDER, "where to write; a temporary folder"),
        Option("--rows", COUNT | {"default": 300}, "of the table; 300"),
        Option("--columns", COUNT | {"default": 10_000}, "of the table; 10,000"),
        Option("--plays", COUNT | {"default": 300}, "of the search; 300"),
        Option("--seed", SEED | {"default": 0}, "of the search; 0"),
    )}),
    "completion": ("print a script that completes tvs in a shell", {"": (
        Option("shell", {"choices": ("bash", "zsh", "tcsh")}, "which one"),
    )}),
}
# fmt: on


class Options(argparse.Namespace):
    """What the user asked for: the options of the command, and these."""

    command: str
    arguments: list[str]
    debug: bool = False
    quiet: bool = False
    json: bool = False


def make_parser() -> argparse.ArgumentParser:
    """The parser of ``tvs``."""
    formatter = partial(RawDescriptionHelpFormatter, max_help_position=26)
    top = argparse.ArgumentParser(
        prog="tvs",
        description="Which columns of a table matter? Thompson Variable Selection.",
        epilog=EXAMPLES,
        formatter_class=formatter,
    )
    top.add_argument("--version", action="version", version=f"tvs {tvselect.__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (help, groups) in COMMANDS.items():
        parser = commands.add_parser(
            name,
            help=help,
            description=help[0].upper() + help[1:] + ".",
            epilog=SELECT_EXAMPLES if name == "select" else None,
            formatter_class=formatter,
        )
        for title, options in groups.items():
            _add(parser.add_argument_group(title) if title else parser, options)
        if name != "completion":
            parser.add_argument("--json", **FLAG, help="print JSON, for machines")
            parser.add_argument("-q", "--quiet", **FLAG, help="say only what was found")
        parser.add_argument("--debug", **FLAG, help="show where an error comes from")
    return top


def _add(parser: Any, options: Sequence[Option | Either]) -> None:
    for option in options:
        if isinstance(option, Either):
            group = parser.add_mutually_exclusive_group(required=option.is_required)
            _add(group, option.options)
        else:
            names, settings = option.names.split(), option.settings
            if not settings.keys() & {"type", "action", "choices"}:
                settings = {"type": _filled, **settings}
            parser.add_argument(*names, help=option.help, **settings)
