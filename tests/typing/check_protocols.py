"""Read by type checkers only: every database's connections, cursors and pools are those of the protocols."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace import ConnectionPool, cubrid, informix, mysql, postgres
from headrace.aio import cubrid as aio_cubrid
from headrace.aio import informix as aio_informix
from headrace.aio import mysql as aio_mysql
from headrace.aio import postgres as aio_postgres
from headrace.aio.pool import AsyncConnectionPool
from headrace.types import (
    AsyncConnectionProtocol,
    AsyncCursorProtocol,
    AsyncPoolProtocol,
    ConnectionProtocol,
    CursorProtocol,
    PoolProtocol,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import assert_type

    Row = tuple[Any, ...]

    def takes_any(conn: ConnectionProtocol[Row], pool: PoolProtocol[postgres.Connection[Row]]) -> CursorProtocol[Row]:
        assert_type(conn.fetchrow("select 1"), Row | None)
        assert_type(conn.cursor(), CursorProtocol[Row])
        with conn.transaction(), pool.connection() as lent:
            assert_type(lent, postgres.Connection[Row])
        return conn.execute("select 1")

    def blocking(
        pg: postgres.Connection[Row],
        my: mysql.Connection[Row],
        ifx: informix.Connection[Row],
        cub: cubrid.Connection[Row],
        pool: ConnectionPool[postgres.Connection[Row]],
    ) -> None:
        cursors: list[CursorProtocol[Row]] = [pg.cursor(), my.cursor(), ifx.cursor(), cub.cursor()]
        others: Sequence[CursorProtocol[Row]] = [
            pg.cursor("c"),
            my.cursor(stream=True),
            ifx.cursor("c"),
            cub.cursor(scrollable=True),
        ]
        cursors.extend(others)
        for conn in (pg, my, ifx, cub):
            cursors.append(takes_any(conn, pool))

    async def takes_any_looping(
        conn: AsyncConnectionProtocol[Row], pool: AsyncPoolProtocol[aio_postgres.AsyncConnection[Row]]
    ) -> AsyncCursorProtocol[Row]:
        assert_type(await conn.fetchrow("select 1"), Row | None)
        await conn.set_isolation_level("serializable")
        async with conn.transaction(), pool.connection() as lent:
            assert_type(lent, aio_postgres.AsyncConnection[Row])
        async for row in conn.stream("select"):
            assert_type(row, Row)
        return await conn.execute("select 1")

    async def looping(
        pg: aio_postgres.AsyncConnection[Row],
        my: aio_mysql.AsyncConnection[Row],
        ifx: aio_informix.AsyncConnection[Row],
        cub: aio_cubrid.AsyncConnection[Row],
        pool: AsyncConnectionPool[aio_postgres.AsyncConnection[Row]],
    ) -> None:
        cursors: list[AsyncCursorProtocol[Row]] = [pg.cursor(), my.cursor(), ifx.cursor(), cub.cursor()]
        others: Sequence[AsyncCursorProtocol[Row]] = [
            pg.cursor("c"),
            my.cursor(stream=True),
            ifx.cursor("c"),
            cub.cursor(scrollable=True),
        ]
        cursors.extend(others)
        for conn in (pg, my, ifx, cub):
            cursors.append(await takes_any_looping(conn, pool))
