"""headrace's asyncio driver with the interface of asyncpg, for what was written for it, such as SQLAlchemy.

    import headrace.compat.asyncpg
    headrace.compat.asyncpg.install_as_asyncpg()

After that ``import asyncpg`` finds this. It behaves as asyncpg, not as headrace: no transaction unless one is begun,
``execute`` takes arguments one by one and returns the status, rows are records, and JSON is text.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from . import (
    connection,
    cursor,
    exceptions,
    pgproto,
    pool,
    prepared_stmt,
    protocol,
    transaction,
    types,
)
from .connection import Connection, connect
from .exceptions import *  # noqa: F403 - asyncpg has its exceptions at the top, too
from .pool import Pool, create_pool
from .record import Record
from .types import BitString, Box, Circle, Line, LineSegment, Path, Point, Polygon, Range

if TYPE_CHECKING:
    # The classes of SQLSTATEs, which the star brings.
    def __getattr__(name: str) -> Any: ...


_NAME: Final = __name__
__version__ = "0.32.0"
"""The version of asyncpg whose interface this is."""


def install_as_asyncpg() -> None:
    """Makes ``import asyncpg`` find this package."""
    for name, module in list(sys.modules.items()):
        if name == _NAME or name.startswith(f"{_NAME}."):
            sys.modules["asyncpg" + name[len(_NAME) :]] = module
    sys.modules["asyncpg.pgproto.types"] = types


__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    "BitString",
    "Box",
    "Circle",
    "Connection",
    "Line",
    "LineSegment",
    "Path",
    "Point",
    "Polygon",
    "Pool",
    "Range",
    "Record",
    "connect",
    "connection",
    "create_pool",
    "cursor",
    "exceptions",
    "install_as_asyncpg",
    "pgproto",
    "pool",
    "prepared_stmt",
    "protocol",
    "transaction",
    "types",
    *exceptions.__all__,
]
