"""headrace: the fastest and most trusted way from Python to your database.

``headrace.connect("postgresql://...")`` gives a blocking connection, ``await headrace.aio.connect(...)`` its
asyncio twin.
"""

from __future__ import annotations

from typing import Any, TypeVar, overload

from . import aio, errors, postgres, rows, types
from ._shared.core import Rollback
from ._shared.dispatch import module_for
from .errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,
)
from .pool import ConnectionPool
from .postgres.connection import Connection
from .postgres.cursor import Cursor

T = TypeVar("T")

__version__ = "0.1.0"

# PEP 249, whose constructors and type objects are in headrace.postgres, headrace.mysql and headrace.informix.
apilevel = "2.0"
threadsafety = 2
paramstyle = "pyformat"

__all__ = [
    "Connection",
    "ConnectionPool",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Rollback",
    "Warning",
    "aio",
    "apilevel",
    "connect",
    "errors",
    "paramstyle",
    "postgres",
    "rows",
    "threadsafety",
    "types",
]


@overload
def connect(
    conninfo: str = "", /, *, row_factory: rows.RowFactory[T], autocommit: bool = False, **keywords: Any
) -> Connection[T]: ...
@overload
def connect(
    conninfo: str = "", /, *, row_factory: None = None, autocommit: bool = False, **keywords: Any
) -> Connection[rows.Row]: ...
def connect(conninfo: str = "", /, **keywords: Any) -> Connection[Any]:
    """Connects to the database that the URL names: ``postgresql://`` (or ``postgres://``), ``mysql://``,
    ``mariadb://``, ``informix://``.

    Without a URL it is PostgreSQL. See :func:`headrace.postgres.connect`, :func:`headrace.mysql.connect` and
    :func:`headrace.informix.connect` for the keywords; a type checker takes the connection for one to PostgreSQL, so
    that for the others these functions are the better choice.

    Raises ProgrammingError for a URL of another kind.
    """
    return module_for(conninfo, __name__).connect(conninfo, **keywords)  # type: ignore[no-any-return]
