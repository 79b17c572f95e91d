"""Builds the native core: a library for every instruction set, each by one call of a compiler.

Hatchling runs this for every wheel and every editable installation. By hand::

    python hatch_build.py                                   # into src/tvselect
    python hatch_build.py --folder /tmp/core --checked      # views check their bounds

The compiler is that of the environment variable ``CXX``, else the system's, else Zig's, which comes
as the Python package ``ziglang``. With ``TVSELECT_TARGET=aarch64-linux-gnu.2.17`` a wheel is made
for another kind of machine (``WHEELS``), always by Zig. Of the environment nothing else counts, and
no ``CXXFLAGS``: the same seed has to give the same numbers, however the core was compiled.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

ROOT = Path(__file__).parent
CORE = ROOT / "core"
PACKAGE = ROOT / "src" / "tvselect"

#: What a wheel is called, by the target that it is compiled for.
WHEELS = {
    "x86_64-linux-gnu.2.17": "manylinux_2_17_x86_64.manylinux2014_x86_64",
    "aarch64-linux-gnu.2.17": "manylinux_2_17_aarch64.manylinux2014_aarch64",
    "x86_64-macos.10.13": "macosx_10_13_x86_64",
    "aarch64-macos.11.0": "macosx_11_0_arm64",
    "x86_64-windows-gnu": "win_amd64",
}

LANGUAGE = ("-std=c++20", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics")
# All compilers and all instruction sets give the same bits: nothing is reordered or contracted.
NUMBERS = ("-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
# Vectors that are wider than a register are meant, and never handed to other libraries.
WARNINGS = ("-Wall", "-Wextra", "-Wno-psabi")
FLAGS = (*LANGUAGE, *NUMBERS, *WARNINGS, "-fvisibility=hidden", "-g0")
# "--as-needed" leaves out the C++ runtime library, of which nothing is used.
LINKING = {
    ".so": ("-shared", "-fPIC", "-Wl,--as-needed"),
    ".dylib": ("-shared", "-fPIC"),
    ".dll": ("-shared",),
}
CHECKED = ("-DTVS_CHECKED", "-O1", "-g")
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-O1", "-g")

ARCHITECTURES = {"v2": "x86-64-v2", "v3": "x86-64-v3", "v4": "x86-64-v4"}
WIDE = "-mprefer-vector-width=512"
REMEDY = "tvselect needs a C++20 compiler: install g++ or clang, or pip install ziglang"


class BuildError(Exception):
    """The core cannot be built; the last line says what to do about it."""


class Compiler(NamedTuple):
    """A command that compiles C++, and its dialect."""

    command: tuple[str, ...]

    @property
    def is_zig(self) -> bool:
        """Whether it is Zig, which names processors in a way of its own."""
        return any("zig" in Path(word).name for word in self.command)

    def call(self, level: str | None, target: str | None = None) -> list[str]:
        """The command and its flags for an instruction set; None takes what all machines have."""
        instructions = _by_zig(level, target) if self.is_zig else _by_others(level)
        return [*self.command, *FLAGS, *instructions]

    def works(self) -> bool:
        """Whether it knows the language and the instruction sets, which old ones do not."""
        level = levels()[-1]
        command = [*self.call(level), "-fsyntax-only", "-x", "c++", str(CORE / "bits.h")]
        return subprocess.run(command, capture_output=True).returncode == 0


def _by_others(level: str | None) -> list[str]:
    architecture = [f"-march={ARCHITECTURES[level]}"] if level in ARCHITECTURES else []
    return [*architecture, *(["-mavx512vpopcntdq", WIDE] if level == "v4" else [])]


def _by_zig(level: str | None, target: str | None) -> list[str]:
    # Left to itself, Zig compiles for the very processor that it runs on.
    processor = ARCHITECTURES.get(level or "", "baseline").replace("-", "_")
    wide = level == "v4"
    return [
        *("-target", target or "native"),
        f"-mcpu={processor}{'+avx512vpopcntdq' if wide else ''}",
        *([WIDE] if wide else []),
        "-nostdlib++",
    ]


def find_compiler(target: str | None = None) -> Compiler | None:
    """The compiler to take for a target, this machine if None; None where there is none."""
    if target is None and (found := _of_the_system()):
        return found
    there = importlib.util.find_spec("ziglang")
    return Compiler((sys.executable, "-m", "ziglang", "cc")) if there else None


def _of_the_system() -> Compiler | None:
    if named := os.environ.get("CXX"):
        return Compiler(tuple(shlex.split(named)))
    if sys.platform == "win32":  # where g++ does not align wide vectors on the stack
        return None
    found = (shutil.which(name) for name in ("c++", "g++", "clang++"))
    compilers = (Compiler((path,)) for path in found if path)
    return next((compiler for compiler in compilers if compiler.works()), None)


def requirements(target: str | None = None) -> list[str]:
    """The Python packages that a build needs: Zig, where the system has no compiler for it."""
    return [] if target is None and _of_the_system() else ["ziglang"]


def levels(target: str | None = None) -> tuple[str, ...]:
    """The instruction sets that there is a library for.

    Examples
    --------
    >>> levels("x86_64-macos.10.13"), levels("aarch64-linux-gnu.2.17"), levels("riscv64-linux-musl")
    (('v2', 'v3', 'v4'), ('arm',), ('any',))
    """
    processor = target.split("-")[0] if target else platform.machine().lower()
    if processor in ("x86_64", "amd64"):
        return ("v2", "v3", "v4")
    return ("arm",) if processor in ("aarch64", "arm64") else ("any",)


def suffix(target: str | None = None) -> str:
    """What the file of a library ends with.

    Examples
    --------
    >>> suffix("x86_64-windows-gnu"), suffix("aarch64-macos.11.0"), suffix("aarch64-linux-gnu")
    ('.dll', '.dylib', '.so')
    """
    system = target.split("-")[1] if target else sys.platform
    if system.startswith("win"):
        return ".dll"
    return ".dylib" if system.startswith(("macos", "darwin")) else ".so"


def wheel_platform(target: str | None = None) -> str:
    """The machines that a wheel is for, as its name says it."""
    if target is not None:
        if target not in WHEELS:
            raise BuildError(f"TVSELECT_TARGET={target} is none of {', '.join(WHEELS)}")
        return WHEELS[target]
    if sys.platform == "darwin":  # Python itself may be for older systems, and for two processors
        from packaging.tags import mac_platforms

        return next(iter(mac_platforms()))
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def compile_library(
    source: Path,
    folder: Path,
    *,
    name: str,
    core: Path = CORE,
    target: str | None = None,
    level: str | None = None,
    extra: Sequence[str] = (),
) -> Path:
    """Compile a source into a library ``lib<name>``, whole and at once: a process may have the old.

    It may include headers of ``core``. ``target`` is one of Zig, this machine by default, ``level``
    one of its ``levels()``, what all machines of the kind have by default; ``extra`` are flags
    behind those of every build.
    """
    compiler = find_compiler(target)
    if compiler is None:
        raise BuildError(f"{REMEDY}; none was found")
    folder.mkdir(parents=True, exist_ok=True)
    file = f"lib{name}{suffix(target)}"
    command = [
        *compiler.call(level, target),
        *LINKING[suffix(target)],
        *extra,
        f"-DTVS_SOURCE={digest(core)}",
        f"-I{core.resolve()}",
        *("-o", file, str(source.resolve())),
    ]
    with TemporaryDirectory(prefix=".build-", dir=folder) as work:
        _run(command, Path(work))
        return (Path(work) / file).replace(folder / file)


def digest(core: Path) -> int:
    """A number of 63 bits for the sources of the core, the same on all systems."""
    total = hashlib.sha256()
    for file in _files(core):
        total.update(file.name.encode() + b"\0" + file.read_bytes().replace(b"\r\n", b"\n"))
    return int.from_bytes(total.digest()[:8], "big") >> 1


def _files(core: Path) -> list[Path]:
    return sorted(file for file in core.iterdir() if file.is_file())


def _run(command: Sequence[str], folder: Path) -> None:
    """Run a compiler in a folder, and show its warnings."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    except OSError as error:
        raise BuildError(f"{REMEDY}; {command[0]}: {error.strerror}") from None
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        said = next(iter(errors), f"exit code {done.returncode}")
        raise BuildError(f"{done.stderr}\n{REMEDY}; the compiler said: {said}")
    sys.stderr.write(done.stderr)


def build_core(
    folder: Path,
    *,
    core: Path = CORE,
    target: str | None = None,
    only: Iterable[str] | None = None,
    extra: Sequence[str] = (),
) -> list[Path]:
    """Compile the core for all instruction sets of a target, or for some, two at a time."""

    def build(level: str) -> Path:
        return compile_library(
            core / "tvselect.cpp",
            folder,
            name=f"tvselect_{level}",
            core=core,
            target=target,
            level=level,
            extra=extra,
        )

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(build, levels(target) if only is None else only))


def is_current(folder: Path) -> bool:
    """Whether a folder has the libraries for this machine, newer than all they are made of."""
    libraries = [folder / f"libtvselect_{level}{suffix()}" for level in levels()]
    if not all(library.exists() for library in libraries):
        return False
    sources = [Path(__file__), *_files(CORE)]
    oldest = min(library.stat().st_mtime for library in libraries)
    return oldest > max(source.stat().st_mtime for source in sources)


def main(arguments: Sequence[str] | None = None) -> int:
    """Build by hand; returns 1 when it cannot be done."""
    options = _parser().parse_args(arguments)
    if options.requirements:
        print(*requirements(options.target), sep="\n", end="")
        return 0
    extra = [*(CHECKED if options.checked else ()), *(SANITIZED if options.sanitize else ())]
    try:
        made = build_core(options.folder, target=options.target, extra=extra)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    print(*made, sep="\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--folder", type=Path, default=PACKAGE, help="where the libraries go; src/tvselect")
    add("--target", help="of Zig, as aarch64-linux-gnu.2.17; this machine")
    add("--checked", action="store_true", help="views check their bounds, for tests")
    add("--sanitize", action="store_true", help="with the sanitizers of g++ and clang, for tests")
    add("--requirements", action="store_true", help="only list the packages that a build needs")
    return parser


try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # by hand, or imported by tests
    pass
else:

    class CoreHook(BuildHookInterface):  # type: ignore[type-arg]
        """Puts the libraries into wheels, and beside the sources of editable installations."""

        def dependencies(self) -> list[str]:
            """What has to be installed before the build."""
            return requirements(os.environ.get("TVSELECT_TARGET"))

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            """Build the core; a wheel that holds it is for any Python 3 of a kind of machine."""
            try:
                self._build(version, build_data)
            except BuildError as error:
                self.app.abort(str(error))

        def _build(self, version: str, build_data: dict[str, Any]) -> None:
            target = os.environ.get("TVSELECT_TARGET")
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{wheel_platform(target)}"
            if version == "editable":
                if not is_current(PACKAGE):
                    build_core(PACKAGE)
                return
            self._folder = TemporaryDirectory(prefix="tvselect-core-")
            made = build_core(Path(self._folder.name), target=target)
            build_data["force_include"] |= {str(path): f"tvselect/{path.name}" for path in made}

        def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
            """Remove what was built on the way."""
            if version != "editable":
                self._folder.cleanup()


if __name__ == "__main__":
    sys.exit(main())
