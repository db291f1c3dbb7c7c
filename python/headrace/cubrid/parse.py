"""The ways to write a CUBRID connection in one string: a URL, and the forms of CUBRID's own drivers."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

from .._shared.url import parse_url
from ..errors import ProgrammingError


def parse(conninfo: str) -> list[tuple[str, Any]]:
    """The settings that a connection string holds, unchecked.

    >>> parse("cubrid://dba:pw@db:33000/demodb?load_balance=true")[-1]
    ('load_balance', 'true')
    >>> parse("CUBRID:db:33000:demodb:dba::?altHosts=db2:33000")[:3]
    [('host', 'db'), ('port', '33000'), ('database', 'demodb')]

    Raises ProgrammingError.
    """
    text = conninfo.strip()
    if not text:
        return []
    lower = text.lower()
    if lower.startswith("cubrid://"):
        names = {"dbname": "database"}
        return [(names.get(name, name), value) for name, value in parse_url(text[len("cubrid://") :])]
    for prefix in ("jdbc:cubrid:", "cubrid:"):
        if lower.startswith(prefix):
            return _parts(text[len(prefix) :])
    raise ProgrammingError(
        "the connection string is neither cubrid://..., CUBRID:host:port:database:user:password: nor jdbc:cubrid:..."
    )


def _parts(text: str) -> list[tuple[str, Any]]:
    """``host:port:database:user:password:?name=value&name=value``; the password may hold colons."""
    where, _, query = text.partition("?")
    parts = where.split(":")
    if len(parts) < 3:
        raise ProgrammingError(
            "malformed connection string: it is written CUBRID:host:port:database:user:password:?name=value"
        )
    host, port, database, *rest = parts
    user = rest[0] if rest else ""
    password = ":".join(rest[1:])
    if password.endswith(":"):
        password = password[:-1]
    given = (("host", host), ("port", port), ("database", database), ("user", user), ("password", password))
    found: list[tuple[str, Any]] = [(name, value) for name, value in given if value]
    return [*found, *parse_qsl(query, keep_blank_values=True)]
