"""An asyncio connection with the blocking interface that SQLAlchemy's engine needs: each call waits in its greenlet."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Iterator, Sequence
from types import ModuleType
from typing import Any, TypeVar

from sqlalchemy import pool
from sqlalchemy.engine import URL, AdaptedConnection

from .._shared.arguments import checked_size

try:
    from sqlalchemy.util.concurrency import await_
except ImportError:
    # SQLAlchemy 2.0
    from sqlalchemy.util import await_only as await_  # type: ignore[attr-defined,no-redef,unused-ignore]

T = TypeVar("T")


def wait(awaitable: Awaitable[T]) -> T:
    """The result of an awaitable, for which this greenlet waits."""
    result: T = await_(awaitable)
    return result


class Module:
    """The PEP 249 module of an asyncio driver: ``connect`` waits in a greenlet, all else is the blocking module's."""

    def __init__(self, blocking: ModuleType, connect: Any, adapted: type[Connection]) -> None:
        self.__name__ = blocking.__name__
        for name in blocking.__all__:
            if name != "connect":
                setattr(self, name, getattr(blocking, name))
        self._connect = connect
        self._adapted = adapted

    def connect(self, *args: Any, **keywords: Any) -> Connection:
        """Connects on the running loop."""
        creator = keywords.pop("async_creator_fn", self._connect)
        return self._adapted(wait(creator(*args, **keywords)))


class Cursor:
    """A cursor whose rows are here once its statement was executed: fetching does not wait."""

    server_side = False

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor
        self._rows: list[Any] = []
        self._at = 0

    @property
    def description(self) -> Any:
        """The result's columns, or None."""
        return self._cursor.description

    @property
    def rowcount(self) -> int:
        """Rows that the statement affected or returned."""
        return self._cursor.rowcount  # type: ignore[no-any-return]

    @property
    def lastrowid(self) -> int | None:
        """The number that the last INSERT made."""
        return self._cursor.lastrowid  # type: ignore[no-any-return]

    @property
    def arraysize(self) -> int:
        """Rows that ``fetchmany`` returns by default."""
        return self._cursor.arraysize  # type: ignore[no-any-return]

    @arraysize.setter
    def arraysize(self, value: int) -> None:
        self._cursor.arraysize = value

    async def _execute(self, sql: str, params: Any) -> None:
        cursor = self._cursor
        self._rows, self._at = [], 0
        await cursor.execute(sql, params)
        await self._take()

    async def _take(self) -> None:
        cursor = self._cursor
        self._rows = await cursor.fetchall() if cursor.rownumber is not None else []
        self._at = 0

    def execute(self, sql: str, params: Any = None) -> None:
        """Executes one statement."""
        wait(self._execute(sql, params))

    def _is_several(self, sql: str) -> bool:
        return self._cursor._is_several(sql)  # type: ignore[no-any-return]

    def _script(self, sql: str) -> None:
        async def script() -> None:
            self._rows, self._at = [], 0
            await self._cursor._script(sql)
            await self._take()

        wait(script())

    def executemany(self, sql: str, rows: Sequence[Any]) -> None:
        """Executes one statement for every row of parameters."""
        self._rows, self._at = [], 0
        wait(self._cursor.executemany(sql, rows))

    async def _next(self) -> bool | None:
        more: bool | None = await self._cursor.nextset()
        await self._take()
        return more

    def nextset(self) -> bool | None:
        """To the next result; None when there is none."""
        return wait(self._next())

    def callproc(self, name: str, args: Sequence[Any] = ()) -> Any:
        """Calls a procedure."""

        async def call() -> Any:
            result = await self._cursor.callproc(name, args)
            await self._take()
            return result

        return wait(call())

    def setinputsizes(self, *sizes: Any) -> None:
        """Does nothing (PEP 249 allows that)."""

    def fetchone(self) -> Any:
        """The next row, or None."""
        at = self._at
        if at >= len(self._rows):
            return None
        self._at = at + 1
        return self._rows[at]

    def fetchmany(self, size: int | None = None) -> list[Any]:
        """The next rows, at most ``size``."""
        rows = self._rows[self._at : self._at + checked_size(self.arraysize if size is None else size)]
        self._at += len(rows)
        return rows

    def fetchall(self) -> list[Any]:
        """All rows that are left."""
        rows = self._rows[self._at :] if self._at else self._rows
        self._rows, self._at = [], 0
        return rows

    def __iter__(self) -> Iterator[Any]:
        while (row := self.fetchone()) is not None:
            yield row

    async def _async_soft_close(self) -> None:
        """What SQLAlchemy calls before a result leaves its greenlet: the rows are here, so nothing is left to close."""

    def close(self) -> None:
        """Frees the rows; the description stays."""
        self._rows, self._at = [], 0

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class ServerCursor(Cursor):
    """A cursor whose rows are received, or on the server, until they are fetched: fetching waits."""

    server_side = True

    @property
    def itersize(self) -> int:
        """Rows that are received at a time."""
        return self._cursor.itersize  # type: ignore[no-any-return]

    @itersize.setter
    def itersize(self, value: int) -> None:
        self._cursor.itersize = value

    async def _take(self) -> None:
        return

    def fetchone(self) -> Any:
        return wait(self._cursor.fetchone())

    def fetchmany(self, size: int | None = None) -> list[Any]:
        return wait(self._cursor.fetchmany(size))

    def fetchall(self) -> list[Any]:
        return wait(self._cursor.fetchall())

    def close(self) -> None:
        """Closes the cursor, and what the server has of it."""
        wait(self._cursor.close())


class Connection(AdaptedConnection):
    """What the engine uses of an asyncio connection, which is its ``driver_connection``."""

    __slots__ = ()

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def cursor(self) -> Cursor:
        """A new cursor."""
        return Cursor(self._connection.cursor())

    def execute(self, sql: str, params: Any = None) -> Cursor:
        """Executes one statement on a new cursor."""
        cursor = self.cursor()
        cursor.execute(sql, params)
        return cursor

    def commit(self) -> None:
        """Commits the open transaction."""
        wait(self._connection.commit())

    def rollback(self) -> None:
        """Rolls the open transaction back."""
        wait(self._connection.rollback())

    def close(self) -> None:
        """Closes the connection."""
        self.terminate()

    def terminate(self) -> None:
        """Closes the connection at once, also where no loop runs: the driver's ``close()`` never waits."""
        with contextlib.suppress(StopIteration):
            self._connection.close().send(None)

    @property
    def closed(self) -> bool:
        """True if the connection is closed, or was lost."""
        return self._connection.closed  # type: ignore[no-any-return]

    @property
    def autocommit(self) -> bool:
        """True if every statement is a transaction of its own."""
        return self._connection.autocommit  # type: ignore[no-any-return]

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        wait(self._connection.set_autocommit(value))

    @property
    def transaction_status(self) -> Any:
        """Where the connection stands."""
        return self._connection.transaction_status

    def check_alive(self) -> bool:
        """Returns true if the connection is still there, without a round trip."""
        return self._connection.check_alive()  # type: ignore[no-any-return]

    def ping(self) -> None:
        """A round trip that does nothing else."""
        wait(self._connection.ping())

    @property
    def isolation_level(self) -> str | None:
        """The isolation level of transactions to come."""
        return self._connection.isolation_level  # type: ignore[no-any-return]

    @isolation_level.setter
    def isolation_level(self, value: str | None) -> None:
        wait(self._connection.set_isolation_level(value))

    @property
    def read_only(self) -> bool | None:
        """True if transactions to come are read-only."""
        return self._connection.read_only  # type: ignore[no-any-return]

    @read_only.setter
    def read_only(self, value: bool | None) -> None:
        wait(self._connection.set_read_only(value))


class Dialect:
    """What the dialects of asyncio engines have in common: the first base, before the blocking engines' dialect."""

    is_async = True
    has_terminate = True

    @classmethod
    def get_pool_class(cls, url: URL) -> type[pool.Pool]:
        return pool.AsyncAdaptedQueuePool

    def do_terminate(self, dbapi_connection: Any) -> None:
        dbapi_connection.terminate()

    def get_driver_connection(self, connection: Any) -> Any:
        return connection.driver_connection
