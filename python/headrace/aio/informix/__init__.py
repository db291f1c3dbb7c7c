"""Informix on asyncio: same names as :mod:`headrace.informix`, awaited."""

from __future__ import annotations

from .connection import AsyncConnection, AsyncCursor, connect
from .largeobject import AsyncLargeObject
from .server_cursor import AsyncServerCursor

__all__ = ["AsyncConnection", "AsyncCursor", "AsyncLargeObject", "AsyncServerCursor", "connect"]
