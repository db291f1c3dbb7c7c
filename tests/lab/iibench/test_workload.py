"""The workload itself: steps by name, schemas, queries, several clients, on every database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import headrace
from headrace.testing import MariaDBServer, PostgresServer
from headrace_lab.iibench.bench import Bench
from headrace_lab.iibench.databases import load
from headrace_lab.iibench.options import BenchmarkOptions
from long import times

from .conftest import Ran, bench

Run = Callable[..., Ran]


WATCHED = {
    "postgresql": ("postgres", "headrace"),
    "mariadb": ("maria", "headrace"),
    "mysql": ("genuine", "headrace"),
}
"""Fixture and driver of benches on servers that say which process they are."""
UNWATCHED = {"informix": ("ifx", "headrace"), "informix-driver": ("ifx", "informix-driver")}
"""Those on Informix, which does not, by headrace and by its other driver."""


@pytest.fixture(params=WATCHED | UNWATCHED)
def any_bench(request: pytest.FixtureRequest) -> Run:
    """Runs a bench on each database."""
    fixture, driver = (WATCHED | UNWATCHED)[request.param]
    run = request.getfixturevalue(fixture)
    return lambda **options: run(**{"driver": driver, **options})


def test_steps_by_name_do_what_their_names_say(any_bench: Run) -> None:
    ran = any_bench(
        step="l.i0,l.x,l.i1,l.i2,qr500,qp500", load_rows=2_000, more_rows=500, step_seconds=0.4, settle_seconds=0
    )
    assert ran.right
    assert ran.one("proof")["left_out"] == []
    steps = {step["step"]: step for step in ran.all("step")}
    assert list(steps) == ["l.i0", "l.x", "l.i1", "l.i2", "qr500", "qp500"]
    rows = {name: {kind: k["rows"] for kind, k in step["kinds"].items()} for name, step in steps.items()}
    assert rows["l.i0"] == {"insert": 2_000}
    assert rows["l.x"] == {"insert": 100}
    assert steps["l.x"]["indexes"]["rows"] == 2_000
    assert rows["l.i1"] == {"insert": 400, "delete": 400}
    assert rows["l.i2"] == {"insert": 100, "delete": 100}
    for name in ("qr500", "qp500"):
        assert set(rows[name]) == {"insert", "delete", "query"}
        assert steps[name]["kinds"]["insert"]["due"] == 200
        assert rows[name]["query"] > 0


def watched(run: Run) -> dict[str, Any]:
    """A step whose client has all its figures."""
    step = run(max_rows=8_000, rows_per_commit=200, query_threads=1, secondary_at_start=True).step
    assert step["client"]["cpu_us_per_row"] > 0
    assert step["client"]["cpu_us_per_query"] > 0
    assert {"generate", "encode", "send", "wait"} <= set(step["client"]["stages_us_per_row"])
    assert 0 <= step["unfed_share"] < 1
    return step


@pytest.mark.parametrize("any_bench", WATCHED, indirect=True)
def test_figures_are_there_for_client_and_server(any_bench: Run) -> None:
    step = watched(any_bench)
    assert step["server"]["per"] == "row"
    assert step["server"]["cpu_us"] > 0
    assert 0 <= step["asleep_share"] < 1, "the server runs here, so the kernel counts it"
    assert step["data_bytes"] > 0


@pytest.mark.parametrize("any_bench", UNWATCHED, indirect=True)
def test_figures_of_a_server_that_does_not_say_which_process_it_is_are_not_there(any_bench: Run) -> None:
    step = watched(any_bench)
    assert (step["server"], step["asleep_share"]) == (None, None)


@pytest.mark.parametrize("driver", ["headrace", "mysqlclient"])
def test_rocksdb_loads_past_the_memtable_and_nothing_is_missing(rocksdb: MariaDBServer, driver: str) -> None:
    """A bulk load is in the table when the session has ended it, and not before."""
    given: dict[str, Any] = {"database": "mariadb", "engine": "rocksdb", "driver": driver, "rows_per_commit": 1_000}
    # It was not in one of three runs where the end of the load was not waited for.
    for client in ("inline", "overlap", "producer", "pregen") * times(1):
        ran = bench(rocksdb.socket_url, **given, client=client, max_rows=20_000, num_secondary_indexes=0)
        assert ran.right, ran.one("proof")["wrong"]
    assert bench(rocksdb.socket_url, **given, max_rows=2_000, bulk_load=0, secondary_at_start=True).right


def test_a_server_of_the_benchs_own_is_watched_whatever_it_says_of_itself() -> None:
    told: list[dict[str, Any]] = []
    options = BenchmarkOptions(database="informix", max_rows=40_000, rows_per_commit=500)
    assert Bench(options, told.append, lambda what: None).run()
    (step,) = [what for what in told if what["type"] == "step"]
    assert step["server"]["cpu_us"] > 0
    assert step["wait_share"] == step["unfed_share"]
    assert told[0]["server"].startswith("the project's test server, as "), "not taken for an Informix"


def test_transactions_that_stay_open_and_prepared_queries(any_bench: Run) -> None:
    ran = any_bench(
        max_rows=2_000, rows_per_commit=50, inserts_per_second=4_000, htap_transaction_seconds=0.2,
        delete_per_insert=True, query_threads=1, use_prepared_query=True, secondary_at_start=True,
    )  # fmt: skip
    assert ran.right
    kinds = ran.step["kinds"]
    assert kinds["transaction"]["operations"] >= 2
    assert kinds["query"]["rows"] > 0
    assert kinds["delete"]["rows"] == 2_000


@pytest.mark.parametrize("database", ["postgres", "maria"])
def test_partitions(request: pytest.FixtureRequest, database: str) -> None:
    ran = request.getfixturevalue(database)(
        driver="headrace", max_rows=2_000, num_partitions=3, rows_per_partition=700, delete_per_insert=True
    )
    assert ran.right
    assert ran.step["kinds"]["delete"]["rows"] == 2_000


@pytest.mark.parametrize(("driver", "only_keys"), [("psycopg", False), ("asyncpg", True)])
def test_prepared_queries_of_others(postgres: Run, driver: str, only_keys: bool) -> None:
    ran = postgres(
        driver=driver, max_rows=1_000, inserts_per_second=2_000, query_threads=1, use_prepared_query=True,
        query_pk_only=only_keys, htap_transaction_seconds=0.1, secondary_at_start=True,
    )  # fmt: skip
    assert ran.right
    assert ran.step["kinds"]["query"]["operations"] > 0


def test_several_clients_share_tables_and_each_row_is_there_once(any_bench: Run) -> None:
    ran = any_bench(max_rows=1_000, clients=3, tables=2, rows_per_commit=10, delete_per_insert=True)
    assert ran.right, [what for what in ran.told if what["type"] in ("failure", "proof")]
    (why,) = ran.one("proof")["left_out"]
    assert "several clients" in why, "which of a shared table's rows were the oldest is not known; the other's sums are"


def test_rows_that_were_there_before_are_taken_into_account(server: PostgresServer) -> None:
    given: dict[str, Any] = {"table_name": "twice", "max_rows": 500}
    assert bench(server.socket_url, **given, cleanup=False).right
    again = bench(server.socket_url, **given, setup=False, seed=7)
    assert again.right
    assert again.one("proof")["left_out"] == []


def test_warmup_does_not_count(postgres: Run) -> None:
    ran = postgres(max_rows=0, max_seconds=2, inserts_per_second=2_000, warmup=1)
    seconds = {s["second"]: s for s in ran.seconds}
    assert (seconds[0]["warmup"], seconds[1]["warmup"]) == (True, False)
    insert = ran.step["kinds"]["insert"]
    assert insert["rows"] == seconds[1]["kinds"]["insert"]["rows"]
    assert insert["rate"] == pytest.approx(insert["rows"])
    assert insert["due"] == 4_000, "the verdict is on all of it"


PLANS = {"postgresql": ("server", "ANALYZE plans", "plans_{}"), "mariadb": ("mariadb", "ANALYZE TABLE plans", "'{}'")}
"""The fixture of each server, what counts the rows of the table for its planner, and an index in its plans."""


@pytest.mark.parametrize("name", PLANS)
def test_queries_are_answered_by_the_index_they_are_meant_for(request: pytest.FixtureRequest, name: str) -> None:
    fixture, analyze, in_plan = PLANS[name]
    database = load(name)
    statements = [
        *database.create_table("plans", BenchmarkOptions()),
        *database.create_indexes("plans", BenchmarkOptions()),
    ]
    with headrace.connect(request.getfixturevalue(fixture).socket_url, autocommit=True) as conn:
        for statement in (database.drop_table("plans"), *statements):
            conn.executescript(statement)
        conn.executescript(database.insert_head("plans") + BenchmarkOptions().rows(0).values("", 0, 5_000))
        conn.executescript(analyze)
        for index in ("marketsegment", "registersegment", "pdc"):
            query = database.range_query("plans", index, "5", 10)
            plan = str(conn.executescript(f"EXPLAIN {query}").fetchall())
            assert in_plan.format(index) in plan
            assert "Sort" not in plan
            assert "filesort" not in plan
            assert len(conn.executescript(query).fetchall()) == 10
        conn.executescript(database.drop_table("plans"))


# found by a review


@pytest.mark.parametrize("clients", [1, 2])
def test_deleters_keep_up_with_clients_whose_keys_are_not_in_order(postgres: Run, clients: int) -> None:
    # Each connection takes a thousand keys from the sequence, so that one client inserts below what another deleted.
    ran = postgres(clients=clients, max_rows=2_000, inserts_per_second=2_000, delete_per_insert=True, resync_get_min=1)
    assert ran.right
    assert ran.step["kinds"]["delete"]["rows"] == 2_000 * clients
    delete = ran.step["kinds"]["delete"]
    assert 2_000 * clients <= delete["due"] < 6_000 * clients, "due is what was to be deleted, not what could ever be"


def test_partitions_have_as_many_keys_as_come_to_it(postgres: Run, maria: Run) -> None:
    for bench_of in (postgres, maria):
        assert bench_of(driver="headrace", max_rows=2_000, num_partitions=4).right
    made = list(
        load("mariadb").create_table("t", BenchmarkOptions(num_partitions=4, max_rows=10_000, clients=2, tables=4))
    )
    assert "PARTITION p3 VALUES LESS THAN (3750)" in made[0]


def test_options_of_a_table_reach_postgresql(server: PostgresServer) -> None:
    with headrace.connect(server.url, autocommit=True) as conn:
        for more, part in (({}, "filled"), ({"num_partitions": 2}, "filled_p1")):
            given: dict[str, Any] = {"engine_options": "WITH (fillfactor=55)", "table_name": "filled", **more}
            assert bench(server.socket_url, **given, max_rows=200, cleanup=False).right
            assert "fillfactor=55" in str(conn.fetchval(f"SELECT reloptions FROM pg_class WHERE relname = '{part}'"))
        conn.execute("DROP TABLE filled")


def test_rocksdb_is_not_loaded_in_bulk_where_others_have_to_see_the_rows(rocksdb: MariaDBServer) -> None:
    ran = bench(
        rocksdb.socket_url, database="mariadb", driver="headrace", engine="rocksdb", max_rows=4_000,
        delete_per_insert=True, query_threads=1, query_pk_only=True,
    )  # fmt: skip
    assert ran.right
    assert ran.step["kinds"]["query"]["rows"] > 0


def test_a_warmup_of_one_and_a_half_seconds_leaves_whole_seconds(postgres: Run) -> None:
    ran = postgres(max_rows=0, max_seconds=3, inserts_per_second=2_000, warmup=1.5)
    insert = ran.step["kinds"]["insert"]
    assert [s["warmup"] for s in ran.seconds][:3] == [True, True, False]
    assert insert["rate"] == pytest.approx(2_000, rel=0.1), "rows of a second are divided by a second"


def test_queries_go_on_until_the_time_is_up(postgres: Run) -> None:
    # One block is due, at once; the queries have a whole second.
    ran = postgres(
        max_rows=0, max_seconds=1, inserts_per_second=50, rows_per_commit=100, query_threads=1, query_pk_only=True,
        queries_per_second=50, retries=0,
    )  # fmt: skip
    query = ran.step["kinds"]["query"]
    assert (query["due"], query["operations"]) == (50, 50)


def test_a_rate_is_not_sustained_where_the_rows_take_longer_than_it_gives_them(postgres: Run) -> None:
    ran = postgres(max_rows=20_000, inserts_per_second=1e9, delete_per_insert=True)
    for kind in ("insert", "delete"):
        assert ran.step["kinds"][kind]["sustained"] is False
        assert ran.step["kinds"][kind]["short"] > 0.5
    kept = postgres(max_rows=1_000, inserts_per_second=1_000).step["kinds"]["insert"]
    assert (kept["sustained"], kept["due"]) == (True, 1_000)


@pytest.mark.parametrize("database", ["postgres", "maria"])
def test_one_time_changed_among_many_is_found(
    request: pytest.FixtureRequest, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the earliest nor the latest: that of a row in the middle."""
    from headrace_lab.iibench import bench as module

    settled = module.Run.count

    def tamper(self: module.Run, *given: Any) -> None:
        settled(self, *given)
        self.execute(f"UPDATE {self.tables[0]} SET dateandtime = '2020-01-01 00:00:03' WHERE transactionid = 1500")

    monkeypatch.setattr(module.Run, "count", tamper)
    ran = request.getfixturevalue(database)(driver="headrace", max_rows=5_000)
    (wrong,) = ran.one("proof")["wrong"]
    assert "sum of times: expected 10000, found 10002" in wrong


def test_what_the_server_used_in_the_last_second_is_there(postgres: Run) -> None:
    seconds = postgres(max_rows=0, max_seconds=2, inserts_per_second=20_000).seconds
    assert all(s["server_cpu"] is not None for s in seconds if s["length"] > 0.5)
