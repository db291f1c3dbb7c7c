"""The kernel's figures of the server's processes, where the server runs on this machine."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from ..cores import processes
from ..processes import server_cpu


@dataclass(frozen=True)
class Usage:
    """What a server has used since it was started. ``None`` is what this process may not know."""

    cpu: float
    """Seconds."""
    read: int | None
    """Bytes read from disks."""
    written: int | None
    """Bytes written to disks."""
    switches: int | None
    """Times that a process of the server gave up the processor because it had to wait."""


class Host:
    """Watches the processes of one server."""

    def __init__(self, pid: int | None, many_processes: bool) -> None:
        self.pid = pid if pid is not None and Path(f"/proc/{pid}").exists() else None
        self.many = many_processes
        self._seen: dict[int, tuple[int | None, int | None, int | None]] = {}

    def _pids(self) -> list[int]:
        assert self.pid is not None
        pids = [self.pid]
        if self.many:
            pids += [pid for pid, stat in processes() if int(stat[1]) == self.pid]
        return pids

    def usage(self) -> Usage | None:
        """What was used until now; ``None`` where the server is elsewhere. To be asked now and then: what a process has
        read and written since the last time is lost when it ends."""
        if self.pid is None or not Path(f"/proc/{self.pid}").exists():
            return None
        for pid in self._pids():
            self._seen[pid] = (*traffic(pid), switches(pid))
        cpu = server_cpu((self.pid,)) if self.many else own_cpu(self.pid)
        return Usage(cpu, *(total([seen[n] for seen in self._seen.values()]) for n in range(3)))


class Thread:
    """One thread of a server, or a process that has no other: when it sleeps it waits for its client, a disk or a lock.

    Raises OSError where it is not on this machine, or not of the name that it must have.
    """

    def __init__(self, number: int, names: tuple[str, ...]) -> None:
        name = Path(f"/proc/{number}/comm").read_text().strip()
        if not name.startswith(names):
            raise OSError(f"the process {number} of this machine is {name}")
        self._path = Path(f"/proc/{number}/schedstat")
        self.awake()

    def awake(self) -> int:
        """Nanoseconds for which it ran, or could have run and had no processor."""
        ran, queued = self._path.read_text().split()[:2]
        return int(ran) + int(queued)


def total(values: list[int | None]) -> int | None:
    """The sum, or ``None`` where a part is not known."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def own_cpu(pid: int) -> float:
    """CPU seconds of a process."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def traffic(pid: int) -> tuple[int | None, int | None]:
    """Bytes that a process has read from and written to disks; ``None`` where that is secret."""
    try:
        lines = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
        return int(lines["read_bytes"]), int(lines["write_bytes"])
    except (OSError, KeyError, ValueError):
        return None, None


def switches(pid: int) -> int | None:
    """Voluntary context switches of all threads of a process."""
    count = 0
    try:
        for status in Path(f"/proc/{pid}/task").glob("*/status"):
            for line in status.read_text().splitlines():
                if line.startswith("voluntary_ctxt_switches:"):
                    count += int(line.split()[1])
    except OSError:
        return None
    return count


def folder_bytes(folder: Path | None) -> int | None:
    """Bytes of the files in a folder and below; ``None`` where it cannot be read."""
    if folder is None or not folder.is_dir():
        return None
    size = 0
    for path, _, files in os.walk(folder):
        for name in files:
            with contextlib.suppress(OSError):
                size += os.lstat(os.path.join(path, name)).st_blocks * 512
    return size
