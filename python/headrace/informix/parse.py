"""The three ways to write an Informix connection in one string: a URL, an ODBC string, a JDBC URL."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from .. import defaults
from ..errors import ProgrammingError

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


def parse(conninfo: str) -> dict[str, Any]:
    """The settings that a connection string holds, unchecked. Raises ProgrammingError."""
    text = conninfo.strip()
    if not text:
        return {}
    if text.lower().startswith("informix:"):
        return _url(text)
    if text.lower().startswith("jdbc:informix-sqli:"):
        return _jdbc(text)
    if "=" in text:
        return _odbc(text)
    raise ProgrammingError(
        "the connection string is neither informix://..., jdbc:informix-sqli://... nor SERVER=...;DATABASE=..."
    )


def _url(text: str) -> dict[str, Any]:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise ProgrammingError(f"wrong URL: {error}") from None
    found: dict[str, Any] = {
        "host": parts.hostname,
        "port": port,
        "user": unquote(parts.username) if parts.username else None,
        "password": None if parts.password is None else unquote(parts.password),
        "database": unquote(parts.path[1:]) or None,
    }
    found.update(parse_qsl(parts.query, keep_blank_values=True))
    return {name: value for name, value in found.items() if value is not None}


def _odbc(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, equals, value = part.partition("=")
        if not equals:
            raise ProgrammingError(f"{name.strip()!r} in the connection string has no value")
        name, value = name.strip(), value.strip()
        if name.lower() in ("driver", "protocol", "pro"):
            continue
        found[_ODBC.get(name.lower(), name if name.isupper() else name.lower())] = value
    return found


def _jdbc(text: str) -> dict[str, Any]:
    head, _, tail = text[len("jdbc:informix-sqli:") :].lstrip("/").partition(":")
    port_and_database, _, properties = tail.partition(":")
    port, _, database = port_and_database.partition("/")
    found: dict[str, Any] = {"host": head, "port": port or defaults.INFORMIX_PORT}
    if database:
        found["database"] = database
    for part in filter(None, properties.split(";")):
        name, _, value = part.partition("=")
        found[_JDBC.get(name.strip().lower(), name.strip())] = value.strip()
    if str(found.pop("sslconnection", "")).lower() == "true":
        found.setdefault("sslmode", "verify-full")
    return found
