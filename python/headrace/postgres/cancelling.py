"""How a statement is cancelled, blocking: a cancel request on a connection of its own.

Written for each shell: this one bounds each of its waits by what is left of a limit; on asyncio the whole is one
piece of work that its caller cancels.
"""

from __future__ import annotations

import time
from typing import TypeVar

from .._native import PostgresWire
from .._shared.connection import BlockingConnection
from ..errors import ConnectionClosed, OperationalError
from .connection_base import PostgresBase
from .core import ConnectionCore

R = TypeVar("R")


class Cancelling(PostgresBase[R], BlockingConnection[R]):
    """A connection whose statements can be cancelled."""

    _core: ConnectionCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def _send_cancel(self, timeout: float) -> None:
        core = self._core
        wire = PostgresWire({**core.wire_options, "cancel": core.wire.cancel_message()})
        deadline = time.monotonic() + timeout
        waits = False
        try:
            wire.open(timeout)
            wire.wait(wire.ready(), max(0.0, deadline - time.monotonic()))
            # The server closes the connection once it has sent the signal.
            waits = True
            wire.wait(wire.notified(), max(0.0, deadline - time.monotonic()))
        except ConnectionClosed:
            waits = False
        except TimeoutError:
            raise OperationalError(f"the cancel request was not answered within {timeout} s") from None
        finally:
            wire.close()
            if waits:
                core.end_in_doubt()
