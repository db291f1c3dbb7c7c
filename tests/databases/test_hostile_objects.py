"""No object ends the process, the connection or the answer to the next query, whatever it does when it is read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from long import FIRST_SEED, times
from servers import Database, names

PROGRAM = Path(__file__).with_name("hostile_objects.py")
SECONDS = 120.0
ROUNDS = 500
"""Random values of one run."""


@pytest.mark.parametrize("any_db", names(), indirect=True)
def test_no_object_is_more_than_an_error(any_db: Database) -> None:
    send(any_db)


@pytest.mark.slow
@pytest.mark.parametrize("any_db", names(), indirect=True)
def test_nor_is_any_within_others(any_db: Database) -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + times(1)):
        send(any_db, seed, ROUNDS)


def send(db: Database, *numbers: int) -> None:
    """Runs the program, which has to come to its end."""
    command = [sys.executable, PROGRAM, db.url, db.native_marks(1)[0], *map(str, numbers)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, (numbers, done.returncode, done.stdout[-300:], done.stderr[-2000:])
    assert done.stdout.endswith("ended\n")
    assert "panicked" not in done.stderr
