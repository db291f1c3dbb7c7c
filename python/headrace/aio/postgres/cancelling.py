"""How a statement is cancelled, asyncio: a cancel request on a connection of its own.

Written for each shell: here the whole is one piece of work that its caller cancels when the time is up; a blocking
connection bounds each of its waits by what is left of a limit.
"""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

from ... import errors
from ..._native import PostgresWire
from ...postgres.connection_base import PostgresBase
from ...postgres.core import ConnectionCore
from .._shared.connection import LoopConnection
from .._shared.transport import open_transport

R = TypeVar("R")


class AsyncCancelling(PostgresBase[R], LoopConnection[R]):
    """A connection whose statements can be cancelled."""

    _core: ConnectionCore  # pyright: ignore[reportIncompatibleVariableOverride]

    async def _send_cancel(self) -> None:
        core = self._core
        loop = asyncio.get_running_loop()
        wire = PostgresWire({**core.wire_options, "cancel": core.wire.cancel_message()}, loop)
        waits = False
        try:
            await open_transport(loop, wire, core.wire_options)
            await wire.ready()
            # The server closes the connection once it has sent the signal.
            waits = True
            closed: Any = wire.notified()
            await closed
        except errors.ConnectionClosed:
            waits = False
        finally:
            wire.close()
            if waits:
                core.end_in_doubt()
