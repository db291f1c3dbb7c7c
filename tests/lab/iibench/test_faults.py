"""The faults that were found in iibench.py, and others that must be noticed: a test for each."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import headrace
import headrace.mysql
from headrace.testing import MariaDBServer, PostgresServer
from headrace_lab.cli import main
from headrace_lab.iibench import crew, page, runs, sessions
from headrace_lab.iibench.databases import load
from headrace_lab.iibench.options import BenchmarkOptions

from .conftest import Ran, bench

Bench = Callable[..., Ran]
TABLE = "mine"


@contextlib.contextmanager
def table(server: PostgresServer, *statements: str) -> Iterator[headrace.Connection[Any]]:
    """A table made beforehand, to which something was done."""
    with headrace.connect(server.url, autocommit=True) as conn:
        conn.execute(f"DROP TABLE IF EXISTS {TABLE}")
        for statement in (*load("postgresql").create_table(TABLE, BenchmarkOptions()), *statements):
            conn.execute(statement)
        yield conn
        conn.execute(f"DROP TABLE IF EXISTS {TABLE}")


def given(**more: Any) -> dict[str, Any]:
    """Options for a table that is there."""
    return {"setup": False, "cleanup": False, "table_name": TABLE, "max_rows": 2_000, **more}


# 1 and 2: errors of the server


@pytest.mark.parametrize("client", ["overlap", "inline", "producer", "pregen"])
def test_an_error_ends_the_run_with_its_sqlstate(server: PostgresServer, client: str) -> None:
    with table(server, f"ALTER TABLE {TABLE} ADD COLUMN more int NOT NULL") as conn:
        ran = bench(server.socket_url, **given(client=client))
        assert not ran.right
        assert ran.one("failure")["code"] == "23502"
        assert ran.one("failure")["who"] == "writer 0"
        assert conn.fetchval(f"SELECT count(*) FROM {TABLE}") == 0


@pytest.mark.parametrize(("driver", "code"), [("headrace", "42P01"), ("informix-driver", "-206")])
def test_an_error_of_informix_ends_the_run(informix_url: str, driver: str, code: str) -> None:
    ran = bench(informix_url, **given(database="informix", driver=driver, table_name="nowhere"))
    assert ran.one("failure")["code"] == code


@pytest.mark.parametrize(("driver", "code"), [("headrace", "42S02"), ("mysqlclient", "1146"), ("pymysql", "1146")])
def test_an_error_of_mariadb_ends_the_run(mariadb: MariaDBServer, driver: str, code: str) -> None:
    ran = bench(mariadb.socket_url, **given(database="mariadb", driver=driver, table_name="nowhere"))
    assert ran.one("failure")["code"] == code


def test_an_error_in_the_middle_is_not_counted_as_rows(server: PostgresServer) -> None:
    """The rows before the error are in the table, and no other ones."""
    with table(server, f"ALTER TABLE {TABLE} ADD CHECK (transactionid <> 1050)") as conn:
        ran = bench(server.socket_url, **given(depth=1))
        assert ran.one("failure")["code"] == "23514"
        assert conn.fetchval(f"SELECT count(*) FROM {TABLE}") == 1_000


def fails(when: str) -> tuple[str, ...]:
    """What makes statements fail as if they had collided with others."""
    function = f"""
        CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF {when} THEN RAISE SQLSTATE '40001'; END IF;
            RETURN NULL;
        END $$
    """
    trigger = f"CREATE TRIGGER fail BEFORE INSERT OR DELETE ON {TABLE} FOR EACH STATEMENT EXECUTE FUNCTION fail()"
    return "DROP SEQUENCE IF EXISTS attempts", "CREATE SEQUENCE attempts", function, trigger


FAILS_EVERY_THIRD = fails("nextval('attempts') % 3 = 0")
FAILS_NOW_AND_THEN = fails("random() < 0.3")


@pytest.mark.parametrize("driver", ["headrace", "psycopg", "asyncpg"])
def test_what_may_be_tried_again_is_and_is_counted_by_its_sqlstate(server: PostgresServer, driver: str) -> None:
    with table(server, *FAILS_EVERY_THIRD):
        ran = bench(server.socket_url, **given(driver=driver))
        assert ran.right
        assert ran.one("proof")["left_out"] == []
        insert = ran.step["kinds"]["insert"]
        assert insert["retries"] == {"40001": 9}
        assert (insert["operations"], insert["rows"]) == (20, 2_000)


@pytest.mark.parametrize("driver", ["headrace", "mysqlclient", "pymysql"])
def test_mariadbs_deadlocks_are_tried_again(mariadb: MariaDBServer, driver: str) -> None:
    with headrace.mysql.connect(mariadb.socket_url, autocommit=True) as conn:
        for statement in (
            f"DROP TABLE IF EXISTS {TABLE}",
            *load("mariadb").create_table(TABLE, BenchmarkOptions()),
            "CREATE OR REPLACE SEQUENCE attempts",
            f"CREATE TRIGGER fail BEFORE INSERT ON {TABLE} FOR EACH ROW IF NEXTVAL(attempts) % 350 = 0 THEN "
            "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213; END IF",
        ):
            conn.executescript(statement)
        ran = bench(mariadb.socket_url, **given(database="mariadb", driver=driver))
        conn.executescript(f"DROP TABLE {TABLE}")
    assert ran.right
    (count,) = ran.step["kinds"]["insert"]["retries"].values()
    assert count >= 5
    assert ran.step["kinds"]["insert"]["rows"] == 2_000


def test_what_is_tried_again_too_often_fails(server: PostgresServer) -> None:
    with table(server, *FAILS_EVERY_THIRD):
        assert bench(server.socket_url, **given(retries=0)).one("failure")["code"] == "40001"


def test_a_deleters_error_ends_the_run(server: PostgresServer) -> None:
    with table(server, *FAILS_NOW_AND_THEN):
        ran = bench(server.socket_url, **given(delete_per_insert=True))
        assert ran.right
        assert ran.step["kinds"]["delete"]["retries"]["40001"] > 0
        assert "not in the order" in ran.one("proof")["left_out"][0], "which rows were the oldest cannot be known"
        failed = bench(server.socket_url, **given(delete_per_insert=True, retries=0))
        assert failed.one("failure")["code"] == "40001"


def test_a_dead_worker_ends_the_run(server: PostgresServer) -> None:
    def kill(what: dict[str, Any]) -> None:
        if "seconds" in what and what["seconds"] > 0.3:
            for pid in writers():
                os.kill(pid, signal.SIGKILL)

    ran = bench(server.socket_url, watch=kill, max_rows=0, max_seconds=60)
    assert not ran.right
    assert ran.one("failure")["code"] == "exit code -9"


def writers() -> list[int]:
    """The processes that this one has started for a bench."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            command = (stat.parent / "cmdline").read_bytes()
            if fields[1] == str(os.getpid()) and b"headrace_lab.iibench.worker" in command:
                found.append(int(stat.parent.name))
    return found


@pytest.mark.parametrize("client", ["overlap", "producer"])
def test_nobody_works_on_when_the_run_is_killed(server: PostgresServer, folder: Path, client: str) -> None:
    with headrace.connect(server.url, autocommit=True) as conn:
        alive = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'INSERT INTO orphan%'"
        command = [sys.executable, "-m", "headrace_lab.cli", "iibench", "--url", server.socket_url, "--setup"]
        command += ["--table-name", "orphan", "--max-rows", "0", "--max-seconds", "100", "--out", str(folder)]
        with subprocess.Popen([*command, "--client", client], start_new_session=True) as run:
            wait_for(lambda: conn.fetchval(alive) > 0)
            run.kill()
        wait_for(lambda: conn.fetchval(alive) == 0)
        wait_for(lambda: not group(run.pid))
        conn.execute("DROP TABLE orphan")


def wait_for(what: Callable[[], bool], seconds: float = 20.0) -> None:
    give_up = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < give_up, "it does not come"
        time.sleep(0.05)


def group(pid: int) -> list[int]:
    """The living processes of a session."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if fields[3] == str(pid) and fields[0] != "Z":
                found.append(int(stat.parent.name))
    return found


def test_a_session_that_the_server_ends_ends_the_run(server: PostgresServer) -> None:
    with headrace.connect(server.url, autocommit=True) as admin:

        def end(what: dict[str, Any]) -> None:
            if "seconds" in what and what["seconds"] > 0.3:
                admin.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE query LIKE 'INSERT INTO purchases%' AND pid <> pg_backend_pid()"
                )

        ran = bench(server.socket_url, watch=end, max_rows=0, max_seconds=60)
    # Between two statements no request receives the reason that the server sent.
    assert ran.one("failure")["code"] in ("57P01", "ConnectionClosed")
    assert writers() == [], "no writer is left"


def test_a_worker_that_does_not_come_to_its_end_counts_as_hung(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew, "GRACE_SECONDS", 0.5)
    with table(server) as conn, conn.transaction():
        conn.execute(f"LOCK TABLE {TABLE} IN EXCLUSIVE MODE")
        ran = bench(server.socket_url, **given(max_rows=0, max_seconds=0.5))
    assert ran.one("failure")["code"] == "hung"


# 3: the seed


def test_the_same_seed_gives_the_same_rows_and_another_one_others(postgres: Bench, maria: Bench) -> None:
    sums = [
        ran.one("proof")["checksum"]
        for ran in (postgres(max_rows=1_000), postgres(max_rows=1_000, rows_per_commit=5), maria(max_rows=1_000))
    ]
    assert len(set(sums)) == 1
    assert postgres(max_rows=1_000, seed=1).one("proof")["checksum"] not in sums


def test_clients_have_rows_of_their_own(postgres: Bench) -> None:
    ran = postgres(max_rows=1_000, clients=3, tables=2)
    assert ran.right
    assert ran.step["kinds"]["insert"]["rows"] == 3_000
    alone = postgres(max_rows=1_000).one("proof")["checksum"]
    assert int(ran.one("proof")["checksum"], 16) != 3 * int(alone, 16) % 2**64


def test_a_table_that_holds_something_else_is_found_out(server: PostgresServer) -> None:
    tamper = f"CREATE RULE tamper AS ON INSERT TO {TABLE} DO ALSO UPDATE {TABLE} SET price = 0 WHERE transactionid = 7"
    with table(server, tamper):
        ran = bench(server.socket_url, **given(client="inline", driver="psycopg"))
        assert not ran.right
        (wrong,) = ran.one("proof")["wrong"]
        assert wrong.startswith("mine: sum of price: expected ")


# 4: several queriers


def test_every_query_of_every_querier_is_in_the_histogram(server: PostgresServer, postgres: Bench) -> None:
    with headrace.connect(server.url, autocommit=True) as admin:
        before = commits(admin)
        ran = postgres(max_rows=0, max_seconds=1.2, query_threads=3, secondary_at_start=True)
        after = commits(admin)
    query = ran.step["kinds"]["query"]
    assert query["operations"] == sum(count for _, count in query["response"]["buckets"])
    assert query["operations"] == sum(s["kinds"].get("query", {"operations": 0})["operations"] for s in ran.seconds)
    workload = query["operations"] + ran.step["kinds"]["insert"]["operations"]
    # Beside the workload there are our own statements and the server's housekeeping, a few dozen.
    assert workload <= after - before <= workload + 500


def commits(admin: headrace.Connection[Any]) -> int:
    """Transactions that the server has committed."""
    admin.execute("SELECT pg_stat_force_next_flush()")
    return int(admin.fetchval("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"))


# 5: no inserts


def test_queries_alone(server: PostgresServer) -> None:
    with table(server):
        assert bench(server.socket_url, **given()).right
        for only_keys in (False, True):
            ran = bench(
                server.socket_url,
                **given(no_inserts=True, query_threads=1, max_seconds=0.4, query_pk_only=only_keys),
            )
            assert ran.right
            assert list(ran.step["kinds"]) == ["query"]
            assert ran.step["kinds"]["query"]["rows"] > ran.step["kinds"]["query"]["operations"], "queries find rows"


# 6 and 7: times and intervals


def test_no_second_is_rounded_and_no_interval_lost(postgres: Bench) -> None:
    ran = postgres(max_rows=4_000, inserts_per_second=3_000, secondary_at_start=True)
    insert = ran.step["kinds"]["insert"]
    assert insert["rows"] == 4_000
    assert sum(s["kinds"]["insert"]["rows"] for s in ran.seconds if s["kinds"]) == 4_000
    assert insert["rate"] * ran.step["seconds"] == pytest.approx(4_000)
    assert ran.step["seconds"] % 1.0 != 0.0
    assert sum(s["length"] for s in ran.seconds) == pytest.approx(ran.step["seconds"], abs=0.01)


# 8: numbers beyond 32 bits


def test_keys_beyond_32_bits(server: PostgresServer) -> None:
    beyond = 2**33
    with table(server, f"ALTER SEQUENCE {TABLE}_transactionid_seq RESTART WITH {beyond}") as conn:
        options = given(
            delete_per_insert=True, query_threads=1, query_pk_only=True, rows_per_commit=50, resync_get_min=3
        )
        assert bench(server.socket_url, **{**options, "delete_per_insert": False}).right
        assert conn.fetchval(f"SELECT min(transactionid) FROM {TABLE}") == beyond
        ran = bench(server.socket_url, **options)
        assert ran.right
        assert ran.step["kinds"]["query"]["rows"] > 0, "the keys asked for are those of the table"
        assert ran.step["kinds"]["lowest key"]["operations"] > 0
        assert conn.fetchval(f"SELECT count(*) FROM {TABLE} WHERE transactionid < {beyond} + 2000") == 0


# 9: coordinated omission


@pytest.mark.parametrize("driver", ["headrace", "mysqlclient"])
def test_a_stall_of_two_seconds_shows_in_p99_of_an_open_loop(mariadb: MariaDBServer, driver: str) -> None:
    stopped = threading.Event()

    def stop(what: dict[str, Any]) -> None:
        if "seconds" in what and what["seconds"] > 1.0 and not stopped.is_set():
            stopped.set()
            os.kill(mariadb.pid, signal.SIGSTOP)
            threading.Timer(2.0, os.kill, (mariadb.pid, signal.SIGCONT)).start()

    ran = bench(
        mariadb.socket_url, watch=stop, database="mariadb", driver=driver, max_rows=0, max_seconds=5,
        inserts_per_second=200, rows_per_commit=10, query_threads=1, secondary_at_start=True,
    )  # fmt: skip
    assert ran.right
    insert, query = ran.step["kinds"]["insert"], ran.step["kinds"]["query"]
    assert insert["response"]["p99"] > 1.5
    assert insert["service"]["p99"] < 0.5, "only one insert was being served when the server stopped"
    assert insert["service"]["max"] > 1.5
    assert query["response"]["p99"] < 0.5, "a closed loop does not show it: it asks nothing meanwhile"
    assert insert["sustained"], "what was due was made up for"
    assert [s["second"] for s in ran.seconds if not s["kinds"]] == [2], "the second in which nothing happened is there"


def test_a_rate_that_is_not_kept_is_told_so(postgres: Bench) -> None:
    ran = postgres(max_rows=0, max_seconds=0.5, inserts_per_second=50_000_000, delete_per_insert=True)
    for kind in ("insert", "delete"):
        figures = ran.step["kinds"][kind]
        assert not figures["sustained"]
        assert figures["short"] > 0.5
        assert figures["verdict"].startswith("not sustained by ")


# 10: ways to insert


@pytest.mark.parametrize("driver", ["headrace", "psycopg", "asyncpg"])
def test_every_way_to_insert_gives_the_same_table(postgres: Bench, driver: str) -> None:
    ran = postgres(max_rows=1_000, driver=driver, insert_with="text,executemany,prepared,copy", client="overlap,inline")
    assert ran.right
    assert len(ran.all("run")) == 8
    assert len({proof["checksum"] for proof in ran.all("proof")}) == 1
    assert all(proof["left_out"] == [] for proof in ran.all("proof"))


@pytest.mark.parametrize(
    ("driver", "strategies"),
    [
        ("headrace", "text,executemany,prepared,copy"),
        ("mysqlclient", "text,executemany,copy"),
        ("pymysql", "text,executemany,copy"),
    ],
)
def test_every_way_to_insert_gives_the_same_table_on_mariadb(maria: Bench, driver: str, strategies: str) -> None:
    ran = maria(max_rows=1_000, driver=driver, insert_with=strategies, client="overlap,inline")
    assert ran.right
    assert len(ran.all("run")) == 2 * len(strategies.split(","))


@pytest.mark.parametrize("driver", ["headrace", "informix-driver"])
def test_batches_on_informix_by_every_client(ifx: Bench, driver: str) -> None:
    ran = ifx(max_rows=1_000, driver=driver, client="overlap,inline,producer,pregen")
    assert ran.right
    assert {run["strategy"] for run in ran.all("run")} == {"executemany"}
    assert len({proof["checksum"] for proof in ran.all("proof")}) == 1


# found by a review


def test_a_producer_that_is_killed_ends_the_run(maria: Bench) -> None:
    """Mostly in the middle of a block, whose rest would never be sent."""

    def kill() -> None:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            for worker in below(os.getpid(), "iibench.worker"):
                for producer in below(worker, "spawn_main"):
                    time.sleep(0.8)
                    os.kill(producer, signal.SIGKILL)
                    return
            time.sleep(0.02)

    killer = threading.Thread(target=kill)
    killer.start()
    ran = maria(client="producer", max_rows=0, max_seconds=8, rows_per_commit=1_000)
    killer.join()
    assert ran.one("failure")["who"] == "writer 0"
    assert "the process that makes rows ended with code -9" in ran.one("failure")["message"]


def below(pid: int, what: str) -> list[int]:
    """The children of a process with this in their command lines."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [
                int(child)
                for child in task.read_text().split()
                if what in Path(f"/proc/{child}/cmdline").read_bytes().decode(errors="replace")
            ]
    return found


def test_the_producers_cpu_time_is_in_every_second(maria: Bench) -> None:
    ran = maria(client="producer", generator="python", max_rows=100_000, rows_per_commit=1_000)
    whole = ran.step["client"]["cpu_us_per_row"] * 100_000 / 1e6
    assert sum(second["client_cpu"] for second in ran.seconds) == pytest.approx(whole, rel=0.1)


def test_rows_lost_behind_a_deleters_back_end_the_run(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would look for them for ever."""

    def lose() -> None:
        with headrace.connect(server.url, autocommit=True) as conn:
            for _ in range(1_000):
                if conn.execute(f"DELETE FROM {TABLE} WHERE transactionid % 97 = 0").rowcount:
                    return
                time.sleep(0.005)

    with table(server):
        loser = threading.Thread(target=lose)
        loser.start()
        ran = bench(server.socket_url, **given(max_rows=40_000, delete_per_insert=True))
        loser.join()
    assert not ran.right
    failure = ran.one("failure")
    assert (failure["who"], failure["code"]) == ("deleter 0", "count")
    assert "are not there to be deleted" in failure["message"]


@pytest.mark.parametrize(
    ("driver", "strategy"), [("headrace", "text"), ("mysqlclient", "text"), ("pymysql", "executemany")]
)
def test_lock_timeouts_are_tried_again_whoever_reports_them(mariadb: MariaDBServer, driver: str, strategy: str) -> None:
    with headrace.mysql.connect(mariadb.socket_url, autocommit=True) as conn:
        conn.executescript("DROP TABLE IF EXISTS held")
        (made,) = load("mariadb").create_table("held", BenchmarkOptions())
        conn.executescript(made)
        conn.executescript("SET GLOBAL innodb_lock_wait_timeout = 1")
        try:
            conn.executescript("BEGIN")
            conn.executescript("SELECT * FROM held WHERE transactionid > 0 FOR UPDATE").fetchall()
            before = lock_timeouts(conn)

            def free() -> None:
                until = time.monotonic() + 30
                while lock_timeouts(conn) == before and time.monotonic() < until:
                    time.sleep(0.1)
                conn.executescript("ROLLBACK")

            freeing = threading.Thread(target=free)
            freeing.start()
            ran = bench(
                mariadb.socket_url, database="mariadb", driver=driver, insert_with=strategy, table_name="held",
                setup=False, max_rows=400,
            )  # fmt: skip
            freeing.join()
        finally:
            conn.executescript("SET GLOBAL innodb_lock_wait_timeout = DEFAULT")
    assert ran.right
    assert ran.step["kinds"]["insert"]["retries"]["1205"] >= 1


def lock_timeouts(conn: Any) -> int:
    """How many there have been on the server."""
    query = "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'lock_timeouts'"
    return int(conn.executescript(query).fetchall()[0][0])


@pytest.mark.parametrize("driver", ["mysqlclient", "pymysql"])
def test_half_a_batch_is_not_there_twice_when_it_is_tried_again(mariadb: MariaDBServer, driver: str) -> None:
    """These drivers make several statements of a thousand rows, and a lock timeout undoes only one of them."""
    with headrace.mysql.connect(mariadb.socket_url, autocommit=True) as conn:
        conn.executescript("DROP TABLE IF EXISTS half")
        (made,) = load("mariadb").create_table("half", BenchmarkOptions())
        conn.executescript(made)
        conn.executescript(
            "CREATE TRIGGER refuse BEFORE INSERT ON half FOR EACH ROW "
            "IF NEW.price = 499 THEN SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1205; END IF"
        )
        session = sessions.load(load("mariadb"), driver, mariadb.socket_url)
        session.run(session.open())
        session.prepare_insert("executemany", "half", 2_000, False)
        rows = [("2020-01-01 00:00:00", 1, 1, 1, 499 if n == 1_999 else 1, "x" * 50) for n in range(2_000)]
        with pytest.raises(Exception, match="1205") as caught:
            session.insert(rows)  # type: ignore[attr-defined]
        fault = session.fault(caught.value)
        assert fault is not None
        assert fault.retry
        rows[-1] = rows[0]
        assert session.insert(rows) == 2_000  # type: ignore[attr-defined]
        session.end()
        assert conn.fetchval("SELECT COUNT(*) FROM half") == 2_000
        conn.executescript("DROP TABLE half")


def test_ctrl_c_ends_a_run_in_order_and_leaves_what_there_is(server: PostgresServer, folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "headrace_lab.cli", "iibench", "--url", server.socket_url, "--setup", "--max-rows", "0",
         "--max-seconds", "60", "--label", "cut", "--out", str(folder)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until = time.monotonic() + 30
    while not any("worker" in line for line in children(process.pid)) and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "interrupted" in out
    assert runs.read(folder / "cut.jsonl")[0].failure is not None
    assert "interrupted" in (folder / "cut.html").read_text()


def children(pid: int) -> list[str]:
    """The command lines of a process's children."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            with contextlib.suppress(OSError):
                found.append(Path(f"/proc/{child}/cmdline").read_bytes().decode(errors="replace"))
    return found


def test_what_differs_is_no_round_of_the_same_run(postgres: Bench, folder: Path) -> None:
    """Two runs that differ in an option alone, laid over each other, are two lines; on the page stands for each what
    it ran on."""
    folder.mkdir()
    paths: list[Path] = []
    options: list[dict[str, Any]] = [
        {"num_secondary_indexes": 0},
        {"clients": 2},
        {"clients": 2},
        {"driver": "psycopg"},
    ]
    for n, more in enumerate(options):
        ran = postgres(max_rows=500, **more)
        paths.append(folder / f"{n}.jsonl")
        if n == 3:
            ran.told[0]["settings"]["fsync"] = "something else"
        paths[-1].write_text("".join(json.dumps(line) + "\n" for line in ran.told))
    read = [run for path in paths for run in runs.read(path)]
    lines = runs.lines(read)
    assert [len(line.rounds) for line in lines] == [1, 2, 1]
    assert "--num-secondary-indexes 0" in lines[0].name
    assert "--clients 2" in lines[1].name
    shown = page.page(read)
    assert "fsync something else" in shown
    assert "fsync something else" in lines[2].name


def test_a_file_that_is_no_result_is_told_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text("root:x:0\n")
    assert main(["iibench", "--add", str(wrong), "--out", str(tmp_path)]) == 2
    assert f"{wrong}:1: no results of the insert benchmark" in capsys.readouterr().err


# 11: a tool: packaged, tested, with results that machines read


def test_the_command_writes_lines_a_table_and_a_page(
    server: PostgresServer, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["iibench", "--url", server.socket_url, "--setup", "--cleanup", "--out", str(folder), "--label", "first"]
    more = ["--max-rows", "2000", "--inserts-per-second", "4000", "--rows-per-commit", "100", "--query-threads", "1"]
    assert main([*command, *more, "--client", "overlap,producer", "--secondary-at-start"]) == 0
    written = runs.read(folder / "first.jsonl")
    assert [run.header["client"] for run in written] == ["overlap", "producer"]
    assert all(run.right for run in written)
    with (folder / "first.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["run"] for row in rows} == {"headrace overlap", "headrace producer"}
    assert {"client_cpu_s", "server_cpu_s", "server_read_bytes", "server_written_bytes"} <= set(rows[0])
    assert sum(int(row["rows"]) for row in rows if row["kind"] == "insert") == 4_000
    page = (folder / "first.html").read_text()
    assert "headrace producer" in page
    assert "rows inserted per second" in page
    assert "client CPU per row by stage" in page
    capsys.readouterr()
    over = folder / "over.html"
    assert main(["report", str(folder / "first.jsonl"), str(folder / "first.jsonl"), "--html", str(over)]) == 0
    assert "headrace overlap" in capsys.readouterr().out
    drawn = over.read_text()
    assert "<circle" in drawn
    assert "src=" not in drawn, "it needs nothing but itself"
    assert "http" not in drawn


def test_a_failed_run_ends_with_an_exit_code_and_leaves_its_results(server: PostgresServer, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "headrace_lab.cli", "iibench", "--url", server.socket_url, "--table-name", "nowhere"]  # noqa: RUF005
        + ["--out", str(folder), "--label", "failed"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "42P01" in done.stdout
    told = [json.loads(line) for line in (folder / "failed.jsonl").read_text().splitlines()]
    assert told[-1]["type"] == "failure"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--driver", "hedrace"], "did you mean headrace?"),
        (["--database", "oracle"], "unknown database 'oracle'"),
        (["--database", "mariadb", "--driver", "pymysql", "--insert-with", "prepared"], "no prepared statements"),
        (["--database", "informix", "--insert-with", "text"], "one row in an INSERT; use executemany"),
        (["--database", "informix", "--num-partitions", "2", "--rows-per-partition", "5"], "no fragments"),
        (["--database", "informix", "--generator", "python"], "makes text, and informix: Informix takes one row"),
        (["--engine", "rocksdb"], "--engine is not for postgresql: it has no storage engines"),
        (["--max-rows", "7"], "not a multiple"),
        (["--url", "postgresql://127.0.0.1:1/x"], "127.0.0.1"),
    ],
)
def test_a_wrong_command_line_is_told_so(
    arguments: list[str], problem: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["iibench", "--out", str(folder), *arguments]) in (1, 2)
    assert problem in capsys.readouterr().err
