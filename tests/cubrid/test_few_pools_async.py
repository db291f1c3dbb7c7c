"""A pool of more connections than the broker has processes: no statement is lost, and none is executed twice, also
where processes are killed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

import headrace.aio
import headrace.cubrid
import headrace.testing
from headrace import errors
from headrace.testing import CubridServer
from waiting import agather

from .killing import kill
from .releasing import is_first_release

CLIENTS = 6
STATEMENTS = 15


@pytest.fixture
def few() -> Iterator[CubridServer]:
    """A server of one process, with an empty table."""
    with headrace.testing.cubrid(cas=1) as server:
        with headrace.cubrid.connect(server.url, autocommit=True) as admin:
            admin.execute("create table once (who int, n int)")
        yield server


def rows(server: CubridServer) -> list[tuple[int, int]]:
    with headrace.cubrid.connect(server.url) as admin:
        return sorted(admin.fetch("select who, n from once"))


@pytest.mark.parametrize("autocommit", [True, False])
async def test_each_statement_is_executed_once(few: CubridServer, autocommit: bool) -> None:
    kwargs = {"autocommit": autocommit}
    unknown = set[tuple[int, int]]()
    async with headrace.aio.AsyncConnectionPool(few.url, min_size=3, max_size=3, kwargs=kwargs) as pool:

        async def use(who: int) -> None:
            for n in range(STATEMENTS):
                async with pool.connection() as conn:
                    try:
                        await conn.execute("insert into once values (?, ?)", (who, n))
                    except errors.ConnectionClosed:
                        assert autocommit
                        assert is_first_release(conn)
                        unknown.add((who, n))

        await agather(*(partial(use, who) for who in range(CLIENTS)))
    found = rows(few)
    assert len(found) == len(set(found))
    wanted = {(who, n) for who in range(CLIENTS) for n in range(STATEMENTS)}
    assert wanted - unknown <= set(found) <= wanted


async def test_a_transaction_whose_process_is_killed_is_undone_and_the_pool_goes_on(few: CubridServer) -> None:
    async with headrace.aio.AsyncConnectionPool(few.url, min_size=1, max_size=1) as pool:
        with pytest.raises(errors.ConnectionClosed):
            async with pool.connection() as conn:
                await conn.execute("insert into once values (1, 1)")
                kill(few.port, conn.cas_pid)
                await conn.execute("insert into once values (1, 2)")
        with pytest.raises(errors.ConnectionClosed):
            async with pool.connection() as conn:
                await conn.execute("insert into once values (2, 1)")
                # What is lost at the end only is not taken for committed.
                kill(few.port, conn.cas_pid)
        async with pool.connection() as conn:
            await conn.execute("insert into once values (3, 1)")
    assert rows(few) == [(3, 1)]
