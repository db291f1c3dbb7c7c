"""What to connect to: URLs, keywords, environment, service file and passfile, as libpq reads them.

Sources, the first that says something wins: keyword arguments, the conninfo string, the service file, the
environment (PG*), defaults. See "Database Connection Control Functions" in the PostgreSQL manual.
"""

from __future__ import annotations

import dataclasses
import difflib
import getpass
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote

from .. import defaults
from ..errors import NotSupportedError, ProgrammingError
from .passfile import find_password
from .service import read_service

Password = str | Callable[[], "str | Awaitable[str]"]

ENVIRONMENT = {
    "PGHOST": "host",
    "PGHOSTADDR": "hostaddr",
    "PGPORT": "port",
    "PGDATABASE": "dbname",
    "PGUSER": "user",
    "PGPASSWORD": "password",
    "PGPASSFILE": "passfile",
    "PGSERVICE": "service",
    "PGSERVICEFILE": "servicefile",
    "PGOPTIONS": "options",
    "PGAPPNAME": "application_name",
    "PGSSLMODE": "sslmode",
    "PGSSLNEGOTIATION": "sslnegotiation",
    "PGSSLCERT": "sslcert",
    "PGSSLKEY": "sslkey",
    "PGSSLROOTCERT": "sslrootcert",
    "PGSSLSNI": "sslsni",
    "PGSSLMINPROTOCOLVERSION": "ssl_min_protocol_version",
    "PGCHANNELBINDING": "channel_binding",
    "PGREQUIREAUTH": "require_auth",
    "PGGSSENCMODE": "gssencmode",
    "PGCONNECT_TIMEOUT": "connect_timeout",
    "PGCLIENTENCODING": "client_encoding",
    "PGTARGETSESSIONATTRS": "target_session_attrs",
    "PGLOADBALANCEHOSTS": "load_balance_hosts",
}

CHOICES: dict[str, tuple[str, ...]] = {
    "sslmode": ("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
    "sslnegotiation": ("postgres", "direct"),
    "channel_binding": ("disable", "prefer", "require"),
    "gssencmode": ("disable", "prefer", "require"),
    "target_session_attrs": ("any", "read-write", "read-only", "primary", "standby", "prefer-standby"),
    "load_balance_hosts": ("disable", "random"),
    "unrepresentable": ("raise", "none", "text"),
    "ssl_min_protocol_version": ("TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"),
}

AUTH_METHODS = ("password", "md5", "scram-sha-256", "none")


@dataclass(frozen=True)
class Host:
    """One place to try: a name or an address with a port, or the directory of a Unix socket."""

    host: str
    hostaddr: str | None
    port: int

    @property
    def is_unix(self) -> bool:
        """True for a Unix socket."""
        return self.hostaddr is None and self.host.startswith(("/", "@"))

    @property
    def socket_path(self) -> str:
        """The path of the Unix socket."""
        return f"{self.host}/.s.PGSQL.{self.port}"

    def __str__(self) -> str:
        return self.socket_path if self.is_unix else f"{self.host or self.hostaddr}:{self.port}"


@dataclass(frozen=True)
class ConnectOptions:
    """Everything that a connection is made from. Times are seconds."""

    hosts: tuple[Host, ...]
    user: str
    dbname: str
    password: Password | None = field(default=None, repr=False)
    passfile: str | None = None
    connect_timeout: float = defaults.CONNECT_TIMEOUT
    application_name: str = defaults.APPLICATION_NAME
    options: str | None = None
    replication: str | None = None
    sslmode: str = "prefer"
    sslnegotiation: str = "postgres"
    sslrootcert: str | None = None
    sslcert: str | None = None
    sslkey: str | None = None
    sslsni: bool = True
    ssl_min_protocol_version: str = "TLSv1.2"
    channel_binding: str = "prefer"
    require_auth: tuple[str, ...] = ()
    target_session_attrs: str = "any"
    load_balance_hosts: str = "disable"
    keepalives: bool = True
    keepalives_idle: float = 0
    keepalives_interval: float = 0
    keepalives_count: int = 0
    tcp_user_timeout: float = 0
    unrepresentable: Literal["raise", "none", "text"] = "raise"
    prepared: bool = True
    statement_cache_size: int = defaults.STATEMENT_CACHE_SIZE
    enable_timing: bool = False

    def password_for(self, host: Host) -> Password | None:
        """The password given, or the passfile's for this host."""
        if self.password is not None:
            return self.password
        return find_password(self.passfile, host.host, host.hostaddr, host.port, self.dbname, self.user)


# Keywords that are read before the options are built, or that libpq has and we need not.
_EXTRA = {
    "host",
    "hostaddr",
    "port",
    "service",
    "servicefile",
    "client_encoding",
    "gssencmode",
    "fallback_application_name",
}
KEYWORDS = frozenset(f.name for f in dataclasses.fields(ConnectOptions)) - {"hosts"} | _EXTRA
_ALIASES = {"database": "dbname", "username": "user", "timeout": "connect_timeout"}


def parse_conninfo(conninfo: str) -> dict[str, str]:
    """The keywords of a URL or of a ``key=value`` string.

    Raises ProgrammingError for a malformed one or an unknown keyword.
    """
    scheme = conninfo.split("://", 1)[0] if "://" in conninfo else ""
    if scheme in ("postgresql", "postgres"):
        found = _parse_url(conninfo)
    elif scheme and "=" not in scheme:
        raise ProgrammingError(f"the URL begins with {scheme}://; for PostgreSQL it begins with postgresql://")
    else:
        found = _parse_keywords(conninfo)
    for name in found:
        check_keyword(name)
    return found


def check_keyword(name: str) -> None:
    """Raises ProgrammingError for an unknown keyword, with the nearest known one."""
    if name not in KEYWORDS:
        near = difflib.get_close_matches(name, sorted(KEYWORDS), 1)
        raise ProgrammingError(
            f"unknown connection keyword {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")
        )


def _parse_url(url: str) -> dict[str, str]:
    rest = url.split("://", 1)[1]
    rest, _, query = rest.partition("?")
    authority, slash, path = rest.partition("/")
    found: dict[str, str] = {}
    userinfo, at, hosts = authority.rpartition("@")
    if at:
        user, colon, password = userinfo.partition(":")
        if user:
            found["user"] = unquote(user)
        if colon:
            found["password"] = unquote(password)
    names: list[str] = []
    ports: list[str] = []
    for one in hosts.split(",") if hosts else []:
        if one.startswith("["):
            name, bracket, after = one[1:].partition("]")
            if not bracket or (after and not after.startswith(":")):
                raise ProgrammingError(f"malformed IPv6 address in the URL: {one!r}; it is written [::1]:5432")
            port = after[1:]
        else:
            name, _, port = one.partition(":")
            if ":" in port:
                raise ProgrammingError(f"malformed host in the URL: {one!r}; an IPv6 address stands in brackets")
        names.append(unquote(name))
        ports.append(port)
    if any(names):
        found["host"] = ",".join(names)
    if any(ports):
        found["port"] = ",".join(ports)
    if slash and path:
        found["dbname"] = unquote(path)
    if query:
        try:
            pairs = parse_qsl(query.replace("+", "%2B"), keep_blank_values=True, strict_parsing=True)
        except ValueError as error:
            raise ProgrammingError(f"malformed parameters in the URL: {error}") from None
        for name, value in pairs:
            if name == "ssl" and value == "true":
                name, value = "sslmode", "require"
            found[_ALIASES.get(name, name)] = value
    return found


def _parse_keywords(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
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
            raise ProgrammingError(f"missing '=' after {name!r} in the connection string")
        i += 1
        while i < n and text[i].isspace():
            i += 1
        value: list[str] = []
        quoted = i < n and text[i] == "'"
        i += quoted
        while i < n and (text[i] != "'" if quoted else not text[i].isspace()):
            if text[i] == "\\" and i + 1 < n:
                i += 1
            value.append(text[i])
            i += 1
        if quoted:
            if i == n:
                raise ProgrammingError(f"the quoted value of {name!r} in the connection string has no end")
            i += 1
        found[name] = "".join(value)


def connect_options(
    conninfo: str = "", keywords: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None
) -> ConnectOptions:
    """Reads every source and checks what they say.

    Raises ProgrammingError naming the keyword that is wrong, NotSupportedError for what headrace has not.
    """
    environ = os.environ if environ is None else environ
    given: dict[str, Any] = dict(parse_conninfo(conninfo)) if conninfo else {}
    for name, value in (keywords or {}).items():
        name = _ALIASES.get(name, name)
        check_keyword(name)
        if value is not None:
            given[name] = value
    from_environment = {name: environ[variable] for variable, name in ENVIRONMENT.items() if environ.get(variable)}
    merged = {**from_environment, **given}
    service = given.get("service") or from_environment.get("service")
    if service:
        settings = read_service(str(service), merged.get("servicefile"), environ)
        for name in settings:
            check_keyword(name)
        merged = {**from_environment, **settings, **given}
    if environ.get("HEADRACE_TIMING") == "1":
        merged.setdefault("enable_timing", True)
    return _build(merged)


def _build(merged: dict[str, Any]) -> ConnectOptions:
    for name in ("service", "servicefile", "fallback_application_name"):
        merged.pop(name, None)
    encoding = str(merged.pop("client_encoding", "") or "UTF8").upper().replace("-", "")
    if encoding not in ("UTF8", "AUTO"):
        raise NotSupportedError(f"client_encoding={encoding}: headrace always speaks UTF8, the server converts")
    if merged.pop("gssencmode", "prefer") == "require":
        raise NotSupportedError("gssencmode=require: headrace has no GSSAPI encryption; use TLS (sslmode)")
    hosts = _hosts(merged)
    user = merged.pop("user", None) or _system_user()
    dbname = merged.pop("dbname", None) or user
    for name, choices in CHOICES.items():
        if name in merged and merged[name] not in choices:
            raise ProgrammingError(f"{name}={merged[name]!r} is not one of {', '.join(choices)}")
    for name in ("sslsni", "keepalives", "prepared", "enable_timing"):
        if name in merged:
            merged[name] = _boolean(name, merged[name])
    for name in ("connect_timeout", "keepalives_idle", "keepalives_interval", "tcp_user_timeout"):
        if name in merged:
            merged[name] = _number(name, merged[name])
    if "tcp_user_timeout" in merged:
        merged["tcp_user_timeout"] /= 1000  # libpq gives it in milliseconds
    for name in ("keepalives_count", "statement_cache_size"):
        if name in merged:
            merged[name] = int(_number(name, merged[name]))
    methods = merged.get("require_auth", ())
    if isinstance(methods, str):
        methods = tuple(m.strip() for m in methods.split(",") if m.strip())
        excluded = [m[1:] for m in methods if m.startswith("!")]
        if excluded and len(excluded) == len(methods):
            methods = tuple(m for m in AUTH_METHODS if m not in excluded)
    for method in methods:
        if method not in AUTH_METHODS:
            raise ProgrammingError(f"require_auth: {method!r} is not one of {', '.join(AUTH_METHODS)}")
    merged["require_auth"] = tuple(methods)
    _check_tls(merged)
    return ConnectOptions(hosts=hosts, user=str(user), dbname=str(dbname), **merged)


def _check_tls(merged: dict[str, Any]) -> None:
    mode = merged.get("sslmode")
    if merged.get("sslrootcert") == "system":
        if mode not in (None, "verify-full"):
            raise ProgrammingError(f"sslrootcert=system needs sslmode=verify-full, not {mode}")
        mode = merged["sslmode"] = "verify-full"
    if merged.get("sslnegotiation") == "direct" and mode not in ("require", "verify-ca", "verify-full"):
        raise ProgrammingError("sslnegotiation=direct needs sslmode=require or stronger")
    if merged.get("channel_binding") == "require" and mode == "disable":
        raise ProgrammingError("channel_binding=require needs TLS, but sslmode=disable")


def _hosts(merged: dict[str, Any]) -> tuple[Host, ...]:
    names = _list(merged.pop("host", None))
    addresses = _list(merged.pop("hostaddr", None))
    ports = _list(merged.pop("port", None))
    count = max(len(names), len(addresses), 1)
    if not names and not addresses:
        found = [d for d in defaults.SOCKET_DIRS if Path(d, f".s.PGSQL.{(ports or [str(defaults.PORT)])[0]}").exists()]
        names = [found[0] if found else "localhost"]
    if names and addresses and len(names) != len(addresses):
        raise ProgrammingError(f"{len(names)} hosts, but {len(addresses)} hostaddrs are given")
    if len(ports) > 1 and len(ports) != count:
        raise ProgrammingError(f"{count} hosts, but {len(ports)} ports are given")
    hosts: list[Host] = []
    for i in range(count):
        text = (ports[i] if len(ports) > 1 else ports[0]) if ports else ""
        port = int(text) if text.isdigit() else (defaults.PORT if not text else 0)
        if not 0 < port < 65536:
            raise ProgrammingError(f"port {text!r} is no number from 1 to 65535")
        hosts.append(Host(names[i] if names else "", addresses[i] if addresses else None, port))
    return tuple(hosts)


def _list(value: Any) -> list[str]:
    if value is None or value == "":
        return []
    if isinstance(value, (list, tuple)):
        return [str(item) for item in value]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return [part.strip() for part in str(value).split(",")]


def _boolean(name: str, value: Any) -> bool:
    if str(value).lower() in ("1", "true", "on", "yes"):
        return True
    if str(value).lower() in ("0", "false", "off", "no"):
        return False
    raise ProgrammingError(f"{name}={value!r} is neither 1 nor 0")


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ProgrammingError(f"{name}={value!r} is no number") from None


def _system_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise ProgrammingError("no user was given, and the system does not know who runs this; give user=") from None


def redact(conninfo: str) -> str:
    """A conninfo without its password, for messages and logs."""
    try:
        found = parse_conninfo(conninfo)
    except ProgrammingError:
        return "(malformed conninfo)"
    if "password" in found:
        found["password"] = "***"
    return " ".join(f"{name}={value}" for name, value in found.items())
