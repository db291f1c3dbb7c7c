"""How a statement is cancelled, asyncio: KILL QUERY on a connection of its own.

Written for each shell: here the whole is one piece of work that its caller cancels when the time is up; a blocking
connection bounds each of its waits by what is left of a limit.
"""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

from ... import errors
from ..._native import MySqlWire
from ...mysql.connection_base import MySqlBase
from ...mysql.core import MySqlCore
from .._shared.blocks import LoopBlocks
from .._shared.opening import open_wire, password_of

R = TypeVar("R")


class AsyncCancelling(MySqlBase[R], LoopBlocks[R]):
    """A connection whose statements can be cancelled."""

    _core: MySqlCore  # pyright: ignore[reportIncompatibleVariableOverride]

    async def _send_cancel(self) -> None:
        core = self._core
        options = core.cancel_options(await password_of(core.options.password))
        wire = MySqlWire(options, asyncio.get_running_loop())
        await open_wire(wire, options, None)
        answered = False
        try:
            cancelled: Any = wire.query(core.wire.cancel_statement())
            await cancelled
            answered = True
        except errors.Error:
            answered = not wire.closed
            raise
        finally:
            wire.close()
            if not answered:
                core.end_in_doubt()
