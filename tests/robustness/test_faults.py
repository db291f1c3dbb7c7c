"""A network that delays, resets, goes silent and lies: an error in time, and a connection that is in step or closed."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import random
import socket
from typing import Any

import pytest

from headrace import defaults, errors
from headrace.aio import AsyncConnectionPool
from headrace.pool import ConnectionPool
from long import FIRST_SEED, times
from servers import Database

from .proxy import Proxy


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that was cut off does not react to a cancel request, which is waited for in each of these tests."""
    monkeypatch.setattr(defaults, "CANCEL_TIMEOUT", 1.0)


def two_thousand(target: Database) -> str:
    """A query whose result takes more than one block."""
    return target.series(2000).replace(" from", f", {target.differences.fifty_characters} from", 1)


def in_step_or_closed(target: Database, conn: Any) -> None:
    try:
        assert conn.execute(target.answer, timeout=3).fetchone() == (42,)
    except (errors.Error, TimeoutError):
        assert conn.closed


async def async_in_step_or_closed(target: Database, conn: Any) -> None:
    try:
        cursor = await conn.execute(target.answer, timeout=3)
        assert await cursor.fetchone() == (42,)
    except (errors.Error, TimeoutError):
        assert conn.closed


def stop_after(limit: int) -> Any:
    return lambda passed, block: block if passed + len(block) <= limit else None


def test_latency_is_only_slow(target: Database) -> None:
    with Proxy(target.port, delay=0.02) as proxy, target.connect(proxy.port) as conn:
        assert len(conn.fetch(two_thousand(target))) == 2000


@pytest.mark.parametrize("reset", [True, False], ids=["reset", "closed"])
@pytest.mark.parametrize("limit", [500, 5_000, 60_000])
def test_a_connection_that_ends_in_the_middle(target: Database, limit: int, reset: bool) -> None:
    with Proxy(target.port, spoil=stop_after(limit), reset=reset) as proxy:
        conn = target.connect(proxy.port)
        with pytest.raises(errors.OperationalError):
            for _ in range(5):
                conn.fetch(two_thousand(target))
        assert conn.closed


@pytest.mark.parametrize("reset", [True, False], ids=["reset", "closed"])
async def test_async_connection_that_ends_in_the_middle(target: Database, reset: bool) -> None:
    with Proxy(target.port, spoil=stop_after(5_000), reset=reset) as proxy:
        conn = await target.aconnect(proxy.port)
        waiting = [asyncio.ensure_future(conn.fetch(two_thousand(target))) for _ in range(5)]
        results = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 60)
        assert all(isinstance(r, errors.OperationalError) for r in results)
        assert conn.closed


def test_a_silent_network_ends_in_the_timeout(target: Database) -> None:
    with Proxy(target.port, spoil=stop_after(5_000), half_open=True) as proxy:
        conn = target.connect(proxy.port)
        with pytest.raises(TimeoutError):
            conn.execute(two_thousand(target), timeout=0.3)
        in_step_or_closed(target, conn)


async def test_async_silent_network(target: Database) -> None:
    with Proxy(target.port, spoil=stop_after(5_000), half_open=True) as proxy:
        conn = await target.aconnect(proxy.port)
        with pytest.raises(TimeoutError):
            await conn.execute(two_thousand(target), timeout=0.3)
        await conn.close()
        assert conn.closed


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + times(15)))
def test_garbage_is_an_error_or_the_right_rows(target: Database, seed: int) -> None:
    rng = random.Random(seed)
    at = rng.randrange(400, 3000)

    def bend(passed: int, block: bytes) -> bytes:
        if passed <= at < passed + len(block):
            i = at - passed
            return block[:i] + bytes([block[i] ^ rng.randrange(1, 256)]) + block[i + 1 :]
        return block

    with Proxy(target.port, spoil=bend) as proxy:
        try:
            conn = target.connect(proxy.port)
        except (errors.Error, TimeoutError):
            return
        try:
            rows = conn.execute(target.series(200), timeout=1).fetchall()
            # One byte of one value may be wrong: a protocol without checksums cannot detect that. Never the framing.
            assert len(rows) == 200
            assert sum(row != (i,) for i, row in enumerate(rows, 1)) <= 1
        except (errors.Error, TimeoutError):
            pass
        in_step_or_closed(target, conn)
        conn.close()


def test_strangers_at_the_port_change_nothing(target: Database) -> None:
    """A port scan, or a program that was given the number of a port that was free before."""
    for _ in range(20):
        with Proxy(target.port) as proxy, contextlib.ExitStack() as strangers:
            for n in range(4):
                stranger = strangers.enter_context(socket.create_connection(("127.0.0.1", proxy.port)))
                if n % 2:
                    stranger.sendall(b"GET / HTTP/1.0\r\n\r\n")
    gc.collect()
    with Proxy(target.port) as proxy, target.connect(proxy.port) as conn:
        assert conn.fetchval(target.number, 7) == 7


def test_a_pool_survives_a_flaky_network(target: Database) -> None:
    passed = [0]

    def spoil(_: int, block: bytes) -> bytes | None:
        passed[0] += 1
        return None if passed[0] % 23 == 0 else block

    with (
        Proxy(target.port, spoil=spoil, reset=True) as proxy,
        ConnectionPool(target.url_at(proxy.port), min_size=1, max_size=2) as pool,
    ):
        good = 0
        for i in range(60):
            try:
                with pool.connection(timeout=10) as conn:
                    assert conn.fetchval(target.number, i) == i
                    good += 1
            except errors.Error:
                pass
        assert good > 20


async def test_an_async_pool_survives_a_flaky_network(target: Database) -> None:
    passed = [0]

    def spoil(_: int, block: bytes) -> bytes | None:
        passed[0] += 1
        return None if passed[0] % 23 == 0 else block

    with Proxy(target.port, spoil=spoil) as proxy:
        async with AsyncConnectionPool(target.url_at(proxy.port), min_size=1, max_size=2) as pool:
            good = 0
            for i in range(60):
                try:
                    async with pool.connection(timeout=10) as conn:
                        assert await conn.fetchval(target.number, i) == i
                        good += 1
                except errors.Error:
                    pass
            assert good > 20
