"""The race itself, on a real server: digests, failures are reported, and a server that was given is left as it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import headrace
import racing
from headrace.testing import PostgresServer
from headrace_lab import contestants, processes, race, workloads
from headrace_lab.cli import UsageError, main, parser, plan_of
from headrace_lab.databases import load
from headrace_lab.iibench import options as iibench_options
from headrace_lab.link import Link


def run(
    server: PostgresServer, names: list[str], chosen: list[tuple[str, int]], rounds: int = 1
) -> list[dict[str, Any]]:
    plan = race.Plan(names, chosen, racing.BRIEF.with_rounds(rounds))
    return race.Race(server.url, plan, server.pid, lambda what, share: None).run()["results"]  # type: ignore[no-any-return]


OFFERED = {name: w for name, w in workloads.WORKLOADS.items() if w.offered("postgresql")}
EVERY = [(name, w.short[0]) for name, w in OFFERED.items()]


ALL = list(contestants.MODULES["postgresql"])
# What is tested of Arrow is that it is right, in each contestant's code once: on uvloop it is the same, drivers of
# rows share theirs, and polars has one for all tables.
OF_ARROW = [name for name in ALL if name not in ("headrace-uvloop", "asyncpg-uvloop", "psqlpy", "pg8000")]
ON_LOOPS = ["floor", *(name for name in ALL if contestants.is_on_loop(name))]
KINDS = {
    "rows": (ALL, racing.less([one for one in EVERY if one[0] not in workloads.ARROW | workloads.SERVICE])),
    # A race of its own: the pools of all have nearly as many connections as the server.
    "tasks": (ON_LOOPS, [("pool_load", 100)]),
    "threads": (ALL, racing.less([("pool_threads", 16), ("beside_bulk", 100_000)])),
    "arrow": (OF_ARROW, [(name, 500) for name in ("arrow", "arrow_stream", "arrow_in")]),
    "arrow_tables": (
        [name for name in OF_ARROW if name not in ("polars", "asyncpg")],
        [(name, 500) for name in ("arrow_types", "arrow_wide", "partitions_1", "partitions_skewed")],
    ),
}
"""Contestants and workloads."""


def test_no_workload_of_arrow_or_of_a_web_service_is_left_out() -> None:
    named = {name for _, chosen in KINDS.values() for name, _ in chosen}
    assert named >= workloads.ARROW - {"partitions_2", "partitions_4"}, "those differ in a number only"
    assert named >= workloads.SERVICE


# Twelve processes on one core each: beside other builds that takes long.
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", KINDS)
def test_every_contestant_gives_right_results_in_every_workload(server: PostgresServer, kind: str) -> None:
    everybody, chosen = KINDS[kind]
    plan = race.Plan(everybody, chosen, racing.BRIEF.with_rounds(1), cores=racing.IDLE)
    rows = racing.run(race.Race(server.url, plan, server.pid, lambda what, share: None))["results"]
    assert len(rows) == sum(contestants.takes_part(each, name) for name, _ in chosen for each in everybody)
    for r in rows:
        what = (r["workload"], r["contestant"])
        if what == ("partitions_skewed", "connectorx"):
            # It reads no row whose column that it divides by is NULL (0.4.6), and the race sees that.
            assert r["disqualified"] == "another result"
            continue
        assert r["disqualified"] is None, what
        if r["error"]:
            assert r["error"].startswith("not offered: "), r
            continue
        assert r["median_s"] > 0, what
        assert r["rounds"] == 1, what
        assert (r["strategy"] is not None) == (r["workload"] in workloads.WRITERS), what
        if r["workload"] in workloads.SERVICE:
            assert 0 < r["p50_s"] <= r["p99_s"] <= r["longest_s"], what
        if r["contestant"] == "floor":
            assert not r["rows_reached_caller"], what
            assert r["ratio_to_floor"] == 1.0, what
        elif r["workload"] not in ("connect", *workloads.WRITERS):
            assert r["digest"] or not r["rows_reached_caller"], what
            asyncpg_copy = r["workload"] == "bulk_out" and r["contestant"].startswith("asyncpg")
            assert r["rows_reached_caller"] == (not asyncpg_copy), what
    ours = [r for r in rows if r["contestant"].startswith("headrace")]
    assert not any(r["error"] for r in ours)
    check_ratios(rows)


def check_ratios(rows: list[dict[str, Any]]) -> None:
    """Of one round, ratios are those of what was measured: the contestant's to that of whom the row names."""
    measured = {(r["workload"], r["size"], r["cores"], r["contestant"]): r for r in rows if r["median_s"]}
    compared = 0
    for r in measured.values():
        for key, other in (("ratio_to_floor", "floor"), ("ratio_to_rival", r["rival"])):
            if r[key] is not None:
                whose = measured[r["workload"], r["size"], r["cores"], other]
                assert r[key] == pytest.approx(r["median_s"] / whose["median_s"]), (key, r["workload"], r["contestant"])
                compared += r is not whose
        if r["cpu_ratio_to_floor"] is not None:
            floor = measured[r["workload"], r["size"], r["cores"], "floor"]
            assert r["cpu_ratio_to_floor"] == pytest.approx(r["client_cpu_s"] / floor["client_cpu_s"])
    assert compared > 2


def test_single_queries_are_run_on_each_kind_of_cores(server: PostgresServer) -> None:
    found = run(server, ["headrace", "floor"], [("select_one", 1), ("fetch", 1_000)])
    kinds = ["shared", "idle", "awake"] if len(os.sched_getaffinity(0)) > 1 else ["idle", "awake"]
    assert [r["cores"] for r in found if r["workload"] == "select_one"] == [kind for kind in kinds for _ in range(2)]
    assert [r["cores"] for r in found if r["workload"] == "fetch"] == ["idle", "idle"]


LIAR = """
from headrace_lab.contestants.headrace_sync import Contestant as Honest


class Contestant(Honest):
    def fetch(self, size, inner, data):
        return [(*row[:2], row[2] + 1, *row[3:]) for row in super().fetch(size, inner, data)]

    def executemany(self, size, inner, data):
        return super().executemany(size, inner, data[:-1])

    def select_one(self, size, inner, data):
        raise RuntimeError("no mood")

    def select_ten(self, size, inner, data):
        import os
        os._exit(3)
"""


def test_who_lies_is_disqualified_and_who_fails_has_an_error(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "zz_liar.py").write_text(LIAR)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("HEADRACE_CONTESTANTS", "liar=zz_liar,absent=zz_no_such_module")
    chosen = [("fetch", 1_000), ("executemany", 1_000), ("select_one", 1), ("select_ten", 10)]
    names = ["headrace", "floor", "liar", "absent"]
    rows = {(r["workload"], r["contestant"], r["cores"]): r for r in run(server, names, chosen)}
    for workload in ("fetch", "executemany"):
        assert rows[workload, "liar", "idle"]["disqualified"] == "another result"
        assert rows[workload, "headrace", "idle"]["disqualified"] is None
        assert "ModuleNotFoundError" in rows[workload, "absent", "idle"]["error"]
    assert rows["select_one", "liar", "idle"]["error"] == "RuntimeError: no mood"
    assert "code 3" in rows["select_ten", "liar", "idle"]["error"]
    assert rows["select_ten", "headrace", "idle"]["median_s"] > 0, "the others go on"


@pytest.mark.parametrize(
    ("driver", "form"),
    [
        ("psycopg", "headrace"), ("before", "headrace"), ("asyncpg", "headrace-async"), ("psqlpy", "headrace-async"),
        ("asyncpg-uvloop", "headrace-uvloop"), ("informix-driver-async", "headrace-async"),
        ("psycopg-async", "headrace-async"), ("psycopg-uvloop", "headrace-uvloop"),
    ],
)  # fmt: skip
def test_a_driver_is_compared_with_headrace_on_the_same_kind_of_loop(driver: str, form: str) -> None:
    assert contestants.rival(driver) == form


@pytest.mark.parametrize("database", contestants.MODULES)
def test_pools_are_raced_in_tasks_or_in_threads(database: str) -> None:
    for name in contestants.MODULES[database]:
        tasks, threads = (contestants.takes_part(name, each) for each in ("pool_load", "pool_threads"))
        assert tasks == contestants.takes_part(name, "beside_bulk")
        if name == "floor":
            assert tasks
            assert threads
        else:
            assert tasks + threads == (name not in contestants.ARROW_ONLY)
        assert contestants.takes_part(name, "fetch") == (name not in contestants.SERVICE_ONLY + contestants.ARROW_ONLY)
    assert contestants.takes_part("one of the user's own", "pool_load")
    assert contestants.takes_part("one of the user's own", "pool_threads")


ARROW_LIAR = """
import pyarrow as pa

from headrace_lab.contestants.headrace_sync import Contestant as Honest


class Contestant(Honest):
    def arrow(self, size, inner, data):
        table = pa.table(super().arrow(size, inner, data))
        return table.set_column(2, "n", table.column("n").cast(pa.float64()))

    def arrow_stream(self, size, inner, data):
        for batch in self.conn.stream_arrow(self.sql.stream(size)):
            self.take_batch(pa.record_batch(batch).slice(1))
        return size

    def arrow_in(self, size, inner, data):
        return super().arrow_in(size, inner, data.slice(1))
"""


def test_digests_of_arrow_data_are_compared(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "zz_arrow_liar.py").write_text(ARROW_LIAR)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("HEADRACE_CONTESTANTS", "liar=zz_arrow_liar")
    chosen = [("arrow", 1_000), ("arrow_stream", 1_000), ("arrow_in", 1_000)]
    found = {(r["workload"], r["contestant"]): r for r in run(server, ["headrace", "liar"], chosen)}
    for workload, _ in chosen:
        assert found[workload, "liar"]["disqualified"] == "another result", found[workload, "liar"]
        assert found[workload, "headrace"]["disqualified"] is None


def test_strategy_of_executemany_is_the_one_that_is_reported(server: PostgresServer) -> None:
    (ours,) = run(server, ["headrace"], [("executemany", 10_000)])
    assert ours["strategy"] == "COPY after 1,024 rows"
    with headrace.connect(server.url) as conn:
        conn.execute("CREATE TEMPORARY TABLE filled (n int)")
        for rows, tag in ((1_024, "INSERT 0 1"), (1_030, "COPY 6")):
            cursor = conn.executemany("INSERT INTO filled VALUES ($1)", [(n,) for n in range(rows)])
            assert cursor.statusmessage == tag


def test_a_race_touches_nothing_but_a_schema_of_its_own(server: PostgresServer) -> None:
    with headrace.connect(server.url, autocommit=True) as conn:
        schemas = "SELECT array_agg(nspname::text ORDER BY 1) FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp'"
        conn.execute("CREATE SCHEMA IF NOT EXISTS headrace_race")
        conn.execute("CREATE TABLE IF NOT EXISTS headrace_race.users (mine text)")
        vacuumed = "SELECT vacuum_count + analyze_count FROM pg_stat_user_tables WHERE relname = 'users'"
        before = conn.fetchval(schemas), conn.fetchval(vacuumed)
        run(server, ["headrace", "floor"], [("select_one", 1), ("executemany", 1_000)])
        conn.execute("SELECT pg_stat_force_next_flush()")
        assert (conn.fetchval(schemas), conn.fetchval(vacuumed)) == before
        conn.execute("DROP SCHEMA headrace_race CASCADE")


def test_cpu_of_a_server_that_was_given_is_counted_by_its_process(server: PostgresServer, tmp_path: Path) -> None:
    command = ["race", "--url", server.url, "--server-pid", str(server.pid), "--workload", "fetch", "--size", "100000"]
    file = tmp_path / "out.json"
    assert main([*command, "--contestant", "floor", "--rounds", "1", "--json", str(file)]) == 0
    report = json.loads(file.read_text())
    assert report["results"][0]["server_cpu_s"] > 0
    assert (report["environment"]["halves"] is None) == (len(os.sched_getaffinity(0)) < 2)


def test_a_contestant_that_hangs_is_ended(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "ROUND_TIMEOUT_S", 0.3)
    worker = processes.Worker("headrace", server.url, "public")
    try:
        if "error" not in worker.info:  # it may take longer than that to start
            with headrace.connect(server.url) as other:
                other.execute("CREATE TABLE IF NOT EXISTS public.users (id int, name text)")
                other.commit()
                other.execute("LOCK TABLE public.users IN ACCESS EXCLUSIVE MODE")
                assert worker.run("select_one", 1, 1, False)["error"].startswith("it hung")
        else:
            assert worker.info["error"].startswith("it hung")
        assert worker.process.wait(5) != 0
    finally:
        worker.stop()


def test_spinners_end_with_the_racer() -> None:
    code = (
        "import os, subprocess, sys; from headrace_lab.processes import SPIN;"
        "p = subprocess.Popen([sys.executable, '-c', SPIN, str(os.getpid())]); print(p.pid)"
    )
    out = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True, timeout=120)
    pid = int(out.stdout)
    ended = threading.Event()
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists() or ") Z " in Path(f"/proc/{pid}/stat").read_text():
            ended.set()
            break
        ended.wait(0.1)
    assert ended.is_set()


def test_the_command_writes_what_it_was_asked_for(
    server: PostgresServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {name: tmp_path / f"out.{name}" for name in ("json", "html", "markdown")}
    command = [
        "race",
        "--url",
        server.url,
        "--workload",
        "select_one",
        "--contestant",
        "headrace,floor",
        "--rounds",
        "1",
    ]
    for name, path in files.items():
        command += [f"--{name}", str(path)]
    assert main(command) == 0
    result = json.loads(files["json"].read_text())
    assert {r["contestant"] for r in result["results"]} == {"headrace", "floor"}
    assert result["environment"]["server"]["server_version"]
    assert result["contestants"]["headrace"]["version"] == headrace.__version__
    assert "select_one" in files["markdown"].read_text()
    capsys.readouterr()
    baseline = ["--baseline", str(files["json"]), "--fail-over", "100000%"]
    assert main([*command, *baseline]) == 0
    for r in result["results"]:
        r["ratio_to_floor"] = 0.001
    files["json"].write_text(json.dumps(result))
    (tmp_path / "base.json").write_text(json.dumps(result))
    assert main([*command, "--baseline", str(tmp_path / "base.json")]) == 1
    assert "worse than the baseline: postgresql select_one" in capsys.readouterr().out
    assert main(["report", str(files["json"])]) == 0


def is_written(file: Path) -> bool:
    """Whether there is something in a file that may come and go."""
    try:
        return file.stat().st_size > 0
    except FileNotFoundError:
        return False


def test_what_was_raced_until_ctrl_c_is_kept(server: PostgresServer, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    workloads = "select_one,fetch,fetch_types,executemany,pipeline,stream"
    race = [sys.executable, "-m", "headrace_lab.cli", "race", "--url", server.url, "--contestant", "headrace,floor"]
    command = [*race, "--full", "--workload", workloads, "--rounds", "3", "--json", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        # Before the race the file is tried, and removed.
        while process.poll() is None and not is_written(file):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    report = json.loads(file.read_text())
    assert {row["workload"] for row in report["results"]} >= {"select_one"}
    assert ["stream", 1_000_000, "idle"] in report["unfinished"]
    assert "Stopped before: " in out
    assert "stream 1,000,000" in out
    with headrace.connect(server.url) as conn:
        assert not conn.fetchval("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'headrace_race_%'")


def test_a_full_disk_takes_the_file_and_not_the_figures(
    server: PostgresServer, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["race", "--url", server.url, "--workload", "connect", "--contestant", "headrace", "--rounds", "1"]
    assert main([*command, "--json", "/dev/full"]) == 1
    told = capsys.readouterr()
    assert "No space left on device" in told.err
    assert "connect 1" in told.out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--json", "/proc"], "Is a directory: '/proc'"),
        (["--workload", "fech"], "unknown workload 'fech'; did you mean fetch?"),
        (["--contestant", "nobody"], "unknown contestant 'nobody'. The contestants are: headrace,"),
        (["--database", "oracle"], "unknown database 'oracle'"),
        (["--rounds", "0"], "--rounds must be at least 1"),
        (["--size", "12"], "none of the workloads has the size 12"),
        (["--server-pid", "1"], "--server-pid is of the server of --url"),
        (["--fail-over", "lots"], "'lots' is not a percentage"),
        (["--url", "postgresql://127.0.0.1:1/x"], "127.0.0.1"),
        (["--contestant", "floor", "--baseline", "/nothing/here.json"], "/nothing/here.json"),
    ],
)
def test_a_wrong_command_line_is_told_so(
    arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["race", *arguments]) in (1, 2)
    assert problem in capsys.readouterr().err


def test_what_a_command_line_asks_for() -> None:
    plan = plan_of(parser().parse_args(["race", "--workload", "fetch,stream", "--size", "10000", "--size", "1"]))
    assert plan.workloads == [("fetch", 10_000), ("stream", 1)]
    assert plan.length == race.SHORT
    with pytest.raises(UsageError):
        plan_of(parser().parse_args(["race", "--size", "-1"]))


@pytest.mark.parametrize(
    ("user", "query"), [("scram_user", ""), ("md5_user", ""), ("password_user", "?sslmode=disable")]
)
def test_the_floor_logs_in_like_everybody(tls_server: PostgresServer, user: str, query: str) -> None:
    with headrace.connect(tls_server.url, autocommit=True) as admin:
        admin.execute(f"GRANT CREATE ON DATABASE {tls_server.database} TO {user}")
    url = f"postgresql://{user}:secret@{tls_server.host}:{tls_server.port}/{tls_server.database}{query}"
    plan = race.Plan(
        ["floor", "headrace"],
        [("select_one", 1), ("executemany", 1_000), ("pipeline", 10_000)],
        racing.BRIEF.with_rounds(1),
    )
    for r in race.Race(url, plan, None, lambda what, share: None).run()["results"]:
        assert r["error"] is None, r
        assert r["disqualified"] is None, r
    link = Link(url)
    assert link.encrypted == (query == "")
    link.close()
    with pytest.raises(RuntimeError, match="password"):
        Link(url.replace("secret", "wrong"))


@pytest.mark.parametrize(
    ("arguments", "database"),
    [
        ("", "postgresql"),
        ("--url mysql://db/test", "mysql"),
        ("--url mariadb://db/test", "mariadb"),
        ("--url postgres://db/test", "postgresql"),
        ("--url mysql://db/test --database mariadb", "mariadb"),
        ("--url informix://db/test", "informix"),
    ],
)
def test_scheme_of_the_url_decides_on_the_database(arguments: str, database: str) -> None:
    assert plan_of(parser().parse_args(["race", *arguments.split()])).database == database
    assert (
        iibench_options.from_arguments(
            parser().parse_args(["iibench", *arguments.split(), "--max-rows", "1000"])
        ).database
        == database
    )


def test_url_of_another_database_than_the_one_asked_for_is_refused() -> None:
    with pytest.raises(UsageError, match="--url begins with mysql"):
        plan_of(parser().parse_args(["race", "--url", "mysql://db/test", "--database", "informix"]))


def test_tables_that_no_contestant_reads_are_not_made() -> None:
    class Admin:
        said: list[str]

        def __init__(self) -> None:
            self.said = []

        def execute(self, sql: str) -> None:
            self.said.append(sql)

        def executemany(self, sql: str, rows: Iterable[object]) -> None:
            self.said.append(sql)

    sql, admin = load("informix").Statements("race"), Admin()
    sql.setup(admin, [("partitions_1", 1_000_000), ("arrow", 10)])
    made = [said.split()[2] for said in admin.said if said.startswith("CREATE TABLE")]
    assert made == [sql.named("users"), sql.table("arrow", 10)]
