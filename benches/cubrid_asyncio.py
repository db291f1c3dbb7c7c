"""What asyncio costs of a one-row select on CUBRID: bytes prepared in advance over a blocking socket, and over a bare
``asyncio.Protocol`` that decodes nothing; headrace by each.

The server is the project's own test server, or the one that HEADRACE_CUBRID_URL names. For figures, put client and
server on a core each (``taskset``).
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import resource
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import uvloop

import headrace.aio.cubrid
import headrace.cubrid
from headrace.testing import cubrid
from headrace_lab.link_cubrid import Link, execute

SELECT = "select ? + 1"
STATEMENTS = 4000
WARM = 200
ROUNDS = 3


class Bare(asyncio.Protocol):
    """Takes what comes for the whole reply, as one row is."""

    reply: asyncio.Future[bytes] | None = None

    def data_received(self, data: bytes) -> None:
        if self.reply is not None and not self.reply.done():
            self.reply.set_result(data)


@contextlib.contextmanager
def floor(url: str) -> Iterator[Callable[[], object]]:
    link = Link(url)
    request = execute(link.prepare(SELECT), [5], autocommit=False)
    yield lambda: link.ask("select", request)
    link.close()


@contextlib.asynccontextmanager
async def bare(url: str) -> AsyncIterator[Callable[[], Awaitable[object]]]:
    link = Link(url)
    request = execute(link.prepare(SELECT), [5], autocommit=False)
    loop = asyncio.get_running_loop()
    link.socket.setblocking(False)
    transport, protocol = await loop.create_connection(Bare, sock=link.socket)

    async def select() -> object:
        protocol.reply = loop.create_future()
        transport.write(request)
        return await protocol.reply

    yield select
    transport.close()


@contextlib.asynccontextmanager
async def driver(url: str) -> AsyncIterator[Callable[[], Awaitable[object]]]:
    async with await headrace.aio.cubrid.connect(url) as conn:
        yield lambda: conn.fetch(SELECT, 5)


Opened = Callable[[str], contextlib.AbstractAsyncContextManager[Callable[[], Awaitable[object]]]]


def clocks() -> tuple[float, float]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return time.perf_counter(), used.ru_utime + used.ru_stime


def blocking(select: Callable[[], object]) -> tuple[float, float]:
    """Microseconds of a statement, and of the client's CPU."""
    for _ in range(WARM):
        select()
    wall, cpu = clocks()
    for _ in range(STATEMENTS):
        select()
    return per_statement(wall, cpu)


async def looping(url: str, opened: Opened) -> tuple[float, float]:
    """The same on a loop."""
    async with opened(url) as select:
        for _ in range(WARM):
            await select()
        wall, cpu = clocks()
        for _ in range(STATEMENTS):
            await select()
        return per_statement(wall, cpu)


def per_statement(wall: float, cpu: float) -> tuple[float, float]:
    now, used = clocks()
    return (now - wall) / STATEMENTS * 1e6, (used - cpu) / STATEMENTS * 1e6


def main() -> None:
    found: dict[str, list[tuple[float, float]]] = {}
    with contextlib.ExitStack() as stack:
        url = os.environ.get("HEADRACE_CUBRID_URL") or stack.enter_context(cubrid(optimized=True)).url
        for _ in range(ROUNDS):
            with floor(url) as select:
                found.setdefault("floor", []).append(blocking(select))
            with headrace.cubrid.connect(url) as conn:
                found.setdefault("headrace", []).append(blocking(functools.partial(conn.fetch, SELECT, 5)))
            for loop, run in (("asyncio", asyncio.run), ("uvloop", uvloop.run)):
                found.setdefault(f"floor on {loop}", []).append(run(looping(url, bare)))
                found.setdefault(f"headrace on {loop}", []).append(run(looping(url, driver)))
    first = statistics.median(wall for wall, _ in found["floor"])
    for name, rounds in found.items():
        wall, cpu = (statistics.median(part) for part in zip(*rounds, strict=True))
        print(f"{name:20} {wall:6.0f} µs ({wall / first:.2f})  client CPU {cpu:5.1f} µs")


if __name__ == "__main__":
    main()
