"""Runs the daemon's race: every client on every route in a process of its own, rounds interleaved over all of them."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import headrace
import headrace.testing
from headrace.testing import PostgresServer, ServerUnavailable

from ..cores import Halves, halves, pin, sides
from ..databases.postgresql import Statements
from ..processes import Process, awake, environment, process_cpu, server_cpu
from ..rounds import Length
from ..stats import iqr, median, percentile, ratio_interval
from . import golang
from . import workloads as w
from .clients import CLIENTS as IN_PYTHON
from .routes import BACKENDS, BEFORE, DIRECT, HEADRACED, ROUTES, Route, started

FULL: Final = Length(is_full=True, rounds=11)
SHORT: Final = Length(is_full=False, rounds=3, divisor=2)
SCHEMA_VERSION: Final = 2
"""Schema version of the JSON report. Since 2 it has ``full`` in place of ``short``."""
MODULE: Final = "headrace_lab.daemon.worker"
FLOOR: Final = "floor"
CLIENTS: Final = (*IN_PYTHON, "pgx")
MAX_CONNECTIONS: Final = 620
"""Of the server: 500 clients connect directly."""

Side = tuple[str, str]
"""A client and a route."""
SIDES: Final = tuple(f"{client}/{route}" for client in CLIENTS for route in ROUTES)
"""The names of single sides on the command line."""
Pass = tuple[str, int, str]
"""A workload, its size, and the cores."""


@dataclass
class Plan:
    """What is raced."""

    sides: Sequence[Side]
    workloads: Sequence[tuple[str, int]]
    length: Length

    @property
    def passes(self) -> list[Pass]:
        """The workloads on each kind of cores."""
        return [(name, size, kind) for name, size in self.workloads for kind in w.WORKLOADS[name].cores]

    def rounds_of(self, name: str) -> int:
        """The timed rounds of a workload."""
        return min(self.length.rounds, w.WORKLOADS[name].most_rounds)


@dataclass
class Times:
    """What one side did in one pass."""

    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    server_cpu: float = 0.0
    pooler_cpu: float = 0.0
    latencies: list[list[float]] = field(default_factory=list)
    error: str | None = None
    skipped: str | None = None
    wrong: str | None = None
    checked: bool = True

    @property
    def out(self) -> bool:
        """Returns true if it takes no further part."""
        return bool(self.error or self.skipped or self.wrong)


def race(
    plan: Plan,
    tell: Callable[[str, float], None],
    save: Callable[[dict[str, Any]], None] = lambda report: None,
) -> dict[str, Any]:
    """Races, and returns the report as the JSON has it.

    Args:
        plan: what is raced.
        tell: is called with what runs now, and with the share of the whole that is done.
        save: is called with the report so far whenever a workload is done.
    """
    names = [name for name in ROUTES if any(route == name for _, route in plan.sides)]
    with contextlib.ExitStack() as stack:
        tell("starting servers", 0.0)
        server = stack.enter_context(headrace.testing.postgres(settings={"max_connections": MAX_CONNECTIONS}))
        with headrace.connect(server.url, autocommit=True) as admin:
            for statement in w.SETUP:
                admin.execute(statement)
            settings = Statements("none").settings(admin)
        routes = stack.enter_context(started(names, server))
        running = stack.enter_context(_Running.of(plan, server, routes, tell))
        report: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "kind": "daemon",
            "environment": environment(settings) | {"halves": sides(running.cores)},
            "full": plan.length.is_full,
            "backends": BACKENDS,
            "routes": [{"route": route.name, "version": route.version} for route in routes],
            "clients": running.versions(),
            "unfinished": list(plan.passes),
            "results": [],
        }
        for key in plan.passes:
            times = running.race(key)
            report["results"] += [_result(plan, key, side, times) for side in plan.sides]
            report["unfinished"].remove(key)
            save(report)
        return report


def _command(client: str, url: str) -> list[str]:
    """What starts a client's process. Raises ServerUnavailable if it cannot be built."""
    if client in IN_PYTHON:
        return [sys.executable, "-m", MODULE, client, url]
    return [str(golang.program()), url]


class _Running:
    """The processes of a race."""

    def __init__(
        self, plan: Plan, server: PostgresServer, routes: Sequence[Route], tell: Callable[[str, float], None]
    ) -> None:
        self.plan = plan
        self.server = server
        self.routes = {route.name: route for route in routes}
        self.tell = tell
        self.cores = halves()
        self.workers: dict[Side, Process] = {}
        self.unavailable: dict[Side, str] = {}
        self.stack = contextlib.ExitStack()
        self.steps = sum(plan.rounds_of(name) + 1 for name, _, _ in plan.passes) * len(plan.sides)
        self.done = 0

    @classmethod
    @contextlib.contextmanager
    def of(cls, *given: Any) -> Iterator[_Running]:
        """Starts a process for each side, and ends them all."""
        running = cls(*given)
        with running.stack:
            for side in running.plan.sides:
                running._start(side)
            yield running

    def _start(self, side: Side) -> None:
        try:
            command = _command(side[0], self.routes[side[1]].url)
        except ServerUnavailable as error:
            self.unavailable[side] = str(error)
            return
        worker = self.workers[side] = Process("/".join(side), command)
        self.stack.callback(worker.stop)

    def versions(self) -> list[dict[str, Any]]:
        """The clients and their versions."""
        found = {client: worker.info.get("version", "") for (client, _), worker in self.workers.items()}
        return [{"client": client, "version": version} for client, version in found.items()]

    def race(self, key: Pass) -> dict[Side, Times]:
        """All rounds of a pass; the first warms up, and is not counted."""
        name, size, kind = key
        times = {side: Times() for side in self.plan.sides}
        clients = self._place(kind)
        with contextlib.ExitStack() as stack:
            if kind == w.APART:
                stack.enter_context(awake(os.cpu_count() or 1))
            bulk = {route: self._bulk(route, stack) for route in self.routes} if w.WORKLOADS[name].bulk else {}
            for side, mine in times.items():
                self._enter(side, mine, name)
            for number in range(self.plan.rounds_of(name) + 1):
                for side, mine in times.items():
                    self.tell(f"{name} {size:,} {'/'.join(side)}", self.done / self.steps)
                    self.done += 1
                    if mine.out:
                        continue
                    try:
                        with _streaming(bulk.get(side[1], [])):
                            self._round(key, side, mine, clients, number > 0)
                    except ClientFailed as error:
                        mine.error = str(error)
        return times

    def _enter(self, side: Side, mine: Times, name: str) -> None:
        if side in self.unavailable:
            mine.error = self.unavailable[side]
            return
        info = self.workers[side].info
        mine.error = info.get("error")
        mine.skipped = info.get("skips", {}).get(name)

    def _place(self, kind: str) -> frozenset[int] | None:
        """Puts every process on its cores, and returns those of the clients."""
        if self.cores is None:
            return None
        everywhere = self.cores.clients | self.cores.server
        cores = {w.SHARED: self.cores.shared, w.APART: self.cores}.get(kind, Halves(everywhere, everywhere))
        poolers = [route.pid for route in self.routes.values() if route.pid is not None]
        for pid in (self.server.pid, *poolers):
            pin(pid, cores.server)
        for worker in self.workers.values():
            pin(worker.process.pid, cores.clients)
        return cores.clients

    def _bulk(self, route: str, stack: contextlib.ExitStack) -> list[Process]:
        """The clients with batches: they stream only during the rounds of their route."""
        started: list[Process] = []
        for number in range(w.BULK_CLIENTS):
            started.append(Process(f"bulk {number}", _command(FLOOR, self.routes[route].url)))
            stack.callback(started[-1].stop)
        for process in started:
            _answer(process.info)
        return started

    def _round(self, key: Pass, side: Side, mine: Times, clients: frozenset[int] | None, counts: bool) -> None:
        name, size, _ = key
        workload = w.WORKLOADS[name]
        inner = workload.repeats(size, self.plan.length)
        queries = w.queries(name, size, inner)
        with contextlib.ExitStack() as stack:
            worker = self.workers[side]
            if name == "connect_cold":
                worker = Process(worker.name, _command(side[0], self.routes[side[1]].url), clients)
                stack.callback(worker.stop)
            _answer(worker.info)
            _answer(worker.ask({"do": "prepare", "workload": name, "size": size}))
            before = self._cpu(side[1])
            answer = _answer(
                worker.ask({"do": "round", "workload": name, "size": size, "inner": inner, "pause": workload.pause})
            )
            after = self._cpu(side[1])
            _answer(worker.ask({"do": "finish"}))
        mine.wrong = wrong(name, size, inner, answer)
        mine.checked = name != "count" or answer["count"] is not None
        if counts and not mine.wrong:
            seconds = sum(answer["latencies"]) if workload.latencies else answer["seconds"]
            mine.seconds.append(seconds / queries)
            mine.cpu.append(answer["cpu"] / queries)
            mine.latencies.append(answer["latencies"])
            # Of ended processes the clock of /proc ticks 100 times a second, so only the sum over all rounds has a
            # meaning.
            mine.server_cpu += (after[0] - before[0]) / queries
            mine.pooler_cpu += (after[1] - before[1]) / queries

    def _cpu(self, route: str) -> tuple[float, float]:
        """CPU seconds of the server and of the route's pooler."""
        pooler = self.routes[route].pid
        return server_cpu([self.server.pid]), 0.0 if pooler is None else process_cpu(pooler)


class ClientFailed(Exception):
    """A client's process answered with an error."""


def _answer(answer: dict[str, Any]) -> dict[str, Any]:
    if "error" in answer:
        raise ClientFailed(answer["error"])
    return answer


@contextlib.contextmanager
def _streaming(bulk: Sequence[Process]) -> Iterator[None]:
    """Lets the clients with batches stream as long as the block lasts."""
    for process in bulk:
        _answer(process.ask({"do": "bulk"}))
    try:
        yield
    finally:
        answers = [process.ask({"do": "stop"}) for process in bulk]
    for answer in answers:
        _answer(answer)


def wrong(name: str, size: int, inner: int, answer: dict[str, Any]) -> str | None:
    """What is wrong with a round's rows; None if nothing is."""
    if name == "count":
        right = len(w.right_rows(size)) * inner
        return None if answer["count"] in (None, right) else f"{answer['count']} rows counted instead of {right}"
    return None if answer["digest"] == w.expected(name, size, inner) else "other rows were returned"


def _result(plan: Plan, key: Pass, side: Side, times: dict[Side, Times]) -> dict[str, Any]:
    """One line: the times of an operation, and its ratios to the same client's direct route, to the same client through
    the other build of headraced, and to the floor of the same route."""
    (name, size, kind), (client, route), mine = key, side, times[side]
    workload = w.WORKLOADS[name]
    made: dict[str, Any] = {
        "workload": name, "size": size, "cores": kind, "client": client, "route": route, "rounds": len(mine.seconds),
        "queries": w.queries(name, size, workload.repeats(size, plan.length)), "error": mine.error,
        "skipped": mine.skipped, "disqualified": mine.wrong, "checked": mine.checked,
        "median_s": None, "iqr_s": None, "p50_s": None, "p99_s": None, "p99_iqr_s": None, "max_s": None,
        "client_cpu_s": None, "pooler_cpu_s": None, "server_cpu_s": None,
        "ratio_to_direct": None, "ratio_to_direct_ci": None, "ratio_to_floor": None, "ratio_to_floor_ci": None,
        "ratio_to_before": None, "ratio_to_before_ci": None,
    }  # fmt: skip
    if not mine.seconds or mine.out:
        return made
    made |= {"median_s": median(mine.seconds), "iqr_s": iqr(mine.seconds), "client_cpu_s": median(mine.cpu)}
    if not workload.bulk:
        # Beside clients with batches most of it is theirs.
        made["server_cpu_s"] = mine.server_cpu / len(mine.seconds)
        made["pooler_cpu_s"] = mine.pooler_cpu / len(mine.seconds) if route != DIRECT else None
    if workload.latencies:
        every = [time for round in mine.latencies for time in round]
        made |= {"p50_s": percentile(every, 50), "p99_s": percentile(every, 99), "max_s": max(every)}
        made["p99_iqr_s"] = iqr([percentile(round, 99) for round in mine.latencies])
    compared = [("direct", (client, DIRECT)), ("floor", (FLOOR, route))]
    if route == HEADRACED:
        compared.append(("before", (client, BEFORE)))
    for against, other in compared:
        theirs = times.get(other)
        if other != side and theirs is not None and theirs.seconds and not theirs.out:
            ratio, low, high = ratio_interval(mine.seconds, theirs.seconds)
            made |= {f"ratio_to_{against}": ratio, f"ratio_to_{against}_ci": [low, high]}
    return made
