"""The asyncio twins: same names as the blocking API, awaited.

A connection belongs to the loop it was made on. Concurrent awaits on one connection queue up and are pipelined.
"""

from __future__ import annotations

from ._connection import AsyncPipeline
from .connection import AsyncConnection
from .cursor import AsyncCursor, AsyncServerCursor
from .opening import connect
from .pool import AsyncConnectionPool

__all__ = [
    "AsyncConnection",
    "AsyncConnectionPool",
    "AsyncCursor",
    "AsyncPipeline",
    "AsyncServerCursor",
    "connect",
]
