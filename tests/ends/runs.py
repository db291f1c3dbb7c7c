"""A run of a case: something is written, the session ends at one point of it, and then the table is compared with what
the program was told.

A case is a coroutine that is written once: :mod:`company.shells` runs it on asyncio connections or on blocking ones.
"""

from __future__ import annotations

import asyncio
import itertools
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import headrace
import headrace.aio
import headrace.mysql
from company.shells import Now, drive
from cutting import AFTER
from headrace.aio import AsyncConnectionPool
from headrace.pool import ConnectionPool
from long import every
from servers import Database

from .way import WHERE, Way

LIMIT = 30.0
"""Seconds that a run may take."""
TURNS = 12
"""Turns of a loop in which it has seen that a socket was shut down."""
MOST = 60
"""More points, or messages, than a case has."""
numbers = itertools.count(1)


class Place:
    """A database with a table ``ends (id)``, the way to it, and an administrator beside it."""

    def __init__(self, db: Database) -> None:
        self.db = db
        found = re.search(r":(\d+)/", db.url)
        assert found is not None
        self.port = int(found[1])
        self.way = self.make_way(self.port)
        self.url = db.url.replace(f":{found[1]}/", f":{self.way.port}/", 1)
        self.admin = db.connect(autocommit=True)
        self.admin.execute("drop table if exists ends")
        self.admin.execute("create table ends (id int)")
        self.sessions: list[Any] = []
        """Connections of the run, where the case has them."""

    def make_way(self, port: int) -> Way:
        """The way to the server."""
        return Way(port)

    def close(self) -> None:
        self.admin.close()
        self.way.close()

    def stored(self, after: int) -> Counter[int]:
        """The rows whose numbers are higher, and how often each is there."""
        return Counter(number for (number,) in self.admin.fetch(f"select id from ends where id > {after}"))

    def kill(self) -> None:
        """Has the server end all other sessions of this database. It has happened when this returns."""
        self.db.kill(self.admin, self.sessions, self.port)


class Kill:
    """How and where the session ends in a run."""

    name: str
    noticed = False
    """A loop sees that the session has ended before the case goes on."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.done = False

    @abstractmethod
    def point(self, place: Place, number: int) -> None:
        """The case has come to a point, the first of which is 0."""

    def is_done(self, place: Place) -> bool:
        """Returns true if the session was ended."""
        return self.done


class Cut(Kill):
    """By what is between client and server, without a word."""

    name = "cut"

    def end(self, place: Place) -> None:
        place.way.cut()

    def point(self, place: Place, number: int) -> None:
        if number == self.at:
            self.end(place)
            self.done = True


class CutNoticed(Cut):
    name, noticed = "cut and noticed", True


class Killed(Cut):
    """By the server, which says why where its protocol can."""

    name = "killed"

    def end(self, place: Place) -> None:
        place.kill()


class KilledNoticed(Killed):
    name, noticed = "killed and noticed", True


class AtMessage(Kill):
    """At a message, counted from the first point of the case."""

    where: str

    def point(self, place: Place, number: int) -> None:
        if number == 0:
            place.way.arm(self.at + 1, self.where)

    def is_done(self, place: Place) -> bool:
        return place.way.was_cut


KILLS: list[type[Kill]] = [
    Cut,
    CutNoticed,
    Killed,
    KilledNoticed,
    *(type("AtMessage", (AtMessage,), {"name": where, "where": where}) for where in WHERE),
]


def kinds_of(place: Place, loop: object) -> list[type[Kill]]:
    """How sessions end on a database: the test server of Informix ends none, and without a loop nothing is noticed
    between two calls."""
    return [
        kind
        for kind in KILLS
        if not (kind.noticed and loop is None) and not (issubclass(kind, Killed) and not place.db.supports_killing)
    ]


class Run:
    """What a case uses."""

    def __init__(self, place: Place, kill: Kill, tasks: bool) -> None:
        self.place = place
        self.db = place.db
        self.kill = kill
        self.tasks = tasks
        self.points = 0
        self.first = next(numbers)
        self.claimed: list[int] = []
        """Rows that are stored, unless an end raises an error."""
        self.kept: list[int] = []
        """Rows that are stored in any case: each was a transaction of its own, and answered."""

    def new(self) -> int:
        """The number of a row."""
        return next(numbers)

    def insert_of(self, number: int) -> str:
        """The statement that stores it."""
        return f"insert into ends values ({number})"

    async def insert(self, conn: Any) -> Any:
        """Stores a row, in whatever is open."""
        number = self.new()
        cursor = await conn.execute(self.insert_of(number))
        self.claimed.append(number)
        return cursor

    async def point(self) -> None:
        """The session may end here."""
        number, self.points = self.points, self.points + 1
        self.kill.point(self.place, number)
        if self.kill.noticed and self.tasks and self.kill.at == number:
            for _ in range(TURNS):
                await asyncio.sleep(0)

    async def connect(self, **keywords: Any) -> Any:
        """A connection."""
        keywords = {"command_timeout": LIMIT / 2, **keywords}
        if self.tasks:
            conn: Any = await headrace.aio.connect(self.place.url, **keywords)
            self.place.sessions.append(conn)
            return conn
        conn = headrace.connect(self.place.url, **keywords)
        self.place.sessions.append(conn)
        return Now(conn)

    def pool(self, **keywords: Any) -> Any:
        """A pool of one connection, to be entered."""
        kind: Any = AsyncConnectionPool if self.tasks else ConnectionPool
        made = kind(self.place.url, min_size=1, max_size=1, kwargs=keywords)
        return made if self.tasks else Now(made)

    async def lent(self, conn: Any) -> Any:
        """A pool's connection, which the administrator is told of."""
        self.place.sessions.append(conn if self.tasks else conn.value)
        return conn

    def faults(self, error: BaseException | None) -> Iterator[str]:
        """What is not as the program was told."""
        stored = self.place.stored(self.first)
        if error is None and (lost := [number for number in self.claimed if not stored[number]]):
            yield f"NO ERROR, and {len(lost)} of {len(self.claimed)} rows are lost"
        if lost := [number for number in self.kept if not stored[number]]:
            yield f"{len(lost)} rows are lost that were a transaction of their own"
        if double := [number for number, times in stored.items() if times > 1]:
            yield f"{len(double)} rows are stored twice"
        if error is not None and not self.kill.is_done(self.place):
            yield f"an error without a reason: {type(error).__name__}: {error}"


Case = Callable[[Run], Awaitable[None]]


def run_once(
    place: Place,
    case: Case,
    kill: Kill,
    loop: asyncio.AbstractEventLoop | None,
    raised: type[Exception] | tuple[type[Exception], ...] = headrace.Error,
) -> list[str]:
    """Runs a case, whose errors are of the class ``raised``; returns its faults."""
    run = Run(place, kill, loop is not None)
    place.sessions.clear()
    error: BaseException | None = None
    try:
        if loop is None:
            drive(_whole(case, run))
        else:
            loop.run_until_complete(asyncio.wait_for(_whole(case, run), LIMIT))
    except raised as caught:
        error = caught
    found = list(run.faults(error))
    place.way.disarm()
    return found


async def _whole(case: Case, run: Run) -> None:
    try:
        await case(run)
    finally:
        for conn in run.place.sessions:
            closed = conn.close()
            if closed is not None:
                await closed


def run_everywhere(
    place: Place,
    case: Case,
    kind: type[Kill],
    loop: asyncio.AbstractEventLoop | None,
    raised: type[Exception] | tuple[type[Exception], ...] = headrace.Error,
) -> list[str]:
    """Runs a case with the session ending at its first point, at its second, and so on until it has no more. Before
    each third reply only, but in a long run: what the program is told there is what it is told after a cut."""
    found: list[str] = []
    for at in range(0, MOST, every(3) if kind.name == AFTER else 1):
        kill = kind(at)
        found += [f"{kind.name}, {at}: {fault}" for fault in run_once(place, case, kill, loop, raised)]
        if not kill.is_done(place):
            return found
    raise AssertionError("the case has no end")
