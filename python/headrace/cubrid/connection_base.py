"""What a connection to CUBRID has that never waits, blocking or asyncio."""

from __future__ import annotations

from typing import TypeVar

from .._shared.received import Receiving
from .core import CubridCore

R = TypeVar("R")


class CubridBase(Receiving[R]):
    """A connection to CUBRID, as far as it has nothing to wait for."""

    _core: CubridCore  # pyright: ignore[reportIncompatibleVariableOverride]

    @property
    def protocol_version(self) -> int:
        """The version of the protocol that the server speaks: 8 is CUBRID 10.2, 12 is 11.3."""
        return self._core.wire.session()[0]

    @property
    def session_id(self) -> bytes:
        """The identification of the session at the server, which it keeps when it is resumed by another process."""
        return self._core.wire.session()[1]

    @property
    def resumed(self) -> int:
        """How often the session was resumed after the broker had given its process to another client."""
        return self._core.wire.session()[2]

    @property
    def cas_pid(self) -> int | None:
        """The number of the broker's process (CAS) that executes the statements; None if the process was given to
        another client or has ended: the next statement gets one."""
        return self._core.wire.process_id or None
