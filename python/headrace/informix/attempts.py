"""The attempts that a connect makes, without I/O: each server in turn, and each of its addresses. Where a server
redirects is the engine's business.

A plan is a generator. It yields a :class:`Turn` for each server, and then a :class:`Resolve` and is sent the addresses,
or a :class:`Try` and is sent the session; what went wrong is thrown into it.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from .. import errors
from .._native import InformixWire
from .._shared.opening import no_connection
from ..errors import ConnectionTimeout, connect_failed
from .settings import ConnectOptions
from .sqlhosts import Listener


@dataclass(frozen=True)
class Turn:
    """The next server is tried."""

    left: int
    """How many are left, with this one."""


@dataclass(frozen=True)
class Resolve:
    """Requests the addresses of a host."""

    host: str
    port: int


class Try:
    """Requests a session with these options of the engine. The wire that was made for it is left here, whether the
    attempt succeeds or fails: only it has what the server has asked at login."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.wire: InformixWire | None = None


Plan = Generator["Turn | Resolve | Try", Any, "tuple[InformixWire, dict[str, Any]]"]


def attempts(options: ConnectOptions) -> Plan:
    """The plan; its end is the wire of the session and the options it was made with.

    Raises what the last attempt raised, or OperationalError with the reasons of all.
    """
    failures: list[errors.Error] = []
    targets = options.targets()
    for number, target in enumerate(targets):
        yield Turn(len(targets) - number)
        try:
            return (yield from _reach(options, target))
        except errors.Error as error:
            if isinstance(error, errors.InvalidPassword):
                raise
            failures.append(error)
    if failures and isinstance(failures[-1], ConnectionTimeout):
        raise failures[-1]
    raise no_connection(failures)


def _tried(step: Try) -> Generator[Turn | Resolve | Try, Any, Try]:
    """Makes an attempt, and where the server asks questions at login (PAM) a second one that waits for them."""
    try:
        yield step
    except errors.Error:
        if step.wire is None or not step.wire.asks_questions():
            raise
        step.options = {**step.options, "pam": True}
        yield step
    return step


def _reach(options: ConnectOptions, target: Listener) -> Plan:
    addresses: list[tuple[str, int]] = yield Resolve(target.host, target.port)
    error: errors.Error = connect_failed(f"host {target.host!r} has no address")
    for address in addresses:
        try:
            step = yield from _tried(Try(options.wire_options(address, target)))
        except errors.Error as failure:
            error = failure
            if failure.sqlcode is not None or isinstance(failure, ConnectionTimeout):
                break
        else:
            assert step.wire is not None, "a session has a wire"
            return step.wire, step.options
    raise error
