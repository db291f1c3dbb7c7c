"""Races that are run for their results, and not for their times."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from headrace_lab import race, workloads
from headrace_lab.cores import Halves
from headrace_lab.processes import Worker

BRIEF = replace(race.SHORT, divisor=20)
"""The length of a race whose times nobody reads."""
IDLE = {name: ["idle"] for name, each in workloads.WORKLOADS.items() if each.one_query}
"""Cores of a plan that runs single queries once: what they return does not depend on the cores."""

LESS = {"pipeline": 200, "pipeline_execute": 200}
"""Sizes that are enough to see whether results are right, where 2,000 rows are not: some drivers take milliseconds for
each statement."""


def less(chosen: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Workloads at sizes that are enough to see whether results are right: a batch of so many rows is copied too."""
    return [(name, LESS.get(name, min(size, 2_000))) for name, size in chosen]


def run(raced: race.Race) -> dict[str, Any]:
    """Runs a race whose contestants keep their process from one workload to the next: starting them anew takes most of
    the time of a race with one round. Where they write, they start anew, as some of them leave a transaction open, and
    these workloads come last. The server stays on all cores, as other tests go on using it."""
    kept: dict[str, Worker] = {}
    raced.plan.workloads = sorted(raced.plan.workloads, key=lambda one: one[0] in workloads.WRITERS)
    writes = iter(name in workloads.WRITERS for name, _ in raced.plan.workloads)
    wrote = False

    @contextlib.contextmanager
    def workers(
        names: Sequence[str], url: str, schema: str, cores: Halves | None, database: str
    ) -> Iterator[list[Worker]]:
        nonlocal wrote
        if (writing := next(writes)) or wrote:
            stop()
        wrote = writing
        for name in names:
            if name not in kept:
                kept[name] = Worker(name, url, schema, cores, database)
        for name in names:
            _ = kept[name].info
        yield [kept[name] for name in names]

    def drop(admin: Any) -> None:
        # They may hold locks on the tables.
        stop()
        tables_of_the_race(admin)

    def stop() -> None:
        while kept:
            kept.popitem()[1].stop()

    tables_of_the_race = raced.sql.drop
    raced.cores = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(race, "workers", workers)
        patch.setattr(raced.sql, "drop", drop)
        try:
            return raced.run()
        finally:
            stop()
