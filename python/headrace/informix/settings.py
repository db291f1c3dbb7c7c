"""What to connect to: keywords, a URL, an ODBC or JDBC connection string, and the environment."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Final, Literal, TypeAlias, cast

from .. import defaults
from .._shared.arguments import checked_text, checked_whole
from .._shared.known import KnownSettings, ReusableOptions
from .._shared.settings import Settings, nearest, port_number, unknown
from ..errors import OperationalError, ProgrammingError
from . import sqlhosts
from .parse import ALIASES, parse
from .sqlhosts import Listener

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
ENVIRONMENT: Final = {"INFORMIXSERVER": "server", "HEADRACE_TIMING": "enable_timing"}
CHOICES: Final = {"sslmode": SSL_MODES, "unrepresentable": ("raise", "none", "text")}

InformixIsolation: TypeAlias = Literal[
    "dirty read",
    "read uncommitted",
    "committed read",
    "read committed",
    "committed read last committed",
    "last committed",
    "cursor stability",
    "repeatable read",
    "serializable",
]
"""The isolation levels, by Informix's names and the standard's."""
ISOLATION_LEVELS: Final[dict[InformixIsolation, str]] = {
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


def isolation(level: str) -> InformixIsolation:
    """An isolation level by Informix's name or the standard's, however it is written.

    >>> isolation("READ_COMMITTED")
    'read committed'

    Raises ProgrammingError for any other.
    """
    name = " ".join(checked_text(level, "isolation_level").replace("_", " ").lower().split())
    if name not in ISOLATION_LEVELS:
        raise ProgrammingError(f"isolation level {level!r} is not one of {', '.join(ISOLATION_LEVELS)}")
    return name


def lock_mode(wait: int | None) -> str:
    """The statement for waiting so many seconds for a lock: 0 not at all, -1 or None for ever.

    >>> lock_mode(5)
    'SET LOCK MODE TO WAIT 5'
    """
    if wait is not None:
        wait = checked_whole(wait, "lock_wait")
    if wait == 0:
        return "SET LOCK MODE TO NOT WAIT"
    return "SET LOCK MODE TO WAIT" if wait is None or wait < 0 else f"SET LOCK MODE TO WAIT {wait}"


@dataclass(frozen=True, kw_only=True)
class ConnectOptions(ReusableOptions):
    """Checked settings of a connection. Times are in seconds."""

    host: str | None = None
    port: int | None = None
    server: str = ""
    database: str | None = None
    user: str = ""
    pam: Callable[[str, bool], Any] | None = field(default=None, repr=False)
    sslmode: str | None = None
    sslrootcert: str | None = None
    codeset: str | None = None
    connect_timeout: float | None = defaults.CONNECT_TIMEOUT
    command_timeout: float | None = defaults.COMMAND_TIMEOUT
    isolation_level: InformixIsolation | None = None
    lock_wait: int | None = None
    statement_cache_size: int = defaults.STATEMENT_CACHE_SIZE
    unrepresentable: str = "raise"
    application_name: str = ""
    enable_timing: bool = False
    keepalives: bool = True
    env: dict[str, str] = field(default_factory=dict[str, str])

    def targets(self) -> list[Listener]:
        """Where to connect, in this order: the host that was named, or what the sqlhosts file has for the server.

        Raises OperationalError, ProgrammingError and NotSupportedError for a file that does not help.
        """
        if self.host is None and self.port is None:
            found = sqlhosts.from_environment(self.server)
            if found is not None:
                return found
        tls = self.sslmode not in (None, "disable")
        return [Listener(self.host or "localhost", self.port or defaults.INFORMIX_PORT, self.server, tls)]

    def wire_options(self, address: tuple[str, int], target: Listener) -> dict[str, Any]:
        """The options of the engine, for one address of one server."""
        sslmode = self.sslmode or ("verify-full" if target.tls else "disable")
        return {
            **self.host_independent,
            "tcp": address,
            "password": self.password,
            "server": target.server,
            "tls": "no" if sslmode == "disable" else "require",
            "verify": {"require": "none", "verify-ca": "ca"}.get(sslmode, "full"),
            "server_name": target.host,
            "program": self.application_name or os.path.basename(sys.argv[0] or "python"),
            "client_host": _host_name(),
            "directory": os.getcwd(),
        }

    @cached_property
    def host_independent(self) -> dict[str, Any]:
        """What depends neither on the server nor on the password."""
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
            "user": self.user,
            "pam": self.pam is not None,
            "database": self.database,
            "environment": [(name, value) for name, value in variables.items() if name in _LOGIN],
            "session": list(session.items()),
            "codeset": self.codeset or variables.get("DB_LOCALE"),
            "sslrootcert": self.sslrootcert,
            "statements": self.statement_cache_size,
            "unrepresentable": self.unrepresentable,
            "keepalives": self.keepalives,
        }


KEYWORDS: Final = tuple(name for name in ConnectOptions.__dataclass_fields__ if name != "lasting")


def connect_options(conninfo: str, keywords: dict[str, Any]) -> ConnectOptions:
    """Checked settings of a connection string and keywords; keywords win.

    >>> connect_options("informix://jo:secret@db:9088/stores?server=ol_main", {}).server
    'ol_main'

    Raises ProgrammingError.
    """
    text = parse(conninfo)
    given = [*text, *keywords.items()]
    found = dict(known.environment.set_now())
    env = {name: found[name] for name in _FROM_ENVIRONMENT if found.get(name)}
    for name, value in given:
        if name == "env":
            env.update(value or {})
    settings = Settings()
    before: str | None = None
    for number, (given_name, value) in enumerate(given):
        name = ALIASES.get(given_name, given_name)
        if name.isupper():
            env[name] = str(value)
        elif name not in KEYWORDS:
            raise unknown(name, nearest(name, KEYWORDS), before=before if number < len(text) else None)
        elif value is not None and name != "env":
            settings.add(name, value)
        before = name
    for variable, name in ENVIRONMENT.items():
        if found.get(variable):
            settings.add_default(name, found[variable], f" (from {variable})")
    return _checked(settings, env)


known: Final = KnownSettings(connect_options, (*ENVIRONMENT, *_FROM_ENVIRONMENT))


def url_settings(conninfo: str) -> list[tuple[str, Any]]:
    """The settings of a connection string, by their keywords; of one given twice the last counts.

    Raises ProgrammingError.
    """
    return [*dict(parse(conninfo)).items()]


def _checked(settings: Settings, env: dict[str, str]) -> ConnectOptions:
    pam = settings.values.get("pam")
    if pam is not None and not callable(pam):
        raise ProgrammingError("pam must be a function that takes a question, and whether the answer may be shown")
    server = settings.text("server")
    if server is None:
        raise ProgrammingError("no server was named: give server=..., the DBSERVERNAME of the instance")
    level_text = settings.text("isolation_level")
    level = None if level_text is None else isolation(level_text)
    sslmode, sslrootcert = settings.choice("sslmode", CHOICES, "") or None, settings.text("sslrootcert")
    if sslmode == "verify-ca" and sslrootcert is None:
        raise OperationalError("TLS: sslmode=verify-ca needs the certificates to trust: give sslrootcert")
    if any("\0" in text for text in [*env, *env.values()]):
        raise ProgrammingError("a variable of the session holds a NUL character")
    password = settings.values.get("password")
    return ConnectOptions(
        host=settings.text("host"),
        port=_port(settings),
        server=server,
        database=settings.text("database"),
        user=settings.text("user") or "",
        password=password if callable(password) else settings.text("password"),
        pam=cast("Callable[[str, bool], Any] | None", pam),
        sslmode=sslmode,
        sslrootcert=sslrootcert,
        codeset=settings.text("codeset"),
        connect_timeout=settings.number("connect_timeout", defaults.CONNECT_TIMEOUT) or None,
        command_timeout=settings.number("command_timeout", defaults.COMMAND_TIMEOUT or 0) or None,
        isolation_level=level,
        lock_wait=_lock_wait(settings),
        statement_cache_size=settings.integer("statement_cache_size", defaults.STATEMENT_CACHE_SIZE),
        unrepresentable=settings.choice("unrepresentable", CHOICES, "raise"),
        application_name=settings.text("application_name") or "",
        enable_timing=settings.boolean("enable_timing", False),
        keepalives=settings.boolean("keepalives", True),
        env=env,
        lasting=pam is None,
    )


def _port(settings: Settings) -> int | None:
    text = str(settings.values.get("port") or "")
    return port_number(text) if text else None


def _lock_wait(settings: Settings) -> int | None:
    given = settings.values.get("lock_wait")
    try:
        return None if given is None else int(given)
    except (TypeError, ValueError, OverflowError):
        raise ProgrammingError(f"{settings.setting_with_origin('lock_wait')} is not a number of seconds") from None


@cache
def _host_name() -> str:
    return socket.gethostname()
