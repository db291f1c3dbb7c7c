"""Clients that come, work, fail, and go in every way that there is, for as long as one likes. From time to time all
of them leave, and what the daemon then occupies is noted.

    cd tests && ../.venv/bin/python -m daemon.churn --seconds 3600
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import math
import os
import random
import socket
import struct
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import headrace
from headrace.testing import postgres
from waiting import auntil

from .conftest import ROOT, Daemon, config, started
from .raw import EXECUTE, SYNC, AsyncClient, bind, message, parse, query, sqlstates, values

CLIENTS, BACKENDS, TEXTS = 40, 10, 1000
DATABASE = "app"


@dataclass
class Noted:
    """What the daemon occupies while nobody is connected."""

    seconds: float
    clients: int
    memory_kb: int
    files: int
    backends: int


class Churn:
    """The clients, and what they have done."""

    def __init__(self, daemon: Daemon, seed: int) -> None:
        self.daemon = daemon
        self.process = daemon.process.pid
        self.spare: float = math.inf
        """The daemon's files besides server connections, of which there are never more than the first time."""
        self.chance = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.began = time.monotonic()
        self.ways: list[Callable[[AsyncClient, int], Awaitable[None]]] = [
            self.queries, self.prepares, self.dies_within_a_message, self.dies_while_it_waits,
            self.dies_in_a_transaction,
            self.cancels, self.aborts, self.copies, self.occupies, self.reads_much,
        ]  # fmt: skip

    async def run(self, seconds: float) -> None:
        """So many clients at a time, one after the other."""
        end = time.monotonic() + seconds
        await asyncio.gather(*(self._one_after_the_other(end) for _ in range(CLIENTS)))

    async def _one_after_the_other(self, end: float) -> None:
        while time.monotonic() < end:
            number = self.counts.total()
            way = self.chance.choice(self.ways)
            self.counts[way.__name__] += 1
            own = {"application_name": f"churn {number % 20}"}
            client = await AsyncClient.connect(self.daemon.socket, user="me", database=DATABASE, **own)
            try:
                assert values(await client.ask(query("show application_name"))) == list(own.values())
                await way(client, number)
            finally:
                client.abort()

    async def note(self) -> Noted:
        """Waits until everybody has left, and notes what the daemon occupies."""
        await auntil(lambda: not self.status()["clients"])
        await auntil(lambda: self.backends() is not None)
        backends = self.backends()
        assert backends is not None, self.status()
        assert backends <= BACKENDS, self.status()
        # A connection that only asks for the status, or that is just closed, may be among the files for a moment.
        with contextlib.suppress(AssertionError):
            await auntil(lambda: self.files() - backends <= self.spare)
        assert self.files() - backends <= self.spare, (self.files(), backends, self.spare)
        self.spare = min(self.spare, self.files() - backends)
        # What a client has left behind does not run on.
        busy = "select query from pg_stat_activity where application_name like 'churn %' and state <> 'idle'"
        with headrace.connect(self.daemon.server.url, autocommit=True) as admin:
            assert admin.fetch(busy) == []
        memory = int(Path(f"/proc/{self.process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return Noted(round(time.monotonic() - self.began), self.counts.total(), memory >> 10, self.files(), backends)

    def files(self) -> int:
        """The daemon's open files."""
        return len(os.listdir(f"/proc/{self.process}/fd"))

    def backends(self) -> int | None:
        """The server connections, once all of them are idle."""
        pools = self.status()["pools"]
        return sum(pool["open"] for pool in pools) if all(pool["open"] == pool["idle"] for pool in pools) else None

    def status(self) -> Any:
        """The status of the daemon."""
        with socket.socket(socket.AF_UNIX) as raw:
            raw.connect(f"{self.daemon.socket}.http")
            raw.sendall(b"GET /status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            received = b""
            while block := raw.recv(65536):
                received += block
        return json.loads(received.partition(b"\r\n\r\n")[2])

    async def queries(self, client: AsyncClient, number: int) -> None:
        """A few queries, and a goodbye."""
        for n in range(5):
            assert values(await client.ask(query(f"select {number + n}"))) == [str(number + n)]
        client.close()

    async def prepares(self, client: AsyncClient, number: int) -> None:
        """Statements that others have, too."""
        for n in range(5):
            text = self.chance.randrange(TEXTS)
            request = parse(f"s{n}", f"select $1::int + {text}") + bind(f"s{n}", str(number)) + EXECUTE + SYNC
            assert values(await client.ask(request)) == [str(number + text)]
        client.close()

    async def dies_within_a_message(self, client: AsyncClient, number: int) -> None:
        """Its last message is not complete."""
        request = parse("s", f"select {number}") + bind("s") + EXECUTE + SYNC
        client.transport.write(request[: self.chance.randrange(1, len(request))])

    async def dies_while_it_waits(self, client: AsyncClient, number: int) -> None:
        """Nobody reads the answer."""
        client.transport.write(query("select pg_sleep(60)"))
        await asyncio.sleep(self.chance.random() / 20)

    async def dies_in_a_transaction(self, client: AsyncClient, number: int) -> None:
        """Its transaction is open."""
        await client.ask(query(f"begin; insert into churned values ({number})"))

    async def cancels(self, client: AsyncClient, number: int) -> None:
        """Its query is cancelled by a second connection, as often as it takes."""
        answer = asyncio.ensure_future(client.ask(query("select pg_sleep(60)")))
        while not answer.done():
            _, other = await asyncio.get_running_loop().create_unix_connection(AsyncClient, str(self.daemon.socket))
            other.transport.write(struct.pack("!iiii", 16, 80877102, *client.key))
            await asyncio.wait([answer], timeout=0.05)
            other.abort()
        assert sqlstates(await answer) == ["57014"]
        client.close()

    async def aborts(self, client: AsyncClient, number: int) -> None:
        """Errors, in a transaction and in the extended protocol."""
        assert sqlstates(await client.ask(query("begin; select 1 / 0"))) == ["22012"]
        assert sqlstates(await client.ask(query("select 1"))) == ["25P02"]
        await client.ask(query("rollback"))
        assert sqlstates(await client.ask(parse("s", "selct") + bind("s") + EXECUTE + SYNC)) == ["42601"]
        client.close()

    async def copies(self, client: AsyncClient, number: int) -> None:
        """A COPY that is rolled back."""
        rows = b"".join(message(b"d", f"{n}\n".encode()) for n in range(200)) + message(b"c", b"")
        request = query("begin; copy churned from stdin") + rows + query("rollback")
        assert not sqlstates(await client.ask(request, answers=2))
        client.close()

    async def occupies(self, client: AsyncClient, number: int) -> None:
        """State of a session that is not shared."""
        await client.ask(query(f"create temp table mine as select {number} as n; listen churn; set work_mem to '5MB'"))
        assert values(await client.ask(query("select n from mine"))) == [str(number)]

    async def reads_much(self, client: AsyncClient, number: int) -> None:
        """A megabyte, which one of two does not read to its end."""
        rows = query("select repeat('x', 10000) from generate_series(1, 100)")
        if number % 2:
            client.transport.write(rows)
            await asyncio.sleep(0.005)
            return
        assert len(values(await client.ask(rows))) == 100
        client.close()


def program() -> Path:
    """The daemon, optimised."""
    subprocess.run(["cargo", "build", "--quiet", "--release", "--package", "headrace-daemon"], cwd=ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "headraced"


async def churn(daemon: Daemon, seconds: float, every: float, seed: int) -> list[Noted]:
    """Runs for so long, and notes every so many seconds what the daemon occupies."""
    with headrace.connect(daemon.server.url, autocommit=True) as admin:
        admin.executescript("drop table if exists churned; create table churned (n int)")
    churning, noted = Churn(daemon, seed), []
    while churning.began + seconds > time.monotonic() or len(noted) < 4:
        await churning.run(every)
        noted.append(await churning.note())
        print(json.dumps(asdict(noted[-1])), flush=True)
    with headrace.connect(daemon.server.url) as admin:
        assert admin.fetchval("select count(*) from churned") == 0
    print(json.dumps(churning.counts), flush=True)
    return noted


def main() -> None:
    """The long form."""
    parser = argparse.ArgumentParser(prog="daemon.churn", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--every", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with postgres() as server, tempfile.TemporaryDirectory(prefix="headraced-") as made:
        text = config(server, app=f"pool_size = {BACKENDS}\nqueue_wait = 120")
        with started(program(), Path(made), text, server) as daemon:
            asyncio.run(churn(daemon, given.seconds, given.every, given.seed))


if __name__ == "__main__":
    main()
