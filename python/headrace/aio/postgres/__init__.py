"""PostgreSQL on asyncio: same names as :mod:`headrace.postgres`, awaited."""

from __future__ import annotations

from .connection import AsyncConnection
from .cursor import AsyncCursor, AsyncServerCursor
from .largeobject import AsyncLargeObject
from .listening import AsyncListener, listen
from .opening import connect

__all__ = [
    "AsyncConnection",
    "AsyncCursor",
    "AsyncLargeObject",
    "AsyncListener",
    "AsyncServerCursor",
    "connect",
    "listen",
]
