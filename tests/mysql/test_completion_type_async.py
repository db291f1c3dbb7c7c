"""``completion_type``: COMMIT and ROLLBACK that the driver sends end the transaction, and do nothing else.

With CHAIN the server would open another, in which the statements that follow are never committed; with RELEASE it would
end the session. For those that the program executes, the setting counts."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

import headrace.aio
import headrace.aio.mysql
import headrace.mysql
from headrace.types import TransactionStatus

INSERT = "insert into completed values (?)"
TYPES = ["CHAIN", "RELEASE"]


@pytest.fixture
def table(my: headrace.mysql.Connection[Any]) -> headrace.mysql.Connection[Any]:
    """A connection that sees what others have committed into an empty table."""
    my.execute("drop table if exists completed")
    my.execute("create table completed (n int primary key) engine=innodb")
    return my


def committed(table: headrace.mysql.Connection[Any]) -> list[int]:
    return [n for (n,) in table.fetch("select n from completed order by n")]


def is_open(conn: headrace.mysql.Connection[Any] | headrace.aio.mysql.AsyncConnection[Any]) -> bool:
    return conn.transaction_status == TransactionStatus.INTRANS


@contextlib.contextmanager
def chained_by_default(my: headrace.mysql.Connection[Any]) -> Iterator[None]:
    """The setting of the server, which no statement of a new session names."""
    my.execute("set global completion_type = 'CHAIN'")
    try:
        yield
    finally:
        my.execute("set global completion_type = 'NO_CHAIN'")


async def work(conn: headrace.aio.mysql.AsyncConnection[Any]) -> None:
    """Ends transactions in every way, with a statement in autocommit after each."""
    async with conn.transaction():
        await conn.execute(INSERT, (1,))
    assert not is_open(conn)
    await conn.execute(INSERT, (2,))
    async with conn.transaction(force_rollback=True):
        await conn.execute(INSERT, (3,))
    await conn.execute(INSERT, (4,))
    await conn.execute("begin")
    await conn.execute(INSERT, (5,))
    await conn.commit()
    await conn.execute(INSERT, (6,))
    await conn.execute("begin")
    await conn.execute(INSERT, (7,))
    await conn.rollback()
    await conn.execute(INSERT, (8,))
    await conn.executemany(INSERT, [(n,) for n in range(9, 20)])
    await conn.execute(INSERT, (20,))
    with pytest.raises(headrace.IntegrityError):
        await conn.executemany(INSERT, [(21,), (1,)])
    await conn.execute(INSERT, (22,))
    await conn.execute("begin")
    await conn.execute(INSERT, (23,))
    await conn.reset()
    await conn.execute(INSERT, (24,))
    assert not is_open(conn)
    assert not conn.closed


KEPT = [1, 2, 4, 5, 6, 8, *range(9, 20), 20, 22, 24]


@pytest.mark.parametrize("kind", TYPES)
async def test_the_drivers_end_of_a_transaction_ends_it_alone(
    table: headrace.mysql.Connection[Any], my_url: str, kind: str
) -> None:
    async with await headrace.aio.mysql.connect(my_url, autocommit=True) as conn:
        await conn.execute(f"set completion_type = '{kind}'")
        await work(conn)
        assert committed(table) == KEPT


async def test_a_chained_transaction_is_ended_if_the_server_chains_by_default(
    table: headrace.mysql.Connection[Any], my_url: str
) -> None:
    with chained_by_default(table):
        async with await headrace.aio.mysql.connect(my_url, autocommit=True) as conn:
            await work(conn)
            assert committed(table) == KEPT


async def test_what_is_in_flight_after_the_first_end_is_committed(
    table: headrace.mysql.Connection[Any], my_url: str
) -> None:  # asyncio only
    with chained_by_default(table):
        async with await headrace.aio.mysql.connect(my_url, autocommit=True) as conn:
            await conn.execute(INSERT, (0,))
            await conn.execute("begin")
            await asyncio.gather(conn.commit(), *(conn.execute(INSERT, (n,)) for n in range(1, 5)))
            await conn.execute(INSERT, (5,))
            assert not is_open(conn)
            assert committed(table) == list(range(6))


async def test_what_was_executed_in_a_chained_transaction_is_committed_by_the_next_end(
    table: headrace.mysql.Connection[Any], my_url: str
) -> None:  # asyncio only
    async def chain(conn: headrace.aio.mysql.AsyncConnection[Any], *values: int) -> None:
        # Prepared before: otherwise it would be executed once the end is answered.
        await conn.execute(INSERT, (values[0],))
        await conn.execute("begin")
        await asyncio.gather(conn.commit(), *(conn.execute(INSERT, (n,)) for n in values[1:]))

    with chained_by_default(table):
        async with await headrace.aio.mysql.connect(my_url, autocommit=True) as conn:
            await chain(conn, 1, 2)
            assert is_open(conn)
            await conn.commit()
            assert committed(table) == [1, 2]
            assert not is_open(conn)
        async with await headrace.aio.mysql.connect(my_url, autocommit=True) as conn:
            await chain(conn, 3, 4)
            async with conn.transaction():
                await conn.execute(INSERT, (5,))
            assert committed(table) == [1, 2, 3, 4, 5]
        pooled: Any = headrace.aio.AsyncConnectionPool(my_url, min_size=1, max_size=1, kwargs={"autocommit": True})
        async with pooled as pool:
            async with pool.connection() as conn:
                await chain(conn, 6, 7)
            assert committed(table) == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("by_default", [False, True])
async def test_without_autocommit_a_block_is_a_transaction(
    table: headrace.mysql.Connection[Any], my_url: str, by_default: bool
) -> None:
    with chained_by_default(table) if by_default else contextlib.nullcontext():
        async with await headrace.aio.mysql.connect(my_url) as conn:
            if not by_default:
                await conn.execute("set completion_type = 'CHAIN'")
            await conn.execute(INSERT, (1,))
            await conn.commit()
            assert not is_open(conn)
            await conn.set_isolation_level("serializable")
            async with conn.transaction():
                await conn.execute(INSERT, (2,))
            assert committed(table) == [1, 2]
            await conn.execute(INSERT, (3,))
            await conn.rollback()
            assert committed(table) == [1, 2]


async def test_an_end_that_the_program_executes_is_chained(table: headrace.mysql.Connection[Any], my_url: str) -> None:
    async with await headrace.aio.mysql.connect(my_url, autocommit=True) as conn:
        await conn.execute("set completion_type = 'CHAIN'")
        await conn.execute("begin")
        await conn.execute("commit")
        assert is_open(conn)
        await conn.execute(INSERT, (1,))
        assert committed(table) == []
        await conn.commit()
        assert not is_open(conn)
        assert committed(table) == [1]
