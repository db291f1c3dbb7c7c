"""Opening the engine's connection and waiting for its session, blocking.

Written for each shell: the engine owns the socket here, and the loop's transport does on asyncio; a function that is
asynchronous is awaited there, and is an error here.
"""

from __future__ import annotations

import inspect
import socket
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar

from .._native import Wire
from ..errors import ConnectionTimeout, Error, OperationalError, ProgrammingError, connect_failed
from .cancel_requests import MessageRequest
from .limits import Until

W = TypeVar("W", bound=Wire)

_LEAST: Final = 0.001
"""Seconds that a socket waits at least: with 0 it would not wait, and fail differently."""


def open_wire(wire: W, timeout: float | None) -> W:
    """Connects ``wire`` and waits for its session, within ``timeout`` seconds (None: however long it takes). Returns it
    back; it is closed when this fails.

    Raises ConnectionTimeout, and OperationalError with the server's refusal.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    try:
        reach(wire, deadline)
        await_session(wire, deadline)
    except (TimeoutError, ConnectionTimeout):
        wire.close()
        raise overdue(timeout) from None
    except BaseException:
        wire.close()
        raise
    return wire


def await_session(wire: Wire, deadline: float | None) -> None:
    """Waits until ``wire`` has a session, or is asked a question. Where the server names another one in its place, the
    session begins again there, on a socket to the first of its addresses that takes one.

    Raises TimeoutError, and OperationalError.
    """
    while (place := wire.wait(wire.ready(), left(deadline))) is not None:
        host, port = place
        failures: list[Error] = []
        for address in resolve(host, port, left(deadline)):
            try:
                reach(wire, deadline, address)
            except OperationalError as error:
                failures.append(error)
            else:
                break
        else:
            raise no_connection(failures)


def exchange(request: MessageRequest, limit: Until) -> None:
    """Sends a cancel request that is one message, and receives its answer.

    Raises OperationalError, OSError, and TimeoutError once the limit is over.
    """
    # Closed by its own name: what create_connection() has begun is dropped when an interrupt ends it.
    with socket.socket(socket.AF_INET6 if ":" in request.address[0] else socket.AF_INET) as connection:
        connection.settimeout(max(_LEAST, limit.left()))
        connection.connect(request.address)
        connection.sendall(request.message)
        request.sent()
        answer = b""
        while len(answer) < request.answer_bytes:
            connection.settimeout(max(_LEAST, limit.left()))
            part = connection.recv(request.answer_bytes - len(answer))
            if not part:
                break
            answer += part
    request.answered(answer)


def reach(wire: Wire, deadline: float | None, address: tuple[str, int] | None = None) -> None:
    """Connects a socket to ``address``, or to that of ``wire``.

    Raises TimeoutError, and OperationalError with the system's error.
    """
    try:
        wire.open(left(deadline), address)
    except OperationalError:
        # To the system that is one more reason for a failure, after which the next address would be tried in no time.
        if left(deadline) == 0:
            raise TimeoutError from None
        raise


def left(deadline: float | None) -> float | None:
    """The seconds until ``deadline``, at least 0; None without one."""
    return None if deadline is None else max(0.0, deadline - time.monotonic())


def share(deadline: float | None, servers: int) -> float | None:
    """The deadline of the next of ``servers`` that are still to be tried: each has an equal part of what is left, so
    that one that never answers does not take the time of the others."""
    remaining = left(deadline)
    return None if remaining is None else time.monotonic() + remaining / servers


def overdue(timeout: float | None) -> ConnectionTimeout:
    """The error for a session that took too long."""
    limit = "what the operating system waits" if timeout is None else f"connect_timeout={timeout:.3g} s"
    return ConnectionTimeout(f"no session within {limit}")


def lookup(host: str, port: int, timeout: float | None) -> list[tuple[str, int]]:
    """What ``getaddrinfo`` returns for a host, within ``timeout`` seconds (None: however long it takes).

    Raises OSError, and ConnectionTimeout.
    """
    if is_address(host):
        return [(host, port)]
    answers: SimpleQueue[Any] = SimpleQueue()
    look_up(host, port, answers.put)
    try:
        return addresses(answers.get(timeout=timeout), port)
    except Empty:
        raise overdue(timeout) from None


def look_up(host: str, port: int, answered: Callable[[Any], object]) -> None:
    """Calls ``getaddrinfo`` in a thread of its own, and ``answered`` there with its result or error. Neither a signal,
    a limit nor the end of a loop ends that call, so nothing waits for the thread."""

    def ask() -> None:
        outcome: Any = None
        try:
            outcome = socket.getaddrinfo(host_name(host), port, type=socket.SOCK_STREAM)
        except BaseException as error:
            outcome = error
        answered(outcome)

    threading.Thread(target=ask, name="headrace-resolver", daemon=True).start()


def resolve(host: str, port: int, timeout: float | None) -> list[tuple[str, int]]:
    """The addresses of a host, within ``timeout`` seconds. Raises OperationalError."""
    try:
        return lookup(host, port, timeout)
    except OSError as error:
        raise unknown_host(host, error) from None


def is_address(host: str) -> bool:
    """Returns true if it is an address already, with nothing left to ask."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except (OSError, ValueError):
            continue
        return True
    return False


def host_name(host: str) -> str | bytes:
    """A host as ``getaddrinfo`` takes it. That of text would be encoded by IDNA, whose tables Python imports for it: it
    is most of what the first connection of a process costs."""
    return host.encode("ascii") if host.isascii() else host


def addresses(found: Any, port: int) -> list[tuple[str, int]]:
    """What getaddrinfo found, each once. Raises its error, where it found none."""
    if isinstance(found, BaseException):
        raise found
    return list(dict.fromkeys((str(entry[4][0]), port) for entry in found))


def unknown_host(host: str, error: OSError) -> OperationalError:
    """The error for a name that has no address."""
    return connect_failed(f"host {host!r} is unknown: {error}")


def password_of(password: Any) -> Any:
    """Returns a password, or the result of a password function. Raises ProgrammingError for an asynchronous one."""
    if callable(password):
        password = password()
        if inspect.isawaitable(password):
            if inspect.iscoroutine(password):
                password.close()
            raise ProgrammingError("the password callable is asynchronous; a blocking connection needs a plain one")
        check_password(password)
    return password


def check_password(password: Any) -> None:
    """Raises ProgrammingError if a password function has returned no text."""
    if not isinstance(password, str):
        raise ProgrammingError(f"the password function has returned {type(password).__name__}, not text")


def no_connection(failures: list[Error]) -> Error:
    """The error for failed attempts."""
    if len(failures) == 1:
        return failures[0]
    return connect_failed("no connection could be made: " + "; ".join(str(error) for error in failures), failures)
