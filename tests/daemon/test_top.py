"""``headrace daemon top``, and the dashboard for Grafana."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from headrace import _daemon_top as top

from .conftest import Daemon
from .raw import Client, query
from .test_status import ask

DASHBOARD = Path(__file__).parents[2] / "examples" / "daemon-grafana" / "headraced.json"
SECONDS = 60


def status(**more: Any) -> dict[str, Any]:
    """A status with one pool."""
    pool = {
        "pool": "app@app", "open": 2, "idle": 1, "size": 10, "waiting": 0, "hit_rate": 0.5, "requests_total": 100,
        "transactions_total": 50, "lent_total": 40, "lent_seconds_total": 4.0, "wait_seconds_total": 0.2,
        "errors_total": {"22012": 3},
    }  # fmt: skip
    return {"version": "1", "pid": 7, "uptime_seconds": 100.0, "clients": [], "pools": [{**pool, **more}]}


def test_figures_are_those_since_the_look_before() -> None:
    now = status(
        requests_total=300, transactions_total=150, lent_total=140, lent_seconds_total=14.0, wait_seconds_total=0.7,
        errors_total={"22012": 3, "42601": 20},
    )  # fmt: skip
    now["uptime_seconds"] = 110.0
    [row] = top.pool_rows(status(), now)
    assert (row["requests/s"], row["transactions/s"], row["errors/s"]) == (20.0, 10.0, 2.0)
    assert row["busy"] == pytest.approx(0.1)
    assert row["waits"] == pytest.approx(0.005)
    [row] = top.pool_rows(status(requests_total=1000), now)
    assert row["requests/s"] == 0, "the pool was made again"
    [row] = top.pool_rows(None, status())
    assert row["requests/s"] == 1.0, "since the daemon began"


def test_keys_choose_the_table_and_its_order() -> None:
    view = top.View()
    assert (view.name, view.sorted_by["pools"]) == ("pools", "requests/s")
    assert view.pressed(">").sorted_by["pools"] == "transactions/s"
    assert view.pressed("<").sorted_by["pools"] == "waiting"
    assert view.pressed("r").is_ascending
    clients = view.pressed("c").pressed("<")
    assert clients.sorted_by == {**top.SORTED_BY, "clients": "state"}
    assert clients.pressed("p") == top.View(sorted_by=clients.sorted_by)
    assert view.pressed("x") == view


def test_rows_are_in_the_order_of_a_column() -> None:
    rows: top.Rows = [{"n": 2, "t": "b"}, {"n": None, "t": None}, {"n": 10, "t": "A"}]
    assert [row["n"] for row in top.in_order(rows, "n", is_ascending=False)] == [10, 2, None]
    assert [row["n"] for row in top.in_order(rows, "t", is_ascending=True)] == [10, 2, None]


def test_screen_has_no_control_characters_of_clients() -> None:
    now = status()
    now["clients"] = [
        {
            "id": 1, "user": "jo", "application": "\x1b]0;owned\x07", "state": "idle", "name": "app", "database": "app",
            "state_seconds": 0.25, "pinned_by": None, "address": None, "pid": 7,
        }
    ]  # fmt: skip
    shown = top.lines(top.View("clients"), None, now)
    assert shown[top.HEAD].split() == ["id", "name", "user", "application", "state", "[for]", "pinned", "by", "from"]
    assert "250.0 ms" in shown[top.HEAD + 1]
    assert not any(ord(each) < 32 for line in shown for each in line)


def test_terminal_shows_clients_and_is_left_by_a_key(daemon: Daemon) -> None:
    main, other = pty.openpty()
    code = "import sys; from headrace._command import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "daemon", "top", "--every", "0.1", "--folder", str(daemon.folder)]
    environment = {**os.environ, "TERM": "xterm", "LINES": "40", "COLUMNS": "200"}
    shown = b""
    process = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, env=environment)
    try:
        with Client.local(daemon.socket, user="anyone", database="app", application_name="watched") as client:
            client.ask(query("select 1"))
            os.write(main, b"c")
            end = time.monotonic() + SECONDS
            while b"watched" not in shown and time.monotonic() < end:
                if select.select([main], [], [], 1)[0]:
                    shown += os.read(main, 65536)
        assert b"watched" in shown
        os.write(main, b"q")
        assert process.wait(SECONDS) == 0
    finally:
        process.kill()
        process.wait()
        os.close(main)
        os.close(other)


def test_dashboard_asks_for_metrics_that_there_are(daemon: Daemon) -> None:
    with daemon.connect("app", autocommit=True) as conn:
        conn.execute("create temp table pinned (n int)")
        metrics = ask(daemon, "GET", "/metrics")[1]
    families = set(re.findall(r"^# TYPE (\S+)", metrics, re.MULTILINE))
    dashboard = json.loads(DASHBOARD.read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked += [variable["query"] for variable in dashboard["templating"]["list"]]
    names = {name for text in asked for name in re.findall(r"\b(?:headraced|db_client_connection)_\w+(?=\{|,)", text)}
    labels = {"db_client_connection_pool_name"}
    assert {re.sub(r"_bucket$", "", name) for name in names} - labels - families == set()
    assert len(families & {re.sub(r"_bucket$", "", name) for name in names}) >= 15
