"""What to connect to: keywords, a URL, an ODBC or JDBC connection string, and the environment."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from .. import defaults
from .._shared.settings import nearest
from ..errors import OperationalError, ProgrammingError
from . import sqlhosts
from .parse import parse
from .sqlhosts import Target

SSL_MODES: Final = ("disable", "require", "verify-ca", "verify-full")

# Variables that a login carries; every other one goes with SQ_INFO once the session stands.
_LOGIN: Final = frozenset(
    (
        "CLIENT_LOCALE",
        "CLNT_PAM_CAPABLE",
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

_ISOLATION: Final = {
    "dirty read": "DIRTY READ",
    "read uncommitted": "DIRTY READ",
    "committed read": "COMMITTED READ",
    "read committed": "COMMITTED READ",
    "committed read last committed": "COMMITTED READ LAST COMMITTED",
    "last committed": "COMMITTED READ LAST COMMITTED",
    "cursor stability": "CURSOR STABILITY",
    "repeatable read": "REPEATABLE READ",
    "serializable": "REPEATABLE READ",
}


def isolation(level: str) -> str:
    """The statement that sets an isolation level, by Informix's name or the standard's.

    >>> isolation("read committed")
    'SET ISOLATION TO COMMITTED READ'

    Raises ProgrammingError for any other.
    """
    name = " ".join(level.replace("_", " ").lower().split())
    if name not in _ISOLATION:
        raise ProgrammingError(f"isolation level {level!r} is not one of {', '.join(_ISOLATION)}")
    return f"SET ISOLATION TO {_ISOLATION[name]}"


def lock_mode(wait: int | None) -> str:
    """The statement for waiting so many seconds for a lock: 0 not at all, -1 or None for ever.

    >>> lock_mode(5)
    'SET LOCK MODE TO WAIT 5'
    """
    if wait == 0:
        return "SET LOCK MODE TO NOT WAIT"
    return "SET LOCK MODE TO WAIT" if wait is None or wait < 0 else f"SET LOCK MODE TO WAIT {wait}"


@dataclass(frozen=True, kw_only=True)
class ConnectOptions:
    """Checked settings of a connection. Times are in seconds."""

    host: str | None = None
    port: int | None = None
    server: str = ""
    database: str | None = None
    user: str = ""
    password: str | None = field(default=None, repr=False)
    pam: Callable[[str, bool], Any] | None = field(default=None, repr=False)
    sslmode: str | None = None
    sslrootcert: str | None = None
    codeset: str | None = None
    connect_timeout: float | None = defaults.CONNECT_TIMEOUT
    command_timeout: float | None = defaults.COMMAND_TIMEOUT
    isolation_level: str | None = None
    lock_wait: int | None = None
    statement_cache_size: int = defaults.STATEMENT_CACHE_SIZE
    unrepresentable: str = "raise"
    application_name: str = ""
    enable_timing: bool = False
    keepalives: bool = True
    env: dict[str, str] = field(default_factory=dict[str, str])

    def targets(self) -> list[Target]:
        """Where to connect, in this order: the host that was named, or what the sqlhosts file has for the server.

        Raises OperationalError, ProgrammingError and NotSupportedError for a file that does not help.
        """
        if self.host is None and self.port is None:
            found = sqlhosts.from_environment(self.server)
            if found is not None:
                return found
        tls = self.sslmode not in (None, "disable")
        return [Target(self.host or "localhost", self.port or defaults.INFORMIX_PORT, self.server, tls)]

    def wire_options(self, address: tuple[str, int], target: Target) -> dict[str, Any]:
        """What the engine wants to know, for one address of one server."""
        sslmode = self.sslmode or ("verify-full" if target.tls else "disable")
        variables = {
            "CLNT_PAM_CAPABLE": "1",
            "DBPATH": ".",
            "DBDATE": "Y4MD-",
            "IFX_UPDDESC": "1",
            "NODEFDAC": "no",
            **self.env,
        }
        variables.setdefault("CLIENT_LOCALE", variables.get("DB_LOCALE", "en_US.8859-1"))
        session = {"DBTEMP": "/tmp", "SUBQCACHESZ": "10"}
        session.update((name, value) for name, value in variables.items() if name not in _LOGIN)
        return {
            "tcp": address,
            "user": self.user,
            "password": self.password,
            "server": target.server,
            "pam": self.pam is not None,
            "database": self.database,
            "environment": [(name, value) for name, value in variables.items() if name in _LOGIN],
            "session": list(session.items()),
            "codeset": self.codeset or variables.get("DB_LOCALE"),
            "tls": "no" if sslmode == "disable" else "require",
            "verify": {"require": "none", "verify-ca": "ca"}.get(sslmode, "full"),
            "server_name": target.host,
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
    given = {**parse(conninfo), **keywords}
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
    for name in ("port", "statement_cache_size", "connect_timeout", "command_timeout", "lock_wait"):
        if name in values:
            try:
                values[name] = float(values[name]) or None if name.endswith("timeout") else int(values[name])
            except (TypeError, ValueError):
                raise ProgrammingError(f"{name} must be a number") from None
    options = ConnectOptions(**values, env=env)
    if options.pam is not None and not callable(options.pam):
        raise ProgrammingError("pam must be a function that takes a question, and whether the answer may be shown")
    if not options.server:
        raise ProgrammingError("no server was named: give server=..., the DBSERVERNAME of the instance")
    if options.isolation_level is not None:
        isolation(options.isolation_level)
    if options.sslmode not in (None, *SSL_MODES):
        raise ProgrammingError(f"sslmode={options.sslmode!r} is not one of {', '.join(SSL_MODES)}")
    if options.sslmode == "verify-ca" and options.sslrootcert is None:
        raise OperationalError("TLS: sslmode=verify-ca needs the certificates to trust: give sslrootcert")
    texts = [options.host or "", options.server, options.user, options.database or "", options.password or ""]
    if any("\0" in text for text in [*texts, *env, *env.values()]):
        raise ProgrammingError("a connection setting holds a NUL character")
    return options
