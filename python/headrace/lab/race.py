"""Runs a race: every contestant in a process of its own, rounds interleaved (A B C A B C ...)."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import headrace

from . import workloads as w
from .stats import iqr, median, percentile, ratio_interval

ROUNDS = 15
QUICK_ROUNDS = 5
WARM_UP = 1
"""Rounds run and thrown away at first."""


@dataclass
class Plan:
    """What is raced."""

    contestants: Sequence[str]
    workloads: Sequence[tuple[str, int]]
    rounds: int
    quick: bool


@dataclass
class Times:
    """What one contestant did in one workload."""

    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    server_cpu: list[float] = field(default_factory=list)
    rss: int = 0
    digest: str | None = None
    reached: bool = False
    latencies: list[float] = field(default_factory=list)
    error: str | None = None


class Worker:
    """A contestant's process."""

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
        command = [sys.executable, "-m", "headrace.lab.worker", name, url]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.info = self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            assert self.process.stderr is not None
            raise RuntimeError(f"the contestant {self.name} ended: {self.process.stderr.read()[-2000:]}")
        return json.loads(line)  # type: ignore[no-any-return]

    def run(self, workload: str, size: int, inner: int, digest: bool) -> dict[str, Any]:
        """One round."""
        assert self.process.stdin is not None
        request = {"workload": workload, "size": size, "inner": inner, "digest": digest}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def stop(self) -> None:
        """Ends the process."""
        with contextlib.suppress(OSError):
            if self.process.stdin:
                self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()


def server_cpu(pid: int | None) -> float:
    """CPU seconds of a server's postmaster, its living children and the ended ones. 0 where it is not ours."""
    if pid is None:
        return 0.0
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = stat.read_text().rpartition(")")[2].split()
            if stat.parent.name == str(pid):
                ticks += sum(map(int, fields[11:15]))
            elif fields[1] == str(pid):
                ticks += sum(map(int, fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def awake(cores: int) -> Iterator[None]:
    """Keeps the cores from going to sleep, by processes that run only where nothing else wants to."""
    code = "import os; os.nice(19)\nos.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\nwhile True: pass"
    spinners = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(cores)]
    try:
        time.sleep(0.2)
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def environment(connection: headrace.Connection[Any]) -> dict[str, Any]:
    """What the figures depend on."""
    settings = (
        "shared_buffers",
        "fsync",
        "synchronous_commit",
        "jit",
        "max_connections",
        "server_version",
        "ssl",
    )
    cpu = ""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return {
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "system": platform.platform(),
        "cpu": cpu,
        "cores": os.cpu_count(),
        "server": {name: connection.fetchval("SELECT current_setting($1)", name) for name in settings},
    }


class Race:
    """One run on one server."""

    def __init__(self, url: str, plan: Plan, server_pid: int | None, tell: Callable[[str, float], None]) -> None:
        self.url = url
        self.plan = plan
        self.server_pid = server_pid
        self.tell = tell
        self.admin = headrace.connect(url, autocommit=True)
        self.times: dict[tuple[str, int, str, str], Times] = {}
        self.workers: list[Worker] = []
        self.steps = 0
        self.done = 0

    def run(self) -> dict[str, Any]:
        """Races, and gives the report as the JSON has it."""
        try:
            for statement in w.setup_statements():
                self.admin.execute(statement)
            self.admin.execute("VACUUM ANALYZE")
            report = {"schema_version": 1, "environment": environment(self.admin), "quick": self.plan.quick}
            self.workers = [Worker(name, self.url) for name in self.plan.contestants]
            report["contestants"] = {
                worker.name: {"version": worker.info["version"], "options": worker.info["options"]}
                for worker in self.workers
            }
            passes = [(name, size, kind) for name, size in self.plan.workloads for kind in self._kinds(name)]
            self.steps = len(passes) * (self.plan.rounds + WARM_UP) * len(self.workers)
            for name, size, kind in passes:
                with awake(os.cpu_count() or 1) if kind == "awake" else contextlib.nullcontext():
                    self._race(name, size, kind)
            report["results"] = self._results()
            return report
        finally:
            for worker in self.workers:
                worker.stop()
            with contextlib.suppress(headrace.Error):
                self.admin.execute(f"DROP SCHEMA IF EXISTS {w.SCHEMA} CASCADE")
            self.admin.close()

    def _kinds(self, name: str) -> list[str]:
        return ["idle", "awake"] if w.WORKLOADS[name].one_query else ["idle"]

    def _race(self, name: str, size: int, kind: str) -> None:
        inner = w.WORKLOADS[name].repeats(size, self.plan.quick)
        for round_number in range(-WARM_UP, self.plan.rounds):
            for worker in self.workers:
                self.done += 1
                times = self.times.setdefault((name, size, worker.name, kind), Times())
                if name in worker.info["skips"] or times.error:
                    continue
                self.tell(f"{name} {size} {worker.name}", self.done / self.steps)
                if name in ("executemany", "executemany_autocommit", "bulk_in"):
                    self.admin.execute(f"TRUNCATE {w.SCHEMA}.target")
                before = server_cpu(self.server_pid)
                answer = worker.run(name, size, inner, digest=round_number == -1)
                if "error" in answer:
                    times.error = answer["error"]
                    continue
                if round_number < 0:
                    times.digest, times.reached = answer["digest"], answer["reached"]
                    if answer["digest"] is None and name in (
                        "executemany",
                        "executemany_autocommit",
                        "bulk_in",
                    ):
                        times.digest = self._table_digest()
                    continue
                times.seconds.append(answer["seconds"] / inner)
                times.cpu.append(answer["cpu"] / inner)
                times.server_cpu.append((server_cpu(self.server_pid) - before) / inner)
                times.rss = max(times.rss, answer["rss"])
                times.latencies += answer["latencies"]

    def _table_digest(self) -> str:
        """What the inserted rows must agree in."""
        sums = self.admin.execute(
            f"SELECT count(*), sum(id::bigint), sum(n::bigint), sum(length(name)),"
            " sum(f)::numeric(20,3)::text, max(d)::text"
            f" FROM {w.SCHEMA}.target"
        ).fetchall()
        return w.digest(sums)

    def _results(self) -> list[dict[str, Any]]:
        results: list[dict[str, Any]] = []
        for (name, size, contestant, kind), times in self.times.items():
            peers = {other: t for (n, s, other, k), t in self.times.items() if (n, s, k) == (name, size, kind)}
            floor = peers.get("floor")
            digests = [t.digest for o, t in peers.items() if t.digest and o != "floor"]
            agreed = max(set(digests), key=digests.count) if digests else None
            wrong = contestant != "floor" and times.digest is not None and times.digest != agreed
            row: dict[str, Any] = {
                "database": "postgresql", "workload": name, "size": size, "contestant": contestant,
                "cores": kind, "rounds": len(times.seconds), "digest": times.digest,
                "rows_reached_caller": times.reached, "peak_rss_bytes": times.rss or None,
                "disqualified": wrong, "error": times.error,
                "median_s": None, "iqr_s": None, "client_cpu_s": None, "server_cpu_s": None,
                "ratio_to_floor": None, "ratio_ci": None, "p50_s": None, "p99_s": None,
            }  # fmt: skip
            if times.seconds:
                row["median_s"], row["iqr_s"] = median(times.seconds), iqr(times.seconds)
                row["client_cpu_s"], row["server_cpu_s"] = median(times.cpu), median(times.server_cpu)
                if times.latencies:
                    row["p50_s"], row["p99_s"] = (
                        percentile(times.latencies, 50),
                        percentile(times.latencies, 99),
                    )
                if floor is not None and floor.seconds:
                    ratio, low, high = ratio_interval(times.seconds, floor.seconds)
                    row["ratio_to_floor"], row["ratio_ci"] = ratio, [low, high]
                ours = peers.get("headrace")
                if ours is not None and ours.seconds and contestant != "headrace":
                    ratio, low, high = ratio_interval(times.seconds, ours.seconds)
                    row["ratio_to_headrace"], row["ratio_to_headrace_ci"] = ratio, [low, high]
            elif not times.error:
                row["error"] = "not offered by this contestant"
            results.append(row)
        return results
