"""A block of a transaction whose connection ended after its last statement was not committed, and says so."""

# Made by tools/async_to_sync.py of test_lost_blocks_async.py: edit that file, and run the tool.

from __future__ import annotations

import pytest

from headrace import errors
from servers import Database


def test_a_block_whose_connection_ended_is_not_committed(any_db: Database) -> None:
    conn = any_db.connect(autocommit=True)
    with pytest.raises(errors.ConnectionClosed, match="changes are lost"), conn.transaction():
        conn.execute(f"select 1{any_db.differences.from_nothing}")
        conn._core.wire.close()
    conn.close()


def test_a_block_that_is_undone_keeps_its_own_error(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn, pytest.raises(KeyError), conn.transaction():
        conn._core.wire.close()
        raise KeyError
