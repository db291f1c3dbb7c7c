"""The asyncio file that a smart large object of Informix is."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ... import defaults
from ...informix.lobs import LobState, Locator

if TYPE_CHECKING:
    from .connection import AsyncConnection


class AsyncLargeObject:
    """The twin of :class:`headrace.informix.LargeObject`. Iterated over it gives its content in blocks."""

    def __init__(self, connection: AsyncConnection[Any], state: LobState) -> None:
        self._connection = connection
        self._state = state

    @property
    def locator(self) -> Locator:
        """Where the object is kept: the parameter for a BLOB or CLOB column."""
        return self._state.locator

    @property
    def mode(self) -> str:
        """How it was opened."""
        return self._state.mode

    @property
    def closed(self) -> bool:
        """True after :meth:`close`."""
        return not self._state.is_open

    async def read(self, size: int = -1, *, timeout: float | None = None) -> bytes:
        """The next ``size`` bytes, fewer at the end; all that are left where ``size`` is negative."""
        return await self._connection._run(self._state.reading(size), timeout)

    async def write(self, data: Any, *, timeout: float | None = None) -> int:
        """Writes all of ``data``; gives the number of bytes."""
        return await self._connection._run(self._state.writing(data), timeout)

    async def seek(self, offset: int, whence: int = os.SEEK_SET, *, timeout: float | None = None) -> int:
        """Sets where the next read or write takes place; gives it."""
        return await self._connection._run(self._state.seeking(offset, whence), timeout)

    def tell(self) -> int:
        """Where the next read or write takes place."""
        self._state.check()
        return self._state.at

    async def truncate(self, size: int | None = None, *, timeout: float | None = None) -> int:
        """Cuts it to ``size`` bytes, by default to where it stands."""
        return await self._connection._run(self._state.truncating(size), timeout)

    async def size(self, *, timeout: float | None = None) -> int:
        """How many bytes it has."""
        return await self._connection._run(self._state.sizing(), timeout)

    async def close(self, *, timeout: float | None = None) -> None:
        """Closes it on the server; what it is kept in stays."""
        await self._connection._run(self._state.closing(), timeout)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while block := await self.read(defaults.INFORMIX_LOB_BYTES):
            yield block

    async def __aenter__(self) -> AsyncLargeObject:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<AsyncLargeObject {self.locator.type_name} {self.mode}{' closed' if self.closed else ''}>"
