"""The loop's own transport under the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
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
        return (await loop.create_connection(make, host, port))[0]
    except OSError as error:
        raise connect_failed(f"connection to {where} failed: {error}") from None
