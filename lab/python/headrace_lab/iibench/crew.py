"""The processes of a step: started together, watched, and ended whatever happens."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final

from .counters import Counters
from .job import Job, clock

READY_SECONDS: Final = 600.0
"""How long processes may take until they are ready: with ``pregen`` they make all rows before."""
HEAD_START_NS: Final = 50_000_000
"""Nanoseconds between the message that all may begin and the time at which they do."""
GRACE_SECONDS: Final = 30.0
"""How long a process may take to come to an end after the step's time is up. Then it counts as hung."""
LOG_LINES: Final = 20
"""Lines of what a process has printed that are shown when it fails."""


class Failed(Exception):
    """A process of the step has failed, and the run with it."""

    def __init__(self, who: str, code: str, message: str) -> None:
        super().__init__(f"{who} failed: {code}: {message}")
        self.who = who
        self.code = code
        self.message = message


class Member:
    """One process."""

    def __init__(self, job: Job, events: queue.Queue[tuple[Member, dict[str, Any] | None]]) -> None:
        self.job = job
        self.name = f"{job.role} {job.number} of client {job.client}" if job.number else f"{job.role} {job.client}"
        self.version = ""
        self.done: dict[str, Any] | None = None
        self.log: IO[str] = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115, closed in stop()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "headrace_lab.iibench.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )
        self.reader = threading.Thread(target=self._read, args=(events,), daemon=True)
        self.reader.start()
        self.say(json.dumps(job.to_json()))

    def _read(self, events: queue.Queue[tuple[Member, dict[str, Any] | None]]) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            events.put((self, json.loads(line)))
        events.put((self, None))

    def say(self, line: str) -> None:
        """Writes a line to its standard input."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()

    def last_output(self) -> str:
        """The end of what it has printed."""
        self.log.seek(0)
        return "\n".join(self.log.read().strip().splitlines()[-LOG_LINES:])

    def stop(self) -> None:
        """Ends the process, at once where it has not ended by itself."""
        with contextlib.suppress(OSError):
            if self.process.stdin:
                self.process.stdin.close()
        if self.done is None and self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.join(GRACE_SECONDS)
        if self.process.stdout:
            self.process.stdout.close()
        self.log.close()


class Crew:
    """The processes of one step. Leaving the ``with`` block ends those that are still there."""

    def __init__(self, jobs: list[Job], folder: Path) -> None:
        path = str(folder / "counters")
        Path(path).unlink(missing_ok=True)
        self.counters = Counters(path, jobs[0].options.clients)
        self.step = jobs[0].step
        self.events: queue.Queue[tuple[Member, dict[str, Any] | None]] = queue.Queue()
        self.members: list[Member] = []
        self.start = 0
        """When the step began, by ``time.perf_counter_ns``."""
        try:
            for job in jobs:
                self.members.append(Member(Job(**{**vars(job), "counters": path}), self.events))
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """Ends every process."""
        self.counters.stop()
        for member in self.members:
            member.stop()
        self.counters.close()

    def wait_until_ready(self) -> None:
        """Waits until all are connected and have what they need. Raises Failed."""
        until = time.monotonic() + READY_SECONDS
        waiting = set(self.members)
        while waiting:
            member, event = self._next(until, "get ready")
            member.version = event.get("ready", "")
            waiting.discard(member)

    def work(self, note: Callable[[Job, dict[str, Any]], None], tick: Callable[[float], None]) -> list[Member]:
        """Lets them begin, and waits for the end. ``note`` gets each interval that a process reports, ``tick`` the
        seconds since the beginning, about four times a second. Raises Failed."""
        self.start = clock() + HEAD_START_NS
        for member in self.members:
            member.say(str(self.start))
        until = time.monotonic() + self.step.seconds + GRACE_SECONDS if self.step.seconds else None
        while any(member.done is None for member in self.members):
            with contextlib.suppress(queue.Empty):
                member, event = self._next(until, "come to an end", patience=0.25)
                if "interval" in event:
                    note(member.job, event["interval"])
                elif "done" in event:
                    member.done = event["done"]
            seconds = (clock() - self.start) / 1e9
            tick(seconds)
            if not self.counters.stopped and self._all_in(seconds):
                self.counters.stop()
                until = time.monotonic() + GRACE_SECONDS
        for member in self.members:
            code = member.process.wait(GRACE_SECONDS)
            if code:
                raise Failed(member.name, f"exit code {code}", member.last_output())
        return self.members

    def _all_in(self, seconds: float) -> bool:
        """Whether there is nothing left to insert or delete, so that those who query have to end too. Where the time
        ends a step they go on until then: the last block may be due long before."""
        leading = [m.done for m in self.members if m.job.role in ("writer", "deleter")]
        if not leading or any(done is None for done in leading):
            return False
        short = any(done["rows"] < self.step.rows for done in leading if done is not None)
        return not self.step.seconds or seconds >= self.step.seconds or bool(self.step.rows and not short)

    def _next(self, until: float | None, what: str, patience: float | None = None) -> tuple[Member, dict[str, Any]]:
        """The next event of a process. Raises Failed for an error, queue.Empty if there is none within ``patience``."""
        left = None if until is None else until - time.monotonic()
        if left is not None and left <= 0:
            late = ", ".join(m.name for m in self.members if m.done is None)
            raise Failed(late, "hung", f"it did not {what} in time")
        try:
            member, event = self.events.get(timeout=min(x for x in (left, patience, 3600.0) if x is not None))
        except queue.Empty:
            if patience is None:
                return self._next(until, what)
            raise
        if event is None:
            if member.done is not None:
                raise queue.Empty
            code = member.process.wait()
            raise Failed(member.name, f"exit code {code}", member.last_output() or "it printed nothing")
        if "error" in event:
            raise Failed(member.name, event["error"]["code"], event["error"]["message"])
        return member, event
