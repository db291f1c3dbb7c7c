"""Read by type checkers only: what mypy and pyright make of Informix's connections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace import ConnectionPool, informix, rows
from headrace.aio import informix as aio_informix
from headrace.aio.pool import AsyncConnectionPool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from typing_extensions import assert_type

    @dataclass
    class User:
        id: int
        name: str

    Row = tuple[Any, ...]
    Dict = dict[str, Any]

    def blocking() -> None:
        conn = informix.connect("informix://")
        assert_type(conn, informix.Connection[Row])
        assert_type(informix.connect(row_factory=rows.class_row(User)), informix.Connection[User])
        assert_type(conn.execute("select"), informix.Cursor[Row])
        assert_type(conn.cursor(), informix.Cursor[Row])
        assert_type(conn.cursor().connection, informix.Connection[Any])
        users = conn.cursor(row_factory=rows.class_row(User)).execute("select")
        assert_type(users, informix.Cursor[User])
        assert_type(users.fetchone(), User | None)
        assert_type(users.fetchmany(), list[User])
        for user in users:
            assert_type(user, User)
        assert_type(conn.fetchrow("select"), Row | None)
        assert_type(conn.stream("select"), Iterator[Row])
        for block in conn.stream_blocks("select"):
            assert_type(block, list[Row])
        with conn.transaction() as same:
            assert_type(same, informix.Connection[Row])

    def other_cursors(conn: informix.Connection[Row]) -> None:
        assert_type(conn.cursor("c", scrollable=True), informix.ServerCursor[Row])
        assert_type(conn.cursor("c", scrollable=True).execute("select"), informix.ServerCursor[Row])
        assert_type(conn.cursor("c", scrollable=True, row_factory=rows.class_row(User)), informix.ServerCursor[User])
        assert_type(conn.cursor("c"), informix.ServerCursor[Row])
        assert_type(conn.cursor("c").execute("select"), informix.ServerCursor[Row])
        assert_type(conn.cursor("c", row_factory=rows.class_row(User)), informix.ServerCursor[User])

    def pools() -> None:
        pool = ConnectionPool("informix://", connect=informix.connect)
        assert_type(pool, ConnectionPool[informix.Connection[Row]])
        with pool.connection() as conn:
            assert_type(conn, informix.Connection[Row])
        dicts = ConnectionPool("informix://", connect=informix.connect, row_factory=rows.dict_row)
        assert_type(dicts, ConnectionPool[informix.Connection[Dict]])
        users = ConnectionPool("informix://", connect=informix.connect, row_factory=rows.class_row(User))
        assert_type(users.getconn(), informix.Connection[User])

    async def looping() -> None:
        conn = await aio_informix.connect("informix://", row_factory=rows.class_row(User))
        assert_type(conn, aio_informix.AsyncConnection[User])
        assert_type(await aio_informix.connect("informix://"), aio_informix.AsyncConnection[Row])
        assert_type(await conn.execute("select"), aio_informix.AsyncCursor[User])
        assert_type(conn.cursor(), aio_informix.AsyncCursor[User])
        assert_type(conn.cursor(row_factory=rows.tuple_row), aio_informix.AsyncCursor[Row])
        assert_type(await conn.cursor().execute("select"), aio_informix.AsyncCursor[User])
        assert_type(await conn.fetch("select"), list[User])
        assert_type(conn.stream("select"), AsyncIterator[User])
        async with conn.transaction() as same:
            assert_type(same, aio_informix.AsyncConnection[User])

    async def other_looping_cursors(conn: aio_informix.AsyncConnection[Row]) -> None:
        assert_type(conn.cursor("c", scrollable=True), aio_informix.AsyncServerCursor[Row])
        assert_type(await conn.cursor("c", scrollable=True).execute("select"), aio_informix.AsyncServerCursor[Row])
        assert_type(
            conn.cursor("c", scrollable=True, row_factory=rows.class_row(User)), aio_informix.AsyncServerCursor[User]
        )
        assert_type(conn.cursor("c"), aio_informix.AsyncServerCursor[Row])
        assert_type(await conn.cursor("c").execute("select"), aio_informix.AsyncServerCursor[Row])
        assert_type(conn.cursor("c", row_factory=rows.class_row(User)), aio_informix.AsyncServerCursor[User])

    async def looping_pools() -> None:
        pool = AsyncConnectionPool("informix://", connect=aio_informix.connect)
        assert_type(pool, AsyncConnectionPool[aio_informix.AsyncConnection[Row]])
        async with pool.connection() as conn:
            assert_type(conn, aio_informix.AsyncConnection[Row])
        users = AsyncConnectionPool("informix://", connect=aio_informix.connect, row_factory=rows.class_row(User))
        assert_type(await users.getconn(), aio_informix.AsyncConnection[User])
