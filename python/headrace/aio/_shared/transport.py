"""The loop's own transport under the engine."""

from __future__ import annotations

import asyncio
import errno
import socket
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ..._native import ReadBufferView, Wire
from ...errors import connect_failed

_TRANSPORT_CALLS = (
    "buffer_updated",
    "connection_made",
    "connection_lost",
    "eof_received",
    "pause_writing",
    "resume_writing",
)


class LoopProtocol(asyncio.BufferedProtocol):
    """Passes the transport's calls to the engine. The loop calls the engine's own methods: there is no Python
    between the socket and the decoder."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        view = ReadBufferView(wire)
        mine: dict[str, Any] = {
            "get_buffer": view.get_buffer,
            "flush": wire.flush,
            "read_on": wire.read_on,
            **{name: getattr(wire, name) for name in _TRANSPORT_CALLS},
        }
        # On the instance, instead of the class's own: the loop then calls the engine directly.
        self.__dict__.update(mine)

    def leave(self, transport: asyncio.Transport) -> None:
        """Ends a transport to a server that has named another one: what becomes of it is not the engine's any more."""
        transport.set_protocol(asyncio.Protocol())
        transport.abort()


async def _connected(
    loop: asyncio.AbstractEventLoop, make: Callable[[], LoopProtocol], host: str, port: int
) -> asyncio.BaseTransport:
    """What ``create_connection`` does, for an address. A server on this machine, or near enough, has accepted by the
    second look, and no turn of asyncio's loop is needed to wait for it; uvloop does that for less. Linux alone promises
    that a socket can be asked to connect again. Raises OSError."""
    address, family = (host, port), socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        error = sock.connect_ex(address)
        if error == errno.EINPROGRESS:
            error = sock.connect_ex(address)
        if error in (errno.EINPROGRESS, errno.EALREADY):
            await loop.sock_connect(sock, address)
        elif error:
            raise OSError(error, f"Connect call failed {address}")
        return (await loop.create_connection(make, sock=sock))[0]
    except BaseException:
        sock.close()
        raise


def _tune(transport: asyncio.BaseTransport, wire: Wire) -> None:
    """Sets what a blocking connection has on its socket, too: no delay, keepalives, and how long sent data may stay
    unacknowledged. Raises OSError, and ends the transport."""
    sock = transport.get_extra_info("socket")
    if sock is None or transport.is_closing():
        return
    try:
        for level, name, value in wire.socket_options():
            sock.setsockopt(getattr(socket, level), getattr(socket, name), value)
    except OSError:
        assert isinstance(transport, asyncio.WriteTransport)
        transport.abort()
        raise


async def open_transport(
    loop: asyncio.AbstractEventLoop, wire: Wire, options: Mapping[str, Any]
) -> asyncio.BaseTransport:
    """Connects ``wire`` on ``loop``. Raises OperationalError."""

    make = partial(LoopProtocol, wire)
    where = options.get("unix") or "{}:{}".format(*options["tcp"])
    try:
        if options.get("unix"):
            return (await loop.create_unix_connection(make, options["unix"]))[0]
        host, port = options["tcp"]
        if sys.platform == "linux" and isinstance(loop, asyncio.SelectorEventLoop):
            transport = await _connected(loop, make, host, port)
        else:
            transport = (await loop.create_connection(make, host, port))[0]
        _tune(transport, wire)
        return transport
    except OSError as error:
        raise connect_failed(f"connection to {where} failed: {error}") from None
