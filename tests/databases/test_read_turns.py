"""Rows that are fetched leave the loop's other tasks their turn, however long decoding them takes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
import uvloop

import headrace.aio
from servers import Database, names

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}
ROWS = 40_000
MOST_ROWS_OF_A_TURN = 2_000
"""A fifth of those that the whole read buffer has."""
FIRST_ROWS = 4_000
"""Before it is known how long they take."""
WITH_JSON = ("postgresql", "mariadb", "mysql", "cubrid")


class _Rows:
    """Counts the rows that are decoded between two turns of another task."""

    def __init__(self) -> None:
        self.decoded = 0
        self.in_turn = 0
        self.longest = 0

    def loads(self, text: str) -> str:
        """Takes longer than the server needs for a row."""
        sum(range(1000))
        self.decoded += 1
        self.in_turn += 1
        if self.decoded > FIRST_ROWS:
            self.longest = max(self.longest, self.in_turn)
        return text

    async def counting(self) -> None:
        """Another task, which has a turn whenever the loop has one."""
        while True:
            self.in_turn = 0
            await asyncio.sleep(0)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("any_db", [name for name in names() if name in WITH_JSON], indirect=True)
def test_other_tasks_have_their_turn_while_rows_are_decoded(any_db: Database, loop: str) -> None:
    rows = _Rows()

    async def fetched() -> int:
        async with await any_db.aconnect(autocommit=True, json_loads=rows.loads) as conn:
            await conn.execute("drop table if exists of_read_turns")
            await conn.execute("create table of_read_turns (j json)")
            mark = any_db.native_marks(1)[0]
            await conn.executemany(f"insert into of_read_turns values ({mark})", [({"n": n},) for n in range(ROWS)])
            other = asyncio.ensure_future(rows.counting())
            found = await conn.fetch("select j from of_read_turns")
            other.cancel()
            await conn.execute("drop table of_read_turns")
        return len(found)

    running = LOOPS[loop]()
    try:
        assert running.run_until_complete(fetched()) == rows.decoded == ROWS
    finally:
        running.close()
    assert rows.longest < MOST_ROWS_OF_A_TURN


@pytest.mark.parametrize("loop", LOOPS)
def test_a_connection_is_closed_while_its_loop_is_to_read_on(url: str, loop: str) -> None:
    async def closed() -> None:
        conn = await headrace.aio.connect(url, autocommit=True)
        reading = asyncio.ensure_future(conn.fetch("select n, repeat('x', 100) from generate_series(1, 1000000) n"))
        while not reading.done() and conn._core.wire.arrivals() < 100:
            await asyncio.sleep(0)
        await conn.close()
        with pytest.raises(headrace.Error):
            await reading

    running = LOOPS[loop]()
    unhandled: list[object] = []
    running.set_exception_handler(lambda _, context: unhandled.append(context))
    try:
        running.run_until_complete(closed())
        running.run_until_complete(asyncio.sleep(0.01))
    finally:
        running.close()
    assert not unhandled
