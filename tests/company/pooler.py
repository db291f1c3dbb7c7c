"""PgBouncer in transaction mode, for a server: the lab's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from headrace.testing import PostgresServer
from headrace_lab import pgbouncer as lab
from headrace_lab.pgbouncer import newest_pgbouncer, system_pgbouncer

__all__ = ["newest_pgbouncer", "pgbouncer", "system_pgbouncer"]


@contextlib.contextmanager
def pgbouncer(program: str | Path, server: PostgresServer, more: str = "", size: int = 3) -> Iterator[str]:
    """Starts one with at most ``size`` server connections; returns its URL. ``more`` is further configuration."""
    with lab.pgbouncer(program, server, more, size) as started:
        yield started.url
