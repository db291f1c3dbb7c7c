"""An interrupt at any instruction of the end of a block: its writes are there as a whole or not at all, no transaction
stays, and no later write is lost."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from headrace.types import TransactionStatus
from servers import Database

from . import test_interrupted_beginnings as beginnings

FUNCTIONS = {
    "_run",
    "_wait",
    "leave",
    "leave_transaction",
    "end_block",
    "rest",
    "__init__",
    "each",
    "uncount",
    "_recount",
}
"""What ends a block."""


def was_interrupted(conn: Any, at: int, error: type[BaseException], check: Callable[[], object]) -> bool:
    """Ends a block with two rows, and after an interrupt makes a check and writes one more."""
    before = sys.gettrace()
    try:
        with conn.transaction():
            conn.execute(f"insert into ended values ({at}, 'block')")
            conn.execute(f"insert into ended values ({at}, 'block')")
            conn.execute("update locked set n = n + 1")
            sys.settrace(beginnings.Interrupt(at, error))
        sys.settrace(before)
    except error:
        sys.settrace(before)
        check()
        conn.execute(f"insert into ended values ({at}, 'later')")
        return True
    return False


@pytest.mark.parametrize("error", beginnings.ERRORS)
def test_interrupt_at_the_end_of_a_block_leaves_no_transaction(
    any_db: Database, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beginnings, "FUNCTIONS", FUNCTIONS)
    with any_db.connect(autocommit=True) as conn, any_db.connect(autocommit=True) as other:
        conn.execute("drop table if exists ended")
        conn.execute("create table ended (n int, who varchar(5))")
        conn.execute("drop table if exists locked")
        conn.execute("create table locked (n int)")
        conn.execute("insert into locked values (0)")

        def check() -> None:
            # The end may still be on its way: who does not wait for the lock may fail.
            if any_db.waits_for_locks:
                other.execute("update locked set n = n + 1", timeout=5)

        steps = 0
        while was_interrupted(conn, steps, error, check):
            assert (conn.transaction_status, conn._core.depth) == (TransactionStatus.IDLE, 0), steps
            rows = other.fetch(f"select who, count(*) from ended where n = {steps} group by who order by who")
            assert rows in ([("block", 2), ("later", 1)], [("later", 1)]), steps
            steps += 1
    assert steps > 50
