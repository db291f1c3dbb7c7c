"""What an end says, once, and what it has no reason to say."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

import pytest

import headrace
import headrace.aio
from cutting import BEFORE
from headrace import errors
from headrace.types import Notice
from servers import MySQL, names
from waiting import asleep, auntil

from .runs import Place

SHORT = 0.05
"""Seconds for which a server lets a transaction be idle."""
only_postgres = pytest.mark.parametrize("place", ["postgresql"], indirect=True)

losing_idle_sessions = pytest.mark.parametrize("place", names(loses_idle_sessions=True), indirect=True)


async def cut(place: Place, conn: Any) -> None:
    """The session ends, and the connection has seen that where it can."""
    place.way.cut()
    if hasattr(conn, "set_autocommit"):  # asyncio only
        await auntil(lambda: conn.closed)


async def connected(place: Place, **keywords: Any) -> Any:
    """A connection by the way."""
    return await headrace.aio.connect(place.url, **keywords)  # blocking: return headrace.connect(place.url, **keywords)


async def test_an_end_that_was_told_by_commit_is_not_told_again(place: Place) -> None:
    async with await connected(place, autocommit=False) as conn:
        await conn.execute("insert into ends values (-1)")
        await cut(place, conn)
        with pytest.raises(errors.OperationalError):
            await conn.commit()
        assert not conn.lost


@losing_idle_sessions
async def test_a_session_that_ends_with_nothing_open_is_no_error_of_a_block(place: Place) -> None:
    async with await connected(place, autocommit=False) as conn:
        await conn.execute("insert into ends values (-2)")
        await conn.rollback()
        await cut(place, conn)
    async with headrace.aio.AsyncConnectionPool(place.url, min_size=1, max_size=1) as pool, pool.connection() as lent:
        await lent.execute("insert into ends values (-2)")
        await lent.rollback()
        await cut(place, lent)


async def test_a_connection_that_the_program_closes_is_no_error_of_a_block(place: Place) -> None:
    async with await connected(place, autocommit=False) as conn:
        await conn.execute("insert into ends values (-3)")
        await conn.close()
    async with headrace.aio.AsyncConnectionPool(place.url, min_size=1, max_size=1) as pool, pool.connection() as lent:
        await lent.execute("insert into ends values (-3)")
        await lent.close()


async def test_an_exception_in_a_block_is_not_replaced(place: Place) -> None:
    with pytest.raises(KeyError):
        async with await connected(place, autocommit=False) as conn:
            # Answered, so that a transaction is open: CUBRID's driver resumes a session that is cut before that.
            await conn.execute("insert into ends values (-4)")
            async with conn.pipeline():
                await conn.execute("insert into ends values (-4)")
                await cut(place, conn)
                raise KeyError
    with pytest.raises(KeyError):
        async with (
            headrace.aio.AsyncConnectionPool(place.url, min_size=1, max_size=1) as pool,
            pool.connection() as lent,
        ):
            await lent.execute("insert into ends values (-4)")
            await cut(place, lent)
            raise KeyError


async def test_a_pool_that_takes_a_connection_away_in_a_transaction_is_an_error_of_its_block(place: Place) -> None:
    async with headrace.aio.AsyncConnectionPool(place.url, min_size=1, max_size=1) as pool:
        with pytest.raises(errors.PoolClosed, match="not committed"):
            async with pool.connection() as conn:
                await conn.execute("insert into ends values (-5)")
                await pool.close(timeout=0)


async def test_a_pool_that_takes_an_idle_connection_away_is_none(place: Place) -> None:
    async with headrace.aio.AsyncConnectionPool(place.url, min_size=1, max_size=1) as pool, pool.connection() as conn:
        await conn.execute("insert into ends values (-6)")
        await conn.rollback()
        await pool.close(timeout=0)


@losing_idle_sessions
async def test_a_cursor_on_a_lost_session_says_how_it_was_lost(place: Place) -> None:
    conn = await connected(place, autocommit=True)
    await conn.execute("insert into ends values (-8)")
    await cut(place, conn)
    with pytest.raises(errors.OperationalError):
        await conn.execute("insert into ends values (-8)")
    with pytest.raises(errors.ConnectionClosed, match=r"lost|unexpectedly"):
        conn.cursor()
    await conn.close()


async def test_the_error_of_a_cursor_that_is_used_again_is_one_of_its_pipeline(place: Place) -> None:
    conn = await connected(place, autocommit=True)
    cursor = conn.cursor()
    with pytest.raises(errors.DatabaseError):
        async with conn.pipeline():
            await cursor.execute("insert into ends values (nonsense)")
            await cursor.execute("insert into ends values (-7)")
    assert cursor.rowcount == 1
    await conn.close()


async def test_a_cursor_whose_error_the_end_of_its_pipeline_has_raised_has_it_still(place: Place) -> None:
    conn = await connected(place, autocommit=True)
    with pytest.raises(errors.DatabaseError) as first:
        async with conn.pipeline():
            bad = await conn.execute("select nonsense from ends")
            good = await conn.execute("select id from ends where id = 0")
    for _ in range(2):
        with pytest.raises(type(first.value)):
            await bad.fetchall()
    assert await good.fetchall() == []
    await conn.close()


@only_postgres
async def test_the_reason_of_the_server_is_in_every_error(place: Place) -> None:
    """The first request has the server's own error; what comes later has its text."""
    conn = await connected(place, autocommit=False)
    await conn.execute("insert into ends values (-8)")
    place.kill()
    if hasattr(conn, "set_autocommit"):  # asyncio only
        await auntil(lambda: conn.closed)
    with pytest.raises(errors.AdminShutdown, match="terminating connection"):
        await conn.commit()
    for again in (conn.commit, conn.rollback):
        with pytest.raises(errors.ConnectionClosed, match="terminating connection") as caught:
            await again()
        assert caught.value.sqlstate == "57P01"
    await conn.close()


@only_postgres
async def test_the_reason_of_the_server_is_in_the_error_of_a_block_and_of_what_was_pending(place: Place) -> None:
    conn = await connected(place, autocommit=True)
    with pytest.raises(errors.ConnectionClosed, match="terminating connection") as caught:
        async with conn.transaction():
            await conn.execute("insert into ends values (-8)")
            place.kill()
            with pytest.raises(errors.AdminShutdown):
                await conn.execute("insert into ends values (-8)")
    assert caught.value.sqlstate == "57P01"
    conn = await connected(place, autocommit=True)
    with pytest.raises(errors.AdminShutdown):
        async with conn.pipeline():
            cursors = [await conn.execute("insert into ends values (-8)") for _ in range(2)]
            place.kill()
    with pytest.raises(errors.ConnectionClosed, match="terminating connection") as caught:
        await cursors[1].fetchall()
    assert caught.value.sqlstate == "57P01"


@losing_idle_sessions
async def test_a_block_whose_only_statement_was_not_executed_says_so(place: Place) -> None:
    """Be it that the session ended before the statement, or with it."""
    with pytest.raises(errors.OperationalError):
        async with await connected(place, autocommit=False) as conn:
            await cut(place, conn)
            with pytest.raises(errors.OperationalError):
                await conn.execute("insert into ends values (-11)")


async def test_in_autocommit_an_error_that_was_caught_is_not_told_again(place: Place) -> None:
    async with await connected(place, autocommit=True) as conn:
        await conn.execute("insert into ends values (-12)")
        place.way.arm(1, BEFORE)
        with pytest.raises(errors.OperationalError):
            await conn.execute("insert into ends values (-12)")


@only_postgres
async def test_a_transaction_that_was_idle_for_too_long_is_an_error_of_its_block(place: Place) -> None:
    limit = f"set idle_in_transaction_session_timeout = {int(SHORT * 1000)}"
    pool = headrace.aio.AsyncConnectionPool(place.url, min_size=1, max_size=1)
    async with pool:
        for block in (await connected(place), pool.connection()):
            with pytest.raises(errors.IdleInTransactionSessionTimeout):
                async with block as conn:
                    await conn.execute(limit)
                    await conn.execute("insert into ends values (-9)")
                    await asleep(4 * SHORT)
    assert not place.admin.fetch("select id from ends where id = -9")


@pytest.mark.parametrize(
    ("place", "variable"),
    [("mariadb", "idle_transaction_timeout"), ("mysql", "wait_timeout")],
    indirect=["place"],
)
async def test_a_session_that_was_idle_for_too_long_is_an_error_of_every_end(place: Place, variable: str) -> None:
    """For a second, the shortest time that there is."""
    options = {"init_command": f"set session {variable} = 1"}
    # Of a file before this one a session may be left.
    before = set(place.admin.fetch(MySQL.others))
    async with headrace.aio.AsyncConnectionPool(place.url, min_size=1, max_size=1, kwargs=options) as pool:
        kept = await connected(place, autocommit=False, **options)
        block = (await connected(place, autocommit=True, **options)).transaction()
        blocks = (await connected(place, autocommit=False, **options), pool.connection(), block)
        opened = [await each.__aenter__() for each in blocks]
        for conn in (kept, *opened):
            await conn.execute("insert into ends values (-14)")
        await auntil(lambda: set(place.admin.fetch(MySQL.others)) <= before)
        for end in (kept.commit, *(partial(each.__aexit__, None, None, None) for each in blocks)):
            with pytest.raises(errors.OperationalError):
                await end()
        for conn in (kept, *opened):
            await conn.close()
    assert not place.admin.fetch("select id from ends where id = -14")


@only_postgres
async def test_a_session_that_ends_after_the_last_reply_of_a_pipeline_is_an_error_of_its_block(place: Place) -> None:
    """The server sends replies that it has kept for the end of the pipeline with its last message."""
    sql = "insert into ends values (-13)"
    locked = "select pid from pg_locks where relation = 'ends'::regclass and mode = 'RowExclusiveLock'"
    async with headrace.aio.AsyncConnectionPool(place.url, min_size=1, max_size=1) as pool:
        for block in (await connected(place), pool.connection()):
            with pytest.raises(errors.OperationalError):
                async with block as conn:
                    await conn.execute(sql)
                    await conn.rollback()
                    async with conn.pipeline():
                        for _ in range(8):  # a blocking connection sends after the last one
                            await conn.execute(sql)
                        await auntil(lambda: place.admin.fetch(locked))
                        place.kill()
                        if hasattr(conn, "set_autocommit"):  # asyncio only
                            await auntil(lambda: conn.closed)
    assert not place.admin.fetch("select id from ends where id = -13")


@only_postgres
async def test_a_notice_handler_that_raises_does_not_undo_what_was_executed(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str] = []

    def bad(notice: Notice) -> None:
        raise ValueError(notice.message)

    conn = await connected(place, autocommit=True)
    conn.add_notice_handler(bad)
    conn.add_notice_handler(lambda notice: seen.append(notice.message))
    statement = "do $$ begin raise notice 'mind'; insert into ends values (-10); end $$"
    with caplog.at_level(logging.ERROR, "headrace"):
        await conn.execute(statement)
        async with conn.transaction(), conn.pipeline():
            await conn.execute(statement)
    await conn.close()
    assert seen == ["mind", "mind"]
    assert len(place.admin.fetch("select id from ends where id = -10")) == 2
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [ValueError, ValueError]
