"""What a statement that failed has locked is released by the end of the transaction, though the server reports none."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import headrace.aio.mysql
import headrace.mysql
from headrace import errors
from headrace.aio.pool import AsyncConnectionPool
from headrace.pool import ConnectionPool
from served import fresh

Conn = headrace.mysql.Connection[Any]
TABLE = "table locked (n int not null)"


@pytest.fixture(autouse=True)
def _table(my: Conn) -> None:
    my.execute("set lock_wait_timeout = 20")
    fresh(my, TABLE)


def failing(conn: Conn) -> None:
    """Executes a statement that locks the table and fails."""
    with pytest.raises(errors.NotNullViolation):
        conn.execute("insert into locked (n) values (null)")


@pytest.mark.parametrize("prepared", [True, False])
@pytest.mark.parametrize("later", ["", "select 1"])
@pytest.mark.slow
def test_the_end_of_the_transaction_is_sent(my: Conn, my_url: str, prepared: bool, later: str) -> None:
    with headrace.mysql.connect(my_url, prepared=prepared) as conn:

        def locked() -> None:
            failing(conn)
            if later:
                conn.execute(later)

        locked()
        my.execute("set lock_wait_timeout = 1")
        with pytest.raises(errors.LockNotAvailable):
            my.execute("alter table locked add column m int")
        my.execute("set lock_wait_timeout = 20")
        conn.rollback()
        my.execute("alter table locked add column k int")
        locked()
        conn.commit()
        my.execute("alter table locked add column l int")


def test_nothing_is_sent_a_second_time(my: Conn, my_url: str) -> None:
    def rollbacks() -> int:
        rows = conn.fetch("show session status like 'Com_rollback'")
        return int(rows[0][1])

    with headrace.mysql.connect(my_url) as conn:
        failing(conn)
        conn.rollback()
        before = rollbacks()
        conn.rollback()
        conn.rollback()
        assert rollbacks() == before


def test_a_connection_goes_back_to_its_pool_without_locks(my: Conn, my_url: str) -> None:
    with ConnectionPool(my_url, min_size=1, max_size=1) as pool:
        conn = pool.getconn()
        failing(conn)
        pool.putconn(conn)
        my.execute("alter table locked add column m int")


async def test_the_same_on_asyncio(my: Conn, my_url: str) -> None:
    async with AsyncConnectionPool(my_url, min_size=1, max_size=1) as pool:
        conn: Any = await pool.getconn()
        with pytest.raises(errors.NotNullViolation):
            await conn.execute("insert into locked (n) values (null)")
        await pool.putconn(conn)
        my.execute("alter table locked add column m int")
    conn = await headrace.aio.mysql.connect(my_url)
    with pytest.raises(errors.NotNullViolation):
        await conn.execute("insert into locked (n) values (null)")
    await conn.rollback()
    my.execute("alter table locked add column k int")
    await conn.close()
    await asyncio.sleep(0)
