"""What asyncpg's ``connect`` takes, as headrace's settings."""

from __future__ import annotations

import ssl as tls
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...postgres.settings import KEYWORDS
from . import exceptions

_SCHEMES: Final = ("postgresql", "postgres")
_MODES: Final = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_URL_ONLY: Final = {"user": "user", "password": "password", "host": "host", "port": "port", "database": "dbname"}
"""Settings that a query of a URL has by other names, or that are also elsewhere in it."""


def _dsn(dsn: str) -> tuple[str, dict[str, str], dict[str, str]]:
    """A URL without its query; the settings in its query; and the settings of the session there, which are
    all that are none of the connection."""
    parts = urllib.parse.urlsplit(dsn)
    if parts.scheme not in _SCHEMES:
        raise exceptions.ClientConfigurationError(
            f'invalid DSN: scheme is expected to be either "postgresql" or "postgres", got {parts.scheme!r}'
        )
    settings: dict[str, str] = {}
    session: dict[str, str] = {}
    for name, value in urllib.parse.parse_qsl(parts.query, keep_blank_values=True):
        known = _URL_ONLY.get(name, name)
        if known in KEYWORDS:
            settings[known] = value
        else:
            session[name] = value
    return urllib.parse.urlunsplit(parts._replace(query="")), settings, session


def _listed(value: Any) -> str:
    """One value, or several for several hosts."""
    if isinstance(value, (str, int)):
        return str(value)
    return ",".join(str(each) for each in value)


def _tls(ssl: Any) -> dict[str, Any]:
    """asyncpg's ``ssl``: a mode, true, false, or a context, of which only how it verifies can be used here."""
    if isinstance(ssl, str):
        if ssl not in _MODES:
            raise exceptions.ClientConfigurationError(f"`sslmode` parameter must be one of: {', '.join(_MODES)}")
        return {"sslmode": ssl}
    if isinstance(ssl, tls.SSLContext):
        return _tls_of_context(ssl)
    return {"sslmode": "verify-full", "sslrootcert": "system"} if ssl else {"sslmode": "disable"}


def _tls_of_context(context: tls.SSLContext) -> dict[str, Any]:
    if context.verify_mode == tls.CERT_NONE:
        return {"sslmode": "require"}
    if context.get_ca_certs():
        raise exceptions.ClientConfigurationError(
            "the certificates of an SSLContext cannot be used here: give their files by sslrootcert, sslcert and "
            "sslkey in the DSN"
        )
    return {"sslmode": "verify-full" if context.check_hostname else "verify-ca", "sslrootcert": "system"}


def _options(session: Mapping[str, str]) -> str:
    """Settings of the session, as the server takes them at the start: "-c name=value"."""
    escaped = (f"{name}={value}".replace("\\", "\\\\").replace(" ", "\\ ") for name, value in session.items())
    return " ".join(f"-c {each}" for each in escaped)


def settings_of(
    dsn: str | None,
    *,
    host: str | Sequence[str] | None,
    port: int | Sequence[int] | None,
    user: str | None,
    password: Any,
    passfile: Any,
    service: str | None,
    servicefile: Any,
    database: str | None,
    timeout: float | None,
    statement_cache_size: int,
    command_timeout: float | None,
    ssl: Any,
    direct_tls: bool | None,
    server_settings: Mapping[str, str] | None,
    target_session_attrs: Any,
) -> tuple[str, dict[str, Any]]:
    """Returns the URL and the keywords for :func:`headrace.aio.connect`.

    Raises:
        ClientConfigurationError: a setting is wrong.
    """
    url, settings, session = _dsn(dsn) if dsn else ("", dict[str, Any](), dict[str, str]())
    keywords: dict[str, Any] = dict(settings)
    if isinstance(session.get("ssl"), str):
        ssl = session.pop("ssl") if ssl is None else ssl
    given = {"user": user, "password": password, "passfile": passfile, "service": service, "servicefile": servicefile}
    keywords |= {name: value for name, value in {**given, "dbname": database}.items() if value is not None}
    if host is not None:
        keywords["host"] = _listed(host)
    if port is not None:
        keywords["port"] = _listed(port)
    if ssl is not None:
        keywords |= _tls(ssl)
    if direct_tls:
        keywords["sslnegotiation"] = "direct"
    if target_session_attrs is not None:
        keywords["target_session_attrs"] = getattr(target_session_attrs, "value", target_session_attrs)
    session |= {name: str(value) for name, value in (server_settings or {}).items()}
    if (name := session.pop("application_name", None)) is not None:
        keywords["application_name"] = name
    if session:
        before = f"{keywords['options']} " if "options" in keywords else ""
        keywords["options"] = before + _options(session)
    if timeout is not None:
        keywords["connect_timeout"] = timeout
    if command_timeout is not None:
        wrong: Any = command_timeout
        if isinstance(wrong, bool) or not isinstance(wrong, (int, float)) or wrong <= 0:
            raise ValueError(f"invalid command_timeout value: expected greater than 0 float (got {wrong!r})")
        keywords["command_timeout"] = command_timeout
    # See values.py, which looks for the text of what Python cannot hold.
    keywords["unrepresentable"] = "text"
    # Values of extensions are text in asyncpg, unless a codec is set.
    keywords["extension_types"] = "text"
    size: Any = statement_cache_size
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise ValueError(f"statement_cache_size is expected to be greater or equal to 0, got {size!r}")
    # Without a cache asyncpg prepares without a name, which poolers can do with.
    keywords["prepared"] = bool(statement_cache_size)
    if statement_cache_size:
        keywords["statement_cache_size"] = statement_cache_size
    return url, keywords
