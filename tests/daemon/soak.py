"""Thousands of clients that write a ledger through headraced, for as long as one likes, while operators and the server
do what they do: clients and server connections are killed, the configuration is read again, databases are paused and
resumed, server connections replaced, and new daemons take over. Each commit that a client was told of is stored,
nothing is stored in part, no client waits for ever or gets an error that nobody has caused, and the daemon's memory
does not grow.

    cd tests && ../.venv/bin/python -m daemon.soak --minutes 60
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import resource
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import headrace
from headrace.testing import postgres

from .churn import program
from .conftest import Daemon, config, started, take_over
from .raw import EXECUTE, SYNC, AsyncClient, bind, parse, query, sqlstates, values
from .test_status import ask

SIZES = (20, 30)
"""Server connections, in turn: a configuration that is read again has the other number."""
PART = 2
"""Rows of a transaction."""
STARTING = 100
"""Clients that connect at one time."""
WAIT_SECONDS = 60
"""How long a client waits for an answer before it counts as hung; longer than any pause."""
PAUSE_SECONDS = 1.0
TICK_SECONDS = 0.1
"""How often it is looked how late the clients themselves are: all of them are in one thread."""
SHOWN = 100
"""Faults that are printed at one time."""
ENDS = {"57P01", "HR005"}
"""What a client may be told that an operator or the server has ended: itself, or its server connection."""
GROWTH = 1.1
"""What the memory of the last third of a daemon's time may be of that of the second, in the median."""


class Ledger:
    """What was said of each transaction: the client that makes it numbers them."""

    def __init__(self) -> None:
        self.stored: set[int] = set()
        self.refused: set[int] = set()
        self.unknown: set[int] = set()

    def compare(self, found: Counter[int]) -> list[str]:
        """What is wrong with what is stored: the number of rows of each transaction."""
        faults = [f"{number} was committed and is missing" for number in self.stored if number not in found]
        faults += [f"{number} was not committed and is stored" for number in self.refused if number in found]
        faults += [f"{number} is stored in part: {rows}" for number, rows in found.items() if rows != PART]
        known = self.stored | self.unknown | self.refused
        return faults + [f"{number} is nobody's" for number in found if number not in known]


class Soak:
    """The clients, and what befalls them."""

    def __init__(self, daemon: Daemon, program: Path, given: argparse.Namespace) -> None:
        self.daemon, self.program, self.restarts = daemon, program, given.restarts
        self.clients, self.pause, self.every, seed = given.clients, given.pause, given.every, given.seed
        self.chance = random.Random(seed)
        self.ledger = Ledger()
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []
        self.numbers = iter(range(1, 1 << 40))
        self.memory: list[list[int]] = [[]]
        """Of each daemon, one after the other, in kB."""
        self.longest = 0.0
        self.late = 0.0
        """Seconds for which the clients' own thread did not look, at most, since the last note."""
        self.starting = asyncio.Semaphore(STARTING)

    async def run(self, seconds: float) -> None:
        """All of it, for so long."""
        end = time.monotonic() + seconds
        tasks = [self.work(number, end) for number in range(self.clients)]
        await asyncio.gather(self.trouble(end), self.restart(seconds), self.note(end), self.tick(end), *tasks)

    async def work(self, number: int, end: float) -> None:
        """One client after the other, in the place of a client."""
        ways = [self.block, self.script, self.prepared, self.rolled_back, self.reads]
        while time.monotonic() < end:
            client = await self.connect(number)
            while client is not None and time.monotonic() < end:
                await asyncio.sleep(self.chance.expovariate(1 / self.pause))
                way, began = self.chance.choice(ways), time.monotonic()
                try:
                    await asyncio.wait_for(way(client), WAIT_SECONDS)
                    self.counts[way.__name__] += 1
                except TimeoutError:
                    self.faults.append(f"{way.__name__} has waited for {WAIT_SECONDS} s")
                    break
                except ConnectionError:
                    break
                finally:
                    self.longest = max(self.longest, time.monotonic() - began)
            if client is not None:
                client.abort()

    async def connect(self, number: int) -> AsyncClient | None:
        """A client; None if it was ended before it was welcomed."""
        own = {"application_name": f"soak {number}"} if number % 10 == 0 else {}
        async with self.starting:
            try:
                connecting = AsyncClient.connect(self.daemon.socket, user="me", database="app", **own)
                client = await asyncio.wait_for(connecting, WAIT_SECONDS)
            except TimeoutError:
                self.faults.append(f"a client has waited for {WAIT_SECONDS} s for its welcome")
            except ConnectionError as error:
                if not any(state.encode() in str(error).encode() for state in ENDS):
                    self.faults.append(f"a client was not let in: {error}")
            else:
                self.counts["connected"] += 1
                return client
        await asyncio.sleep(self.pause)
        return None

    async def asks(self, client: AsyncClient, request: bytes, answers: int = 1) -> list[str]:
        """The SQLSTATEs of the answer. What ends the connection must be one of ENDS."""
        try:
            if client.closed.is_set():
                raise ConnectionError("it was ended between two requests")
            return sqlstates(await client.ask(request, answers))
        except ConnectionError:
            for state in sqlstates(bytes(client.received)):
                self.counts[f"ended: {state}"] += 1
                if state not in ENDS:
                    self.faults.append(f"a client was ended with {state}")
            raise

    async def writes(self, client: AsyncClient, request: Callable[[int], list[tuple[bytes, int]]]) -> None:
        """A transaction of PART rows; the last request commits it."""
        number = next(self.numbers)
        requests = request(number)
        committing = False
        try:
            for at, (each, answers) in enumerate(requests):
                committing = at == len(requests) - 1
                if states := await self.asks(client, each, answers):
                    # The server connection was terminated: its error is passed on, and the end follows.
                    self.counts[f"refused: {states[0]}"] += 1
                    if states[0] not in ENDS:
                        self.faults.append(f"a transaction was refused with {states}")
                    raise ConnectionError(states[0])
        except (ConnectionError, asyncio.CancelledError):
            (self.ledger.unknown if committing else self.ledger.refused).add(number)
            raise
        self.ledger.stored.add(number)

    async def block(self, client: AsyncClient) -> None:
        """Requests one after the other, with pauses of the client in between."""
        await self.writes(
            client,
            lambda number: [
                (query("begin"), 1),
                *[(query(f"insert into soaked values ({number})"), 1)] * PART,
                (query("commit"), 1),
            ],
        )

    async def script(self, client: AsyncClient) -> None:
        """All in one text."""
        insert = "insert into soaked values ({number});"
        await self.writes(
            client, lambda number: [(query("begin;" + insert.format(number=number) * PART + "commit"), 1)]
        )

    async def prepared(self, client: AsyncClient) -> None:
        """A statement that the client has prepared, in a pipeline."""
        group = parse("", "insert into soaked select $1::int8 from generate_series(1, 2)")
        await self.writes(client, lambda number: [(group + bind("", str(number)) + EXECUTE + SYNC, 1)])

    async def rolled_back(self, client: AsyncClient) -> None:
        """Nothing of it is stored."""
        number = next(self.numbers)
        self.ledger.refused.add(number)
        await self.asks(client, query(f"begin; insert into soaked values ({number}); rollback"))

    async def reads(self, client: AsyncClient) -> None:
        """What comes is the answer to what was asked."""
        number = self.chance.randrange(1 << 30)
        request = parse(f"s{number % 50}", f"select $1::int8 + {number % 50}") + bind(f"s{number % 50}", str(number))
        close = b"C" + (4 + 1 + len(f"s{number % 50}") + 1).to_bytes(4, "big") + f"Ss{number % 50}\0".encode()
        if states := await self.asks(client, request + EXECUTE + close + SYNC):
            if states[0] not in ENDS:
                self.faults.append(f"a question was refused with {states}")
            raise ConnectionError(states[0])
        if values(bytes(client.received)) != [str(number + number % 50)]:
            self.faults.append(f"a question was answered with {bytes(client.received)!r}")

    async def trouble(self, end: float) -> None:
        """Every few seconds something happens."""
        ways: list[Callable[[], Coroutine[Any, Any, None]]] = [
            self.kill_clients, self.terminate_backends, self.reload, self.reconnect, self.pause_and_resume,
        ]  # fmt: skip
        while time.monotonic() + self.every + PAUSE_SECONDS < end:
            await asyncio.sleep(self.every)
            way = self.chance.choice(ways)
            await way()
            self.counts[way.__name__] += 1

    async def order(self, path: str) -> str:
        """An order to the daemon; its answer."""
        code, text = await asyncio.to_thread(ask, self.daemon, "GET" if path == "/clients" else "POST", path)
        if code not in (200, 404):
            self.faults.append(f"{path}: {code} {text}")
        return text

    async def kill_clients(self) -> None:
        """One of a hundred."""
        clients = json.loads(await self.order("/clients"))
        for client in self.chance.sample(clients, max(1, len(clients) // 100)):
            # It may have left: 404.
            await self.order(f"/kill?client={client['id']}")

    async def terminate_backends(self) -> None:
        """The server ends half of its sessions."""

        def terminate() -> None:
            with headrace.connect(self.daemon.server.url, autocommit=True) as admin:
                admin.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend'"
                    " and pid <> pg_backend_pid() and pid % 2 = 0"
                )

        await asyncio.to_thread(terminate)

    async def reload(self) -> None:
        """Another number of server connections."""
        file = self.daemon.folder.parent / "headraced.toml"
        size = SIZES[(self.counts["reload"] + 1) % 2]
        file.write_text(settings(self.daemon, size))
        await self.order("/reload")

    async def reconnect(self) -> None:
        """All server connections are replaced."""
        await self.order("/reconnect")

    async def pause_and_resume(self) -> None:
        """All wait for a second."""
        await self.order("/pause?database=app")
        await asyncio.sleep(PAUSE_SECONDS)
        await self.order("/resume?database=app")

    async def restart(self, seconds: float) -> None:
        """New daemons take over, the first one after half of the time, so that the memory of one is seen for long."""
        await asyncio.sleep(seconds / 2)
        for _ in range(self.restarts):
            old = self.daemon.process
            self.daemon.process = await asyncio.to_thread(take_over, self.program, self.daemon.folder)
            self.memory.append([])
            self.counts["restart"] += 1
            await asyncio.sleep(seconds / 2 / (self.restarts + 1))
            if old.poll() != 0:
                self.faults.append(f"a daemon from which another one has taken over: {old.poll()}")
                old.kill()
            old.communicate()

    async def tick(self, end: float) -> None:
        """How late the clients are, whatever the daemon does."""
        while (now := time.monotonic()) < end:
            await asyncio.sleep(TICK_SECONDS)
            self.late = max(self.late, time.monotonic() - now - TICK_SECONDS)

    async def waiting(self) -> tuple[int, int]:
        """The clients that wait for a server connection, and the server connections that are lent."""
        code, text = await asyncio.to_thread(ask, self.daemon, "GET", "/pools")
        pools = json.loads(text) if code == 200 else []
        return sum(pool["waiting"] for pool in pools), sum(pool["open"] - pool["idle"] for pool in pools)

    async def note(self, end: float) -> None:
        """What the daemon occupies, how far the clients are, and what is wrong."""
        shown = 0
        while time.monotonic() < end:
            await asyncio.sleep(min(10.0, max(0.1, end - time.monotonic())))
            status = Path(f"/proc/{self.daemon.process.pid}/statm").read_text()
            self.memory[-1].append(int(status.split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 10)
            waiting, lent = await self.waiting()
            print(
                f"{self.memory[-1][-1]} kB, {len(self.ledger.stored)} committed, {waiting} wait, {lent} are served,"
                f" the clients were {self.late:.1f} s late, faults {len(self.faults)}",
                flush=True,
            )
            self.late = 0.0
            for fault in self.faults[shown : shown + SHOWN]:
                print("FAULT", fault, flush=True)
            shown = len(self.faults)

    def growth(self) -> float:
        """Of the daemon that has served longest, the memory of the last third as a part of that of the second. In the
        first one clients come that have statements and settings of their own later."""
        memory = max(self.memory, key=len)
        third = max(1, len(memory) // 3)
        return statistics.median(memory[-third:]) / statistics.median(memory[third : 2 * third] or memory)


def settings(daemon: Daemon, size: int) -> str:
    """A configuration with so many server connections."""
    return config(daemon.server, app=f"pool_size = {size}\nqueue_wait = {WAIT_SECONDS}")


async def soak(daemon: Daemon, program: Path, given: argparse.Namespace) -> list[str]:
    """Runs for as long as is given; returns what is wrong."""
    with headrace.connect(daemon.server.url, autocommit=True) as admin:
        admin.executescript("drop table if exists soaked; create table soaked (number int8)")
    soaking = Soak(daemon, program, given)
    await soaking.run(given.minutes * 60)
    with headrace.connect(daemon.server.url) as admin:
        found = Counter(dict(admin.fetch("select number, count(*) from soaked group by 1")))
    faults = soaking.faults + soaking.ledger.compare(found)
    if daemon.process.poll() is not None:
        faults.append(f"the daemon has ended: {daemon.process.returncode}")
    ledger = soaking.ledger
    print(json.dumps(soaking.counts), flush=True)
    print(
        f"{len(ledger.stored)} committed, {len(ledger.unknown)} of unknown outcome, {len(ledger.refused)} not;"
        f" longest answer {soaking.longest:.1f} s; memory of each daemon in kB"
        f" {', '.join(f'{each[0]} to {each[-1]}' for each in soaking.memory if each)};"
        f" last third / second third {soaking.growth():.3f}",
        flush=True,
    )
    if soaking.growth() > GROWTH:
        faults.append(f"the memory has grown: {soaking.memory}")
    return faults


def main() -> int:
    """The long form."""
    parser = argparse.ArgumentParser(prog="daemon.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--clients", type=int, default=2000)
    parser.add_argument("--pause", type=float, default=4, help="seconds of a client between its requests, on average")
    parser.add_argument("--every", type=float, default=3, help="seconds between troubles")
    parser.add_argument("--restarts", type=int, default=3, help="daemons that take over, in the second half")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", type=Path, help="headraced; built optimised by default")
    given = parser.parse_args()
    files = given.clients + 500
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, max(files, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    with postgres() as server, tempfile.TemporaryDirectory(prefix="headraced-") as made:
        text = config(server, app=f"pool_size = {SIZES[0]}\nqueue_wait = {WAIT_SECONDS}")
        headraced = given.program or program()
        with started(headraced, Path(made), text, server) as daemon:
            try:
                faults = asyncio.run(soak(daemon, headraced, given))
            finally:
                daemon.process.kill()
                daemon.process.wait()
    for fault in faults[:SHOWN]:
        print("FAULT", fault)
    print(f"{len(faults)} faults")
    return min(len(faults), 1)


if __name__ == "__main__":
    sys.exit(main())
