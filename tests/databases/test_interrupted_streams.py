"""An interrupt at any instruction of the beginning of a stream: the next statement is executed."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from headrace.types import TransactionStatus
from servers import Database

from . import test_interrupted_beginnings as beginnings

FUNCTIONS = {
    "_blocks_of",
    "_occupying",
    "_portal",
    "_declared",
    "_stream",
    "begin",
    "ask",
    "<lambda>",
    "stream_request",
}
"""What begins a stream."""


def was_interrupted(conn: Any, way: str, sql: str, at: int, error: type[BaseException]) -> bool:
    """Begins a stream."""
    before = sys.gettrace()
    sys.settrace(beginnings.Interrupt(at, error))
    try:
        rows = getattr(conn, way)(sql)
        next(rows)
        sys.settrace(before)
        rows.close()
    except error:
        sys.settrace(before)
        return True
    return False


@pytest.mark.parametrize("error", beginnings.ERRORS)
@pytest.mark.parametrize("way", ["stream", "stream_blocks", "stream_arrow"])
def test_interrupt_at_the_beginning_of_a_stream_leaves_the_connection_usable(
    any_db: Database, way: str, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [getattr(module, "__file__", "") for name, module in sys.modules.items() if name.startswith("headrace.")]
    monkeypatch.setattr(beginnings, "FILES", files)
    monkeypatch.setattr(beginnings, "FUNCTIONS", FUNCTIONS)
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    with any_db.connect(autocommit=True, command_timeout=20) as conn:
        conn.execute("drop table if exists begun")
        conn.execute("create table begun (n int)")
        conn.executemany(f"insert into begun values ({any_db.mark})", [(n,) for n in range(3000)])
        steps = 0
        while was_interrupted(conn, way, "select n from begun", steps, error):
            assert conn.fetchval("select count(*) from begun") == 3000, steps
            assert conn.transaction_status is TransactionStatus.IDLE, steps
            steps += 1
    assert steps > 10
