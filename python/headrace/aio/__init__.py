"""The asyncio twins: same names as the blocking API, awaited.

A connection belongs to the loop it was made on. Concurrent awaits on one connection queue up and are pipelined.
"""

from __future__ import annotations

from typing import Any, TypeVar, overload

from .. import _dispatch
from ..rows import Row, RowFactory
from ._connection import AsyncPipeline
from .connection import AsyncConnection
from .cursor import AsyncCursor, AsyncServerCursor
from .pool import AsyncConnectionPool

__all__ = [
    "AsyncConnection",
    "AsyncConnectionPool",
    "AsyncCursor",
    "AsyncPipeline",
    "AsyncServerCursor",
    "connect",
]

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
    """Connects on the running loop to the database that the URL names: see :func:`headrace.connect`."""
    return await _dispatch.aio_module(conninfo).connect(conninfo, **keywords)  # type: ignore[no-any-return]
