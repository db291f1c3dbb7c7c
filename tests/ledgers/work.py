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
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from typing import Any

import headrace
from company.shells import Now, Shell
from ends.way import Way
from headrace import errors
from headrace.compat.mysqldb import MySQLError
from servers import Database

from . import ways_alchemy, ways_facade
from .book import ACCOUNTS, Book, Told, Unit, make_tables
from .daemon import Daemon
from .places import OPTIONS, PLACES, STUCK, Alchemy, Place, cause
from .servers import Restarting
from .trouble import Trouble
from .ways import WAYS, Known

__all__ = ["ways_alchemy", "ways_facade"]

WORKERS = 4
LIMIT = 60.0
"""Seconds that everything may take after its time."""
CANCELLED = 0.25
"""How many jobs are cancelled that are tasks."""
SOON = 0.02
"""Seconds within which they are, and within which statements time out that are to."""

Own = dict[tuple["Place", bool], Any]
"""A worker's own connections: by what they go through, and whether in autocommit."""
NOTHING = "nothing before this"


class Job:
    """What a worker does once."""

    def __init__(
        self, work: Work, place: Place, chance: random.Random, own: Own, name: str, before: str = NOTHING
    ) -> None:
        self.work = work
        self.before = before
        """What the worker has done before."""
        self.place = place
        self.chance = chance
        self.name = name
        self.tasks = work.shell.tasks
        self.mark = place.mark
        self.insert = f"insert into journal values ({', '.join([place.mark] * 5)})"
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
        unit = self.work.book.new(self.said, parts)
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
        key = self.place, autocommit
        conn = self._own.get(key)
        if conn is None or self.place.is_closed(conn):
            if conn is not None:
                await self.closed(conn)
                del self._own[key]
            conn = self._own[key] = await self.connect(autocommit=autocommit)
        # What is stored next would not be a transaction of its own, and be lost with this one.
        assert not (autocommit and self.place.has_transaction(conn)), f"{self.before} has left a transaction open"
        return conn

    async def connect(self, *, autocommit: bool) -> Any:
        """A new connection."""
        return await self.place.connect(autocommit=autocommit)

    def lent(self, *, autocommit: bool) -> contextlib.AbstractAsyncContextManager[Any]:
        """A pool's connection."""
        return self.place.lent(autocommit=autocommit)

    @property
    def engine(self) -> Any:
        """SQLAlchemy's."""
        assert isinstance(self.place, Alchemy)
        return self.place.engine

    async def closed(self, conn: Any) -> None:
        """Closes a connection, which may be closed or lost already."""
        with contextlib.suppress(errors.Error, MySQLError):
            await conn.close()

    # what the worker uses

    @property
    def said(self) -> str:
        """What it is, for a fault."""
        return f"{self.name} through {self.place.name}"

    def fail(self, error: BaseException) -> None:
        """Something of it was not told to be stored."""
        for unit in self.units:
            if unit.told is not Told.UNKNOWN:
                continue
            unit.error = f"{type(error).__name__}: {error}"[:200]
            if self.is_one:
                unit.told = Told.UNKNOWN if self.is_requested else Told.REFUSED
            elif unit is self.units[0] and unit is self.units[-1] and self.place.is_refusal(error):
                unit.told = Told.REFUSED

    async def tidy(self) -> None:
        """Leaves no transaction open in the worker's own connections."""
        for key, conn in list(self._own.items()):
            try:
                await conn.rollback()
            except (errors.Error, MySQLError):
                await self.closed(conn)
                del self._own[key]


def _at_port(url: str, usual: str, port: int) -> str:
    """A URL with another port."""
    return url.replace(f":{usual}/", f":{port}/", 1)


class Work:
    """A ledger of a database, in a shell."""

    def __init__(
        self,
        db: Database,
        shell: Shell,
        seed: int,
        server: Restarting | None,
        places: Sequence[str] = (),
        ways: Sequence[str] = (),
    ) -> None:
        """
        Args:
            db: the database.
            shell: how the workers are run.
            seed: determines what is done, and what befalls it.
            server: the server, if it can be killed and started again.
            places: what the workers go through; all if there are none.
            ways: what they do; everything if there are none.
        """
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
        self.daemons: list[Daemon] = []
        self.errors: Counter[str] = Counter()
        known = [PLACES[name] for name in places or PLACES]
        self.places = [place(self) for place in known if place.is_for(self)]
        """What the workers go through."""
        self.choices = [(place, name) for place in self.places for name in place.ways() if name in (ways or WAYS)]
        """Each of their ways."""
        self.examples: dict[str, str] = {}
        """Of each class of errors the first."""
        self.strange: list[str] = []
        self.progress = time.monotonic()
        self.trouble: Trouble | None = None
        self.done: Counter[str] = Counter()
        """How many jobs have ended without an error, by the name of what they went through."""
        self._used: dict[int, tuple[Any, bool]] = {}
        self._lock = threading.Lock()

    def run(self, seconds: float, every: float) -> list[str]:
        """Works for so long, with a failover about every so many seconds; returns the faults."""
        with headrace.connect(self.direct(self.way.target), autocommit=True) as admin:
            make_tables(admin, self.db.mark)
            others = set(self.db.sessions(admin, []))
        chance = random.Random(f"{self.seed} trouble")
        self.trouble = Trouble(self.db, self.direct, self.way, chance, self, self.server, every)
        try:
            self.shell.run(self._run(seconds), seconds + LIMIT)
        finally:
            self.way.close()
        faults = [*map(str, self.trouble.failed), *self.strange]
        with headrace.connect(self.direct(self.way.target), autocommit=True) as admin:
            faults += self._left(admin, others)
            faults += self.book.faults(admin)
        return faults

    async def _run(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        async with contextlib.AsyncExitStack() as stack:
            for place in self.places:
                await stack.enter_async_context(place.opened())
            assert self.trouble is not None
            stack.enter_context(self.trouble.made())
            workers = [self._worker(number, end) for number in range(WORKERS)]
            await self.shell.together(workers, seconds + LIMIT / 2, lambda: self.progress)

    async def _worker(self, number: int, end: float) -> None:
        chance = random.Random(f"{self.seed} {number}")
        own: Own = {}
        before = NOTHING
        try:
            while time.monotonic() < end:
                place, name = chance.choice(self.choices)
                job = Job(self, place, random.Random(chance.random()), own, name, before)
                before = job.said
                await self._do(job, WAYS[name])
                self.progress = time.monotonic()
        finally:
            for conn in own.values():
                with contextlib.suppress(errors.Error, MySQLError):
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
            self.done[job.place.name] += 1
            return
        except Exception as error:
            job.fail(error)
            if not isinstance(cause(error), (*job.place.expected, TimeoutError)):
                self.strange.append(f"{job.said}: {''.join(traceback.format_exception(error))}")
                await job.tidy()
                return
            kind = type(cause(error)).__name__
            self.errors[kind] += 1
            self.examples.setdefault(f"{job.place.name}, {kind}", f"{job.name}: {error}")
            is_late = time.monotonic() - began > STUCK
            if is_late or (isinstance(error, TimeoutError) and not job.is_impatient):
                self.strange.append(f"{job.said} took {time.monotonic() - began:.1f} s: {type(error).__name__} {error}")
        except asyncio.CancelledError as error:
            job.fail(error)
            self.errors["cancelled"] += 1
            if not is_cancelled:
                raise
        await job.tidy()

    def daemon(self, target: str) -> Daemon:
        """A new one, which trouble may befall."""
        self.daemons.append(Daemon(target))
        return self.daemons[-1]

    def uses(self, conn: Any, *, is_direct: bool) -> None:
        """Notes a connection that trouble may befall, and whether the session is its own."""
        found = conn.value if isinstance(conn, Now) else conn
        with self._lock:
            self._used[id(found)] = found, is_direct
            if len(self._used) > 3 * WORKERS * len(self.places):
                self._used = {key: each for key, each in self._used.items() if not each[0].closed}

    def used(self, *, is_direct: bool = False) -> list[Any]:
        """Connections that are open, in the order of their first use; those whose session is their own, or all."""
        with self._lock:
            found = list(self._used.values())
        return [conn for conn, direct in found if not conn.closed and (direct or not is_direct)]

    def _left(self, admin: Any, others: set[int]) -> Iterator[str]:
        """Sessions that the server still has, where it lists them, but those of others, which were there before."""
        end = time.monotonic() + LIMIT
        while (left := set(self.db.sessions(admin, [])) - others) and time.monotonic() < end:
            time.sleep(0.02)
        if left:
            yield f"{len(left)} sessions are left:\n{self.db.described_sessions(admin)}"
