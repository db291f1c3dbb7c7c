"""go-mysql-server, which implements MySQL's protocol and is not related to MariaDB: built from ``goserver/`` with Go's
own tools and the modules of the Go proxy, into ``build/``."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolchains import go_program

SOURCE = Path(__file__).parent / "goserver"


@contextlib.contextmanager
def go_mysql_server(certificate: Path, key: Path) -> Iterator[int]:
    """Runs it; returns its port on 127.0.0.1."""
    command = [go_program(SOURCE), certificate, key]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        said = run.stdout.readline()
        try:
            if not said.strip().isdigit():
                pytest.fail("go-mysql-server did not start")
            yield int(said)
        finally:
            run.stdin.close()
            run.wait(10)
