"""CUBRID on asyncio: same names as :mod:`headrace.cubrid`, awaited."""

from __future__ import annotations

from .connection import AsyncConnection
from .cursor import AsyncCursor, AsyncServerCursor, AsyncStreamCursor
from .largeobject import AsyncLargeObject
from .opening import connect

__all__ = ["AsyncConnection", "AsyncCursor", "AsyncLargeObject", "AsyncServerCursor", "AsyncStreamCursor", "connect"]
