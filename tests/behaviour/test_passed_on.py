"""A stream or a COPY that another task or thread goes on with: it is that one whose statements would wait for
themselves."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import headrace
import headrace.aio
from headrace import errors

SERIES = "select generate_series(1, 100000)"
Step = Callable[[], Awaitable[Any]]


async def handed_over(conn: Any, first: Step, go_on: Step) -> None:
    """Does the first step here, and the second in a task that was there before: a statement of that task is refused."""
    begun = asyncio.Event()

    async def goes_on() -> None:
        await begun.wait()
        await go_on()
        with pytest.raises(errors.InterfaceError, match=r"a stream is being read|COPY is under way"):
            await conn.execute("select 1", timeout=10)

    task = asyncio.create_task(goes_on())
    await first()
    begun.set()
    await task


@pytest.mark.parametrize("taken", [1, 15])
@pytest.mark.parametrize("kind", ["stream", "stream_blocks", "copy_out"])
async def test_a_task_that_goes_on_with_rows_is_refused_other_statements(aconn: Any, kind: str, taken: int) -> None:
    await aconn.set_autocommit(True)
    rows = await aconn.copy_out(SERIES) if kind == "copy_out" else getattr(aconn, kind)(SERIES, fetch_size=10)

    async def go_on() -> None:
        for _ in range(taken):
            await anext(rows)

    await handed_over(aconn, lambda: anext(rows), go_on)
    await rows.aclose()
    assert await aconn.fetchval("select 2") == 2


@pytest.mark.parametrize("how", ["write", "write_row", "write_rows", "read", "rows"])
async def test_a_task_that_goes_on_with_a_copy_is_refused_other_statements(aconn: Any, how: str) -> None:
    await aconn.set_autocommit(True)
    await aconn.execute("create temp table into_it (n int)")
    ways: dict[str, tuple[str, Callable[[Any], Awaitable[Any]]]] = {
        "write": ("copy into_it from stdin", lambda copy: copy.write(b"1\n")),
        "write_row": ("copy into_it from stdin", lambda copy: copy.write_row((1,))),
        "write_rows": ("copy into_it from stdin", lambda copy: copy.write_rows([(1,)])),
        "read": (f"copy ({SERIES}) to stdout", lambda copy: copy.read()),
        "rows": (f"copy ({SERIES}) to stdout", lambda copy: anext(copy.blocks())),
    }
    statement, step = ways[how]
    copy = aconn.cursor().copy(statement)
    await handed_over(aconn, copy.__aenter__, lambda: step(copy))
    await copy.__aexit__(ZeroDivisionError, ZeroDivisionError(), None)
    assert await aconn.fetchval("select 2") == 2


@pytest.mark.parametrize("kind", ["stream", "copy"])
def test_a_thread_that_goes_on_is_refused_other_statements(url: str, kind: str) -> None:
    met: list[BaseException] = []

    def go_on(conn: Any, step: Callable[[], Any]) -> None:
        try:
            step()
            conn.execute("select 1", timeout=10)
        except BaseException as error:
            met.append(error)

    with headrace.connect(url, autocommit=True) as conn, contextlib.ExitStack() as opened:
        conn.execute("create temp table into_it (n int)")
        if kind == "stream":
            rows: Any = opened.enter_context(contextlib.closing(conn.stream(SERIES, fetch_size=10)))  # type: ignore[type-var]
            step: Callable[[], Any] = lambda: next(rows)  # noqa: E731
        else:
            copy = opened.enter_context(conn.cursor().copy("copy into_it from stdin"))
            step = lambda: copy.write(b"1\n")  # noqa: E731
        step()
        thread = threading.Thread(target=go_on, args=(conn, step))
        thread.start()
        thread.join(30)
        with pytest.raises(errors.InterfaceError, match=r"a stream is being read|COPY is under way"):
            raise met[0]
