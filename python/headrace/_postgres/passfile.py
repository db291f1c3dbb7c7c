"""The passfile: ``host:port:database:user:password`` per line ("The Password File" in the PostgreSQL manual)."""

from __future__ import annotations

import os
import stat
import warnings
from pathlib import Path


def find_password(path: str | None, host: str, hostaddr: str | None, port: int, dbname: str, user: str) -> str | None:
    """The password of the first line that fits, or ``None``.

    A file that others can read is ignored, with a warning. A Unix socket in a standard directory is looked up
    as ``localhost``.
    """
    file = Path(path or os.environ.get("PGPASSFILE") or Path.home() / ".pgpass")
    try:
        mode = file.stat().st_mode
    except OSError:
        return None
    if os.name == "posix" and stat.S_ISREG(mode) and mode & (stat.S_IRWXG | stat.S_IRWXO):
        warnings.warn(
            f"the password file {file} is ignored because others can read it; set its permissions to 0600",
            stacklevel=2,
        )
        return None
    name = "localhost" if host.startswith("/") else host or hostaddr or "localhost"
    wanted = (name, str(port), dbname, user)
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        fields = split_line(line)
        if len(fields) >= 5 and all(f in ("*", w) for f, w in zip(fields, wanted, strict=False)):
            return fields[4]
    return None


def split_line(line: str) -> list[str]:
    """The fields of a line; a backslash takes the next character as it is."""
    fields: list[str] = [""]
    characters = iter(line)
    for c in characters:
        if c == "\\":
            fields[-1] += next(characters, "")
        elif c == ":" and len(fields) < 5:
            fields.append("")
        else:
            fields[-1] += c
    return fields
