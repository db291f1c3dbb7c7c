"""``ping()`` is a round trip that changes nothing on every database, also inside of a transaction that has failed."""

# Made by tools/async_to_sync.py of test_pings_async.py: edit that file, and run the tool.

from __future__ import annotations

from typing import Any

import pytest

import headrace.errors
from headrace.types import TransactionStatus
from servers import Database


def test_ping_leaves_the_transaction_as_it_is(any_db: Database) -> None:
    with any_db.connect() as conn:
        conn.ping(timeout=30)
        assert conn.transaction_status is TransactionStatus.IDLE
        conn.execute(any_db.one)
        status = conn.transaction_status
        conn.ping()
        assert conn.transaction_status is status
        with pytest.raises(headrace.errors.DatabaseError):
            conn.execute("select nothing from nowhere")
        failed = conn.transaction_status
        conn.ping()
        assert conn.transaction_status is failed
        conn.rollback()
    with pytest.raises(headrace.errors.Error):
        conn.ping()


def test_the_version_of_the_server_is_text(any_db: Database) -> None:
    with any_db.connect() as conn:
        version: Any = getattr(conn, "server_version", None) or conn.fetch_server_version()
        assert any(part.isdigit() for part in version.replace(".", " ").split())
