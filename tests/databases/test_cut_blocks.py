"""A connection that ends at any point of a block: all of the block is there or nothing, and what is reported as
committed is there."""

# Made by tools/async_to_sync.py of test_cut_blocks_async.py: edit that file, and run the tool.

from __future__ import annotations

import re

import pytest

import headrace
from cutting import AFTER, ANSWERED, BEFORE, Cutting
from headrace import errors
from servers import Database

ROWS = 3
MOST = 40
"""Blocks that the client sends at most in a block of a transaction."""


def rows(db: Database) -> list[int]:
    with headrace.connect(db.url, autocommit=True) as conn:
        return [n for (n,) in conn.fetch("select n from cut_blocks order by n")]


def clear(db: Database) -> None:
    with headrace.connect(db.url, autocommit=True) as conn:
        conn.execute("drop table if exists cut_blocks")
        conn.execute("create table cut_blocks (n int)")


def block(url: str, way: Cutting, blocks: int, autocommit: bool) -> str:
    """Inserts some rows in a transaction whose connection ends after a number of blocks: what became of it."""
    conn = headrace.connect(url, autocommit=autocommit, command_timeout=20)
    outcome = "undone"
    try:
        conn.execute("insert into cut_blocks values (0)")
        (conn.rollback() if not autocommit else conn.execute("delete from cut_blocks"))
        way.arm(blocks)
        if autocommit:
            with conn.transaction():
                for n in range(ROWS):
                    conn.execute(f"insert into cut_blocks values ({n})")
                outcome = "unknown"
        else:
            for n in range(ROWS):
                conn.execute(f"insert into cut_blocks values ({n})")
            outcome = "unknown"
            conn.commit()
        outcome = "done"
    except errors.ConnectionClosed:
        pass
    finally:
        conn.close()
    return outcome


@pytest.mark.parametrize("autocommit", [True, False])
@pytest.mark.parametrize("where", [BEFORE, AFTER, ANSWERED])
def test_a_block_whose_connection_ends_is_there_as_a_whole_or_not(
    any_db: Database, where: str, autocommit: bool
) -> None:
    found = re.search(r":(\d+)/", any_db.url)
    assert found is not None
    for blocks in range(1, MOST):
        clear(any_db)
        with Cutting(int(found[1]), where) as way:
            url = any_db.url.replace(f":{found[1]}/", f":{way.port}/", 1)
            outcome = block(url, way, blocks, autocommit)
            was_cut = way.cut
        there = rows(any_db)
        wanted = {"done": [[0, 1, 2]], "undone": [[]], "unknown": [[], [0, 1, 2]]}[outcome]
        assert there in wanted, f"{outcome} after {blocks} blocks: {there}"
        if outcome == "done" and not was_cut:
            break
    else:
        raise AssertionError("the connection was ended in each of them")
    assert blocks > ROWS
