"""A listener has its subscriptions again after its connection was lost, and says that it may have missed something."""

# Made by tools/async_to_sync.py of test_listeners_async.py: edit that file, and run the tool.

from __future__ import annotations

from typing import Any

import pytest

import headrace.postgres
from headrace.postgres import listen
from headrace.types import Missed, Notify


def test_notifications_of_all_channels_come_with_their_payload(url: str, dba: Any) -> None:
    with listen(url, "jobs", 'Odd "name"') as listener:
        dba.execute("select pg_notify('jobs', 'one'), pg_notify($1, 'two')", ('Odd "name"',))
        first, second = next(listener), next(listener)
        assert isinstance(first, Notify)
        assert isinstance(second, Notify)
        assert [(each.channel, each.payload) for each in (first, second)] == [("jobs", "one"), ('Odd "name"', "two")]
    with pytest.raises(StopIteration):
        next(listener)


def test_a_lost_connection_is_opened_again_and_said(url: str, dba: Any) -> None:
    with listen(url, "jobs", ping_interval=60) as listener:
        for payload in ("first", "second"):
            connection = listener.connection
            assert connection is not None
            dba.execute("select pg_terminate_backend($1)", (connection.backend_pid,))
            missed = next(listener)
            assert isinstance(missed, Missed)
            assert isinstance(missed.error, headrace.errors.OperationalError)
            dba.execute("select pg_notify('jobs', $1)", (payload,))
            notify = next(listener)
            assert isinstance(notify, Notify)
            assert notify.payload == payload


def test_a_server_that_is_gone_is_tried_for_so_long(url: str, dba: Any) -> None:
    with listen(url, "jobs", reconnect_timeout=0) as listener:
        connection = listener.connection
        assert connection is not None
        listener._conninfo = "postgresql://127.0.0.1:1/nowhere"
        dba.execute("select pg_terminate_backend($1)", (connection.backend_pid,))
        with pytest.raises(headrace.errors.OperationalError):
            next(listener)


def test_an_idle_connection_is_asked_for(url: str, dba: Any) -> None:
    with listen(url, "jobs", ping_interval=0.05) as listener:
        connection = listener.connection
        assert connection is not None
        dba.execute("select pg_sleep(0.2), pg_notify('jobs', 'late')")
        notify = next(listener)
        assert isinstance(notify, Notify)
        assert listener.connection is connection


def test_without_a_channel_there_is_nothing_to_listen_to(url: str) -> None:
    with pytest.raises(headrace.errors.ProgrammingError):
        listen(url)
