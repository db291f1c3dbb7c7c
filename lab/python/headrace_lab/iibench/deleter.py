"""The process that deletes the oldest rows, as many as are inserted."""

from __future__ import annotations

from typing import Any, Final

from .job import NEVER, Shift, clock
from .schedule import Schedule
from .sessions.base import Fault

LOOK_SECONDS: Final = 0.000_5
"""How long it waits until it looks again whether there is something to delete."""
LOST_SECONDS: Final = 10.0
"""How long deletes may find nothing of the rows that are known to be there. Then the rows count as lost."""


class Deleter:
    """Deletes a block for each that the client's writer has inserted or, where there is a rate, when one is due."""

    def __init__(self, shift: Shift) -> None:
        self.shift = shift
        self.session = shift.session
        self.count = shift.job.step.rows_per_commit
        self.schedule = Schedule(shift.job.step.rate, self.count, shift.start)
        self.deleted = 0
        self.lowest = shift.job.lowest
        self.since_lowest = 0
        self.found = shift.start
        """When a delete last found something, or had nothing to find."""

    def prepare(self) -> None:
        """What is done before the clock runs."""

    def start_at(self, start: int) -> None:
        """The clock runs from here."""
        self.schedule = Schedule(self.schedule.rate, self.count, start)
        self.found = start

    async def work(self) -> dict[str, Any]:
        """Deletes until the step is over."""
        shift, job = self.shift, self.shift.job
        n = 0
        while job.step.rows == 0 or self.deleted < job.step.rows:
            now = clock()
            if shift.over(now):
                break
            if self.schedule.open:
                due = self.schedule.due(n)
                if due >= shift.end:
                    break
                if due > now:
                    await self.session.sleep(min((due - now), NEVER) / 1e9)
                    continue
                # Not more than its share: what it took beyond that, another deleter would look for in vain.
                count = min(self.count, job.step.rows - self.deleted) if job.step.rows else self.count
            else:
                # Others may have taken some of the rows that a delete was after, so that it is not always a block.
                due, count = 0, min(self.count, shift.counters.inserted(job.client) - self.deleted)
                if count <= 0:
                    await self.session.sleep(LOOK_SECONDS)
                    continue
            began = clock()
            rows = await shift.insist("delete", lambda: self._delete(count))  # noqa: B023
            done = clock()
            shift.recorder.note("delete", rows, due or began, began, done)
            self.deleted += rows
            # Another client may insert keys below those that it has deleted or seen: what it has taken from a sequence
            # is not yet used. So a delete that finds less than it asked for makes the next one begin at the start.
            self.lowest = self.lowest + rows if rows == count else job.lowest
            if rows or shift.counters.inserted(job.client) <= self.deleted:
                self.found = done
            elif done - self.found > LOST_SECONDS * 1e9:
                missing = shift.counters.inserted(job.client) - self.deleted
                raise Fault("count", f"{missing} rows that were inserted are not there to be deleted", False)
            shift.counters.set_deleted(job.client, self.deleted)
            shift.counters.set_lowest(job.client, self.lowest)
            n += 1
            self.since_lowest += 1
            if 0 < job.options.resync_get_min <= self.since_lowest:
                await self._ask_lowest()
        due_rows = self.deleted
        if self.schedule.open and not shift.counters.stopped:
            due_rows = self.schedule.due_by(shift.end - 1) * self.count
            if job.step.rows:
                due_rows = min(due_rows, job.step.rows)
        return {"rows": self.deleted, "due": due_rows}

    async def _delete(self, count: int) -> int:
        return await self.session.execute(self.session.database.delete(self.shift.job.table, count, self.lowest))

    async def _ask_lowest(self) -> None:
        """Asks for the lowest key. Without that each delete would begin further and further before it, among rows that
        are gone but not yet removed."""
        self.since_lowest = 0
        began = clock()
        found = await self.session.query(self.session.database.lowest(self.shift.job.table, self.lowest))
        self.shift.recorder.note("lowest key", 1, began, began, clock())
        if found and found[0][0] is not None:
            self.lowest = int(found[0][0])
            self.shift.counters.set_lowest(self.shift.job.client, self.lowest)
