"""Races that are run for their results, and not for their times."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from headrace_lab import race, roundtrips, workloads
from headrace_lab.cores import Halves
from headrace_lab.processes import Worker
from headrace_lab.roundtrips import CountingRelay

BRIEF = replace(race.SHORT, divisor=20)
"""The length of a race whose times nobody reads."""
IDLE = {name: ["idle"] for name, each in workloads.WORKLOADS.items() if each.one_query}
"""Cores of a plan that runs single queries once: what they return does not depend on the cores."""

LESS = {"pipeline": 200, "pipeline_execute": 200}
"""Sizes that are enough to see whether results are right, where 2,000 rows are not: some drivers take milliseconds for
each statement."""


FRESH = ("psqlpy",)
"""Those that begin each workload in a new process: what psqlpy writes without a transaction, after one of its own, is
not in the table that others read (0.13)."""


def less(chosen: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Workloads at sizes that are enough to see whether results are right: a batch of so many rows is copied too."""
    return [(name, LESS.get(name, min(size, 2_000))) for name, size in chosen]


def run(raced: race.Race, counted: Collection[str] = ()) -> dict[str, Any]:
    """Runs a race whose contestants keep their process from one workload to the next: starting them anew takes most of
    the time of a race with one round. They write first, while none of them has read anything: some leave the
    transaction of a query open, which would keep others from emptying the table. Round trips are counted of those
    ``counted``, in one process each. The server stays on all cores, as other tests go on using it."""
    kept: dict[str, Worker] = {}
    behind_relays: dict[str, tuple[Worker, CountingRelay]] = {}
    raced.plan.workloads = sorted(raced.plan.workloads, key=lambda one: one[0] not in workloads.WRITERS)

    @contextlib.contextmanager
    def workers(
        names: Sequence[str], url: str, schema: str, cores: Halves | None, database: str
    ) -> Iterator[list[Worker]]:
        for name in {*names}.intersection(FRESH, kept):
            kept.pop(name).stop()
        for name in names:
            if name not in kept:
                kept[name] = Worker(name, url, schema, cores, database)
        for name in names:
            _ = kept[name].info
        yield [kept[name] for name in names]

    def round_trips(
        name: str, url: str, sql: workloads.Sql, which: tuple[str, int], empty: Callable[[], None] | None
    ) -> float | None:
        if name not in counted:
            return None
        if name not in behind_relays:
            relay = roundtrips.relay_to(url, sql)
            through = roundtrips.through(url, relay.port)
            behind_relays[name] = Worker(name, through, sql.schema, database=sql.database), relay
        return roundtrips.counted(*behind_relays[name], which, empty)

    def drop(admin: Any) -> None:
        # They may hold locks on the tables.
        stop()
        tables_of_the_race(admin)

    def stop() -> None:
        while kept:
            kept.popitem()[1].stop()
        while behind_relays:
            worker, relay = behind_relays.popitem()[1]
            with relay:
                worker.stop()

    tables_of_the_race = raced.sql.drop
    raced.cores = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(race, "workers", workers)
        patch.setattr(race, "round_trips", round_trips)
        patch.setattr(raced.sql, "drop", drop)
        try:
            return raced.run()
        finally:
            stop()
