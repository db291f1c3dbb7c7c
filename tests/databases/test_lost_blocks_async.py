"""A block of a transaction whose connection ended after its last statement was not committed, and says so."""

from __future__ import annotations

import pytest

from headrace import errors
from servers import Database


async def test_a_block_whose_connection_ended_is_not_committed(any_db: Database) -> None:
    conn = await any_db.aconnect(autocommit=True)
    with pytest.raises(errors.ConnectionClosed, match="changes are lost"):
        async with conn.transaction():
            await conn.execute(f"select 1{any_db.differences.from_nothing}")
            conn._core.wire.close()
    await conn.close()


async def test_a_block_that_is_undone_keeps_its_own_error(any_db: Database) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        with pytest.raises(KeyError):
            async with conn.transaction():
                conn._core.wire.close()
                raise KeyError
