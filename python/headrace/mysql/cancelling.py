"""How a statement is cancelled, blocking: KILL QUERY on a connection of its own.

Written for each shell: this one bounds each of its waits by what is left of a limit; on asyncio the whole is one
piece of work that its caller cancels.
"""

from __future__ import annotations

import time
from typing import TypeVar

from .._native import MySqlWire
from .._shared.connection import BlockingConnection
from .._shared.opening import open_wire, password_of
from ..errors import Error, OperationalError
from .connection_base import MySqlBase
from .core import MySqlCore

R = TypeVar("R")


class Cancelling(MySqlBase[R], BlockingConnection[R]):
    """A connection whose statements can be cancelled."""

    _core: MySqlCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def _send_cancel(self, timeout: float) -> None:
        core = self._core
        deadline = time.monotonic() + timeout
        wire = open_wire(MySqlWire(core.cancel_options(password_of(core.options.password))), timeout)
        answered = False
        try:
            kill = wire.query(core.wire.cancel_statement())
            wire.wait(kill, max(0.0, deadline - time.monotonic()))
            answered = True
        except TimeoutError:
            raise OperationalError(f"the cancel request was not answered within {timeout} s") from None
        except Error:
            answered = not wire.closed
            raise
        finally:
            wire.close()
            if not answered:
                core.end_in_doubt()
