"""The text of a conninfo, as keywords and values: URLs and libpq's ``keyword=value`` strings.

See "Connection Strings" in the PostgreSQL manual. What is wrong is told by keyword or part, never by text that could
be a piece of a password: a password that was not quoted or percent-encoded is the commonest mistake of all.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from .._redact import SECRETS
from ..errors import ProgrammingError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://")
_NAME = re.compile(r"[A-Za-z_]\w{0,62}", re.ASCII)
_ALIASES: Final = {"database": "dbname", "username": "user", "timeout": "connect_timeout"}

Pairs = list[tuple[str, str]]


def parse_text(conninfo: str) -> Pairs:
    """The keywords of a URL or of a ``keyword=value`` string, in order. Whether there are such keywords is not known
    here.

    Raises ProgrammingError for a malformed text.
    """
    scheme = _SCHEME.match(conninfo)
    if scheme is None:
        return _keywords(conninfo)
    if scheme[1] not in ("postgresql", "postgres"):
        raise ProgrammingError(f"the URL begins with {scheme[0]}; for PostgreSQL it begins with postgresql://")
    return _url(conninfo[scheme.end() :])


def canonical(name: str) -> str:
    """A keyword as libpq calls it: other drivers' ``database`` is ``dbname``."""
    return _ALIASES.get(name, name)


def shown(name: str, before: str | None) -> str | None:
    """A keyword that is wrong, if it can be shown: None for what may be part of the secret that stands before it, or
    is no word at all."""
    return name if _NAME.fullmatch(name) and before not in SECRETS else None


# URLs


def _url(rest: str) -> Pairs:
    where, _, query = rest.partition("?")
    authority, _, path = where.partition("/")
    userinfo, at, hosts = authority.rpartition("@")
    # An @ further on may be the one that ends the user and password.
    astray = not at and "@" in rest
    found: Pairs = []
    if at:
        user, colon, password = userinfo.partition(":")
        if user:
            found.append(("user", _decode(user, "user")))
        if colon:
            found.append(("password", _decode(password, "password")))
    found += _hosts(hosts, astray)
    if path:
        found.append(("dbname", _decode(path, "database")))
    return found + _query(query)


def _hosts(text: str, astray: bool) -> Pairs:
    names: list[str] = []
    ports: list[str] = []
    for one in text.split(",") if text else []:
        if one.startswith("["):
            name, bracket, after = one[1:].partition("]")
            if not bracket or (after and not after.startswith(":")):
                raise _malformed(f"malformed IPv6 address in the URL: {one!r}; it is written [::1]:5432", astray)
            port = after[1:]
        else:
            name, _, port = one.partition(":")
            if ":" in port:
                raise _malformed(f"malformed host in the URL: {one!r}; an IPv6 address stands in brackets", astray)
        port = _decode(port, "port")
        if port and not (port.isascii() and port.isdigit()):
            raise _malformed(f"port {port!r} in the URL is no number from 1 to 65535", astray)
        names.append(_decode(name, "host"))
        ports.append(port)
    found: Pairs = []
    if any(names):
        found.append(("host", ",".join(names)))
    if any(ports):
        found.append(("port", ",".join(ports)))
    return found


def _malformed(message: str, astray: bool) -> ProgrammingError:
    if astray:
        message = (
            "malformed URL: in the user and the password the characters / ? # @ : must be percent-encoded, as "
            "%2F %3F %23 %40 %3A"
        )
    return ProgrammingError(message)


def _query(text: str) -> Pairs:
    found: Pairs = []
    for pair in text.split("&") if text else []:
        name, equals, value = pair.partition("=")
        name = _decode(name, "parameters")
        before = found[-1][0] if found else None
        if not equals:
            which = shown(name, before)
            raise ProgrammingError(
                f"the parameter {which!r} in the URL has no value; it is written {which}=..."
                if which
                else "malformed parameters in the URL: they are written name=value, with & between them"
            )
        value = _decode(value, f"parameter {name!r}" if shown(name, before) else "parameters")
        # What JDBC's URLs say, and libpq understands.
        found.append(("sslmode", "require") if (name, value) == ("ssl", "true") else (canonical(name), value))
    return found


def _decode(text: str, what: str) -> str:
    if re.search(r"%(?![0-9A-Fa-f]{2})", text):
        raise ProgrammingError(f"malformed percent-encoding in the {what} of the URL; a % itself is written %25")
    try:
        decoded = unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise ProgrammingError(f"the percent-encoding in the {what} of the URL is no UTF-8") from None
    if "\0" in decoded:
        raise ProgrammingError(f"the {what} of the URL holds a NUL character")
    return decoded


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
            f"missing '=' in the connection string, behind the value of {before}; a value with spaces stands in "
            f"quotes: {before}='...'"
        )
    if shown(name, before) is None:
        return ProgrammingError(
            "missing '=' in the connection string: it is neither a URL (postgresql://user@host/dbname) nor keywords "
            "(host=... dbname=...)"
        )
    return ProgrammingError(f"missing '=' after {name!r} in the connection string")
