"""headrace: the fastest and most trusted way from Python to your database.

``headrace.connect("postgresql://...")`` gives a blocking connection, ``await headrace.aio.connect(...)`` its
asyncio twin.
"""

from __future__ import annotations

from typing import Any, TypeVar, overload

from . import _dispatch, aio, errors, postgres, rows, types
from ._core import Rollback
from ._postgres.connection import Connection
from ._postgres.cursor import Cursor
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

T = TypeVar("T")

__version__ = "0.1.0"

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
    "connect",
    "errors",
    "postgres",
    "rows",
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
    """Connects to the database that the URL names: ``postgresql://`` (or ``postgres://``), ``informix://`` (or
    ``jdbc:informix-sqli://``), ``mysql://`` (or ``mariadb://``).

    Without a URL it is PostgreSQL. See :func:`headrace.postgres.connect`, :func:`headrace.informix.connect` and
    :func:`headrace.mysql.connect` for the keywords; a type checker is told of PostgreSQL's connection, and theirs say
    which it is.

    Raises ProgrammingError for a URL of another kind.
    """
    return _dispatch.module(conninfo).connect(conninfo, **keywords)  # type: ignore[no-any-return]
