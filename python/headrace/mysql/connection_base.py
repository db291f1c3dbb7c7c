"""What a connection to MySQL or MariaDB has that never waits, blocking or asyncio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from .._native import Columns, Result
from .._shared.connection_base import ConnectionBase
from ..errors import ProgrammingError
from ..rows import tuple_row
from .core import MySqlCore, SessionState

R = TypeVar("R")


@dataclass
class Received:
    """What a cursor that streams knows of its result. It makes the rows itself."""

    columns: Columns | None = None
    """None before the first block, and if the statement returns no rows."""
    result: Result | None = None
    """The reply, after its last row or without rows; of a cursor on the server its beginning."""


class MySqlBase(ConnectionBase[R]):
    """A connection to MySQL or MariaDB, as far as it has nothing to wait for."""

    _core: MySqlCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def _made(self, columns: Any, rows: list[Any], received: Received | None = None) -> list[R]:
        if received is not None:
            received.columns = columns
            return rows
        factory = self.row_factory
        make: Any = None if factory is tuple_row else factory(columns.names)
        return rows if make is None else list(map(make, rows))

    def _has_rows(self, result: Result, received: Received | None) -> bool:
        """Returns true if the statement of a stream returns rows. Only a cursor may execute one that does not."""
        if received is not None:
            received.columns, received.result = result.columns, result
        elif result.columns is None:
            raise ProgrammingError("the statement returns no rows")
        return result.columns is not None

    @property
    def session_state(self) -> SessionState:
        """The state of the session that the server has reported, depending on its ``session_track_...`` variables."""
        return self._core.session_state()

    @property
    def server_version(self) -> str:
        """The version of the server, as it reports it."""
        return str(self._core.wire.session()["server_version"])

    @property
    def thread_id(self) -> int:
        """The number of the connection, which KILL takes."""
        return self._core.thread_id
