"""Clients of each database behind the front that take too long."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..raw import bind, parse, query
from ..test_timeouts import SECONDS, told
from .conftest import Front, running
from .plain import PlainClient
from .test_cancel import slow

__all__ = ["slow"]


@pytest.fixture
def hasty(front: Front, program: Path) -> Iterator[Front]:
    """The database, once with each bound."""
    common = f"url = {json.dumps(front.url)}\npool_size = 1\n"
    names = ("query", "transaction", "idle_transaction", "client_idle")
    databases = "".join(f"[databases.{name}]\n{common}{name}_timeout = {SECONDS}\n" for name in names)
    text = f"[daemon]\nmessage_timeout = {SECONDS}\n[databases.{front.name}]\n{common}{databases}"
    with running(program, text) as folder:
        yield Front(front.name, folder, front.url, front.one_row, front.limited)


@pytest.mark.parametrize("begun", ["", "begin"], ids=["query", "transaction"])
def test_statement_that_takes_too_long_is_cancelled(hasty: Front, slow: str, begun: str) -> None:
    database, sqlstate = ("transaction", "25P04") if begun else ("query", "57014")
    client = PlainClient(hasty, database)
    client.send(query(begun) + query(slow))
    assert told(client) == [sqlstate]
    with PlainClient(hasty, database) as other:
        assert other.query(f"select 7{hasty.one_row}") == ["7"]


def test_client_that_has_a_transaction_wait_is_ended(hasty: Front) -> None:
    table = hasty.table("waited", "n int primary key")
    client = PlainClient(hasty, "idle_transaction")
    client.send(query("begin") + query(f"insert into {table} values (1)"))
    assert told(client) == ["25P03"]
    with PlainClient(hasty, "idle_transaction") as other:
        assert other.query(f"select count(*) from {table}") == ["0"]


def test_client_that_asks_for_nothing_is_ended(hasty: Front) -> None:
    client = PlainClient(hasty, "client_idle")
    client.query(f"select 7{hasty.one_row}")
    assert told(client) == ["57P05"]


def test_message_that_is_not_completed_ends_its_client(hasty: Front) -> None:
    client = PlainClient(hasty)
    client.send((parse("", "select 1") + bind("", "x" * 1000))[:-500])
    assert told(client) == ["08P01"]
