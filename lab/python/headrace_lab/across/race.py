"""Runs the race across databases: every driver in a process of its own, rounds interleaved over all of them."""

from __future__ import annotations

import contextlib
import secrets
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import headrace

from .. import databases as servers
from ..processes import Worker, environment
from ..stats import iqr, median, ratio_interval
from .databases import DATABASES, HEADRACE
from .workloads import expected, statements

SCHEMA_VERSION: Final = 1
"""Of the JSON."""
MODULE: Final = "headrace_lab.across.worker"

NOT_THERE: Final = (RuntimeError, OSError, subprocess.SubprocessError, headrace.Error)
"""What a server that cannot be started or reached raises: the others are raced all the same."""


@dataclass
class Plan:
    """What is raced. ``urls`` are servers of the user's own, by database; the others are started."""

    databases: Sequence[str]
    workloads: Sequence[str]
    rows: int
    rounds: int
    urls: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Times:
    """What one driver did in one workload."""

    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    error: str | None = None
    wrong: str | None = None


Side = tuple[str, str]
"""A database and a driver."""


def race(plan: Plan, tell: Callable[[str, float], None]) -> dict[str, Any]:
    """Races, and returns the report as the JSON has it. ``tell`` is called with what runs now, and with the share of
    the whole that is done. On each server there is one table more meanwhile, whose name no one else has."""
    table = f"headrace_across_{secrets.token_hex(4)}"
    sides: list[Side] = [(name, each.name) for name in plan.databases for each in (HEADRACE, DATABASES[name].usual)]
    times = {(workload, side): Times() for workload in plan.workloads for side in sides}
    settings: dict[str, Any] = {}
    surroundings = environment(settings)  # which is filled below
    with contextlib.ExitStack() as stack:
        workers: dict[Side, Worker] = {}
        for name in plan.databases:
            try:
                url = plan.urls.get(name) or stack.enter_context(servers.load(name).start())[0]
                settings[name] = stack.enter_context(_table(url, table, name))
            except NOT_THERE as error:
                for (_, side), mine in times.items():
                    if side[0] == name:
                        mine.error = f"no server: {error}"
                continue
            for each in (HEADRACE, DATABASES[name].usual):
                worker = workers[name, each.name] = Worker(each.name, url, table, None, name, MODULE)
                stack.callback(worker.stop)
        steps, done = len(times) * (plan.rounds + 1), 0
        for workload in plan.workloads:
            right = expected(workload, plan.rows)
            # The first round warms caches up, and is not counted.
            for number in range(plan.rounds + 1):
                for side, worker in workers.items():
                    tell(f"{workload} {' '.join(side)}", done / steps)
                    done += 1
                    _round(times[workload, side], worker, workload, plan.rows, right, number > 0)
        drivers = {side: worker.info.get("version", "") for side, worker in workers.items()}
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "across",
        "environment": surroundings,
        "rows": plan.rows,
        "urls": sorted(plan.urls),
        "drivers": [{"database": side[0], "driver": side[1], "version": version} for side, version in drivers.items()],
        "results": [_result(plan, workload, side, times) for workload in plan.workloads for side in sides],
    }  # fmt: skip


@contextlib.contextmanager
def _table(url: str, table: str, name: str) -> Any:
    """Makes the table for as long as the block lasts, and returns the server's settings."""
    with headrace.connect(url, autocommit=True) as admin:
        found = servers.load(name).Statements("none").settings(admin)
        admin.execute(f"CREATE TABLE {table} (id INT NOT NULL PRIMARY KEY, name VARCHAR(100), amount INT)")
    try:
        yield found
    finally:
        with contextlib.suppress(headrace.Error), headrace.connect(url, autocommit=True) as admin:
            admin.execute(f"DROP TABLE {table}")


def _round(times: Times, worker: Worker, workload: str, rows: int, right: dict[str, Any], counts: bool) -> None:
    if times.error is None:
        times.error = worker.info.get("error")
    if times.error is not None:
        return
    answer = worker.run(workload, rows, 1, True)
    if "error" in answer:
        times.error = answer["error"]
    elif answer["digest"] != right["digest"]:
        times.wrong = "other rows were selected"
    elif answer["state"] != right["state"]:
        times.wrong = f"the table holds {answer['state']}, not {right['state']}"
    elif counts:
        times.seconds.append(answer["seconds"])
        times.cpu.append(answer["cpu"])


def _result(plan: Plan, workload: str, side: Side, times: Mapping[tuple[str, Side], Times]) -> dict[str, Any]:
    """One line: the times, against our driver on the same database, and against the first database through the same
    kind of driver."""
    mine, (database, driver) = times[workload, side], side
    made: dict[str, Any] = {
        "workload": workload, "database": database, "driver": driver, "ours": driver == HEADRACE.name,
        "statements": statements(workload, plan.rows), "rounds": len(mine.seconds), "error": mine.error,
        "disqualified": mine.wrong, "median_s": None, "iqr_s": None, "client_cpu_s": None,
        "ratio_to_ours": None, "ratio_to_ours_ci": None, "ratio_to_first": None, "ratio_to_first_ci": None,
    }  # fmt: skip
    if not mine.seconds or mine.error or mine.wrong:
        return made
    made |= {"median_s": median(mine.seconds), "iqr_s": iqr(mine.seconds), "client_cpu_s": median(mine.cpu)}
    first = plan.databases[0]
    kind = HEADRACE.name if driver == HEADRACE.name else DATABASES[first].usual.name
    for name, other in (("ours", (database, HEADRACE.name)), ("first", (first, kind))):
        against = times[workload, other]
        if other != side and against.seconds and not against.error and not against.wrong:
            ratio, low, high = ratio_interval(mine.seconds, against.seconds)
            made |= {f"ratio_to_{name}": ratio, f"ratio_to_{name}_ci": [low, high]}
    return made
