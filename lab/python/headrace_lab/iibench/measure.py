"""What a process notes of its work: for each second and kind of operation the rows and two histograms, and for the
whole step what its stages cost.

*Service* is the time from when an operation could begin, which is when it was sent or when the one before it on its
connection was done, to its end. *Response* begins when it was due, or was sent where nothing is ever due: time queued
after a stall, or after others on their way, is in it. The end is when the answer was taken, which a client that sends
ahead does for several at a time: of its service times only the sum has a meaning.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from headrace_lab._iibench import Histogram

SECOND: Final = 1_000_000_000
SAMPLED_ROWS: Final = 800
"""Of the blocks that so many rows are in, the stages of one are measured: reading the clock of CPU time costs as much
as making five rows."""
EMPTY_STAGES: Final = 201
"""Stages in which nothing happens that are measured at the start."""
SAMPLED_QUERIES: Final = 16
"""The same for queries, each of which counts as a block."""


class Operations:
    """Operations of one kind within a second."""

    def __init__(self) -> None:
        self.count = 0
        self.rows = 0
        self.response = Histogram()
        self.service = Histogram()
        self.retries: dict[str, int] = {}

    def take(self) -> dict[str, Any]:
        """What was noted, which is then forgotten."""
        taken = {
            "operations": self.count,
            "rows": self.rows,
            "response": self.response.buckets(),
            "service": self.service.buckets(),
            "retries": self.retries,
        }
        self.count = self.rows = 0
        self.retries = {}
        self.response.clear()
        self.service.clear()
        return taken


class Recorder:
    """Collects, and reports each second when it is over."""

    def __init__(
        self, start: int, tell: Callable[[dict[str, Any]], None], cpu: Callable[[], int] = time.process_time_ns
    ) -> None:
        self._start = start
        self._tell = tell
        self._second = 0
        self._over = start + SECOND
        self._kinds: dict[str, Operations] = {}
        self._clock_of_cpu = cpu
        self._cpu = cpu()
        self._idle = 0
        self._watched = 0
        self._serving: Callable[[], int] | None = None
        self._awake = 0
        self._turned = start
        self.stages = Stages()

    def start_at(self, start: int) -> None:
        """The clock runs from here."""
        self._start, self._over, self._second = start, start + SECOND, 0
        self._cpu = self._clock_of_cpu()
        self._turned = time.perf_counter_ns()
        self._awake = self._serving() if self._serving else 0

    def serve(self, awake: Callable[[], int]) -> None:
        """Where the server's thread can be watched: returns the nanoseconds for which it has not slept."""
        self._serving = awake

    def note(self, kind: str, rows: int, due: int, began: int, done: int) -> None:
        """An operation is done; all times in nanoseconds."""
        if done >= self._over:
            self._turn(done)
        operations = self._kinds.get(kind)
        if operations is None:
            operations = self._kinds[kind] = Operations()
        operations.count += 1
        operations.rows += rows
        operations.response.record(done - due)
        operations.service.record(done - began)

    def retried(self, kind: str, code: str) -> None:
        """An operation was refused and will be tried again."""
        operations = self._kinds.setdefault(kind, Operations())
        operations.retries[code] = operations.retries.get(code, 0) + 1

    def watched(self, nanoseconds: int, idle: int) -> None:
        """For so long it was watched whether the database had something to do, and for so long it had nothing."""
        self._watched += nanoseconds
        self._idle += idle

    def _turn(self, now: int) -> None:
        cpu, turned = self._clock_of_cpu(), time.perf_counter_ns()
        interval: dict[str, Any] = {
            "second": self._second,
            "cpu": cpu - self._cpu,
            "watched": self._watched,
            "idle": self._idle,
            **self._asleep(turned),
            "kinds": {kind: each.take() for kind, each in self._kinds.items() if each.count or each.retries},
        }
        self._cpu, self._watched, self._idle, self._turned = cpu, 0, 0, turned
        self._tell({"interval": interval})
        self._second = max(self._second, (now - self._start) // SECOND)
        self._over = self._start + (self._second + 1) * SECOND

    def _asleep(self, now: int) -> dict[str, int]:
        """Since the last time: nanoseconds, and for how many of them the server's thread slept."""
        if self._serving is None:
            return {"served": 0, "asleep": 0}
        try:
            awake = self._serving()
        except OSError:
            self._serving = None  # the session has ended, and the run with it
            return {"served": 0, "asleep": 0}
        served = now - self._turned
        asleep = min(served, max(0, served - (awake - self._awake)))
        self._awake = awake
        return {"served": served, "asleep": asleep}

    def finish(self) -> None:
        """Reports the last second, even if it is not complete."""
        self._turn(self._start + (self._second + 1) * SECOND)


class Stages:
    """Wall and CPU time of the stages of an operation, from a sample, without what it costs to read the clocks."""

    def __init__(self) -> None:
        self._reading = (0.0, 0.0)
        self._forget()
        # What an empty stage comes to, by the median of many.
        empty: list[tuple[float, float]] = []
        for _ in range(EMPTY_STAGES):
            mark = self.begin()
            mark("")
            empty.append((self.wall.pop(""), self.cpu.pop("")))
        walls, cpus = zip(*empty, strict=True)
        self._reading = (sorted(walls)[EMPTY_STAGES // 2], sorted(cpus)[EMPTY_STAGES // 2])
        self._forget()

    def _forget(self) -> None:
        self.operations = 0
        self.wall: dict[str, float] = {}
        self.cpu: dict[str, float] = {}
        self._at = (0, 0)
        self._share = (0.0, 0.0)

    def begin(self) -> Callable[[str], None]:
        """An operation begins that is part of the sample. Returns what is called at the end of each of its stages."""
        self.operations += 1
        self._at = (time.perf_counter_ns(), time.thread_time_ns())
        return self._end

    def _end(self, stage: str) -> None:
        """A stage ends, and the next one begins."""
        wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
        self.wall[stage] = self.wall.get(stage, 0) + max(0, wall - self._at[0] - self._reading[0])
        self.cpu[stage] = self.cpu.get(stage, 0) + max(0, cpu - self._at[1] - self._reading[1])
        # Not what was just read: what it cost to read belongs to no stage.
        self._at = (time.perf_counter_ns(), time.thread_time_ns())

    def shared(self, work: Callable[[int], list[Any]]) -> Callable[[int], list[Any]]:
        """The same work, which does something for several operations at once, measured whenever it is done. Its part
        falls to each of them: see :meth:`share`."""

        def measured(at: int) -> list[Any]:
            wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
            done = work(at)
            wall, cpu = time.perf_counter_ns() - wall, time.thread_time_ns() - cpu
            each = max(1, len(done))
            self._share = (max(0, wall - self._reading[0]) / each, max(0, cpu - self._reading[1]) / each)
            return done

        return measured

    def share(self, stage: str) -> None:
        """A stage ends that was done for several operations at once, maybe before this one began."""
        self.wall[stage] = self.wall.get(stage, 0) + self._share[0]
        self.cpu[stage] = self.cpu.get(stage, 0) + self._share[1]
        self._at = (time.perf_counter_ns(), time.thread_time_ns())

    def to_json(self) -> dict[str, Any]:
        """For the report: sums in nanoseconds, and how many operations they are of."""
        return {"operations": self.operations, "wall": self.wall, "cpu": self.cpu}
