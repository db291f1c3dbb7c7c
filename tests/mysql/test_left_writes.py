"""A stream of a statement that writes, which is left before its end: what it writes is stored, or an error says why
not."""

# Made by tools/async_to_sync.py of test_left_writes_async.py: edit that file, and run the tool.

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable
from typing import Any

import pytest

from headrace import errors
from headrace.mysql.core import may_write

ROWS = 20_000
"""Rows that are not all there when the first is read."""
NUMBERS = f"with recursive s (n) as (select 1 union all select n + 1 from s where n < {ROWS})"
DEEP = f"set session {{}} = {ROWS}"


@pytest.fixture
def written(my: Any) -> Any:
    """A connection, and a table with a procedure that writes into it after its rows."""
    name = "max_recursive_iterations" if my._core.wire.session()["mariadb"] else "cte_max_recursion_depth"
    my.execute(DEEP.format(name))
    my.execute("drop table if exists left_writes")
    my.execute("create table left_writes (n int, filler char(200))")
    my.execute("drop procedure if exists left_writing")
    my.execute(
        f"create procedure left_writing(last int) begin {NUMBERS} select n, repeat('x', 200) from s; "
        "insert into left_writes values (1, ''), (last, '') ; end"
    )
    return my


def rows_of(conn: Any) -> int:
    return int(conn.fetchval("select count(*) from left_writes"))


@pytest.mark.parametrize("of", ["stream", "stream_blocks", "stream_arrow"])
def test_a_procedure_is_executed_to_its_end(written: Any, of: str) -> None:
    streams: dict[str, Callable[[], Any]] = {
        "stream": lambda: written.stream("call left_writing(2)", fetch_size=5),
        "stream_blocks": lambda: written.stream_blocks("call left_writing(2)", fetch_size=5),
        "stream_arrow": lambda: written.stream_arrow("call left_writing(2)", batch_rows=5),
    }
    with contextlib.closing(streams[of]()) as stream:
        next(stream)
    assert rows_of(written) == 2


@pytest.mark.servers("mariadb")
def test_rows_that_an_insert_returns_are_stored(written: Any) -> None:
    insert = f"insert into left_writes {NUMBERS} select n, repeat('x', 200) from s returning n, filler"
    stream = written.stream(insert, fetch_size=5)
    next(stream)
    stream.close()
    assert rows_of(written) == ROWS
    # Collected, without a word of the program's.
    stream = written.stream(insert, fetch_size=5)
    next(stream)
    del stream
    gc.collect()
    assert rows_of(written) == 2 * ROWS


def test_its_error_is_raised_where_the_stream_is_left(written: Any) -> None:
    written.execute("alter table left_writes add unique (n)")
    stream = written.stream("call left_writing(1)", fetch_size=5)
    next(stream)
    with pytest.raises(errors.UniqueViolation):
        stream.close()
    assert rows_of(written) == 0


def test_what_only_reads_is_known_by_its_words() -> None:
    for reads in (
        "select 1",
        " (SELECT 1)",
        "-- x\n/* insert */ With a as (select 1) select 1",
        "show tables",
        "table t",
        "select * from t where note = 'please delete' for update",
    ):
        assert not may_write(reads), reads
    for writes in (
        "insert into t values (1) returning n",
        "CALL p()",
        "/*!50000 select */ 1",
        "",
        "replace",
        " " * 99,
        "select 1; call p()",
        "select key; update t set a = 1",
        "select 1 -- it's\n; insert into t values ('x')",
        "\ud800",
    ):
        assert may_write(writes), writes
