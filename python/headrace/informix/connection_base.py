"""What a connection to Informix has that never waits, blocking or asyncio."""

from __future__ import annotations

from typing import TypeVar

from .._shared.connection_base import ConnectionBase
from .core import InformixCore

R = TypeVar("R")


class InformixBase(ConnectionBase[R]):
    """A connection to Informix, as far as it has nothing to wait for."""

    _core: InformixCore  # pyright: ignore[reportIncompatibleVariableOverride]

    @property
    def server_version(self) -> str:
        """The name and version that the server reports."""
        return self._core.wire.session()[0]

    @property
    def encoding(self) -> str:
        """The code set of the database, in which text is exchanged."""
        return self._core.wire.session()[2]

    @property
    def logging(self) -> str:
        """The transactions of the database: ``none``, ``logged`` or ``ansi``."""
        return self._core.wire.session()[3]
