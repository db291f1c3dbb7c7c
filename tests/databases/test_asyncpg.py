"""headrace.compat.asyncpg, tested with asyncpg's own test suite."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.testing import PostgresServer
from sdist import source_of

ASYNCPG = "0.32.0"
HERE = Path(__file__).parent
FILES = ("codecs", "copy", "cursor", "execute", "listeners", "prepare", "record", "transaction", "types")
NOT_OURS: dict[str, list[str]] = {}
"""Tests that are left out, by the reason."""


@pytest.mark.slow
def test_asyncpgs_own_tests(server: PostgresServer) -> None:
    source = source_of("asyncpg", ASYNCPG)
    path = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-p", "asyncpg_plugin", "-p", "no:cacheprovider", "-c", os.devnull,
            "--rootdir", ".", "--import-mode", "importlib", "--tb", "short",
            *(f"tests/test_{name}.py" for name in FILES),
        ],
        cwd=source,
        env={
            **os.environ, "PYTHONPATH": path, "PGHOST": server.host, "PGPORT": str(server.port),
            "PGUSER": server.user, "PGDATABASE": "postgres",
            "ASYNCPG_DESELECT": "\n".join(name for names in NOT_OURS.values() for name in names),
        },
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert re.search(r"\d+ passed", done.stdout)
