"""Blocks of ``transaction()`` that two threads enter or leave at once, and commits: decided first is queued first."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import pytest

import headrace
from servers import Database

SOON = 0.5
"""Seconds that a thread stands between deciding and queueing, unless the other has come by before."""


def stand_at(core: Any, name: str, stands: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """The first call of a method of the core is followed by a stand."""
    method = getattr(core, name)

    def stood(*args: Any, **keywords: Any) -> Any:
        monkeypatch.undo()
        decided = method(*args, **keywords)
        stands()
        return decided

    monkeypatch.setattr(core, name, stood)


@pytest.fixture
def shared(any_db: Database) -> Any:
    """A connection of two threads, and an empty table."""
    with any_db.connect(autocommit=True) as conn:
        conn.execute("drop table if exists in_order")
        conn.execute("create table in_order (n int)")
        yield conn


def test_a_block_that_is_entered_meanwhile_is_inside(shared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    decided, entered, begun, met = threading.Event(), threading.Event(), threading.Event(), []

    def inner() -> None:
        assert decided.wait(30)
        try:
            with shared.transaction():
                shared.execute("insert into in_order values (2)")
                entered.set()
                assert begun.wait(30)
        except BaseException as error:
            met.append(error)

    def stands() -> None:
        decided.set()
        entered.wait(SOON)

    thread = threading.Thread(target=inner)
    thread.start()
    stand_at(shared._core, "count", stands, monkeypatch)
    with shared.transaction():
        shared.execute("insert into in_order values (1)")
        begun.set()
        thread.join(30)
    assert met == []
    assert shared.fetch("select n from in_order order by n") == [(1,), (2,)]


def test_a_block_that_ends_at_once_with_the_one_around_it_ends_first(
    shared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, leaving, ended, met = threading.Event(), threading.Event(), threading.Event(), []

    def inner() -> None:
        def stands() -> None:
            leaving.set()
            ended.wait(SOON)

        try:
            with shared.transaction():
                shared.execute("insert into in_order values (2)")
                stand_at(shared._core, "uncount", stands, monkeypatch)
                entered.set()
        except BaseException as error:
            met.append(error)
        leaving.set()

    thread = threading.Thread(target=inner)
    with contextlib.ExitStack() as block:
        block.enter_context(shared.transaction())
        shared.execute("insert into in_order values (1)")
        thread.start()
        assert entered.wait(30)
        assert leaving.wait(30)
    ended.set()
    thread.join(30)
    assert met == []
    assert shared.fetch("select n from in_order order by n") == [(1,), (2,)]


def test_a_commit_of_another_thread_does_not_come_before_the_undoing_of_a_block(
    shared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    met = []

    def commit() -> None:
        try:
            shared.commit()
        except BaseException as error:
            met.append(error)

    def stands() -> None:
        thread.start()
        thread.join(SOON)

    thread = threading.Thread(target=commit)
    shared.autocommit = False
    shared.execute("insert into in_order values (1)")
    with shared.transaction():
        shared.execute("insert into in_order values (2)")
        stand_at(shared._core, "uncount", stands, monkeypatch)
        raise headrace.Rollback
    thread.join(30)
    assert met == []
    shared.rollback()
    assert shared.fetch("select n from in_order order by n") == [(1,)]
