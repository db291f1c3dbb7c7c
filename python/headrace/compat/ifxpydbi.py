"""headrace.informix with the interface of IfxPyDbi, the PEP 249 module of IBM's driver.

Rows, values and errors are those of :mod:`headrace.informix`; what IfxPyDbi has in addition is here: connecting with
three texts, options, and the catalog as lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from .. import informix
from ..errors import (
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
from ..types import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
)
from . import ifxpy

apilevel: Final = "2.0"
threadsafety: Final = 0
paramstyle: Final = "qmark"
__version__: Final = ifxpy.__version__
_CASES: Final = {"CASE_NATURAL": ifxpy.CASE_NATURAL, "CASE_LOWER": ifxpy.CASE_LOWER, "CASE_UPPER": ifxpy.CASE_UPPER}


class Connection:
    """A connection. Transactions begin by themselves, unless :meth:`set_autocommit` was called."""

    Error, Warning, InterfaceError, DatabaseError = Error, Warning, InterfaceError, DatabaseError
    InternalError, OperationalError, ProgrammingError = InternalError, OperationalError, ProgrammingError
    IntegrityError, DataError, NotSupportedError = IntegrityError, DataError, NotSupportedError

    def __init__(self, handle: ifxpy.IFXConnection) -> None:
        self.conn_handler = handle
        """The connection as the functions of IfxPy take it."""
        handle.driver.autocommit = False

    @property
    def dbms_name(self) -> str:
        """The server's name."""
        return "Informix"

    @property
    def dbms_ver(self) -> str:
        """The server's name and version, as it reports them."""
        return self.conn_handler.driver.server_version

    def cursor(self) -> informix.Cursor[Any]:
        """A cursor of headrace."""
        return self.conn_handler.driver.cursor()

    def commit(self) -> None:
        """Commits."""
        self.conn_handler.driver.commit()

    def rollback(self) -> None:
        """Rolls back."""
        self.conn_handler.driver.rollback()

    def close(self) -> None:
        """Rolls back what is not committed, and closes."""
        self.conn_handler.driver.close()

    def set_autocommit(self, is_on: bool) -> None:
        """Commits each statement by itself, or not; an open transaction is committed by that."""
        driver = self.conn_handler.driver
        if driver.autocommit != is_on:
            driver.commit()
            driver.autocommit = is_on

    def set_option(self, attr_dict: dict[int, Any]) -> bool:
        """Sets options: see :func:`headrace.compat.ifxpy.set_option`."""
        return ifxpy.set_option(self.conn_handler, attr_dict, 1)

    def get_option(self, attr_key: int) -> Any:
        """The value of an option."""
        return ifxpy.get_option(self.conn_handler, attr_key, 1)

    def set_case(self, str_value: str) -> None:
        """``CASE_NATURAL``, ``CASE_LOWER`` or ``CASE_UPPER``, for the names of the catalog's columns."""
        self.conn_handler.case = _CASES[str_value]

    def server_info(self) -> tuple[str, str]:
        """The server's name and version."""
        return self.dbms_name, self.dbms_ver

    def tables(self, schema_name: str | None = None, table_name: str | None = None) -> list[dict[str, Any]]:
        """The tables of an owner, a dict each."""
        return self._all(ifxpy.tables(self.conn_handler, None, schema_name, table_name))

    def columns(
        self,
        schema_name: str | None = None,
        table_name: str | None = None,
        column_names: Sequence[str] | None = None,
    ) -> list[dict[str, Any]]:
        """The columns of tables, or those of them that are named."""
        found = self._all(ifxpy.columns(self.conn_handler, None, schema_name, table_name))
        named = self.conn_handler.named("COLUMN_NAME")
        return found if column_names is None else [row for row in found if row[named] in column_names]

    def primary_keys(
        self, unique: bool = True, schema_name: str | None = None, table_name: str | None = None
    ) -> list[dict[str, Any]]:
        """The columns of primary keys."""
        return self._all(ifxpy.primary_keys(self.conn_handler, None, schema_name, table_name))

    def foreign_keys(
        self, unique: bool = True, schema_name: str | None = None, table_name: str | None = None
    ) -> list[dict[str, Any]]:
        """The columns of the foreign keys that tables have."""
        return self._all(ifxpy.foreign_keys(self.conn_handler, None, None, None, None, schema_name, table_name))

    def indexes(
        self, unique: bool = True, schema_name: str | None = None, table_name: str | None = None
    ) -> list[dict[str, Any]]:
        """The columns of indexes."""
        return self._all(ifxpy.statistics(self.conn_handler, None, schema_name, table_name, unique))

    @staticmethod
    def _all(statement: ifxpy.IFXStatement) -> list[dict[str, Any]]:
        return list(iter(lambda: ifxpy.fetch_assoc(statement), False))


def connect(
    ConStr: str,
    user: str = "",
    password: str = "",
    host: str = "",
    database: str = "",
    conn_options: dict[int, Any] | None = None,
) -> Connection:
    """Connects.

    Args:
        ConStr: ``SERVER=...;DATABASE=...;HOST=...;SERVICE=...;UID=...;PWD=...``.
        user: the user, if the string has none.
        password: likewise.
        host: likewise.
        database: likewise.
        conn_options: see :func:`headrace.compat.ifxpy.connect`.

    Raises:
        OperationalError: the server refused the connection, or there is none. It is one of the classes above, as all
            that follows.
    """
    more = [f"{name}={value}" for name, value in (("HOST", host), ("DATABASE", database)) if value]
    try:
        handle = ifxpy.connect(";".join([ConStr.rstrip(";"), *more]), user, password, conn_options)
    except ifxpy.IfxPyError as error:
        raise error.__cause__ or error from None
    return Connection(handle)


__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Connection",
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
