"""Streams and cursors of PostgreSQL end with the transaction that they read in. Reading further is an error, and
nothing is sent, as the server's error would end the transaction that is open by then, possibly that of another user."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from headrace import errors

from .shells import Shell

LIMIT = 60.0
MANY = "select generate_series(1, 1000)"


@pytest.fixture
def runs(shell: Shell, url: str) -> Callable[..., None]:
    """Runs a test on a connection of its own, with an empty table ``kept``."""

    def run(test: Callable[[Any], Coroutine[Any, Any, None]], **keywords: Any) -> None:
        async def connected() -> None:
            conn = await shell.connect(url, **keywords)
            try:
                await conn.executescript("drop table if exists kept; create table kept (n int primary key)")
                await conn.commit()
                await test(conn)
                # What came later stays.
                assert await conn.fetchval("select array_agg(n order by n) from kept") == [1, 2]
            finally:
                await shell.drop(conn)

        shell.run(connected(), LIMIT)

    return run


async def begun(conn: Any, shell: Shell) -> Any:
    """A stream of which a row was read."""
    stream = conn.stream(MANY, fetch_size=10)
    rows = stream if shell.tasks else stream.__aiter__()
    assert await rows.__anext__() == (1,)
    return rows


async def all_of(rows: Any, shell: Shell) -> list[Any]:
    """What is left of a stream."""
    return [row async for row in rows] if shell.tasks else list(rows.iterator)


def test_a_stream_ends_with_a_rollback_to_an_earlier_savepoint(shell: Shell, runs: Any) -> None:
    async def test(conn: Any) -> None:
        async with conn.transaction():
            outer = await begun(conn, shell)
            async with conn.transaction(force_rollback=True):
                inner = await begun(conn, shell)
            with pytest.raises(errors.InvalidCursorName, match="stream cannot be read on"):
                await all_of(inner, shell)
            await conn.execute("insert into kept values (1), (2)")
            assert len(await all_of(outer, shell)) == 999

    runs(test, autocommit=True)


def test_a_stream_outlives_the_savepoint_that_it_began_in(shell: Shell, runs: Any) -> None:
    async def test(conn: Any) -> None:
        async with conn.transaction():
            async with conn.transaction():
                inner = await begun(conn, shell)
            assert len(await all_of(inner, shell)) == 999
            await conn.execute("insert into kept values (1), (2)")

    runs(test, autocommit=True)


def test_a_cursor_that_ended_with_its_transaction_costs_no_later_one(shell: Shell, runs: Any) -> None:
    async def test(conn: Any) -> None:
        cursor = conn.cursor("c")
        await cursor.execute(MANY)
        assert await cursor.fetchmany(3) == [(1,), (2,), (3,)]
        await conn.commit()
        await conn.execute("insert into kept values (1)")
        for use in (cursor.fetchall, cursor.fetchone, lambda: cursor.scroll(1)):
            with pytest.raises(errors.InvalidCursorName, match="'c' is not open any more"):
                await use()
        await cursor.close()
        await conn.execute("insert into kept values (2)")
        await conn.commit()

    runs(test)


def test_a_cursor_is_not_taken_for_a_later_one_of_its_name(shell: Shell, runs: Any) -> None:
    async def test(conn: Any) -> None:
        first, second = conn.cursor("c"), conn.cursor("c")
        await first.execute(MANY)
        await conn.commit()
        await second.execute("select 'second'")
        with pytest.raises(errors.InvalidCursorName):
            await first.fetchall()
        await first.close()
        assert await second.fetchall() == [("second",)]
        await conn.execute("insert into kept values (1), (2)")
        await conn.commit()

    runs(test)


@pytest.mark.parametrize("ended", ["commit", "rollback", "failed commit", "savepoint", "reset"])
def test_a_cursor_with_hold_outlives_a_commit_only(shell: Shell, runs: Any, ended: str) -> None:
    async def test(conn: Any) -> None:
        cursor = conn.cursor("c", withhold=True)
        await conn.execute('savepoint "A b"')
        await cursor.execute(MANY)
        if ended == "failed commit":
            with pytest.raises(errors.UndefinedTable):
                await conn.execute("select * from nowhere")
        sql = {"failed commit": "commit", "savepoint": 'rollback to "A b"'}.get(ended, ended)
        await (conn.reset("discard") if ended == "reset" else conn.execute(sql))
        await conn.execute("insert into kept values (1)")
        if ended == "commit":
            assert len(await cursor.fetchall()) == 1000
        else:
            with pytest.raises(errors.InvalidCursorName, match="execute it again"):
                await cursor.fetchall()
        await cursor.close()
        await conn.execute("insert into kept values (2)")
        await conn.commit()

    runs(test)


def test_a_pipeline_that_outlives_a_block_keeps_what_is_beside_an_error(shell: Shell, runs: Any) -> None:
    async def test(conn: Any) -> None:
        pipeline = conn.pipeline()
        async with conn.transaction():
            await conn.execute("insert into kept values (1)")
            await pipeline.__aenter__()
        await conn.execute("insert into kept values (2)")
        await conn.execute("insert into kept values (1)")
        with pytest.raises(errors.UniqueViolation):
            await pipeline.__aexit__(None, None, None)

    runs(test, autocommit=True)


def test_streams_beside_blocks_harm_none(shell: Shell, runs: Any) -> None:
    """What decides is looked at where the stream is queued: the block may end before, and the next begin."""

    async def blocks(conn: Any) -> None:
        for n in range(400):
            async with conn.transaction(force_rollback=True):
                await conn.execute("insert into kept values (%s)", (n + 10,))
                async with conn.transaction(force_rollback=True):
                    assert await conn.fetchval("select 7") == 7

    async def streams(conn: Any) -> None:
        for _ in range(150):
            try:
                assert [row async for row in conn.stream(MANY, fetch_size=300)] == [(n + 1,) for n in range(1000)]
            except errors.InvalidCursorName as error:
                if not str(error).startswith("the stream cannot be read on"):
                    raise

    async def test(conn: Any) -> None:
        await shell.together([blocks(conn), streams(conn), streams(conn)], LIMIT)
        await conn.execute("insert into kept values (1), (2)")

    runs(test, autocommit=True)
