"""The same targets under atheris, which looks for new paths by coverage.

``pip install 'tvselect[fuzz]'`` (atheris needs clang), then
``python -m fuzz.atheris_run TARGET [FOLDER] [-runs=100000] [-seed=1] ...``; all but the target
goes to libFuzzer. The mutations are ours and libFuzzer's in turn.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any

from fuzz.mutation import mutate
from fuzz.targets import TARGETS
from fuzz.verdict import fault_in
from fuzz.worker import MEGABYTES, Bench


def main() -> None:
    """Fuzz one target until libFuzzer has had enough."""
    atheris: Any = importlib.import_module("atheris")
    name, *options = sys.argv[1:]
    target = TARGETS[name]
    corpus = Path(tempfile.mkdtemp(prefix=f"fuzz-{name}-"))
    for number, seed in enumerate(target.seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    bench = Bench(target)

    def read(data: bytes) -> None:
        error = bench.outcome(data)
        if error is not None and fault_in(error) is not None:
            raise error

    def change(data: bytes, most: int, seed: int) -> bytes:
        rng = Random(seed)
        if rng.random() < 0.5:
            return atheris.Mutate(data, most)
        return mutate(data, rng, target.seeds, target.tokens, target.changes)[:most]

    limits = [f"-timeout={target.seconds:.0f}", f"-malloc_limit_mb={MEGABYTES}", "-rss_limit_mb=0"]
    atheris.instrument_all()
    atheris.Setup([sys.argv[0], *limits, *options, str(corpus)], read, custom_mutator=change)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
