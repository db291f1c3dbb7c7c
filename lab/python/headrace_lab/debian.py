"""A program of another Debian suite, in a folder of its own: nothing of the system is touched, and no root is needed.

>>> mysqld = debian_package("sid", "mysql-server-core", without=("perl*",)).program("mysqld")  # doctest: +SKIP

apt-get resolves, downloads and verifies, with lists and caches of its own, from the mirror that the system itself uses;
dpkg-deb unpacks. The programs run through their suite's own dynamic loader, as its C library may be newer than the
system's.
"""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from headrace.testing import ServerUnavailable

CACHE_VARIABLE: Final = "HEADRACE_CACHE"
"""Environment variable that names the folder where downloads are kept."""
KEYRING: Final = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
"""The keys that Debian's archive is signed with, of the package ``debian-archive-keyring``."""
RETRIES: Final = 3
"""How often apt-get tries a download again."""
HOME: Final = "home"
"""The folder of :attr:`Unpacked.home`."""


@dataclass(frozen=True)
class Unpacked:
    """A package and all that it depends on, unpacked into one folder."""

    root: Path

    @property
    def home(self) -> Path:
        """An installation in the shape of programs' own archives: ``bin``, ``lib`` and ``share``. In ``bin``
        is a script for each program of ``usr/bin`` and ``usr/sbin``; the program takes its place."""
        return self.root / HOME

    def program(self, name: str) -> Path:
        """The script that starts a program. Raises ServerUnavailable where the package has no such program."""
        found = self.home / "bin" / name
        if not found.exists():
            raise ServerUnavailable(f"{self.root} has no program {name}")
        return found


def cache_folder() -> Path:
    """Where downloads are kept from run to run. Accounts that servers run as must be able to read it, which root's home
    does not let them."""
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return Path(given).absolute()
    if os.geteuid() == 0:
        return Path("/var/cache/headrace")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headrace"


def debian_package(suite: str, package: str, *more: str, without: Sequence[str] = ()) -> Unpacked:
    """The newest version of a package, with what it depends on. What was fetched once is not fetched again: remove
    the folder for a newer version.

    Args:
        suite: such as ``trixie`` or ``sid``.
        package: such as ``mysql-server-core``.
        more: packages that are unpacked into the same folder.
        without: patterns of packages that are not needed, though depended on.

    Raises:
        ServerUnavailable: there is no apt-get, no mirror can be reached, or none has the package.
    """
    package = " ".join((package, *more))
    root = cache_folder() / "debian" / suite / package.replace(" ", "+")
    if root.exists():
        return Unpacked(root)
    missing = [name for name in ("apt-get", "dpkg-deb") if not shutil.which(name)]
    if missing or not KEYRING.exists():
        lacks = " and ".join(missing) or str(KEYRING)
        raise ServerUnavailable(
            f"{package} of Debian's {suite} cannot be fetched without {lacks}; run this on Debian, or on a system with "
            "the packages apt and debian-archive-keyring"
        )
    root.parent.mkdir(parents=True, exist_ok=True)
    with open(root.parent / f".{root.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not root.exists():
            for left in root.parent.glob(f".{root.name}.half-*"):
                shutil.rmtree(left)
            half = Path(tempfile.mkdtemp(prefix=f".{root.name}.half-", dir=root.parent))
            try:
                half.chmod(0o755)
                _Download(half, suite, package).unpack(root, without)
                # A process that is killed before this leaves nothing that looks complete.
                (half / "root").rename(root)
            finally:
                shutil.rmtree(half, ignore_errors=True)
    return Unpacked(root)


class _Download:
    """One download, with apt-get's lists and caches in a folder that is thrown away."""

    def __init__(self, folder: Path, suite: str, package: str) -> None:
        """``package`` may be several, with spaces between."""
        self.folder, self.suite, self.package = folder, suite, package
        for name in ("state/lists/partial", "cache/archives/partial", "debs", "root"):
            (folder / name).mkdir(parents=True)
        (folder / "status").touch()  # no package is installed
        (folder / "apt.conf").write_text(
            f'Dir::State "{folder}/state";\n'
            f'Dir::State::status "{folder}/status";\n'
            f'Dir::Cache "{folder}/cache";\n'
            f'Dir::Etc::SourceList "{folder}/sources.list";\n'
            'Dir::Etc::SourceParts "/dev/null";\n'
            'Dir::Etc::Preferences "/dev/null";\n'
            'Dir::Etc::PreferencesParts "/dev/null";\n'
            f'Acquire::Retries "{RETRIES}";\n'
            # A mirror that is some weeks behind still has what its list names; the list's signature is verified.
            'Acquire::Check-Valid-Until "false";\n'
            'APT::Sandbox::User "";\n'
            'APT::Default-Release "";\n'
            # Such as cleaning the system's own cache.
            + "".join(f"#clear APT::Update::{hook};\n" for hook in ("Pre-Invoke", "Post-Invoke", "Post-Invoke-Success"))
        )

    def unpack(self, final: Path, without: Sequence[str]) -> None:
        """Downloads, and unpacks into ``root``. ``final`` is where that will be when it is used."""
        self._update()
        chosen = [(name, version) for name, version in self._closure() if not any(fnmatch(name, p) for p in without)]
        done = self._apt("download", *(f"{name}={version}" for name, version in chosen))
        if done.returncode:
            raise self._unavailable(done.stderr)
        root = self.folder / "root"
        for archive in (self.folder / "debs").glob("*.deb"):
            done = subprocess.run(["dpkg-deb", "-x", archive, root], capture_output=True, text=True, check=False)
            if done.returncode:
                raise self._unavailable(done.stderr)
        # mkdtemp makes folders for the user alone, and archives may do the same.
        root.chmod(0o755)
        (root / "packages").write_text("".join(f"{name} {version}\n" for name, version in chosen))
        self._scripts(root, final)

    def _update(self) -> None:
        """Takes the lists of the first mirror that has the suite."""
        errors: list[str] = []
        for mirror in mirrors():
            (self.folder / "sources.list").write_text(
                f"deb [signed-by={KEYRING} lang=none target=Packages] {mirror} {self.suite} main\n"
            )
            done = self._apt("update", "--error-on=any")
            if done.returncode == 0:
                return
            errors.append(done.stderr.strip())
        raise self._unavailable("\n".join(errors) or "apt-get is configured with no mirror")

    def _closure(self) -> list[tuple[str, str]]:
        """The package and what it depends on, each with its version."""
        done = self._apt("install", "--yes", "--no-install-recommends", "--print-uris", *self.package.split())
        found = re.findall(r"^'\S+' (\S+?)_(\S+?)_\S+ \d+", done.stdout, re.MULTILINE)
        if done.returncode or not found:
            raise self._unavailable(done.stderr)
        return [(name, unquote(version)) for name, version in found]

    def _apt(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["apt-get", "-q", "-c", self.folder / "apt.conf", command, *arguments],
            cwd=self.folder / "debs",
            env={**os.environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def _unavailable(self, output: str) -> ServerUnavailable:
        return ServerUnavailable(
            f"{self.package} of Debian's {self.suite} could not be fetched; is apt-get's mirror reachable? It is "
            f"needed once, and kept in {cache_folder()}:\n{output.strip()[-2000:]}"
        )

    def _scripts(self, root: Path, final: Path) -> None:
        """Makes ``home``. The kernel would start the programs with the system's loader."""
        # Before Debian 13 it is in /lib64.
        loaders = sorted([*root.glob("usr/lib*/ld-linux*.so.*"), *root.glob("lib*/ld-linux*.so.*")])
        if not loaders:
            raise self._unavailable("it came without a dynamic loader")
        loader = final / loaders[0].relative_to(root)
        libraries = ":".join(str(final / folder.relative_to(root)) for folder in root.glob("usr/lib/*-linux-gnu*"))
        home = root / HOME
        (home / "bin").mkdir(parents=True)
        for name in ("lib", "share"):
            (home / name).symlink_to(Path("..") / "usr" / name)
        (home / "sbin").symlink_to("bin")
        for program in sorted((*root.glob("usr/sbin/*"), *root.glob("usr/bin/*"))):
            if not program.is_file():
                continue
            with program.open("rb") as file:
                binary = file.read(4) == b"\x7fELF"
            target = shlex.quote(str(final / program.relative_to(root)))
            # The name by which the script was started is the program's too: Python finds its virtual environment by it.
            through = f'{shlex.join([str(loader), "--library-path", libraries])} --argv0 "$0" ' if binary else ""
            script = home / "bin" / program.name
            script.write_text(f'#!/bin/sh\nexec {through}{target} "$@"\n')
            script.chmod(0o755)


def mirrors() -> Iterator[str]:
    """The archives that the system's apt-get is configured with, each once, in its order."""
    done = subprocess.run(["apt-get", "--print-uris", "update"], capture_output=True, text=True, check=False)
    seen: set[str] = set()
    for mirror, suite in re.findall(r"^'(\S+?)/dists/(\S+?)/InRelease'", done.stdout, re.MULTILINE):
        if mirror not in seen and "security" not in suite:
            seen.add(mirror)
            yield mirror
