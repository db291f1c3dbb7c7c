"""The service file: named groups of connection parameters ("The Connection Service File" in the manual)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..errors import NotSupportedError, ProgrammingError


def read_service(service: str, servicefile: str | None, environ: Mapping[str, str], home: str | None) -> dict[str, str]:
    """The parameters of a service: from the user's file, else from the system's (in ``PGSYSCONFDIR``).

    Raises ProgrammingError when no file has it, when the file that was named is not there, or when a line of the
    service is malformed.
    """
    files: list[Path] = []
    if servicefile:
        if not Path(servicefile).is_file():
            raise ProgrammingError(f"the service file {servicefile} does not exist")
        files.append(Path(servicefile))
    elif home is not None:
        files.append(Path(home, ".pg_service.conf"))
    if environ.get("PGSYSCONFDIR"):
        files.append(Path(environ["PGSYSCONFDIR"], "pg_service.conf"))
    for file in files:
        if file.is_file():
            found = _read(file, service)
            if found is not None:
                return found
    raise ProgrammingError(f"the service {service!r} is in none of {', '.join(map(str, files)) or 'no file'}")


def _read(file: Path, service: str) -> dict[str, str] | None:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ProgrammingError(f"the service file {file} cannot be read: {error}") from None
    found: dict[str, str] | None = None
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            if found is not None:
                break
            if line == f"[{service}]":
                found = {}
        elif found is not None:
            _add(found, line, f"{file}, line {number}")
    return found


def _add(found: dict[str, str], line: str, where: str) -> None:
    if line.startswith("ldap"):
        raise NotSupportedError(f"{where}: headrace does not look up services by LDAP")
    name, equals, value = line.partition("=")
    name = name.strip()
    if not equals:
        raise ProgrammingError(f"{where}: a parameter is written name=value")
    if name in ("service", "servicefile"):
        raise ProgrammingError(f"{where}: a service cannot name another one")
    # The first one counts, as in libpq.
    found.setdefault(name, value.strip())
