"""Pause, resume, reconnect and kill of each database behind the front."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from headrace import _daemon
from waiting import Work, until

from ..raw import query, values
from ..test_status import ask
from ..test_timeouts import SECONDS, told
from .conftest import Front, running
from .plain import PlainClient


@pytest.fixture
def own(front: Front, program: Path) -> Iterator[Front]:
    """The database behind a daemon of its own, once with a session for each client."""
    url = f"url = {json.dumps(front.url)}\n"
    text = f"[databases.{front.name}]\n{url}[databases.session]\n{url}pool_mode = 'session'\n"
    with running(program, text) as folder:
        yield Front(front.name, folder, front.url, front.one_row, front.limited)


def order(front: Front, *arguments: str) -> int:
    """``headrace daemon`` with these; its exit code."""
    command, *rest = arguments
    return _daemon.main([command, "--folder", str(front.folder), *rest])


def database(front: Front) -> dict[str, Any]:
    """What is shown of the database."""
    shown: list[dict[str, Any]] = json.loads(ask(front, "GET", "/databases")[1])
    [found] = [each for each in shown if each["name"] == front.name]
    return found


def sessions(front: Front) -> set[int]:
    """The numbers of the sessions that are open."""
    return {each["id"] for each in json.loads(ask(front, "GET", "/servers")[1])}


def test_transactions_end_and_new_ones_wait_until_the_database_is_resumed(own: Front) -> None:
    one = f"select 7{own.one_row}"
    with PlainClient(own) as busy, PlainClient(own) as waiting:
        busy.query("begin")
        assert busy.query(one) == ["7"]
        paused = Work(order, own, "pause", own.name)
        until(lambda: database(own)["paused"])
        waiting.send(query(one))
        until(lambda: database(own)["waiting"] == 1)
        assert busy.query(one) == ["7"]
        assert not paused.done
        busy.query("commit")
        assert paused.result() == 0
        assert database(own)["open"] == 0
        assert order(own, "resume") == 0
        assert values(waiting.receive()) == ["7"]


def test_reconnect_replaces_sessions_when_they_come_back(own: Front) -> None:
    one = f"select 7{own.one_row}"
    with PlainClient(own) as busy, PlainClient(own, "session") as kept:
        busy.query("begin")
        kept.query(one)
        before = sessions(own)
        assert len(before) == 2
        assert order(own, "reconnect", own.name) == 0
        assert busy.query(one) == ["7"]
        assert sessions(own) == before
        busy.query("commit")
        assert order(own, "reconnect", own.name, "--wait") == 0
        assert busy.query(one) == ["7"]
        assert len(sessions(own) & before) == 1, "that of the other database"


def test_kill_ends_clients(own: Front) -> None:
    one = f"select 7{own.one_row}"
    clients = [PlainClient(own), PlainClient(own), PlainClient(own, "session")]
    clients[0].query("begin")
    for client in clients:
        assert client.query(one) == ["7"]
    assert order(own, "kill", own.name) == 0
    for client in clients[:2]:
        assert told(client) == ["57P01"]
    assert database(own)["open"] == 0
    with clients[2] as other:
        assert other.query(one) == ["7"]


def changed(front: Front, settings: str) -> None:
    """The configuration is read again, with these settings of the database."""
    text = f"[databases.{front.name}]\nurl = {json.dumps(front.url)}\n{settings}\n"
    (front.folder.parent / "headraced.toml").write_text(text)
    assert ask(front, "POST", "/reload") == (200, "")


def test_numbers_that_were_changed_are_those_of_connected_clients(own: Front) -> None:
    one = f"select 7{own.one_row}"
    with ExitStack() as stack:
        clients = [stack.enter_context(PlainClient(own)) for _ in range(4)]
        for client in clients:
            assert client.query(one) == ["7"]
        before = sessions(own)
        for size in (1, 5, 2, 3):
            changed(own, f"pool_size = {size}\nqueue_wait = {10 + size}")
            for client in clients:
                assert client.query(one) == ["7"]
        assert sessions(own) == before, "no client has logged in again"
        *busy, waiting = clients
        for client in busy:
            client.query("begin")
            assert client.query(one) == ["7"]
        waiting.send(query(one))
        until(lambda: database(own)["waiting"] == 1)
        changed(own, "pool_size = 4")
        assert values(waiting.receive()) == ["7"]
        changed(own, "pool_size = 1")
        for client in busy:
            client.query("commit")
        until(lambda: database(own)["open"] == 1)
    idle = PlainClient(own)
    changed(own, f"pool_size = 1\nclient_idle_timeout = {SECONDS}")
    assert idle.query(one) == ["7"]
    assert told(idle) == ["57P05"]
