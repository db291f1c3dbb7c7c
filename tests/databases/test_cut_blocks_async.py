"""A connection that ends at any point of a block: all of the block is there or nothing, and what is reported as
committed is there."""

from __future__ import annotations

import re

import pytest

import headrace.aio
from cutting import AFTER, ANSWERED, BEFORE, Cutting
from headrace import errors
from servers import Database

ROWS = 3
MOST = 40
"""Blocks that the client sends at most in a block of a transaction."""


async def rows(db: Database) -> list[int]:
    async with await headrace.aio.connect(db.url, autocommit=True) as conn:
        return [n for (n,) in await conn.fetch("select n from cut_blocks order by n")]


async def clear(db: Database) -> None:
    async with await headrace.aio.connect(db.url, autocommit=True) as conn:
        await conn.execute("drop table if exists cut_blocks")
        await conn.execute("create table cut_blocks (n int)")


async def block(url: str, way: Cutting, blocks: int, autocommit: bool) -> str:
    """Inserts some rows in a transaction whose connection ends after a number of blocks: what became of it."""
    conn = await headrace.aio.connect(url, autocommit=autocommit, command_timeout=20)
    outcome = "undone"
    try:
        await conn.execute("insert into cut_blocks values (0)")
        await (conn.rollback() if not autocommit else conn.execute("delete from cut_blocks"))
        way.arm(blocks)
        if autocommit:
            async with conn.transaction():
                for n in range(ROWS):
                    await conn.execute(f"insert into cut_blocks values ({n})")
                outcome = "unknown"
        else:
            for n in range(ROWS):
                await conn.execute(f"insert into cut_blocks values ({n})")
            outcome = "unknown"
            await conn.commit()
        outcome = "done"
    except errors.ConnectionClosed:
        pass
    finally:
        await conn.close()
    return outcome


@pytest.mark.parametrize("autocommit", [True, False])
@pytest.mark.parametrize("where", [BEFORE, AFTER, ANSWERED])
async def test_a_block_whose_connection_ends_is_there_as_a_whole_or_not(
    any_db: Database, where: str, autocommit: bool
) -> None:
    found = re.search(r":(\d+)/", any_db.url)
    assert found is not None
    for blocks in range(1, MOST):
        await clear(any_db)
        with Cutting(int(found[1]), where) as way:
            url = any_db.url.replace(f":{found[1]}/", f":{way.port}/", 1)
            outcome = await block(url, way, blocks, autocommit)
            was_cut = way.cut
        there = await rows(any_db)
        wanted = {"done": [[0, 1, 2]], "undone": [[]], "unknown": [[], [0, 1, 2]]}[outcome]
        assert there in wanted, f"{outcome} after {blocks} blocks: {there}"
        if outcome == "done" and not was_cut:
            break
    else:
        raise AssertionError("the connection was ended in each of them")
    assert blocks > ROWS
