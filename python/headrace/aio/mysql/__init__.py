"""MySQL and MariaDB on asyncio: same names as :mod:`headrace.mysql`, awaited."""

from __future__ import annotations

from .connection import AsyncConnection
from .cursor import AsyncCursor, AsyncStreamCursor
from .opening import connect

__all__ = ["AsyncConnection", "AsyncCursor", "AsyncStreamCursor", "connect"]
