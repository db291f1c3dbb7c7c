"""Read by type checkers only: what mypy and pyright make of CUBRID's connections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace import ConnectionPool, cubrid, rows
from headrace.aio import cubrid as aio_cubrid
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
        conn = cubrid.connect("cubrid://")
        assert_type(conn, cubrid.Connection[Row])
        assert_type(cubrid.connect(row_factory=rows.class_row(User)), cubrid.Connection[User])
        assert_type(conn.execute("select"), cubrid.Cursor[Row])
        assert_type(conn.cursor(), cubrid.Cursor[Row])
        assert_type(conn.cursor().connection, cubrid.Connection[Any])
        users = conn.cursor(row_factory=rows.class_row(User)).execute("select")
        assert_type(users, cubrid.Cursor[User])
        assert_type(users.fetchone(), User | None)
        assert_type(users.fetchmany(), list[User])
        for user in users:
            assert_type(user, User)
        assert_type(conn.fetchrow("select"), Row | None)
        assert_type(conn.stream("select"), Iterator[Row])
        for block in conn.stream_blocks("select"):
            assert_type(block, list[Row])
        with conn.transaction() as same:
            assert_type(same, cubrid.Connection[Row])

    def other_cursors(conn: cubrid.Connection[Row]) -> None:
        assert_type(conn.cursor(stream=True), cubrid.StreamCursor[Row])
        assert_type(conn.cursor(stream=True).execute("select"), cubrid.StreamCursor[Row])
        assert_type(conn.cursor(stream=True, row_factory=rows.class_row(User)), cubrid.StreamCursor[User])
        assert_type(conn.cursor(scrollable=True), cubrid.ServerCursor[Row])
        assert_type(conn.cursor(scrollable=True).execute("select"), cubrid.ServerCursor[Row])
        assert_type(conn.cursor(scrollable=True, row_factory=rows.class_row(User)), cubrid.ServerCursor[User])
        assert_type(conn.cursor(withhold=True), cubrid.ServerCursor[Row])
        assert_type(conn.cursor(withhold=True).execute("select"), cubrid.ServerCursor[Row])
        assert_type(conn.cursor(withhold=True, row_factory=rows.class_row(User)), cubrid.ServerCursor[User])

    def pools() -> None:
        pool = ConnectionPool("cubrid://", connect=cubrid.connect)
        assert_type(pool, ConnectionPool[cubrid.Connection[Row]])
        with pool.connection() as conn:
            assert_type(conn, cubrid.Connection[Row])
        dicts = ConnectionPool("cubrid://", connect=cubrid.connect, row_factory=rows.dict_row)
        assert_type(dicts, ConnectionPool[cubrid.Connection[Dict]])
        users = ConnectionPool("cubrid://", connect=cubrid.connect, row_factory=rows.class_row(User))
        assert_type(users.getconn(), cubrid.Connection[User])

    async def looping() -> None:
        conn = await aio_cubrid.connect("cubrid://", row_factory=rows.class_row(User))
        assert_type(conn, aio_cubrid.AsyncConnection[User])
        assert_type(await aio_cubrid.connect("cubrid://"), aio_cubrid.AsyncConnection[Row])
        assert_type(await conn.execute("select"), aio_cubrid.AsyncCursor[User])
        assert_type(conn.cursor(), aio_cubrid.AsyncCursor[User])
        assert_type(conn.cursor(row_factory=rows.tuple_row), aio_cubrid.AsyncCursor[Row])
        assert_type(await conn.cursor().execute("select"), aio_cubrid.AsyncCursor[User])
        assert_type(await conn.fetch("select"), list[User])
        assert_type(conn.stream("select"), AsyncIterator[User])
        async with conn.transaction() as same:
            assert_type(same, aio_cubrid.AsyncConnection[User])

    async def other_looping_cursors(conn: aio_cubrid.AsyncConnection[Row]) -> None:
        assert_type(conn.cursor(stream=True), aio_cubrid.AsyncStreamCursor[Row])
        assert_type(await conn.cursor(stream=True).execute("select"), aio_cubrid.AsyncStreamCursor[Row])
        assert_type(conn.cursor(stream=True, row_factory=rows.class_row(User)), aio_cubrid.AsyncStreamCursor[User])
        assert_type(conn.cursor(scrollable=True), aio_cubrid.AsyncServerCursor[Row])
        assert_type(await conn.cursor(scrollable=True).execute("select"), aio_cubrid.AsyncServerCursor[Row])
        assert_type(conn.cursor(scrollable=True, row_factory=rows.class_row(User)), aio_cubrid.AsyncServerCursor[User])
        assert_type(conn.cursor(withhold=True), aio_cubrid.AsyncServerCursor[Row])
        assert_type(await conn.cursor(withhold=True).execute("select"), aio_cubrid.AsyncServerCursor[Row])
        assert_type(conn.cursor(withhold=True, row_factory=rows.class_row(User)), aio_cubrid.AsyncServerCursor[User])

    async def looping_pools() -> None:
        pool = AsyncConnectionPool("cubrid://", connect=aio_cubrid.connect)
        assert_type(pool, AsyncConnectionPool[aio_cubrid.AsyncConnection[Row]])
        async with pool.connection() as conn:
            assert_type(conn, aio_cubrid.AsyncConnection[Row])
        users = AsyncConnectionPool("cubrid://", connect=aio_cubrid.connect, row_factory=rows.class_row(User))
        assert_type(await users.getconn(), aio_cubrid.AsyncConnection[User])
