"""executemany: all rows or none, the failing row named, the connection in step."""

# Made by tools/async_to_sync.py of test_batches_async.py: edit that file, and run the tool.

from __future__ import annotations

from typing import Any

import pytest

import headrace
from headrace import errors

Conn = headrace.Connection[Any]


@pytest.fixture(autouse=True)
def _table(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        conn.execute("drop table if exists b")
        conn.execute("create table b (n int primary key check (n <> 666), s smallint)")


@pytest.fixture(params=[True, False], ids=["autocommit", "transaction"])
def batch_conn(request: pytest.FixtureRequest, url: str) -> Any:
    conn = headrace.connect(url, autocommit=request.param)
    yield conn
    conn.close()


def rows(size: int, bad: int, value: Any) -> list[tuple[Any, int]]:
    return [(value if i == bad else i + 1000, 1) for i in range(size)]


@pytest.mark.parametrize(("size", "bad"), [(100, 0), (1000, 500), (1000, 999), (100_000, 99_999)])
@pytest.mark.parametrize(
    ("value", "error"),
    [
        (666, errors.CheckViolation),
        ("not a number", errors.InvalidTextRepresentation),
        (2**40, errors.DataError),
    ],
    ids=["server", "text", "client"],
)
def test_a_failing_row_is_named_and_nothing_stays(
    batch_conn: Conn, size: int, bad: int, value: Any, error: type[Exception]
) -> None:
    with pytest.raises(error) as caught:
        batch_conn.executemany("insert into b values (%s, %s)", rows(size, bad, value))
    assert caught.value.row == bad  # type: ignore[attr-defined]
    batch_conn.rollback()
    assert batch_conn.fetchval("select count(*) from b") == 0


def test_counts_and_rows(batch_conn: Conn) -> None:
    cursor = batch_conn.executemany("insert into b values (%s, %s)", ((i, 2) for i in range(-4000, 600)))
    assert cursor.rowcount == 4600
    cursor = batch_conn.executemany("update b set s = %s where n >= 0 and n < %s", [(3, 10), (4, 5)])
    assert cursor.rowcount == 15
    cursor = batch_conn.executemany("delete from b where n = %s returning n", [(1,), (2,), (99_999,)], returning=True)
    assert cursor.fetchall() == [(1,)]
    assert cursor.nextset()
    assert cursor.fetchall() == [(2,)]
    assert cursor.nextset()
    assert cursor.fetchall() == []
    assert cursor.nextset() is None
    assert batch_conn.fetchmany("select $1::int, $2::int", [(1, 2), (3, 4)]) == [(1, 2), (3, 4)]


def test_mappings_and_empty_batches(batch_conn: Conn) -> None:
    batch_conn.executemany("insert into b values (%(n)s, %(s)s)", [{"n": 1, "s": 2}, {"s": 4, "n": 3}])
    assert batch_conn.fetch("select * from b order by n") == [(1, 2), (3, 4)]
    batch_conn.executemany("insert into b values (%s, %s)", [])
    assert batch_conn.fetchval("select count(*) from b") == 2


def test_an_iterator_that_raises_rolls_back(batch_conn: Conn) -> None:
    def broken() -> Any:
        for i in range(50_000):
            yield (i + 1000, 1)
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        batch_conn.executemany("insert into b values (%s, %s)", broken())
    batch_conn.rollback()
    assert batch_conn.fetchval("select count(*) from b") == 0


def test_a_large_batch_with_large_replies_does_not_deadlock(batch_conn: Conn) -> None:
    cursor = batch_conn.executemany("select %s::int, repeat('x', 200)", [(i,) for i in range(100_000)], returning=False)
    assert cursor.rowcount == 100_000


def test_wrong_parameter_count_names_the_row(batch_conn: Conn) -> None:
    with pytest.raises(errors.ProgrammingError) as caught:
        batch_conn.executemany("insert into b values (%s, %s)", [(1, 2), (3,)])
    batch_conn.rollback()
    assert batch_conn.fetchval("select count(*) from b") == 0
    assert "2 parameters" in str(caught.value)


def test_a_large_batch_names_its_failing_row(conn: Any) -> None:
    with pytest.raises(errors.CheckViolation) as caught:
        conn.executemany("insert into b values ($1, $2)", rows(100_000, 77_777, 666))
    assert caught.value.row == 77_777
    conn.rollback()
    cursor = conn.executemany("insert into b values ($1, $2)", rows(100_000, -1, 0))
    assert cursor.rowcount == 100_000
    assert conn.fetchval("select count(*) from b") == 100_000


@pytest.mark.parametrize("after", [0.002, 0.01, 0.04, 0.08])
@pytest.mark.parametrize(("strategy", "count"), [("pipelined", 60_000), ("copy", 600_000)])
def test_a_batch_that_takes_too_long_leaves_nothing(url: str, after: float, strategy: str, count: int) -> None:
    """Each takes much longer than that: a cancel request that comes when the last row is stored comes too late."""
    many = [(n,) for n in range(1000, 1000 + count)]
    with headrace.connect(url, autocommit=True, batch_strategy=strategy) as conn:
        for _ in range(3):
            cursor = conn.cursor()
            try:
                cursor.executemany("insert into b values (%s)", many, timeout=after)
            except TimeoutError:
                assert conn.fetchval("select count(*) from b") == 0
            else:
                assert conn.fetchval("select count(*) from b") == len(many)
                conn.execute("truncate b")
