"""A ledger: workers that store, each in one way after the other, and what befalls their sessions in the meantime."""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import threading
import time
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

import headrace
from company.shells import Now, Shell
from ends.way import Way
from headrace import errors
from servers import Database

from .book import ACCOUNTS, Book, Told, Unit, make_tables
from .servers import Restarting
from .trouble import Trouble
from .ways import WAYS, Known

WORKERS = 4
SIZE = 3
"""Connections of a pool: fewer than workers."""
STUCK = 15.0
"""Seconds that a statement may take, or a connection may be waited for: more than any server is away."""
PATIENCE = 0.5
"""Seconds that a pool waits at most before it tries to connect again: attempts fail often here."""
LIMIT = 60.0
"""Seconds that everything may take after its time."""
OPTIONS: dict[str, dict[str, Any]] = {
    "postgresql": {},
    "mysql": {"local_infile": True, "multi_statements": True},
    "informix": {"lock_wait": 5},
    "cubrid": {"lock_timeout": 5},
}
"""Keywords of connect, by driver."""
EXPECTED = (errors.OperationalError, errors.InFailedSqlTransaction, errors.QueryCanceled)
"""Classes of the errors of what befalls a session; any other one is a fault."""
REFUSALS = (errors.QueryCanceled, errors.DeadlockDetected, errors.SerializationFailure)
"""Errors of a statement that was executed by nobody."""
CANCELLED = 0.25
"""How many jobs are cancelled that are tasks."""
SOON = 0.02
"""Seconds within which they are, and within which statements time out that are to."""


class Job:
    """What a worker does once."""

    def __init__(self, work: Work, chance: random.Random, own: dict[bool, Any], name: str) -> None:
        self.work = work
        self.chance = chance
        self.name = name
        self.tasks = work.shell.tasks
        self.mark = work.db.mark
        self.insert = f"insert into journal values ({work.db.marks(5)})"
        self.units: list[Unit] = []
        self.is_one = False
        """All is one transaction that ends after a body."""
        self.is_requested = False
        """The end of the body was reached."""
        self.is_impatient = False
        self._own = own

    # what the ways use

    def few(self) -> int:
        """A small number."""
        return self.chance.randint(1, 3)

    def unit(self, parts: int = 1) -> Unit:
        """A transaction that begins."""
        unit = self.work.book.new(self.name, parts)
        self.units.append(unit)
        return unit

    def movement(self) -> tuple[int, int, int]:
        """Two accounts and an amount."""
        source, target = self.chance.sample(range(1, ACCOUNTS + 1), 2)
        return source, target, self.chance.randint(1, 5)

    def patience(self) -> float | None:
        """The timeout of a statement, which some do not meet."""
        if self.chance.random() > 0.05:
            return None
        self.is_impatient = True
        return self.chance.random() * SOON

    async def pause(self) -> None:
        """Lets what comes from outside find the session idle."""
        if self.chance.random() < 0.3:
            await self.work.shell.sleep(self.chance.random() * SOON)

    @contextlib.asynccontextmanager
    async def body(self) -> AsyncIterator[None]:
        """All that is stored in it is one transaction, whose end is requested after it."""
        self.is_one = True
        yield
        self.is_requested = True

    def stored(self, *units: Unit) -> None:
        """The program was told that these are stored."""
        for unit in units:
            unit.told = Told.STORED

    async def own(self, *, autocommit: bool) -> Any:
        """The worker's own connection."""
        conn = self._own.get(autocommit)
        if conn is None or conn.closed:
            if conn is not None:
                await conn.close()
            conn = self._own[autocommit] = await self.connect(autocommit=autocommit)
        self.work.uses(conn)
        return conn

    async def connect(self, *, autocommit: bool) -> Any:
        """A new connection."""
        conn = await self.work.shell.connect(self.work.url, autocommit=autocommit, **self.work.options)
        self.work.uses(conn)
        return conn

    @contextlib.asynccontextmanager
    async def lent(self, *, autocommit: bool) -> AsyncIterator[Any]:
        """A pool's connection."""
        async with self.work.pools[autocommit].connection() as conn:
            self.work.uses(conn)
            yield conn

    # what the worker uses

    def fail(self, error: BaseException) -> None:
        """Something of it was not told to be stored."""
        for unit in self.units:
            if unit.told is not Told.UNKNOWN:
                continue
            unit.error = f"{type(error).__name__}: {error}"[:200]
            if self.is_one:
                unit.told = Told.UNKNOWN if self.is_requested else Told.REFUSED
            elif unit is self.units[0] and unit is self.units[-1] and isinstance(error, REFUSALS):
                unit.told = Told.REFUSED

    async def tidy(self) -> None:
        """Leaves no transaction open in the worker's own connections."""
        for autocommit, conn in list(self._own.items()):
            try:
                await conn.rollback()
            except errors.Error:
                await conn.close()
                del self._own[autocommit]


def _at_port(url: str, usual: str, port: int) -> str:
    """A URL with another port."""
    return url.replace(f":{usual}/", f":{port}/", 1)


class Work:
    """A ledger of a database, in a shell."""

    def __init__(self, db: Database, shell: Shell, seed: int, server: Restarting | None) -> None:
        found = re.search(r":(\d+)/", db.url)
        assert found is not None
        self.direct = partial(_at_port, db.url, found[1])
        self.way = Way(int(found[1]))
        self.url = self.direct(self.way.port)
        self.db = db
        self.shell = shell
        self.seed = seed
        self.server = server
        self.options = {**OPTIONS[db.kind], "command_timeout": STUCK}
        if db.supports_unprepared:
            self.options["prepared"] = seed // 4 % 4 > 0
        self.book = Book()
        self.pools: dict[bool, Any] = {}
        self.errors: Counter[str] = Counter()
        self.names = [name for name, known in WAYS.items() if not known.drivers or db.kind in known.drivers]
        """The ways of this database."""
        self.examples: dict[str, str] = {}
        """Of each class of errors the first."""
        self.strange: list[str] = []
        self.progress = time.monotonic()
        self.trouble: Trouble | None = None
        self._used: dict[int, Any] = {}
        self._lock = threading.Lock()

    def run(self, seconds: float, every: float) -> list[str]:
        """Works for so long, with a failover about every so many seconds; returns the faults."""
        with headrace.connect(self.direct(self.way.target), autocommit=True) as admin:
            make_tables(admin, self.db.mark)
        chance = random.Random(f"{self.seed} trouble")
        self.trouble = Trouble(self.db, self.direct, self.way, chance, self.used, self.server, every)
        try:
            self.shell.run(self._run(seconds), seconds + LIMIT)
        finally:
            self.way.close()
        faults = [*map(str, self.trouble.failed), *self.strange]
        with headrace.connect(self.direct(self.way.target), autocommit=True) as admin:
            faults += self._left(admin)
            faults += self.book.faults(admin)
        return faults

    async def _run(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        async with contextlib.AsyncExitStack() as stack:
            for autocommit in (True, False):
                self.pools[autocommit] = await stack.enter_async_context(
                    self.shell.pool(
                        self.url,
                        min_size=0,
                        max_size=SIZE,
                        timeout=STUCK,
                        backoff_max=PATIENCE,
                        reset="discard" if self.seed // 2 % 2 and "discard" in self.db.resets.MODES else "rollback",
                        kwargs={"autocommit": autocommit, **self.options},
                    )
                )
            assert self.trouble is not None
            stack.enter_context(self.trouble.made())
            workers = [self._worker(number, end) for number in range(WORKERS)]
            await self.shell.together(workers, seconds + LIMIT / 2, lambda: self.progress)

    async def _worker(self, number: int, end: float) -> None:
        chance = random.Random(f"{self.seed} {number}")
        own: dict[bool, Any] = {}
        try:
            while time.monotonic() < end:
                name = chance.choice(self.names)
                job = Job(self, random.Random(chance.random()), own, name)
                await self._do(job, WAYS[name])
                self.progress = time.monotonic()
        finally:
            for conn in own.values():
                await conn.close()

    async def _do(self, job: Job, known: Known) -> None:
        began = time.monotonic()
        is_cancelled = self.shell.tasks and job.chance.random() < CANCELLED
        try:
            if is_cancelled:
                task = asyncio.ensure_future(known.run(job))
                await asyncio.wait([task], timeout=job.chance.random() * SOON)
                task.cancel()
                await task
            else:
                await known.run(job)
            self.errors["none"] += 1
            return
        except (*EXPECTED, TimeoutError) as error:
            job.fail(error)
            self.errors[type(error).__name__] += 1
            self.examples.setdefault(type(error).__name__, f"{job.name}: {error}")
            is_late = time.monotonic() - began > STUCK
            if is_late or (isinstance(error, TimeoutError) and not job.is_impatient):
                self.strange.append(f"{job.name} took {time.monotonic() - began:.1f} s: {type(error).__name__} {error}")
        except asyncio.CancelledError as error:
            job.fail(error)
            self.errors["cancelled"] += 1
            if not is_cancelled:
                raise
        except Exception as error:
            job.fail(error)
            self.strange.append(f"{job.name}: {''.join(traceback.format_exception(error))}")
        await job.tidy()

    def uses(self, conn: Any) -> None:
        """Notes a connection that trouble may befall."""
        found = conn.value if isinstance(conn, Now) else conn
        with self._lock:
            self._used[id(found)] = found
            if len(self._used) > 3 * WORKERS:
                self._used = {key: each for key, each in self._used.items() if not each.closed}

    def used(self) -> list[Any]:
        """Connections that are open, in the order of their first use."""
        with self._lock:
            return [conn for conn in self._used.values() if not conn.closed]

    def _left(self, admin: Any) -> Iterator[str]:
        """Sessions that the server still has, where it lists them."""
        end = time.monotonic() + LIMIT
        while (left := self.db.sessions(admin, [])) and time.monotonic() < end:
            time.sleep(0.02)
        if left:
            yield f"{len(left)} sessions are left"
