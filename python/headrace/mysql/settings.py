"""What to connect to: keywords as MySQLdb and PyMySQL spell them, a URL, option files and the environment.

Sources, the first that has a setting wins: keyword arguments, the URL, the login path, the option files, the
environment (MYSQL_*), defaults."""

from __future__ import annotations

import functools
import os
import re
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from .. import defaults
from .._shared.arguments import checked_text
from .._shared.known import KnownSettings, ReusableOptions
from .._shared.settings import Settings, nearest, shuffled, unknown
from .._shared.url import parse_url
from ..errors import NotSupportedError, ProgrammingError
from .optionfiles import Option, read_login_path, read_options
from .tls import SSL_MODES, TLS_KEYWORDS, Tls, tls_options

__all__ = ["KEYWORDS", "SSL_MODES", "ConnectOptions", "connect_options"]

SCHEMES: Final = ("mysql", "mariadb")
AUTH_PLUGINS: Final = (
    "mysql_native_password",
    "caching_sha2_password",
    "sha256_password",
    "mysql_clear_password",
    "client_ed25519",
    "parsec",
)
ENVIRONMENT: Final = {
    "MYSQL_HOST": "host",
    "MYSQL_TCP_PORT": "port",
    "MYSQL_UNIX_PORT": "socket",
    "MYSQL_PWD": "password",
    "HEADRACE_TIMING": "enable_timing",
}
KEYWORDS: Final = (
    *("host", "port", "socket", "user", "password", "database", "load_balance_hosts"),
    *("read_default_file", "read_default_group", "login_path"),
    *("connect_timeout", "command_timeout", "read_timeout", "write_timeout"),
    *("keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout"),
    *TLS_KEYWORDS,
    *("auth_plugins", "server_public_key", "server_public_key_path", "get_server_public_key"),
    *("compression", "zstd_level", "local_infile", "client_found_rows", "multi_statements", "interactive"),
    *("client_flag", "init_command", "sql_mode", "time_zone", "charset", "collation", "program_name"),
    *("prepared", "statement_cache_size", "unrepresentable", "json_text", "enable_timing"),
)
"""The keywords by their own names."""
ALIASES: Final = {
    "passwd": "password",
    "db": "database",
    "dbname": "database",
    "username": "user",
    "unix_socket": "socket",
    "auth_plugin": "auth_plugins",
    "timeout": "connect_timeout",
    "sslmode": "ssl_mode",
    "sslrootcert": "ssl_ca",
    "sslcert": "ssl_cert",
    "sslkey": "ssl_key",
}
CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "load_balance_hosts": ("disable", "random"),
    "ssl_mode": SSL_MODES,
    "unrepresentable": ("raise", "none", "text"),
    "compression": ("zlib", "zstd", "uncompressed"),
}

# Keywords of MySQLdb and PyMySQL that set what is so anyway, with the values for which that holds.
_WITHOUT_EFFECT: Final[dict[str, tuple[Any, ...]]] = {
    "use_unicode": (True, None, "1", "true", "on", "yes"),
    "named_pipe": (False, None, "0", "false", "off", "no"),
    "defer_connect": (False, None, "0", "false", "off", "no"),
    "binary_prefix": (),
    "max_allowed_packet": (),
    "executemany_fallback": (),
    "ssl_key_password": (None,),
    "local_infile_dir": (None, ""),
}
_REFUSED: Final = {
    "conv": "values become what docs/reference/types lists; headrace.compat.mysqldb takes converters",
    "cursorclass": "give row_factory, such as headrace.rows.dict_row; headrace.compat.mysqldb takes cursor classes",
    "use_unicode": "text is str",
    "named_pipe": "headrace has no named pipes",
    "defer_connect": "call connect() when you want the connection",
    "bind_address": "the system chooses the local address",
    "auth_plugin_map": "headrace has its authentication plugins built in",
    "ssl_key_password": "headrace reads keys that are not encrypted",
    "local_infile_dir": "the data of LOAD DATA LOCAL are handed over: load_rows() and load_data()",
}
# Options of libmysqlclient for protection that headrace does not have.
_REFUSED_OPTIONS: Final = {
    "ssl_crl": "headrace does not read revocation lists",
    "ssl_crlpath": "headrace does not read revocation lists",
    "ssl_capath": "name the file of the authority: ssl_ca",
}
# Options of libmysqlclient by the keyword that they are.
_OPTIONS: Final = {
    **{name: name for name in ("host", "port", "socket", "user", "password", "database", "connect_timeout")},
    **{name: name for name in ("init_command", "local_infile", "compress", "multi_statements", "tls_version")},
    **{name: name for name in ("ssl_mode", "ssl_ca", "ssl_cert", "ssl_key", "ssl", "ssl_verify_server_cert")},
    **{name: name for name in ("server_public_key_path", "get_server_public_key")},
    "return_found_rows": "client_found_rows",
    "compression_algorithms": "compression",
    "zstd_compression_level": "zstd_level",
}
_ALONE: Final = frozenset(
    {"compress", "ssl", "local_infile", "multi_statements", "ssl_verify_server_cert", "get_server_public_key"}
    | {"return_found_rows"}
)
"""Options that are written without a value to turn them on."""

_CHARSETS: Final = ("utf8mb4", "utf8", "utf8mb3")
# Of the manuals: "Client capabilities".
_FOUND_ROWS, _COMPRESS, _LOCAL_FILES, _INTERACTIVE, _MULTI_STATEMENTS = 2, 32, 128, 1024, 65_536
_FILES: Final = ("read_default_file", "read_default_group", "login_path", "server_public_key_path")
_WORD = re.compile(r"\w+", re.ASCII)
_SQL_MODE = re.compile(r"[\w,\s]*", re.ASCII)
_TIME_ZONE = re.compile(r"[\w+:/\-]+", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class ConnectOptions(ReusableOptions):
    """Checked settings of a connection. Times are in seconds."""

    hosts: tuple[tuple[str, int], ...] = ()
    socket: str | None = None
    user: str = ""
    database: str | None = None
    load_balance_hosts: str = "disable"
    tls: Tls = field(default_factory=Tls)
    auth_plugins: tuple[str, ...] = ()
    server_public_key: str | None = None
    get_server_public_key: bool = False
    connect_timeout: float = defaults.CONNECT_TIMEOUT
    read_timeout: float = 0.0
    write_timeout: float = 0.0
    client_found_rows: bool = False
    multi_statements: bool = False
    local_infile: bool = False
    interactive: bool = False
    compression: str | None = None
    zstd_level: int = 0
    init_command: str | None = None
    sql_mode: str | None = None
    time_zone: str | None = None
    collation: str | None = None
    program_name: str | None = None
    prepared: bool = True
    statement_cache_size: int = defaults.STATEMENT_CACHE_SIZE
    unrepresentable: str = "raise"
    json_text: bool = False
    enable_timing: bool = False
    command_timeout: float | None = defaults.COMMAND_TIMEOUT
    keepalives: bool = True
    keepalives_idle: float = 0.0
    keepalives_interval: float = 0.0
    keepalives_count: int = 0
    tcp_user_timeout: float = 0.0

    def wire_options(self, address: tuple[str, int] | None, server_name: str, password: str | None) -> dict[str, Any]:
        """The options of the engine, for one address; None is the Unix socket."""
        return {
            **self.host_independent[address is None],
            "tcp": address,
            "unix": self.socket if address is None else None,
            "password": password,
            "server_name": server_name,
            "attributes": [
                ("_pid", str(os.getpid())),
                ("_client_host", _host_name()),
                ("program_name", self.program_name or _base_name(sys.argv[0] or "python")),
            ],
        }

    @functools.cached_property
    def host_independent(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What depends neither on the address nor on the password, but on whether it is one or the Unix socket."""
        common = {
            "user": self.user,
            "database": self.database,
            "plugins": list(self.auth_plugins),
            "server_public_key": self.server_public_key,
            "get_server_public_key": self.get_server_public_key,
            "found_rows": self.client_found_rows,
            "multi_statements": self.multi_statements,
            "local_infile": self.local_infile,
            "interactive": self.interactive,
            "compression": self.compression,
            "zstd_level": self.zstd_level or None,
            "statements": self.statement_cache_size,
            "unrepresentable": self.unrepresentable,
            "json_text": self.json_text,
            "read_timeout": self.read_timeout,
            "write_timeout": self.write_timeout,
            "keepalives": self.keepalives,
            "keepalives_idle": self.keepalives_idle,
            "keepalives_interval": self.keepalives_interval,
            "keepalives_count": self.keepalives_count or None,
            "tcp_user_timeout": self.tcp_user_timeout,
        }
        return {**common, **self.tls.wire_options(local=False)}, {**common, **self.tls.wire_options(local=True)}

    @property
    def timeout(self) -> float | None:
        """Seconds for one address, None for ever."""
        return self.connect_timeout or None

    def places(self) -> list[tuple[str | None, int]]:
        """The hosts to try in turn; None is the Unix socket."""
        if self.socket is not None:
            return [(None, 0)]
        places: list[tuple[str | None, int]] = [*self.hosts]
        return shuffled(places) if self.load_balance_hosts == "random" else places

    def session_variables(self) -> str | None:
        """The SET statement that makes the session what was asked for, None where nothing was."""
        parts = [f"NAMES utf8mb4 COLLATE {self.collation}"] if self.collation else []
        parts += [f"SESSION sql_mode='{self.sql_mode}'"] if self.sql_mode is not None else []
        parts += [f"SESSION time_zone='{self.time_zone}'"] if self.time_zone else []
        return f"SET {', '.join(parts)}" if parts else None


def connect_options(
    conninfo: str, keywords: Mapping[str, Any], environ: Mapping[str, str] | None = None
) -> ConnectOptions:
    """Checked settings of a URL, keywords, option files and ``environ`` (by default that of the process).

    >>> connect_options("mysql://jo:secret@db/shop", {"port": 3307}).hosts
    (('db', 3307),)

    Raises ProgrammingError, and NotSupportedError for protection that headrace does not have.
    """
    # Of those of the process, which is asked once for all of them.
    found = dict(known.environment.set_now()) if environ is None else environ
    environ = os.environ if environ is None else environ
    settings = Settings()
    for name, value in keywords.items():
        if value is not None and not _is_said_anyway(name, value):
            settings.add(ALIASES.get(name, name), value)
    pairs = [(name, value) for name, value in _pairs(conninfo) if not _is_said_anyway(name, value)]
    for (before, _), (name, _) in pairwise([("", ""), *pairs]):
        _check_name(name, before=before)
    _add_all(settings, [(name, value, "") for name, value in dict(pairs).items()])
    home = _home(environ)
    _add_all(settings, _login_path(settings, environ, home))
    _add_all(settings, _option_files(settings, environ, home))
    _add_all(settings, [(name, found[v], f" (from {v})") for v, name in ENVIRONMENT.items() if found.get(v)])
    for name in settings.values:
        _check_name(name, settings.origin(name))
    return _checked(settings)


def _check_name(name: str, origin: str = "", before: str | None = None) -> None:
    if name not in KEYWORDS and name not in ("compress", "protocol"):
        raise unknown(name, nearest(name, (*KEYWORDS, *ALIASES)), origin=origin, before=before)


known: Final = KnownSettings(connect_options, ENVIRONMENT)


def _is_said_anyway(name: str, value: Any) -> bool:
    harmless = _WITHOUT_EFFECT.get(name)
    if harmless is not None and (not harmless or (value.lower() if isinstance(value, str) else value) in harmless):
        return True
    if name in _REFUSED:
        raise NotSupportedError(f"{name}: {_REFUSED[name]}")
    return False


def _add_all(settings: Settings, source: list[tuple[str, str, str]]) -> None:
    """Adds the settings of a source that no earlier one has. Host and Unix socket are one setting: where to connect."""
    placed = {"host", "socket"} & settings.values.keys()
    for name, value, origin in source:
        if not (placed and name in ("host", "socket")):
            settings.add_default(name, value, origin)


def url_settings(conninfo: str) -> list[tuple[str, str]]:
    """The settings of a URL, by their keywords; of one given twice the last counts. Raises ProgrammingError where it is
    none."""
    return [*dict(_pairs(conninfo)).items()]


def _pairs(conninfo: str) -> list[tuple[str, str]]:
    if not conninfo.strip():
        return []
    scheme, colon, rest = conninfo.strip().partition("://")
    if not colon or scheme.lower() not in SCHEMES:
        raise ProgrammingError("the connection string is not a URL that begins with mysql:// or mariadb://")
    return [(ALIASES.get(name, name), value) for name, value in parse_url(rest)]


def _login_path(settings: Settings, environ: Mapping[str, str], home: Path | None) -> list[tuple[str, str, str]]:
    name = settings.text("login_path")
    return _of_files(read_login_path(name, environ, home)) if name else []


def _option_files(settings: Settings, environ: Mapping[str, str], home: Path | None) -> list[tuple[str, str, str]]:
    file, group = settings.text("read_default_file"), settings.text("read_default_group")
    if file is None and group is None:
        return []
    groups = ["client", "client-server", "client-mariadb", "headrace", *([group] if group else [])]
    return _of_files(read_options(file, groups, environ, home))


def _of_files(options: list[Option]) -> list[tuple[str, str, str]]:
    """Options as keywords, of several of one option only the last. Those of libmysqlclient that change nothing here
    are passed over; in our own group everything must be known."""
    found: dict[str, tuple[str, str, str]] = {}
    for option in options:
        name = option.name
        if name in _REFUSED_OPTIONS:
            raise NotSupportedError(f"{option.where}: {name}: {_REFUSED_OPTIONS[name]}")
        ours = option.group == "headrace"
        keyword = _OPTIONS.get(name) or (ALIASES.get(name, name) if ours or name == "protocol" else None)
        value = "1" if option.value is None and name in _ALONE else option.value
        if keyword is not None and value is not None:
            found[keyword] = (keyword, value, f" ({option.where})")
    if "host" in found and found["host"][1] not in ("", "localhost"):
        # Many systems name their socket for all programs: as in libmysqlclient it is for this machine only.
        found.pop("socket", None)
    return list(found.values())


@functools.cache
def _host_name() -> str:
    return socket.gethostname()


@functools.lru_cache(maxsize=1)
def _base_name(path: str) -> str:
    return os.path.basename(path)


def _home(environ: Mapping[str, str]) -> Path | None:
    home = environ.get("HOME")
    return Path(home) if home else None


def _checked(settings: Settings) -> ConnectOptions:
    flags = settings.integer("client_flag", 0)
    hosts, socket_path = _places(settings)
    charset = (settings.text("charset") or "utf8mb4").lower()
    if charset not in _CHARSETS:
        raise NotSupportedError(
            f"charset={charset!r}{settings.origin('charset')}: text travels as utf8mb4, whatever the tables' own"
        )
    return ConnectOptions(
        hosts=hosts,
        socket=socket_path,
        user=settings.text("user") or _system_user(),
        password=_password(settings),
        database=settings.text("database"),
        load_balance_hosts=settings.choice("load_balance_hosts", CHOICES, "disable"),
        tls=tls_options(settings),
        auth_plugins=_auth_plugins(settings),
        server_public_key=_server_public_key(settings),
        get_server_public_key=settings.boolean("get_server_public_key", False),
        connect_timeout=settings.number("connect_timeout", defaults.CONNECT_TIMEOUT),
        read_timeout=settings.number("read_timeout", 0),
        write_timeout=settings.number("write_timeout", 0),
        client_found_rows=settings.boolean("client_found_rows", bool(flags & _FOUND_ROWS)),
        multi_statements=settings.boolean("multi_statements", bool(flags & _MULTI_STATEMENTS)),
        local_infile=settings.boolean("local_infile", bool(flags & _LOCAL_FILES)),
        interactive=settings.boolean("interactive", bool(flags & _INTERACTIVE)),
        compression=_compression(settings, bool(flags & _COMPRESS)),
        zstd_level=settings.integer("zstd_level", 0),
        init_command=settings.text("init_command"),
        sql_mode=_matching(settings, "sql_mode", _SQL_MODE, "is not a list of words", empty=True),
        time_zone=_matching(settings, "time_zone", _TIME_ZONE, "is neither an offset such as +00:00 nor a name"),
        collation=_matching(settings, "collation", _WORD, "is not the name of a collation"),
        program_name=settings.text("program_name"),
        prepared=settings.boolean("prepared", True),
        statement_cache_size=settings.integer("statement_cache_size", defaults.STATEMENT_CACHE_SIZE),
        unrepresentable=settings.choice("unrepresentable", CHOICES, "raise"),
        json_text=settings.boolean("json_text", False),
        enable_timing=settings.boolean("enable_timing", False),
        command_timeout=settings.number("command_timeout", 0) or defaults.COMMAND_TIMEOUT,
        keepalives=settings.boolean("keepalives", True),
        keepalives_idle=settings.number("keepalives_idle", 0),
        keepalives_interval=settings.number("keepalives_interval", 0),
        keepalives_count=settings.integer("keepalives_count", 0),
        tcp_user_timeout=settings.number("tcp_user_timeout", 0) / 1000,  # milliseconds, as in libpq
        lasting=settings.names_all("host") and "user" in settings.values and settings.values.keys().isdisjoint(_FILES),
    )


def _places(settings: Settings) -> tuple[tuple[tuple[str, int], ...], str | None]:
    """The hosts to try, or the Unix socket."""
    protocol = (settings.text("protocol") or "").lower()
    path = None if protocol == "tcp" else settings.text("socket")
    names, ports = settings.items("host"), settings.items("port")
    if path is None and not any(names) and not ports and protocol != "tcp":
        path = next((path for path in defaults.MYSQL_SOCKETS if os.path.exists(path)), None)
    if path is not None:
        return (), path
    if protocol == "socket":
        raise ProgrammingError(f"protocol=socket{settings.origin('protocol')}, but no Unix socket is named: socket")
    names = names or ["localhost"]
    if len(ports) > 1 and len(ports) != len(names):
        raise ProgrammingError(f"{len(names)} hosts, but {len(ports)} ports are given")
    hosts: list[tuple[str, int]] = []
    for i, name in enumerate(names):
        text = (ports[i] if len(ports) > 1 else ports[0]) if ports else ""
        port = int(text) if text.isascii() and text.isdigit() else (-1 if text else defaults.MYSQL_PORT)
        if not 0 <= port < 65536:
            raise ProgrammingError(f"port {text!r}{settings.origin('port')} is not a number from 1 to 65535")
        # MySQLdb and PyMySQL take 0 for "not given".
        hosts.append((name or "localhost", port or defaults.MYSQL_PORT))
    return tuple(hosts), None


def _password(settings: Settings) -> str | Callable[[], Any] | None:
    given = settings.values.get("password")
    if given is None or callable(given):
        return given
    if isinstance(given, bytes):
        given = given.decode()
    if not isinstance(given, str):
        raise ProgrammingError(f"password must be text or a function that returns it, not {type(given).__name__}")
    if "\0" in given:
        raise ProgrammingError("password holds a NUL character")
    return checked_text(given, "password")


def _auth_plugins(settings: Settings) -> tuple[str, ...]:
    names = tuple("client_ed25519" if name == "ed25519" else name for name in settings.items("auth_plugins") if name)
    for name in names:
        if name not in AUTH_PLUGINS:
            raise ProgrammingError(
                f"auth_plugins: {name!r} is not one of {', '.join(AUTH_PLUGINS)}{nearest(name, AUTH_PLUGINS)}"
            )
    return names


def _server_public_key(settings: Settings) -> str | None:
    given = settings.values.get("server_public_key")
    if isinstance(given, bytes):
        return given.decode("ascii", "replace")
    key, path = settings.text("server_public_key"), settings.text("server_public_key_path")
    if key is not None or path is None:
        return key
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")
    except OSError as error:
        origin = settings.origin("server_public_key_path")
        raise ProgrammingError(f"server_public_key_path{origin}: {path}: {error.strerror}") from None


def _compression(settings: Settings, flagged: bool) -> str | None:
    """The algorithm: what ``compression`` names first of those that we have, or zlib for ``compress``."""
    given = settings.values.get("compression")
    if given is True or (given is None and settings.boolean("compress", flagged)):
        return "zlib"
    names = [] if given in (None, False) else [name.lower() for name in settings.items("compression")]
    for name in names:
        if name not in CHOICES["compression"]:
            raise ProgrammingError(
                f"{settings.setting_with_origin('compression')} is not one of {', '.join(CHOICES['compression'])}"
            )
    return names[0] if names and names[0] != "uncompressed" else None


def _matching(
    settings: Settings, name: str, pattern: re.Pattern[str], wrong: str, *, empty: bool = False
) -> str | None:
    """A text that stands in quotes in a statement of ours, and must not be able to leave them."""
    if empty and settings.values.get(name) == "":
        return ""
    value = settings.text(name)
    if value is not None and not pattern.fullmatch(value):
        raise ProgrammingError(f"{settings.setting_with_origin(name)} {wrong}")
    return value


def _system_user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise ProgrammingError("user is not set, and the account of the operating system has no name") from None
