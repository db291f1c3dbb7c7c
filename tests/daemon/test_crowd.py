"""Thousands of clients at the same time, on ten server connections: five thousand in a long run."""

from __future__ import annotations

import asyncio
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.testing import PostgresServer
from long import NIGHT

from .conftest import Daemon, config, started
from .raw import EXECUTE, SYNC, AsyncClient, bind, parse, query, values

CLIENTS = 5000 if NIGHT else 2000
BACKENDS, TRANSACTIONS = 10, 3
FILES = CLIENTS + 500
NAMED = 10
"""Every so many clients one has settings of its own."""
PIPELINED = 40
IDLE_CLIENT_BYTES = 10 * 1024
"""What a client that does nothing may cost the daemon, which is not optimised here: about 6 kB."""
WORKED_CLIENT_BYTES = 12 * 1024
"""The same after all of them have waited at the same time, and have sent pipelines: what the allocator keeps."""
STARTING = 100
"""Clients that connect at one time: the kernel keeps so many that were not accepted yet."""


@pytest.fixture
def files() -> Iterator[None]:
    """As many open files as the test needs; the daemon raises its own limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < FILES:
        pytest.fail(f"this test needs {FILES} open files, and the system allows {hard}: raise `ulimit -Hn`")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, FILES), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def crowded(program: Path, folder: Path, server: PostgresServer, files: None) -> Iterator[Daemon]:
    """A daemon whose queue has by default room for all of them."""
    text = config(server, app=f"pool_size = {BACKENDS}\nqueue_wait = 120")
    with started(program, folder, text, server) as running:
        yield running


def resident(daemon: Daemon) -> int:
    """The daemon's memory in bytes."""
    status = Path(f"/proc/{daemon.process.pid}/statm").read_text()
    return int(status.split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Crowd:
    """The clients, and how far each has come."""

    def __init__(self) -> None:
        self.left = [CLIENTS] * TRANSACTIONS
        """For each transaction how many have not done it yet."""
        self.passed_over = 0
        """How often somebody was served twice while another waited."""
        self.backends: set[str] = set()

    async def connect(self, daemon: Daemon) -> None:
        """All of them."""
        starting = asyncio.Semaphore(STARTING)

        async def one(number: int) -> AsyncClient:
            own = {"application_name": f"client {number}"} if number % NAMED == 0 else {}
            async with starting:
                return await AsyncClient.connect(daemon.socket, user="me", database="app", **own)

        self.clients = await asyncio.gather(*map(one, range(CLIENTS)))

    async def leave(self) -> None:
        """All of them, at once."""
        for client in self.clients:
            client.close()
        await asyncio.gather(*(client.closed.wait() for client in self.clients))

    async def work(self, number: int) -> None:
        """Some transactions of one client, each in two requests; all that it sees is its own."""
        client = self.clients[number]
        name = f"client {number}" if number % NAMED == 0 else ""
        for n in range(TRANSACTIONS):
            mine = f"{number} {n}"
            look = f"begin; select '{mine}'; select current_setting('application_name'); select pg_backend_pid()"
            found = values(await client.ask(query(look)))
            assert found[:2] == [mine, name], found
            again = values(await client.ask(query(f"select pg_backend_pid(); commit; select '{mine} done'")))
            assert again == [found[2], f"{mine} done"]
            self.backends.add(found[2])
            self.left[n] -= 1
            self.passed_over += n >= 2 and self.left[n - 2] > 0

    async def pipeline(self, client: AsyncClient) -> None:
        """One client, that prepares a statement."""
        found = await client.ask(parse("s", "select 7") + (bind("s") + EXECUTE) * PIPELINED + SYNC)
        assert values(found) == ["7"] * PIPELINED


async def test_thousands_of_clients_share_ten_backends_and_none_starves(crowded: Daemon) -> None:
    before = resident(crowded)
    crowd = Crowd()
    began = time.monotonic()
    await crowd.connect(crowded)
    connected = time.monotonic()
    idle = (resident(crowded) - before) / CLIENTS
    try:
        await asyncio.gather(*map(crowd.work, range(CLIENTS)))
        worked = time.monotonic()
        await asyncio.gather(*map(crowd.pipeline, crowd.clients))
    finally:
        after = (resident(crowded) - before) / CLIENTS
        await crowd.leave()
    print(
        f"{CLIENTS} clients: connected in {connected - began:.1f} s, {CLIENTS * TRANSACTIONS} transactions in"
        f" {worked - connected:.1f} s; bytes of the daemon for each: connected {idle:.0f}, after its work {after:.0f}"
    )
    assert crowd.left == [0] * TRANSACTIONS
    assert len(crowd.backends) <= BACKENDS
    assert crowd.passed_over == 0
    assert idle < IDLE_CLIENT_BYTES
    assert after < WORKED_CLIENT_BYTES
