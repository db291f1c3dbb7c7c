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
from headrace.testing import ServerUnavailable, informix, mariadb, postgres
from headrace.testing._supervised import end, free_port, is_running, supervise, unprivileged_account
from headrace_lab.mysql import start_mysql
from live import cubrid_url
from servers import DATABASES, Cubrid, Database, Informix, MariaDB, MySQL, PostgreSQL

SETTINGS = {"innodb_flush_log_at_trx_commit": "2", "innodb_buffer_pool_size": "64M"}
RESTARTED: dict[type[Database], tuple[Callable[[], Any], signal.Signals, str]] = {
    PostgreSQL: (postgres, signal.SIGQUIT, "postgres"),
    MariaDB: (partial(mariadb, settings=SETTINGS), signal.SIGKILL, "mysql"),
    MySQL: (partial(start_mysql, settings=SETTINGS), signal.SIGKILL, "mysql"),
}
"""What starts a server, the signal that ends it as a crash does, and the account that it runs as. What it has
acknowledged outlives its process."""
KEPT: dict[type[Database], Callable[[], Any]] = {Informix: informix, Cubrid: cubrid_url}
"""What starts a server whose process is not killed."""
LIMIT = 60.0
"""Seconds that a server may take to end, or to start."""


class Restarting:
    """A server's process, by what the system lists of it."""

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
def own_server(name: str) -> Iterator[tuple[Database, Restarting | None]]:
    """A database whose server is for a ledger alone, and the server, where it can be killed and started again."""
    cls = DATABASES[name]
    if cls in KEPT:
        with KEPT[cls]() as running:
            yield cls.at(running), None
        return
    start, ended_by, account = RESTARTED[cls]
    with start() as running:

        def url(port: int) -> str:
            return f"{name}://{running.user}@127.0.0.1:{port}/{running.database}"

        server = Restarting(running.pid, url, signal=ended_by, account=account)
        with server.folder, contextlib.closing(server):
            yield cls(url(running.port), ""), server
