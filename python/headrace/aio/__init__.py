"""The asyncio forms: same names as the blocking API, awaited.

A connection belongs to the loop it was made on. Concurrent awaits on one connection queue up and are pipelined.
"""

from __future__ import annotations

from typing import Any, TypeVar, overload

from .._shared.dispatch import module_for
from ..rows import Row, RowFactory
from ._shared.opening import Opening, opening
from ._shared.pipeline import AsyncPipeline
from .partitioning import read
from .pool import AsyncConnectionPool
from .postgres.connection import AsyncConnection
from .postgres.cursor import AsyncCursor, AsyncServerCursor

T = TypeVar("T")


@overload
def connect(
    conninfo: str = "", /, *, row_factory: None = None, autocommit: bool = False, **keywords: Any
) -> Opening[AsyncConnection[Row]]: ...
@overload
def connect(
    conninfo: str = "", /, *, row_factory: RowFactory[T], autocommit: bool = False, **keywords: Any
) -> Opening[AsyncConnection[T]]: ...
@opening
async def connect(conninfo: str = "", /, **keywords: Any) -> AsyncConnection[Any]:
    """Connects on the running event loop to the database of the URL: ``postgresql://`` (or ``postgres://``),
    ``mysql://``, ``mariadb://``, ``informix://``, ``cubrid://``.

    Without a URL the database is PostgreSQL. A type checker assumes PostgreSQL; for other databases use
    :func:`headrace.aio.mysql.connect`, :func:`headrace.aio.informix.connect` or :func:`headrace.aio.cubrid.connect`.

    Args:
        conninfo: a URL, or a connection string of PostgreSQL.
        keywords: settings, and ``autocommit`` and ``row_factory``: see ``connect`` of the database. A password function
            may be asynchronous.

    Returns:
        An open connection, when awaited. ``async with headrace.aio.connect(...) as connection`` opens it without
        another ``await``.

    Raises:
        ProgrammingError: the URL is of another kind, or a setting is wrong or unknown.
        OperationalError: no connection could be opened; ``error.code`` is the reason.
        ConnectionTimeout: not within ``connect_timeout`` seconds.
    """
    return await module_for(conninfo, __name__).connect(conninfo, **keywords)  # type: ignore[no-any-return]


__all__ = [
    "AsyncConnection",
    "AsyncConnectionPool",
    "AsyncCursor",
    "AsyncPipeline",
    "AsyncServerCursor",
    "connect",
    "read",
]
