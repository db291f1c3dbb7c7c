"""What only MySQL and MariaDB have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import headrace.aio.mysql
import headrace.mysql
from headrace import errors
from headrace.rows import dict_row
from served import Served, fresh


@pytest.fixture(params=["mariadb", "mysql"])
def my_server(request: pytest.FixtureRequest) -> Served:
    """One after the other."""
    return request.getfixturevalue(f"{request.param}_served")  # type: ignore[no-any-return]


@pytest.fixture
def maria(my_server: Served) -> Iterator[headrace.mysql.Connection[Any]]:
    """A connection in autocommit."""
    with headrace.mysql.connect(my_server.url("test"), autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize("size", [1, 7, 999, 1000, 1001, 5000])
def test_streams(maria: Any, size: int) -> None:
    statement = "select n from numbers where n >= ? order by n"
    assert list(maria.stream(statement, (0,), fetch_size=size)) == [(n,) for n in range(1000)]
    blocks = list(maria.stream_blocks(statement, (500,), fetch_size=size))
    assert sum(map(len, blocks)) == 500
    assert all(len(block) <= size for block in blocks)
    assert list(maria.stream(statement, (2000,), fetch_size=size)) == []


def test_a_stream_that_is_left_frees_its_cursor(maria: Any) -> None:
    statement = "select n from numbers order by n"
    for n, row in enumerate(maria.stream(statement, fetch_size=10, on_server=True)):
        assert row == (n,)
        # Other statements go on beside it.
        assert maria.fetchval("select n from numbers where n = ?", n) == n
        if n == 25:
            break
    assert maria.fetchval("select count(*) from numbers") == 1000
    with pytest.raises(errors.ProgrammingError, match="no rows"):
        list(maria.stream("set @a = 1"))
    with pytest.raises(errors.ProgrammingError, match="fetch_size"):
        list(maria.stream("select 1", fetch_size=0))


async def test_streams_on_a_loop(my_server: Served) -> None:
    async with await headrace.aio.mysql.connect(my_server.url("test"), row_factory=dict_row) as connection:
        rows = [row async for row in connection.stream("select n from numbers order by n", fetch_size=64)]
        assert rows == [{"n": n} for n in range(1000)]
        async for block in connection.stream_blocks("select n from numbers order by n", fetch_size=64):
            assert len(block) == 64
            break
        assert await connection.fetchval("select 1") == 1


def test_several_results(my_server: Served) -> None:
    with headrace.mysql.connect(my_server.url("test"), autocommit=True, multi_statements=True) as maria:
        cursor = maria.executescript("select 1; set @a = 5; select @a, 'x'")
        assert cursor.fetchall() == [(1,)]
        assert cursor.nextset()
        assert cursor.description is None
        assert cursor.nextset()
        assert cursor.fetchall() == [(5, "x")]
        fresh(maria, "procedure two() begin select 1 as a; select 2 as b, 3 as c; end")
        cursor = maria.execute("call two()")
        assert cursor.fetchall() == [(1,)]
        assert cursor.nextset()
        assert cursor.fetchall() == [(2, 3)]


def test_several_statements_are_refused_unless_they_were_allowed(maria: Any) -> None:
    with pytest.raises(errors.SyntaxError):
        maria.executescript("select 1; select 2")


def test_warnings_are_counted(maria: Any) -> None:
    assert maria.execute("drop table if exists no_such_table").warning_count == 1
    assert maria.execute("select 1").warning_count == 0


def test_isolation_and_read_only(my_server: Served, maria: Any) -> None:
    maria.isolation_level = "serializable"
    assert maria.fetchval(f"select {my_server.isolation}") == "SERIALIZABLE"
    maria.isolation_level = None
    assert maria.fetchval(f"select {my_server.isolation}") == "REPEATABLE-READ"
    with pytest.raises(errors.ProgrammingError):
        maria.isolation_level = "chaos"
    maria.read_only = True
    with pytest.raises(errors.ReadOnlySqlTransaction):
        maria.execute("create table ro (n int)").fetchall()
