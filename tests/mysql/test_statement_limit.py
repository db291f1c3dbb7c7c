"""Where the server prepares no more statements (``max_prepared_stmt_count``), each still means what it says."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import headrace.aio.mysql
import headrace.mysql
from headrace import errors
from served import Served, fresh

pytestmark = pytest.mark.servers("mysql80", "mysql", "mariadb", "mariadb118")
KEEP = "insert into kept values (?)"


@pytest.fixture
def limit(my_server: Served, my: Any) -> Iterator[Any]:
    """Sets how many statements the server prepares, of all sessions."""
    fresh(my, "table kept (n int)")
    with headrace.mysql.connect(my_server.server.url, autocommit=True, prepared=False) as admin:
        before = admin.fetchval("select @@max_prepared_stmt_count")
        yield lambda count: admin.execute(f"set global max_prepared_stmt_count = {count}")
        admin.execute(f"set global max_prepared_stmt_count = {before}")


@pytest.mark.parametrize("others", [0, 1, 5])
def test_a_statement_that_is_not_prepared_executes_no_other(my: Any, limit: Any, others: int) -> None:
    for n in range(others):
        my.fetchval(f"select {n} + ?", 1)
    my.execute(KEEP, (1,))
    limit(0)
    assert my.execute("update kept set n = n where n = ?", (99,)).rowcount == 0
    assert my.fetchval("select 40 + ?", 2) == 42
    assert my.fetch("select n from kept where n >= ?", 0) == [(1,)]
    my.execute(KEEP, (2,))
    my.executemany(KEEP, [(3,), (4,)])
    assert my.executemany("update kept set n = n + ? where n = ?", [(10, 3), (10, 4)]).rowcount == 2
    assert my.fetch("select n from kept order by n") == [(1,), (2,), (13,), (14,)]


def test_statements_share_the_little_room_that_there_is(my_url: str, my: Any, limit: Any) -> None:
    limit(3)
    with headrace.mysql.connect(my_url, autocommit=True) as conn:
        for n in range(30):
            conn.execute(KEEP, (n,))
            assert conn.fetchval(f"select {n} + ?", 1) == n + 1
            assert my.fetchval(f"select count(*) - {n} from kept where n < ?", 1000) == 1
    assert my.fetch("select n from kept order by n") == [(n,) for n in range(30)]


async def test_tasks_at_the_limit_get_their_own_answers(my_url: str, my: Any, limit: Any) -> None:
    limit(2)
    async with await headrace.aio.mysql.connect(my_url, autocommit=True) as conn:

        async def work(n: int) -> int:
            await conn.execute(KEEP, (n,))
            return await conn.fetchval(f"select {n % 7} + ?", n)  # type: ignore[no-any-return]

        assert await asyncio.gather(*map(work, range(60))) == [n + n % 7 for n in range(60)]
    assert my.fetch("select n from kept order by n") == [(n,) for n in range(60)]


def test_the_first_statement_after_a_reset_executes_no_other(my: Any, limit: Any) -> None:
    my.execute(KEEP, (1,))
    limit(0)
    my.reset("discard")
    assert my.execute("update kept set n = n where n = ?", (99,)).rowcount == 0
    assert my.fetch("select n from kept where n >= ?", 0) == [(1,)]


CHANGES = (
    "procedure changes(in a int, out b int, inout c varchar(9)) begin select a; set b = a * 2, c = concat(c, '!'); end"
)


def test_out_parameters_come_by_variables_where_nothing_is_prepared(my: Any, limit: Any) -> None:
    fresh(my, CHANGES)
    cursor = my.cursor()
    assert cursor.callproc("changes", (21, None, "hé")) == [21, 42, "hé!"]
    my.reset("discard")
    limit(0)
    assert cursor.callproc("changes", (4, None, "x")) == [4, 8, "x!"]
    assert cursor.fetchall() == [(4,)]
    with pytest.raises(errors.DatabaseError) as caught:
        cursor.callproc("missing", (1,))
    assert caught.value.sqlcode == 1305
    limit(100)
    assert cursor.callproc("changes", (5, None, "y")) == [5, 10, "y!"]


async def test_out_parameters_come_by_variables_on_a_loop(amy: Any, my: Any, limit: Any) -> None:
    fresh(my, CHANGES)
    my.reset("discard")
    limit(0)
    cursor = amy.cursor()
    assert await cursor.callproc("changes", (4, None, "x")) == [4, 8, "x!"]
    assert await cursor.fetchall() == [(4,)]


def test_a_call_of_ones_own_tells_why_it_has_no_variables(my: Any, limit: Any) -> None:
    fresh(my, CHANGES)
    my.reset("discard")
    limit(0)
    with pytest.raises(errors.DatabaseError, match=r"max_prepared_stmt_count.*callproc") as caught:
        my.execute("call changes(?, ?, ?)", (1, 2, "z"))
    assert caught.value.sqlcode == 1414
    assert my.fetchval("select 40 + ?", 2) == 42
