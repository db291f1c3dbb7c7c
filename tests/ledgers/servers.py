"""Servers that are killed and started again, as their own programs are after a crash, on another port."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import headrace
from headrace.testing import ServerUnavailable, mariadb, postgres
from headrace.testing._supervised import end, free_port, is_running, supervise, unprivileged_account
from headrace_lab.mysql import start_mysql

LIMIT = 60.0
"""Seconds that a server may take to end, or to start."""


class Restarting:
    """A server's process, by what the system knows of it."""

    def __init__(self, pid: int, url: Callable[[int], str], *, signal: signal.Signals, account: str) -> None:
        self.pid = pid
        self.url = url
        self.signal = signal
        self.account = unprivileged_account(account)
        self.command = Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]
        pairs = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
        self.environment = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        self.folder = tempfile.TemporaryDirectory(prefix="headrace-restarted-")
        self.started: subprocess.Popen[str] | None = None

    def restart(self) -> int:
        """Kills it, and returns the port on which it answers again."""
        os.kill(self.pid, self.signal)
        self._wait(lambda: not is_running(self.pid))
        self.close()
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            port = self._start()
            with contextlib.suppress(AssertionError):
                self._wait(partial(self._answers_or_ended, port))
                if self._answers(port):
                    return port
            self.close()
        raise ServerUnavailable(f"the server did not start again: {self._log().read_text()[-2000:]}")

    def close(self) -> None:
        """Ends what was started here."""
        if self.started is not None:
            end(self.started)
            self.started = None

    def _log(self) -> Path:
        return Path(self.folder.name, "log")

    def _start(self) -> int:
        port = free_port()
        root = Path(tempfile.mkdtemp(dir=self.folder.name))
        for path in (Path(self.folder.name), root):
            path.chmod(0o777)
        command = [part for part in self.command if not part.startswith("--port=")]
        self.started, self.pid = supervise(
            [*command, f"--port={port}"],
            root=root,
            log=self._log(),
            environment=self.environment,
            account=self.account,
            stop_signal=self.signal.name,
        )
        return port

    def _answers(self, port: int) -> bool:
        try:
            headrace.connect(self.url(port), connect_timeout=5).close()
        except headrace.Error:
            return False
        return True

    def _answers_or_ended(self, port: int) -> bool:
        return self._answers(port) or not is_running(self.pid)

    @staticmethod
    def _wait(condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + LIMIT
        while not condition():
            assert time.monotonic() < deadline, "a server takes too long"
            time.sleep(0.02)


@contextlib.contextmanager
def _restarting(pid: int, url: Callable[[int], str], port: int, **keywords: Any) -> Iterator[tuple[str, Restarting]]:
    server = Restarting(pid, url, **keywords)
    with server.folder:
        try:
            yield url(port), server
        finally:
            server.close()


@contextlib.contextmanager
def own_server(name: str) -> Iterator[tuple[str, Restarting]]:
    """A server of PostgreSQL, MariaDB or MySQL for a ledger alone, and its URL. What it has acknowledged outlives its
    process."""
    if name == "postgresql":
        with (
            postgres() as pg,
            _restarting(
                pg.pid,
                lambda port: f"postgresql://{pg.user}@127.0.0.1:{port}/{pg.database}",
                pg.port,
                signal=signal.SIGQUIT,
                account=pg.user,
            ) as made,
        ):
            yield made
        return
    settings = {"innodb_flush_log_at_trx_commit": "2", "innodb_buffer_pool_size": "64M"}
    with (
        mariadb(settings=settings) if name == "mariadb" else start_mysql(settings=settings) as my,
        _restarting(
            my.pid,
            lambda port: f"{my.scheme}://{my.user}@127.0.0.1:{port}/{my.database}",
            my.port,
            signal=signal.SIGKILL,
            account="mysql",
        ) as made,
    ):
        yield made
