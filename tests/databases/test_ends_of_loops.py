"""The end of asyncio.run() with a statement in flight: it is cancelled, and nothing complains."""

from __future__ import annotations

import subprocess
import sys

import pytest

from servers import Database, names

SECONDS = 60.0
PROGRAM = """
import asyncio, sys
import headrace.aio

async def main():
    conn = await headrace.aio.connect(sys.argv[1], autocommit=True)
    work = [asyncio.ensure_future(conn.execute(sys.argv[2])) for _ in range(int(sys.argv[3]))]
    await asyncio.sleep(0.2)
    return conn, work

conn, work = asyncio.run(main())
assert all(task.cancelled() for task in work), work
"""


@pytest.mark.parametrize("any_db", names(), indirect=True)
@pytest.mark.parametrize("statements", [1, 3])
def test_a_statement_in_flight_is_cancelled_at_the_end(any_db: Database, statements: int) -> None:
    command = [sys.executable, "-c", PROGRAM, any_db.url, any_db.slow, str(statements)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["postgres", "mariadb", "informix", "cubrid"])
def test_a_server_whose_block_is_never_left_ends_with_the_interpreter(name: str) -> None:
    code = f"from headrace import testing; block = testing.{name}(); server = block.__enter__(); print(server.pid)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=SECONDS)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip().isdigit()
