"""Runs a race: every contestant in processes of its own, rounds interleaved (A B C A B C ...)."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import headrace

from . import databases
from . import workloads as w
from .contestants import rival, takes_part
from .cores import Halves, halves, pin, sides
from .processes import Worker, awake, environment, load, server_cpu, workers
from .report import NOT_OFFERED
from .rounds import SECONDS, Length, is_enough, rounds_in, rounds_in_process
from .roundtrips import round_trips
from .stats import iqr, median, percentile, quotient, ratio_of_processes

FULL: Final = Length(is_full=True, rounds=15)
SHORT: Final = Length(is_full=False, rounds=FULL.rounds, seconds=SECONDS)
SCHEMA_VERSION: Final = 5
"""Schema version of the JSON report. Since 5 rows have ``longest_s``. Since 4 rows have ``processes``, and no interval
of a single one. Since 3 it has
``full`` in place of ``quick``, ``reduced`` (the contestants that had fewer rounds than others, and why), and the load
of the machine in ``environment``."""


@dataclass
class Plan:
    """What is raced."""

    contestants: Sequence[str]
    workloads: Sequence[tuple[str, int]]
    length: Length
    """Round trips are counted where rounds have no limit in time."""
    database: str = "postgresql"
    cores: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The kinds of cores that a workload of single queries is run on, where not on all."""


@dataclass
class Times:
    """What one contestant did in one workload."""

    processes: list[list[float]] = field(default_factory=list)
    """Seconds of its rounds, by its processes."""
    cpu: list[float] = field(default_factory=list)
    server_cpu: float = 0.0
    rss: int = 0
    digest: str | None = None
    reached: bool = False
    latencies: list[float] = field(default_factory=list)
    round_trips: float | None = None
    strategy: str | None = None
    error: str | None = None
    wrong: str | None = None
    rounds: int | None = None
    """The rounds that fit into the time of the contestant, once that is known."""
    longest: float = 0.0
    """Seconds of its longest round, with what is done before the clock runs."""

    @property
    def seconds(self) -> list[float]:
        """Seconds of all of its rounds."""
        return [each for process in self.processes for each in process]

    def take(self, answer: Mapping[str, Any], inner: int, is_first: bool) -> None:
        """Counts a round of ``inner`` repeats, which may be the first that counts of its process."""
        if is_first:
            self.processes.append([])
        self.processes[-1].append(answer["seconds"] / inner)
        self.cpu.append(answer["cpu"] / inner)
        self.longest = max(self.longest, answer["elapsed"])
        # The clock of /proc ticks 100 times a second, so only the sum over all rounds has a meaning.
        self.server_cpu += answer["server_cpu"]
        self.rss = max(self.rss, answer["rss"])
        self.latencies += answer["latencies"]


Key = tuple[str, int, str]
"""A workload, its size, and the cores: ``idle``, kept ``awake``, or one that is ``shared``."""


class Race:
    """One run on one server.

    ``tell`` is called with what runs now, and with the share of the whole that is done; ``save`` with the report so far
    whenever a workload is done, so that a race that is stopped has a report. Touches nothing on the server but a schema
    whose name no one else has, and drops it at the end.
    """

    def __init__(
        self,
        url: str,
        plan: Plan,
        server: int | Sequence[int] | None,
        tell: Callable[[str, float], None],
        database: str = "postgresql",
        save: Callable[[dict[str, Any]], None] = lambda report: None,
    ) -> None:
        self.database = database
        self.url = url
        self.plan = plan
        self.server = (server,) if isinstance(server, int) else tuple(server or ())
        self.tell = tell
        self.save = save
        self.sql: w.Sql = databases.load(database).Statements(f"headrace_race_{secrets.token_hex(4)}")
        self._admin = headrace.connect(url, autocommit=True)
        # A server whose processes are not known stays where it runs, and clients then have all cores.
        self.cores = halves() if self.server else None
        self.times: dict[Key, dict[str, Times]] = {}
        self.infos: dict[str, dict[str, Any]] = {}
        self.steps = 0
        self.done = 0
        self.place = ""

    @property
    def admin(self) -> Any:
        """A connection of the race's own. A server may end one that was idle while the contestants ran."""
        if not self._admin.check_alive():
            self._admin.close()
            self._admin = headrace.connect(self.url, autocommit=True)
        return self._admin

    def run(self) -> dict[str, Any]:
        """Races, and returns the report as the JSON has it."""
        try:
            surroundings = environment(self.sql.settings(self.admin))
            self.tell("filling tables", 0.0)
            self.sql.setup(self.admin, list(self.plan.workloads))
            report: dict[str, Any] = {
                "schema_version": SCHEMA_VERSION,
                "environment": surroundings | {"halves": sides(self.cores)},
                "full": self.plan.length.is_full,
            }
            passes = [(name, size, kind) for name, size in self.plan.workloads for kind in self._kinds(name)]
            report |= {"unfinished": list(passes), "contestants": self.infos, "results": [], "reduced": []}
            taking_part = {key: [one for one in self.plan.contestants if takes_part(one, key[0])] for key in passes}
            steps = self.plan.length.rounds + self.plan.length.processes
            self.steps = sum(map(len, taking_part.values())) * steps
            for number, (key, names) in enumerate(taking_part.items(), 1):
                self.place = f"{number} of {len(passes)}"
                done = self.done
                try:
                    self._workload(key, names)
                except KeyboardInterrupt:
                    # What every contestant has done already is a result, of fewer rounds.
                    if all(times.seconds or times.error for times in self.times[key].values()):
                        self._keep(report, key)
                    raise
                self.done = done + len(names) * steps
                is_counted = self.sql.counts_round_trips and key[0] not in w.SERVICE
                if is_counted and key[2] == "idle" and self.plan.length.seconds is None:
                    self._count(key)
                report["unfinished"].remove(key)
                self._keep(report, key)
            return report
        finally:
            with contextlib.suppress(headrace.Error):
                self.sql.drop(self.admin)
            self._admin.close()

    def _keep(self, report: dict[str, Any], key: Key) -> None:
        """Adds the results of a workload to the report, and saves it."""
        report["results"] += self._results(key)
        report["reduced"] += self._reduced(key)
        report["environment"] |= {"load_end": load()}
        self.save(report)

    def _place(self, kind: str) -> Halves | None:
        """Puts the server on its cores, and returns those of both."""
        if self.cores is None:
            return None
        cores = self.cores.shared if kind == "shared" else self.cores
        for pid in self.server:
            pin(pid, cores.server)
        return cores

    def _kinds(self, name: str) -> list[str]:
        """How a workload is run. With one query at a time nothing overlaps, and whether the two share a core or have to
        wake each other up on another one makes a factor of two: each is a run of its own."""
        if not w.WORKLOADS[name].one_query:
            return ["idle"]
        offered = ["idle", "awake"] if self.cores is None else ["shared", "idle", "awake"]
        return [kind for kind in offered if kind in self.plan.cores.get(name, offered)] or offered

    def _workload(self, key: Key, names: Sequence[str]) -> None:
        """Races one workload: in one process of each contestant after the other, until the rounds are enough."""
        cores = self._place(key[2])
        mine = self.times[key] = {name: Times() for name in names}
        for number in range(self.plan.length.processes):
            left = [name for name, times in mine.items() if not times.error and self._rounds(times, number)]
            with contextlib.ExitStack() as stack:
                started = stack.enter_context(workers(left, self.url, self.sql.schema, cores, self.database))
                if key[2] == "awake":
                    stack.enter_context(awake(os.cpu_count() or 1))
                self._process(key, started, number)
            if self._is_over(mine):
                break

    def _rounds(self, times: Times, number: int) -> int:
        """The rounds of a contestant in one of its processes, counted from 0."""
        length = self.plan.length
        return rounds_in_process(length.rounds if times.rounds is None else times.rounds, length.processes, number)

    def _process(self, key: Key, started: list[Worker], number: int) -> None:
        """The rounds that contestants have in one process of each."""
        name, size, _ = key
        inner = w.WORKLOADS[name].repeats(size, self.plan.length)
        mine = self.times[key]
        for worker in started:
            times, info = mine[worker.name], worker.info
            times.error = info.get("error")
            if times.error is None:
                self.infos[worker.name] = {"version": info["version"], "options": info["options"]}
                times.strategy = info["strategies"].get(name)
                if name in info["skips"]:
                    times.error = NOT_OFFERED + info["skips"][name]
        counted = self._warm_up(key, started, inner, is_checked=number == 0)
        for n in range(max((self._rounds(mine[worker.name], number) for worker in started), default=0)):
            for worker in started:
                times = mine[worker.name]
                self._step(key, worker)
                had = n + (worker.name in counted)
                if not times.error and had < self._rounds(times, number):
                    answer = self._round(worker, name, size, inner, digest=False)
                    if "error" in answer:
                        times.error = answer["error"]
                    else:
                        times.take(answer, inner, is_first=had == 0)
            if n == number == 0 and self.plan.length.seconds is not None:
                for times in mine.values():
                    times.rounds = rounds_in(self.plan.length.seconds, times.longest, self.plan.length.rounds)

    def _is_over(self, mine: Mapping[str, Times]) -> bool:
        """Returns true if a short race needs no more rounds of a workload."""
        if self.plan.length.seconds is None:
            return False
        racing = {name: times.processes for name, times in mine.items() if not times.error}
        return is_enough(racing, "floor" if "floor" in racing else next(iter(racing), ""))

    def _reduced(self, key: Key) -> list[dict[str, Any]]:
        """The contestants that had fewer rounds of a workload than others had, since theirs take long."""
        all_times = {name: times for name, times in self.times[key].items() if times.seconds}
        most = max((len(times.seconds) for times in all_times.values()), default=0)
        return [
            {
                "workload": key[0], "size": key[1], "cores": key[2], "contestant": name,
                "rounds": len(times.seconds), "planned": most, "longest_s": times.longest,
                "seconds": self.plan.length.seconds,
            }
            for name, times in all_times.items()
            if self.plan.length.seconds is not None and len(times.seconds) < most
        ]  # fmt: skip

    def _warm_up(self, key: Key, started: list[Worker], repeats: int, is_checked: bool) -> set[str]:
        """The first round of a process, in which results are checked once. What has to be right is worked out only
        here: it would take memory and time from the rounds. Returns those of whom the round counts, as it took so
        long."""
        name, size, _ = key
        length, counted = self.plan.length, set[str]()
        # A table digest is of one load, and so is the result of most others.
        inner = repeats if name in w.SHARED else 1
        right = w.expected(name, size, inner, self.sql.aware) if is_checked else None
        if is_checked and name in w.WRITERS:
            right = self._fetchval(self.sql.table_digest(self.sql.table("fetch", size)))
        for worker in started:
            times = self.times[key][worker.name]
            self._step(key, worker)
            if times.error:
                continue
            answer = self._round(worker, name, size, inner, digest=is_checked)
            if "error" in answer:
                times.error = answer["error"]
                continue
            # Who writes keeps nothing for the check.
            is_as_any_other = inner == repeats and (name in w.WRITERS or not is_checked)
            if is_as_any_other and length.counts_first(answer["seconds"]):
                counted.add(worker.name)
                times.take(answer, inner, is_first=True)
                times.rounds = rounds_in(length.seconds or 0.0, times.longest, length.rounds)
            if not is_checked:
                continue
            times.reached = answer["reached"]
            times.digest = answer["digest"]
            if name in w.WRITERS:
                times.digest = self._fetchval(self.sql.table_digest(self.sql.target))
            count, floor = answer["count"], worker.name == "floor"
            if times.digest is not None and times.digest != right:
                times.wrong = "another result"
            elif times.digest is None and right is not None and not floor and count != size:
                times.wrong = f"{count} rows instead of {size}"
        return counted

    def _count(self, key: Key) -> None:
        """Again through a relay that counts round trips, off the clock."""
        name, size, _ = key
        for contestant, times in self.times[key].items():
            if times.error is None:
                self.tell(f"{name} {size:,} {contestant}: round trips", self.done / self.steps)
                empty = self._empty if name in w.WRITERS else None
                times.round_trips = round_trips(contestant, self.url, self.sql, key[:2], empty)

    def _step(self, key: Key, worker: Worker) -> None:
        self.tell(f"{self.place}: {key[0]} {key[1]:,} {worker.name}", self.done / self.steps)
        self.done += 1

    def _round(self, worker: Worker, name: str, size: int, inner: int, digest: bool) -> dict[str, Any]:
        """Has ``worker`` run a workload, and returns its answer with the seconds that passed and the server's CPU time,
        or with an error."""
        if name in w.WRITERS:
            self._empty()
        before, begun = server_cpu(self.server), time.monotonic()
        answer = worker.run(name, size, inner, digest)
        return answer | {"elapsed": time.monotonic() - begun, "server_cpu": server_cpu(self.server) - before}

    def _empty(self) -> None:
        self.sql.empty(self.admin)

    def _fetchval(self, query: str) -> str:
        return str(self.admin.fetchrow(query))

    def _results(self, key: Key) -> list[dict[str, Any]]:
        name, size, kind = key
        inner = w.WORKLOADS[name].repeats(size, self.plan.length)
        all_times = self.times[key]
        results: list[dict[str, Any]] = []
        for contestant, times in all_times.items():
            whose = rival(contestant)
            row: dict[str, Any] = {
                "database": self.database, "workload": name, "size": size, "contestant": contestant,
                "cores": kind, "rounds": len(times.seconds), "processes": len(times.processes), "digest": times.digest,
                "round_trips": times.round_trips, "rows_reached_caller": times.reached,
                "strategy": times.strategy,
                "peak_rss_bytes": times.rss or None,
                "disqualified": times.wrong, "error": times.error,
                "median_s": None, "iqr_s": None, "client_cpu_s": None, "server_cpu_s": None,
                "ratio_to_floor": None, "ratio_ci": None, "cpu_ratio_to_floor": None,
                "p50_s": None, "p99_s": None, "longest_s": None,
                "rival": None, "ratio_to_rival": None, "ratio_to_rival_ci": None,
            }  # fmt: skip
            if times.seconds:
                row["median_s"], row["iqr_s"] = median(times.seconds), iqr(times.seconds)
                row["client_cpu_s"] = median(times.cpu)
                row["server_cpu_s"] = times.server_cpu / len(times.seconds) / inner
                if times.latencies:
                    row["p50_s"], row["p99_s"] = percentile(times.latencies, 50), percentile(times.latencies, 99)
                    row["longest_s"] = max(times.latencies)
                if "floor" in all_times and all_times["floor"].seconds:
                    ratio, interval = ratio_of_processes(times.processes, all_times["floor"].processes)
                    row["ratio_to_floor"], row["ratio_ci"] = ratio, interval
                    row["cpu_ratio_to_floor"] = quotient(row["client_cpu_s"], median(all_times["floor"].cpu))
                headrace_times = all_times.get(whose)
                # A contestant that only counts rows has not done what is compared.
                same_work = headrace_times and headrace_times.seconds and headrace_times.reached == times.reached
                if not contestant.startswith(("headrace", "floor")) and headrace_times and same_work:
                    ratio, interval = ratio_of_processes(times.processes, headrace_times.processes)
                    row |= {"rival": whose, "ratio_to_rival": ratio, "ratio_to_rival_ci": interval}
            results.append(row)
        return results
