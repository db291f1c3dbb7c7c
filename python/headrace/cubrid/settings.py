"""What to connect to: keywords, a URL, and the connection strings of CUBRID's own drivers."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias

from .. import defaults
from .._shared.arguments import checked_text
from .._shared.known import KnownSettings, ReusableOptions
from .._shared.modes import CommonIsolation
from .._shared.settings import Settings, nearest, port_number, shuffled, unknown
from ..errors import Error, InvalidPassword, NotSupportedError, OperationalError, ProgrammingError
from .parse import parse

CHARSETS: Final = {
    "utf8": "utf8",
    "euckr": "euckr",
    "iso88591": "iso88591",
    "latin1": "iso88591",
    "auto": "auto",
}
"""The character sets of databases, without regard to case, hyphens and underscores, with the names that the server has
for them; ``auto`` asks the server."""
CODECS: Final = {"utf8": "utf-8", "euckr": "cp949", "iso88591": "iso-8859-1"}
"""Python's codec for each."""
SSL_MODES: Final = ("disable", "require", "verify-ca", "verify-full")
CubridIsolation: TypeAlias = CommonIsolation
"""The isolation levels that CUBRID has."""
ISOLATION_LEVELS: Final[dict[CubridIsolation, int]] = {"read committed": 4, "repeatable read": 5, "serializable": 6}
"""The levels by name, with the numbers of the protocol."""

ALIASES: Final = {
    "althosts": "alt_hosts",
    "charset": "charset",
    "connecttimeout": "connect_timeout",
    "db": "database",
    "dbname": "database",
    "loadbalance": "load_balance",
    "login_timeout": "login_timeout_millis",
    "logintimeout": "login_timeout_millis",
    "passwd": "password",
    "query_timeout": "query_timeout_millis",
    "querytimeout": "query_timeout_millis",
    "rctime": "rc_time",
    "username": "user",
    "usessl": "ssl",
}
"""Names that CUBRID's own drivers have, without regard to case. Their timeouts are in milliseconds."""

_IGNORED: Final = frozenset({"logfile", "logonexception", "logslowqueries", "slowquerythresholdmillis", "logtraceapi"})
"""Properties of CUBRID's own drivers that only tell where these write logs."""

KEYWORDS: Final = (
    "alt_hosts",
    "charset",
    "command_timeout",
    "connect_timeout",
    "database",
    "enable_timing",
    "host",
    "isolation_level",
    "keep_cas",
    "keepalives",
    "load_balance",
    "lock_timeout",
    "login_timeout_millis",
    "password",
    "port",
    "query_timeout_millis",
    "rc_time",
    "read_timeout",
    "ssl",
    "sslmode",
    "sslrootcert",
    "statement_cache_size",
    "unrepresentable",
    "user",
    "windows_broker",
)
ENVIRONMENT: Final = {"HEADRACE_TIMING": "enable_timing"}
CHOICES: Final[dict[str, tuple[str, ...]]] = {"sslmode": SSL_MODES, "unrepresentable": ("raise", "none", "text")}
_NO_LIMIT: Final = float("inf")

unreachable: Final[dict[tuple[str, int], float]] = {}
"""When a broker of a connection with several hosts was not reached: the others are tried first for ``rc_time``."""


def is_refusal(error: Error) -> bool:
    """Returns true if the database has refused who asks: another broker would refuse it too."""
    return isinstance(error, InvalidPassword)


@dataclass(frozen=True, kw_only=True)
class ConnectOptions(ReusableOptions):
    """Checked settings of a connection. Times are in seconds."""

    hosts: tuple[tuple[str, int], ...] = (("localhost", defaults.CUBRID_PORT),)
    database: str = ""
    user: str = ""
    sslmode: str = "disable"
    sslrootcert: str | None = None
    connect_timeout: float | None = defaults.CONNECT_TIMEOUT
    command_timeout: float | None = defaults.COMMAND_TIMEOUT
    read_timeout: float | None = None
    query_timeout_millis: int = 0
    charset: str = "utf8"
    isolation_level: CubridIsolation | None = None
    lock_timeout: float | None = None
    load_balance: bool = False
    rc_time: float = defaults.CUBRID_RC_TIME
    keep_cas: bool = False
    windows_broker: bool = False
    statement_cache_size: int = defaults.STATEMENT_CACHE_SIZE
    unrepresentable: str = "raise"
    enable_timing: bool = False
    keepalives: bool = True

    def places(self) -> list[tuple[str, int]]:
        """The brokers, in the order in which they are tried: shuffled with ``load_balance``, and those last that were
        not reached within ``rc_time``."""
        places = shuffled(self.hosts) if self.load_balance else self.hosts
        now = time.monotonic()
        return sorted(places, key=lambda place: now - unreachable.get(place, -_NO_LIMIT) < self.rc_time)

    def wire_options(self, address: tuple[str, int], host: str, password: str | None) -> dict[str, Any]:
        """What the engine needs, for one address of one broker."""
        return {**self.host_independent, "tcp": address, "server_name": host, "password": password}

    @cached_property
    def host_independent(self) -> dict[str, Any]:
        """What depends neither on the broker nor on the password."""
        return {
            "user": self.user,
            "database": self.database,
            "tls": "no" if self.sslmode == "disable" else "require",
            "verify": {"require": "none", "verify-ca": "ca"}.get(self.sslmode, "full"),
            "sslrootcert": self.sslrootcert,
            "sends_ahead": not self.windows_broker,
            "keeps_cas": self.keep_cas,
            "query_timeout_millis": self.query_timeout_millis,
            "charset": "utf8" if self.charset == "auto" else self.charset,
            "read_timeout": self.read_timeout,
            "statements": self.statement_cache_size,
            "unrepresentable": self.unrepresentable,
            "keepalives": self.keepalives,
        }


def isolation(level: str) -> CubridIsolation:
    """The name of an isolation level, however it is written.

    >>> isolation("REPEATABLE_READ")
    'repeatable read'

    Raises ProgrammingError for a level that CUBRID does not have.
    """
    name = " ".join(checked_text(level, "isolation_level").replace("_", " ").lower().split())
    if name not in ISOLATION_LEVELS:
        raise ProgrammingError(f"isolation level {level!r} is not one of {', '.join(ISOLATION_LEVELS)}")
    return name


def connect_options(conninfo: str, keywords: dict[str, Any]) -> ConnectOptions:
    """Checked settings of a connection string and keywords; keywords win.

    >>> connect_options("cubrid://dba@db:33100/demodb", {}).hosts
    (('db', 33100),)

    Raises ProgrammingError.
    """
    settings = Settings()
    text = parse(conninfo)
    before: str | None = None
    for number, (name, value) in enumerate([*text, *keywords.items()]):
        known = ALIASES.get(name.lower(), name)
        if known.lower() in _IGNORED:
            continue
        if known not in KEYWORDS:
            raise unknown(name, nearest(name, KEYWORDS), before=before if number < len(text) else None)
        before = known
        if value is not None:
            settings.add(known, value)
    for variable, name in ENVIRONMENT.items():
        if os.environ.get(variable):
            settings.add_default(name, os.environ[variable], f" (from {variable})")
    return _checked(settings)


known: Final = KnownSettings(connect_options, ENVIRONMENT)


def url_settings(conninfo: str) -> list[tuple[str, Any]]:
    """The settings of a connection string, by their keywords; of one given twice the last counts.

    Raises ProgrammingError.
    """
    return [*{ALIASES.get(name.lower(), name): value for name, value in parse(conninfo)}.items()]


def _checked(settings: Settings) -> ConnectOptions:
    values = settings.values
    password = values.get("password")
    if password is not None and not callable(password):
        password = settings.text("password")
    level_text = settings.text("isolation_level")
    level = None if level_text is None else isolation(level_text)
    sslmode = _sslmode(settings)
    sslrootcert = settings.text("sslrootcert")
    if sslmode == "verify-ca" and sslrootcert is None:
        raise OperationalError("TLS: sslmode=verify-ca needs the certificates to trust: give sslrootcert")
    connect_timeout = settings.number("connect_timeout", defaults.CONNECT_TIMEOUT)
    if "login_timeout_millis" in values and "connect_timeout" not in values:
        connect_timeout = settings.number("login_timeout_millis", 0) / 1000
    lock_timeout = settings.number("lock_timeout", 0) if "lock_timeout" in values else None
    if float(values.get("lock_timeout", 0) or 0) < 0:
        lock_timeout = -1
    return ConnectOptions(
        hosts=_hosts(settings),
        database=settings.text("database") or "",
        user=settings.text("user") or "dba",
        password=password,
        sslmode=sslmode,
        sslrootcert=sslrootcert,
        connect_timeout=connect_timeout or None,
        command_timeout=settings.number("command_timeout", defaults.COMMAND_TIMEOUT or 0) or None,
        read_timeout=settings.number("read_timeout", 0) or None,
        query_timeout_millis=settings.integer("query_timeout_millis", 0),
        charset=_charset(settings),
        isolation_level=level,
        lock_timeout=lock_timeout,
        load_balance=settings.boolean("load_balance", False),
        rc_time=settings.number("rc_time", defaults.CUBRID_RC_TIME),
        keep_cas=settings.boolean("keep_cas", False),
        windows_broker=settings.boolean("windows_broker", False),
        statement_cache_size=min(
            settings.integer("statement_cache_size", defaults.STATEMENT_CACHE_SIZE), defaults.CUBRID_STATEMENTS
        ),
        unrepresentable=settings.choice("unrepresentable", CHOICES, "raise"),
        enable_timing=settings.boolean("enable_timing", False),
        keepalives=settings.boolean("keepalives", True),
        lasting=True,
    )


def _charset(settings: Settings) -> str:
    charset = settings.text("charset") or "utf8"
    name = CHARSETS.get(charset.lower().replace("-", "").replace("_", ""))
    if name is None:
        raise NotSupportedError(f"charset={charset!r} is not one of utf-8, euc-kr, iso-8859-1, auto")
    return name


def _sslmode(settings: Settings) -> str:
    mode = settings.choice("sslmode", CHOICES, "")
    if hasattr(settings.values.get("ssl"), "wrap_socket"):
        raise NotSupportedError("ssl takes True or False: headrace has a TLS of its own; give sslrootcert and sslmode")
    if mode:
        return mode
    return "verify-full" if settings.boolean("ssl", False) else "disable"


def _hosts(settings: Settings) -> tuple[tuple[str, int], ...]:
    names = settings.items("host") or ["localhost"]
    ports = settings.items("port")
    if len(ports) not in (0, 1, len(names)):
        raise ProgrammingError(f"{len(ports)} ports were given for {len(names)} hosts")
    if len(ports) <= 1:
        ports = (ports or [""]) * len(names)
    places = [(name or "localhost", _port(port)) for name, port in zip(names, ports, strict=True)]
    for one in settings.items("alt_hosts"):
        name, _, port = one.rpartition(":") if ":" in one else (one, "", "")
        places.append((name, _port(port)))
    return tuple(places)


def _port(text: str) -> int:
    return port_number(text) if text else defaults.CUBRID_PORT
