"""The dialect of CSV files: the code of tvselect against DuckDB's sniffer and charset-normalizer.

``pip install --target /tmp/duck duckdb charset-normalizer``, then
``PYTHONPATH=/tmp/duck python -m benchmarks.csv_sniffer`` writes docs/results/csv_sniffer.md.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from random import Random

import pytest

from benchmarks.records import heading, record
from fuzz.targets import TARGETS
from fuzz.targets.tables import put_csv
from tvselect.sources import SourceError, csv, open_files

N_CASES, MOST_SHOWN = 3000, 8
TESTS = ("tests/sources", "tests/cli/test_formats.py", "tests/runs/test_inspection.py")
MARKS_OF_SEEDS = ",\t,,;;|,,,,,"
COMMAND = "python -m benchmarks.csv_sniffer"
REFUSED = "refused"
NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "blanks", REFUSED: REFUSED}
LANGUAGES = {
    "German": "Größe;Übung;Straße\nKöln;Zürich;Düsseldorf\nMünchen;Lübeck;Gießen\n",
    "French": "prénom;ville;été\nZoé;Besançon;élève\nJosé;Nîmes;château\n",
    "Spanish": "año;niño;corazón\nLeón;Cádiz;Málaga\nespañol;mañana;jamón\n",
    "Polish": "imię;miasto;płeć\nŁukasz;Łódź;mężczyzna\nZofia;Gdańsk;kobieta\n",
    "Russian": "имя;город;возраст\nАнна;Москва;тридцать\nИван;Казань;сорок\n",  # noqa: RUF001
    "one odd letter": "name;town;y\nanna;Köln;1\nben;Bonn;2\ncarl;Trier;3\n",
}
CODECS = ("utf-8", "utf-16", "cp1252", "cp1250", "cp1251")


class Heads:
    """A plugin of pytest that keeps the first bytes of every CSV file that a test opens."""

    def __init__(self) -> None:
        self.seen: set[tuple[bytes, str]] = set()

    @pytest.fixture(autouse=True)
    def _keep(self, monkeypatch):
        plain = csv.find_dialect

        def spy(head, path, delimiter=None, decimal=None):
            if delimiter is None:
                self.seen.add((head, ".tsv" if ".tsv" in path.lower() else ".csv"))
            return plain(head, path, delimiter, decimal)

        monkeypatch.setattr(csv, "find_dialect", spy)


def ours(path: Path) -> str:
    try:
        return open_files(path).dialect.delimiter
    except SourceError:
        return REFUSED


def of_duckdb(connection, path: Path) -> str:
    import duckdb

    try:
        found = connection.execute("SELECT Delimiter FROM sniff_csv(?)", [str(path)]).fetchone()
    except duckdb.Error:
        return REFUSED
    return found[0]


def fuzzed(folder: Path) -> list[tuple[Path, str | None]]:
    """Damaged files, and the delimiter of the sound file where the header still has it."""
    target, files = TARGETS["csv"], []
    for number in range(N_CASES):
        (folder / str(number)).mkdir()
        data = target.case(1, number)
        path, mode = put_csv(data, folder / str(number))
        is_seed = number < len(target.seeds)
        seed = data if is_seed else Random(f"1/csv/{number}").choice(target.seeds)
        mark = MARKS_OF_SEEDS[target.seeds.index(seed)]
        is_known = mode not in (2, 3) and mark.encode() in data[1:].split(b"\n")[0]
        files.append((path, mark if is_known else None))
    return files


def compare(files: list[tuple[Path, str | None]], what: str) -> tuple[str, list[str]]:
    """A row of the first table, and some of the second."""
    import duckdb

    connection = duckdb.connect()
    seconds, found = [], []
    for sniff in (ours, partial(of_duckdb, connection)):
        started = time.perf_counter()
        found.append([sniff(path) for path, _ in files])
        seconds.append(f"{time.perf_counter() - started:.1f}")
    triples = list(zip(*found, [truth for _, truth in files], strict=True))
    differ = Counter(t for t in triples if t[0] != t[1])
    judged = Counter({t: n for t, n in differ.items() if t[2] and t[0] != REFUSED})
    n_ours = sum(n for (mine, _, truth), n in judged.items() if mine == truth)
    n_other = sum(n for (_, other, truth), n in judged.items() if other == truth)
    numbers = (len(files), len(files) - differ.total(), judged.total(), n_ours, n_other)
    row = [what, *(f"{n:,}" for n in numbers), *seconds]
    most = judged.most_common(MOST_SHOWN)
    return line(row), [line([what, *map(NAMES.__getitem__, t), f"{n:,}"]) for t, n in most]


def encodings() -> list[str]:
    """What each makes of short texts."""
    from charset_normalizer import from_bytes

    rows = []
    for language, text in LANGUAGES.items():
        for codec in CODECS:
            data = text.encode(codec, "ignore")
            if data.decode(codec) == text:
                mine, best = csv.find_encoding(data, language), from_bytes(data).best()
                here = data.decode(csv.CODECS[mine], "replace")
                answers = (mine, here), (best.encoding, str(best))
                said = [f"{name}{'' if t == text else ' (wrong)'}" for name, t in answers]
                rows.append(line([language, codec, *said]))
    return rows


def line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Compare, and write the page."""
    heads = Heads()
    pytest.main(["-q", "-n", "0", "-m", "not long", *TESTS], plugins=[heads])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tested: list[tuple[Path, str | None]] = []
        for number, (head, ending) in enumerate(sorted(heads.seen)):
            path = folder / f"test-{number}{ending}"
            path.write_bytes(head)
            tested.append((path, ours(path)))  # the tests pass: that is what they expect
        results = [compare(tested, "tests"), compare(fuzzed(folder), "damaged")]
    pages = [
        *heading("The dialect of CSV files: the code here and DuckDB's sniffer", COMMAND),
        "**The code here stays.** Where the two differ and the truth is known it is nearly always "
        "right, it takes less time, and it finds what DuckDB's sniffer does not look for: blanks "
        "between cells, other encodings than UTF-8, the mark before fractions.",
        "",
        f"`sniff_csv` of DuckDB {version('duckdb')} and `find_dialect`, on files that tests open "
        "without saying a delimiter (right is the answer of the code here, with which the tests "
        "pass) and on damaged ones of the fuzzer (right is the delimiter of the sound file, if the "
        "header still has it). Files that are refused here as no text are not judged.",
        "",
        "| files | how many | same answer | differ, truth known | right here | right in DuckDB | "
        "seconds here | DuckDB |",
        "|---|---|---|---|---|---|---|---|",
        *(row for row, _ in results),
        "",
        "What they say where they differ, the most frequent ones:",
        "",
        "| files | here | DuckDB | truth | how many |",
        "|---|---|---|---|---|",
        *(row for _, rows in results for row in rows),
        "",
        f"Encodings of short texts by the code here and by charset-normalizer "
        f"{version('charset-normalizer')}, which knows more of them but takes the most frequent "
        "one, Windows-1252, for others:",
        "",
        "| text | written in | read here as | by charset-normalizer as |",
        "|---|---|---|---|",
        *encodings(),
    ]
    record("csv_sniffer.md", pages)


if __name__ == "__main__":
    main()
