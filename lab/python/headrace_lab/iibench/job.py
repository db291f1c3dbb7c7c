"""The job of a process of a run, and what it shares with the others."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from .counters import Counters
from .measure import Recorder
from .options import BenchmarkOptions
from .sessions.base import BenchmarkSession, Fault
from .steps import Step

T = TypeVar("T")

ROLES: Final = ("writer", "deleter", "querier", "transaction")
NEVER: Final = 1 << 62
"""Nanoseconds: a time that does not come."""


@dataclass(frozen=True)
class Job:
    """One process's part in a step."""

    role: str
    client: int
    number: int
    """Of the process among those of its role and client."""
    url: str
    driver: str
    mode: str
    """How rows are made: one of :data:`~.options.CLIENTS`."""
    strategy: str
    table: str
    first: int
    """The first row to insert."""
    lowest: int
    """A key that none in the table is below."""
    highest: int
    """The highest key at the start."""
    counters: str
    options: BenchmarkOptions
    step: Step
    loading: bool = False
    """Whether there is no secondary index to keep, and no deleter or querier."""

    def to_json(self) -> dict[str, Any]:
        """For a process."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Job:
        """The inverse of :meth:`to_json`."""
        options, step = BenchmarkOptions.from_json(values.pop("options")), Step(**values.pop("step"))
        return cls(options=options, step=step, **values)


@dataclass
class Shift:
    """A job while it is done."""

    job: Job
    session: BenchmarkSession
    counters: Counters
    recorder: Recorder
    start: int
    """Nanoseconds of ``time.perf_counter_ns``, which all processes of a machine read alike."""
    end: int
    """When the step is over, or :data:`NEVER`."""

    def over(self, now: int) -> bool:
        """Whether it is time to stop."""
        return now >= self.end or self.counters.stopped

    async def insist(self, kind: str, what: Callable[[], Awaitable[T]]) -> T:
        """Does something until it is not refused for a reason that passes, and counts the refusals by their code.

        Raises Fault for any other reason, and when it was refused too often.
        """
        for left in range(self.job.options.retries, -1, -1):
            try:
                return await what()
            except Exception as error:
                fault = self.session.fault(error)
                if fault is None or not fault.retry or left == 0:
                    raise
                self.recorder.retried(kind, fault.code)
        raise AssertionError("the last attempt returns or raises")


def fault_of(session: BenchmarkSession | None, error: BaseException) -> Fault:
    """Any error in our words."""
    if isinstance(error, Fault):
        return error
    known = session.fault(error) if session is not None else None
    return known or Fault(type(error).__name__, str(error), False)


clock = time.perf_counter_ns
