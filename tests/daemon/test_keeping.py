"""What clients of other languages keep a server connection for, and until when: programs that stop at each step."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from toolchains import java_command, node_modules
from waiting import until

from .conftest import Daemon
from .test_status import status

PROGRAMS = Path(__file__).parent / "programs"
EXAMPLES = Path(__file__).parents[2] / "examples"
LOCK = "an advisory lock of the session"
SETTING = "SET of a setting that the server does not report"
NODE = [
    ("queries", "idle"), ("transaction", "active"), ("statement_timeout", "idle"), ("listen", "LISTEN"),
    ("unlisten", "idle"), ("lock", LOCK), ("unlock", "idle"), ("set", SETTING), ("reset", "idle"), ("pool", "idle"),
]  # fmt: skip
DJANGO = [
    ("queries", "idle"), ("transaction", "active"), ("after it", "idle"), ("iterator", "a cursor WITH HOLD"),
    ("at its end", "idle"), ("closed", "idle"), ("statement_timeout", "idle"), ("lock", LOCK), ("unlock", "idle"),
]  # fmt: skip
JAVA = [
    ("queries", "idle"), ("setFetchSize in a transaction", "active"), ("after it", "idle"), ("large object", "idle"),
    ("setTransactionIsolation, setReadOnly", "idle"), ("set", SETTING), ("reset", "idle"), ("listen", "LISTEN"),
    ("unlisten", "idle"),
]  # fmt: skip


def kept(daemon: Daemon) -> set[str]:
    """What each client keeps its connection for, or its state."""
    return {client["pinned_by"] or client["state"] for client in status(daemon)["clients"]}


def stops(daemon: Daemon, steps: list[tuple[str, str]], *command: Any, **environment: str) -> None:
    """Runs a program, which prints the steps, and looks at each."""
    arguments = [*map(str, command), str(daemon.folder), "two"]
    with subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        for name, expected in steps:
            assert program.stdout.readline() == f"{name}\n"
            try:
                until(lambda expected=expected: kept(daemon) == {expected})  # type: ignore[misc]
            except AssertionError:
                pytest.fail(f"{name}: {kept(daemon)}, and not {expected}")
            finally:
                print("", file=program.stdin, flush=True)
        assert program.wait() == 0


def test_node_postgres(daemon: Daemon) -> None:
    modules = node_modules(EXAMPLES / "daemon-node", "daemon-node")
    stops(daemon, NODE, "node", PROGRAMS / "keeping.js", NODE_PATH=str(modules))


@pytest.mark.slow
def test_django(daemon: Daemon) -> None:
    stops(daemon, DJANGO, sys.executable, PROGRAMS / "keeping_django.py")


@pytest.mark.slow
def test_pgjdbc(daemon: Daemon) -> None:
    stops(daemon, JAVA, *java_command(EXAMPLES / "daemon-java"), "Keeping")
