"""The asyncio twins: same names as the blocking API, awaited.

A connection belongs to the loop it was made on. Concurrent awaits on one connection queue up and are pipelined.
"""

from __future__ import annotations

from typing import Any, TypeVar, overload

from .._shared.dispatch import module_for
from ..rows import Row, RowFactory
from ._shared.connection import AsyncPipeline
from .pool import AsyncConnectionPool
from .postgres.connection import AsyncConnection
from .postgres.cursor import AsyncCursor, AsyncServerCursor

T = TypeVar("T")


@overload
async def connect(
    conninfo: str = "", /, *, row_factory: RowFactory[T], autocommit: bool = False, **keywords: Any
) -> AsyncConnection[T]: ...
@overload
async def connect(
    conninfo: str = "", /, *, row_factory: None = None, autocommit: bool = False, **keywords: Any
) -> AsyncConnection[Row]: ...
async def connect(conninfo: str = "", /, **keywords: Any) -> AsyncConnection[Any]:
    """Connects on the running loop to the database that the URL names: see :func:`headrace.connect`. A password
    callable may be asynchronous.

    Raises ProgrammingError for a URL of another kind.
    """
    return await module_for(conninfo, __name__).connect(conninfo, **keywords)  # type: ignore[no-any-return]


__all__ = [
    "AsyncConnection",
    "AsyncConnectionPool",
    "AsyncCursor",
    "AsyncPipeline",
    "AsyncServerCursor",
    "connect",
]
