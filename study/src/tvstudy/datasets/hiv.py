"""HIV-1: which mutations make the virus resist a drug (Rhee et al. 2005, 2006)."""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar
from urllib.request import urlopen

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from tvstudy.datasets.home import find_folder

DrugClass = Literal["PI", "NRTI", "NNRTI"]
T = TypeVar("T")

# The site has moved its pages once: the address of the knockoff vignette, then the one before it.
SITES = (
    "https://hivdb.stanford.edu/_wrapper/pages/published_analysis/genophenoPNAS2006",
    "https://hivdb.stanford.edu/pages/published_analysis/genophenoPNAS2006",
)
# Amino acids of the protein that the class attacks: the protease, the reverse transcriptase.
POSITIONS = {"PI": 99, "NRTI": 240, "NNRTI": 240}
# Bytes and sha256, line ends as on Unix; the files of the other classes were never seen here.
KNOWN = {
    "PI_DATA.txt": (212774, "b89d2ad33300c0e936cb44292e1aee90644a047cb82a6a29fdca14e9d97af8ef"),
    "PI_tsm.txt": (222, "6b4e55a133b01a8d98c170edd6980e1d508093c610a0aea18d7e83c832badccc"),
}
LABELS = 3  # IsolateName, PseudoName, MedlineID
SEEN = 3
SECONDS = 60
MOST_BYTES = 20_000_000

CLEAN = re.compile(r"\.|-|[A-Zid]+")
NAME = re.compile(r"P(\d{1,4})\.[A-Zid]", re.ASCII)
PLACE = re.compile(r"\d{1,4}", re.ASCII)

DESCRIPTION = """\
HIV-1 genotypes and the fold resistance to the drugs of one class.

Isolates: Rhee et al. 2006, PNAS 103:17355. Treatment-selected mutations: Rhee et al. 2005,
J. Infect. Dis. 192:456. Both from the Stanford HIV Drug Resistance Database; please cite the
authors. Cleaned as in the vignette of the R package knockoff: isolates with a flagged cell are
dropped; one 0/1 column per position and amino acid; per drug, isolates without a response are
dropped, mutations seen fewer than 3 times are dropped, and so are all columns that are exact
copies of one another.
"""


class Problem(NamedTuple):
    """One drug, ready for a regression.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        1.0 where the isolate has the mutation, else 0.0; ordered by position.
    y : ndarray of shape (n,)
        Log (natural) of the fold resistance.
    names : tuple of str
        ``"P30.N"``: amino acid N at position 30; ``i`` is an insertion, ``d`` a deletion.
    positions : ndarray of shape (p,)
        The position of each column.
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    names: tuple[str, ...]
    positions: NDArray[np.int64]


class Validation(NamedTuple):
    """A selection of mutations, by position.

    Attributes
    ----------
    found : tuple of int
        The positions of the selected mutations, each once, ascending.
    validated : tuple of int
        Those of them that are treatment-selected.
    """

    found: tuple[int, ...]
    validated: tuple[int, ...]


class _Isolates(NamedTuple):
    """The table without its flagged rows: ``fold`` (isolate, drug), ``present`` (isolate, name)."""

    drugs: tuple[str, ...]
    fold: NDArray[np.float64]
    present: NDArray[np.bool_]
    names: tuple[str, ...]
    positions: NDArray[np.int64]


def fetch_hiv(
    drug_class: DrugClass = "PI",
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
) -> Bunch:
    """Load the HIV-1 drug resistance data of one drug class, downloading them if needed.

    Parameters
    ----------
    drug_class : {"PI", "NRTI", "NNRTI"}, default="PI"
        Protease inhibitors, nucleoside and non-nucleoside reverse transcriptase inhibitors.
    data_home : path, default=None
        Where the files ``<class>_DATA.txt`` and ``<class>_tsm.txt`` are or will be: the folder
        itself if they are there, else its subfolder ``hiv``. None is the environment variable
        ``TVSELECT_DATA``, or ``~/tvselect_data``.
    download_if_missing : bool, default=True
        False raises OSError when a file is missing, and never touches the network.

    Returns
    -------
    Bunch
        ``drugs`` (names), ``problem`` (a function: drug -> `Problem`, that is X, y, names and
        positions), ``treatment_selected`` (positions where mutations are more frequent after
        treatment with the class: a proxy of the truth), ``sha256`` (of the files read, their
        line ends as on Unix) and ``DESCR``.

    Raises
    ------
    OSError
        A file is missing and cannot be downloaded, or is not the published one (remove it, and
        it is downloaded again).
    ValueError
        A file cannot be understood; the message names file and line.

    Notes
    -----
    The two PI files are checked against a known size and sha256. Those of the other classes are
    checked by their form alone: compare ``sha256`` between machines.

    Examples
    --------
    >>> from tvstudy.datasets import fetch_hiv
    >>> hiv = fetch_hiv("PI")  # doctest: +SKIP
    >>> hiv.drugs  # doctest: +SKIP
    ('APV', 'ATV', 'IDV', 'LPV', 'NFV', 'RTV', 'SQV')
    >>> X, y, names, positions = hiv.problem("LPV")  # doctest: +SKIP
    >>> X.shape, names[:3]  # doctest: +SKIP
    ((515, 184), ('P3.V', 'P4.P', 'P10.F'))
    """
    if drug_class not in POSITIONS:
        raise ValueError(f"drug_class must be one of {', '.join(POSITIONS)}, not {drug_class!r}")
    addresses = {
        f"{drug_class}_DATA.txt": f"DATA/{drug_class}_DATA.txt",
        f"{drug_class}_tsm.txt": f"MUTATIONLISTS/NP_TSM/{drug_class}",
    }
    table, listed = addresses
    length = POSITIONS[drug_class]
    folder = find_folder(data_home, "hiv", addresses)
    _demand(folder, addresses, download_if_missing)
    isolates, table_sum = _load(folder / table, addresses, partial(_isolates, length=length))
    selected, listed_sum = _load(folder / listed, addresses, partial(_selected, length=length))
    return Bunch(
        drugs=isolates.drugs,
        problem=partial(_problem, isolates),
        treatment_selected=selected,
        sha256={table: table_sum, listed: listed_sum},
        DESCR=DESCRIPTION,
    )


def validated(selected: Iterable[str], treatment_selected: Iterable[int]) -> Validation:
    """Hold selected mutations against the treatment-selected positions.

    Parameters
    ----------
    selected : iterable of str
        Names such as ``"P30.N"``; several at one position count once.
    treatment_selected : iterable of int
        Positions, as `fetch_hiv` gives them.

    Returns
    -------
    Validation

    Examples
    --------
    >>> from tvstudy.datasets import validated
    >>> validated(["P46.L", "P12.K", "P46.I"], [30, 46])
    Validation(found=(12, 46), validated=(46,))
    """
    places = set()
    for name in selected:
        match = NAME.fullmatch(name)
        if match is None:
            raise ValueError(f"{name!r} is not the name of a mutation, such as 'P30.N'")
        places.add(int(match[1]))
    found = tuple(sorted(places))
    truth = {int(place) for place in treatment_selected}
    return Validation(found, tuple(place for place in found if place in truth))


def _problem(isolates: _Isolates, drug: str) -> Problem:
    """Clean the table for one drug, as the vignette does."""
    if drug not in isolates.drugs:
        raise ValueError(f"no drug {drug!r} here; there are {', '.join(isolates.drugs)}")
    fold = isolates.fold[:, isolates.drugs.index(drug)]
    measured = ~np.isnan(fold)
    present = isolates.present[measured]
    often = np.flatnonzero(present.sum(axis=0) >= SEEN)
    patterns = [present[:, column].tobytes() for column in often]
    copies = Counter(patterns)
    # Of two columns that are the same, neither can be told apart: the vignette drops both.
    alone = [column for column, pattern in zip(often, patterns, strict=True) if copies[pattern] < 2]
    return Problem(
        X=np.asarray(present[:, alone], dtype=np.float64),
        y=np.log(fold[measured]),
        names=tuple(isolates.names[column] for column in alone),
        positions=isolates.positions[alone],
    )


def _isolates(text: str, file: object, *, length: int) -> _Isolates:
    """Read labels, folds and positions P1 to P<length>, separated by tabs."""
    (_, header), *rows = _rows(text, file)
    wanted = [f"P{place}" for place in range(1, length + 1)]
    drugs = tuple(header[LABELS:-length])
    if header[-length:] != wanted or not drugs or len(set(drugs)) < len(drugs) or "" in drugs:
        raise ValueError(
            f"{file}, line 1: wanted {LABELS} labels, the names of the drugs and P1 to P{length}"
        )
    folds, genotypes = [], []
    for number, cells in rows:
        if len(cells) != len(header):
            raise ValueError(
                f"{file}, line {number}: {len(cells)} cells, where the first line has {len(header)}"
            )
        fold = [_fold(cell, f"{file}, line {number}") for cell in cells[LABELS:-length]]
        if all(CLEAN.fullmatch(cell) for cell in cells[-length:]):
            folds.append(fold)
            genotypes.append(cells[-length:])
    if not folds:
        raise ValueError(f"{file}: no isolate without a flagged cell")
    columns: dict[tuple[int, str], list[int]] = {}
    for isolate, genotype in enumerate(genotypes):
        for place, cell in enumerate(genotype, start=1):
            for acid in set(cell) - {".", "-"}:
                columns.setdefault((place, acid), []).append(isolate)
    present = np.zeros((len(genotypes), len(columns)), dtype=np.bool_)
    ordered = sorted(columns)
    for column, mutation in enumerate(ordered):
        present[columns[mutation], column] = True
    return _Isolates(
        drugs=drugs,
        fold=np.array(folds, dtype=np.float64),
        present=present,
        names=tuple(f"P{place}.{acid}" for place, acid in ordered),
        positions=np.array([place for place, _ in ordered], dtype=np.int64),
    )


def _fold(cell: str, line: str) -> float:
    if cell in ("NA", ""):
        return math.nan
    try:
        fold = float(cell)
    except ValueError:
        fold = math.nan
    if not 0.0 < fold < math.inf:
        raise ValueError(f"{line}: {_short(cell)} is neither a fold resistance above 0 nor NA")
    return fold


def _selected(text: str, file: object, *, length: int) -> tuple[int, ...]:
    """Read one position and its mutations per line."""
    places = set()
    for number, cells in _rows(text, file):
        place = cells[0].strip()
        known = PLACE.fullmatch(place) and 1 <= int(place) <= length
        if not known or len(cells) != 2 or not cells[1].strip():
            raise ValueError(
                f"{file}, line {number}: wanted a position from 1 to {length}, a tab and its "
                f"mutations, found {_short(' '.join(cells))}"
            )
        places.add(int(place))
    return tuple(sorted(places))


def _rows(text: str, file: object) -> list[tuple[int, list[str]]]:
    """Number and cells of each line that is not blank."""
    lines = enumerate(text.split("\n"), start=1)
    rows = [(number, line.split("\t")) for number, line in lines if line.strip()]
    if not rows:
        raise ValueError(f"{file} is empty")
    return rows


def _short(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else f"{cell[:40]}...")


def _demand(folder: Path, addresses: dict[str, str], download: bool) -> None:
    if not download and not all((folder / file).is_file() for file in addresses):
        raise OSError(_missing(folder, addresses, "download_if_missing is False"))


def _missing(folder: Path, addresses: dict[str, str], reason: str) -> str:
    """What to download, and where to put it."""
    steps = [
        f"  {SITES[0]}/{address}\n    as {folder / file}"
        for file, address in addresses.items()
        if not (folder / file).is_file()
    ]
    return "\n".join(["The HIV-1 data are not here. Download", *steps, f"({reason})"])


def _load(
    path: Path, addresses: dict[str, str], parse: Callable[[str, object], T]
) -> tuple[T, str]:
    """Read a file, or fetch it and keep it once it was understood; also its sha256."""
    if path.is_file():
        return _understood(path.read_bytes(), path, path.name, parse)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise OSError(_missing(path.parent, addresses, str(failure))) from failure
    failures = []
    for site in SITES:
        address = f"{site}/{addresses[path.name]}"
        try:
            with urlopen(address, timeout=SECONDS) as answer:
                content: bytes = answer.read(MOST_BYTES)
            result = _understood(content, address, path.name, parse)
        except (OSError, HTTPException, ValueError) as failure:
            failures.append(f"{address}: {failure}")
        else:
            _keep(content, path)
            return result
    raise OSError(_missing(path.parent, addresses, "; ".join(failures)))


def _understood(
    content: bytes, file: object, name: str, parse: Callable[[str, object], T]
) -> tuple[T, str]:
    # A copy may have gone through a system with other line ends: still the same data.
    plain = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n").rstrip(b"\n") + b"\n"
    digest = hashlib.sha256(plain).hexdigest()
    if KNOWN.get(name, (len(plain), digest)) != (len(plain), digest):
        size, wanted = KNOWN[name]
        raise OSError(
            f"{file} is not the published {name}: {len(plain)} bytes and sha256 {digest}, wanted "
            f"{size} and {wanted}"
        )
    # Every byte is a character of latin-1: odd ones are met where a cell is judged.
    return parse(plain.decode("latin-1"), file), digest


def _keep(content: bytes, path: Path) -> None:
    """Write all or nothing, also when several processes do."""
    part = path.with_name(f"{path.name}.part_{os.getpid()}")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
