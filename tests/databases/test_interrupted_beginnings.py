"""An interrupt at any instruction of the beginning of a block: no block stays, no transaction, and no write is lost."""

from __future__ import annotations

import gc
import sys
from types import FrameType
from typing import Any

import pytest

from headrace._shared import connection, core, flows, transactions, waiting
from headrace.types import TransactionStatus
from servers import Database

FILES = (transactions.__file__, flows.__file__, connection.__file__, waiting.__file__)
FUNCTIONS = {
    "enter",
    "enter_transaction",
    "register",
    "count",
    "__init__",
    "rest",
    "ordered",
    "each",
    "predicted_transaction",
    "_run",
}
"""What begins a block."""


class Raised(Exception):
    """Of a handler of signals, which may raise what it likes."""


ERRORS = (KeyboardInterrupt, Raised)


class Interrupt:
    """Raises an exception before the instruction of this number of the functions that begin a block, once."""

    def __init__(self, at: int, error: type[BaseException]) -> None:
        self.left = at
        self.error = error

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename not in FILES or frame.f_code.co_name not in FUNCTIONS:
            return None
        frame.f_trace_opcodes = True
        return self.step

    def step(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "opcode":
            self.left -= 1
            if self.left == -1:
                raise self.error
        return self.step


def was_interrupted(conn: Any, name: str | None, at: int, error: type[BaseException]) -> bool:
    """Begins a block, and writes a row after an interrupt while its traceback holds what had begun."""
    before = sys.gettrace()
    sys.settrace(Interrupt(at, error))
    try:
        with conn.transaction(name):
            sys.settrace(before)
    except error:
        sys.settrace(before)
        conn.execute(f"insert into begun values ({at})")
        return True
    return False


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("name", [None, "mine"], ids=["plain", "savepoint"])
def test_interrupt_at_the_beginning_of_a_block_leaves_none(
    any_db: Database, name: str | None, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    ignored: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    with any_db.connect(autocommit=True) as conn:
        conn.execute("drop table if exists begun")
        conn.execute("create table begun (n int)")
        steps = 0
        while was_interrupted(conn, name, steps, error):
            assert (conn.transaction_status, conn._core.depth, ignored) == (TransactionStatus.IDLE, 0, []), steps
            steps += 1
    gc.collect()
    assert (steps > 100, ignored) == (True, [])
    with any_db.connect(autocommit=True) as other:
        assert other.fetch("select n from begun order by n") == [(n,) for n in range(steps)]


def was_interrupted_in_pipeline(conn: Any, at: int, error: type[BaseException]) -> bool:
    """Begins and ends a pipeline."""
    before = sys.gettrace()
    sys.settrace(Interrupt(at, error))
    try:
        with conn.pipeline():
            pass
        sys.settrace(before)
    except error:
        sys.settrace(before)
        return True
    return False


@pytest.mark.parametrize("error", ERRORS)
def test_interrupt_in_a_pipeline_leaves_no_later_statement_in_it(
    any_db: Database, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "FUNCTIONS", {"pipeline", "begin_pipeline", "leave_pipeline"})
    monkeypatch.setattr(sys.modules[__name__], "FILES", (*FILES, core.__file__))
    with any_db.connect(autocommit=True) as conn, any_db.connect(autocommit=True) as other:
        conn.execute("drop table if exists begun")
        conn.execute("create table begun (n int)")
        steps = 0
        while was_interrupted_in_pipeline(conn, steps, error):
            conn.execute(f"insert into begun values ({steps})")
            assert other.fetchval("select count(*) from begun") == steps + 1, steps
            steps += 1
    assert steps > 20
