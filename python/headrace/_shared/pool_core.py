"""The decisions of a connection pool, for threads and for asyncio alike: no clock, no lock, no thread, no socket.

A shell passes events to the core, one at a time (under its lock, or on its loop) and with the time in
seconds; the core puts what is to be done about it into :attr:`PoolCore.actions`. The shell takes these and does them:

======================  ================================================================================
event                   what may follow
======================  ================================================================================
``open``, ``tick``      ``Connect`` up to the minimum; ``Discard`` what is dead, too old or idle too long
``checkout``            the connection itself, or None; ``Discard`` of those found unfit on the way
``enqueue``             ``Connect`` for the waiter; ``Fail`` where the queue is full
``connected``           ``Hand`` to the longest waiter, or it becomes idle
``connect_failed``      a pause that grows; ``Fail`` of all waiters when the pool stops, or can never connect
``checkin``             the mode of a reset to run, or None; ``Hand``, or ``Discard`` when in doubt
``reset_done``          the same, after the reset
``cancel``, ``refuse``  a waiter went away, before or after it was handed a connection
``close``, ``sever``    ``Discard`` of the idle and ``Fail`` of the waiting; ``Sever`` of what is still lent
======================  ================================================================================

A connection is in exactly one place: idle, lent (which includes being reset), or gone. While requests wait nothing is
idle, and who waits longest is served first.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, get_args

from .. import defaults
from ..errors import PoolClosed, PoolTimeout, ProgrammingError, TooManyRequests
from ..types import TransactionStatus
from .lease import dropped, end_lease, lends
from .modes import ResetMode
from .pool_actions import Action, C, Connect, Discard, Fail, Hand, Sever, W
from .pool_checks import copy_of_error, is_mistake
from .pool_settings import ClosedReason, LostReason, PoolStats, Settings

_CLOSED: tuple[ClosedReason, ...] = get_args(ClosedReason)
_LOST: tuple[LostReason, ...] = get_args(LostReason)


@dataclass(slots=True)
class _Entry(Generic[C]):
    connection: C
    expires: float
    generation: int
    since: float
    """When it became idle, or was lent."""
    lends: int = 0
    lend: Callable[[], C] | None = None
    """Makes what is lent for it; None for one of another package, which is lent itself."""
    lent: Any = None
    """What its borrower has, which is of no use to it afterwards."""
    reset_by: float | None = None
    """While it is being reset: when that must be over."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    started: float
    generation: int
    round: int


class PoolCore(Generic[C, W]):
    """See the module. ``W`` is what a shell waits with; it must be hashable by identity."""

    def __init__(self, settings: Settings, rng: Callable[[], float] = random.random) -> None:
        self.settings = settings
        self.actions: list[Action[C, W]] = []
        """What the shell is to do, in this order. It takes the list and leaves an empty one."""
        self.closed = True
        self.wakeup = math.inf
        """When ``tick`` should be called next."""
        self._rng = rng
        # The most recently used last, and used first: the others can age and go.
        self.idle = self._idle = list[_Entry[C]]()
        """The idle connections: those that are left to close if a pool was dropped."""
        self._lent: dict[int, _Entry[C]] = {}
        # Still with their borrowers, who may yet bring them back: whether a transaction was open.
        self._severed: dict[int, bool] = {}
        self._waiters: OrderedDict[W, float] = OrderedDict()  # since when they wait
        self._attempts: dict[int, _Attempt] = {}
        self._numbers = itertools.count(1)
        self._generation = 0  # drain() and close() begin a new one; what is of an older one is replaced
        self._tick_at = math.inf
        # The outage, if there is one.
        self._failures = 0
        self._round: int = 0  # attempts that fail together count as one failure
        self._retry_at = 0.0
        self._paused_until = -math.inf
        self._failing_since = 0.0
        self._gave_up = False
        self._last_error: BaseException | None = None
        self.mistake: Exception | None = None
        """Why no connection could ever be made, where another attempt would meet the same."""
        # Statistics.
        self._requests = self._waits = self._timeouts = self._rejected = self._errors = self._opened = 0
        self._waited = self._used = self._connect_time = 0.0
        self._gone: dict[ClosedReason | LostReason, int] = {}

    # state

    @property
    def size(self) -> int:
        """Connections that are there."""
        return len(self._idle) + len(self._lent)

    @property
    def in_use(self) -> int:
        """Connections that are lent, or being reset."""
        return len(self._lent)

    @property
    def full(self) -> bool:
        """True if the minimum is there."""
        return self.size >= self.settings.min_size

    # opening and closing

    def open(self, now: float) -> None:
        """The pool may be used from here on."""
        self.closed = False
        self._recovered()
        self._tick_at = now + defaults.POOL_MAINTENANCE
        self._grow(now)

    def close(self, now: float) -> None:
        """No more checkouts. Who waits gets PoolClosed; what is lent may still come back, until ``sever``."""
        self.closed = True
        self._tick_at = self.wakeup = math.inf
        self._generation += 1
        self._discard_idle("shutdown")
        self._fail_waiters(now, lambda: PoolClosed("the pool was closed while the request waited"))

    def sever(self) -> None:
        """Takes back what is still lent."""
        for key, entry in self._lent.items():
            self._sever(key, entry, "shutdown")
        self._lent.clear()

    def drain(self, now: float) -> None:
        """Replaces every connection: the idle ones at once, the others when they come back."""
        self._generation += 1
        self._discard_idle("drain")
        self._grow(now)

    def resize(self, settings: Settings, now: float) -> None:
        """Other sizes: idle connections beyond the new maximum go at once, others when they come back."""
        self.settings = settings
        while self._idle and self.size > settings.max_size:
            self._discard(self._idle.pop(0), "surplus")
        self._grow(now)

    def check_severed(self, connection: C) -> None:
        """Raises PoolClosed for a borrower whose connection the pool has closed in the middle of a transaction."""
        if self._severed.get(id(connection)):
            raise PoolClosed("the pool was closed before the end of the block: what was not committed is lost")

    # lending

    def checkout(self, now: float) -> C | None:
        """Lends an idle connection that is fit to be used. None: the shell has to ``enqueue``, in the same step.

        Raises PoolClosed.
        """
        if self.closed:
            raise PoolClosed("the pool is not open: call open(), or use it as a context manager")
        self._requests += 1
        while self._idle:
            entry = self._idle[-1]
            why = self._unfit(entry, now)
            del self._idle[-1]
            if why is None:
                entry.since = now
                return self._lend(entry)
            self._discard(entry, why)
        return None

    def enqueue(self, waiter: W, now: float) -> None:
        """Adds a request to the end of the queue. It fails with TooManyRequests if the queue is full."""
        limit = self.settings.max_waiting
        if limit and len(self._waiters) >= limit:
            self._rejected += 1
            waiting = len(self._waiters)
            error = TooManyRequests(f"{waiting} requests wait for a connection already (max_waiting={limit})")
            self.actions.append(Fail(waiter, error))
        elif self.mistake is not None and now < self._retry_at:
            # The next attempt is not due yet.
            self.actions.append(Fail(waiter, copy_of_error(self.mistake)))
        else:
            self._waits += 1
            self._waiters[waiter] = now
            self._reclaim(now)
            self.encourage(now)
        self._grow(now)

    def encourage(self, now: float) -> None:
        """Notes that a connection is needed: a pool that had stopped connecting tries again, at once but with a single
        attempt."""
        if self._gave_up:
            self._gave_up = False
            self._failures = 1
            self._failing_since = self._retry_at = now
            self._grow(now)

    def cancel(self, waiter: W, now: float) -> bool:
        """A waiter goes away. False if it does not wait any more: it was handed a connection, or failed."""
        since = self._waiters.pop(waiter, None)
        if since is None:
            return False
        self._waited += now - since
        return True

    def expire(self, waiter: W, now: float, timeout: float) -> PoolTimeout | None:
        """A waiter's time is up. None if it does not wait any more."""
        if not self.cancel(waiter, now):
            return None
        return self.timed_out(timeout)

    def timed_out(self, timeout: float, cause: BaseException | None = None) -> PoolTimeout:
        """The error of a request that timed out: it has the state of the pool, and the last error of connecting."""
        self._timeouts += 1
        return self._timeout_error(f"no connection within {timeout:g} s", cause)

    def refuse(self, connection: C, now: float) -> None:
        """A connection was handed to a waiter that had gone: the next one gets it."""
        end_lease(connection)
        entry = self._lent.pop(id(connection), None)
        if entry is None:
            self._severed.pop(id(connection), None)
        else:
            entry.lent = None
            self._place(entry, now)

    def checkin(
        self, connection: C, status: TransactionStatus, now: float, at_least: ResetMode = "none"
    ) -> ResetMode | None:
        """A connection comes back, with the value of its ``transaction_status``.

        Returns the mode of the reset that it needs (then ``reset_done`` follows), at least ``at_least`` where it is in
        a transaction; or None where it needs none. Raises ProgrammingError for one that this pool has not lent.
        """
        entry = self._lent.get(id(connection))
        if entry is None or entry.reset_by is not None:
            if entry is None and self._severed.pop(id(connection), None) is not None:
                end_lease(connection)
                return None
            raise ProgrammingError("the connection does not belong to this pool, or was given back already")
        if entry.lend is not None:
            # What end_lease() does, without the frame and the look that it takes for connections of other packages.
            entry.lent._end_lease()
        connection = entry.connection
        is_idle = status == TransactionStatus.IDLE
        left_open = is_idle and connection.needs_reset
        if is_idle and not left_open and self.settings.reset != "discard" and not connection.broken:
            self._place(entry, now)
            return None
        mode = self.settings.reset
        if mode == "none":
            mode = at_least
        if connection.closed or connection.broken:
            self._place(entry, now, "broken")
        elif connection.streaming:
            # A reset would wait for its rows, which are never read.
            self._place(entry, now, "doubt")
        elif self._doomed(entry, now):
            # The server rolls back what is open when the connection ends: no reset needed.
            self._place(entry, now)
        elif mode != "none" or left_open:
            entry.reset_by = now + defaults.POOL_RESET_TIMEOUT
            return mode
        elif status in (TransactionStatus.INTRANS, TransactionStatus.INERROR) and not connection.needs_reset:
            self._place(entry, now)
        else:
            self._place(entry, now, "doubt")
        return None

    def to_reset(self, connection: C) -> C:
        """The connection to which the reset of what came back is to be done."""
        return self._lent[id(connection)].connection

    def reset_done(self, connection: C, fit: bool | None, now: float) -> None:
        """The reset is over; ``fit`` if it succeeded and left the connection idle, None if it was cancelled."""
        entry = self._lent.get(id(connection))
        if entry is None:
            self._severed.pop(id(connection), None)
        elif fit and not entry.connection.closed and not entry.connection.broken:
            entry.reset_by = None
            self._place(entry, now)
        else:
            if fit is None:
                self.pause(now)
            self._place(entry, now, "doubt")

    def discard(self, connection: C, error: BaseException, now: float) -> None:
        """A callback refused the connection that was about to be lent. A new one counts as a failure to connect, or a
        callback that refuses all would connect for ever without a pause."""
        end_lease(connection)
        entry = self._lent.get(id(connection))
        if entry is None:
            self._severed.pop(id(connection), None)
            return
        if entry.lends == 1:
            self._failed(self._round, error, now)
        self._place(entry, now, "refused")

    # connecting

    def connected(self, attempt: int, connection: C, now: float) -> None:
        """An attempt succeeded."""
        found = self._attempts.pop(attempt)
        self._opened += 1
        self._connect_time += now - found.started
        self._recovered()
        # Up to a tenth shorter, so that connections made together do not end together.
        lifetime = self.settings.max_lifetime
        expires = math.inf if lifetime is None else now + lifetime * (1 - defaults.POOL_LIFETIME_JITTER * self._rng())
        self._place(_Entry(connection, expires, found.generation, now, lend=lends(connection)), now)
        self._grow(now)

    def connect_failed(self, attempt: int, error: BaseException, now: float) -> None:
        """An attempt failed."""
        found = self._attempts.pop(attempt)
        self._errors += 1
        self._failed(found.round, error, now)
        self._grow(now)

    def connect_abandoned(self, attempt: int, now: float) -> None:
        """An attempt was given up by the shell; nothing is known about the server."""
        del self._attempts[attempt]
        self.pause(now)
        self._grow(now)

    def pause(self, now: float) -> None:
        """What the pool does in the background was cancelled, and not by the pool: its loop may be ending, which
        cancels all tasks, and would not wait for one that begins now. The next attempt to connect is a little later."""
        self._paused_until = now + self.settings.backoff

    # time

    def tick(self, now: float) -> None:
        """Time has passed: to be called at ``wakeup``, or any time."""
        if self.closed:
            return
        if now >= self._tick_at:
            self._tick_at = now + defaults.POOL_MAINTENANCE
            for entry in list(self._idle):
                why = self._unfit(entry, now)
                if why is not None:
                    self._idle.remove(entry)
                    self._discard(entry, why)
            self._reclaim(now)
            for key, entry in list(self._lent.items()):
                if entry.reset_by is not None and now >= entry.reset_by:
                    del self._lent[key]
                    self._sever(key, entry, "doubt")
        self._grow(now)

    def stats(self) -> PoolStats:
        """A snapshot."""
        return PoolStats(
            size=self.size,
            idle=len(self._idle),
            in_use=len(self._lent),
            connecting=len(self._attempts),
            waiting=len(self._waiters),
            min_size=self.settings.min_size,
            max_size=self.settings.max_size,
            requests=self._requests,
            waits=self._waits,
            wait_ms=self._waited * 1000,
            use_ms=self._used * 1000,
            connect_ms=self._connect_time * 1000,
            timeouts=self._timeouts,
            rejected=self._rejected,
            errors=self._errors,
            opened=self._opened,
            closed={why: self._gone[why] for why in _CLOSED if why in self._gone},
            lost={why: self._gone[why] for why in _LOST if why in self._gone},
        )

    # how it is decided

    def _unfit(self, entry: _Entry[C], now: float) -> ClosedReason | LostReason | None:
        """Why an idle connection must not be lent. The cheap questions first: the last one asks the kernel."""
        if now >= entry.expires:
            return "lifetime"
        limit = self.settings.max_idle
        if limit is not None and now - entry.since > limit and self.size > self.settings.min_size:
            return "idle"
        connection = entry.connection
        try:
            # Of our own connections check_alive() is false as well where they are closed.
            alive = connection.check_alive() and (
                entry.lend is not None or not (connection.closed or connection.broken)
            )
        except Exception:
            alive = False
        return None if alive else "dead"

    def _doomed(self, entry: _Entry[C], now: float) -> ClosedReason | None:
        """Why a connection that is not in the pool must not go into it."""
        if self.closed:
            return "shutdown"
        if entry.generation != self._generation:
            return "drain"
        if now >= entry.expires:
            return "lifetime"
        # Counted with this one, whether or not it is among the lent.
        if self.size + (entry.lent is None) > self.settings.max_size:
            return "surplus"
        return None

    def _lend(self, entry: _Entry[C]) -> C:
        entry.lends += 1
        connection: C
        connection = entry.lent = entry.connection if entry.lend is None else entry.lend()
        key = id(connection)
        if self._severed:
            # Of another object, which its borrower has dropped.
            self._severed.pop(key, None)
        self._lent[key] = entry
        return connection

    def _reclaim(self, now: float) -> None:
        """Closes connections whose borrowers have dropped them: by mistake, or because an interrupt came while they
        were lent or returned."""
        for entry in dropped(self._lent.values()):
            if entry.reset_by is None:
                self._place(entry, now, "doubt")

    def _place(self, entry: _Entry[C], now: float, why: LostReason | None = None) -> None:
        """A connection that is lent no more: the longest waiter's, or idle; closed if there is a reason ``why``."""
        if entry.lent is not None:
            del self._lent[id(entry.lent)]
            entry.lent = None
            self._used += now - entry.since
        ended = why or self._doomed(entry, now)
        if ended is not None:
            self._discard(entry, ended)
            self._grow(now)
            return
        entry.since = now
        if self._waiters:
            waiter, since = self._waiters.popitem(last=False)
            self._waited += now - since
            self.actions.append(Hand(waiter, self._lend(entry)))
        else:
            self._idle.append(entry)

    def _discard(self, entry: _Entry[C], why: ClosedReason | LostReason) -> None:
        self._gone[why] = self._gone.get(why, 0) + 1
        self.actions.append(Discard(entry.connection, why))

    def _discard_idle(self, why: ClosedReason) -> None:
        for entry in self._idle:
            self._discard(entry, why)
        self._idle.clear()

    def _sever(self, key: int, entry: _Entry[C], why: ClosedReason | LostReason) -> None:
        self._gone[why] = self._gone.get(why, 0) + 1
        status = entry.connection.transaction_status
        self._severed[key] = status not in (TransactionStatus.IDLE, TransactionStatus.UNKNOWN)
        self.actions.append(Sever(entry.connection, why))

    def _fail_waiters(self, now: float, error: Callable[[], Exception]) -> None:
        for waiter, since in self._waiters.items():
            self._waited += now - since
            self.actions.append(Fail(waiter, error()))
        self._waiters.clear()

    def _recovered(self) -> None:
        self._failures = 0
        self._gave_up = False
        self._last_error = None
        self.mistake = None

    def _failed(self, round: int, error: BaseException, now: float) -> None:
        """The server was out of reach in this round of attempts: the next one is later, and is a single attempt."""
        self._last_error = error
        if round != self._round:
            return
        self._round += 1
        if not self._failures:
            self._failing_since = now
        self._failures += 1
        settings = self.settings
        pause = min(settings.backoff_max, settings.backoff * 2 ** min(self._failures - 1, 30))
        self._retry_at = now + pause * (0.5 + self._rng() / 2)
        # A pool that has worked waits: a password may be in the middle of its change, and a name of its move.
        if not self._opened and isinstance(error, Exception) and is_mistake(error):
            mistake = self.mistake = error
            self._fail_waiters(now, lambda: copy_of_error(mistake))
            return
        self.mistake = None
        limit = settings.reconnect_timeout
        if limit is not None and now - self._failing_since >= limit and not self.closed:
            self._gave_up = True
            self._timeouts += len(self._waiters)
            self._fail_waiters(now, lambda: self._timeout_error(f"no connection could be made for {limit:g} s"))

    def _timeout_error(self, what: str, cause: BaseException | None = None) -> PoolTimeout:
        cause = cause or self._last_error
        text = f"{what}; {self.in_use} of {self.settings.max_size} connections are in use"
        if self._idle or self._attempts or self._waiters:
            more = {"are idle": self._idle, "are being made": self._attempts, "requests wait": self._waiters}
            text += "".join(f", {len(those)} {state}" for state, those in more.items() if those)
        if cause is not None:
            text += f"; the last attempt failed: {type(cause).__name__}: {cause}"
        error = PoolTimeout(text)
        error.__cause__ = cause
        return error

    def _grow(self, now: float) -> None:
        """Starts what attempts are due, and returns when to look again."""
        if self.closed:
            return
        settings = self.settings
        pending = len(self._attempts)
        wanted = min(
            max(settings.min_size - self.size, len(self._waiters)) - pending,
            settings.max_size - self.size - pending,
        )
        self.wakeup = self._tick_at
        if wanted <= 0 or self._gave_up:
            return
        if now < self._paused_until:
            self.wakeup = min(self.wakeup, self._paused_until)
            return
        if self._failures:
            # One attempt at a time finds out whether the server is back; the others would only keep it busy.
            if pending:
                return
            if now < self._retry_at:
                self.wakeup = min(self.wakeup, self._retry_at)
                return
            wanted = 1
        for _ in range(wanted):
            attempt = next(self._numbers)
            self._attempts[attempt] = _Attempt(now, self._generation, self._round)
            self.actions.append(Connect(attempt))
