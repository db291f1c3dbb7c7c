"""Opening the engine's connection and waiting for its session, on the running loop.

Written for each shell: the loop's transport owns the socket here, and the engine does on a blocking connection; a
function that is asynchronous is awaited here, and is an error there.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from ..._native import Wire
from ..._shared.cancel_requests import MessageRequest
from ..._shared.opening import (
    addresses,
    check_password,
    is_address,
    look_up,
    no_connection,
    overdue,
    unknown_host,
)
from ...errors import Error, OperationalError
from .transport import open_transport
from .within import within, within_here

P = ParamSpec("P")
C = TypeVar("C", bound=AbstractAsyncContextManager[Any])


class Opening(Coroutine[Any, Any, C]):
    """A connection that is being opened: awaited it is the connection, ``async with`` opens it, and closes it at the
    end as the connection's own block does."""

    __slots__ = ("_coroutine", "_opened")

    def __init__(self, coroutine: Coroutine[Any, Any, C]) -> None:
        self._coroutine = coroutine
        self._opened: C | None = None

    def __await__(self) -> Generator[Any, Any, C]:
        return self._coroutine.__await__()

    async def __aenter__(self) -> C:
        self._opened = opened = await self._coroutine
        await opened.__aenter__()
        return opened

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        assert self._opened is not None, "the block was entered"
        return await self._opened.__aexit__(kind, error, trace)

    # What a task runs.

    def send(self, value: Any, /) -> Any:
        """Goes on, as a coroutine does."""
        return self._coroutine.send(value)

    def throw(self, *error: Any) -> Any:
        """Goes on with an exception, as a coroutine does."""
        return self._coroutine.throw(*error)

    def close(self) -> None:
        """Ends it, as a coroutine is ended."""
        self._coroutine.close()


def opening(connect: Callable[P, Coroutine[Any, Any, C]]) -> Callable[P, Opening[C]]:
    """Makes what ``connect`` returns a context manager, too."""

    @functools.wraps(connect)
    def opened(*arguments: P.args, **keywords: P.kwargs) -> Opening[C]:
        return Opening(connect(*arguments, **keywords))

    return opened


async def open_wire(wire: Wire, options: dict[str, Any], timeout: float | None) -> asyncio.BaseTransport:
    """The asyncio form of :func:`headrace._shared.opening.open_wire`; ``options`` are those that ``wire`` was made
    with. Returns the transport."""

    async def session() -> asyncio.BaseTransport:
        transport = await open_transport(asyncio.get_running_loop(), wire, options)
        return await await_session(wire) or transport

    try:
        return await within_here(timeout, session())
    except TimeoutError:
        wire.close()
        raise overdue(timeout) from None
    except BaseException:
        wire.close()
        raise


async def exchange(request: MessageRequest) -> None:
    """The asyncio form of :func:`headrace._shared.opening.exchange`. Its caller cancels it once its time is up."""
    reader, writer = await asyncio.open_connection(*request.address)
    try:
        writer.write(request.message)
        request.sent()
        try:
            answer = await reader.readexactly(request.answer_bytes)
        except asyncio.IncompleteReadError as error:
            answer = error.partial
    finally:
        writer.close()
    request.answered(answer)


async def await_session(wire: Wire) -> asyncio.BaseTransport | None:
    """The asyncio form of :func:`headrace._shared.opening.await_session`. Returns the transport, where that is a new
    one."""
    transport: asyncio.BaseTransport | None = None
    while (place := await wire.ready()) is not None:
        host, port = place
        failures: list[Error] = []
        for address in await resolve(host, port, None):
            try:
                transport = await open_transport(asyncio.get_running_loop(), wire, {"tcp": address})
            except OperationalError as error:
                failures.append(error)
            else:
                break
        else:
            raise no_connection(failures)
    return transport


async def resolve(host: str, port: int, timeout: float | None) -> list[tuple[str, int]]:
    """The addresses of a host, within ``timeout`` seconds. Raises OperationalError."""
    try:
        return await lookup(host, port, timeout)
    except OSError as error:
        raise unknown_host(host, error) from None


async def lookup(host: str, port: int, timeout: float | None) -> list[tuple[str, int]]:
    """What ``getaddrinfo`` returns for a host, within ``timeout`` seconds (None: however long it takes).

    Not by the loop's executor, whose threads are waited for when the loop ends.

    Raises OSError, and ConnectionTimeout.
    """
    if is_address(host):
        return [(host, port)]
    try:
        return addresses(await within(timeout, _found(host, port)), port)
    except TimeoutError:
        raise overdue(timeout) from None


async def _found(host: str, port: int) -> Any:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def found(outcome: Any) -> None:
        if not future.done():
            future.set_result(outcome)

    def answered(outcome: Any) -> None:
        # The loop may be closed: the result is not needed any more.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(found, outcome)

    look_up(host, port, answered)
    return await future


async def password_of(password: Any) -> Any:
    """Returns a password, or the result of a password function, awaited if it is asynchronous."""
    if callable(password):
        password = password()
        if inspect.isawaitable(password):
            password = await password
        check_password(password)
    return password
