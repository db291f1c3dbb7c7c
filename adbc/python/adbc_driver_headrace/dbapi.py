"""PEP 249's interface of the driver, with Arrow: what ``adbc_driver_manager.dbapi`` has, for its connections.

Parameters are written as the database has them: ``$1`` on PostgreSQL, ``?`` on all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import adbc_driver_manager
import adbc_driver_manager.dbapi
from adbc_driver_manager.dbapi import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Connection,
    Cursor,
    DatabaseError,
    DataError,
    Date,
    DateFromTicks,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
    Warning,
    apilevel,
    paramstyle,
    threadsafety,
)

from . import connect as _database

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]


def connect(
    uri: str,
    db_kwargs: Mapping[str, str] | None = None,
    conn_kwargs: Mapping[str, str] | None = None,
    *,
    autocommit: bool = False,
) -> Connection:
    """Opens a connection.

    Args:
        uri: ``postgresql://``, ``mysql://``, ``mariadb://``, ``informix://`` or ``cubrid://``.
        db_kwargs: options of the database.
        conn_kwargs: options of the connection.
        autocommit: each statement is a transaction of its own.

    Returns:
        The connection.

    Raises:
        Error: it was not opened; the class tells why.
    """
    database = connection = None
    try:
        database = _database(uri, db_kwargs)
        options: dict[str, Any] = dict(conn_kwargs or {})
        connection = adbc_driver_manager.AdbcConnection(database, **options)
        return Connection(database, connection, conn_kwargs=options, autocommit=autocommit)
    except BaseException:
        if connection is not None:
            connection.close()
        if database is not None:
            database.close()
        raise
