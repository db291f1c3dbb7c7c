"""The service file: named groups of connection parameters ("The Connection Service File" in the manual)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..errors import ProgrammingError


def read_service(service: str, servicefile: str | None, environ: Mapping[str, str]) -> dict[str, str]:
    """The parameters of a service: from the user's file, else from the system's.

    Raises ProgrammingError when no file has it, or a line is malformed.
    """
    if servicefile and not Path(servicefile).is_file():
        raise ProgrammingError(f"the service file {servicefile} does not exist")
    files = [Path(servicefile) if servicefile else Path.home() / ".pg_service.conf"]
    if environ.get("PGSYSCONFDIR"):
        files.append(Path(environ["PGSYSCONFDIR"]) / "pg_service.conf")
    for file in files:
        if file.is_file():
            found = _read(file, service)
            if found is not None:
                return found
    raise ProgrammingError(f"the service {service!r} is in none of {', '.join(map(str, files))}")


def _read(file: Path, service: str) -> dict[str, str] | None:
    found: dict[str, str] | None = None
    inside = False
    for number, raw in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            inside = line == f"[{service}]"
            if inside and found is None:
                found = {}
        elif inside and found is not None:
            name, equals, value = line.partition("=")
            if not equals:
                raise ProgrammingError(f"{file}, line {number}: a parameter is written name=value")
            found.setdefault(name.strip(), value.strip())
    return found
