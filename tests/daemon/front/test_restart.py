"""Restarts of a daemon before other databases: clients leave one by one, and what they have begun is done once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from waiting import until

from ..conftest import START_SECONDS, take_over
from ..raw import Client, query, sqlstates, values
from ..test_restart import MOVED, told
from ..test_status import status
from .conftest import PORT, Front, running

pytestmark = pytest.mark.slow


def connect(folder: Path) -> Client:
    """A client of the daemon's socket."""
    return Client.local(folder / f".s.PGSQL.{PORT}", user="me", database="app")


def done(client: Client, sql: str) -> list[str]:
    """The first value of each row of a statement that succeeds."""
    received = client.ask(query(sql))
    assert not sqlstates(received), received
    return values(received)


def test_transactions_end_where_they_have_begun(other: Front, program: Path) -> None:
    table = other.table("restarted", "n int")
    rows = f"select n from {table} order by n"
    with running(program, f"[databases.app]\nurl = {json.dumps(other.url)}\n") as folder:
        idle, busy, undecided = (connect(folder) for _ in range(3))
        done(idle, f"insert into {table} values (1)")
        # Some of these servers let only one transaction write.
        for client, first in [(busy, f"insert into {table} values (2)"), (undecided, f"select 7{other.one_row}")]:
            done(client, "begin")
            done(client, first)
        new = take_over(program, folder)
        try:
            place = other.__class__(other.name, folder, other.url, other.one_row)
            assert status(place)["pid"] == new.pid
            with connect(folder) as after:
                assert done(after, f"select 7{other.one_row}") == ["7"]
                assert told(idle) == [MOVED]
                done(busy, f"insert into {table} values (4)")
                done(busy, "commit")
                assert told(busy) == [MOVED]
                assert status(place)["predecessor"] is not None, "a transaction is open"
                done(undecided, "rollback")
                assert told(undecided) == [MOVED]
                until(lambda: status(place)["predecessor"] is None, START_SECONDS)
                assert done(after, rows) == ["1", "2", "4"]
                done(after, "begin")
                done(after, f"insert into {table} values (5)")
                done(after, "commit")
            with other.direct() as direct:
                assert [n for (n,) in direct.fetch(rows)] == [1, 2, 4, 5]
        finally:
            new.kill()
            new.communicate()
