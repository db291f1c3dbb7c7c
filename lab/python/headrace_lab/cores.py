"""Which cores the clients and the server of a race run on.

Where the scheduler happens to put the two on one core nothing overlaps, and a fetch takes as long as both need one
after the other; a single query takes half as long there as where each has to wake up the other's core. It may do so for
one contestant and not for the next. So each side has half of the cores to itself, or both have one together.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Halves:
    """The cores of each side."""

    clients: frozenset[int]
    server: frozenset[int]

    @property
    def shared(self) -> Halves:
        """One core for both."""
        one = frozenset({min(self.server)})
        return Halves(one, one)


def halves(available: frozenset[int] | None = None) -> Halves | None:
    """The cores that this process may use, in two halves; the odd one is the clients'. None where there is only one, or
    where the system has no affinity.

    >>> halves(frozenset({0, 1, 2}))
    Halves(clients=frozenset({0, 1}), server=frozenset({2}))
    """
    if available is None:
        if not hasattr(os, "sched_getaffinity"):
            return None
        available = frozenset(os.sched_getaffinity(0))
    if len(available) < 2:
        return None
    ordered = sorted(available)
    middle = (len(ordered) + 1) // 2
    return Halves(frozenset(ordered[:middle]), frozenset(ordered[middle:]))


def sides(cores: Halves | None) -> dict[str, list[int]] | None:
    """As the JSON has it."""
    return None if cores is None else {"clients": sorted(cores.clients), "server": sorted(cores.server)}


def pin(pid: int, cores: frozenset[int]) -> None:
    """Keeps a process, its threads and its children to these cores; what they start later inherits it. A process that
    has ended meanwhile needs nothing."""
    for process in [pid, *children(pid)]:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{process}/task").iterdir():
                with contextlib.suppress(ProcessLookupError):
                    os.sched_setaffinity(int(task.name), cores)


def children(pid: int) -> list[int]:
    """The processes below ``pid``, at any depth."""
    parents: dict[int, list[int]] = {}
    for process, stat in processes():
        parents.setdefault(int(stat[1]), []).append(process)
    found: list[int] = []
    queue = [pid]
    while queue:
        below = parents.get(queue.pop(), [])
        found += below
        queue += below
    return found


def processes() -> Iterator[tuple[int, list[str]]]:
    """The number of each process of this machine, and what /proc/PID/stat has behind its name (proc_pid_stat(5)): first
    its state, then its parent's number."""
    # Path.glob() asks of each file whether it is there: that is an error (ESRCH) while its process ends.
    for name in os.listdir("/proc"):
        if not name.isdecimal():
            continue
        try:
            stat = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if stat:
            yield int(name), stat
