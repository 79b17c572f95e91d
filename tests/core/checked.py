"""Run the tests of the native core with bounds that are checked, and with sanitizers.

``python -m tests.core.checked`` compiles the core twice into copies of the package: with views
that stop the program at the first access out of bounds, and with the address and
undefined-behaviour sanitizers of g++ and clang. The tests of the kernels, of what is built on
them, and the recorded plays are run against each copy. Exits with 1 when a test fails or the
program was stopped. ``checked`` or ``sanitized`` as an argument does one of them.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import hatch_build
from tests.exactness.patched import patched_copy, run_with

FLAGS = {"checked": hatch_build.CHECKED, "sanitized": hatch_build.SANITIZED}
TESTS = (
    "tests/core/test_core.py",
    "tests/trees",
    "tests/bandit/test_numbers.py",
    "tests/bandit/test_arms.py",
    "tests/bandit/test_oracle.py",
    "tests/inputs/test_table.py",
    "tests/decoys/test_normal_scores.py",
    "tests/omics/test_plink.py",
    "tests/selectors/test_genotypes.py",
    "tests/rewards/test_bart.py",
    "tests/rewards/test_bart_ahead.py",
    "tests/regression",
    "tests/rewards/test_rules.py",
    "tests/rewards/test_screening.py",
    "tests/exactness/test_geweke.py",
    "tests/exactness/test_prior_recovery.py",
    "tests/exactness/test_weighting.py",
)
LIMITED = "damaged arrays"  # in so little memory that there is no room for a sanitizer's own
STEPS = {
    "tests": ("-m", "pytest", "-q", "-m", "not long", "-p", "no:cacheprovider", *TESTS),
    "recorded plays": ("-m", "tests.recorded_plays"),
    LIMITED: ("-m", "fuzz", "--target", "core", "--cases", "5000"),
}
# Python itself leaves memory behind when it ends, and stops a test by signals of its own.
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:handle_segv=1:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


def preloaded() -> str:
    """The sanitizers' libraries, which have to be there before Python is."""
    compiler = hatch_build.find_compiler()
    if compiler is None or compiler.is_zig:
        raise SystemExit("the sanitizers need g++ or clang")
    found = []
    for name in ("libasan.so", "libubsan.so"):
        command = [*compiler.command, f"-print-file-name={name}"]
        path = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        if Path(path).is_absolute():
            found.append(path)
    return " ".join(found)


def check(kind: str) -> bool:
    """Build one copy, run all steps; whether they pass."""
    flags = FLAGS[kind]
    variables = {**OPTIONS, "LD_PRELOAD": preloaded()} if kind == "sanitized" else {}
    passed = True
    with tempfile.TemporaryDirectory() as folder:
        patched_copy(Path(folder), flags=flags)
        for name, arguments in STEPS.items():
            if kind == "sanitized" and name == LIMITED:
                continue
            started = time.monotonic()
            done = run_with(Path(folder), *arguments, flags=flags, **variables)
            lines = done.stdout.splitlines()
            last = lines[-1] if lines else ""
            print(f"{kind}, {name}: {last} ({time.monotonic() - started:.0f} s)", flush=True)
            if done.returncode:
                passed = False
                print(f"ended with {done.returncode}", done.stdout[-6000:], done.stderr[-6000:])
    return passed


def main(kinds: list[str]) -> int:
    passed = [check(kind) for kind in kinds or FLAGS]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
