"""How a statement is cancelled, blocking: a message to the broker on a connection of its own.

Written for each shell: this one bounds each of its waits by what is left of a limit; on asyncio the whole is one
piece of work that its caller cancels.
"""

from __future__ import annotations

import socket
import time
from typing import TypeVar

from .._shared.connection import BlockingConnection
from ..errors import OperationalError
from .connection_base import CubridBase
from .core import CANCEL_ANSWER_BYTES, CubridCore, check_cancelled

R = TypeVar("R")


class Cancelling(CubridBase[R], BlockingConnection[R]):
    """A connection whose statements can be cancelled."""

    _core: CubridCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def _send_cancel(self, timeout: float) -> None:
        core = self._core
        if core.wire.only_fetches():
            # The rows were made when the statement was executed. A process of the server that is interrupted while it
            # sends them crashes.
            return
        deadline = time.monotonic() + timeout
        sent = answered = False
        try:
            # The broker answers in the clear, also where its sessions are encrypted.
            with socket.create_connection(core.wire_options["tcp"], timeout) as broker:
                broker.sendall(core.wire.cancel_message())
                sent = True
                answer = b""
                while len(answer) < CANCEL_ANSWER_BYTES:
                    broker.settimeout(max(0.001, deadline - time.monotonic()))
                    part = broker.recv(CANCEL_ANSWER_BYTES - len(answer))
                    if not part:
                        break
                    answer += part
                answered = len(answer) == CANCEL_ANSWER_BYTES
            check_cancelled(answer)
        except OSError as error:
            raise OperationalError(f"the broker did not take the cancel request: {error}") from None
        finally:
            if sent and not answered:
                core.end_in_doubt()
