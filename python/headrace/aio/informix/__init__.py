"""Informix on asyncio: same names as :mod:`headrace.informix`, awaited."""

from __future__ import annotations

from .connection import AsyncConnection
from .cursor import AsyncCursor, AsyncServerCursor
from .largeobject import AsyncLargeObject
from .opening import connect

__all__ = ["AsyncConnection", "AsyncCursor", "AsyncLargeObject", "AsyncServerCursor", "connect"]
