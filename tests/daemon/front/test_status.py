"""Pools of every database are in the state and in the metrics of the daemon."""

from __future__ import annotations

import re
import socket
from contextlib import ExitStack

import psycopg
import pytest

from waiting import until

from ..raw import startup
from ..test_status import ask, status
from .conftest import Front
from .plain import PlainClient
from .test_left_state import STATE

DRIVERS = {"mariadb": "mysql"}


def test_pool_is_shown_with_its_lendings_pins_and_errors(front: Front) -> None:
    table = front.table("shown", "n int primary key")
    with front.psycopg(database=f"{front.name}_shown", autocommit=True) as client:
        client.execute(f"insert into {table} values (1)")
        with pytest.raises(psycopg.errors.UniqueViolation):
            client.execute(f"insert into {table} values (1)")
        client.execute("begin")
        client.execute(f"select n from {table}")
        found = status(front)
        metrics = ask(front, "GET", "/metrics")[1]
        client.execute("rollback")
    pool = next(pool for pool in found["pools"] if pool["pool"].endswith(f"@{front.name}_shown"))
    assert pool["driver"] == DRIVERS.get(front.name, front.name)
    assert (pool["mode"], pool["size"], pool["waiting"]) == ("transaction", 2, 0)
    assert pool["open"] >= 1
    assert pool["open"] > pool["idle"]
    assert pool["lent_total"] >= 3
    assert pool["errors_total"] == {"23505": 1}
    values = dict(re.findall(r"^([^#].*) (\S+)$", metrics, re.MULTILINE))
    name = f'db_client_connection_pool_name="{pool["pool"]}"'
    assert values[f"db_client_connection_max{{{name}}}"] == "2"
    assert int(values[f"headraced_connections_opened_total{{{name}}}"]) >= 1
    assert int(values[f"db_client_connection_create_time_seconds_count{{{name}}}"]) >= 1
    assert f"headraced_sent_bytes_total{{{name}}}" not in values


def test_clients_that_leave_before_they_are_welcomed_do_not_wait(front: Front) -> None:
    def waiting() -> int:
        pools = status(front)["pools"]
        return int(next(pool["waiting"] for pool in pools if pool["pool"].endswith(f"@{front.name}_one")))

    table = front.table("leavers", "n int")
    with front.psycopg(database=f"{front.name}_one") as busy, ExitStack() as stack:
        busy.execute(f"insert into {table} values (1)")
        for _ in range(3):
            leaving = stack.enter_context(socket.socket(socket.AF_UNIX))
            leaving.connect(str(front.socket))
            leaving.sendall(startup(user="anyone", database=f"{front.name}_one"))
        until(lambda: waiting() == 3)
        stack.close()
        until(lambda: waiting() == 0)


def test_client_that_keeps_its_session_is_shown_with_the_reason(front: Front) -> None:
    with PlainClient(front, application_name="keeps its session") as client:
        client.query(STATE[front.name][0])
        [shown] = [found for found in status(front)["clients"] if found["application"] == "keeps its session"]
        assert shown["state"] == "pinned"
        assert shown["pinned_by"]
