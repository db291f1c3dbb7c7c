"""What the loop reads into is memory of the connection, lent: it stays where it is until it is given back."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from headrace.testing import PostgresServer

# In a process of its own, which may crash. The allocator fills what is freed, where it is the one of glibc.
PROGRAM = """
import asyncio, sys
import headrace
from headrace._native import ReadBufferView

async def main(url, sslmode):
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    conn = await headrace.aio.connect(url, sslmode=sslmode)
    await conn.execute("select 1")
    lent = memoryview(ReadBufferView(conn._core.wire))
    mine = b"lent" * (len(lent) // 4) + b"!" * (len(lent) % 4)
    lent[:] = mine
    await conn.close()
    await asyncio.sleep(0.01)
    assert conn.closed
    blocks = [bytearray(len(mine)) for _ in range(8)]
    assert len(mine) >= 1024, f"{len(mine)} bytes: fewer than a loop reads at a time (READ_FEWEST_BYTES)"
    assert bytes(lent) == mine, "the buffer was freed while it was lent"
    lent[:] = bytes(len(mine))

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize("sslmode", ["disable", "require"])
def test_a_lent_buffer_outlives_its_connection(
    server: PostgresServer, tls_server: PostgresServer, sslmode: str
) -> None:
    url = tls_server.url if sslmode == "require" else server.url
    command = [sys.executable, "-c", PROGRAM, url, sslmode]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env={**os.environ, "MALLOC_PERTURB_": "165"}, check=False
    )
    assert done.returncode == 0, done.stderr
