"""What to connect to: keywords, a URL, an ODBC or JDBC connection string, and the environment."""

from __future__ import annotations

import os
import socket
import sys
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from .. import defaults
from .._postgres.settings import nearest
from ..errors import OperationalError, ProgrammingError

SSL_MODES: Final = ("disable", "require", "verify-ca", "verify-full")
PORT: Final = 9088

# Variables that a login carries; every other one goes with SQ_INFO once the session stands.
_LOGIN: Final = frozenset(
    (
        "CLIENT_LOCALE",
        "DBDATE",
        "DBPATH",
        "DBSPACETEMP",
        "DB_LOCALE",
        "DELIMIDENT",
        "GL_DATE",
        "IFX_LONGID",
        "IFX_UPDDESC",
        "INFORMIXSTACKSIZE",
        "NODEFDAC",
        "ONEDB_STACKSIZE",
        "RASHELP",
        "SLABEL",
        "STMT_CACHE",
        "STMT_CACHE_DEBUG",
    )
)
_FROM_ENVIRONMENT: Final = ("CLIENT_LOCALE", "DB_LOCALE", "DELIMIDENT", "DBDATE", "GL_DATE")
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
_JDBC: Final = {"informixserver": "server", "user": "user", "password": "password", "sslconnection": "sslconnection"}


@dataclass(frozen=True, kw_only=True)
class ConnectOptions:
    """Checked settings of a connection. Times are in seconds."""

    host: str = "localhost"
    port: int = PORT
    server: str = ""
    database: str | None = None
    user: str = ""
    password: str | None = field(default=None, repr=False)
    sslmode: str = "disable"
    sslrootcert: str | None = None
    codeset: str | None = None
    connect_timeout: float | None = None
    statement_cache_size: int = defaults.STATEMENT_CACHE_SIZE
    unrepresentable: str = "raise"
    application_name: str = ""
    enable_timing: bool = False
    keepalives: bool = True
    env: dict[str, str] = field(default_factory=dict[str, str])

    def wire_options(self, address: tuple[str, int], server: str | None = None) -> dict[str, Any]:
        """What the engine wants to know, for one address."""
        variables = {"DBPATH": ".", "DBDATE": "Y4MD-", "IFX_UPDDESC": "1", "NODEFDAC": "no", **self.env}
        variables.setdefault("CLIENT_LOCALE", variables.get("DB_LOCALE", "en_US.8859-1"))
        session = {"DBTEMP": "/tmp", "SUBQCACHESZ": "10"}
        session.update((name, value) for name, value in variables.items() if name not in _LOGIN)
        return {
            "protocol": "informix",
            "tcp": address,
            "user": self.user,
            "password": self.password,
            "server": server or self.server,
            "database": self.database,
            "environment": [(name, value) for name, value in variables.items() if name in _LOGIN],
            "session": list(session.items()),
            "codeset": self.codeset or variables.get("DB_LOCALE"),
            "tls": "no" if self.sslmode == "disable" else "require",
            "verify": {"require": "none", "verify-ca": "ca"}.get(self.sslmode, "full"),
            "server_name": self.host,
            "sslrootcert": self.sslrootcert,
            "statements": self.statement_cache_size,
            "unrepresentable": self.unrepresentable,
            "keepalives": self.keepalives,
            "program": self.application_name or os.path.basename(sys.argv[0] or "python"),
            "client_host": socket.gethostname(),
            "directory": os.getcwd(),
        }


_NAMES: Final = tuple(ConnectOptions.__dataclass_fields__)


def connect_options(conninfo: str, keywords: dict[str, Any]) -> ConnectOptions:
    """Checked settings of a connection string and keywords; keywords win.

    >>> connect_options("informix://jo:secret@db:9088/stores?server=ol_main", {}).server
    'ol_main'

    Raises ProgrammingError.
    """
    values: dict[str, Any] = {}
    env = {name: os.environ[name] for name in _FROM_ENVIRONMENT if os.environ.get(name)}
    if os.environ.get("INFORMIXSERVER"):
        values["server"] = os.environ["INFORMIXSERVER"]
    given = {**_parse(conninfo), **keywords}
    env.update(given.pop("env", None) or {})
    for name in [name for name in given if name.isupper()]:
        env[name] = str(given.pop(name))
    for name, value in given.items():
        if name not in _NAMES:
            raise ProgrammingError(f"unknown connection setting {name!r}{nearest(name, _NAMES)}")
        if value is not None:
            values[name] = value
    return _checked(values, env)


def _checked(values: dict[str, Any], env: dict[str, str]) -> ConnectOptions:
    for name in ("port", "statement_cache_size", "connect_timeout"):
        if name in values:
            try:
                values[name] = float(values[name]) or None if name == "connect_timeout" else int(values[name])
            except (TypeError, ValueError):
                raise ProgrammingError(f"{name} must be a number") from None
    options = ConnectOptions(**values, env=env)
    if not options.server:
        raise ProgrammingError("no server was named: give server=..., the DBSERVERNAME of the instance")
    if options.sslmode not in SSL_MODES:
        raise ProgrammingError(f"sslmode={options.sslmode!r} is not one of {', '.join(SSL_MODES)}")
    if options.sslmode == "verify-ca" and options.sslrootcert is None:
        raise OperationalError("TLS: sslmode=verify-ca needs the certificates to trust: give sslrootcert")
    texts = [options.host, options.server, options.user, options.database or "", options.password or ""]
    if any("\0" in text for text in [*texts, *env, *env.values()]):
        raise ProgrammingError("a connection setting holds a NUL character")
    return options


def _parse(conninfo: str) -> dict[str, Any]:
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
    found: dict[str, Any] = {"host": head, "port": port or PORT}
    if database:
        found["database"] = database
    for part in filter(None, properties.split(";")):
        name, _, value = part.partition("=")
        found[_JDBC.get(name.strip().lower(), name.strip())] = value.strip()
    if str(found.pop("sslconnection", "")).lower() == "true":
        found.setdefault("sslmode", "verify-full")
    return found
