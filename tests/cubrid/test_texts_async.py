"""Batches of the texts of statements (EXECUTE_BATCH)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

import headrace.aio.cubrid
import headrace.testing
import headrace.types
from headrace import errors

Connection = headrace.aio.cubrid.AsyncConnection[Any]


@pytest.fixture(params=[True, False], ids=["autocommit", "in a transaction"])
async def texts(request: pytest.FixtureRequest, url: str) -> AsyncIterator[Connection]:
    """A connection, and a table of one row."""
    async with await headrace.aio.cubrid.connect(url, autocommit=True) as admin:
        await admin.execute("drop table if exists hr_texts")
        await admin.execute("create table hr_texts (n int primary key, s varchar(100))")
        await admin.execute("insert into hr_texts values (1, 'one')")
    connection = await headrace.aio.cubrid.connect(url, autocommit=request.param)
    yield connection
    await connection.close()


def insert(n: int) -> str:
    """A statement of one row."""
    return f"insert into hr_texts values ({n}, '{n}')"


async def test_all_are_applied(texts: Connection, url: str) -> None:
    cursor = await texts.execute_batch(
        [insert(2), "update hr_texts set s = 'both'", "delete from hr_texts where n = 1"]
    )
    assert cursor.rowcount == 4
    assert await texts.fetch("select n, s from hr_texts") == [(2, "both")]
    await texts.commit()
    async with await headrace.aio.cubrid.connect(url) as other:
        assert await other.fetch("select n, s from hr_texts") == [(2, "both")]


@pytest.mark.slow
async def test_many(texts: Connection) -> None:
    # More than one request has.
    cursor = await texts.execute_batch(insert(n) for n in range(2, 20_002))
    assert cursor.rowcount == 20_000
    assert await texts.fetchval("select count(*) from hr_texts") == 20_001
    assert (await texts.execute_batch([])).rowcount == 0


async def test_the_one_that_fails_is_named_and_nothing_is_left_of_the_others(texts: Connection) -> None:
    await texts.execute_batch([insert(2)])
    with pytest.raises(errors.UniqueViolation) as caught:
        await texts.execute_batch([insert(3), insert(1), insert(4)])
    assert caught.value.row == 1
    with pytest.raises(errors.ProgrammingError) as wrong:
        await texts.execute_batch([insert(3), "no statement", insert(1)])
    assert wrong.value.row == 1
    # What the transaction has done before is still there.
    assert await texts.fetch("select n from hr_texts order by n") == [(1,), (2,)]


async def test_definitions(texts: Connection) -> None:
    await texts.fetch("select * from hr_texts")
    await texts.execute_batch(["alter table hr_texts add column more int default 7", insert_more(2)])
    assert await texts.fetch("select * from hr_texts order by n") == [(1, "one", 7), (2, "2", 8)]


def insert_more(n: int) -> str:
    """A statement of one row of the table with a column more."""
    return f"insert into hr_texts values ({n}, '{n}', 8)"


@pytest.mark.parametrize(
    "refused",
    [
        "commit",
        " /* */ rollback",
        "select 1; select 2",
        "insert into hr_texts values (?, 'a')",
        "select '\0'",
        1,
        None,
        "\ud800",
    ],
    ids=["commit", "rollback", "several", "parameters", "nul", "number", "none", "surrogate"],
)
async def test_what_is_no_statement_of_a_batch_is_refused(texts: Connection, refused: Any) -> None:
    with pytest.raises((errors.ProgrammingError, errors.DataError)) as caught:
        await texts.execute_batch([insert(2), refused])
    assert caught.value.row == 1
    with pytest.raises(errors.ProgrammingError, match="not one str"):
        await texts.execute_batch("select 1")
    assert await texts.fetchval("select count(*) from hr_texts") == 1


async def test_an_iterator_that_raises(texts: Connection) -> None:
    def some() -> Any:
        yield insert(2)
        raise KeyError("mine")

    with pytest.raises(KeyError):
        await texts.execute_batch(some())
    assert await texts.fetchval("select count(*) from hr_texts") == 1


async def test_more_statements_than_the_broker_keeps(url: str) -> None:
    async with await headrace.aio.cubrid.connect(url, statement_cache_size=5_000, autocommit=True) as conn:
        for n in range(2_100):
            assert await conn.fetchval(f"select {n} from db_root") == n
    assert repr(headrace.types.BlobLocator(b"1234")) == "<BlobLocator>"


async def test_a_batch_goes_on_where_the_broker_has_given_the_process_to_others() -> None:
    with headrace.testing.cubrid(cas=1) as server:
        one = await headrace.aio.cubrid.connect(server.url, autocommit=True)
        await one.execute("create table hr_texts (n int primary key, s varchar(100))")
        other = await headrace.aio.cubrid.connect(server.url, autocommit=True)
        for n in range(0, 40, 4):
            # Each of them has the only process when the other one begins.
            await one.execute_batch([insert(n), insert(n + 1)])
            await other.execute_batch((insert(n + 2), insert(n + 3)))
        assert await one.fetchval("select count(*) from hr_texts") == 40
        await one.close()
        await other.close()
