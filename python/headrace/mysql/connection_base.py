"""What a connection to MySQL or MariaDB has that never waits, blocking or asyncio."""

from __future__ import annotations

from typing import Any, TypeVar

from .._shared.connection_base import ConnectionBase
from ..rows import tuple_row
from .core import MySqlCore, SessionState

R = TypeVar("R")


class MySqlBase(ConnectionBase[R]):
    """A connection to MySQL or MariaDB, as far as it has nothing to wait for."""

    _core: MySqlCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def _made(self, columns: Any, rows: list[Any]) -> list[R]:
        factory = self.row_factory
        make: Any = None if factory is tuple_row else factory(columns.names)
        return rows if make is None else list(map(make, rows))

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
