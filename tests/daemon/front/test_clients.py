"""Clients of many makers on each database behind the front."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import asyncpg
import pg8000.native
import pytest

import headrace

from .conftest import Front

EXAMPLES = Path(__file__).parents[3] / "examples"
ROWS = 50
PROGRAM_SECONDS = 120


@pytest.fixture
def people(front: Front) -> str:
    """A table of fifty rows."""
    table = front.table("people", "id int primary key, name varchar(20)")
    with front.direct() as admin:
        admin.executemany(f"insert into {table} values (?, ?)", [(n, f"name {n}") for n in range(ROWS)])
    return table


async def test_asyncpg(front: Front, people: str) -> None:
    client: Any = await asyncpg.connect(host=str(front.folder), port=5432, database=front.name, user="anyone")
    try:
        assert await client.fetchval(f"select name from {people} where id = $1", "3") == "name 3"
        assert await client.fetchval(f"select name from {people} where id = $1::int", 4) == "name 4"
        async with client.transaction():
            await client.execute(f"update {people} set name = $1 where id = $2::int", "changed", 4)
            found = [row["id"] async for row in client.cursor(f"select id from {people} order by id", prefetch=7)]
        assert found == list(range(ROWS))
        assert await client.fetchval(f"select name from {people} where id = $1::int", 4) == "changed"
        with pytest.raises(asyncpg.UniqueViolationError):
            await client.execute(f"insert into {people} values ($1::int, $2)", 4, "again")
        await client.reset()
    finally:
        await client.close()


def test_pg8000(front: Front, people: str) -> None:
    client = pg8000.native.Connection("anyone", unix_sock=str(front.socket), database=front.name)
    assert client.run(f"select name from {people} where id = :n", n=5) == [["name 5"]]
    client.run("begin")
    client.run(f"delete from {people}")
    client.run("rollback")
    assert client.run(f"select count(*) from {people}") == [[ROWS]]
    client.close()


def test_our_own_driver(front: Front, people: str) -> None:
    with headrace.connect(**front.where()) as client:
        assert client.execute(f"select id, name from {people} where id = %s", (6,)).fetchone() == (6, "name 6")
        with client.transaction():
            client.execute(f"update {people} set name = %s where id = %s", ("changed", 6))
        assert client.execute(f"select name from {people} where id = %s", (6,)).fetchone() == ("changed",)


def test_psql_runs_a_script(front: Front, people: str) -> None:
    insert, count = f"insert into {people} values (100, 'x')", f"select count(*) from {people}"
    script = f"begin;\n{insert};\nrollback;\n{count};\nselect 1 +;\n"
    command = ["psql", "-X", "-A", "-t", "-q", f"host={front.folder} dbname={front.name} user=anyone"]
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=False, timeout=PROGRAM_SECONDS)
    assert done.stdout == f"{ROWS}\n"
    assert "ERROR" in done.stderr


def test_a_program_with_nothing_but_a_socket(front: Front, people: str) -> None:
    query = f"select id, name from {people} where id < $1 order by id"
    command = [sys.executable, "-I", "-S", EXAMPLES / "daemon_socket.py", front.folder, front.name, query, "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PROGRAM_SECONDS)
    assert done.stdout == "0\tname 0\n1\tname 1\n"
