"""The race across databases, on real servers: who is wrong is found out, and all that is written says the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import headrace
from headrace.testing import PostgresServer
from headrace_lab import across
from headrace_lab.across import databases, report, workloads
from headrace_lab.cli import UsageError, across_plan, main, parser

ROWS = 40


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small race on all databases, by the command."""
    folder = tmp_path_factory.mktemp("across")
    files = [f"--{kind}={folder / kind}" for kind in ("json", "markdown", "html")]
    assert main(["race", "--across", "--size", str(ROWS), "--rounds", "3", *files]) == 0
    return folder


def test_every_driver_on_every_database_does_every_workload_right(written: Path) -> None:
    result = json.loads((written / "json").read_text())
    rows = result["results"]
    sides = {(row["database"], row["driver"]) for row in rows}
    assert sides == {
        ("postgresql", "headrace"), ("postgresql", "psycopg"), ("mariadb", "headrace"), ("mariadb", "mysqlclient"),
        ("mysql", "headrace"), ("mysql", "mysqlclient"), ("informix", "headrace"), ("informix", "informix-driver"),
        ("cubrid", "headrace"), ("cubrid", "pycubrid"),
    }  # fmt: skip
    assert len(rows) == len(sides) * len(workloads.WORKLOADS)
    for row in rows:
        assert (row["error"], row["disqualified"], row["rounds"]) == (None, None, 3), row
        assert (row["ratio_to_ours"] is None) == row["ours"]
        assert (row["ratio_to_first"] is None) == (row["database"] == "postgresql")
    assert {each["database"]: bool(each["version"]) for each in result["drivers"]} == dict.fromkeys(
        across.DATABASES, True
    )
    assert result["environment"]["server"]["mariadb"]["server_version"]


def test_ratios_are_those_of_the_medians(written: Path) -> None:
    rows = {
        (row["workload"], row["database"], row["driver"]): row
        for row in json.loads((written / "json").read_text())["results"]
    }
    for workload in workloads.WORKLOADS:
        other, own = rows[workload, "mariadb", "mysqlclient"], rows[workload, "mariadb", "headrace"]
        assert other["ratio_to_ours"] == pytest.approx(other["median_s"] / own["median_s"])
        assert other["ratio_to_first"] == pytest.approx(
            other["median_s"] / rows[workload, "postgresql", "psycopg"]["median_s"]
        )
        assert own["ratio_to_first"] == pytest.approx(
            own["median_s"] / rows[workload, "postgresql", "headrace"]["median_s"]
        )


def test_page_table_and_terminal_are_made_from_the_json(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(written / "json"), "--markdown", str(written / "again")]) == 0
    shown = capsys.readouterr().out
    markdown, page = (written / "markdown").read_text(), (written / "html").read_text()
    assert (written / "again").read_text() == markdown
    for word in ("insert_sequential: 40 rows", "update_indexed: 4 rows", "informix-driver"):
        assert word in shown
        assert word in markdown
        assert word in page
    assert "say nothing of a genuine server" in markdown
    assert "the project's Informix test server, as IBM Informix" in markdown
    assert "Informix and CUBRID are the project's own test servers" in markdown
    assert "src=" not in page, "the page needs nothing but itself"
    table = report.published(json.loads((written / "json").read_text())).splitlines()
    assert "CUBRID test server: headrace | pycubrid |" in table[2]
    assert len(table) == 4 + len(workloads.WORKLOADS)
    # Two drivers of five databases in five workloads.
    assert page.count("class='bar'") == 50


def test_each_ratio_names_the_driver_that_it_is_against() -> None:
    usual = {
        "database": "mariadb", "driver": "mysqlclient", "ours": False, "error": None, "disqualified": None,
        "median_s": 1.0, "statements": 1, "client_cpu_s": 1.0, "iqr_s": 0.0, "ratio_to_ours": 1.5,
        "ratio_to_ours_ci": [1.4, 1.6], "ratio_to_first": 1.1, "ratio_to_first_ci": [0.9, 1.2],
    }  # fmt: skip
    own = usual | {"driver": "headrace", "ours": True, "ratio_to_ours": None, "ratio_to_ours_ci": None}
    assert report.cells(usual, "postgresql")[3:5] == ("1.50x headrace", "=1.10x psycopg")
    assert report.cells(own, "postgresql")[3:5] == ("", "=1.10x headrace")


class Careless:
    """A connection whose statements do something else than they were told."""

    def __init__(self, conn: Any, change: tuple[str, str]) -> None:
        self.conn = conn
        self.change = change
        self.commit = conn.commit

    def cursor(self) -> Any:
        inner, change = self.conn.cursor(), self.change

        class Cursor:
            executemany, fetchone, fetchall = inner.executemany, inner.fetchone, inner.fetchall

            def execute(self, sql: str, args: Any = None) -> None:
                inner.execute(sql.replace(*change), args)

        return Cursor()


@pytest.mark.parametrize(
    ("workload", "change"),
    [
        ("insert_sequential", ("VALUES (%s, %s, %s)", "VALUES (%s, %s, 1 + %s)")),
        ("select_by_pk", ("id, name, amount", "id, upper(name), amount")),
        ("select_full_scan", ("id, name, amount", "id, name, 0")),
        ("update_indexed", ("WHERE id =", "WHERE 1 + id =")),
        ("delete_sequential", ("WHERE id =", "WHERE 1 + id =")),
    ],
)
def test_what_is_expected_tells_right_from_wrong(
    server: PostgresServer, workload: str, change: tuple[str, str]
) -> None:
    from headrace_lab.across.worker import one_round

    right = workloads.expected(workload, ROWS)
    with headrace.connect(server.url) as conn:
        conn.execute("CREATE TEMPORARY TABLE careless (id int PRIMARY KEY, name varchar(100), amount int)")
        done = one_round(workloads.Client(conn, "careless", "%s", ROWS), workload)
        assert {name: done[name] for name in right} == right
        wrong = one_round(workloads.Client(Careless(conn, change), "careless", "%s", ROWS), workload)
        assert {name: wrong[name] for name in right} != right


def test_rows_in_another_order_are_the_same_rows(server: PostgresServer) -> None:
    from headrace_lab.across.worker import one_round

    with headrace.connect(server.url) as conn:
        conn.execute("CREATE TEMPORARY TABLE careless (id int PRIMARY KEY, name varchar(100), amount int)")
        turned = Careless(conn, ("amount FROM careless", "amount FROM careless ORDER BY id DESC"))
        done = one_round(workloads.Client(turned, "careless", "%s", ROWS), "select_full_scan")
    assert done["digest"] == workloads.expected("select_full_scan", ROWS)["digest"]


def test_a_driver_that_fails_says_why_and_the_others_go_on(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = databases.Driver("absent", "headrace", lambda url: None)
    monkeypatch.setitem(
        databases.DATABASES,  # type: ignore[arg-type]
        "postgresql",
        databases.DatabaseWithUsualDriver(databases.DIFFERENCES["postgresql"], absent),
    )
    plan = across.Plan(["postgresql"], ["update_indexed"], ROWS, 1, {"postgresql": server.url})
    own, other = across.race(plan, lambda what, share: None)["results"]
    assert (own["error"], other["error"]) == (None, "KeyError: 'absent'")
    assert "KeyError: 'absent'" in report.cells(other, "postgresql")
    with headrace.connect(server.url) as conn:
        assert not conn.fetchval("SELECT count(*) FROM pg_class WHERE relname LIKE 'headrace_across%'")


def test_a_database_without_a_server_says_so_and_the_others_are_raced(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_SIMULATE_INFORMIX", "/no/such/program")
    urls = {"postgresql": server.url}
    plan = across.Plan(["informix", "postgresql"], ["select_full_scan"], ROWS, 1, urls)
    result = across.race(plan, lambda what, share: None)
    errors = [(row["database"], row["error"]) for row in result["results"]]
    assert errors[2:] == [("postgresql", None)] * 2
    assert all(database == "informix" and "/no/such/program" in error for database, error in errors[:2])
    assert "no server: " in report.markdown(result)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--database", "oracle"], "unknown database 'oracle'"),
        (["--workload", "select_by_pkk"], "did you mean select_by_pk?"),
        (["--contestant", "headrace"], "--contestant does not go with --across"),
        (["--full"], "give --size and --rounds"),
        (["--size", "9"], "at least 10"),
        (["--rounds", "0"], "--rounds must be at least 1"),
        (["--url", "oracle://x/y"], "of none of"),
    ],
)
def test_a_wrong_command_line_is_told_so(arguments: list[str], problem: str) -> None:
    with pytest.raises(UsageError, match=problem.replace("?", r"\?")):
        across_plan(parser().parse_args(["race", "--across", *arguments]))
