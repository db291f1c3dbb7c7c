"""A rehearsal of what a broker does to its clients: it gives their processes to others, and processes are killed. A
table counts how often each statement was executed: one that has returned once, one whose connection ended before its
reply (ConnectionClosed) at most once, one with any other error never.

    python -m cubrid.rehearsal --url cubrid://dba@localhost:33000/testdb --port 33100 --losses 10000 --killed-percent 10

``--url`` is the broker for the administrator, ``--port`` that of the rehearsed broker, with fewer processes than
clients. Processes are killed with SIGKILL, so this has to run on the machine of the broker, as its user. Run it in the
folder ``tests``.

A genuine broker starts a process again that was killed while it had a client, and never one that was killed between two
clients (11.3.2: ``cas_monitor_worker`` looks at busy processes only). ``--revive 'cubrid_broker restart small 1'`` is
the command for that: it is run whenever nothing has happened for some seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import contextlib
import math
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import headrace.aio.cubrid
import headrace.cubrid
from headrace import errors
from headrace.cubrid.settings import connect_options

Row = tuple[int, int]
Kill = Callable[[int], None]
"""Kills the process of this number."""
ROWS_OF_A_BATCH = 3
REVIVE_SECONDS = 2.0
"""Without any statement for this long, the broker has lost its process."""
REVIVALS_IN_VAIN = 20
"""After this number of revivals in a row with which nothing has happened, it is given up: something else has the
broker's process, such as a client that an earlier run has left."""
REPORT_SECONDS = 60
COMMAND_TIMEOUT = 60.0
"""Seconds; a broker that never answers would else be waited for."""
SETTINGS: dict[str, Any] = {"autocommit": True, "connect_timeout": 60, "command_timeout": COMMAND_TIMEOUT}
"""Of the clients."""


@dataclass
class Figures:
    """What happened."""

    statements: int = 0
    """Statements, batches and transactions that have returned."""
    releases: int = 0
    """Times that a session was resumed."""
    kills: int = 0
    """Processes that were killed while they had a client."""
    unknown: int = 0
    """Statements whose connection ended before their reply: ConnectionClosed. Those too that were not answered within
    ``COMMAND_TIMEOUT``."""
    executed: int = 0
    """Of these, those that had been executed."""
    refused: int = 0
    """Statements with another error, or of a transaction that was not committed."""
    abandoned: int = 0
    """Of these, those whose transaction the server had ended before the end of its block."""
    connects: int = 0
    """Connections that were opened."""
    revivals: int = 0
    """Times that the broker had to be told to start its process again."""
    stuck: str = ""
    """Why it was given up."""
    wrong: list[str] = field(default_factory=list[str])
    """Statements that were executed more than once, not at all, or in part."""
    seconds: float = 0.0

    @property
    def losses(self) -> int:
        """Releases and kills."""
        return self.releases + self.kills


class Rehearsal:
    """The state that all clients share."""

    def __init__(self, url: str, losses: int, kill: Kill | None, killed_percent: float) -> None:
        self.url = url
        self.wanted = losses
        self.ends = math.inf
        """When it is over, however few connections were lost."""
        self.kill = kill
        self.killed_percent = killed_percent
        self.figures = Figures()
        self.lock = threading.Lock()
        self.outcomes: dict[Row, str] = {}
        """What became of each statement: ``done``, ``unknown`` or ``refused``."""
        self.reasons: dict[Row, str] = {}
        """The error of those that were refused, and the way of each block: the process of each of its statements, and
        how often the session had been resumed."""
        self.sizes: dict[Row, int] = {}
        """How many rows it inserts."""
        self.pids: dict[int, int | None] = {}
        """The process of each client."""

    @property
    def is_over(self) -> bool:
        """Returns true if enough connections were lost, the time is over, or it was given up."""
        return bool(self.figures.stuck) or self.figures.losses >= self.wanted or time.monotonic() > self.ends

    def note(
        self, key: Row, rows: int, error: BaseException | None, ends: bool, way: Sequence[tuple[int | None, int]] = ()
    ) -> None:
        """Notes what became of a statement, and its ``way``; ``ends`` if it was the one that commits."""
        with self.lock:
            self.sizes[key] = rows
            if way:
                self.reasons[key] = repr(way)
            if error is None:
                self.outcomes[key] = "done"
                self.figures.statements += 1
            elif ends and isinstance(error, errors.ConnectionClosed | TimeoutError):
                self.outcomes[key] = "unknown"
                self.figures.unknown += 1
            else:
                self.outcomes[key] = "refused"
                self.reasons[key] = f"{error!r} {way}"
                self.figures.refused += 1
                self.figures.abandoned += "ended the transaction" in str(error)

    def resumed(self, count: int) -> None:
        """Adds the times that a connection was resumed."""
        with self.lock:
            self.figures.releases += count

    def killing(self) -> None:
        """Kills processes of clients, one after the other, so that they stay the wanted part of all losses."""
        rng = random.Random(1)
        while not self.is_over and self.kill is not None:
            figures = self.figures
            if figures.kills >= (figures.losses + 1) * self.killed_percent / 100 or not self.pids:
                time.sleep(0.001)
                continue
            pid = rng.choice(list(self.pids.values()))
            if pid is None:
                time.sleep(0.001)
                continue
            with contextlib.suppress(ProcessLookupError):
                self.kill(pid)
                with self.lock:
                    figures.kills += 1
            time.sleep(rng.random() * 0.02)

    def reviving(self, command: str, seconds: float) -> None:
        """Runs the command whenever nothing has happened for so many seconds. Reports the progress each minute."""
        seen, since, reported, in_vain = -1, time.monotonic(), time.monotonic(), 0
        while not self.is_over:
            time.sleep(0.1)
            figures, now = self.figures, time.monotonic()
            happened = figures.statements + figures.unknown + figures.refused + figures.releases + figures.connects
            if happened != seen:
                seen, since, in_vain = happened, now, 0
            elif in_vain >= REVIVALS_IN_VAIN:
                figures.stuck = f"nothing has happened since {in_vain} revivals: who has the process of the broker?"
            elif now - since > seconds:
                subprocess.run(command, shell=True, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
                figures.revivals += 1
                in_vain += 1
                since = now
            if now - reported > REPORT_SECONDS:
                reported = now
                known = f"{figures.kills} kills, {figures.releases} releases, {figures.statements} statements"
                print(known, flush=True)

    def check(self, admin: Any) -> None:
        """Compares what was executed with what the clients know."""
        sql = "select who, n, count(*) from hr_once group by who, n"
        found: dict[Row, int] = {(who, n): count for who, n, count in admin.fetch(sql)}
        figures = self.figures
        for key, outcome in self.outcomes.items():
            count, rows = found.pop(key, 0), self.sizes[key]
            if outcome == "unknown" and count == rows:
                figures.executed += 1
            elif count != {"done": rows, "unknown": 0, "refused": 0}[outcome]:
                why = self.reasons.get(key, "")
                figures.wrong.append(f"{key} of {rows} rows, {outcome}: executed for {count} rows {why}")
        figures.wrong += [f"statement {key}, which no client knows: {count} rows" for key, count in found.items()]


INSERT = "insert into hr_once values (?, ?)"


def haste(n: int) -> float:
    """Seconds that a statement of some blocks may take, which is too short for many: they are interrupted at any place,
    and rolled back."""
    return n // 20 % 9 * 0.000_3


def thread(rehearsal: Rehearsal, me: int) -> None:
    """A client in a thread: single statements, batches, transactions, pipelined ones, and hasty ones by turns."""
    n = 0
    while not rehearsal.is_over:
        try:
            conn = headrace.cubrid.connect(rehearsal.url, **SETTINGS)
        except (errors.Error, TimeoutError):
            continue
        rehearsal.figures.connects += 1
        counted = 0
        while not rehearsal.is_over and not conn.closed:
            n += 1
            key, rows, ends = (me, n), 1 if n % 5 else ROWS_OF_A_BATCH, True
            rehearsal.pids[me] = conn.cas_pid
            error: BaseException | None = None
            way: list[tuple[int | None, int]] = []
            try:
                if n % 5:
                    conn.execute(INSERT, key)
                elif n % 20 == 5:
                    conn.executemany(INSERT, [key] * rows)
                elif n % 20 == 15:
                    with conn.pipeline(), conn.transaction():
                        for _ in range(rows):
                            conn.execute(INSERT, key)
                else:
                    ends = False
                    name, timeout = (None, None) if n % 20 else ("mine", haste(n))
                    with conn.transaction(name):
                        for _ in range(rows):
                            conn.execute(INSERT, key, timeout=timeout)
                            way.append((conn.cas_pid, conn.resumed))
                        ends = True
                    way.append((conn.cas_pid, conn.resumed))
            except (errors.Error, TimeoutError) as caught:
                error = caught
            rehearsal.note(key, rows, error, ends, way)
            rehearsal.resumed(conn.resumed - counted)
            counted = conn.resumed
        rehearsal.pids.pop(me, None)
        conn.close()


async def task(rehearsal: Rehearsal, me: int) -> None:
    """The same in a task."""
    n = 0
    while not rehearsal.is_over:
        try:
            conn = await headrace.aio.cubrid.connect(rehearsal.url, **SETTINGS)
        except (errors.Error, TimeoutError):
            continue
        rehearsal.figures.connects += 1
        counted = 0
        while not rehearsal.is_over and not conn.closed:
            n += 1
            key, rows, ends = (me, n), 1 if n % 5 else ROWS_OF_A_BATCH, True
            rehearsal.pids[me] = conn.cas_pid
            error: BaseException | None = None
            way: list[tuple[int | None, int]] = []
            try:
                if n % 5:
                    await conn.execute(INSERT, key)
                elif n % 20 == 5:
                    await conn.executemany(INSERT, [key] * rows)
                elif n % 20 == 15:
                    async with conn.pipeline(), conn.transaction():
                        for _ in range(rows):
                            await conn.execute(INSERT, key)
                else:
                    ends = False
                    name, timeout = (None, None) if n % 20 else ("mine", haste(n))
                    async with conn.transaction(name):
                        for _ in range(rows):
                            await conn.execute(INSERT, key, timeout=timeout)
                            way.append((conn.cas_pid, conn.resumed))
                        ends = True
                    way.append((conn.cas_pid, conn.resumed))
            except (errors.Error, TimeoutError) as caught:
                error = caught
            rehearsal.note(key, rows, error, ends, way)
            rehearsal.resumed(conn.resumed - counted)
            counted = conn.resumed
        rehearsal.pids.pop(me, None)
        await conn.close()


def rehearse(
    url: str,
    small: str,
    *,
    losses: int,
    clients: int = 10,
    kill: Kill | None = None,
    killed_percent: float = 0,
    revive: str = "",
    revive_seconds: float = REVIVE_SECONDS,
    seconds: float = math.inf,
) -> Figures:
    """Runs clients, half of them threads and half of them tasks, until enough connections were lost.

    Args:
        url: the broker for the administrator.
        small: the broker that is rehearsed, with fewer processes than there are clients.
        losses: releases and kills.
        clients: how many.
        kill: kills the process of this number; None for releases alone.
        killed_percent: kills of a hundred losses.
        revive: the command that has the broker start its process again.
        revive_seconds: it is run after this time without any statement.
        seconds: after this time it ends in any case.

    Returns:
        What happened.
    """
    rehearsal = Rehearsal(small, losses, kill, killed_percent)
    started = time.monotonic()
    rehearsal.ends = started + seconds
    with headrace.cubrid.connect(url, autocommit=True) as admin:
        admin.execute("drop table if exists hr_once")
        admin.execute("create table hr_once (who int, n int)")

    async def tasks() -> None:
        await asyncio.gather(*(task(rehearsal, me) for me in range(clients // 2, clients)))

    threads = [threading.Thread(target=thread, args=(rehearsal, me)) for me in range(clients // 2)]
    threads += [threading.Thread(target=rehearsal.killing), threading.Thread(target=lambda: asyncio.run(tasks()))]
    if revive:
        threads.append(threading.Thread(target=rehearsal.reviving, args=(revive, revive_seconds)))
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    with headrace.cubrid.connect(url, autocommit=True) as admin:
        rehearsal.check(admin)
        admin.execute("drop table hr_once")
    rehearsal.figures.seconds = time.monotonic() - started
    return rehearsal.figures


def kill_process(pid: int) -> None:
    """Kills a process of the broker. Numbers are used again: it must be one, and still be there.

    Raises ProcessLookupError if it is not.
    """
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        raise ProcessLookupError(pid) from None
    if pid <= 1 or b"cub_cas" not in command:
        raise ProcessLookupError(pid)
    os.kill(pid, signal.SIGKILL)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Rehearses releases and kills of a broker's processes.")
    parser.add_argument("--url", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--losses", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--killed-percent", type=float, default=0)
    parser.add_argument("--revive", default="", help="the command that has the broker start its process again")
    parser.add_argument("--revive-seconds", type=float, default=REVIVE_SECONDS)
    parser.add_argument("--seconds", type=float, default=math.inf, help="end after this time in any case")
    args = parser.parse_args()
    host, port = connect_options(args.url, {}).hosts[0]
    small = args.url.replace(f"{host}:{port}", f"{host}:{args.port}")
    figures = rehearse(
        args.url,
        small,
        losses=args.losses,
        clients=args.clients,
        kill=kill_process,
        killed_percent=args.killed_percent,
        revive=args.revive,
        revive_seconds=args.revive_seconds,
        seconds=args.seconds,
    )
    shown = collections.OrderedDict(sorted(vars(figures).items()))
    wrong: list[str] = shown.pop("wrong")
    print(", ".join(f"{name} {value}" for name, value in shown.items()), f"wrong {len(wrong)}", *wrong[:20], sep="\n")
    return 1 if wrong or figures.stuck else 0


if __name__ == "__main__":
    sys.exit(main())
