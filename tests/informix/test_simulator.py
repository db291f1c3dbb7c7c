"""The test server before two judges that none of us wrote: IBM's JDBC driver and informix-driver."""

from __future__ import annotations

import datetime
import shutil
import subprocess
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import informix_db
import pytest

from headrace.testing import InformixServer, informix

PROJECT = Path(__file__).parent / "jdbc"
CASES = [
    "insert_select",
    "commit_rollback",
    "numbers",
    "texts",
    "moments",
    "every_null",
    "simple_lobs",
    "smart_lobs",
    "scroll",
    "many_rows",
    "interleaved_cursors",
    "batch",
    "batch_error",
    "statement_batch",
    "serials",
    "savepoints",
    "errors",
    "first_skip",
    "expressions",
    "update_cursor",
    "is_valid",
    "cancel",
    "metadata",
    "routine",
]


@pytest.fixture(scope="module")
def server() -> Iterator[InformixServer]:
    with informix() as started:
        yield started


@pytest.fixture
def connection(server: InformixServer) -> Iterator[Any]:
    opened = informix_db.connect(**server.parameters())
    yield opened
    opened.close()


def build_judge() -> list[str]:
    """The command that runs the JDBC judge, compiled with Maven, which fetches IBM's driver."""
    if not (shutil.which("mvn") and shutil.which("javac")):
        pytest.fail(
            "the JDBC judge needs Maven and a JDK of Java 17 or newer: apt-get install maven default-jdk-headless"
        )
    classpath = PROJECT / "target" / "classpath"
    command = ["mvn", "-q", "-B", "compile", "dependency:build-classpath", f"-Dmdep.outputFile={classpath}"]
    built = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    if built.returncode:
        pytest.fail(f"Maven could not build the JDBC judge in {PROJECT}:\n{built.stdout}{built.stderr}")
    return ["java", "-cp", f"{PROJECT / 'target' / 'classes'}:{classpath.read_text().strip()}", "headrace.Judge"]


@pytest.fixture(scope="module")
def judge() -> list[str]:
    return build_judge()


def verdicts(command: list[str], url: str, *cases: str) -> dict[str, str]:
    run = subprocess.run([*command, url, *cases], capture_output=True, text=True, timeout=240, check=False)
    lines = [line.partition(" ") for line in run.stdout.splitlines()]
    found = {rest.partition(":")[0]: f"{first} {rest}" for first, _, rest in lines if first in ("ok", "FAIL")}
    assert found, run.stdout + run.stderr
    return found


@pytest.fixture(scope="module", params=["14.10", "15"])
def jdbc(request: pytest.FixtureRequest, judge: list[str]) -> dict[str, str]:
    with informix(release=request.param) as server:
        return verdicts(judge, server.jdbc_url())


@pytest.mark.parametrize("case", CASES)
def test_jdbc(jdbc: dict[str, str], case: str) -> None:
    assert jdbc.get(case) == f"ok {case}"


def test_jdbc_cases_are_all_listed(jdbc: dict[str, str]) -> None:
    assert sorted(jdbc) == sorted(CASES)


def test_jdbc_in_utf8(judge: list[str]) -> None:
    with informix(locale="en_US.utf8") as server:
        url = server.jdbc_url(DB_LOCALE="en_US.utf8", CLIENT_LOCALE="en_US.utf8")
        assert verdicts(judge, url, "texts") == {"texts": "ok texts"}


def test_jdbc_insert_cursor(judge: list[str]) -> None:
    with informix() as server:
        found = verdicts(judge, server.jdbc_url(IFX_USEPUT="1"), "batch", "many_rows")
        assert found == {"batch": "ok batch", "many_rows": "ok many_rows"}


def test_jdbc_in_an_ansi_database(judge: list[str]) -> None:
    with informix(mode="ansi") as server:
        assert verdicts(judge, server.jdbc_url(), "insert_select") == {"insert_select": "ok insert_select"}


@pytest.mark.parametrize("size", ["4096", "1000000"])
def test_jdbc_fetch_buffers(judge: list[str], size: str) -> None:
    with informix() as server:
        found = verdicts(judge, server.jdbc_url(FET_BUF_SIZE=size), "many_rows")
        assert found == {"many_rows": "ok many_rows"}


def test_informix_driver_round_trip(connection: Any) -> None:
    cursor = connection.cursor()
    cursor.execute(
        "create table d_basic (a int, b varchar(20), c decimal(10,2), d date, e datetime year to second,"
        " f float, g bigint, h lvarchar(100), i boolean, j char(5), k interval day to second)"
    )
    moment = datetime.datetime(2024, 1, 2, 3, 4, 5)
    row = (1, "odd", Decimal("-12.34"), datetime.date(2020, 2, 29), moment, 1.5, 2**40, "long", True, "abc")
    span = datetime.timedelta(days=3, hours=4, minutes=5, seconds=6)
    cursor.execute("insert into d_basic values (?,?,?,?,?,?,?,?,?,?,?)", (*row, span))
    cursor.execute("insert into d_basic values (?,?,?,?,?,?,?,?,?,?,?)", (None,) * 11)
    cursor.execute("select * from d_basic order by a")
    nulls, values = cursor.fetchall()
    assert nulls == (None,) * 11
    assert [value.rstrip() if isinstance(value, str) else value for value in values] == [*row, span]


def test_informix_driver_batch_and_transaction(connection: Any) -> None:
    cursor = connection.cursor()
    cursor.execute("create table d_batch (a int primary key, b varchar(30))")
    connection.commit()
    cursor.executemany("insert into d_batch values (?, ?)", [(n, f"row {n}") for n in range(3000)])
    connection.commit()
    cursor.execute("insert into d_batch values (9999, 'gone')")
    connection.rollback()
    cursor.execute("select count(*) from d_batch")
    assert cursor.fetchall() == [(3000,)]
    cursor.execute("select a, b from d_batch order by a")
    assert cursor.fetchall() == [(n, f"row {n}") for n in range(3000)]


def test_informix_driver_batch_with_an_error_in_the_middle(connection: Any) -> None:
    cursor = connection.cursor()
    cursor.execute("create table d_fail (a int primary key)")
    connection.commit()
    with pytest.raises(informix_db.IntegrityError) as caught:
        cursor.executemany("insert into d_fail values (?)", [(n % 50,) for n in range(100)])
    assert caught.value.sqlcode == -268
    connection.rollback()
    cursor.execute("select count(*) from d_fail")
    assert cursor.fetchall() == [(0,)]


@pytest.mark.parametrize(
    ("sql", "sqlcode", "isamcode"),
    [
        ("select * from d_nowhere", -206, -111),
        ("slect 1 from systables", -201, 0),
        ("select nothing from systables", -217, 0),
        ("select 1 from systables where tabid = (select tabid from systables)", -284, 0),
        ("select nosuch(1) from systables", -674, 0),
        ("select 'open from systables", -282, 0),
    ],
)
def test_informix_driver_errors(connection: Any, sql: str, sqlcode: int, isamcode: int) -> None:
    cursor = connection.cursor()
    with pytest.raises(informix_db.Error) as caught:
        cursor.execute(sql)
        cursor.fetchall()
    assert caught.value.sqlcode == sqlcode
    assert (caught.value.isamcode or 0) == isamcode
    cursor = connection.cursor()
    cursor.execute("select first 1 tabname from systables")
    assert cursor.fetchone() == ("systables",)


def test_informix_driver_scrolls(connection: Any) -> None:
    cursor = connection.cursor()
    cursor.execute("create table d_scroll (a int)")
    cursor.executemany("insert into d_scroll values (?)", [(n,) for n in range(1, 51)])
    connection.commit()
    scrolling = connection.cursor(scrollable=True)
    scrolling.execute("select a from d_scroll order by a")
    assert scrolling.fetch_last() == (50,)
    assert scrolling.fetch_first() == (1,)
    assert scrolling.fetch_absolute(17)[0] in (17, 18)
    scrolling.close()


def test_wrong_password_and_unknown_database_are_refused(server: InformixServer) -> None:
    with pytest.raises(informix_db.Error):
        informix_db.connect(**{**server.parameters(), "password": "wrong"})
    with pytest.raises(informix_db.Error) as caught:
        informix_db.connect(**{**server.parameters(), "database": "nowhere"})
    assert caught.value.sqlcode == -329


def test_unlogged_database_has_no_transactions() -> None:
    with informix(mode="unlogged") as server:
        # Only so does this driver keep from asking for a transaction that there cannot be.
        connection = informix_db.connect(**server.parameters(), autocommit=True)
        cursor = connection.cursor()
        cursor.execute("create table t (a int)")
        cursor.execute("insert into t values (1)")
        connection.rollback()
        cursor.execute("select a from t")
        assert cursor.fetchall() == [(1,)]
        connection.close()


def test_cut_connection_is_an_error_and_the_server_goes_on(server: InformixServer) -> None:
    connection = informix_db.connect(**server.parameters(), read_timeout=10)
    cursor = connection.cursor()
    cursor.execute("set environment headrace_fault 'cut=20'")
    with pytest.raises(Exception):  # noqa: B017 - which class it is, is the judge's own affair
        cursor.execute("select * from systables")
        cursor.fetchall()
    with pytest.raises(RuntimeError, match="fault"), informix(faults=["nonsense"]):
        pass
    again = informix_db.connect(**server.parameters())
    again.close()


def test_replies_in_single_bytes_are_read() -> None:
    with informix(faults=["split=1"]) as server:
        connection = informix_db.connect(**server.parameters())
        cursor = connection.cursor()
        cursor.execute("select first 3 tabname, tabid from systables order by tabid")
        assert cursor.fetchall() == [("systables", 1), ("syscolumns", 2), ("sysindices", 3)]
        connection.close()
