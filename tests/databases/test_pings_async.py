"""``ping()`` is a round trip that changes nothing on every database, also inside of a transaction that has failed."""

from __future__ import annotations

from typing import Any

import pytest

import headrace.errors
from headrace.types import TransactionStatus
from servers import Database


async def test_ping_leaves_the_transaction_as_it_is(any_db: Database) -> None:
    async with await any_db.aconnect() as aconn:
        await aconn.ping(timeout=30)
        assert aconn.transaction_status is TransactionStatus.IDLE
        await aconn.execute(any_db.one)
        status = aconn.transaction_status
        await aconn.ping()
        assert aconn.transaction_status is status
        with pytest.raises(headrace.errors.DatabaseError):
            await aconn.execute("select nothing from nowhere")
        failed = aconn.transaction_status
        await aconn.ping()
        assert aconn.transaction_status is failed
        await aconn.rollback()
    with pytest.raises(headrace.errors.Error):
        await aconn.ping()


async def test_the_version_of_the_server_is_text(any_db: Database) -> None:
    async with await any_db.aconnect() as aconn:
        version: Any = getattr(aconn, "server_version", None) or await aconn.fetch_server_version()
        assert any(part.isdigit() for part in version.replace(".", " ").split())
