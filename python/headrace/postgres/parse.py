"""The text of a conninfo, as keywords and values: URLs and libpq's ``keyword=value`` strings.

See "Connection Strings" in the PostgreSQL manual. Errors name a keyword or part, and never show text that could
be a piece of a password: a password that was not quoted or percent-encoded is the commonest mistake of all.
"""

from __future__ import annotations

import re
from typing import Final

from .._shared.redact import SECRETS
from .._shared.url import Pairs, parse_url, shown
from ..errors import ProgrammingError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://")
ALIASES: Final = {"database": "dbname", "username": "user", "timeout": "connect_timeout"}


def parse_text(conninfo: str) -> Pairs:
    """The keywords of a URL or of a ``keyword=value`` string, in order. Whether there are such keywords is not known
    here.

    Raises ProgrammingError for a malformed text.
    """
    url = conninfo.lstrip()
    scheme = _SCHEME.match(url)
    if scheme is None:
        return _keywords(conninfo)
    if scheme[1].lower() not in ("postgresql", "postgres"):
        raise ProgrammingError(f"the URL begins with {scheme[0]}; for PostgreSQL it begins with postgresql://")
    # What JDBC's URLs have, by libpq's names.
    return [
        ("sslmode", "require") if (name, value) == ("ssl", "true") else (canonical(name), value)
        for name, value in parse_url(url[scheme.end() :])
    ]


def canonical(name: str) -> str:
    """A keyword as libpq calls it: other drivers' ``database`` is ``dbname``."""
    return ALIASES.get(name, name)


# keyword=value


def _keywords(text: str) -> Pairs:
    found: Pairs = []
    i, n = 0, len(text)
    while True:
        while i < n and text[i].isspace():
            i += 1
        if i == n:
            return found
        start = i
        while i < n and text[i] != "=" and not text[i].isspace():
            i += 1
        name = text[start:i]
        while i < n and text[i].isspace():
            i += 1
        if i == n or text[i] != "=":
            raise _no_equals(name, found[-1][0] if found else None)
        value, i = _value(text, name, i + 1)
        found.append((name, value))


def _value(text: str, name: str, i: int) -> tuple[str, int]:
    """The value that begins at ``i``, and where it ends."""
    n = len(text)
    while i < n and text[i].isspace():
        i += 1
    quoted = i < n and text[i] == "'"
    i += quoted
    value: list[str] = []
    while i < n and (text[i] != "'" if quoted else not text[i].isspace()):
        if text[i] == "\\" and i + 1 < n:
            i += 1
        value.append(text[i])
        i += 1
    if quoted:
        if i == n:
            which = shown(name, None) or "a keyword"
            raise ProgrammingError(f"the quoted value of {which} in the connection string has no end")
        i += 1
    return "".join(value), i


def _no_equals(name: str, before: str | None) -> ProgrammingError:
    if before in SECRETS:
        return ProgrammingError(
            f"missing '=' in the connection string, after the value of {before}; write a value with spaces in "
            f"quotes: {before}='...'"
        )
    if shown(name, before) is None:
        return ProgrammingError(
            "missing '=' in the connection string: it is neither a URL (postgresql://user@host/dbname) nor keywords "
            "(host=... dbname=...)"
        )
    return ProgrammingError(f"missing '=' after {name!r} in the connection string")
