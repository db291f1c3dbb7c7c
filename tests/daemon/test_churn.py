"""A short form of the churn that runs for an hour by hand: what the daemon occupies does not grow."""

from __future__ import annotations

from pathlib import Path

from headrace.testing import PostgresServer
from long import times

from .churn import BACKENDS, churn
from .conftest import config, started

SECONDS = times(6)
EVERY = SECONDS / 4
WARM_UP = 2
"""What is noted until then is not compared: statements and buffers are still new."""
GROWTH_KB = 8 * 1024
"""What the allocator may keep of a thousand clients."""


async def test_clients_that_come_and_go_in_every_way_leave_nothing(
    program: Path, folder: Path, server: PostgresServer
) -> None:
    with started(program, folder, config(server, app=f"pool_size = {BACKENDS}\nqueue_wait = 120"), server) as daemon:
        noted = (await churn(daemon, SECONDS, EVERY, seed=1))[WARM_UP:]
    assert noted[-1].clients > noted[0].clients > 0
    assert noted[-1].memory_kb - noted[0].memory_kb < GROWTH_KB
