"""A stream that another thread or task reads on: it is that one whose statements would wait for themselves."""

from __future__ import annotations

import asyncio
import threading

import pytest

import headrace
import headrace.aio
from served import Served


def test_a_thread_that_goes_on_with_a_stream_is_refused_other_statements(my_server: Served) -> None:
    five = "select 1 union all select 2 union all select 3 union all select 4 union all select 5"
    # More than fits into the buffers between.
    many = "select 1 from " + ", ".join(f"({five}) as t{n}" for n in range(9))
    with headrace.connect(my_server.url("test"), autocommit=True) as conn:
        stream = conn.stream(many, fetch_size=10)
        next(stream)
        met: list[BaseException] = []

        def goes_on() -> None:
            try:
                for _ in range(15):
                    next(stream)
                conn.execute("select 1", timeout=10)
            except BaseException as error:
                met.append(error)

        thread = threading.Thread(target=goes_on)
        thread.start()
        thread.join(30)
        with pytest.raises(headrace.InterfaceError, match="a stream is being read"):
            raise met[0]
        stream.close()
        assert conn.fetchval("select 2") == 2


def test_a_thread_that_goes_on_with_the_first_rows_is_refused_other_statements(my_server: Served) -> None:
    with headrace.connect(my_server.url("test"), autocommit=True) as conn:
        stream = conn.stream(f"select seq, repeat('x', 100) from {my_server.series(200_000)}")
        next(stream)
        met: list[BaseException] = []

        def goes_on() -> None:
            try:
                next(stream)
                conn.execute("select 1", timeout=10)
            except BaseException as error:
                met.append(error)

        thread = threading.Thread(target=goes_on)
        thread.start()
        thread.join(30)
        with pytest.raises(headrace.InterfaceError, match="a stream is being read"):
            raise met[0]
        stream.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("taken", [1, 15])
@pytest.mark.parametrize("kind", ["stream", "stream_blocks"])
async def test_a_task_that_goes_on_with_a_stream_is_refused_other_statements(
    my_server: Served, kind: str, taken: int
) -> None:
    async with await headrace.aio.connect(my_server.url("test"), autocommit=True) as conn:
        many = f"select seq, repeat('x', 100) from {my_server.series(200_000)}"
        stream = getattr(conn, kind)(many, fetch_size=10)
        begun = asyncio.Event()

        async def goes_on() -> None:
            await begun.wait()
            for _ in range(taken):
                await anext(stream)
            with pytest.raises(headrace.InterfaceError, match="a stream is being read"):
                await conn.execute("select 1", timeout=10)

        # Not a task that the first reader makes meanwhile.
        task = asyncio.create_task(goes_on())
        await anext(stream)
        begun.set()
        await task
        await stream.aclose()
        assert await conn.fetchval("select 2") == 2
