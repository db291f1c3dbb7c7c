"""The driver's library in a program in C, which has neither Python nor a driver manager: examples/adbc-c."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import adbc_driver_manager
import pytest

from adbc_driver_headrace import library_path
from servers import Database

from .test_adbc_statements import FAILS

SOURCE = Path(__file__).parents[2] / "examples/adbc-c/main.c"
WARNINGS = ("-Wall", "-Wextra", "-Werror")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, compiled."""
    compiler = shutil.which("cc") or pytest.fail("a C compiler is needed: apt-get install gcc libc6-dev")
    made = tmp_path_factory.mktemp("c") / "adbc"
    headers = Path(adbc_driver_manager.__file__).parent / "arrow-adbc"
    command = [compiler, *WARNINGS, "-I", headers, "-o", made, SOURCE, "-ldl", "-pthread"]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return made


def test_a_program_in_c_ingests_reads_cancels_and_is_told_errors(any_db: Database, program: Path) -> None:
    statements = [FAILS[any_db.kind], any_db.slow] if any_db.kind in FAILS else []
    command = [program, library_path(), any_db.url, *statements]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")
    lines = ran.stdout.splitlines()
    assert lines[:5] == ["ingested: 3", "columns: id l, name u", "1 one", "2 null", "3 three"]
    # ADBC_STATUS_NOT_FOUND.
    assert lines[5].startswith("refused: status 3, SQLSTATE 42"), lines
    if statements:
        assert lines[6].startswith("stream: after some batches, status 7, SQLSTATE 22"), lines
        assert "0 details" not in lines[6]
        # ADBC_STATUS_CANCELLED.
        status = "status 11, SQLSTATE 57014" if any_db.slow_raises else "status 0, SQLSTATE "
        assert lines[7].startswith(f"cancelled: {status}"), lines
    assert len(lines) == 6 + len(statements)
