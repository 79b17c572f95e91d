from __future__ import annotations

import hashlib
import io
import os
import pickle
import shutil
from http.client import IncompleteRead
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tvstudy.datasets import Validation, fetch_hiv, hiv, validated

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"
# n x p after the usual cleaning, from the README next to the files.
SIZES = {
    "APV": (767, 201),
    "ATV": (328, 147),
    "IDV": (825, 206),
    "LPV": (515, 184),
    "NFV": (842, 207),
    "RTV": (793, 205),
    "SQV": (824, 206),
}
HEADER = ["IsolateName", "PseudoName", "MedlineID", "DLV", "EFV", *(f"P{k}" for k in range(1, 241))]


def shared(drug_class):
    if not (SHARED / "hiv" / f"{drug_class}_DATA.txt").is_file():
        pytest.skip(f"{drug_class}_DATA.txt is not in {SHARED / 'hiv'}")
    return fetch_hiv(drug_class, data_home=SHARED, download_if_missing=False)


def isolate(folds, **cells):
    """One line: the consensus but for the given cells."""
    row = ["CA1", "CA2", "3", *folds, *("-" for _ in range(240))]
    for position, cell in cells.items():
        row[HEADER.index(position)] = cell
    return row


# P181.C and P190.S are one column; so is P103.K where the fifth isolate has no response.
ROWS = [
    isolate(["1.0", "NA"], P103="N"),
    isolate(["10", "2.0"], P103="KN", P181="C", P190="S"),
    isolate(["0.5", "3.0"], P103="NK", P181="C", P190="S"),
    isolate(["4", "4.0"], P103="K", P181="YC", P190="GS", P100="."),
    isolate(["100.0", ""], P69="i", P103="K"),
    isolate(["100.0", "7"], P69="iT"),
    isolate(["1e2", "8"], P69="id"),
    isolate(["5.0", "9"], P103="N", P41="L*"),
]
LIST = "103\tN S\n181\tC I V\n"


def table(rows=ROWS, header=HEADER):
    return "\n".join("\t".join(row) for row in [header, *rows]) + "\n"


def put(folder, data=None, listed=LIST, drug_class="NNRTI"):
    for name, text in (("DATA", table() if data is None else data), ("tsm", listed)):
        content = text if isinstance(text, bytes) else text.encode("latin-1")
        (folder / f"{drug_class}_{name}.txt").write_bytes(content)
    return folder


def local(folder, drug_class="NNRTI"):
    return fetch_hiv(drug_class, data_home=folder, download_if_missing=False)


@pytest.fixture
def no_network(monkeypatch):
    """Count the calls; each fails as it does without a network."""
    calls = []

    def urlopen(address, timeout):
        calls.append(address)
        raise URLError("Name or service not known")

    monkeypatch.setattr(hiv, "urlopen", urlopen)
    return calls


def serve(monkeypatch, pages):
    """Answer with the pages whose address ends so; an exception is raised."""
    calls = []

    def urlopen(address, timeout):
        calls.append(address)
        page = next((page for end, page in pages.items() if address.endswith(end)), None)
        if page is None:
            raise URLError("HTTP Error 404: Not Found")
        if isinstance(page, Exception):
            raise page
        return io.BytesIO(page)

    monkeypatch.setattr(hiv, "urlopen", urlopen)
    return calls


# The published data


def test_the_sizes_are_those_of_the_vignette():
    data = shared("PI")
    assert {drug: data.problem(drug).X.shape for drug in data.drugs} == SIZES
    assert len(data.treatment_selected) == 34
    assert data.treatment_selected[:3] == (10, 11, 20)


@pytest.mark.parametrize("drug_class", ["PI", "NRTI", "NNRTI"])
def test_what_the_cleaning_promises_holds_for_every_drug(drug_class):
    data = shared(drug_class)
    for drug in data.drugs:
        X, y, names, positions = data.problem(drug)
        assert X.shape == (len(y), len(names)) == (len(y), len(positions))
        assert set(np.unique(X)) == {0.0, 1.0}
        assert np.isfinite(y).all()
        assert X.sum(axis=0).min() >= 3
        assert np.unique(X, axis=1).shape == X.shape
        assert len(set(names)) == len(names)
        assert [int(name[1:].split(".")[0]) for name in names] == positions.tolist()
        assert (np.diff(positions) >= 0).all()
        assert positions.min() >= 1
        assert positions.max() <= hiv.POSITIONS[drug_class]


def test_a_cell_of_the_file_is_a_cell_of_the_table():
    data = shared("PI")
    X, y, names, _ = data.problem("SQV")
    lines = (SHARED / "hiv" / "PI_DATA.txt").read_text().splitlines()
    header, first = lines[0].split("\t"), lines[1].split("\t")
    assert y[0] == pytest.approx(np.log(float(first[header.index("SQV")])))
    for name, value in zip(names, X[0], strict=True):
        position, acid = name.split(".")
        assert value == (acid in first[header.index(position)])


def test_the_folder_itself_will_do_and_other_line_ends_are_the_same_data(tmp_path):
    data = shared("PI")
    for name in ("PI_DATA.txt", "PI_tsm.txt"):
        content = (SHARED / "hiv" / name).read_bytes()
        assert data.sha256[name] == hashlib.sha256(content).hexdigest()
        (tmp_path / name).write_bytes(content.replace(b"\n", b"\r\n"))
    again = local(tmp_path, "PI")
    assert again.sha256 == data.sha256
    np.testing.assert_array_equal(again.problem("LPV").X, data.problem("LPV").X)


def test_a_changed_file_is_refused(tmp_path):
    shared("PI")
    for name in ("PI_DATA.txt", "PI_tsm.txt"):
        shutil.copyfile(SHARED / "hiv" / name, tmp_path / name)
    changed = tmp_path / "PI_DATA.txt"
    changed.write_bytes(changed.read_bytes().replace(b"32.7", b"32.8", 1))
    with pytest.raises(OSError, match=r"PI_DATA.txt is not the published .*212774 bytes.*b89d2ad"):
        local(tmp_path, "PI")


def test_the_bunch_survives_a_pickle():
    data = shared("PI")
    again = pickle.loads(pickle.dumps(data))
    np.testing.assert_array_equal(again.problem("ATV").X, data.problem("ATV").X)


# The cleaning


def test_the_cleaning_by_hand(tmp_path):
    data = local(put(tmp_path))
    assert data.drugs == ("DLV", "EFV")
    assert data.treatment_selected == (103, 181)
    X, y, names, positions = data.problem("DLV")
    # The last isolate is flagged; P181.C and P190.S are copies, so both are gone.
    assert names == ("P69.i", "P103.K", "P103.N")
    assert positions.tolist() == [69, 103, 103]
    np.testing.assert_allclose(y, np.log([1, 10, 0.5, 4, 100, 100, 100]))
    np.testing.assert_array_equal(
        X.T, [[0, 0, 0, 0, 1, 1, 1], [0, 1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 0, 0, 0]]
    )


def test_copies_and_counts_are_those_of_the_measured_isolates(tmp_path):
    # Without the first and the fifth isolate P103.K is a copy too, and the rest is rare.
    X, y, names, positions = local(put(tmp_path)).problem("EFV")
    np.testing.assert_allclose(y, np.log([2, 3, 4, 7, 8]))
    assert X.shape == (5, 0)
    assert names == ()
    assert positions.shape == (0,)


def test_an_unknown_drug_or_class_is_told_what_there_is(tmp_path):
    with pytest.raises(ValueError, match="no drug 'LPV' here; there are DLV, EFV"):
        local(put(tmp_path)).problem("LPV")
    with pytest.raises(ValueError, match="PI, NRTI, NNRTI, not 'INSTI'"):
        fetch_hiv("INSTI", data_home=tmp_path)


# Files someone else made


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", r"NNRTI_DATA\.txt is empty"),
        ("<!doctype html>\n<html></html>\n", r"line 1: wanted 3 labels"),
        (table(header=[*HEADER[:-1], "P241"]), r"line 1: wanted .* P1 to P240"),
        (table(header=[*HEADER[:4], "DLV", *HEADER[5:]]), r"line 1: wanted .* drugs"),
        (table([row[:3] + row[5:] for row in ROWS], HEADER[:3] + HEADER[5:]), r"line 1: wanted"),
        (table([]), r"no isolate without a flagged cell"),
        (table([ROWS[-1]]), r"no isolate without a flagged cell"),
        (table([ROWS[0], ROWS[1][:-1]]), r"line 3: 244 cells, where the first line has 245"),
        (table([ROWS[0], [*ROWS[1], ""]]), r"line 3: 246 cells"),
        (table([isolate(["high", "1"])]), r"line 2: 'high' is neither"),
        (table([isolate(["1", "0.0"])]), r"line 2: '0.0' is neither"),
        (table([isolate(["-3", "1"])]), r"line 2: '-3' is neither"),
        (table([isolate(["nan", "1"])]), r"line 2: 'nan' is neither"),
        (table([isolate(["9" * 9000, "1"])]), r"line 2: '9{40}\.\.\.' is neither"),
    ],
)
def test_a_broken_table_is_named_with_its_line(tmp_path, data, message):
    with pytest.raises(ValueError, match=message):
        local(put(tmp_path, data))


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ("\n\n", r"NNRTI_tsm\.txt is empty"),
        ("103\tN\n241\tA\n", r"line 2: wanted a position from 1 to 240.*'241 A'"),
        ("103\tN\n0\tA\n", r"line 2"),
        ("103\tN\n\nK181\tC\n", r"line 3"),
        ("103 N\n", r"line 1"),
        ("103\t \n", r"line 1"),
        ("103\tN\tS\n", r"line 1"),
        ("²\tN\n", r"line 1"),
        ("1" * 5000 + "\tN\n", r"line 1"),
    ],
)
def test_a_broken_list_is_named_with_its_line(tmp_path, listed, message):
    with pytest.raises(ValueError, match=message):
        local(put(tmp_path, listed=listed))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    where=st.integers(0, len(table()) + len(LIST)),
    cut=st.integers(0, 40),
    junk=st.binary(max_size=20),
)
def test_any_damage_is_read_or_refused_in_our_own_words(tmp_path, where, cut, junk):
    both = [table().encode(), LIST.encode()]
    which = int(where > len(both[0]))
    at = where - which * len(both[0])
    both[which] = both[which][:at] + junk + both[which][at + cut :]
    put(tmp_path, *both)
    try:
        data = local(tmp_path)
    except ValueError as error:
        refusal = str(error)
    else:
        refusal = None
    if refusal is None:
        assert all(np.isfinite(data.problem(drug).y).all() for drug in data.drugs)
    else:
        assert refusal.startswith(str(tmp_path / "NNRTI_"))


# Where the files come from


def test_a_download_is_kept_and_not_repeated(tmp_path, monkeypatch):
    pages = {"DATA/NNRTI_DATA.txt": table().encode(), "NP_TSM/NNRTI": LIST.encode()}
    calls = serve(monkeypatch, pages)
    data = fetch_hiv("NNRTI", data_home=tmp_path / "new")
    assert calls == [
        f"{hiv.SITES[0]}/DATA/NNRTI_DATA.txt",
        f"{hiv.SITES[0]}/MUTATIONLISTS/NP_TSM/NNRTI",
    ]
    folder = tmp_path / "new" / "hiv"
    assert sorted(os.listdir(folder)) == ["NNRTI_DATA.txt", "NNRTI_tsm.txt"]
    assert (folder / "NNRTI_DATA.txt").read_bytes() == table().encode()
    assert fetch_hiv("NNRTI", data_home=tmp_path / "new").sha256 == data.sha256
    assert len(calls) == 2


@pytest.mark.parametrize(
    "page", [b"<html>moved</html>", IncompleteRead(b"Isolate"), TimeoutError("timed out")]
)
def test_where_one_address_fails_the_next_one_serves(tmp_path, monkeypatch, page):
    pages = {
        "_wrapper/pages/published_analysis/genophenoPNAS2006/DATA/NNRTI_DATA.txt": page,
        "DATA/NNRTI_DATA.txt": table().encode(),
        "NP_TSM/NNRTI": LIST.encode(),
    }
    calls = serve(monkeypatch, pages)
    assert fetch_hiv("NNRTI", data_home=tmp_path).drugs == ("DLV", "EFV")
    assert len(calls) == 3


def test_a_download_that_is_not_the_published_file_is_not_kept(tmp_path, monkeypatch):
    serve(monkeypatch, {"PI_DATA.txt": table().encode()})
    with pytest.raises(OSError, match=r"is not the published PI_DATA\.txt"):
        fetch_hiv("PI", data_home=tmp_path)
    assert os.listdir(tmp_path / "hiv") == []


def test_offline_the_error_says_what_to_put_where(tmp_path, no_network):
    with pytest.raises(OSError, match="Name or service not known") as caught:
        fetch_hiv("NRTI", data_home=tmp_path)
    for file, address in (
        ("NRTI_DATA.txt", "DATA/NRTI_DATA.txt"),
        ("NRTI_tsm.txt", "MUTATIONLISTS/NP_TSM/NRTI"),
    ):
        assert f"{hiv.SITES[0]}/{address}\n    as {tmp_path / 'hiv' / file}" in str(caught.value)
    assert len(no_network) == 2


def test_only_the_missing_file_is_asked_for(tmp_path, no_network):
    (put(tmp_path) / "NNRTI_tsm.txt").unlink()
    with pytest.raises(OSError, match=r"NP_TSM/NNRTI") as caught:
        fetch_hiv("NNRTI", data_home=tmp_path)
    assert "NNRTI_DATA.txt" not in str(caught.value)


def test_without_leave_to_download_nothing_is_touched(tmp_path, no_network):
    with pytest.raises(OSError, match="download_if_missing is False"):
        local(tmp_path / "none")
    assert no_network == []
    assert os.listdir(tmp_path) == []


def test_a_data_home_that_cannot_be_made_is_named(tmp_path, no_network):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"not here(.|\n)*Not a directory"):
        fetch_hiv("NNRTI", data_home=tmp_path / "file")


def test_a_download_that_cannot_be_written_leaves_nothing_behind(tmp_path, monkeypatch):
    serve(monkeypatch, {"NNRTI_DATA.txt": table().encode()})

    def full(part, path):
        raise OSError("No space left on device")

    monkeypatch.setattr(hiv.os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        fetch_hiv("NNRTI", data_home=tmp_path)
    assert os.listdir(tmp_path / "hiv") == []


def test_the_default_home_is_the_environment_then_the_users(tmp_path, monkeypatch, no_network):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("TVSELECT_DATA", raising=False)
    with pytest.raises(OSError, match=str(tmp_path / "tvselect_data" / "hiv" / "PI_DATA.txt")):
        fetch_hiv(download_if_missing=False)
    put(tmp_path)
    monkeypatch.setenv("TVSELECT_DATA", str(tmp_path))
    assert fetch_hiv("NNRTI", download_if_missing=False).drugs == ("DLV", "EFV")


# Validation by position


@pytest.mark.parametrize(
    ("selected", "wanted"),
    [
        ([], Validation((), ())),
        (["P9.L", "P103.N", "P103.S"], Validation((9, 103), (103,))),
        (np.array(["P181.C", "P69.i", "P70.d"]), Validation((69, 70, 181), (181,))),
    ],
)
def test_a_selection_counts_by_position(selected, wanted):
    assert validated(selected, (103, 181)) == wanted
    assert validated(selected, np.array([181, 103])) == wanted


@pytest.mark.parametrize("name", ["P30", "30.N", "P30.n", "P30.NN", "x1", "P30.N\n", ""])
def test_a_name_that_is_no_mutation_is_refused(name):
    with pytest.raises(ValueError, match="not the name of a mutation"):
        validated(["P30.N", name], [30])
