"""Prepared statements: the descriptions of statements, and other ways to execute them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..._native import Result
from . import cursor
from .exceptions import InterfaceError
from .record import Record
from .types import Attribute, Type

if TYPE_CHECKING:
    from .connection import Connection


class PreparedStatement:
    """A statement that the server has described. The session keeps it prepared for whoever executes the same text."""

    def __init__(
        self,
        connection: Connection,
        query: str,
        name: str,
        parameters: tuple[Type, ...],
        attributes: tuple[Attribute, ...],
        record_class: type[Record] | None,
    ) -> None:
        self._connection = connection
        self._query = query
        self._name = name
        self._parameters = parameters
        self._attributes = attributes
        self._record_class = record_class
        self._last_status: str | None = None
        self._pool_release = connection._releases

    def _check(self, method: str) -> Connection:
        connection = self._connection
        if connection._releases != self._pool_release:
            raise InterfaceError(
                f"cannot call PreparedStatement.{method}(): the underlying connection has been released back to the "
                "pool"
            )
        connection._check_open()
        return connection

    def get_name(self) -> str:
        """Returns its name. It is only a name here: the session prepares statements by names of its own."""
        return self._name

    def get_query(self) -> str:
        """Returns its text."""
        return self._query

    def get_statusmsg(self) -> str:
        """Returns the status of the last execution, such as ``SELECT 1``; None before."""
        return self._last_status  # type: ignore[return-value]  # pyright: ignore[reportReturnType]

    def get_parameters(self) -> tuple[Type, ...]:
        """Returns the types of its parameters."""
        self._check("get_parameters")
        return self._parameters

    def get_attributes(self) -> tuple[Attribute, ...]:
        """Returns the columns of its rows, with their types."""
        self._check("get_attributes")
        return self._attributes

    def cursor(
        self,
        *args: Any,
        prefetch: int | None = None,
        timeout: float | None = None,
        record_class: type[Record] | None = None,
    ) -> cursor.CursorFactory:
        """Returns a cursor factory: awaited a cursor, iterated over the rows."""
        connection = self._check("cursor")
        kind = record_class or self._record_class
        return cursor.CursorFactory(connection, self._query, args, prefetch, timeout, kind)

    async def explain(self, *args: Any, analyze: bool = False) -> Any:
        """Returns the server's plan; with ``analyze`` after an execution whose effects are rolled back."""
        connection = self._check("explain")
        words = "EXPLAIN (FORMAT JSON, VERBOSE, ANALYZE)" if analyze else "EXPLAIN (FORMAT JSON, VERBOSE)"
        query = f"{words} {self._query}"
        if not analyze:
            return json.loads(await connection.fetchval(query, *args))
        transaction = connection.transaction()
        await transaction.start()
        try:
            return json.loads(await connection.fetchval(query, *args))
        finally:
            await transaction.rollback()

    async def _executed(self, method: str, args: Any, timeout: float | None, first: bool = False) -> Result:
        connection = self._check(method)
        result = await connection._result(self._query, args, timeout, first=first)
        self._last_status = result.tag
        return result

    async def fetch(
        self, *args: Any, timeout: float | None = None, record_class: type[Record] | None = None
    ) -> list[Any]:
        """Executes it, and returns its rows as a list of records."""
        result = await self._executed("fetch", args, timeout)
        return await self._connection._records(self._query, result, record_class or self._record_class)

    async def fetchval(self, *args: Any, column: int = 0, timeout: float | None = None) -> Any:
        """Executes it, and returns a value of the first row, or None if there is none."""
        result = await self._executed("fetchval", args, timeout, True)
        records = await self._connection._records(self._query, result, None)
        return records[0][column] if records else None

    async def fetchrow(self, *args: Any, timeout: float | None = None, record_class: type[Record] | None = None) -> Any:
        """Executes it, and returns the first row as a record, or None if there is none."""
        result = await self._executed("fetchrow", args, timeout, True)
        records = await self._connection._records(self._query, result, record_class or self._record_class)
        return records[0] if records else None

    async def fetchmany(
        self, args: Iterable[Any], *, timeout: float | None = None, record_class: type[Record] | None = None
    ) -> list[Any]:
        """Executes it for every row of arguments, and returns all rows of all results."""
        connection = self._check("fetchmany")
        kind = record_class or self._record_class
        return await connection.fetchmany(self._query, args, timeout=timeout, record_class=kind)

    async def executemany(self, args: Iterable[Any], *, timeout: float | None = None) -> None:
        """Executes it for every row of arguments: for all of them, or for none."""
        await self._check("executemany").executemany(self._query, args, timeout=timeout)
