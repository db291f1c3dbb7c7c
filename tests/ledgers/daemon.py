"""headraced between the workers and the way to the server."""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from daemon.conftest import built

CONFIG = """
[databases.ledger]
url = {url}
pool_size = 3
queue_wait = 10
"""
LIMIT = 30.0
"""Seconds that it may take to end."""


class Daemon:
    """One that is killed, and started again in the same folder."""

    def __init__(self, target: str) -> None:
        """
        Args:
            target: the URL of the server.
        """
        self._made = tempfile.TemporaryDirectory(prefix="headraced-")
        self.folder = Path(self._made.name)
        (self.folder / "headraced.toml").write_text(CONFIG.format(url=json.dumps(target)))
        self.url = f"postgresql://anyone@/ledger?host={self.folder / 'run'}&port=5432&sslmode=disable"
        self.program = built()
        self._process: subprocess.Popen[str] | None = None

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Runs it as long as the block does."""
        with self._made:
            self._start()
            try:
                yield
            finally:
                self._kill()

    def restart(self) -> None:
        """Kills it, and returns when another one serves."""
        self._kill()
        self._start()

    def _start(self) -> None:
        command = [self.program, "--config", self.folder / "headraced.toml", "--folder", self.folder / "run"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.startswith("headraced: serving"), line

    def _kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.communicate(timeout=LIMIT)
