"""What to connect to: URLs, keywords, environment, service file and passfile, as libpq reads them.

Sources, the first that has a setting wins: keyword arguments, the conninfo string, the service file, the
environment (PG*), defaults. See "Database Connection Control Functions" in the PostgreSQL manual.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, cast

from .. import defaults
from .._shared.arguments import checked_text
from .._shared.known import KnownSettings, ReusableOptions
from .._shared.settings import Settings, nearest, port_number, unknown
from ..errors import NotSupportedError, ProgrammingError
from .parse import ALIASES, canonical, parse_text
from .passfile import find_password
from .service import read_service

__all__ = ["ALIASES", "KEYWORDS", "ConnectOptions", "Host", "Password", "connect_options", "parse_conninfo"]

LABEL_BYTES: Final = 63
"""Bytes of a part of a host's name at most (RFC 1035, 2.3.4)."""

Password = str | Callable[[], "str | Awaitable[str]"]

ENVIRONMENT: Final = {
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
    "PGSSLCERTMODE": "sslcertmode",
    "PGSSLROOTCERT": "sslrootcert",
    "PGSSLCRL": "sslcrl",
    "PGSSLCRLDIR": "sslcrldir",
    "PGSSLSNI": "sslsni",
    "PGSSLMINPROTOCOLVERSION": "ssl_min_protocol_version",
    "PGSSLMAXPROTOCOLVERSION": "ssl_max_protocol_version",
    "PGMINPROTOCOLVERSION": "min_protocol_version",
    "PGMAXPROTOCOLVERSION": "max_protocol_version",
    "PGREQUIREPEER": "requirepeer",
    "PGCHANNELBINDING": "channel_binding",
    "PGREQUIREAUTH": "require_auth",
    "PGGSSENCMODE": "gssencmode",
    "PGCONNECT_TIMEOUT": "connect_timeout",
    "PGCLIENTENCODING": "client_encoding",
    "PGTARGETSESSIONATTRS": "target_session_attrs",
    "PGLOADBALANCEHOSTS": "load_balance_hosts",
    "HEADRACE_TIMING": "enable_timing",
    "HEADRACE_DAEMON": "daemon",
}

# Settings of the session that libpq takes from the environment and nowhere else.
_SESSION_ENVIRONMENT: Final = {"PGTZ": "TimeZone", "PGDATESTYLE": "DateStyle", "PGGEQO": "geqo"}

CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "sslmode": ("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
    "sslnegotiation": ("postgres", "direct"),
    "sslcertmode": ("disable", "allow", "require"),
    "channel_binding": ("disable", "prefer", "require"),
    "gssencmode": ("disable", "prefer", "require"),
    "target_session_attrs": ("any", "read-write", "read-only", "primary", "standby", "prefer-standby"),
    "load_balance_hosts": ("disable", "random"),
    "unrepresentable": ("raise", "none", "text"),
    "extension_types": ("values", "text"),
    "batch_strategy": ("auto", "pipelined", "copy", "joined"),
    "ssl_min_protocol_version": ("TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"),
    "ssl_max_protocol_version": ("TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"),
    "min_protocol_version": ("3.0", "3.2", "latest"),
    "max_protocol_version": ("3.0", "3.2", "latest"),
}

AUTH_METHODS: Final = ("password", "md5", "scram-sha-256", "none")
_NO_OAUTH: Final = (
    "headrace has no OAuth, and cannot log in where the server asks for it (method oauth in pg_hba.conf); where it "
    "takes a token as the password, as cloud services do, give that as password, or a function that fetches it"
)
# libpq's other methods: they may be named, but headrace never uses them.
_OTHER_METHODS: Final = ("gss", "sspi", "oauth")

# Keywords of libpq that ask for protection, or for a secret to be used, in ways that headrace cannot: to ignore them
# would be to promise what is not kept.
_REFUSED: Final = {
    "sslcrl": "headrace does not read revocation lists",
    "sslcrldir": "headrace does not read revocation lists",
    "sslpassword": "headrace reads no encrypted keys; decrypt it once: openssl pkey -in client.key -out plain.key",
    "sslkeylogfile": "headrace writes no TLS keys to files",
    "requirepeer": "headrace does not look at who owns the server's process; use TLS with sslmode=verify-full",
    "scram_client_key": "give the password itself",
    "scram_server_key": "give the password itself",
    "oauth_issuer": _NO_OAUTH,
    "oauth_client_id": _NO_OAUTH,
    "oauth_client_secret": _NO_OAUTH,
    "oauth_scope": _NO_OAUTH,
}
# Keywords of libpq that change nothing without GSSAPI or TLS compression.
_WITHOUT_EFFECT: Final = ("krbsrvname", "gsslib", "gssdelegation", "sslcompression")


@dataclass(frozen=True)
class Host:
    """One place to try: a name or an address with a port, or the directory of a Unix socket."""

    host: str
    hostaddr: str | None
    port: int

    @property
    def is_unix(self) -> bool:
        """True for a Unix socket."""
        return self.hostaddr is None and self.host.startswith("/")

    @property
    def socket_path(self) -> str:
        """The path of the Unix socket."""
        return f"{self.host}/.s.PGSQL.{self.port}"

    def __str__(self) -> str:
        if self.is_unix:
            return self.socket_path
        name = self.host or self.hostaddr or ""
        return f"[{name}]:{self.port}" if ":" in name else f"{name}:{self.port}"


@dataclass(frozen=True, kw_only=True)
class ConnectOptions(ReusableOptions):
    """Everything that a connection is made from. Times are seconds, paths are text."""

    hosts: tuple[Host, ...]
    user: str
    dbname: str
    passfile: str | None = None
    connect_timeout: float = defaults.CONNECT_TIMEOUT
    application_name: str = defaults.APPLICATION_NAME
    options: str | None = None
    replication: str | None = None
    session: tuple[tuple[str, str], ...] = ()
    sslmode: str = "prefer"
    sslnegotiation: str = "postgres"
    sslrootcert: str | None = None
    sslcert: str | None = None
    sslkey: str | None = None
    sslcertmode: str = "allow"
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
    extension_types: Literal["values", "text"] = "values"
    batch_strategy: Literal["auto", "pipelined", "copy", "joined"] = "auto"
    prepared: bool = True
    statement_cache_size: int = defaults.STATEMENT_CACHE_SIZE
    enable_timing: bool = False
    command_timeout: float | None = defaults.COMMAND_TIMEOUT
    daemon: bool = False

    @cached_property
    def host_independent(self) -> dict[str, Any]:
        """What depends neither on the host nor on the password."""
        parameters = [
            ("user", self.user),
            ("database", self.dbname),
            ("client_encoding", "UTF8"),
            ("application_name", self.application_name),
        ]
        if self.options:
            parameters.append(("options", self.options))
        if self.replication:
            parameters.append(("replication", self.replication))
        return {
            "user": self.user,
            "parameters": [*parameters, *self.session],
            "sslsni": self.sslsni,
            "only_tls13": self.ssl_min_protocol_version == "TLSv1.3",
            "channel_binding": self.channel_binding,
            "require_auth": list(self.require_auth),
            "unrepresentable": self.unrepresentable,
            "extension_types": self.extension_types,
            "statements": self.statement_cache_size,
            "keepalives": self.keepalives,
            "keepalives_idle": self.keepalives_idle,
            "keepalives_interval": self.keepalives_interval,
            "keepalives_count": self.keepalives_count or None,
            "tcp_user_timeout": self.tcp_user_timeout,
        }

    def password_for(self, host: Host) -> Password | None:
        """The password given, or the passfile's for this host. An empty one is none, as in libpq."""
        if self.password:
            return self.password
        return find_password(self.passfile, host.host, host.hostaddr, host.port, self.dbname, self.user)


# Keywords that other fields are made of, or that have no field because only their refusal matters.
_EXTRA: Final = {
    "host",
    "hostaddr",
    "port",
    "service",
    "servicefile",
    "client_encoding",
    "gssencmode",
    "fallback_application_name",
    "ssl_max_protocol_version",
    "min_protocol_version",
    "max_protocol_version",
    *_REFUSED,
    *_WITHOUT_EFFECT,
}
_NO_KEYWORDS: Final = {"hosts", "session", "lasting"}
KEYWORDS: Final = (frozenset(f.name for f in dataclasses.fields(ConnectOptions)) - _NO_KEYWORDS) | _EXTRA


def parse_conninfo(conninfo: str) -> dict[str, str]:
    """The keywords of a URL or of a ``keyword=value`` string; of one given twice the last counts.

    Raises ProgrammingError for a malformed one or an unknown keyword.
    """
    found: dict[str, str] = {}
    before: str | None = None
    for name, value in parse_text(conninfo):
        check_keyword(name, before=before)
        found[name] = value
        before = name
    return found


# What other drivers call what is meant.
_OTHER_NAMES = {"database": "dbname", "db": "dbname", "username": "user", "passwd": "password", "hostname": "host"}


def check_keyword(name: str, origin: str = "", before: str | None = None) -> None:
    """Raises ProgrammingError for an unknown keyword, with the nearest known one.

    ``before`` is the keyword before it in a text: after a password, text that looks like a keyword may be a piece of
    it.
    """
    if name in KEYWORDS:
        return
    near = nearest(name, (*KEYWORDS, *_OTHER_NAMES))
    for other, ours in _OTHER_NAMES.items():
        near = near.replace(repr(other), repr(ours))
    raise unknown(name, near, origin=origin, before=before)


def connect_options(
    conninfo: str = "", keywords: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None
) -> ConnectOptions:
    """Reads every source and checks the settings. A keyword argument of ``None`` counts as not given.

    Raises ProgrammingError naming the keyword that is wrong, NotSupportedError for features that headrace does not
    have.
    """
    # Of those of the process, which is asked once for all of them.
    found = dict(known.environment.set_now()) if environ is None else environ
    environ = os.environ if environ is None else environ
    home = home_directory(found)
    settings = Settings()
    for name, value in parse_conninfo(conninfo).items():
        settings.add(name, value)
    for name, value in (keywords or {}).items():
        name = canonical(name)
        check_keyword(name)
        if value is not None:
            settings.add(name, value)
    from_environment = {
        name: (found[variable], f" (from {variable})") for variable, name in ENVIRONMENT.items() if found.get(variable)
    }
    if found.get("PGREQUIRESSL", "").startswith("1"):
        from_environment.setdefault("sslmode", ("require", " (from PGREQUIRESSL)"))
    service = settings.values.get("service") or from_environment.get("service", ("", ""))[0]
    if service:
        file = settings.values.get("servicefile") or from_environment.get("servicefile", (None, ""))[0]
        origin = f" (from the service {service!r})"
        for name, value in read_service(str(service), file, environ, home).items():
            check_keyword(name, origin)
            settings.add_default(name, value, origin)
    for name, (value, origin) in from_environment.items():
        settings.add_default(name, value, origin)
    session = tuple(
        (name, found[variable])
        for variable, name in _SESSION_ENVIRONMENT.items()
        if found.get(variable, "default").lower() != "default"
    )
    return _build(settings, session, home)


known: Final = KnownSettings(connect_options, (*ENVIRONMENT, *_SESSION_ENVIRONMENT, "PGREQUIRESSL", "HOME"))


def home_directory(environ: Mapping[str, str] | None = None) -> str | None:
    """The user's home, where libpq looks for its files; None when there is none."""
    environ = os.environ if environ is None else environ
    if environ.get("HOME"):
        return environ["HOME"]
    try:
        return str(Path.home())
    except RuntimeError:
        return None


def _build(settings: Settings, session: tuple[tuple[str, str], ...], home: str | None) -> ConnectOptions:
    _refuse(settings)
    user = settings.text("user") or _system_user()
    sslmode = _sslmode(settings)
    passfile = settings.text("passfile") or (os.path.join(home, ".pgpass") if home else None)
    application_name = settings.text("application_name") or settings.text("fallback_application_name")
    return ConnectOptions(
        hosts=_hosts(settings),
        user=user,
        dbname=settings.text("dbname") or user,
        password=_password(settings),
        passfile=passfile,
        connect_timeout=settings.number("connect_timeout", defaults.CONNECT_TIMEOUT),
        application_name=application_name or defaults.APPLICATION_NAME,
        options=settings.text("options"),
        replication=settings.text("replication"),
        session=session,
        sslmode=sslmode,
        sslnegotiation=settings.choice("sslnegotiation", CHOICES, "postgres"),
        sslrootcert=settings.text("sslrootcert"),
        sslcert=settings.text("sslcert"),
        sslkey=settings.text("sslkey"),
        sslcertmode=settings.choice("sslcertmode", CHOICES, "allow"),
        sslsni=settings.boolean("sslsni", True),
        ssl_min_protocol_version=settings.choice("ssl_min_protocol_version", CHOICES, "TLSv1.2"),
        channel_binding=settings.choice("channel_binding", CHOICES, "prefer"),
        require_auth=_require_auth(settings),
        target_session_attrs=settings.choice("target_session_attrs", CHOICES, "any"),
        load_balance_hosts=settings.choice("load_balance_hosts", CHOICES, "disable"),
        keepalives=settings.boolean("keepalives", True),
        keepalives_idle=settings.number("keepalives_idle", 0),
        keepalives_interval=settings.number("keepalives_interval", 0),
        keepalives_count=settings.integer("keepalives_count", 0),
        tcp_user_timeout=settings.number("tcp_user_timeout", 0) / 1000,  # libpq has it in milliseconds
        unrepresentable=cast(Any, settings.choice("unrepresentable", CHOICES, "raise")),
        extension_types=cast(Any, settings.choice("extension_types", CHOICES, "values")),
        batch_strategy=cast(Any, settings.choice("batch_strategy", CHOICES, "auto")),
        prepared=settings.boolean("prepared", True),
        statement_cache_size=settings.integer("statement_cache_size", defaults.STATEMENT_CACHE_SIZE),
        enable_timing=settings.boolean("enable_timing", False),
        command_timeout=settings.number("command_timeout", 0) or defaults.COMMAND_TIMEOUT,
        daemon=settings.boolean("daemon", False),
        lasting=settings.names_all("host") and "user" in settings.values and "service" not in settings.values,
    )


def _refuse(settings: Settings) -> None:
    """Raises NotSupportedError for what libpq can and headrace cannot."""
    for name, reason in _REFUSED.items():
        if settings.values.get(name):
            raise NotSupportedError(f"{name}{settings.origin(name)}: {reason}")
    encoding = settings.text("client_encoding") or "UTF8"
    if encoding.upper().replace("-", "") not in ("UTF8", "UNICODE", "AUTO"):
        raise NotSupportedError(
            f"{settings.setting_with_origin('client_encoding')}: headrace always speaks UTF8, the server converts"
        )
    for name, wanted, reason in (
        ("gssencmode", ("", "disable", "prefer"), "headrace has no GSSAPI encryption; use TLS (sslmode)"),
        ("sslcertmode", ("", "disable", "allow"), "headrace cannot insist that the server asks for a certificate"),
        ("ssl_max_protocol_version", ("", "TLSv1.3"), "headrace always offers TLS 1.3"),
        ("min_protocol_version", ("", "3.0"), "headrace speaks version 3.0 of the protocol"),
        ("max_protocol_version", ("", "3.0", "3.2", "latest"), ""),
    ):
        if settings.choice(name, CHOICES, "") not in wanted:
            raise NotSupportedError(f"{settings.setting_with_origin(name)}: {reason}")


def _sslmode(settings: Settings) -> str:
    """The mode, with what other keywords ask of it."""
    given = settings.text("sslmode")
    mode = settings.choice("sslmode", CHOICES, "prefer")
    if settings.text("sslrootcert") == "system":
        if given and mode != "verify-full":
            raise ProgrammingError(
                f"sslrootcert=system needs sslmode=verify-full, not {mode}{settings.origin('sslmode')}: anyone can "
                "have a certificate of a public authority, only the name distinguishes them"
            )
        mode = "verify-full"
    if settings.text("sslnegotiation") == "direct" and mode not in ("require", "verify-ca", "verify-full"):
        raise ProgrammingError(f"sslnegotiation=direct needs sslmode=require or stronger, not {mode}")
    if settings.text("channel_binding") == "require" and mode == "disable":
        raise ProgrammingError("channel_binding=require needs TLS, but sslmode=disable")
    return mode


def _password(settings: Settings) -> Password | None:
    given = settings.values.get("password")
    if given is None or callable(given):
        return cast("Password | None", given)
    if not isinstance(given, str):
        raise ProgrammingError(f"password must be text or a function that returns it, not {type(given).__name__}")
    if "\0" in given:
        raise ProgrammingError("password holds a NUL character")
    return checked_text(given, "password")


def _require_auth(settings: Settings) -> tuple[str, ...]:
    names = settings.items("require_auth")
    known = AUTH_METHODS + _OTHER_METHODS
    for name in names:
        if name.removeprefix("!") not in known:
            raise ProgrammingError(
                f"require_auth{settings.origin('require_auth')}: {name!r} is not one of {', '.join(known)}"
                + nearest(name, known)
            )
    refused = [name[1:] for name in names if name.startswith("!")]
    if refused and len(refused) != len(names):
        raise ProgrammingError("require_auth names either the methods that are allowed or, with !, those that are not")
    allowed = tuple(m for m in AUTH_METHODS if (m not in refused if refused else m in names))
    if names and not allowed:
        # An empty tuple would allow everything.
        raise ProgrammingError(f"require_auth leaves none of headrace's methods: {', '.join(AUTH_METHODS)}")
    return allowed


def _hosts(settings: Settings) -> tuple[Host, ...]:
    names, addresses, ports = (settings.items(name) for name in ("host", "hostaddr", "port"))
    count = max(len(names), len(addresses), 1)
    if names and addresses and len(names) != len(addresses):
        raise ProgrammingError(f"{len(names)} hosts, but {len(addresses)} hostaddrs are given")
    if len(ports) > 1 and len(ports) != count:
        raise ProgrammingError(f"{count} hosts, but {len(ports)} ports are given")
    hosts: list[Host] = []
    for i in range(count):
        port = _port((ports[i] if len(ports) > 1 else ports[0]) if ports else "", settings.origin("port"))
        name = names[i] if names else ""
        address = (addresses[i] if addresses else "") or None
        if address is not None:
            _check_address(address, settings.origin("hostaddr"))
        elif not name:
            name = _default_host(port)
        _check_host(name, settings.origin("host"))
        hosts.append(Host(name, address, port))
    return tuple(hosts)


def _port(text: str, origin: str) -> int:
    return port_number(text, origin) if text else defaults.PORT


def _check_address(address: str, origin: str) -> None:
    try:
        ipaddress.ip_address(address)
    except ValueError:
        raise ProgrammingError(f"hostaddr {address!r}{origin} is not an IP address; give a name as host") from None


def can_be_looked_up(host: str) -> bool:
    """Returns true if a host is a name with labels as IDNA has them. A name in ASCII is not encoded for that: Python
    would import the tables for other letters."""
    if host.isascii():
        *labels, last = host.split(".")
        return all(0 < len(label) <= LABEL_BYTES for label in labels) and len(last) <= LABEL_BYTES
    try:
        host.encode("idna")
    except UnicodeError:
        return False
    return True


def _check_host(name: str, origin: str) -> None:
    if name.startswith("@"):
        raise NotSupportedError(f"host {name!r}{origin}: headrace has no abstract Unix sockets")
    if not name.startswith("/") and not can_be_looked_up(name):
        raise ProgrammingError(f"host {name!r}{origin} is not a name that can be looked up")


def _default_host(port: int) -> str:
    """The directory where a server listens, else this machine by name."""
    for directory in defaults.SOCKET_DIRS:
        if Path(directory, f".s.PGSQL.{port}").exists():
            return directory
    return "localhost"


def _system_user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        raise ProgrammingError(
            "no user was given, and the system has no name for the user of this process; give user="
        ) from None
