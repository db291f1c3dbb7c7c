"""How a statement is cancelled, asyncio: a message to the broker on a connection of its own.

Written for each shell: here the whole is one piece of work that its caller cancels when the time is up; a blocking
connection bounds each of its waits by what is left of a limit.
"""

from __future__ import annotations

import asyncio
from typing import TypeVar

from ...cubrid.connection_base import CubridBase
from ...cubrid.core import CANCEL_ANSWER_BYTES, CubridCore, check_cancelled
from ...errors import OperationalError
from .._shared.blocks import LoopBlocks

R = TypeVar("R")


class AsyncCancelling(CubridBase[R], LoopBlocks[R]):
    """A connection whose statements can be cancelled."""

    _core: CubridCore  # pyright: ignore[reportIncompatibleVariableOverride]

    async def _send_cancel(self) -> None:
        core = self._core
        if core.wire.only_fetches():
            # The rows were made when the statement was executed. A process of the server that is interrupted while it
            # sends them crashes.
            return
        sent = answered = False
        try:
            # The broker answers in the clear, also where its sessions are encrypted.
            reader, writer = await asyncio.open_connection(*core.wire_options["tcp"])
            try:
                writer.write(core.wire.cancel_message())
                sent = True
                answer = await reader.readexactly(CANCEL_ANSWER_BYTES)
                answered = True
            finally:
                writer.close()
            check_cancelled(answer)
        except (OSError, asyncio.IncompleteReadError) as error:
            raise OperationalError(f"the broker did not take the cancel request: {error}") from None
        finally:
            if sent and not answered:
                core.end_in_doubt()
