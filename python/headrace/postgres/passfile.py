"""The passfile: ``host:port:database:user:password`` per line ("The Password File" in the PostgreSQL manual)."""

from __future__ import annotations

import os
import stat
import warnings

from .. import defaults


def find_password(path: str | None, host: str, hostaddr: str | None, port: int, dbname: str, user: str) -> str | None:
    """The password of the first line that fits, or ``None``; ``path`` is the file, ``None`` is none.

    A file that others can read, or that is not a regular file, is ignored with a warning. As in libpq a Unix socket in
    the standard directory is looked up as ``localhost``, in another one by the directory's path.
    """
    if not path:
        return None
    text = _read(path)
    if text is None:
        return None
    name = host or hostaddr or "localhost"
    wanted = ("localhost" if name in defaults.SOCKET_DIRS else name, str(port), dbname, user)
    # Not splitlines(): a password may hold one of the rarer characters that it takes for the end of a line.
    for line in text.split("\n"):
        fields = None if line.startswith("#") else split_line(line.rstrip("\r"))
        if fields is not None and all(f in (None, w) for f, w in zip(fields, wanted, strict=False)):
            return fields[4]
    return None


def _read(file: str) -> str | None:
    try:
        # Not pathlib: most users have no such file, and to take its path to pieces would cost more than to look for it.
        mode = os.stat(file).st_mode
        if not stat.S_ISREG(mode):
            _ignored(file, "it is not a plain file")
            return None
        if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
            _ignored(file, "others can read it; set its permissions to 0600")
            return None
        # Lines are for any number of servers: one that is not UTF-8 must not hide the others.
        with open(file, "rb") as opened:
            return opened.read().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None
    except OSError as error:
        _ignored(file, error.strerror or "it cannot be read")
        return None


def _ignored(file: str, reason: str) -> None:
    warnings.warn(f"the password file {file} is ignored because {reason}", stacklevel=4)


def split_line(line: str) -> list[str | None] | None:
    """The five fields of a line, ``None`` for a wildcard (``*``); ``None`` for a line that has fewer.

    A backslash takes the next character as it is; text after the password's colon is not part of it.
    """
    fields: list[str | None] = []
    value, raw = "", ""
    i = 0
    while i < len(line) and not (line[i] == ":" and len(fields) == 4):
        if line[i] == ":":
            fields.append(None if raw == "*" else value)
            value, raw = "", ""
        else:
            raw += line[i]
            i += line[i] == "\\" and i + 1 < len(line)
            value += line[i]
        i += 1
    return [*fields, value] if len(fields) == 4 else None
