"""Texts with several statements, and their results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import headrace
import headrace.cubrid
from headrace import errors

Connection = headrace.cubrid.Connection[Any]
TWO = "insert into hr_several values (3); select n, 'text' from hr_several order by n; update hr_several set n = n + 10"


@pytest.fixture(params=[True, False], ids=["autocommit", "in a transaction"])
def several(request: pytest.FixtureRequest, url: str) -> Iterator[Connection]:
    """A connection, and a table with two rows."""
    with headrace.cubrid.connect(url, autocommit=True) as admin:
        admin.execute("drop table if exists hr_several")
        admin.execute("create table hr_several (n int primary key)")
        admin.execute("insert into hr_several values (1), (2)")
    connection = headrace.cubrid.connect(url, autocommit=request.param)
    yield connection
    connection.close()


def test_each_statement_has_its_result(several: Connection) -> None:
    for _ in range(2):
        cursor = several.execute(TWO)
        assert (cursor.rowcount, cursor.description) == (1, None)
        assert cursor.nextset()
        assert [column.name for column in cursor.description or ()][:1] == ["n"]
        assert cursor.fetchall() == [(1, "text"), (2, "text"), (3, "text")]
        assert cursor.nextset()
        assert (cursor.rowcount, cursor.description) == (3, None)
        assert not cursor.nextset()
        several.execute("delete from hr_several where n = 13")
        several.execute("update hr_several set n = n - 10")
    assert several.fetchval("select count(*) from hr_several") == 2


def test_results_of_many_pages_and_of_no_rows(several: Connection) -> None:
    numbers = ", ".join(f"({n})" for n in range(100, 1_100))
    several.execute(f"insert into hr_several values {numbers}")
    many = "select a.n, repeat('x', 50) from hr_several a where a.n >= 100 order by a.n"
    cursor = several.execute(f"{many}; select n from hr_several where n < 0; {many}")
    expected = [(n, "x" * 50) for n in range(100, 1_100)]
    assert cursor.fetchall() == expected
    assert cursor.nextset()
    assert cursor.fetchall() == []
    assert cursor.nextset()
    assert cursor.fetchall() == expected


def test_an_error_undoes_all_of_the_text(several: Connection) -> None:
    with pytest.raises(errors.UniqueViolation):
        several.execute("insert into hr_several values (5); insert into hr_several values (1)")
    left = [(1,), (2,)]
    assert several.fetch("select n from hr_several order by n") == left
    with pytest.raises(errors.ProgrammingError, match="ends the transaction"):
        several.execute("insert into hr_several values (6); commit")
    with pytest.raises(errors.ProgrammingError, match="with parameters: execute them one by one"):
        several.execute("insert into hr_several values (?); select 1", (7,))
    with pytest.raises(errors.ProgrammingError, match="several statements"):
        several.executemany("insert into hr_several values (?); select 1", [(7,)])
    assert several.fetch("select n from hr_several order by n") == left


async def test_the_same_on_asyncio(url: str, several: Connection) -> None:
    async with await headrace.aio.connect(url, autocommit=True) as conn:
        cursor = await conn.execute(TWO)
        assert cursor.rowcount == 1
        assert await cursor.nextset()
        assert await cursor.fetchall() == [(1, "text"), (2, "text"), (3, "text")]
        assert await cursor.nextset()
        assert not await cursor.nextset()
        async with conn.pipeline():
            one = await conn.execute("select 1; select 2")
            two = await conn.execute("select 3")
        assert await one.fetchone() == (1,)
        assert await one.nextset()
        assert await one.fetchone() == (2,)
        assert await two.fetchone() == (3,)
