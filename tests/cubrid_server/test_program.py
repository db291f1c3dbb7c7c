"""The test server against a genuine one: pycubrid's program gets the same answers, line by line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from headrace.testing import cubrid

FOLDER = Path(__file__).parent
PROGRAM_TIMEOUT = 100
"""Seconds; it takes two."""

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="pycubrid needs Python 3.11")


def test_pycubrid_gets_what_a_genuine_server_answers() -> None:
    with cubrid() as server:
        command = [sys.executable, FOLDER / "program.py", server.host, str(server.port), server.database]
        done = subprocess.run(
            command, capture_output=True, text=True, encoding="utf-8", timeout=PROGRAM_TIMEOUT, check=False
        )
    assert not done.stderr
    expected = (FOLDER / "expected.txt").read_text(encoding="utf-8").splitlines()
    found = done.stdout.splitlines()
    differences = [f"- {old}\n+ {new}" for old, new in zip(expected, found, strict=False) if old != new]
    assert not differences, "\n".join(differences)
    assert len(found) == len(expected) > 700
