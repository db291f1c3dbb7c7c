"""The process that inserts."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from .job import Shift, clock
from .measure import SAMPLED_ROWS
from .producer import Source
from .schedule import Schedule
from .sessions.base import Fault


@dataclass(slots=True)
class Flight:
    """A block on its way."""

    block: Any
    due: int
    """0 where there is no schedule: it is due as soon as it can begin."""
    sent: int
    attempts: int = 0


def unmarked(stage: str) -> None:
    """For blocks whose stages are not measured."""


class Writer:
    """Inserts the rows of a step.

    A block is made, then room is made for it by waiting for the oldest one on its way, then it is sent. So with a depth
    of one the next block is made while the server works; with two the server also finds it waiting when it is done. A
    depth of zero waits for each block before the next is made.
    """

    def __init__(self, shift: Shift) -> None:
        step = shift.job.step
        self.shift = shift
        self.session = shift.session
        self.recorder = shift.recorder
        self.count = step.rows_per_commit
        self.every = max(1, SAMPLED_ROWS // self.count)
        self.blocks = step.rows // self.count or None
        self.schedule = Schedule(step.rate, self.count, shift.start)
        self.depth = 0
        self.flights: deque[Flight] = deque()
        self.answered = shift.start
        """When the last answer came."""
        self.inserted = 0
        self.source: Iterator[Any] = iter(())
        self.together = False
        """Whether blocks are made several at a time while the clock runs."""
        self.stack = ExitStack()

    def prepare(self) -> None:
        """What is done before the clock runs."""
        job, session = self.shift.job, self.session
        overlap = job.mode in ("overlap", "pregen")
        session.prepare_insert(job.strategy, job.table, self.count, overlap)
        if overlap and session.splits:
            self.depth = job.options.depth or session.depth
        source = Source(
            job.options,
            job.client,
            job.strategy,
            session.head(),
            session.binary_text,
            job.first,
            self.count,
            self.blocks,
        )
        if job.mode == "producer":
            made = self.stack.enter_context(source.made_elsewhere())
            # The first one also shows that the process has started.
            self.source = itertools.chain(list(itertools.islice(made, 1)), made)
            return
        if job.mode == "inline":
            self.source = source.one_by_one()
        else:
            self.together = job.mode == "overlap" and source.makes_together
            measured = self.recorder.stages.shared if self.together else None
            self.source = source.made_here(measured)
        if job.mode == "pregen":
            # Where the number of rows is not known the rate and the time are.
            enough = self.blocks or int(job.step.rate * job.step.seconds / self.count) + 2
            self.source = iter(list(itertools.islice(self.source, enough)))

    def start_at(self, start: int) -> None:
        """The clock runs from here."""
        self.schedule = Schedule(self.schedule.rate, self.count, start)
        self.answered = start

    async def work(self) -> dict[str, Any]:
        """Inserts until the rows are in or the time is up, and returns what was done."""
        n = 0
        with self.stack:
            while not self.shift.over(began := clock()) and await self._one(n, began):
                n += 1
            while self.flights:
                await self._finish()
        return {"rows": self.inserted, "due": self._due(n)}

    def _due(self, sent: int) -> int:
        """Rows that were due until the step's end; without a schedule those that were sent."""
        if not self.schedule.open or self.shift.counters.stopped:
            return sent * self.count
        due = self.schedule.due_by(self.shift.end - 1)
        return (due if self.blocks is None else min(due, self.blocks)) * self.count

    async def _one(self, n: int, began: int) -> bool:
        """Sends block number n; returns true if there was one, and time for it."""
        # Not the very first ones, which find a server that is idle.
        sampled = n > 1 and n % self.every == 0
        mark: Callable[[str], None] = self.recorder.stages.begin() if sampled else unmarked
        # Until when it is known for sure that the server had something to do.
        busy = began if self.flights else self.answered
        block = next(self.source, None)
        if block is None:
            return False
        if sampled and self.together:
            self.recorder.stages.share("generate")
        else:
            mark("generate")
        due = 0
        if self.schedule.open:
            due = self.schedule.due(n)
            if due >= self.shift.end or not await self._until(due):
                return False
            if not self.flights:
                busy = self.answered
            mark("rest")
        if sampled and self.flights:
            busy = await self._look(busy)
        while self.flights and len(self.flights) >= self.depth:
            busy = await self._finish()
        # Also where there was nothing to wait for: a figure of nothing is a figure.
        mark("wait")
        if sampled and self.flights:
            busy = await self._look(busy)
        await self.session.encode(block)
        mark("encode")
        await self.session.send()
        sent = clock()
        mark("send")
        idle = 0 if self.flights else sent - max(busy, due)
        self.flights.append(Flight(block, due, sent))
        if self.depth == 0:
            await self._finish()
            mark("wait")
        if sampled:
            self.recorder.watched(clock() - began, idle)
        return True

    async def _until(self, due: int) -> bool:
        """Waits until a block is due; returns true if the step goes on then."""
        while (now := clock()) < due:
            if self.flights:
                await self._finish()
            else:
                await self.session.sleep((due - now) / 1e9)
                if self.shift.over(clock()):
                    return False
        return True

    async def _look(self, busy: int) -> int:
        """Takes the answers that have come. Returns until when the server is known to have had something to do: now, or
        as before where it has answered everything."""
        while self.flights:
            now = clock()
            if not await self.session.arrived():
                return now
            await self._finish()
        return busy

    async def _finish(self) -> int:
        """Waits for the oldest block on its way; returns the time at which it was done."""
        flight = self.flights.popleft()
        try:
            rows = await self.session.wait()
        except Exception as error:
            fault = self.session.fault(error)
            if fault is None or not fault.retry or flight.attempts >= self.shift.job.options.retries:
                raise
            self.recorder.retried("insert", fault.code)
            flight.attempts += 1
            await self.session.encode(flight.block)
            await self.session.send()
            self.flights.append(flight)
            return clock()
        done = clock()
        if rows != self.count:
            raise Fault("count", f"the server reports {rows} inserted rows of a block of {self.count}", False)
        began = max(flight.sent, self.answered)
        self.recorder.note("insert", rows, flight.due or flight.sent, began, done)
        self.answered = done
        self.inserted += rows
        self.shift.counters.set_inserted(self.shift.job.client, self.inserted)
        return done
