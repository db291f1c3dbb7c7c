"""The test server against a genuine one: the programs of other clients get the same answers, line by line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from headrace.testing import cubrid

from . import program_of_node

FOLDER = Path(__file__).parent
PROGRAM_TIMEOUT = 100
"""Seconds; it takes two."""


def compare(found: list[str], file: str, least: int) -> None:
    """Compares with what the program has printed on a genuine server, of at least so many lines."""
    expected = (FOLDER / file).read_text(encoding="utf-8").splitlines()
    differences = [f"- {old}\n+ {new}" for old, new in zip(expected, found, strict=False) if old != new]
    assert not differences, "\n".join(differences)
    assert len(found) == len(expected) > least


@pytest.mark.skipif(sys.version_info < (3, 11), reason="pycubrid needs Python 3.11")
def test_pycubrid_gets_what_a_genuine_server_answers() -> None:
    with cubrid() as server:
        command = [sys.executable, "-m", "cubrid_server.program", server.host, str(server.port), server.database]
        done = subprocess.run(
            command,
            cwd=FOLDER.parent,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=PROGRAM_TIMEOUT,
            check=False,
        )
    assert not done.stderr
    compare(done.stdout.splitlines(), "expected.txt", 700)


def test_node_cubrid_gets_what_a_genuine_server_answers() -> None:
    with cubrid() as server:
        found = program_of_node.run(server.host, server.port, server.database)
    compare(found.splitlines(), "expected_node.txt", 400)
