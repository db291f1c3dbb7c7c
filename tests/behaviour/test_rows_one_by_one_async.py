"""Rows that are written into a COPY one by one: in order with other data, each with the error of its own values, and on
an event loop without keeping its other tasks waiting."""

from __future__ import annotations

import asyncio  # asyncio only
import time  # asyncio only
from typing import Any

import pytest

from headrace import errors
from waiting import auntil  # asyncio only


async def table(conn: Any) -> None:
    await conn.execute("create temp table one_by_one (n int, t text)")


async def test_rows_and_data_arrive_in_order(aconn: Any) -> None:
    await table(aconn)
    wanted: list[tuple[int, str | None]] = []
    async with aconn.cursor().copy("copy one_by_one from stdin") as copy:
        for n in range(0, 12_000, 4):
            await copy.write_row((n, None))
            await copy.write(f"{n + 1}\tdata\n")
            await copy.write_rows([(n + 2, "tab\t"), [n + 3, "\\N\r\n"]])
            wanted += [(n, None), (n + 1, "data"), (n + 2, "tab\t"), (n + 3, "\\N\r\n")]
    assert copy.rowcount == 12_000
    assert await aconn.fetch("select * from one_by_one order by n") == wanted


async def test_large_rows_arrive(aconn: Any) -> None:
    await table(aconn)
    async with aconn.cursor().copy("copy one_by_one from stdin") as copy:
        for n in range(20):
            await copy.write_row((n, "\t" * 100_000))
    assert await aconn.fetch("select distinct length(t), t like E'\\t%' from one_by_one") == [(100_000, True)]


@pytest.mark.parametrize("value", [object(), "\0", {1, 2}])
async def test_a_value_is_refused_by_the_call_that_has_it(aconn: Any, value: Any) -> None:
    await table(aconn)
    async with aconn.cursor().copy("copy one_by_one from stdin") as copy:
        for n in range(5):
            if n % 2:
                with pytest.raises((errors.ProgrammingError, errors.DataError)) as caught:
                    await copy.write_row((n, value))
                assert caught.value.row == (n + 1) // 2
            else:
                await copy.write_row((n, "kept"))
        with pytest.raises(TypeError) as unusual:
            await copy.write_row(7)
        assert getattr(unusual.value, "row", None) == 3
    assert await aconn.fetch("select n from one_by_one order by 1") == [(0,), (2,), (4,)]


async def test_an_error_in_a_value_leaves_the_copy_and_the_connection_usable(aconn: Any) -> None:
    class Raises:
        def __str__(self) -> str:
            raise ZeroDivisionError

        __iter__ = __str__

    await table(aconn)
    async with aconn.cursor().copy("copy one_by_one from stdin") as copy:
        for _ in range(3):
            await copy.write_row((1, "x"))
            for row in ((1, Raises()), Raises()):
                with pytest.raises((ZeroDivisionError, errors.ProgrammingError, TypeError)):
                    await copy.write_row(row)  # type: ignore[arg-type]
    assert await aconn.fetchval("select count(*) from one_by_one") == 3


async def test_a_value_that_uses_the_connection_is_refused(aconn: Any) -> None:
    class Row(list[Any]):
        def __iter__(self) -> Any:
            aconn._core.wire.backlog()
            yield from super().__iter__()

    await table(aconn)
    async with aconn.cursor().copy("copy one_by_one from stdin") as copy:
        for _ in range(2):
            await copy.write_row((1, "x"))
            with pytest.raises(errors.InterfaceError, match="busy"):
                await copy.write_row(Row([2, "y"]))
    assert await aconn.fetchval("select count(*) from one_by_one") == 2


async def test_what_the_server_refuses_is_raised_within_the_block_or_at_its_end(aconn: Any) -> None:
    await table(aconn)
    await aconn.commit()
    with pytest.raises(errors.DataError):
        async with aconn.cursor().copy("copy one_by_one from stdin") as copy:
            for _ in range(1000):
                await copy.write_row(("x" * 1000, None))
    await aconn.rollback()
    assert await aconn.fetchval("select count(*) from one_by_one") == 0


async def test_a_row_on_a_lost_connection_is_an_error(aconn: Any) -> None:
    await table(aconn)
    with pytest.raises(errors.Error):
        async with aconn.cursor().copy("copy one_by_one from stdin") as copy:
            await copy.write_row((1, "x"))
            await copy.write_row((2, "x"))
            await aconn.close()
            await copy.write_row((3, "x"))


async def test_rows_are_sent_while_the_task_waits_for_others(aconn: Any) -> None:  # asyncio only
    await table(aconn)
    async with aconn.cursor().copy("copy one_by_one from stdin") as copy:
        for n in range(3):
            await copy.write_row((n, "x"))
            await auntil(lambda: not aconn._core.wire.backlog())


async def test_other_tasks_have_their_turn(aconn: Any) -> None:  # asyncio only
    """Each row takes a millisecond to be made."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    await table(aconn)
    async with aconn.cursor().copy("copy one_by_one from stdin") as copy:
        await copy.write_row((0, "x"))
        counting = asyncio.ensure_future(count())
        for n in range(100):
            time.sleep(0.001)
            await copy.write_row((n, "x"))
        counting.cancel()
    assert turns > 20


async def test_a_row_from_another_loop_is_refused(aconn: Any) -> None:  # asyncio only
    await table(aconn)
    async with aconn.cursor().copy("copy one_by_one from stdin") as copy:
        for n in range(0, 6, 2):
            await copy.write_row((n, "x"))
            with pytest.raises(errors.ProgrammingError, match="another event loop"):
                await asyncio.to_thread(asyncio.run, copy.write_row((n + 1, "y")))
    assert await aconn.fetch("select n from one_by_one order by n") == [(0,), (2,), (4,)]
