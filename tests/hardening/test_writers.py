"""Several runs that write to one journal: one goes on, the others are told."""

from __future__ import annotations

import json

import pytest

from tests.hardening.scripts import python
from tests.selectors.runs import assert_same
from tests.selectors.streams import make_data, parts, play_parts, selector
from tvselect.bandit.journal import JournalError

WRITERS = """
def race(play, journal, n_writers):
    play(None, 10)  # what is loaded on first use is loaded before the race
    start, go = os.pipe()
    writers = []
    for _ in range(n_writers):
        ours, theirs = os.pipe()
        writer = os.fork()
        if writer == 0:
            os.close(go)
            os.read(start, 1)  # ends for all of them when the other side is closed
            try:
                said = ["done", bits(play(journal))]
            except JournalError as error:
                said = ["refused", str(error)]
            except BaseException as error:
                said = ["failed", repr(error)]
            with os.fdopen(theirs, "w") as file:
                json.dump(said, file)
            os._exit(0)
        os.close(theirs)
        writers.append((writer, ours))
    os.close(start)
    os.close(go)
    said = []
    for writer, ours in writers:
        with os.fdopen(ours) as file:
            said.append(json.load(file))
        os.waitpid(writer, 0)
    return said, bits(play(journal)), bits(play())

print(json.dumps([race(play, f"{sys.argv[1]}/{play.__name__}", 4) for play in (fit, fit_stream)]))
"""


def test_of_runs_that_race_one_ends_well_and_no_play_is_lost(tmp_path):
    for said, resumed, alone in json.loads(python(WRITERS, tmp_path).stdout):
        assert resumed == alone
        assert all(result == alone for word, result in said if word == "done")
        assert any(word == "done" for word, _ in said)
        for word, message in said:
            assert word in ("done", "refused"), message
            if word == "refused":
                assert str(tmp_path) in message
                assert "only one run may write" in message or "is just making it" in message


def test_a_stream_that_is_refused_leaves_the_encoder_of_the_other_as_it_is(tmp_path):
    X, y = make_data()
    batches = parts(X, y)
    path = tmp_path / "run.journal"
    late = play_parts(selector(journal=path), batches[:3])
    first = play_parts(selector(journal=path), batches[3:])
    assert first._reader.encoder.is_full
    for _ in range(2):
        with pytest.raises(JournalError, match="only one run may write"):
            late.partial_fit(*batches[3])
    resumed = play_parts(selector(journal=path), batches[:2])
    assert_same(resumed, play_parts(selector(), [*batches, *batches[:2]]))
    for name in ("low", "step", "starts", "halfway"):
        kept, wanted = (getattr(s._reader.encoder.cuts, name) for s in (resumed, first))
        assert kept.tolist() == wanted.tolist()
