"""Streams that memory's collector ends, and not their reader: at any allocation, also within a request."""

# Made by tools/async_to_sync.py of test_collected_streams_async.py: edit that file, and run the tool.

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from typing import Any

import pytest

import headrace
from headrace import InterfaceError
from headrace.types import TransactionStatus
from waiting import sleep

ROWS = "select generate_series(1, 100000)"
PATIENCE = 10.0
"""Seconds within which the connection is free again."""


class Collecting:
    """A row of one parameter, in whose making memory is collected."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, at: int) -> int:
        if at:
            raise IndexError
        gc.collect()
        return 7


@pytest.fixture(autouse=True)
def only_when_asked() -> Iterator[None]:
    """Nothing is collected before."""
    gc.disable()
    yield
    gc.enable()


def test_a_stream_collected_within_a_request_lets_go_of_the_connection(url: str) -> None:
    def begin(conn: Any) -> None:
        stream = conn.stream(ROWS, fetch_size=10)
        next(stream)
        cycle: list[Any] = [stream]
        cycle.append(cycle)

    with headrace.connect(url, autocommit=True, command_timeout=PATIENCE) as conn:
        begin(conn)
        with pytest.raises(InterfaceError, match="a stream is being read"):
            conn.execute("select %s::int", Collecting())
        deadline = time.monotonic() + PATIENCE
        while conn._core.readings and time.monotonic() < deadline:
            sleep(0.01)
        assert conn.fetchval("select 1") == 1
        assert conn.transaction_status is TransactionStatus.IDLE
