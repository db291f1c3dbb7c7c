"""The examples of the documentation, and those that stand by themselves, run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.lab.servers import Server

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    if "```python" in path.read_text(encoding="utf-8")
)
EXAMPLES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "examples").glob("*.py"))


def run(server: Server, *command: str) -> None:
    where = {"PGHOST": server.host, "PGPORT": str(server.port), "PGUSER": server.user, "PGDATABASE": server.database}
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env={**os.environ, **where}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_is_something_to_run() -> None:
    assert len(PAGES) > 10
    assert EXAMPLES


@pytest.mark.parametrize("page", PAGES)
def test_page(server: Server, page: str) -> None:
    run(server, "docs/_tools/snippets.py", page)


@pytest.mark.parametrize("example", EXAMPLES)
def test_example(server: Server, example: str) -> None:
    run(server, example)
