"""Python on an ARM processor that QEMU emulates, to try out the wheel for Linux on ARM.

Debian's Python for ARM is unpacked into a folder, without being installed; the packages go beside
it. It needs ``qemu-user`` and Debian's apt-get.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from packaging.version import Version

from release.commands import CommandError, run
from release.environments import versions_in, without_ours

EMULATORS = ("qemu-aarch64-static", "qemu-aarch64")
# Python, and the libraries that wheels expect to find on every system.
DEBIAN = ("python3", "libstdc++6", "libgomp1")
PLATFORMS = ("manylinux2014_aarch64", "manylinux_2_28_aarch64")


class ArmPython:
    """Debian's Python for ARM in a folder, run by QEMU.

    Raises
    ------
    CommandError
        Where ARM cannot be emulated.
    """

    def __init__(self, folder: Path) -> None:
        emulator = next((path for name in EMULATORS if (path := shutil.which(name))), None)
        if emulator is None:
            raise CommandError("there is no qemu-aarch64: install qemu-user")
        root = folder / "root"
        unpack(folder, root)
        self._command = (emulator, "-L", root, root / "usr" / "bin" / "python3")
        self._packages = root / "usr" / "lib" / "python3" / "dist-packages"
        self.scripts = self._packages / "bin"
        self.work = folder / "work"
        self.work.mkdir()
        self.version = self.run("-c", "import sys; print(*sys.version_info[:2], sep='.')").strip()

    def install(self, *packages: str) -> None:
        """Install wheels for ARM, by the pip of this machine."""
        platforms = [word for name in PLATFORMS for word in ("--platform", name)]
        python = ("--python-version", self.version, "--only-binary", ":all:", *platforms)
        self._pip("install", "--quiet", *python, "--target", self._packages, *packages)

    def run(self, *arguments: str | Path) -> str:
        """Run it, and return what it prints."""
        environment = without_ours() | {"XDG_CACHE_HOME": str(self.work)}
        return run(*self._command, *arguments, cwd=self.work, environment=environment)

    def versions(self) -> dict[str, Version]:
        """What is installed, by name."""
        return versions_in(self._pip("list", "--format", "json", "--path", self._packages))

    def _pip(self, *arguments: str | Path) -> str:
        return run(sys.executable, "-m", "pip", *arguments)


def unpack(folder: Path, root: Path) -> None:
    """Get Debian's packages for ARM, with all they need, and unpack them; no rights are needed."""
    for part in ("state/lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True)
    (folder / "status").touch()
    settings = (
        "APT::Architecture=arm64",
        "APT::Architectures=arm64",
        f"Dir::State={folder / 'state'}",
        f"Dir::State::status={folder / 'status'}",
        f"Dir::Cache={folder / 'cache'}",
    )
    apt = ("apt-get", "--quiet", *(word for setting in settings for word in ("-o", setting)))
    run(*apt, "update")
    run(*apt, "install", "--yes", "--no-install-recommends", "--download-only", *DEBIAN)
    for package in sorted((folder / "cache" / "archives").glob("*.deb")):
        run("dpkg-deb", "-x", package, root)
