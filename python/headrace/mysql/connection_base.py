"""What a connection to MySQL or MariaDB has that never waits, blocking or asyncio."""

from __future__ import annotations

from typing import TypeVar

from .._shared.received import Receiving
from .._shared.two_phase_core import TwoPhaseBase
from .core import STREAMING, MySqlCore, SessionState

R = TypeVar("R")


class MySqlBase(Receiving[R], TwoPhaseBase[R]):
    """A connection to MySQL or MariaDB, as far as it has nothing to wait for."""

    _core: MySqlCore  # pyright: ignore[reportIncompatibleVariableOverride]
    _streaming = STREAMING

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
