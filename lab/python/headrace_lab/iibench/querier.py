"""The processes that query, and the one that keeps a transaction open."""

from __future__ import annotations

import random
from typing import Any, Final

from .databases.base import INDEXES, KEYS_PER_POINT_QUERY
from .job import Shift, clock
from .measure import SAMPLED_QUERIES
from .schedule import Schedule
from .writer import unmarked

LOOK_SECONDS: Final = 0.05
"""How often a process with nothing to do looks whether it is over."""


class Querier:
    """Asks range queries on each index in turn, or point queries by key."""

    def __init__(self, shift: Shift) -> None:
        job = shift.job
        self.shift = shift
        self.session = shift.session
        self.random = random.Random(f"{job.options.seed} {job.client} {job.number}")
        self.schedule = Schedule(job.step.query_rate, 1, shift.start)
        self.rows = 0
        options, database = job.options, shift.session.database
        self.highest_value = {
            "marketsegment": options.products, "registersegment": options.cashregisters, "pdc": options.max_price,
        }  # fmt: skip
        self.by_index = {
            index: database.range_query(job.table, index, "%s", options.rows_per_query)
            for index in list(INDEXES)[: options.num_secondary_indexes or len(INDEXES)]
        }
        self.order = list(self.by_index)
        self.by_key = database.point_query(job.table, ", ".join(["%s"] * KEYS_PER_POINT_QUERY))

    def prepare(self) -> None:
        """What is done before the clock runs."""

    def start_at(self, start: int) -> None:
        """The clock runs from here."""
        self.schedule = Schedule(self.schedule.rate, 1, start)

    def _next(self, n: int) -> tuple[str, tuple[int, ...]]:
        job = self.shift.job
        if job.step.point_queries:
            lowest = max(job.lowest, self.shift.counters.lowest(job.client))
            highest = max(lowest, job.highest + self.shift.counters.inserted(job.client))
            pick = self.random.random
            width = highest - lowest + 1
            return self.by_key, tuple([lowest + int(pick() * width) for _ in range(KEYS_PER_POINT_QUERY)])
        index = self.order[n % len(self.order)]
        return self.by_index[index], (int(self.random.random() * self.highest_value[index]),)

    async def work(self) -> dict[str, Any]:
        """Queries until the step is over."""
        shift, prepared = self.shift, self.shift.job.options.use_prepared_query
        n = 0
        while not shift.over(now := clock()):
            due = 0
            if self.schedule.open:
                due = self.schedule.due(n)
                if due >= shift.end:
                    break
                if due > now:
                    await self.session.sleep((due - now) / 1e9)
                    continue
            mark = shift.recorder.stages.begin() if n % SAMPLED_QUERIES == 0 else unmarked
            sql, args = self._next(n)
            mark("generate")
            began = clock()
            rows = len(await shift.insist("query", lambda: self.session.query(sql, args, prepared)))  # noqa: B023
            done = clock()
            mark("wait")
            shift.recorder.note("query", rows, due or began, began, done)
            self.rows += rows
            n += 1
        # It may have been stopped before the time was up, because all rows were in.
        due_queries = self.schedule.due_by(min(clock(), shift.end - 1)) if self.schedule.open else n
        return {"rows": self.rows, "queries": n, "due": due_queries}


class Transaction:
    """Keeps a transaction open, so that no row that it may still see can be removed, and begins another one after a
    while."""

    def __init__(self, shift: Shift) -> None:
        self.shift = shift

    def prepare(self) -> None:
        """What is done before the clock runs."""

    def start_at(self, start: int) -> None:
        """The clock runs from here."""

    async def work(self) -> dict[str, Any]:
        """Holds transactions until the step is over."""
        shift = self.shift
        held = 0
        while not shift.over(began := clock()):
            await shift.session.begin()
            until = began + round(shift.job.step.htap * 1e9)
            while not shift.over(now := clock()) and now < until:
                await shift.session.sleep(min(LOOK_SECONDS, (until - now) / 1e9))
            await shift.session.commit()
            shift.recorder.note("transaction", 0, began, began, clock())
            held += 1
        return {"rows": held, "due": held}
