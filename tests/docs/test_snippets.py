"""The examples of the documentation, and those that stand by themselves, run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import headrace.mysql
from headrace.testing import MysqldServer, PostgresServer

ROOT = Path(__file__).resolve().parents[2]
OF_ENGINES = {"docs/howto/ray.md", "docs/howto/spark.md"}
"""Pages on what ``make test-engines`` installs and runs."""
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    if "```python" in path.read_text(encoding="utf-8") and path.relative_to(ROOT).as_posix() not in OF_ENGINES
)
MYSQL_PAGES = [page for page in PAGES if "import headrace.mysql" in (ROOT / page).read_text(encoding="utf-8")]
ON_A_DAEMON = {"daemon_socket.py"}
"""Those that take a daemon's socket as an argument, which tests/daemon/front runs."""
EXAMPLES = sorted(
    path.relative_to(ROOT).as_posix() for path in (ROOT / "examples").glob("*.py") if path.name not in ON_A_DAEMON
)


def run(server: PostgresServer, *command: str, more: dict[str, str] | None = None, seconds: float = 120) -> None:
    where = {"PGHOST": server.host, "PGPORT": str(server.port), "PGUSER": server.user, "PGDATABASE": server.database}
    where["DATABASE_URL"] = f"postgresql://{server.user}@{server.host}:{server.port}/app"
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, **where, **(more or {})},
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_is_something_to_run() -> None:
    assert len(PAGES) > 10
    assert EXAMPLES


@pytest.mark.parametrize("page", MYSQL_PAGES)
def test_page_on_mysql(server: PostgresServer, page: str, mysql_server: MysqldServer) -> None:
    run(server, "docs/_tools/snippets.py", page, more=shop(mysql_server))


@pytest.mark.parametrize("page", PAGES)
def test_page(server: PostgresServer, page: str, request: pytest.FixtureRequest) -> None:
    more = None
    if page in MYSQL_PAGES:
        more = shop(request.getfixturevalue("mariadb_server"))
    run(server, "docs/_tools/snippets.py", page, more=more)


def shop(mariadb: MysqldServer) -> dict[str, str]:
    """An empty database ``shop`` for the user ``jo``, as the pages on MySQL have it; what leads to it."""
    with headrace.mysql.connect(mariadb.url, autocommit=True) as admin:
        admin.execute("drop database if exists shop")
        admin.execute("create database shop")
        admin.execute("create user if not exists jo@'%' identified by 'secret'")
        admin.execute("grant all on shop.* to jo@'%'")
    return {"MYSQL_TCP_PORT": str(mariadb.port)}


@pytest.mark.parametrize("example", EXAMPLES)
def test_example(server: PostgresServer, example: str) -> None:
    run(server, example)
