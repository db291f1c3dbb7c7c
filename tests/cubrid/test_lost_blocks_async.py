"""A broker that gives the process of a session to another client in the middle of a block, though it should not: the
rest of the block is not executed by another process, as if it were the whole."""

from __future__ import annotations

import pytest

import headrace.aio.cubrid
from headrace import errors

HOOKS = ["headrace_release=1", "headrace_idle=1;headrace_release=1"]
"""The process is given away while the status of the session has an open transaction, and while it has
none: two processes in one place of the broker's table overwrite each other's."""


async def rows(url: str) -> list[int]:
    async with await headrace.aio.cubrid.connect(url) as conn:
        found = [n for (n,) in await conn.fetch("select n from hr_lost order by n")]
        await conn.execute("drop table hr_lost")
        await conn.commit()
    return found


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("before", [0, 1, 2, 3])
@pytest.mark.parametrize("autocommit", [True, False])
async def test_release_in_a_block_undoes_all_of_it_or_nothing(
    url: str, hook: str, before: int, autocommit: bool
) -> None:
    conn = await headrace.aio.cubrid.connect(url, autocommit=True)
    await conn.execute("drop table if exists hr_lost")
    await conn.execute("create table hr_lost (n int)")
    await conn.execute("insert into hr_lost values (?)", (0,))
    await conn.set_autocommit(autocommit)
    outcome = "undone"
    try:
        async with conn.transaction():
            for n in range(3):
                if n == before:
                    await conn.execute(f"set system parameters '{hook}'")
                await conn.execute("insert into hr_lost values (?)", (n + 1,))
            if before == 3:
                await conn.execute(f"set system parameters '{hook}'")
        outcome = "done"
    except errors.Error:
        outcome += ", and closed" if conn.closed else ""
    await conn.close()
    assert await rows(url) == {"done": [0, 1, 2, 3], "undone, and closed": [0]}[outcome]
