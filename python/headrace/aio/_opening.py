"""Opening the engine's connection and waiting for its session, on the running loop."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import ipaddress
import socket
from typing import Any

from .._native import Wire
from .._opening import addresses, overdue, unknown_host
from ._within import within
from .transport import open_transport


async def open_wire(wire: Wire, options: dict[str, Any], timeout: float | None) -> asyncio.BaseTransport:
    """The twin of :func:`headrace._opening.open_wire`; ``options`` are those that ``wire`` was made with. Gives the
    transport."""

    async def session() -> asyncio.BaseTransport:
        transport = await open_transport(asyncio.get_running_loop(), wire, options)
        await wire.ready()
        return transport

    try:
        return await within(timeout, session())
    except TimeoutError:
        wire.close()
        raise overdue(timeout) from None
    except BaseException:
        wire.close()
        raise


async def resolve(host: str, port: int) -> list[tuple[str, int]]:
    """The addresses of a host. Raises OperationalError."""
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(host)
        return [(host, port)]
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise unknown_host(host, error) from None
    return addresses(found, port)


async def any_password(password: Any) -> Any:
    """A password, or what a callable gives, awaited where it is asynchronous."""
    if callable(password):
        password = password()
        if inspect.isawaitable(password):
            password = await password
    return password
