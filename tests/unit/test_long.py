"""How much the tests try, in a run of ``make test`` and in a long one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from long import LONGEST, is_long

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("night", "expected"), [("0", "3 5 0 100"), ("20261127", "60 1 2026112700000 2000")], ids=["short", "long"]
)
def test_a_long_run_tries_more_and_begins_elsewhere(night: str, expected: str) -> None:
    program = "import long, hypothesis; long.load_profile(); examples = hypothesis.settings().max_examples; "
    program += "print(long.times(3), long.every(5), long.FIRST_SEED, examples)"
    environment = {**os.environ, "HEADRACE_LONG": night, "CI": ""}
    command = [sys.executable, "-c", program]
    found = subprocess.run(command, cwd=TESTS, env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.split() == expected.split()


@pytest.mark.parametrize("name", LONGEST)
def test_the_longest_files_are_there(name: str) -> None:
    assert (TESTS / name).is_file()
    assert is_long(TESTS / name)
