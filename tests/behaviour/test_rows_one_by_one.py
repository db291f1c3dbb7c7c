"""Rows that are written into a COPY one by one: in order with other data, each with the error of its own values, and on
an event loop without keeping its other tasks waiting."""

# Made by tools/async_to_sync.py of test_rows_one_by_one_async.py: edit that file, and run the tool.

from __future__ import annotations

from typing import Any

import pytest

from headrace import errors


def table(conn: Any) -> None:
    conn.execute("create temp table one_by_one (n int, t text)")


def test_rows_and_data_arrive_in_order(conn: Any) -> None:
    table(conn)
    wanted: list[tuple[int, str | None]] = []
    with conn.cursor().copy("copy one_by_one from stdin") as copy:
        for n in range(0, 12_000, 4):
            copy.write_row((n, None))
            copy.write(f"{n + 1}\tdata\n")
            copy.write_rows([(n + 2, "tab\t"), [n + 3, "\\N\r\n"]])
            wanted += [(n, None), (n + 1, "data"), (n + 2, "tab\t"), (n + 3, "\\N\r\n")]
    assert copy.rowcount == 12_000
    assert conn.fetch("select * from one_by_one order by n") == wanted


def test_large_rows_arrive(conn: Any) -> None:
    table(conn)
    with conn.cursor().copy("copy one_by_one from stdin") as copy:
        for n in range(20):
            copy.write_row((n, "\t" * 100_000))
    assert conn.fetch("select distinct length(t), t like E'\\t%' from one_by_one") == [(100_000, True)]


@pytest.mark.parametrize("value", [object(), "\0", {1, 2}])
def test_a_value_is_refused_by_the_call_that_has_it(conn: Any, value: Any) -> None:
    table(conn)
    with conn.cursor().copy("copy one_by_one from stdin") as copy:
        for n in range(5):
            if n % 2:
                with pytest.raises((errors.ProgrammingError, errors.DataError)) as caught:
                    copy.write_row((n, value))
                assert caught.value.row == (n + 1) // 2
            else:
                copy.write_row((n, "kept"))
        with pytest.raises(TypeError) as unusual:
            copy.write_row(7)
        assert getattr(unusual.value, "row", None) == 3
    assert conn.fetch("select n from one_by_one order by 1") == [(0,), (2,), (4,)]


def test_an_error_in_a_value_leaves_the_copy_and_the_connection_usable(conn: Any) -> None:
    class Raises:
        def __str__(self) -> str:
            raise ZeroDivisionError

        __iter__ = __str__

    table(conn)
    with conn.cursor().copy("copy one_by_one from stdin") as copy:
        for _ in range(3):
            copy.write_row((1, "x"))
            for row in ((1, Raises()), Raises()):
                with pytest.raises((ZeroDivisionError, errors.ProgrammingError, TypeError)):
                    copy.write_row(row)  # type: ignore[arg-type]
    assert conn.fetchval("select count(*) from one_by_one") == 3


def test_a_value_that_uses_the_connection_is_refused(conn: Any) -> None:
    class Row(list[Any]):
        def __iter__(self) -> Any:
            conn._core.wire.backlog()
            yield from super().__iter__()

    table(conn)
    with conn.cursor().copy("copy one_by_one from stdin") as copy:
        for _ in range(2):
            copy.write_row((1, "x"))
            with pytest.raises(errors.InterfaceError, match="busy"):
                copy.write_row(Row([2, "y"]))
    assert conn.fetchval("select count(*) from one_by_one") == 2


def test_what_the_server_refuses_is_raised_within_the_block_or_at_its_end(conn: Any) -> None:
    table(conn)
    conn.commit()
    with pytest.raises(errors.DataError), conn.cursor().copy("copy one_by_one from stdin") as copy:
        for _ in range(1000):
            copy.write_row(("x" * 1000, None))
    conn.rollback()
    assert conn.fetchval("select count(*) from one_by_one") == 0


def test_a_row_on_a_lost_connection_is_an_error(conn: Any) -> None:
    table(conn)
    with pytest.raises(errors.Error), conn.cursor().copy("copy one_by_one from stdin") as copy:
        copy.write_row((1, "x"))
        copy.write_row((2, "x"))
        conn.close()
        copy.write_row((3, "x"))
