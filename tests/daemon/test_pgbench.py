"""pgbench by each of its protocols and in a pipeline: none of its transactions fails, and what is stored agrees."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace
from headrace.testing import PostgresServer
from headrace.testing._binaries import system_directories

from .conftest import Daemon, config, started

pytestmark = pytest.mark.slow

CLIENTS, TRANSACTIONS, SECONDS = 4, 40, 60
DATABASE = "pgbench"
MODES = {"transaction": "pool_size = 2", "session": f'pool_size = {CLIENTS}\npool_mode = "session"'}
TRANSFER = r"""
\set aid random(1, 100000)
\set tid random(1, 10)
\set delta random(-5000, 5000)
\startpipeline
begin;
update pgbench_accounts set abalance = abalance + :delta where aid = :aid;
select abalance from pgbench_accounts where aid = :aid;
update pgbench_tellers set tbalance = tbalance + :delta where tid = :tid;
update pgbench_branches set bbalance = bbalance + :delta where bid = 1;
insert into pgbench_history (tid, bid, aid, delta, mtime) values (:tid, 1, :aid, :delta, current_timestamp);
end;
\endpipeline
"""
"""pgbench's own transaction, sent at once."""
STORED = "select " + ", ".join(
    f"(select sum({column})::int8 from pgbench_{table})"
    for column, table in [
        ("abalance", "accounts"),
        ("tbalance", "tellers"),
        ("bbalance", "branches"),
        ("delta", "history"),
    ]
)


@pytest.fixture(scope="module")
def pgbench() -> Path:
    """The system's program: the wheel with a server has none."""
    return next(found for folder in system_directories() if (found := folder / "pgbench").exists())


@pytest.fixture(scope="module")
def url(server: PostgresServer, pgbench: Path) -> Iterator[str]:
    """A database with pgbench's tables."""
    with headrace.connect(server.url, autocommit=True) as admin:
        admin.execute(f"create database {DATABASE}")
        made = server.url.removesuffix(f"/{server.database}") + f"/{DATABASE}"
        subprocess.run([pgbench, "--initialize", "--quiet", made], check=True, capture_output=True, timeout=SECONDS)
        yield made
        admin.execute(f"drop database {DATABASE} with (force)")


@pytest.fixture(scope="module")
def daemon(program: Path, server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A pool in each mode."""
    text = config(server, **MODES).replace('dbname = "postgres"', f'dbname = "{DATABASE}"')
    with started(program, tmp_path_factory.mktemp("pgbench"), text, server) as running:
        yield running


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "options",
    ["--protocol=simple", "--protocol=extended", "--protocol=prepared", "--protocol=extended --connect", "pipeline"],
)
def test_transactions_of_pgbench_are_all_done(
    pgbench: Path, url: str, daemon: Daemon, tmp_path: Path, mode: str, options: str
) -> None:
    given = options.split()
    if options == "pipeline":
        script = tmp_path / "transfer.sql"
        script.write_text(TRANSFER)
        given = ["--protocol=prepared", f"--file={script}"]
    # It waits for each Parse in the thread that serves a client.
    many = [f"--client={CLIENTS}", f"--jobs={CLIENTS}", f"--transactions={TRANSACTIONS}", "--no-vacuum"]
    where = f"host={daemon.folder} port=5432 user=anyone dbname={mode}"
    with headrace.connect(url, autocommit=True) as admin:
        before = admin.fetchval("select count(*) from pgbench_history")
        done = subprocess.run(
            [pgbench, *many, *given, where], capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert done.returncode == 0, done.stderr
        assert "number of failed transactions: 0 " in done.stdout, done.stdout
        assert admin.fetchval("select count(*) from pgbench_history") - before == CLIENTS * TRANSACTIONS
        assert len(set(admin.fetchrow(STORED))) == 1
