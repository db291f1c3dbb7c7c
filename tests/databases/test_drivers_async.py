"""What every driver promises, on MariaDB, MySQL, and the servers of Informix and CUBRID."""

from __future__ import annotations

import itertools
import re
import socket
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

import headrace.aio
from headrace import errors
from headrace.rows import dict_row, namedtuple_row
from headrace.types import TransactionStatus
from servers import Database, PostgreSQL, names
from waiting import agather

SOON = 5.0
"""Seconds within which a cancelled statement has ended; it would run for far longer."""


async def rows_of(aconn: Any) -> list[tuple[Any, ...]]:
    return await aconn.fetch("select id, name from t order by id")  # type: ignore[no-any-return]


async def test_parameters_in_every_style(db: Database, aconn: Any) -> None:
    await aconn.execute("insert into t values (?, ?)", (1, "Ünï"))
    styles: list[tuple[str, Any]] = [("id = ? and name = ?", (1, "Ünï"))]
    if not db.colon_parameters:
        styles += [("id = %s and name = %s", (1, "Ünï")), ("id = %(i)s and name = %(n)s", {"n": "Ünï", "i": 1})]
        styles += [("id = %(i)s and id = %(i)s and 10 %% 3 = 1", {"i": 1})]
    else:
        styles += [("name = :2 and id = :1", (1, "Ünï")), ("id = :1 and id = :1", (1,))]
    for where, params in styles:
        assert await (await aconn.execute(f"select id, name from t where {where}", params)).fetchall() == [(1, "Ünï")]


async def test_state_after_a_statement(db: Database, aconn: Any) -> None:
    assert (await aconn.execute("insert into t values (1, 'a')")).rowcount == 1
    assert (await aconn.execute("update t set name = 'b'")).rowcount == 1
    cursor = await aconn.execute("select id, name from t")
    assert [column[0] for column in cursor.description] == ["id", "name"]
    assert cursor.description[0][1] == db.module.NUMBER
    assert cursor.description[1][1] == db.module.STRING
    assert cursor.rowcount == 1
    assert await cursor.fetchone() == (1, "b")
    assert await cursor.fetchone() is None
    assert (await aconn.execute("delete from t")).description is None


async def test_the_value_that_the_server_made(db: Database, aconn: Any) -> None:
    await aconn.execute("drop table if exists s")
    await aconn.execute(f"create table s (id {db.differences.serial} primary key, name varchar(10))")
    inserts = [("insert into s (name) values ('a')", ()), ("insert into s (name) values (?)", ("b",))]
    for value, (statement, parameters) in enumerate(inserts, 1):
        cursor = await aconn.execute(statement, parameters)
        if not db.supports_lastrowid:  # asyncio only
            # It has to be requested, for which an attribute cannot wait.
            assert await aconn.last_insert_id() == value
            continue
        assert cursor.lastrowid == value
    assert (await aconn.execute("select * from s")).lastrowid is None


async def test_row_factories(aconn: Any) -> None:
    await aconn.execute("insert into t values (1, 'a')")
    assert await (await aconn.cursor(row_factory=dict_row).execute("select id, name from t")).fetchone() == {
        "id": 1,
        "name": "a",
    }
    assert (
        await (await aconn.cursor(row_factory=namedtuple_row).execute("select id, name from t")).fetchone()
    ).name == "a"


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize(("rows", "bad"), [(100, 0), (1000, 500), (100, 99)])
async def test_a_batch_is_whole_or_not_at_all_and_the_error_names_the_row(
    aconn: Any, rows: int, bad: int, inside: bool
) -> None:
    await aconn.execute("insert into t values (-1, 'before')")
    batch = [(n, f"row {n}") for n in range(rows)]
    batch[bad] = (-1, "duplicate")
    await aconn.set_autocommit(not inside)
    if inside:
        await aconn.execute("insert into t values (-2, 'mine')")
    with pytest.raises(errors.UniqueViolation) as caught:
        await aconn.executemany("insert into t values (?, ?)", batch)
    assert caught.value.row == bad
    kept = [(-2, "mine"), (-1, "before")] if inside else [(-1, "before")]
    assert await rows_of(aconn) == kept
    batch[bad] = (-3, "good")
    assert (await aconn.executemany("insert into t values (?, ?)", batch)).rowcount == rows
    assert await aconn.fetchval("select count(*) from t") == rows + len(kept)
    if inside:
        await aconn.rollback()


async def test_a_batch_from_an_iterator_that_fails(aconn: Any) -> None:
    def rows() -> Iterator[tuple[int, str]]:
        for n in range(500):
            yield n, "x"
        raise KeyError("no more")

    with pytest.raises(KeyError):
        await aconn.executemany("insert into t values (?, ?)", rows())
    assert await rows_of(aconn) == []
    with pytest.raises(errors.Error) as caught:
        await aconn.executemany("insert into t values (?, ?)", [(1, "a"), (2,)])
    assert caught.value.row == 1
    assert await rows_of(aconn) == []


@pytest.mark.parametrize("count", [0, 1, 10_000])
async def test_batches_of_any_size(aconn: Any, count: int) -> None:
    assert (
        await aconn.executemany("insert into t values (?, ?)", ((n, "x" * (n % 40)) for n in range(count)))
    ).rowcount == count
    assert await aconn.fetchval("select count(*) from t") == count
    changed = await aconn.executemany(
        "update t set name = ? where id = ?", [("new", n) for n in range(min(count, 100))]
    )
    assert changed.rowcount == min(count, 100)


async def test_large_results(aconn: Any) -> None:
    rows = [(n, f"name {n} " + "é" * (n % 20)) for n in range(20_000)]
    await aconn.executemany("insert into t values (?, ?)", rows)
    assert await rows_of(aconn) == rows
    assert await aconn.fetchval("select name from t where id = ?", 19_999) == rows[-1][1]


async def test_transactions(db: Database, aconn: Any) -> None:
    await aconn.set_autocommit(False)
    await aconn.execute("insert into t values (1, 'a')")
    assert aconn.transaction_status is TransactionStatus.INTRANS
    with pytest.raises(errors.ProgrammingError):
        await aconn.set_autocommit(True)
    await aconn.rollback()
    assert aconn.transaction_status is TransactionStatus.IDLE
    await aconn.execute("insert into t values (1, 'a')")
    await aconn.commit()
    async with await db.aconnect() as other:
        assert await rows_of(other) == [(1, "a")]
    with pytest.raises(KeyError):
        async with await db.aconnect() as other:
            await other.execute("insert into t values (2, 'b')")
            raise KeyError
    async with await db.aconnect() as other:
        await other.execute("insert into t values (3, 'c')")
    assert await rows_of(aconn) == [(1, "a"), (3, "c")]
    await aconn.rollback()


async def test_blocks_of_transactions(aconn: Any) -> None:
    async with aconn.transaction():
        await aconn.execute("insert into t values (1, 'kept')")
        async with aconn.transaction(force_rollback=True):
            await aconn.execute("delete from t")
        with pytest.raises(errors.UniqueViolation):
            async with aconn.transaction():
                await aconn.execute("insert into t values (2, 'gone')")
                await aconn.execute("insert into t values (1, 'twice')")
        async with aconn.transaction("named"):
            await aconn.execute("insert into t values (3, 'kept')")
        async with aconn.transaction():
            await aconn.execute("delete from t")
            raise headrace.Rollback
        with pytest.raises(errors.ProgrammingError):
            await aconn.commit()
    assert await rows_of(aconn) == [(1, "kept"), (3, "kept")]
    async with aconn.transaction():
        await aconn.execute("delete from t")
        raise headrace.Rollback
    assert await rows_of(aconn) == [(1, "kept"), (3, "kept")]


async def test_pipelines(aconn: Any) -> None:
    async with aconn.pipeline() as pipeline:
        first = await aconn.execute("insert into t values (1, 'a')")
        second = await aconn.execute("select name from t where id = ?", (1,))
        wrong = await aconn.execute("insert into t values (1, 'again')")
        third = await aconn.execute("select count(*) from t")
        assert await second.fetchall() == [("a",)]
        with pytest.raises(errors.UniqueViolation):
            await wrong.fetchall()
        await pipeline.sync()
        assert await third.fetchone() == (1,)
    assert first.rowcount == 1
    with pytest.raises(errors.UniqueViolation):
        async with aconn.pipeline():
            await aconn.execute("insert into t values (1, 'again')")
            await aconn.execute("insert into t values (2, 'b')")
    assert await rows_of(aconn) == [(1, "a"), (2, "b")]


async def test_an_overdue_statement_is_cancelled(db: Database, aconn: Any) -> None:
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        await aconn.execute(db.slow, timeout=0.2)
    assert time.monotonic() - started < SOON
    assert await aconn.fetchval("select count(*) from numbers") == 1000


async def test_more_statements_than_the_cache_holds(db: Database) -> None:
    async with await db.aconnect(autocommit=True, statement_cache_size=4) as conn:
        for n in itertools.chain(range(20), range(20)):
            assert await conn.fetchval(f"select n + {n} from numbers where n = ?", 1) == n + 1


@pytest.mark.parametrize("db", names(but=(PostgreSQL,), notices_altered_tables=True), indirect=True)
async def test_a_statement_follows_a_changed_table(db: Database, aconn: Any) -> None:
    await aconn.execute("insert into t values (1, 'a')")
    assert await aconn.fetch("select * from t where id = ?", 1) == [(1, "a")]
    await aconn.execute("alter table t add extra int")
    assert await aconn.fetch("select * from t where id = ?", 1) == [(1, "a", None)]


async def test_errors_have_the_servers_numbers(db: Database, aconn: Any) -> None:
    for statement, kind in [
        ("select * from no_such_table", errors.UndefinedTable),
        ("select nope from t", errors.UndefinedColumn),
        ("selekt 1", errors.SyntaxError),
    ]:
        with pytest.raises(kind) as caught:
            await aconn.execute(statement)
        assert caught.value.sqlcode == db.codes[kind]
        assert caught.value.statement == statement
    with pytest.raises(errors.ProgrammingError):
        await aconn.execute("select * from t where id = ?", (1, 2))
    with pytest.raises(errors.ProgrammingError, match="NUL"):
        await aconn.execute("select '\0'")
    assert await rows_of(aconn) == []


async def test_refusals(db: Database) -> None:
    with pytest.raises(errors.InvalidPassword):
        await headrace.aio.connect(db.refused_url)
    with socket.socket() as taken, pytest.raises(errors.OperationalError):
        # Held, so that no other program listens there in the meantime.
        taken.bind(("127.0.0.1", 0))
        await headrace.aio.connect(re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{taken.getsockname()[1]}", db.url))
    with pytest.raises(errors.ProgrammingError, match="did you mean"):
        await db.aconnect(statement_cache_sise=3)


async def test_a_closed_connection_says_so(db: Database) -> None:
    conn = await db.aconnect()
    await conn.close()
    await conn.close()
    assert conn.closed
    for use in (lambda: conn.execute("select 1"), conn.commit):
        with pytest.raises(errors.Error, match="closed"):
            await use()
    with pytest.raises(errors.Error, match="closed"):
        conn.cursor()


async def test_timings(db: Database) -> None:
    async with await db.aconnect(autocommit=True, enable_timing=True) as conn:
        await (await conn.execute("select n from numbers where n = 1")).fetchall()
        timings = conn.timings()
        assert timings["connect"]["count"] == 1
        assert timings["execute"]["count"] == 1
        assert timings["fetch"]["ns"] > 0
        conn.reset_timings()
        assert conn.timings()["execute"]["count"] == 0


async def test_timings_count_commits_and_not_what_commits_nothing(db: Database) -> None:
    async with await db.aconnect(autocommit=True, enable_timing=True) as conn:
        async with conn.transaction(), conn.transaction():
            await conn.execute("select n from numbers where n = 1")
        async with conn.transaction(force_rollback=True):
            await conn.execute("select n from numbers where n = 1")
        assert conn.timings()["commit"]["count"] == 1
        assert conn.timings()["commit"]["ns"] > 0
        await conn.set_autocommit(False)
        await conn.execute("select n from numbers where n = 1")
        await conn.commit()
        assert conn.timings()["commit"]["count"] == 2


async def test_timings_count_what_fails_and_each_fetch(db: Database) -> None:
    async with await db.aconnect(autocommit=True, enable_timing=True) as conn:
        cursor = await conn.execute("select n from numbers where n < 5")
        conn.reset_timings()
        await cursor.fetchone()
        await cursor.fetchmany(2)
        await cursor.fetchall()
        with pytest.raises(errors.UndefinedColumn):
            await conn.execute("select nope from numbers")
        assert {name: conn.timings()[name]["count"] for name in ("execute", "fetch")} == {"execute": 1, "fetch": 3}


async def test_a_pool(db: Database) -> None:
    async with headrace.aio.AsyncConnectionPool(db.url, min_size=1, max_size=2) as pool:
        async with pool.connection() as conn:
            await conn.execute("drop table if exists p")
            await conn.execute("create table p (n int)")
        with pytest.raises(KeyError):
            async with pool.connection() as conn:
                await conn.execute("insert into p values (1)")
                raise KeyError
        async with pool.connection() as conn:
            assert await conn.fetchval("select count(*) from p") == 0
            await conn.execute("insert into p values (2)")
        async with pool.connection() as one, pool.connection() as two:
            assert one is not two
            assert await one.fetchval("select count(*) from p") == 1


async def test_concurrent_calls_get_their_own_answers(aconn: Any) -> None:
    await aconn.executemany("insert into t values (?, ?)", [(n, f"n{n}") for n in range(200)])
    asked = (partial(aconn.fetchval, "select name from t where id = ?", n) for n in range(200))
    assert await agather(*asked) == [f"n{n}" for n in range(200)]


async def test_errors_belong_to_who_caused_them(aconn: Any) -> None:
    results = await agather(
        lambda: aconn.fetchval("select count(*) from numbers"),
        lambda: aconn.fetchval("select nope from t"),
        lambda: aconn.fetchval("select max(n) from numbers"),
        return_exceptions=True,
    )
    assert results[0] == 1000
    assert isinstance(results[1], errors.UndefinedColumn)
    assert results[2] == 999


async def test_rows_and_cursors(aconn: Any) -> None:
    cursor = await aconn.executemany("insert into t values (?, ?)", [(1, "a"), (2, "b")])
    assert cursor.rowcount == 2
    cursor = aconn.cursor(row_factory=dict_row)
    await cursor.execute("select id, name from t order by id")
    assert [row async for row in cursor] == [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
    assert await aconn.fetchrow("select id from t where id = ?", 2) == (2,)


async def test_blocks_and_pipelines(aconn: Any) -> None:
    async with aconn.transaction():
        await aconn.execute("insert into t values (1, 'kept')")
        async with aconn.transaction(force_rollback=True):
            await aconn.execute("delete from t")
        async with aconn.transaction():
            await aconn.execute("delete from t")
            raise headrace.Rollback
    async with aconn.pipeline():
        first = await aconn.execute("select name from t")
        second = await aconn.execute("select count(*) from t")
    assert await first.fetchall() == [("kept",)]
    assert await second.fetchone() == (1,)
    await aconn.set_autocommit(False)
    await aconn.execute("delete from t")
    await aconn.rollback()
    assert await aconn.fetchval("select count(*) from t") == 1


async def test_a_pool_for_many_at_once(db: Database, conn: Any) -> None:
    async with headrace.aio.AsyncConnectionPool(db.url, min_size=1, max_size=4) as pool:

        async def one(n: int) -> Any:
            async with pool.connection() as connection:
                return await connection.fetchval("select n from numbers where n = ?", n)

        assert await agather(*(partial(one, n) for n in range(40))) == list(range(40))
