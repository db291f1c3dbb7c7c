"""The faults of sharing a connection that random company found or should have found, each by itself and quick."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from headrace import errors
from headrace.types import TransactionStatus

from .meeting import idle_and_in_step
from .places import Place
from .shells import Shell

LIMIT = float(os.environ.get("HEADRACE_COMPANY_LIMIT", "30"))
"""Seconds for a test: each takes a few at most, on a machine with nothing else to do."""
Work = Callable[[Any], Any]

only_postgresql = pytest.mark.parametrize("place", ["postgresql"], indirect=True)
only_mysql = pytest.mark.parametrize("place", ["mariadb", "mysql"], indirect=True)


@contextlib.asynccontextmanager
async def shared(place: Place, shell: Shell) -> AsyncGenerator[Any]:
    """A connection for all, which is idle and in step at the end."""
    await place.prepare(shell)
    conn = await place.connect(shell)
    try:
        yield conn
        await idle_and_in_step(place, conn)
    finally:
        await shell.drop(conn)


def run(place: Place, shell: Shell, *works: Work) -> None:
    """Each of them in a thread or task of its own on one connection."""

    async def test() -> None:
        async with shared(place, shell) as conn:
            await shell.together([work(conn) for work in works], LIMIT)

    shell.run(test(), LIMIT + 20)


def asks(place: Place, times: int, name: str = "asks") -> Work:
    """Selects, each with its own answer."""

    async def work(conn: Any) -> None:
        for k in range(times):
            assert await conn.fetchval(place.marked(1), f"{name}{k}") == f"{name}{k}"

    return work


def streams(place: Place, times: int, name: str, **keywords: Any) -> Work:
    """Streams, each with its own rows."""

    async def work(conn: Any) -> None:
        for k in range(times):
            stream = conn.stream(place.marked(500), (f"{name}{k}",), **place.differences.streamed(100), **keywords)
            assert [row async for row in stream] == [(f"{name}{k}", n) for n in range(1, 501)]

    return work


def copies_out(name: str, times: int) -> Work:
    """COPYs, each with its own rows."""

    async def work(conn: Any) -> None:
        for k in range(times):
            rows = await conn.copy_out(f"select '{name}{k}'::text, g from generate_series(1, 500) g")
            assert [row async for row in rows] == [(f"{name}{k}", n) for n in range(1, 501)]

    return work


@only_postgresql
def test_copies_out_give_all_rows_beside_each_other(place: Place, shell: Shell) -> None:
    run(place, shell, copies_out("a", 60), copies_out("b", 60), asks(place, 150))


@only_postgresql
def test_copies_in_are_whole_beside_queries(place: Place, shell: Shell) -> None:
    def copies_in(worker: int) -> Work:
        async def work(conn: Any) -> None:
            for k in range(30):
                async with conn.cursor().copy("copy company from stdin") as copy:
                    for n in range(20):
                        await copy.write_row((worker, 20 * k + n, "copied"))
                        await shell.sleep(0)

        return work

    async def test() -> None:
        async with shared(place, shell) as conn:
            await shell.together([copies_in(1)(conn), copies_in(2)(conn), asks(place, 150)(conn)], LIMIT)
            assert await conn.fetch("select worker, count(*) from company group by 1 order by 1") == [
                (1, 600),
                (2, 600),
            ]

    shell.run(test(), LIMIT + 20)


def test_streams_beside_queries_leave_the_connection_idle(place: Place, shell: Shell) -> None:
    keywords = place.differences.server_cursor_keywords
    run(place, shell, streams(place, 15, "a", **keywords), asks(place, 200), asks(place, 200, "others"))


def test_streams_overlap(place: Place, shell: Shell) -> None:
    keywords = place.differences.server_cursor_keywords
    run(place, shell, *(streams(place, 10, name, **keywords) for name in "abc"))


def test_what_is_written_beside_a_stream_that_is_left_stays(place: Place, shell: Shell) -> None:
    keywords = place.differences.server_cursor_keywords

    async def leaves(conn: Any) -> None:
        for k in range(20):
            stream = conn.stream(place.marked(500), (f"left{k}",), **place.differences.streamed(100), **keywords)
            async for row in stream:
                assert row == (f"left{k}", 1)
                await shell.sleep(0.002)
                break
            await stream.aclose()

    async def writes(conn: Any) -> None:
        for n in range(100):
            assert (await conn.execute(place.insert, (1, n, "beside"))).rowcount == 1

    async def test() -> None:
        async with shared(place, shell) as conn:
            await shell.together([leaves(conn), writes(conn)], LIMIT)
            assert await conn.fetchval("select count(*) from company where worker = 1") == 100

    shell.run(test(), LIMIT + 20)


# Not PostgreSQL and CUBRID: others wait there for the end of a stream, or are refused.
@pytest.mark.parametrize("place", ["mariadb", "mysql", "informix"], indirect=True)
def test_a_stream_in_autocommit_outlives_the_commits_of_others(place: Place, shell: Shell) -> None:
    keywords = place.differences.server_cursor_keywords

    async def test() -> None:
        async with shared(place, shell) as conn:
            for rows in ([(1, 1, "a")], [(1, 2, "b"), (1, 3, "c")]):
                seen = []
                async for row in conn.stream(place.marked(300), ("x",), **place.differences.streamed(100), **keywords):
                    seen.append(row)
                    if len(seen) == 50:
                        await conn.executemany(place.insert, rows)
                assert seen == [("x", n) for n in range(1, 301)]

    shell.run(test(), LIMIT + 20)


def pipelines(place: Place, times: int, name: str) -> Work:
    """Pipelines, each with its own answers."""

    async def work(conn: Any) -> None:
        for k in range(times):
            async with conn.pipeline():
                found = [await conn.execute(place.marked(1), (f"{name}{k}-{n}",)) for n in range(10)]
            assert [await one.fetchone() for one in found] == [(f"{name}{k}-{n}", 1) for n in range(10)]

    return work


def test_pipelines_and_streams_end(place: Place, shell: Shell) -> None:
    keywords = place.differences.server_cursor_keywords
    works = [pipelines(place, 60, "a"), pipelines(place, 60, "b")]
    run(place, shell, *works, streams(place, 12, "c", **keywords), streams(place, 12, "d", **keywords))


def test_errors_beside_a_pipeline_are_their_own(place: Place, shell: Shell) -> None:
    async def test() -> None:
        async with shared(place, shell) as conn:
            await conn.execute(place.insert, (1, 1, "there"))

            async def piped() -> None:
                for k in range(10):
                    async with conn.pipeline():
                        one = await conn.execute(place.marked(1), (f"piped{k}",))
                        await shell.sleep(0.01)
                    assert await one.fetchall() == [(f"piped{k}", 1)]

            async def fails() -> None:
                for k in range(20):
                    await shell.sleep(0.004)
                    with pytest.raises(errors.UniqueViolation):
                        await conn.execute(place.insert, (1, 1, "again"))
                    with pytest.raises(errors.UniqueViolation):
                        await conn.executemany(place.insert, [(2, k, "new"), (1, 1, "again")])
                    assert (await conn.executemany(place.insert, [(3, k, "good")])).rowcount == 1

            await shell.together([piped(), fails()], LIMIT)
            assert await conn.fetchval("select count(*) from company where worker > 1") == 20

    shell.run(test(), LIMIT + 20)


@only_mysql
def test_loads_are_whole_beside_each_other(place: Place, shell: Shell) -> None:
    def loads(worker: int) -> Work:
        async def work(conn: Any) -> None:
            for k in range(15):
                rows = [(worker, 20 * k + n, "loaded") for n in range(20)]
                assert await conn.load_rows("company", rows) == 20
                with pytest.raises(errors.UniqueViolation):
                    await conn.load_rows("company", [(worker, 10_000 + k, "refused"), *rows])

        return work

    async def test() -> None:
        async with shared(place, shell) as conn:
            works = [loads(1)(conn), loads(2)(conn), asks(place, 100)(conn)]
            await shell.together(works, LIMIT)
            sql = "select worker, count(*) from company group by worker order by worker"
            assert await conn.fetch(sql) == [(1, 300), (2, 300)]

    shell.run(test(), LIMIT + 20)


@pytest.mark.parametrize("place", ["postgresql", "mariadb", "mysql"], indirect=True)
@pytest.mark.parametrize("stopped", [1, 3], ids=["one", "three_at_once"])
def test_only_what_was_stopped_is_stopped(place: Place, shell: Shell, stopped: int) -> None:
    """Requests that end by their own timeouts while they run, or just before or after, between those of others."""
    sql, answer = place.slow_answer

    async def stops(conn: Any, shift: float) -> None:
        for k in range(12):
            with contextlib.suppress(TimeoutError):
                assert await (await conn.execute(sql, timeout=0.018 + 0.001 * (k % 8) + shift)).fetchall() == [
                    (answer,)
                ]

    async def goes_on(conn: Any) -> None:
        for _ in range(12 * stopped):
            assert await conn.fetch(sql) == [(answer,)]

    run(place, shell, *(lambda conn, k=k: stops(conn, k / 3000) for k in range(stopped)), goes_on, goes_on)


def test_closing_tells_everybody(place: Place, shell: Shell) -> None:
    """A connection that one of them closes: the others get a PEP 249 error, at once, whatever they do."""
    ended: list[BaseException] = []

    def until_closed(work: Work) -> Work:
        async def repeated(conn: Any) -> None:
            try:
                while True:
                    await work(conn)
                    await shell.sleep(0)
            except errors.Error as error:
                ended.append(error)

        return repeated

    async def closes(conn: Any) -> None:
        await shell.sleep(0.2)
        await conn.close()

    async def transactions(conn: Any) -> None:
        async with conn.transaction():
            await conn.execute(place.insert, (1, len(ended), "never committed"))
            await asks(place, 3)(conn)
            if not conn.closed:
                raise errors.DataError

    async def test() -> None:
        await place.prepare(shell)
        conn = await place.connect(shell)
        works = [asks(place, 3), asks(place, 5, "b"), pipelines(place, 2, "c"), transactions]
        await shell.together([closes(conn), *(until_closed(work)(conn) for work in works)], LIMIT)
        assert len(ended) == len(works)
        assert conn.closed

    shell.run(test(), LIMIT + 20)


def test_a_transaction_belongs_to_its_block(place: Place, shell: Shell) -> None:
    """Readers beside blocks that commit and roll back see each of them whole, and the connection idle at the end."""

    async def blocks(conn: Any) -> None:
        for k in range(40):
            async with conn.transaction(force_rollback=k % 2 == 1):
                await conn.execute(place.insert, (1, k, "block"))
                await shell.sleep(0)
                await conn.executemany(place.insert, [(2, 10 * k + n, "block") for n in range(10)])

    async def test() -> None:
        async with shared(place, shell) as conn:
            await shell.together([blocks(conn), asks(place, 100)(conn), asks(place, 100, "b")(conn)], LIMIT)
            assert conn.transaction_status is TransactionStatus.IDLE
            sql = "select worker, count(*) from company group by worker order by worker"
            assert await conn.fetch(sql) == [(1, 20), (2, 200)]

    shell.run(test(), LIMIT + 20)
