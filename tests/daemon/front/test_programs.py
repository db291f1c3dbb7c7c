"""Programs without a package for the daemon, in four languages: those of ``examples/``, on each database."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from toolchains import go_program, java_command, node_modules

from .conftest import Front

EXAMPLES = Path(__file__).parents[3] / "examples"
ROWS = 50
WORKLOAD = 10_000
"""Executions of a prepared statement in one pipeline, of up to 10, 5 and 1 rows in turn."""
WORKLOAD_ROWS = 53_338
PROGRAM_SECONDS = 120


@pytest.fixture
def people(behind: Front) -> str:
    """A table of fifty rows."""
    table = behind.table("programs", "id int primary key, name varchar(20)")
    with behind.direct() as admin:
        for n in range(ROWS):
            admin.execute(f"insert into {table} values ({n}, 'name {n}')")
    return table


def output(*command: Any, **options: Any) -> str:
    """What a program prints. What it complains of is shown when it fails."""
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=PROGRAM_SECONDS, encoding="utf-8", **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_psql_runs_a_script(behind: Front, people: str) -> None:
    insert, count = f"insert into {people} values (100, 'x')", f"select count(*) from {people}"
    script = f"begin;\n{insert};\nrollback;\n{count};\nselect 1 +;\n"
    command = ["psql", "-X", "-A", "-t", "-q", f"host={behind.folder} dbname={behind.name} user=anyone"]
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=False, timeout=PROGRAM_SECONDS)
    assert done.stdout == f"{ROWS}\n"
    assert "ERROR" in done.stderr


def test_a_program_with_nothing_but_a_socket(behind: Front, people: str) -> None:
    query = f"select id, name from {people} where id < $1 order by id"
    program = EXAMPLES / "daemon_socket.py"
    said = output(sys.executable, "-I", "-S", program, behind.folder, behind.name, query, "2")
    assert said == "0\tname 0\n1\tname 1\n"


def test_go_with_pgx_and_database_sql(behind: Front, people: str) -> None:
    limited = behind.limited.format(columns="id, name", table=people)
    said = output(go_program(EXAMPLES / "daemon-go"), behind.folder, behind.name, people, limited, str(WORKLOAD))
    assert said.splitlines() == [
        "sql name 7 name 7",
        "pgx 3 name 3",
        f"workload {WORKLOAD} statements {WORKLOAD_ROWS} rows",
    ]


def test_java_with_pgjdbc(behind: Front, people: str) -> None:
    command = java_command(EXAMPLES / "daemon-java")
    said = output(*command, "Daemon", behind.folder, behind.name, people).splitlines()
    assert said[:3] == ["java 8", f"rows {ROWS}", "changed 2"]
    assert said[3].startswith("refused 42")


def test_node_with_node_postgres(behind: Front, people: str) -> None:
    folder = EXAMPLES / "daemon-node"
    environment = {**os.environ, "NODE_PATH": str(node_modules(folder, "daemon-node"))}
    said = output("node", folder / "index.js", behind.folder, behind.name, people, env=environment).splitlines()
    assert said[:3] == ["node 3 name 3", "node 4 name 4", "changed 2, and undone: name 0"]
    assert said[3].startswith("refused 42")
