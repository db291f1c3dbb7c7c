"""The race on MariaDB, on MySQL and on the test servers of Informix and CUBRID: every workload, and right results of
all who run."""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import Any
from urllib.parse import quote

import pytest

import headrace.testing
import racing
from headrace.testing import MysqldServer
from headrace_lab import contestants, databases, race, report, workloads
from headrace_lab.databases.cubrid import PROCESSES

# Six contestants run in processes of their own on one core each: beside other builds that takes long.
pytestmark = pytest.mark.timeout(900)

ARROW_ROWS = 500
"""Rows of a record batch or table: what is tested is that they are right."""


def small(database: str) -> list[tuple[str, int]]:
    """What the database offers, at its smallest."""
    offered = {name: w.offered(database, full=False) for name, w in workloads.WORKLOADS.items()}
    skipped = databases.load(database).Statements.skips
    return [
        (name, ARROW_ROWS if name in workloads.ARROW else min(sizes))
        for name, sizes in offered.items()
        if sizes and name not in skipped and not name.startswith(("bulk", "partitions_2", "partitions_4"))
    ]


def alchemy_is_raced(found: dict[str, Any]) -> None:
    """Checks that SQLAlchemy ran on headrace's dialects, which no other package brings."""
    ran = {
        (r["workload"], r["contestant"])
        for r in found["results"]
        if r["workload"] in workloads.ALCHEMY and not r["error"] and r["contestant"].startswith("headrace")
    }
    assert ran == {(name, driver) for name in workloads.ALCHEMY for driver in ("headrace", "headrace-async")}


def split(chosen: list[tuple[str, int]]) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """The workloads of rows, and those of Arrow: fewer take part in these, as drivers of rows share their code."""
    rows = racing.less([one for one in chosen if one[0] not in workloads.ARROW])
    return rows, [one for one in chosen if one[0] in workloads.ARROW]


def run(
    url: str,
    pid: int | None,
    database: str,
    names: list[str],
    chosen: list[tuple[str, int]],
    counted: Collection[str] = (),
) -> dict[str, Any]:
    """Races. Round trips are of interest of those ``counted``."""
    plan = race.Plan(names, chosen, racing.BRIEF.with_rounds(1), database=database, cores=racing.IDLE)
    return racing.run(race.Race(url, plan, pid, lambda what, share: None, database), counted)


def check(found: dict[str, Any], database: str) -> None:
    for r in found["results"]:
        what = (r["workload"], r["contestant"], r["error"])
        assert r["database"] == database
        assert r["disqualified"] is None, what
        if r["error"]:
            assert r["error"].startswith("not offered: "), what
            continue
        assert r["median_s"] > 0, what
        if r["contestant"] != "floor" and r["workload"] not in ("connect", *workloads.WRITERS):
            assert r["rows_reached_caller"], what
    assert database.lower() in report.markdown(found).lower()


@pytest.mark.parametrize(
    ("database", "more"), [("mariadb", ("headrace-async", "pymysql")), ("mysql", ())], ids=["mariadb", "mysql"]
)
def test_on_mysql_and_mariadb(request: pytest.FixtureRequest, database: str, more: tuple[str, ...]) -> None:
    server: MysqldServer = request.getfixturevalue(f"{database}_server")
    rows, arrow = split(small(database))
    names = ["headrace", "headrace-async", "floor", "mysqlclient", "pymysql"]
    check(run(server.url, server.pid, database, names, rows), database)
    of_service = [one for one in rows if one[0] in workloads.SERVICE]
    others = ["mariadb", "mysql-connector", "asyncmy", "asyncmy-uvloop"]
    check(run(server.url, server.pid, database, others, of_service), database)
    found = run(server.url, server.pid, database, ["headrace", "floor", "connectorx", *more], arrow)
    connectorx_leaves_out_nulls(found)
    check(found, database)


def test_polars_reads_both_servers_in_the_same_way(mariadb_server: MysqldServer) -> None:
    """And all of its workloads here in one."""
    found = run(mariadb_server.url, mariadb_server.pid, "mariadb", ["polars"], [("arrow", ARROW_ROWS)])
    check(found, "mariadb")


def connectorx_leaves_out_nulls(found: dict[str, Any]) -> None:
    """Checks that the race sees it, and removes its result: connectorx reads no row whose column that it divides by is
    NULL (0.4.6)."""
    (wrong,) = (r for r in found["results"] if (r["workload"], r["contestant"]) == ("partitions_skewed", "connectorx"))
    assert wrong["disqualified"] == "another result"
    found["results"].remove(wrong)


@pytest.fixture(scope="module")
def utf8_server() -> Any:
    """Races insert text that no 8-bit code set has."""
    with headrace.testing.informix(locale="en_US.utf8") as running:
        yield running


def test_on_informix(utf8_server: headrace.testing.InformixServer) -> None:
    server = utf8_server
    url = (
        f"informix://{server.user}:{quote(server.password)}@{server.host}:{server.port}/{server.database}"
        f"?server={server.server}&DB_LOCALE=en_US.utf8&CLIENT_LOCALE=en_US.utf8"
    )
    names = ["headrace", "headrace-async", "floor", "informix-driver", "informix-driver-async", "ifxpy"]
    chosen, arrow = split([one for one in small("informix") if one[0] not in ("fetch_wide", "arrow_wide")])
    found = run(url, server.pid, "informix", names, chosen, ("headrace", "informix-driver"))
    check(run(url, server.pid, "informix", [*names[:3], "informix-driver"], arrow), "informix")
    alchemy_is_raced(found)
    ifxpy = [r for r in found["results"] if r["contestant"] == "ifxpy"]
    found["results"] = [r for r in found["results"] if r["contestant"] != "ifxpy"]
    check(found, "informix")
    for r in ifxpy:
        # It runs where IBM's libraries are, and elsewhere says what is missing.
        assert (r["median_s"] or 0) > 0 or "\n" not in r["error"].strip(), r
    trips = {(r["workload"], r["contestant"]): r["round_trips"] for r in found["results"] if r["cores"] == "idle"}
    for name, _ in chosen:
        if name not in workloads.ALCHEMY | workloads.SERVICE:
            assert trips[name, "headrace"] <= trips[name, "informix-driver"], (name, trips)
    assert trips["fetch", "headrace"] < trips["fetch", "informix-driver"]
    assert trips["select_one", "headrace"] < trips["select_one", "informix-driver"]


def test_on_cubrid() -> None:
    chosen, arrow = split([one for one in small("cubrid") if one[0] not in ("fetch_wide", "arrow_wide")])
    names = [name for name in contestants.MODULES["cubrid"] if name != "headrace-uvloop"]
    if sys.version_info < (3, 11):
        names = [name for name in names if not name.startswith("pycubrid")]
    with headrace.testing.cubrid(cas=PROCESSES) as server:
        counted = ("headrace", "pycubrid", "pycubrid-prepared")
        found = run(server.url, server.pid, "cubrid", names, chosen, counted)
        less_names = [name for name in names if name not in ("pycubrid-async", "pycubrid-prepared")]
        check(run(server.url, server.pid, "cubrid", less_names, arrow), "cubrid")
    check(found, "cubrid")
    alchemy_is_raced(found)
    trips = {(r["workload"], r["contestant"]): r["round_trips"] for r in found["results"] if r["cores"] == "idle"}
    assert trips["select_one", "headrace"] == 1
    if "pycubrid" in names:
        for name in ("select_one", "select_ten", "connect", "pipeline", "stream"):
            assert trips[name, "headrace"] < trips[name, "pycubrid"], (name, trips)
        # One less where a busy machine makes two of pycubrid's requests arrive as one.
        assert trips["fetch", "headrace"] <= trips["fetch", "pycubrid"], trips
        # An atomic batch has a commit of its own.
        for name in ("executemany", "executemany_autocommit"):
            assert trips[name, "headrace"] <= trips[name, "pycubrid-prepared"], (name, trips)
