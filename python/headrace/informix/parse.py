"""The three ways to write an Informix connection in one string: a URL, an ODBC string, a JDBC URL."""

from __future__ import annotations

import re
from typing import Any, Final

from .. import defaults
from .._shared.url import parse_url, shown
from ..errors import ProgrammingError

ALIASES: Final = {"db": "database", "dbname": "database", "username": "user", "passwd": "password"}
_ODBC: Final = {
    "uid": "user",
    "logonid": "user",
    "pwd": "password",
    "host": "host",
    "service": "port",
    "serv": "port",
    "srvr": "server",
    "server": "server",
    "db": "database",
    "database": "database",
}
_JDBC: Final = {
    "informixserver": "server",
    "user": "user",
    "password": "password",
    "sslconnection": "sslconnection",
    "encrypt": "sslconnection",
    "ifx_lock_mode_wait": "lock_wait",
    "fet_buf_size": "fetch_bytes",
}


_MALFORMED: Final = (
    "malformed connection string: it is written NAME=value;NAME=value, and a value with a semicolon stands in braces"
)
_PART: Final = re.compile(r"(?P<name>[^=;]*)(?:=(?P<value>\s*\{(?:[^}]|\}\})*\}\s*(?=;|$)|[^;]*))?(?:;|$)")
"""One setting of an ODBC string, and the semicolon after it."""
_BRACED: Final = re.compile(r"\{((?:[^}]|\}\})*)\}", re.DOTALL)
"""A value in braces, in which a semicolon is one, and two closing braces are one (SQLDriverConnect of ODBC)."""


def parse(conninfo: str) -> list[tuple[str, Any]]:
    """The settings that a connection string holds, unchecked.

    >>> parse("informix://jo@db:9088/stores?server=ol_main")[2:]
    [('port', '9088'), ('database', 'stores'), ('server', 'ol_main')]

    Raises ProgrammingError.
    """
    text = conninfo.strip()
    if not text:
        return []
    if text.lower().startswith("informix:"):
        rest = text[len("informix:") :].removeprefix("//")
        return [(ALIASES.get(name, name), value) for name, value in parse_url(rest)]
    if text.lower().startswith("jdbc:informix-sqli:"):
        return _jdbc(text)
    if "=" in text:
        return _odbc(text)
    raise ProgrammingError(
        "the connection string is neither informix://..., jdbc:informix-sqli://... nor SERVER=...;DATABASE=..."
    )


def _odbc(text: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    at = 0
    while part := _PART.match(text, at):
        at = part.end()
        if not part.group().strip(" \t;"):
            if at == len(text):
                break
            continue
        name, value = part["name"].strip(), part["value"]
        if value is None:
            which = shown(name, found[-1][0] if found else None)
            raise ProgrammingError(f"{which!r} in the connection string has no value" if which else _MALFORMED)
        braced = _BRACED.fullmatch(value.strip())
        value = braced[1].replace("}}", "}") if braced else value.strip()
        if name.lower() in ("driver", "protocol", "pro"):
            continue
        found.append((_ODBC.get(name.lower(), name if name.isupper() else name.lower()), value))
    return found


def _jdbc(text: str) -> list[tuple[str, Any]]:
    head, _, tail = text[len("jdbc:informix-sqli:") :].lstrip("/").partition(":")
    port_and_database, _, properties = tail.partition(":")
    port, _, database = port_and_database.partition("/")
    found: list[tuple[str, Any]] = [("host", head), ("port", port or defaults.INFORMIX_PORT)]
    if database:
        found.append(("database", database))
    encrypted = False
    for part in filter(None, properties.split(";")):
        name, _, value = part.partition("=")
        name = _JDBC.get(name.strip().lower(), name.strip())
        if name == "sslconnection":
            encrypted = value.strip().lower() == "true"
        else:
            found.append((name, value.strip()))
    return [("sslmode", "verify-full"), *found] if encrypted else found
