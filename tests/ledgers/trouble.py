"""What befalls the sessions of a ledger: one at a time, in an order that the seed determines."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import headrace
from ends.way import WHERE, Way
from servers import Database

from .servers import Restarting

if TYPE_CHECKING:
    from .work import Work

AWAY = 0.3
"""Seconds for which a server cannot be reached, where it is not started again."""
BETWEEN = (0.01, 0.15)
"""Seconds between two of them."""
MOST = 6
"""Blocks of a client, at one of which its connection is ended."""


class Trouble:
    """A thread that makes it."""

    def __init__(
        self,
        db: Database,
        url: Callable[[int], str],
        way: Way,
        chance: random.Random,
        work: Work,
        server: Restarting | None,
        every: float,
    ) -> None:
        self.db = db
        self.url = url
        self.way = way
        self.chance = chance
        self.work = work
        self.server = server
        self.every = every
        """Seconds from one failover to the next."""
        self.counts: Counter[str] = Counter()
        self.failed: list[BaseException] = []
        self._admin: Any = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="trouble", daemon=True)

    @contextlib.contextmanager
    def made(self) -> Iterator[None]:
        """Makes trouble in the meantime."""
        self._thread.start()
        try:
            yield
        finally:
            self._stop.set()
            self._thread.join(120)
            assert not self._thread.is_alive(), "the trouble goes on"
            self.way.disarm()

    def _run(self) -> None:
        try:
            kinds = [self.cut, self.cut_at_a_message, self.cut_at_a_message, self.cancel_by_the_client]
            if self.db.supports_killing:
                kinds += [self.kill, self.kill]
            if self.db.cancelling is not None:
                kinds += [self.cancel, self.cancel]
            if self.work.daemons:
                kinds += [self.kill_the_daemon]
            due = time.monotonic() + self.every * self.chance.uniform(0.3, 0.6)
            while not self._stop.wait(self.chance.uniform(*BETWEEN)):
                one = self.chance.choice(kinds)
                if time.monotonic() > due:
                    one, due = self.fail_over, time.monotonic() + self.every * self.chance.uniform(0.7, 1.3)
                self.counts[one.__name__] += one() is not False
        except BaseException as error:
            self.failed.append(error)
        finally:
            if self._admin is not None:
                self._admin.close()

    def admin(self) -> Any:
        """A connection that is none of the ledger's."""
        if self._admin is None or self._admin.closed:
            self._admin = headrace.connect(self.url(self.way.target), autocommit=True, command_timeout=30)
        return self._admin

    def kill(self) -> bool:
        """Has the server end a session."""
        numbers = self.db.sessions(self.admin(), self.work.used(is_direct=True))
        if numbers:
            self.db.end(self.admin(), self.chance.choice(numbers), self.way.target)
        return bool(numbers)

    def cancel(self) -> bool:
        """Has the server end what a session executes, which may have ended in the meantime."""
        assert self.db.cancelling is not None
        numbers = self.db.sessions(self.admin(), self.work.used(is_direct=True))
        if numbers:
            with contextlib.suppress(headrace.Error):
                self.admin().executescript(self.db.cancelling.format(self.chance.choice(numbers)))
        return bool(numbers)

    def cancel_by_the_client(self) -> bool:
        """The same as a program does that has other threads."""
        blocking = [conn for conn in self.work.used() if not hasattr(conn, "set_autocommit")]
        if not blocking:
            return False
        with contextlib.suppress(headrace.Error):
            self.chance.choice(blocking).cancel()
        return True

    def cut(self) -> None:
        """Ends every connection."""
        self.way.cut()

    def cut_at_a_message(self) -> None:
        """Ends every connection at a message."""
        self.way.arm(self.chance.randint(1, MOST), self.chance.choice(WHERE))

    def kill_the_daemon(self) -> None:
        """Kills headraced, and starts it again in its place."""
        self.chance.choice(self.work.daemons).restart()

    def fail_over(self) -> None:
        """Ends the server, and passes what comes to its successor; or the server cannot be reached for a while."""
        if self._admin is not None:
            self._admin.close()
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            before, self.way.target = self.way.target, nobody.getsockname()[1]
            if self.server is not None:
                self.way.target = self.server.restart()
                self.way.cut()
                return
            self.way.cut()
            self._stop.wait(AWAY)
            self.way.target = before
