"""Read by type checkers only: what mypy and pyright make of headrace's own functions and PostgreSQL's connections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import headrace
from headrace import ConnectionPool, aio, postgres, rows
from headrace.aio import postgres as aio_postgres
from headrace.aio.pool import AsyncConnectionPool
from headrace.types import IsolationLevel

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from typing_extensions import assert_type

    @dataclass
    class User:
        id: int
        name: str

    Row = tuple[Any, ...]

    def blocking() -> None:
        conn = headrace.connect("postgresql://")
        assert_type(conn, headrace.Connection[Row])
        assert_type(postgres.connect("postgresql://"), postgres.Connection[Row])
        assert_type(conn.execute("select 1"), headrace.Cursor[Row])
        assert_type(conn.execute("select 1").fetchone(), Row | None)
        assert_type(conn.fetch("select 1"), list[Row])
        assert_type(conn.isolation_level, IsolationLevel | None)
        users = conn.cursor(row_factory=rows.class_row(User)).execute("select")
        assert_type(users.fetchone(), User | None)
        assert_type(users.fetchall(), list[User])
        for user in users:
            assert_type(user, User)
        dicts = headrace.connect(row_factory=rows.dict_row)
        assert_type(dicts.execute("select").fetchall(), list[dict[str, Any]])
        with conn.transaction() as same:
            assert_type(same, headrace.Connection[Row])

    def server_cursors(conn: postgres.Connection[Row]) -> None:
        declared = conn.cursor("c", scrollable=True)
        assert_type(declared, postgres.ServerCursor[Row])
        assert_type(declared.execute("select"), postgres.ServerCursor[Row])
        assert_type(conn.cursor("c", row_factory=rows.class_row(User)), postgres.ServerCursor[User])

    def streams(conn: postgres.Connection[User]) -> None:
        assert_type(conn.stream("select"), Iterator[User])
        for block in conn.stream_blocks("select"):
            assert_type(block, list[User])

    def pools() -> None:
        pool = ConnectionPool("postgresql://")
        assert_type(pool, ConnectionPool[postgres.Connection[Row]])
        with pool.connection() as conn:
            assert_type(conn, postgres.Connection[Row])
        assert_type(ConnectionPool(row_factory=rows.class_row(User)), ConnectionPool[postgres.Connection[User]])
        assert_type(ConnectionPool("", connect=postgres.connect).getconn(), postgres.Connection[Row])

    async def looping() -> None:
        conn = await aio.connect("postgresql://", row_factory=rows.class_row(User))
        assert_type(conn, aio.AsyncConnection[User])
        assert_type(await aio_postgres.connect("postgresql://"), aio_postgres.AsyncConnection[Row])
        assert_type(await conn.fetchrow("select 1"), User | None)
        assert_type(conn.stream("select"), AsyncIterator[User])
        async for user in conn.stream("select"):
            assert_type(user, User)
        assert_type(conn.cursor("c"), aio_postgres.AsyncServerCursor[User])
        assert_type(await conn.cursor("c").execute("select"), aio_postgres.AsyncServerCursor[User])
        assert_type(conn.cursor(row_factory=rows.tuple_row), aio_postgres.AsyncCursor[Row])

    async def looping_pools() -> None:
        assert_type(AsyncConnectionPool("postgresql://"), AsyncConnectionPool[aio_postgres.AsyncConnection[Row]])
        pool = AsyncConnectionPool(row_factory=rows.class_row(User))
        assert_type(pool, AsyncConnectionPool[aio_postgres.AsyncConnection[User]])
        async with pool.connection() as conn:
            assert_type(conn, aio_postgres.AsyncConnection[User])
        assert_type(
            await AsyncConnectionPool("", connect=aio_postgres.connect).getconn(), aio_postgres.AsyncConnection[Row]
        )

    class Typed(postgres.Connection[User]):
        """A class of a program's own, for which type checkers have nothing to object to."""
