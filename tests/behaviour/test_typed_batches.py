"""Batches whose rows differ in their types: several statements in one group, still all rows or none."""

# Made by tools/async_to_sync.py of test_typed_batches_async.py: edit that file, and run the tool.

from __future__ import annotations

import itertools
from typing import Any

import pytest

import headrace
from headrace import errors

SIZES = [1, 40_000, 2**40, None, 1.5]


@pytest.fixture(params=[True, False], ids=["prepared", "unnamed"])
def mixed(request: pytest.FixtureRequest, url: str) -> Any:
    """A connection in autocommit, and a table."""
    conn = headrace.connect(url, autocommit=True, prepared=request.param)
    conn.executescript("drop table if exists w; create table w (id int primary key, v text)")
    yield conn
    conn.close()


def rows(size: int, bad: int | None = None) -> list[tuple[Any, int]]:
    return [(SIZES[i % len(SIZES)], 0 if i == bad else i) for i in range(size)]


def test_a_batch_of_many_types_is_right_row_by_row(mixed: Any) -> None:
    mixed.executemany("insert into w select %(id)s, coalesce(%(v)s, 0)", [{"v": v, "id": i} for v, i in rows(5000)])
    expected = [(str(v or 0),) for v, _ in rows(5000)]
    assert mixed.fetch("select v from w order by id") == expected


def test_columns_follow_the_rows(mixed: Any) -> None:
    values = [SIZES[i * i % 5] for i in range(500)]
    assert mixed.fetchmany("select coalesce(%s, 0)", [(value,) for value in values]) == [(v or 0,) for v in values]
    cursor = mixed.executemany("select %s", [(1,), (2**40,), ("x",), (1,)], returning=True)
    names = [cursor.description[0][1]]
    while cursor.nextset():
        names.append(cursor.description[0][1])
    assert names == ["int2", "int8", "text", "int2"]


@pytest.mark.parametrize("bad", [1, 2, 700, 4999])
@pytest.mark.parametrize("returning", [False, True])
def test_a_failing_row_among_others_is_named_and_nothing_stays(mixed: Any, bad: int, returning: bool) -> None:
    sql = "insert into w (v, id) select coalesce(%s, 0), %s" + (" returning v" if returning else "")
    with pytest.raises(errors.UniqueViolation) as caught:
        mixed.executemany(sql, rows(5000, bad), returning=returning)
    assert caught.value.row == bad
    assert mixed.fetchval("select count(*) from w") == 0


@pytest.mark.parametrize(("value", "error"), [(object(), errors.ProgrammingError), (b"x", errors.DatatypeMismatch)])
def test_a_row_that_no_statement_takes_rolls_back(mixed: Any, value: Any, error: type[Exception]) -> None:
    batch = [*rows(1000), (value, 5000)]
    with pytest.raises(error) as caught:
        mixed.executemany("insert into w (v, id) select coalesce(%s, 0), %s", batch)
    assert caught.value.row == 1000  # type: ignore[attr-defined]
    assert mixed.fetchval("select count(*) from w") == 0
    mixed.executemany("insert into w (v, id) values (%s, %s)", rows(10))


def test_an_iterator_that_raises_after_a_change_rolls_back(mixed: Any) -> None:
    def broken() -> Any:
        yield from rows(3000)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        mixed.executemany("insert into w (v, id) select %s + 1, %s", broken())
    assert mixed.fetchval("select count(*) from w") == 0


def test_the_types_of_a_batch_take_a_bounded_number_of_statements(mixed: Any) -> None:
    before = mixed.fetchval("select count(*) from pg_prepared_statements")
    values: list[Any] = list(itertools.product(SIZES[:3], repeat=5))
    mixed.executemany("update w set v = %s + %s + %s + %s + %s", values * 3)
    assert mixed.fetchval("select count(*) from pg_prepared_statements") <= before + 33
    assert mixed.fetchmany("select %s + %s + %s + %s + %s", values) == [(sum(row),) for row in values]


def test_whole_numbers_for_columns_need_one_statement(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        conn.execute("create temp table n (a int8, b numeric, c float8, d jsonb)")
        rows = [(v, v, v, {"v": v}) for v in (1, 40_000, 2**40, None)]
        conn.executemany("insert into n values (%s, %s, %s, %s)", rows)
        assert conn.fetchval("select count(*) from pg_prepared_statements where statement like 'insert into n%'") == 1


def test_a_type_that_is_met_in_the_middle_of_a_batch_is_looked_up_in_its_transaction(mixed: Any) -> None:
    mixed.executescript(
        "drop type if exists mid cascade; create type mid as (a int, b text);"
        "create function made(int) returns int language sql as 'select $1';"
        "create function made(text) returns mid language sql as 'select row(7, $1)::mid'"
    )
    try:
        assert mixed.fetchmany("select made(%s)", [(1,), ("x",), (2,)]) == [(1,), ((7, "x"),), (2,)]
        with pytest.raises(errors.UniqueViolation):
            sql = "with done as (insert into w values (%s, 'x')) select made(%s)"
            mixed.fetchmany(sql, [(1, 1), (2, "x"), (1, 1)])
        assert mixed.fetchval("select count(*) from w") == 0
    finally:
        mixed.executescript("drop type mid cascade; drop function made(int)")


def test_a_stale_statement_in_a_batch_is_prepared_again(mixed: Any) -> None:
    batch = rows(50)
    sql = "insert into w (v, id) select coalesce(%s, 0), %s returning v"
    mixed.fetchmany(sql, batch)
    mixed.executescript("truncate w; alter table w alter v type varchar(50)")
    mixed.fetchmany(sql, batch)
    mixed.executescript("truncate w; deallocate all")
    assert len(mixed.fetchmany(sql, batch)) == 50


def test_what_fails_at_the_end_of_a_batch_names_no_row(mixed: Any) -> None:
    mixed.executescript("drop table if exists late; create table late (a int unique deferrable initially deferred)")
    with pytest.raises(errors.UniqueViolation) as caught:
        mixed.executemany("insert into late values (%s)", [(1,), (1,)])
    assert caught.value.row is None
