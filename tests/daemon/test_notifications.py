"""LISTEN keeps its session, so that notifications come, and only to who listens."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import psycopg
import pytest

from .conftest import Daemon
from .test_status import status

CHANNEL_MESSAGES = 50


def notify(daemon: Daemon, *payloads: str) -> None:
    """Notifies, as any client of a shared session may."""
    with psycopg.connect(**daemon.where("two"), autocommit=True) as client:
        for payload in payloads:
            client.execute("select pg_notify('news', %s)", (payload,))


def test_notifications_reach_who_listens_in_order(daemon: Daemon) -> None:
    payloads = [f"number {n}" for n in range(CHANNEL_MESSAGES)]
    with psycopg.connect(**daemon.where("two"), autocommit=True) as listener:
        listener.execute("listen news")
        notify(daemon, *payloads)
        found = [each.payload for each in listener.notifies(timeout=30, stop_after=CHANNEL_MESSAGES)]
        assert found == payloads
        assert "LISTEN" in [client["pinned_by"] for client in status(daemon)["clients"]]
        assert listener.execute("select 1").fetchone() == (1,)


async def test_listeners_of_asyncpg_hear_while_they_do_nothing(daemon: Daemon) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    def hear(connection: Any, process: int, channel: str, payload: object) -> None:
        heard.put_nowait(str(payload))

    where = {"host": str(daemon.folder), "port": 5432, "database": "two", "user": "me"}
    client: Any = await asyncpg.connect(**where)
    try:
        await client.add_listener("news", hear)
        await asyncio.to_thread(notify, daemon, "one", "two")
        assert [await asyncio.wait_for(heard.get(), 30) for _ in range(2)] == ["one", "two"]
    finally:
        await client.close()


def test_session_of_a_listener_is_not_lent_while_it_listens_and_hears_nothing_afterwards(daemon: Daemon) -> None:
    with psycopg.connect(**daemon.where("impatient"), autocommit=True) as listener:
        listener.execute("listen news")
        before = listener.execute("select pg_backend_pid()").fetchone()
        with pytest.raises(psycopg.OperationalError, match="queue_wait"):
            psycopg.connect(**daemon.where("impatient"), autocommit=True).execute("select 1")
        listener.execute("discard all")
        with psycopg.connect(**daemon.where("impatient"), autocommit=True) as other:
            assert other.execute("select pg_backend_pid()").fetchone() == before
            notify(daemon, "for nobody")
            assert other.execute("select count(*) from pg_listening_channels()").fetchone() == (0,)
            assert list(other.notifies(timeout=0)) == []


def test_notification_of_a_transaction_comes_at_its_commit(daemon: Daemon) -> None:
    with (
        psycopg.connect(**daemon.where("two"), autocommit=True) as listener,
        psycopg.connect(**daemon.where("two")) as writer,
    ):
        listener.execute("listen news")
        writer.execute("notify news, 'undone'")
        writer.rollback()
        writer.execute("notify news, 'done'")
        writer.commit()
        assert [each.payload for each in listener.notifies(timeout=30, stop_after=1)] == ["done"]
