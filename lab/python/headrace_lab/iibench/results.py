"""What a step comes to: intervals of its processes merged by second, and the figures of the whole."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

from headrace_lab._iibench import Histogram

from .crew import Member
from .host import Usage
from .job import Job
from .options import BenchmarkOptions
from .steps import Step
from .verdict import Verdict

ROLES: Final = {"insert": "writer", "delete": "deleter", "lowest key": "deleter", "query": "querier"}
"""Whose operations they are."""
USED: Final = ("cpu", "read", "written")
"""What is reported of the server's use second by second."""
PERCENTILES: Final = {"p50": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p999": 99.9}


class Figures:
    """Operations of one kind, in one second or in all."""

    def __init__(self) -> None:
        self.operations = 0
        self.rows = 0
        self.response = Histogram()
        self.service = Histogram()
        self.retries: dict[str, int] = {}

    def add(self, report: dict[str, Any]) -> None:
        """Adds what a process has reported."""
        self.operations += report["operations"]
        self.rows += report["rows"]
        self.response.add([tuple(pair) for pair in report["response"]])
        self.service.add([tuple(pair) for pair in report["service"]])
        for code, count in report["retries"].items():
            self.retries[code] = self.retries.get(code, 0) + count

    def to_json(self, buckets: bool) -> dict[str, Any]:
        """For files."""
        return {
            "operations": self.operations,
            "rows": self.rows,
            "response": times(self.response, buckets),
            "service": times(self.service, buckets),
            "retries": self.retries,
        }


def times(histogram: Histogram, buckets: bool) -> dict[str, Any]:
    """Percentiles and the longest, in seconds; with ``buckets`` the histogram, in nanoseconds."""
    if not len(histogram):
        return {}
    out: dict[str, Any] = {name: histogram.percentile(p) / 1e9 for name, p in PERCENTILES.items()}
    out |= {"max": histogram.max() / 1e9, "mean": histogram.mean() / 1e9}
    if buckets:
        out["buckets"] = histogram.buckets()
    return out


class Second:
    """One second of a step."""

    def __init__(self) -> None:
        self.kinds: dict[str, Figures] = {}
        self.cpu = 0
        self.watched = 0
        self.idle = 0
        self.served = 0
        self.asleep = 0

    def shares(self) -> dict[str, float | None]:
        """How long the database waited: the time it slept, or had nothing to do as far as the client can see."""
        return shares([self])


def shares(seconds: Sequence[Second]) -> dict[str, float | None]:
    """See :meth:`Second.shares`. ``wait_share`` is the one that is known, the server's own where it runs here."""
    idle, watched = sum(s.idle for s in seconds), sum(s.watched for s in seconds)
    asleep, served = sum(s.asleep for s in seconds), sum(s.served for s in seconds)
    unfed = idle / watched if watched else None
    slept = asleep / served if served else None
    return {"wait_share": unfed if slept is None else slept, "asleep_share": slept, "unfed_share": unfed}


class StepResult:
    """Takes what the processes of a step tell, and makes figures of it."""

    def __init__(self, step: Step, options: BenchmarkOptions, mode: str) -> None:
        self.step = step
        self.options = options
        self.mode = mode
        self.by_second: dict[int, Second] = {}
        self.members: list[Member] = []
        self.began: Usage | None = None
        self.ended: Usage | None = None
        self.samples: list[tuple[float, Usage]] = []
        self.indexes: dict[str, float] | None = None
        self.warmup = math.ceil(options.warmup)
        """Whole seconds at the start that do not count."""

    # while it runs

    def begin(self, usage: Usage | None) -> None:
        """The processes are about to begin."""
        self.began = usage

    def note(self, job: Job, interval: dict[str, Any]) -> None:
        """Takes what a process did in a second."""
        second = self.by_second.setdefault(interval["second"], Second())
        second.cpu += interval["cpu"]
        if job.role == "writer":
            second.watched += interval["watched"]
            second.idle += interval["idle"]
            second.served += interval["served"]
            second.asleep += interval["asleep"]
        for kind, report in interval["kinds"].items():
            second.kinds.setdefault(kind, Figures()).add(report)

    def sample(self, seconds: float, usage: Usage | None) -> None:
        """What the server had used by then."""
        if usage is not None:
            self.samples.append((seconds, usage))

    def end(self, usage: Usage | None, members: list[Member]) -> None:
        """The processes have ended."""
        self.ended, self.members = usage, members

    def indexing(self, seconds: float, rows: int) -> None:
        """Indexes were built, of tables with so many rows in all."""
        self.indexes = {"seconds": seconds, "rows": rows, "rate": rows / seconds if seconds else 0.0}

    # afterwards

    def retried(self, kind: str) -> bool:
        """Whether an operation of that kind had to be tried again."""
        return any(kind in s.kinds and s.kinds[kind].retries for s in self.by_second.values())

    def done(self, role: str) -> list[dict[str, Any]]:
        """What the processes of a role reported at their end."""
        return [m.done for m in self.members if m.job.role == role and m.done is not None]

    def seconds(self) -> Iterator[dict[str, Any]]:
        """Each second, from the first to the last, those in which nothing came to an end too."""
        last = max(self.by_second, default=-1)
        ends = max([m.done["ns"] for m in self.members if m.done is not None], default=0) / 1e9
        for n in range(last + 1):
            second = self.by_second.get(n, Second())
            yield {
                "second": n,
                "length": min(1.0, max(0.0, ends - n)),
                "warmup": n < self.warmup,
                "kinds": {kind: figures.to_json(False) for kind, figures in second.kinds.items()},
                **second.shares(),
                "client_cpu": second.cpu / 1e9,
                **self.server_use(n),
            }

    def server_use(self, second: int) -> dict[str, float | None]:
        """What the server used in a second, from what was sampled near its ends: CPU seconds, bytes read, written."""
        points = [(0.0, self.began)] if self.began else []
        points += self.samples
        ends = max([m.done["ns"] for m in self.members if m.done is not None], default=0) / 1e9
        if self.ended and ends > points[-1][0]:
            points.append((ends, self.ended))
        for (at, before), (until, after) in itertools.pairwise(points):
            if before is not None and after is not None and at <= second + 0.5 < until:
                return {
                    f"server_{name}": None if then is None or now is None else max(0.0, (now - then) / (until - at))
                    for name in USED
                    for then, now in [(getattr(before, name), getattr(after, name))]
                }
        return {f"server_{name}": None for name in USED}

    def to_json(self) -> dict[str, Any]:
        """The figures of the whole step."""
        counted = [s for n, s in self.by_second.items() if n >= self.warmup]
        kinds: dict[str, Any] = {}
        for kind in dict.fromkeys(kind for second in counted for kind in second.kinds):
            whole = Figures()
            for second in counted:
                if kind in second.kinds:
                    whole.add(merged(second.kinds[kind]))
            unit = "operations" if kind == "query" else "rows"
            amount = whole.operations if kind == "query" else whole.rows
            kinds[kind] = whole.to_json(True) | {
                "unit": unit,
                "rate": amount / seconds if (seconds := self.elapsed(kind) - self.warmup) > 0 else 0.0,
                **self.judged(kind),
            }
        rows = sum(done["rows"] for done in self.done("writer"))
        return {
            "step": self.step.name,
            "rows_per_commit": self.step.rows_per_commit,
            "seconds": max(self.elapsed("insert"), self.elapsed("query")),
            "kinds": kinds,
            "indexes": self.indexes,
            **shares(counted),
            "client": self.client(rows),
            "server": self.server(rows, sum(each["operations"] for each in kinds.values())),
        }

    def elapsed(self, kind: str) -> float:
        """Seconds that operations of a kind went on for: until the last one was done or, where more of them were to
        come, until the time was up."""
        role, rate = ROLES.get(kind, "writer"), self.step.query_rate if kind == "query" else self.step.rate
        seconds = max([done["ns"] for done in self.done(role)], default=0) / 1e9
        return max(seconds, self.step.seconds) if rate and not self.step.rows else seconds

    def judged(self, kind: str) -> dict[str, Any]:
        """The verdict on a rate, where there was one to keep."""
        role = ROLES.get(kind)
        rate = self.step.query_rate if kind == "query" else self.step.rate
        if role is None or not rate or kind == "lowest key":
            return {}
        done = self.done(role)
        amount = sum(each["queries" if kind == "query" else "rows"] for each in done)
        verdict = Verdict(sum(self.due(kind, rate, each) for each in done), amount)
        return {
            "target": rate * len(done),
            "due": verdict.due,
            "sustained": verdict.sustained,
            "short": verdict.short,
            "verdict": str(verdict),
        }

    def due(self, kind: str, rate: float, done: dict[str, Any]) -> int:
        """What was due of a process: where the rows end the step, what the rate comes to until they were in."""
        if kind == "query" or not self.step.rows or done["rows"] < self.step.rows:
            return int(done["due"])
        return max(int(done["due"]), int(rate * done["ns"] / 1e9))

    def client(self, rows: int) -> dict[str, Any]:
        """What the client cost: microseconds of CPU time per row inserted, in all and by stage."""
        writers, queriers = self.done("writer"), self.done("querier")
        out: dict[str, Any] = {"cpu_us_per_row": None, "stages_us_per_row": {}, "cpu_us_per_query": None}
        if rows:
            out["cpu_us_per_row"] = sum(w["cpu"] for w in writers) / 1e3 / rows
            out["stages_us_per_row"] = stages(writers, self.step.rows_per_commit)
        queries = sum(q["queries"] for q in queriers)
        if queries:
            out["cpu_us_per_query"] = sum(q["cpu"] for q in queriers) / 1e3 / queries
            out["stages_us_per_query"] = stages(queriers, 1)
        return out

    def server(self, rows: int, operations: int) -> dict[str, Any] | None:
        """What the server used, in all and per row inserted or, where there were none, per operation."""
        before, after = self.began, self.ended
        if before is None or after is None:
            return None
        each = rows or operations or 1
        out: dict[str, Any] = {"per": "row" if rows else "operation", "cpu_us": (after.cpu - before.cpu) * 1e6 / each}
        for name in ("read", "written", "switches"):
            then, now = getattr(before, name), getattr(after, name)
            out[name] = None if then is None or now is None else max(0, now - then) / each
        return out


def merged(figures: Figures) -> dict[str, Any]:
    """Figures as a process would tell them."""
    return {
        "operations": figures.operations,
        "rows": figures.rows,
        "response": figures.response.buckets(),
        "service": figures.service.buckets(),
        "retries": figures.retries,
    }


def stages(done: list[dict[str, Any]], rows: int) -> dict[str, float]:
    """Microseconds of CPU time per row, or per query, by stage."""
    sampled = sum(each["stages"]["operations"] for each in done)
    if not sampled:
        return {}
    names = dict.fromkeys(name for each in done for name in each["stages"]["cpu"])
    return {name: sum(each["stages"]["cpu"].get(name, 0) for each in done) / 1e3 / sampled / rows for name in names}
