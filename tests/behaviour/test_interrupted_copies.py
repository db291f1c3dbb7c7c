"""An interrupt that comes where the block of a COPY begins or ends, before its first step there."""

from __future__ import annotations

import sys
import threading
from types import FrameType, FunctionType
from typing import Any

import pytest

import headrace
from headrace._shared.core import ExclusiveGuard
from headrace.postgres.copy import Copy
from headrace.types import TransactionStatus

OUT = "copy (select repeat('x', 500) from generate_series(1, 20000)) to stdout"
"""More than is kept of unread data."""
IN = "copy interrupted from stdin"


class interrupted:
    """Raises KeyboardInterrupt where a function is entered, as a signal handler does that runs there."""

    def __init__(self, function: FunctionType) -> None:
        self._code = function.__code__

    def _look(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code is self._code:
            sys.settrace(None)
            raise KeyboardInterrupt

    def __enter__(self) -> None:
        sys.settrace(self._look)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)


def _copy(conn: headrace.Connection[Any], statement: str) -> None:
    with conn.cursor().copy(statement) as copy:
        if statement == OUT:
            copy.read()
        else:
            copy.write(b"1\n")


BEGIN: Any = ExclusiveGuard.__init__
END: Any = Copy.__exit__


@pytest.mark.parametrize("statement", [OUT, IN])
@pytest.mark.parametrize("where", [BEGIN, END])
def test_interrupted_copy_leaves_the_connection_usable(url: str, statement: str, where: Any) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        conn.execute("create temporary table interrupted (n int)")
        with pytest.raises(KeyboardInterrupt) as error, interrupted(where):
            _copy(conn, statement)
        # Its traceback has the block's variables.
        del error
        assert conn.fetchval("select count(*) from interrupted", timeout=30) == 0
        assert conn.transaction_status is TransactionStatus.IDLE


@pytest.mark.parametrize("where", [BEGIN, END])
def test_interrupted_copy_lets_other_threads_go_on(url: str, where: Any) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        with pytest.raises(KeyboardInterrupt) as error, interrupted(where):
            _copy(conn, OUT)
        del error
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(conn.fetchval("select 1", timeout=30)))
        thread.start()
        thread.join()
        assert found == [1]
