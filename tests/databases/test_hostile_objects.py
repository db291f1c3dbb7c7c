"""No object ends the process, the connection or the answer to the next query, whatever it does when it is read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from servers import Database, names

PROGRAM = Path(__file__).with_name("hostile_objects.py")
SECONDS = 120.0


@pytest.mark.parametrize("any_db", names(), indirect=True)
def test_no_object_is_more_than_an_error(any_db: Database) -> None:
    command = [sys.executable, PROGRAM, any_db.url, any_db.native_marks(1)[0]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, (done.returncode, done.stdout[-300:], done.stderr[-2000:])
    assert done.stdout.endswith("ended\n")
