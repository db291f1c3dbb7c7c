"""The processes of a race: the contestants' own, and those that keep the cores awake; and what the server uses."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

import headrace

from .cores import Halves, pin, processes

ROUND_TIMEOUT_S: Final = 120.0
"""Seconds that a contestant may take for its start or one round before it counts as hung."""
HIGH_BUSY: Final = 0.3
"""The cores that are busy in the second before a race, above which others disturb the race."""
BUSY_SECONDS: Final = 1.0
"""How long is looked at them. The average of a minute would still have the compiler of `make race` in it."""
STOP_TIMEOUT_S: Final = 10.0
"""Seconds that a contestant's process may take to end before it is killed."""
SPIN: Final = """
import os, sys
parent = int(sys.argv[1])
os.nice(19)
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
while os.getppid() == parent:
    for _ in range(1_000_000):
        pass
"""


def interpreter(name: str) -> str:
    """The Python that a contestant runs in: another one where the environment names it, as HEADRACE_IFXPY_PYTHON."""
    return os.environ.get(f"HEADRACE_{name.upper().replace('-', '_')}_PYTHON", sys.executable)


class Process:
    """A process that answers requests: JSON objects, one per line."""

    def __init__(self, name: str, command: Sequence[str], cores: frozenset[int] | None = None) -> None:
        self.name = name
        self._log = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115, closed in stop()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )
        if cores is not None:
            # Before it has threads: those that it makes inherit this.
            pin(self.process.pid, cores)
        self._info: dict[str, Any] | None = None

    @property
    def info(self) -> dict[str, Any]:
        """Its version, options and what it skips; or ``error``, why it could not start."""
        if self._info is None:
            self._info = self._answer()
        return self._info

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        readable, _, _ = select.select([self.process.stdout], [], [], ROUND_TIMEOUT_S)
        if not readable:
            self.process.kill()
            return {"error": f"it hung: no answer within {ROUND_TIMEOUT_S:.0f} s"}
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)  # type: ignore[no-any-return]
        code = self.process.wait()
        self._log.seek(0)
        last = self._log.read().strip().splitlines()[-1:]
        return {"error": f"the process ended with code {code}: {''.join(last) or 'it printed nothing'}"}

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Sends a request, and returns its answer. One with ``error`` has nothing else."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        return self._answer()

    def stop(self) -> None:
        """Ends the process."""
        with contextlib.suppress(OSError):
            if self.process.stdin:
                self.process.stdin.close()
        try:
            self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()
        self._log.close()


class Worker(Process):
    """A contestant's process."""

    def __init__(
        self,
        name: str,
        url: str,
        schema: str,
        cores: Halves | None = None,
        database: str = "postgresql",
        module: str = "headrace_lab.worker",
    ) -> None:
        command = [interpreter(name), "-m", module, name, url, schema, database]
        super().__init__(name, command, None if cores is None else cores.clients)

    def run(self, workload: str, size: int, inner: int, digest: bool) -> dict[str, Any]:
        """One round. An answer with ``error`` has no times."""
        return self.ask({"workload": workload, "size": size, "inner": inner, "digest": digest})


@contextlib.contextmanager
def workers(
    names: list[str], url: str, schema: str, cores: Halves | None = None, database: str = "postgresql"
) -> Iterator[list[Worker]]:
    """A fresh process for each contestant, started side by side."""
    with contextlib.ExitStack() as stack:
        started: list[Worker] = []
        for name in names:
            started.append(Worker(name, url, schema, cores, database))
            stack.callback(started[-1].stop)
        for worker in started:
            _ = worker.info
        yield started


@contextlib.contextmanager
def awake(cores: int) -> Iterator[None]:
    """Keeps the cores from going to sleep, by processes that run only where nothing else runs, and that end when
    this one does."""
    spinners = [subprocess.Popen([sys.executable, "-c", SPIN, str(os.getpid())]) for _ in range(cores)]
    try:
        time.sleep(0.2)
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def server_cpu(pids: Collection[int]) -> float:
    """CPU seconds of a server's processes, their living children and the ended ones. 0 without a process."""
    if not pids:
        return 0.0
    seconds = 0.0
    for pid, stat in processes():
        if pid in pids or int(stat[1]) in pids:
            seconds += process_cpu(pid)
        if pid in pids:
            seconds += sum(map(int, stat[13:15])) / os.sysconf("SC_CLK_TCK")
    return seconds


def process_cpu(pid: int | str) -> float:
    """CPU seconds of a process without its children; 0 if it has ended.

    Of living threads in nanoseconds where the kernel counts them. The other clock ticks 100 times a second, and rounds
    each process down: hundreds of them that do a little each would have done nothing.
    """
    ticks, nanoseconds = 0, 0
    with contextlib.suppress(OSError, ValueError, IndexError):
        ticks = sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
        for thread in Path(f"/proc/{pid}/task").iterdir():
            nanoseconds += int((thread / "schedstat").read_text().split()[0])
    return max(ticks / os.sysconf("SC_CLK_TCK"), nanoseconds / 1e9)


def load() -> float | None:
    """The average number of processes that ran or waited for a core during the last minute; ``None`` where the system
    does not tell."""
    try:
        return round(os.getloadavg()[0], 2)
    except (AttributeError, OSError):
        return None


def ticks() -> tuple[int, int]:
    """The ticks that all cores together have worked, and all of theirs (proc_stat(5)).

    Raises:
        OSError: the system does not tell.
    """
    user, nice, system, idle, waiting, *rest = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9])
    worked = user + nice + system + sum(rest)
    return worked, worked + idle + waiting


def busy(seconds: float = BUSY_SECONDS) -> float | None:
    """The number of cores that are busy, over so many seconds; ``None`` where the system does not tell."""
    try:
        worked, all_of_them = ticks()
        time.sleep(seconds)
        worked_then, then = ticks()
    except OSError:
        return None
    return (worked_then - worked) / max(then - all_of_them, 1) * (os.cpu_count() or 1)


def load_warning(cores: float | None) -> str | None:
    """A sentence for the reader where so many cores were busy before the race; ``None`` where it was quiet."""
    if cores is None or cores <= HIGH_BUSY:
        return None
    return (
        f"The machine was busy when the race began ({cores:.1f} cores): the figures are less certain. Ratios, which "
        "are made of rounds that take turns, suffer least."
    )


def machine() -> dict[str, Any]:
    """What figures depend on beside the server."""
    cpu = ""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return {
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "headrace": headrace.__version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "cpu": cpu,
        "cores": os.cpu_count(),
    }


def environment(server: dict[str, Any]) -> dict[str, Any]:
    """What the figures depend on; ``server`` has the version and settings of the server, which should have nothing to
    do, as what is busy is taken for something else."""
    of_load = {"load_start": load(), "load_end": None, "load_warning": load_warning(busy())}
    return {**machine(), **of_load, "server": server}
