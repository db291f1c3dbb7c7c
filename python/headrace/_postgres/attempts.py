"""Whom to try in which order: one generator, without I/O, for blocking and asyncio callers.

It yields :class:`Try` with the options of one physical attempt, and is told how it went: sent a
:class:`Session` that stands, or thrown the error.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import (
    CannotConnectNow,
    ConnectionClosed,
    ConnectionTimeout,
    DatabaseError,
    OperationalError,
    TooManyConnections,
)
from .conninfo import ConnectOptions, Host


@dataclass(frozen=True)
class Resolve:
    """Asks for the addresses of a name: a list of ``(address, port)``."""

    host: str
    port: int


@dataclass(frozen=True)
class Try:
    """Asks for a connection: the options of :class:`headrace._native.Wire`, and what to ask for a password."""

    host: Host
    options: dict[str, Any]


@dataclass(frozen=True)
class Check:
    """Asks whether the session just made is read-only and whether its server is in recovery."""


Step = Resolve | Try | Check


def tls_plan(options: ConnectOptions, host: Host) -> list[str]:
    """The ways to negotiate TLS to try in turn, by libpq's sslmode. Over a Unix socket there is no TLS."""
    if host.is_unix:
        return ["no"]
    if options.sslnegotiation == "direct":
        return ["direct"]
    return {
        "disable": ["no"],
        "allow": ["no", "require"],
        "prefer": ["prefer", "no"],
        "require": ["require"],
        "verify-ca": ["require"],
        "verify-full": ["require"],
    }[options.sslmode]


def root_certificate(options: ConnectOptions) -> str | None:
    """The file of trusted certificates: as given, or libpq's default when it is there."""
    if options.sslrootcert:
        return None if options.sslrootcert == "system" else options.sslrootcert
    default = Path.home() / ".postgresql" / "root.crt"
    return str(default) if default.is_file() else None


def wire_options(options: ConnectOptions, host: Host, tls: str, password: str | None) -> dict[str, Any]:
    """The options of one physical attempt, for :class:`headrace._native.Wire`."""
    parameters = [
        ("user", options.user),
        ("database", options.dbname),
        ("client_encoding", "UTF8"),
        ("application_name", options.application_name),
    ]
    if options.options:
        parameters.append(("options", options.options))
    if options.replication:
        parameters.append(("replication", options.replication))
    roots = root_certificate(options)
    verify = {"verify-ca": "ca", "verify-full": "full"}.get(options.sslmode, "none")
    if options.sslmode == "require" and roots and options.sslrootcert:
        verify = "ca"  # as libpq does, for compatibility with its older releases
    made: dict[str, Any] = {
        "user": options.user,
        "password": password,
        "parameters": parameters,
        "tls": tls,
        "verify": verify,
        "sslrootcert": roots,
        "server_name": host.host or host.hostaddr or "",
        "sslsni": options.sslsni,
        "only_tls13": options.ssl_min_protocol_version == "TLSv1.3",
        "channel_binding": options.channel_binding,
        "require_auth": list(options.require_auth),
        "unrepresentable": options.unrepresentable,
        "statements": options.statement_cache_size,
        "keepalives": options.keepalives,
        "keepalives_idle": options.keepalives_idle,
        "keepalives_interval": options.keepalives_interval,
        "keepalives_count": options.keepalives_count or None,
        "tcp_user_timeout": options.tcp_user_timeout,
        **client_certificate(options),
    }
    if host.is_unix:
        made["unix"] = host.socket_path
    return made


def client_certificate(options: ConnectOptions) -> dict[str, str | None]:
    """The client's certificate and key: as given, or libpq's defaults when both are there."""
    if options.sslcert or options.sslkey:
        return {"sslcert": options.sslcert, "sslkey": options.sslkey}
    folder = Path.home() / ".postgresql"
    cert, key = folder / "postgresql.crt", folder / "postgresql.key"
    if cert.is_file() and key.is_file():
        return {"sslcert": str(cert), "sslkey": str(key)}
    return {"sslcert": None, "sslkey": None}


def attempts(options: ConnectOptions) -> Generator[Step, Any, Any]:
    """Tries every host, address and TLS mode in libpq's order; returns the first session that will do.

    Raises the only error there was, or an OperationalError that lists them all.
    """
    hosts = list(options.hosts)
    if options.load_balance_hosts == "random":
        random.shuffle(hosts)
    passes = ["standby", "any"] if options.target_session_attrs == "prefer-standby" else [options.target_session_attrs]
    failures: list[tuple[str, Exception]] = []
    for wanted in passes:
        for host in hosts:
            session = yield from _try_host(options, host, wanted, failures)
            if session is not None:
                return session
    if len(failures) == 1:
        raise failures[0][1]
    kind = ConnectionTimeout if all(isinstance(e, ConnectionTimeout) for _, e in failures) else OperationalError
    raise kind("no connection could be made: " + "; ".join(f"{where}: {error}" for where, error in failures))


def _try_host(
    options: ConnectOptions, host: Host, wanted: str, failures: list[tuple[str, Exception]]
) -> Generator[Step, Any, Any]:
    addresses: list[tuple[str, int] | None] = [None]
    if not host.is_unix:
        try:
            addresses = yield Resolve(host.hostaddr or host.host, host.port)
        except (OSError, DatabaseError) as error:
            failures.append((str(host), OperationalError(f"the host {host.host!r} cannot be found: {error}")))
            return None
        if options.load_balance_hosts == "random":
            random.shuffle(addresses)
    for address in addresses:
        plan = tls_plan(options, host)
        for i, tls in enumerate(plan):
            made = wire_options(options, host, tls, None)
            if address is not None:
                made["tcp"] = address
            try:
                session = yield Try(host, made)
                problem = yield from _unsuitable(session, wanted)
            except DatabaseError as error:
                failures.append((str(host), error))
                if i + 1 < len(plan) and _tls_may_help(error, tls):
                    continue
                if error.sqlstate and not isinstance(error, (CannotConnectNow, TooManyConnections)):
                    raise  # the server has spoken: another host would only hide it
                break
            if problem is None:
                return session
            session.close()
            failures.append((str(host), OperationalError(problem)))
            break
    return None


def _tls_may_help(error: DatabaseError, tls: str) -> bool:
    """Whether the other half of allow or prefer is worth a try: not when nobody answered at all."""
    if isinstance(error, ConnectionTimeout):
        return False
    if error.sqlstate is not None:
        # pg_hba.conf refused this kind of connection.
        return error.sqlstate.startswith("28")
    return tls == "prefer" and ("TLS" in str(error) or isinstance(error, ConnectionClosed))


def _unsuitable(session: Any, wanted: str) -> Generator[Step, Any, str | None]:
    """What keeps the session from being what target_session_attrs asks for."""
    if wanted == "any":
        return None
    parameters: Mapping[str, str] = session.wire.parameters()
    recovery, read_only = parameters.get("in_hot_standby"), parameters.get("default_transaction_read_only")
    if recovery is None or read_only is None:
        recovery, read_only = yield Check()
    standby, writable = recovery == "on", recovery == "off" and read_only == "off"
    suits = {
        "read-write": writable,
        "read-only": not writable,
        "primary": not standby,
        "standby": standby,
    }[wanted]
    return None if suits else f"the session is not {wanted}"
