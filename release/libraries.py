"""The libraries of the native core in a wheel: what they export, and what they need."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from zipfile import ZipFile

from packaging.version import Version

from benchmarks.records import ROOT
from hatch_build import levels, suffix
from release.commands import CommandError

if TYPE_CHECKING:
    import lief

# What every system of the kind has: no C++ runtime library is among it.
ON_EVERY_SYSTEM = re.compile(
    r"lib[cm]\.so\.6|/usr/lib/libSystem\.B\.dylib|KERNEL32\.dll|api-ms-win-crt-[-\w]+\.dll"
)
PROCESSORS = {"X86_64": "x86_64", "AMD64": "x86_64", "AARCH64": "aarch64", "ARM64": "aarch64"}
OF_THE_LINKER = {"_mh_dylib_header", "__dso_handle"}


@dataclass(frozen=True)
class Library:
    """What a library says of itself."""

    name: str
    n_bytes: int
    processor: str
    exports: frozenset[str]
    needs: tuple[str, ...]  #: other libraries
    oldest: Version | None  #: glibc or macOS that it runs with; nothing for Windows
    signed: bool | None = None  #: only on macOS

    def problems(self, target: str) -> list[str]:
        """What is wrong with it for the target of a wheel, one line each."""
        found = []
        if self.processor != target.split("-")[0]:
            found.append(f"is for {self.processor}")
        if missing := interface() - self.exports:
            found.append(f"does not export {', '.join(sorted(missing))}")
        if others := self.exports - interface():
            found.append(f"exports {', '.join(sorted(others))}")
        found += [f"needs {name}" for name in self.needs if not ON_EVERY_SYSTEM.fullmatch(name)]
        if self.oldest and self.oldest > Version(target.partition(".")[2]):
            found.append(f"needs version {self.oldest} of the system")
        if target.startswith("aarch64-macos") and not self.signed:
            found.append("is not signed, so macOS on ARM does not load it")
        return [f"{self.name} {what}" for what in found]


@cache
def interface() -> frozenset[str]:
    """The functions that core/tvselect.h declares."""
    declared = re.findall(r"^TVS_API\b[^;(]*?\b(\w+)\(", _header(), re.MULTILINE)
    return frozenset(declared)


def _header() -> str:
    return (ROOT / "core" / "tvselect.h").read_text()


def libraries(wheel: Path) -> list[Library]:
    """The libraries in a wheel."""
    with ZipFile(wheel) as archive:
        return [
            look_into(PurePosixPath(name).name, archive.read(name))
            for name in archive.namelist()
            if PurePosixPath(name).suffix in {".so", ".dylib", ".dll"}
        ]


def problems_of_libraries(wheel: Path, target: str) -> list[str]:
    """What is wrong with the libraries of a wheel for a target, one line each."""
    found = {library.name: library for library in libraries(wheel)}
    expected = {f"libtvselect_{level}{suffix(target)}" for level in levels(target)}
    problems = [problem for library in found.values() for problem in library.problems(target)]
    if found.keys() != expected:
        problems.append(f"{', '.join(sorted(found))} in place of {', '.join(sorted(expected))}")
    return [f"{wheel.name}: {problem}" for problem in problems]


def look_into(name: str, content: bytes) -> Library:
    """What a library of Linux, macOS or Windows says of itself."""
    import lief

    lief.logging.disable()  # of what it would like to know, too
    binary = lief.parse(content)
    if isinstance(binary, lief.ELF.Binary):
        return _of_linux(name, len(content), binary)
    if isinstance(binary, lief.MachO.Binary):
        return _of_macos(name, len(content), binary)
    if isinstance(binary, lief.PE.Binary):
        return _of_windows(name, len(content), binary)
    raise CommandError(f"{name} is no library")


def _of_linux(name: str, n_bytes: int, binary: lief.ELF.Binary) -> Library:
    return Library(
        name=name,
        n_bytes=n_bytes,
        processor=PROCESSORS[binary.header.machine_type.name],
        exports=_exports(binary),
        needs=tuple(map(str, binary.libraries)),
        oldest=_glibc(binary),
    )


def _of_macos(name: str, n_bytes: int, binary: lief.MachO.Binary) -> Library:
    exports = {export.removeprefix("_") for export in _exports(binary)}
    return Library(
        name=name,
        n_bytes=n_bytes,
        processor=PROCESSORS[binary.header.cpu_type.name],
        exports=frozenset(exports - OF_THE_LINKER),
        needs=tuple(str(needed.name) for needed in binary.libraries if needed.name != name),
        oldest=_macos(binary),
        signed=binary.has_code_signature,
    )


def _of_windows(name: str, n_bytes: int, binary: lief.PE.Binary) -> Library:
    return Library(
        name=name,
        n_bytes=n_bytes,
        processor=PROCESSORS[binary.header.machine.name],
        exports=_exports(binary),
        needs=tuple(map(str, binary.libraries)),
        oldest=None,
    )


def _exports(binary: lief.Binary) -> frozenset[str]:
    return frozenset(str(function.name) for function in binary.exported_functions)


def _glibc(binary: lief.ELF.Binary) -> Version | None:
    """The lowest version of glibc that has all that a library takes from it."""
    return max(map(Version, _versions_of_glibc(binary)), default=None)


def _versions_of_glibc(binary: lief.ELF.Binary) -> Iterator[str]:
    for requirement in binary.symbols_version_requirement:
        for symbol in requirement.get_auxiliary_symbols():
            name = str(symbol.name)
            if name.startswith("GLIBC_"):
                yield name.removeprefix("GLIBC_")


def _macos(binary: lief.MachO.Binary) -> Version:
    """The oldest macOS that a library is for."""
    old = binary.version_min  # how it was written before macOS 10.14
    numbers = old.version if old else binary.build_version.minos
    return Version(".".join(map(str, numbers[:2])))
