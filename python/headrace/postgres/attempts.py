"""Which hosts to try in which order: one generator, without I/O, for blocking and asyncio connections.

It yields a :data:`Step` and is sent its result, or thrown its error:

- :class:`Resolve`: a list of ``(address, port)``, or an OSError;
- :class:`Try`: a session (anything with ``wire.parameters()`` and ``close()``), or a DatabaseError;
- :class:`Check`: ``(in_hot_standby, read_only)``, each ``"on"`` or ``"off"``, or a DatabaseError.

Whether a failure ends the search follows libpq ("Specifying Multiple Hosts" in the manual): no answer, a server that
is starting up, or one that is not what target_session_attrs asks for leads to the next address or host; any other
answer of a server, above all a wrong password, ends it. Two differences: a server without a free connection is passed
over too, and with sslmode=prefer only a server whose pg_hba.conf refuses TLS is tried again without, so that a password
that was wrong is not sent again as plaintext.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from .._shared.settings import shuffled
from ..errors import (
    CannotConnectNow,
    ConnectionClosed,
    ConnectionTimeout,
    DatabaseError,
    InvalidAuthorizationSpecification,
    OperationalError,
    TooManyConnections,
    common_code,
    connect_failed,
)
from .settings import ConnectOptions, Host, home_directory


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


def read_only_answer(results: Any) -> tuple[str, str]:
    """in_hot_standby and default_transaction_read_only, as the server would report them."""
    recovery, read_only = results[0].rows[0][0], results[1].rows[0][0]
    return ("on" if recovery else "off", read_only)


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
    """The file of trusted certificates: as given, or libpq's default when it is there. None is the system's.

    Raises OperationalError for verify-ca without one: the system's authorities issue a certificate to anyone, so that
    to trust them without a look at the name would be no check at all.
    """
    if options.sslrootcert:
        return None if options.sslrootcert == "system" else options.sslrootcert
    found = _default_file("root.crt")
    if found is None and options.sslmode == "verify-ca":
        raise OperationalError(
            "TLS: sslmode=verify-ca needs the certificates to trust: give sslrootcert, or put them in "
            "~/.postgresql/root.crt; with the system's use sslmode=verify-full"
        )
    return found


def _default_file(name: str) -> str | None:
    """One of the files that libpq looks for in the user's home."""
    home = home_directory()
    path = None if home is None else os.path.join(home, ".postgresql", name)
    return path if path is not None and os.path.isfile(path) else None


def wire_options(options: ConnectOptions, host: Host, tls: str, password: str | None) -> dict[str, Any]:
    """The options of one physical attempt, for :class:`headrace._native.Wire`."""
    roots = None if tls == "no" else root_certificate(options)
    verify = {"verify-ca": "ca", "verify-full": "full"}.get(options.sslmode, "none")
    if options.sslmode == "require" and roots:
        verify = "ca"  # as libpq does, for compatibility with its older releases
    made: dict[str, Any] = {
        **options.host_independent,
        "password": password,
        "tls": tls,
        "verify": verify,
        "sslrootcert": roots,
        "server_name": host.host or host.hostaddr or "",
        **(_NO_CERTIFICATE if tls == "no" else client_certificate(options)),
    }
    if host.is_unix:
        made["unix"] = host.socket_path
    return made


_NO_CERTIFICATE: Final[dict[str, str | None]] = {"sslcert": None, "sslkey": None}


def client_certificate(options: ConnectOptions) -> dict[str, str | None]:
    """The client's certificate and key: what is given, and libpq's default files for what is not."""
    if options.sslcertmode == "disable":
        return _NO_CERTIFICATE
    cert = options.sslcert or _default_file("postgresql.crt")
    key = options.sslkey or _default_file("postgresql.key")
    if not options.sslcert and not options.sslkey and not (cert and key):
        return _NO_CERTIFICATE
    return {"sslcert": cert, "sslkey": key}


@dataclass
class _Failures:
    """What went wrong so far: where, and how."""

    found: list[tuple[str, DatabaseError]]

    def add(self, where: str, error: DatabaseError) -> None:
        self.found.append((where, error))

    def error(self) -> DatabaseError:
        """The only failure itself, or one error that names each once."""
        if len(self.found) == 1:
            return self.found[0][1]
        texts = dict.fromkeys(_told(where, error) for where, error in self.found)
        kinds = {type(error) for _, error in self.found}
        kind = kinds.pop() if len(kinds) == 1 else OperationalError
        error = kind("; ".join(texts))
        error.code = common_code([error for _, error in self.found])
        error.__cause__ = self.found[-1][1]
        return error


def _told(where: str, error: DatabaseError) -> str:
    text = error.message or str(error)
    return text if text.startswith("connection to ") else f"connection to {where} failed: {text}"


def attempts(
    options: ConnectOptions, *, shuffle: Callable[[list[Any]], list[Any]] = shuffled
) -> Generator[Step, Any, Any]:
    """Tries every host, address and TLS mode in libpq's order; returns the first session that will do.

    ``shuffle`` puts hosts and addresses in another order for ``load_balance_hosts=random``.

    Raises the only error there was, or one that lists them all: of their class where they have the same, else
    OperationalError.
    """
    hosts = list(options.hosts)
    if options.load_balance_hosts == "random":
        hosts = shuffle(hosts)
    passes = ["standby", "any"] if options.target_session_attrs == "prefer-standby" else [options.target_session_attrs]
    failures = _Failures([])
    for wanted in passes:
        for host in hosts:
            for address in (yield from _addresses(options, host, failures, shuffle)):
                session = yield from _try_address(options, host, address, wanted, failures)
                if session is not None:
                    return session
    raise failures.error()


def _addresses(
    options: ConnectOptions, host: Host, failures: _Failures, shuffle: Callable[[list[Any]], list[Any]]
) -> Generator[Step, Any, list[tuple[str, int] | None]]:
    if host.is_unix:
        return [None]
    try:
        found: list[tuple[str, int] | None] = list((yield Resolve(host.hostaddr or host.host, host.port)))
    except (OSError, DatabaseError) as error:
        problem = connect_failed(f"the host {host.host!r} cannot be found: {error}")
        problem.__cause__ = error
        failures.add(str(host), problem)
        return []
    if not found:
        failures.add(str(host), connect_failed(f"the host {host.host!r} has no address"))
    if options.load_balance_hosts == "random":
        found = shuffle(found)
    return found


def _try_address(
    options: ConnectOptions, host: Host, address: tuple[str, int] | None, wanted: str, failures: _Failures
) -> Generator[Step, Any, Any]:
    where = str(host)
    if address is not None and address[0] not in (host.host, host.hostaddr):
        where += f" ({address[0]})"
    plan = tls_plan(options, host)
    for i, tls in enumerate(plan):
        made = wire_options(options, host, tls, None)
        if address is not None:
            made["tcp"] = address
        try:
            session = yield Try(host, made)
        except DatabaseError as error:
            if i + 1 < len(plan) and _tls_may_help(error, tls):
                failures.add(where, error)
                continue
            if _final(error):
                raise
            failures.add(where, error)
            return None
        problem = yield from _examine(session, wanted)
        if problem is None:
            return session
        failures.add(where, connect_failed(f"connection to {where} failed: {problem}"))
        return None
    return None


def _final(error: DatabaseError) -> bool:
    """Returns true if another host would only hide the error: the server has answered, or the settings are wrong."""
    if isinstance(error, (CannotConnectNow, TooManyConnections)):
        return False
    return error.sqlstate is not None or not isinstance(error, OperationalError)


def _tls_may_help(error: DatabaseError, tls: str) -> bool:
    """Returns true if the other half of allow or prefer is worth a try: not if there was no answer."""
    if isinstance(error, ConnectionTimeout):
        return False
    if error.sqlstate is not None:
        # pg_hba.conf refuses this kind of connection.
        return isinstance(error, InvalidAuthorizationSpecification)
    return tls == "prefer" and (error.code == "tls_refused" or isinstance(error, ConnectionClosed))


def _examine(session: Any, wanted: str) -> Generator[Step, Any, str | None]:
    """Returns why a session does not fit ``target_session_attrs``; it is then closed, as it is if that cannot be
    determined."""
    try:
        problem = yield from _unsuitable(session, wanted)
    except OperationalError as error:
        session.close()
        return error.message or str(error)
    except BaseException:
        session.close()
        raise
    if problem is not None:
        session.close()
    return problem


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
    return None if suits else f"the session is not {wanted}, as target_session_attrs asks"
