"""Read by type checkers only: what mypy and pyright make of MySQL's and MariaDB's connections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace import ConnectionPool, mysql, rows
from headrace.aio import mysql as aio_mysql
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
        conn = mysql.connect("mysql://")
        assert_type(conn, mysql.Connection[Row])
        assert_type(mysql.connect(row_factory=rows.class_row(User)), mysql.Connection[User])
        assert_type(conn.execute("select"), mysql.Cursor[Row])
        assert_type(conn.cursor(), mysql.Cursor[Row])
        assert_type(conn.cursor().connection, mysql.Connection[Any])
        users = conn.cursor(row_factory=rows.class_row(User)).execute("select")
        assert_type(users, mysql.Cursor[User])
        assert_type(users.fetchone(), User | None)
        assert_type(users.fetchmany(), list[User])
        for user in users:
            assert_type(user, User)
        assert_type(conn.fetchrow("select"), Row | None)
        assert_type(conn.stream("select"), Iterator[Row])
        for block in conn.stream_blocks("select"):
            assert_type(block, list[Row])
        with conn.transaction() as same:
            assert_type(same, mysql.Connection[Row])

    def other_cursors(conn: mysql.Connection[Row]) -> None:
        assert_type(conn.cursor(stream=True), mysql.StreamCursor[Row])
        assert_type(conn.cursor(stream=True).execute("select"), mysql.StreamCursor[Row])
        assert_type(conn.cursor(stream=True, row_factory=rows.class_row(User)), mysql.StreamCursor[User])
        assert_type(conn.cursor(on_server=True), mysql.StreamCursor[Row])
        assert_type(conn.cursor(on_server=True).execute("select"), mysql.StreamCursor[Row])
        assert_type(conn.cursor(on_server=True, row_factory=rows.class_row(User)), mysql.StreamCursor[User])

    def pools() -> None:
        pool = ConnectionPool("mysql://", connect=mysql.connect)
        assert_type(pool, ConnectionPool[mysql.Connection[Row]])
        with pool.connection() as conn:
            assert_type(conn, mysql.Connection[Row])
        dicts = ConnectionPool("mysql://", connect=mysql.connect, row_factory=rows.dict_row)
        assert_type(dicts, ConnectionPool[mysql.Connection[Dict]])
        users = ConnectionPool("mysql://", connect=mysql.connect, row_factory=rows.class_row(User))
        assert_type(users.getconn(), mysql.Connection[User])
        assert_type(users.fetch("select"), list[User])
        assert_type(pool.fetchrow("select"), Row | None)
        assert_type(users.execute("select").fetchall(), list[User])

    async def looping() -> None:
        conn = await aio_mysql.connect("mysql://", row_factory=rows.class_row(User))
        assert_type(conn, aio_mysql.AsyncConnection[User])
        assert_type(await aio_mysql.connect("mysql://"), aio_mysql.AsyncConnection[Row])
        assert_type(await conn.execute("select"), aio_mysql.AsyncCursor[User])
        assert_type(conn.cursor(), aio_mysql.AsyncCursor[User])
        assert_type(conn.cursor(row_factory=rows.tuple_row), aio_mysql.AsyncCursor[Row])
        assert_type(await conn.cursor().execute("select"), aio_mysql.AsyncCursor[User])
        assert_type(await conn.fetch("select"), list[User])
        assert_type(conn.stream("select"), AsyncIterator[User])
        async with conn.transaction() as same:
            assert_type(same, aio_mysql.AsyncConnection[User])

    async def other_looping_cursors(conn: aio_mysql.AsyncConnection[Row]) -> None:
        assert_type(conn.cursor(stream=True), aio_mysql.AsyncStreamCursor[Row])
        assert_type(await conn.cursor(stream=True).execute("select"), aio_mysql.AsyncStreamCursor[Row])
        assert_type(conn.cursor(stream=True, row_factory=rows.class_row(User)), aio_mysql.AsyncStreamCursor[User])
        assert_type(conn.cursor(on_server=True), aio_mysql.AsyncStreamCursor[Row])
        assert_type(await conn.cursor(on_server=True).execute("select"), aio_mysql.AsyncStreamCursor[Row])
        assert_type(conn.cursor(on_server=True, row_factory=rows.class_row(User)), aio_mysql.AsyncStreamCursor[User])

    async def looping_pools() -> None:
        pool = AsyncConnectionPool("mysql://", connect=aio_mysql.connect)
        assert_type(pool, AsyncConnectionPool[aio_mysql.AsyncConnection[Row]])
        async with pool.connection() as conn:
            assert_type(conn, aio_mysql.AsyncConnection[Row])
        users = AsyncConnectionPool("mysql://", connect=aio_mysql.connect, row_factory=rows.class_row(User))
        assert_type(await users.getconn(), aio_mysql.AsyncConnection[User])
        assert_type(await users.fetch("select"), list[User])
        assert_type(await pool.fetchrow("select"), Row | None)
        assert_type(await (await users.execute("select")).fetchall(), list[User])
