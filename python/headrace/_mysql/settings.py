"""What to connect to: keywords as MySQLdb and PyMySQL spell them, a URL, option files, the environment."""

from __future__ import annotations

import getpass
import os
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from .. import defaults
from .._postgres.settings import nearest
from ..errors import ProgrammingError
from .options import DEFAULT_FILES, GROUP, read_options

SSL_MODES: Final = ("DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY")
SCHEMES: Final = ("mysql", "mariadb")
_ALIASES: Final = {"passwd": "password", "db": "database", "username": "user", "unix_socket": "socket"}
_VERIFY: Final = {"VERIFY_CA": "ca", "VERIFY_IDENTITY": "full"}


@dataclass(frozen=True, kw_only=True)
class ConnectOptions:
    """Checked settings of a connection. Times are in seconds."""

    hosts: tuple[tuple[str, int], ...] = ()
    socket: str | None = None
    user: str = ""
    password: str | Callable[[], Any] | None = field(default=None, repr=False)
    database: str | None = None
    ssl_mode: str = "PREFERRED"
    ssl_ca: str | None = None
    ssl_cert: str | None = None
    ssl_key: str | None = None
    connect_timeout: float = defaults.CONNECT_TIMEOUT
    client_found_rows: bool = False
    multi_statements: bool = False
    local_infile: bool = False
    compression: str | None = None
    prepared: bool = True
    init_command: str | None = None
    statement_cache_size: int = defaults.STATEMENT_CACHE_SIZE
    unrepresentable: str = "raise"
    json_text: bool = False
    enable_timing: bool = False
    keepalives: bool = True

    def wire_options(self, address: tuple[str, int] | None, server_name: str, password: str | None) -> dict[str, Any]:
        """What the engine wants to know, for one address; None is the Unix socket."""
        mode = "DISABLED" if address is None and self.ssl_mode == "PREFERRED" else self.ssl_mode
        return {
            "protocol": "mysql",
            "tcp": address,
            "unix": self.socket if address is None else None,
            "user": self.user,
            "password": password,
            "database": self.database,
            "tls": {"DISABLED": "no", "PREFERRED": "prefer"}.get(mode, "require"),
            "verify": _VERIFY.get(mode, "none"),
            "server_name": server_name,
            "sslrootcert": self.ssl_ca,
            "sslcert": self.ssl_cert,
            "sslkey": self.ssl_key,
            "found_rows": self.client_found_rows,
            "multi_statements": self.multi_statements,
            "local_infile": self.local_infile,
            "compression": self.compression,
            "attributes": [
                ("_pid", str(os.getpid())),
                ("_client_host", socket.gethostname()),
                ("program_name", os.path.basename(sys.argv[0] or "python")),
            ],
            "statements": self.statement_cache_size,
            "unrepresentable": self.unrepresentable,
            "json_text": self.json_text,
            "keepalives": self.keepalives,
        }

    @property
    def timeout(self) -> float | None:
        """Seconds for one address, None for ever."""
        return self.connect_timeout or None


_NAMES: Final = tuple(ConnectOptions.__dataclass_fields__)


def connect_options(conninfo: str, keywords: dict[str, Any]) -> ConnectOptions:
    """Checked settings of a URL and keywords; keywords win.

    >>> connect_options("mysql://jo:secret@db/shop", {"port": 3307}).hosts
    (('db', 3307),)

    Raises ProgrammingError.
    """
    said = {_ALIASES.get(name, name): value for name, value in keywords.items() if value is not None}
    file, group = said.pop("read_default_file", None), said.pop("read_default_group", None)
    named = {**_url(conninfo), **said}
    given = {**_environment(), **_option_files(file, group), **named}
    if "host" in named and "socket" not in named:
        # A socket of the environment or a file does not outweigh a host that was named.
        given.pop("socket", None)
    host = given.pop("host", "localhost")
    try:
        port = int(given.pop("port", defaults.MYSQL_PORT))
        if "connect_timeout" in given:
            given["connect_timeout"] = float(given["connect_timeout"])
        if "statement_cache_size" in given:
            given["statement_cache_size"] = int(given["statement_cache_size"])
    except (TypeError, ValueError):
        raise ProgrammingError("port, connect_timeout and statement_cache_size are numbers") from None
    for name in ("client_found_rows", "multi_statements", "local_infile", "prepared", "enable_timing", "keepalives"):
        if isinstance(given.get(name), str):
            given[name] = given[name].lower() in ("1", "true", "on", "yes")
    for name in given:
        if name not in _NAMES:
            raise ProgrammingError(f"unknown connection setting {name!r}{nearest(name, _NAMES)}")
    given.setdefault("user", getpass.getuser())
    given["ssl_mode"] = str(given.get("ssl_mode", "PREFERRED")).upper()
    if given["ssl_mode"] not in SSL_MODES:
        raise ProgrammingError(f"ssl_mode={given['ssl_mode']!r} is not one of {', '.join(SSL_MODES)}")
    hosts = () if "socket" in given else tuple((part.strip(), port) for part in str(host).split(","))
    return ConnectOptions(**given, hosts=hosts)


def _environment() -> dict[str, Any]:
    names = {"MYSQL_HOST": "host", "MYSQL_TCP_PORT": "port", "MYSQL_UNIX_PORT": "socket", "MYSQL_PWD": "password"}
    return {setting: os.environ[name] for name, setting in names.items() if os.environ.get(name)}


def _option_files(file: Any, group: Any) -> dict[str, Any]:
    if not file and not group:
        return {}
    groups = [GROUP, *([str(group)] if group else [])]
    return read_options([str(file)] if file else DEFAULT_FILES, groups, must_exist=bool(file))


def _url(text: str) -> dict[str, Any]:
    if not text:
        return {}
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise ProgrammingError(f"wrong URL: {error}") from None
    if parts.scheme not in SCHEMES:
        raise ProgrammingError("the connection string is no URL that begins with mysql:// or mariadb://")
    found: dict[str, Any] = {
        "host": parts.hostname,
        "port": port,
        "user": unquote(parts.username) if parts.username else None,
        "password": None if parts.password is None else unquote(parts.password),
        "database": unquote(parts.path[1:]) or None,
    }
    query = parse_qsl(parts.query, keep_blank_values=True)
    found.update((_ALIASES.get(name, name), value) for name, value in query)
    return {name: value for name, value in found.items() if value is not None}
