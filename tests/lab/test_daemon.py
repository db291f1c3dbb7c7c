"""The daemon's race, on a real server and real poolers: who is wrong is found out, and all that is written says the
same."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest

from headrace.testing import ServerUnavailable
from headrace_lab import daemon, readme
from headrace_lab.cli import UsageError, daemon_plan, main, parser
from headrace_lab.daemon import golang, report, workloads
from headrace_lab.daemon.base import Client
from headrace_lab.daemon.goals import Goal, goals
from headrace_lab.daemon.race import Pass, Side, wrong

SIZE = 99
ROWS_OF_SIZE = 33 * (10 + 5 + 1)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small race of every workload, by the command."""
    folder = tmp_path_factory.mktemp("daemon")
    files = [f"--json={folder / 'results.json'}", *(f"--{kind}={folder / kind}" for kind in ("markdown", "html"))]
    through = ",".join(f"{client}/headraced" for client in ("pgx", "asyncpg", "psycopg", "pg8000", "socket"))
    clients = f"floor,headrace,{through}"
    sizes = ["--size", "1", "--size", "8", "--size", str(SIZE)]
    with pytest.MonkeyPatch.context() as patch:
        for name, workload in workloads.WORKLOADS.items():
            patch.setitem(workloads.WORKLOADS, name, dataclasses.replace(workload, work=min(workload.work, 15)))
        assert main(["race", "--daemon", "--rounds", "1", "--contestant", clients, *sizes, *files]) == 0
    return folder


def test_every_client_does_every_workload_right(written: Path) -> None:
    result = json.loads((written / "results.json").read_text())
    assert result["unfinished"] == []
    assert {each["route"]: bool(each["version"]) for each in result["routes"]} == dict.fromkeys(
        ("direct", "headraced", "pgbouncer"), True
    )
    raced = {(row["workload"], row["size"]) for row in result["results"]}
    assert raced == {
        ("connect", 1), ("connect_cold", 1), ("one", 1), ("batch", SIZE), ("count", SIZE), ("clients", 1),
        ("clients", 8), ("alone", 1), ("beside", 1), ("paced", 1), ("paced_beside", 1),
    }  # fmt: skip
    for row in result["results"]:
        assert (row["error"], row["disqualified"]) == (None, None), row
        assert row["skipped"] or (row["rounds"] == 1 and row["median_s"] > 0), row
    skipped = {(row["client"], row["workload"]) for row in result["results"] if row["skipped"]}
    assert {each for each in skipped if each[0] != "socket"} == {
        ("psycopg", "clients"), ("pg8000", "clients"), ("pg8000", "batch"), ("pg8000", "count"),
    }  # fmt: skip
    assert {workload for client, workload in skipped if client == "socket"} == {
        "one", "batch", "count", "clients", "alone", "beside", "paced", "paced_beside",
    }  # fmt: skip
    unchecked = {row["client"] for row in result["results"] if row["workload"] == "count" and not row["checked"]}
    assert unchecked <= {"asyncpg"}


def test_ratios_are_those_of_the_medians(written: Path) -> None:
    result = json.loads((written / "results.json").read_text())
    rows = {(r["workload"], r["cores"], r["client"], r["route"]): r for r in result["results"] if r["size"] == 1}
    mine = rows["one", "apart", "headrace", "headraced"]
    assert mine["ratio_to_direct"] == pytest.approx(
        mine["median_s"] / rows["one", "apart", "headrace", "direct"]["median_s"]
    )
    assert mine["ratio_to_floor"] == pytest.approx(
        mine["median_s"] / rows["one", "apart", "floor", "headraced"]["median_s"]
    )
    assert mine["client_cpu_s"] > 0
    assert mine["pooler_cpu_s"] is not None
    assert rows["one", "apart", "headrace", "direct"]["pooler_cpu_s"] is None
    beside = rows["beside", "free", "headrace", "headraced"]
    assert beside["p50_s"] <= beside["p99_s"] <= beside["max_s"]


def test_page_tables_and_terminal_are_made_from_the_json(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(written / "results.json"), "--markdown", str(written / "again")]) == 0
    shown = capsys.readouterr().out
    markdown, page = (written / "markdown").read_text(), (written / "html").read_text()
    assert (written / "again").read_text() == markdown
    for word in (f"count {SIZE}: {SIZE} prepared queries in a pipeline, count only", "PgBouncer", "pg8000", "Goals"):
        assert word in shown
        assert word in markdown
        assert word in page
    assert re.search(r"headraced \d\S+ in transaction mode, PgBouncer \d\S+ in transaction mode", markdown)
    assert "src=" not in page, "the page needs nothing but itself"


def test_documentation_has_the_tables_of_the_json(written: Path, tmp_path: Path) -> None:
    page, target = tmp_path / "page.md", tmp_path / "readme.md"
    names = [f"daemon{end}" for end in ("-goals", "", "-cpu")]
    page.write_text("".join("{}\n{}\n".format(*readme.marks(name)) for name in [*names, *readme.OVERVIEW_DATABASES]))
    target.write_text("".join("{}\n{}\n".format(*readme.marks(name)) for name in ("overview", "overview-cpu")))
    page.write_text(page.read_text() + "".join("{}\n{}\n".format(*readme.marks(f"{n}-cpu")) for n in readme.COLUMNS))
    assert readme.main([str(written / "results.json"), str(page), str(target)]) == 0
    text = page.read_text()
    assert "| connect, all on one core | at most 400 µs |" in text
    assert f"| {SIZE} in a pipeline, count only |" in text
    assert re.search(r"^\| one query per call, one core \| \S+ [µm]s · \S+ [µm]s · \S+ [µm]s \|", text, re.MULTILINE)
    assert re.search(
        r"^\| one query per call, one core \| \S+ \+ \S+ [µm]s · \S+ \+ \S+ \+ \S+ [µm]s ", text, re.MULTILINE
    )


def row(of: Pass, side: Side, median: float, **more: Any) -> dict[str, Any]:
    """A row of a report."""
    name, size, cores = of
    made = dict.fromkeys(("error", "disqualified", "skipped", "p50_s", "p99_s"))
    return {**made, "workload": name, "size": size, "cores": cores, "client": side[0], "route": side[1],
            "median_s": median, **more}  # fmt: skip


def test_each_ratio_names_what_it_is_against() -> None:
    more = dict.fromkeys(("client_cpu_s", "pooler_cpu_s", "server_cpu_s", "iqr_s", "max_s"))
    more |= {"ratio_to_direct": 1.5, "ratio_to_direct_ci": [1.4, 1.6], "ratio_to_floor": 1.1}
    found = report.cells(row(ONE, ("headrace", "headraced"), 1e-3, **more, ratio_to_floor_ci=[0.9, 1.2]))
    assert found[4:6] == ("1.50x direct", "=1.10x floor")


def verdicts(*rows: dict[str, Any]) -> list[tuple[str, str]]:
    """What was measured for each goal, and whether it is enough."""
    return [(goal.text, goal.verdict) for goal in goals({"results": list(rows)})]


CONNECT, ONE, BATCH, CLIENTS = (
    ("connect", 1, "shared"),
    ("one", 1, "apart"),
    ("batch", 9_999, "apart"),
    ("clients", 64, "free"),
)


@pytest.mark.parametrize(
    ("of", "client", "direct", "ours", "pgbouncer", "expected"),
    [
        (CONNECT, "headrace", 2e-3, 0.39e-3, 0.4e-3, [("390 µs", "reached"), ("-", "-"), ("0.97", "reached")]),
        (CONNECT, "headrace", 2e-3, 0.41e-3, 0.4e-3, [("410 µs", "missed"), ("-", "-"), ("1.02", "missed")]),
        (ONE, "headrace", 86, 100, 101, [("0.86", "reached"), ("1.01", "reached")]),
        (ONE, "headrace", 84, 100, 99, [("0.84", "missed"), ("0.99", "missed")]),
        (BATCH, "headrace", 96, 100, 1, [("0.96", "reached")]),
        (BATCH, "headrace", 94, 100, 200, [("0.94", "missed")]),
        (CLIENTS, "floor", 1, 100, 101, [("1.01", "reached")]),
        (CLIENTS, "floor", 200, 100, 99, [("0.99", "missed")]),
    ],
)
def test_goal_is_reached_or_missed(
    of: Pass, client: str, direct: float, ours: float, pgbouncer: float, expected: list[tuple[str, str]]
) -> None:
    times = {"direct": direct, "headraced": ours, "pgbouncer": pgbouncer}
    assert verdicts(*(row(of, (client, route), time) for route, time in times.items())) == expected


def test_connecting_is_compared_with_the_floor_of_the_daemons_socket() -> None:
    rows = [row(CONNECT, ("headrace", "headraced"), 0.13e-3), row(CONNECT, ("floor", "headraced"), 0.1e-3),
            row(CONNECT, ("floor", "direct"), 9.0)]  # fmt: skip
    assert verdicts(*rows)[1] == ("1.30", "reached")


@pytest.mark.parametrize(("without", "within"), [("alone", "beside"), ("paced", "paced_beside")])
def test_p99_beside_bulk_is_compared_with_that_alone(without: str, within: str) -> None:
    alone, beside = (without, 1, "free"), (within, 1, "free")
    side = ("headrace", "headraced")
    assert verdicts(row(alone, side, 1, p99_s=1e-4), row(beside, side, 1, p99_s=3e-4)) == [("3.00", "missed")]
    assert verdicts(row(beside, side, 1, p99_s=3e-4)) == []


def test_disqualified_row_reaches_no_goal() -> None:
    ours = row(ONE, ("headrace", "headraced"), 1, disqualified="other rows were returned")
    assert verdicts(ours, row(ONE, ("headrace", "direct"), 1)) == [("-", "-"), ("-", "-")]
    assert Goal(ONE, "", None, "-", None).verdict == "-"


class Careless(Client):
    """A client that returns a row too few, or counts one too many."""

    def open(self) -> Any:
        return object()

    def ask(self, conn: Any) -> Any:
        return "42 "

    def leave(self, conn: Any) -> None:
        pass

    def query(self) -> Any:
        return lambda limit: workloads.right_rows(1)[:limit]

    def batch(self, asked: Any) -> Any:
        return workloads.right_rows(len(asked))[:-1]

    def count(self, asked: Any) -> int:
        return len(workloads.right_rows(len(asked))) + 1

    def gather(self, size: int) -> None:
        self.size = size

    def clients(self, size: int, inner: int) -> Any:
        return [workloads.right_rows(1)[:1]] * (size * inner - 1)


@pytest.mark.parametrize("name", list(workloads.WORKLOADS))
def test_wrong_rows_are_found_out(name: str) -> None:
    client = Careless("postgresql://x@/x?host=/nowhere&port=1")
    client.prepare(name, 9)
    # The query returns at most ten rows of the first ten, which are right for limits of 10, 5 and 1 ...
    single = name in ("one", "alone", "beside", "paced", "paced_beside")
    inner = 3 if single else 1
    answer = client.round(name, 9, inner)
    if single:
        assert wrong(name, 9, inner, answer) is None
        answer["digest"] = workloads.digest(workloads.right_rows(inner)[1:])
    assert wrong(name, 9, inner, answer)


def test_without_go_pgx_says_so_and_the_others_race(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Path:
        raise ServerUnavailable("there is no Go here")

    monkeypatch.setattr(golang, "program", none)
    plan = daemon.Plan([("headrace", "direct"), ("pgx", "direct")], [("one", 1)], daemon.SHORT.with_rounds(1))
    result = daemon.race(plan, lambda what, share: None)
    errors = {(each["client"], each["error"]) for each in result["results"]}
    assert errors == {("headrace", None), ("pgx", "there is no Go here")}
    assert "there is no Go here" in report.markdown(result)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--contestant", "asyncp"], "did you mean asyncpg?"),
        (["--contestant", "headrace/pgcat"], "unknown contestant 'headrace/pgcat'"),
        (["--workload", "connects"], "did you mean connect?"),
        (["--size", "10"], "none of the workloads has the size 10; they have 1, 8, 9, 64, 99, 500, 999, 9999"),
        (["--rounds", "0"], "--rounds must be at least 1"),
        (["--url", "postgresql://x/y"], "--url does not go with --daemon"),
        (["--database", "mysql"], "--database does not go with --daemon"),
        (["--baseline", "before.json"], "--baseline does not go with --daemon"),
    ],
)
def test_a_wrong_command_line_is_told_so(arguments: list[str], problem: str) -> None:
    with pytest.raises(UsageError, match=re.escape(problem)):
        daemon_plan(parser().parse_args(["race", "--daemon", *arguments]))


def test_two_races_at_once_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["race", "--daemon", "--across"]) == 2
    assert "are two races" in capsys.readouterr().err


def test_contestant_is_a_client_on_all_routes_or_on_one() -> None:
    asked = ["race", "--daemon", "--contestant", "pgx/direct,headrace"]
    plan = daemon_plan(parser().parse_args(asked))
    assert plan.sides == [("pgx", "direct"), *(("headrace", route) for route in ("direct", "headraced", "pgbouncer"))]
    assert ("clients", 500) not in plan.workloads
    assert ("clients", 500) in daemon_plan(parser().parse_args(["race", "--daemon", "--full"])).workloads
