"""PEP 249's interface of the driver, with Arrow: what ``adbc_driver_manager.dbapi`` has, for its connections.

Parameters are written as the database has them: ``$1`` on PostgreSQL, ``?`` on all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final, Literal, cast

import adbc_driver_manager
import adbc_driver_manager.dbapi
from adbc_driver_manager.dbapi import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
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


class Cursor(adbc_driver_manager.dbapi.Cursor):
    """A cursor of the driver manager. What frames of pandas and polars do not tell Arrow is seen to first; lazy frames
    and datasets are executed."""

    def adbc_ingest(
        self,
        table_name: str,
        data: Any,
        mode: Literal["append", "create", "replace", "create_append"] = "create",
        **options: Any,
    ) -> int:
        """Ingests rows into a table.

        Args:
            table_name: the table.
            data: Arrow data, or a frame of pandas or polars.
            mode: what happens to the table.
            options: those of the driver manager's own method.

        Returns:
            The number of rows.

        Raises:
            NotSupportedError: a column of polars has Python's objects.
            Error: the server or the driver refused them.
        """
        # The driver manager sets what it is given, and leaves what it was given for another table.
        self._stmt.set_options(**dict.fromkeys(("adbc.ingest.target_catalog", "adbc.ingest.target_db_schema"), ""))
        self._leave()
        return super().adbc_ingest(table_name, _lossless(data), mode=mode, **options)

    def execute(self, operation: bytes | str, parameters: Any = None) -> Cursor:
        """Executes a statement.

        Args:
            operation: the statement.
            parameters: a sequence, a mapping, or rows as Arrow data or a frame, for each of which it is executed.

        Returns:
            The cursor.

        Raises:
            NotSupportedError: a column of polars has Python's objects.
            Error: the server or the driver refused them.
        """
        self._leave()
        super().execute(operation, _lossless(parameters))
        return self

    def executemany(self, operation: bytes | str, seq_of_parameters: Any) -> None:
        """Executes a statement for rows of parameters: sequences, Arrow data, or a frame.

        Raises:
            NotSupportedError: a column of polars has Python's objects.
            Error: the server or the driver refused them.
        """
        self._leave()
        super().executemany(operation, _lossless(seq_of_parameters))

    def close(self) -> None:
        """Closes the cursor. What still reads its result raises an error."""
        if not self._closed and self._results is not None:
            # The result of another text is ended by the driver.
            self._stmt.set_sql_query("")
            self._leave()
        super().close()

    def _leave(self) -> None:
        """Leaves the last result to what reads it, for which the driver ends it. The driver manager would close its
        reader, and pyarrow frees a stream that is closed, also while another thread reads it."""
        self._results = None


class Connection(adbc_driver_manager.dbapi.Connection):
    """A connection of the driver manager, which makes cursors of this module."""

    def cursor(self, **options: Any) -> Cursor:
        """Makes a cursor.

        Args:
            options: those of the driver manager's own method.

        Returns:
            The cursor.
        """
        made = super().cursor(**options)
        made.__class__ = Cursor
        return cast(Cursor, made)

    def adbc_clone(self) -> Connection:
        """Opens another connection to the same database.

        Returns:
            The connection.

        Raises:
            Error: the server refused it.
        """
        made = super().adbc_clone()
        made.__class__ = Connection
        return cast(Connection, made)


def _lossless(data: Any) -> Any:
    """The same rows, with an index of pandas that is a range and has a name, for which Arrow has no column otherwise.
    Lazy frames of polars are collected; of datasets of pyarrow, and their scanners, readers are made.

    Raises NotSupportedError for a frame of polars with Python's objects, which Arrow has as bytes (their addresses),
    or with integers of 128 bits, which it does not have.
    """
    library = type(data).__module__.partition(".")[0]
    if library == "polars" and type(data).__name__ == "LazyFrame":
        data = data.collect()
    if library == "pyarrow" and not hasattr(data, "__arrow_c_stream__"):
        if hasattr(data, "scanner"):
            data = data.scanner()
        if hasattr(data, "to_reader"):
            return data.to_reader()
    if (
        library == "pandas"
        and type(getattr(data, "index", None)).__name__ == "RangeIndex"
        and data.index.name is not None
    ):
        return import_module("pyarrow").Table.from_pandas(data, preserve_index=True)
    if library == "polars":
        schema: Mapping[str, Any] = getattr(data, "schema", {})
        for name, kind in schema.items():
            for own, reason in _OWN_TYPES.items():
                if _has(kind, own):
                    raise NotSupportedError(f"column '{name}' has the polars type {kind}, {reason}")
    if library != "pyarrow" and hasattr(data, "__arrow_c_stream__") and hasattr(data, "__arrow_c_array__"):
        # The driver manager would ask for one array, which an object of several does not have.
        return _Stream(data)
    return data


class _Stream:
    """The rows of an object as a stream."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._source.__arrow_c_stream__(requested_schema)


_OWN_TYPES: Final = {
    "Object": "whose values are objects of Python: give it another type",
    "Int128": "which Arrow does not have: cast it to polars.Decimal(38, 0)",
    "UInt128": "which Arrow does not have: cast it to polars.Decimal(38, 0)",
}
"""The types of polars that have no form in Arrow, and what to do about them."""


def _has(kind: Any, name: str) -> bool:
    """Returns true if a type of polars has this name, or has one within it that has."""
    within = [getattr(kind, "inner", None), *(field.dtype for field in getattr(kind, "fields", ()))]
    own = kind if isinstance(kind, type) else type(kind)
    return own.__name__ == name or any(_has(each, name) for each in within if each is not None)


def connect(
    uri: str,
    db_kwargs: Mapping[str, str] | None = None,
    conn_kwargs: Mapping[str, str] | None = None,
    *,
    autocommit: bool = False,
) -> Connection:
    """Opens a connection.

    Args:
        uri: ``postgresql://``, ``mysql://``, ``mariadb://``, ``informix://`` or ``cubrid://``; ``headrace:`` may stand
            before it.
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
