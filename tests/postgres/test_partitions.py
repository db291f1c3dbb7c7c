"""Partitions on PostgreSQL: places, statistics, and one snapshot for all readers."""

from __future__ import annotations

import datetime
import decimal
import gc
import os
import pickle
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import duckdb
import numpy
import pandas
import polars
import pyarrow
import pytest

import headrace
from headrace import ProgrammingError
from waiting import until


def rows_of(stream: Any) -> list[tuple[Any, ...]]:
    table = pyarrow.table(stream)
    return list(zip(*[column.to_pylist() for column in table.columns], strict=True))


def parts_of(plan: headrace.PartitionPlan) -> list[list[tuple[Any, ...]]]:
    return [rows_of(headrace.read(part)) for part in plan]


def check(url: str, conn: Any, *, columns: str = "*", **source: Any) -> headrace.PartitionPlan:
    """The partitions together are the whole, and their plan."""
    relation = source.get("table") or f"({source['query']}\n) q"
    whole = rows_of(conn.fetch_arrow(f"select {columns} from {relation}"))
    with headrace.partitions(url, **source) as plan:
        found = [row for rows in parts_of(plan) for row in rows]
        assert sorted(map(repr, found)) == sorted(map(repr, whole))
    return plan


@pytest.fixture
def db(url: str) -> Iterator[Any]:
    """A connection in autocommit to a database with an empty schema."""
    connection = headrace.connect(url, autocommit=True)
    connection.execute("set client_min_messages = warning")
    connection.execute("drop schema if exists s cascade")
    connection.execute("create schema s")
    connection.execute("create table s.t (id int primary key, v text)")
    yield connection
    connection.close()


def fill(db: Any, rows: int = 20_000) -> None:
    db.execute(f"insert into s.t select n, repeat('x', n % 50) from generate_series(1, {rows}) n")


def test_table_is_divided_by_places(url: str, db: Any) -> None:
    fill(db)
    db.execute("analyze s.t")
    plan = check(url, db, table="s.t", count=4)
    assert plan.by == "ctid"
    assert len(plan) == 4
    assert plan.rows == pytest.approx(20_000, abs=10)
    assert all(part.rows is not None and part.rows == pytest.approx(5000, rel=0.1) for part in plan)
    for part in plan:
        explained = "\n".join(line for (line,) in db.fetch(f"explain {part.sql}", *part.params))
        assert "Tid Range Scan" in explained


def test_places_that_hold_no_rows(url: str, db: Any) -> None:
    check(url, db, table="s.t")
    fill(db)
    db.execute("delete from s.t where id % 10 <> 0 or id between 5000 and 9000")
    check(url, db, table="s.t", count=7)
    db.execute("update s.t set v = repeat('y', 500)")
    check(url, db, table="s.t", count=7)
    db.execute("delete from s.t where id <> 20")
    check(url, db, table="s.t", count=3)
    db.execute("vacuum full s.t")
    assert len(check(url, db, table="s.t", count=3)) == 1


def ids(url: str, table: str, count: int) -> list[int]:
    """The column ``id`` of all partitions by ``k`` together."""
    with headrace.partitions(url, table=table, by="k", count=count) as plan:
        batches = [batch for part in plan for batch in headrace.read(part, columns=["id"])]
        return sorted(number for batch in batches for number in pyarrow.record_batch(batch)["id"].to_pylist())


@pytest.mark.parametrize("analyzed", [False, True])
def test_composite_keys_whose_parts_are_null(url: str, db: Any, analyzed: bool) -> None:
    db.execute("create type s.pair as (a int, b int)")
    db.execute("create table s.c (id int, k s.pair)")
    values = "case n % 4 when 0 then null when 1 then row(n, n)::s.pair when 2 then row(n, null)::s.pair "
    values += "else row(null, null)::s.pair end"
    db.execute(f"insert into s.c select n, {values} from generate_series(1, 400) n")
    if analyzed:
        db.execute("analyze s.c")
    for count in (1, 3, 7):
        assert ids(url, "s.c", count) == list(range(1, 401))
    db.execute("create table s.d (id int, k s.pair not null)")
    db.execute("insert into s.d select * from s.c where k is distinct from null")
    for count in (1, 3):
        assert ids(url, "s.d", count) == [n for n in range(1, 401) if n % 4]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (
            "text collate s.any_case",
            "case n % 3 when 0 then null when 1 then chr(97 + n % 26) else chr(65 + n % 26) end",
        ),
        ('text collate "C"', "nullif(chr(97 + n % 26), 'c')"),
        ('"char"', "chr(65 + n % 26)"),
        ("int[]", "case n % 3 when 0 then null when 1 then array[n, null] else array[]::int[] end"),
        ("int4range", "case n % 3 when 0 then null when 1 then int4range(n, null) else 'empty' end"),
        ("numeric", "case n % 3 when 0 then 'NaN' when 1 then n / 3.0 else null end"),
    ],
)
def test_each_row_is_in_one_part_whatever_the_key_is(url: str, db: Any, kind: str, value: str) -> None:
    if "any_case" in kind:
        try:
            db.execute(
                "create collation s.any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
            )
        except headrace.DatabaseError:
            # A server without ICU has the same question for equal texts only.
            kind = "text"
    db.execute(f"create table s.c (id int, k {kind})")
    db.execute(f"insert into s.c select n, ({value})::{kind.partition(' collate')[0]} from generate_series(1, 400) n")
    for _ in range(2):
        for count in (1, 3, 7):
            assert ids(url, "s.c", count) == list(range(1, 401))
        db.execute("analyze s.c")


HOLDERS = "select count(*) from pg_stat_activity where datname = current_database() and state = 'idle in transaction'"
"""A query for the number of sessions that keep a snapshot."""


def test_a_plan_lives_as_long_as_what_was_made_of_it(url: str, db: Any) -> None:
    fill(db)
    assert len(rows_of(headrace.partitions(url, table="s.t", count=4).read())) == 20_000
    stream = headrace.partitions(url, table="s.t", count=4).read()
    gc.collect()
    assert len(rows_of(stream)) == 20_000
    assert pyarrow.table(headrace.partitions(url, table="s.t", count=4)).num_rows == 20_000
    read = 0
    for part in headrace.partitions(url, table="s.t", count=4):
        read += len(rows_of(headrace.read(part)))
    assert read == 20_000
    (first, *others) = headrace.partitions(url, table="s.t", count=4)
    gc.collect()
    assert sum(len(rows_of(headrace.read(part))) for part in (first, *others)) == 20_000
    sent = pickle.loads(pickle.dumps(first))
    assert (sent, hash(sent)) == (first, hash(first))
    # Partitions that are sent elsewhere do not keep it.
    with pytest.warns(ResourceWarning, match="without close"):
        part = first = others = None
    until(lambda: not db.fetchval(HOLDERS))
    with pytest.raises(ProgrammingError, match="has to be open"):
        headrace.read(sent, url=url)


def test_a_plan_is_rows_for_other_libraries_or_refuses(url: str, db: Any) -> None:
    fill(db, 100)
    with headrace.partitions(url, table="s.t", count=3) as plan:
        assert polars.DataFrame(plan).sort("id")["id"].to_list() == list(range(1, 101))
        assert pyarrow.table(plan).num_rows == 100
        assert duckdb.sql("select count(*), max(id) from plan").fetchall() == [(100, 100)]
        assert pandas.DataFrame.from_arrow(plan).shape == (100, 2)
        for make in (pandas.DataFrame, numpy.asarray):
            with pytest.raises(TypeError, match="rows for libraries that take Arrow"):
                make(plan)
        assert list(plan) == [plan[number] for number in range(len(plan))]


def test_values_that_are_stored_outside(url: str, db: Any) -> None:
    db.execute("alter table s.t alter column v set storage external")
    db.execute("insert into s.t select n, repeat(n::text, 3000) from generate_series(1, 300) n")
    assert len(check(url, db, table="s.t", count=2)) == 2


def test_partitioned_and_inherited_tables(url: str, db: Any) -> None:
    db.execute("create table s.p (id int, name text) partition by list (id)")
    db.execute("create table s.p_low (name text, id int)")
    db.execute("alter table s.p attach partition s.p_low for values in (0)")
    db.execute("create table s.p_rest partition of s.p default partition by hash (id)")
    for n in range(2):
        db.execute(f"create table s.p_rest{n} partition of s.p_rest for values with (modulus 2, remainder {n})")
    db.execute(
        "insert into s.p select case when n < 20000 then 0 else n end, 'name ' || n from generate_series(1, 30000) n"
    )
    plan = check(url, db, table="s.p", count=5)
    assert plan.by == "ctid"
    sizes = [len(rows) for rows in _read(url, "s.p", 5)]
    assert max(sizes) < 2 * 30000 / 5
    db.execute("create table s.child (more text) inherits (s.t)")
    db.execute("create table s.grandchild () inherits (s.child)")
    for name in ("t", "child", "grandchild"):
        db.execute(f"insert into s.{name} select n from generate_series(1, 500) n")
    check(url, db, table="s.t", count=3)
    assert "id" in check(url, db, table="s.child", count=2, by="id").by


def _read(url: str, table: str, count: int) -> list[list[tuple[Any, ...]]]:
    with headrace.partitions(url, table=table, count=count) as plan:
        return parts_of(plan)


def test_views_foreign_tables_and_other_names(url: str, db: Any) -> None:
    fill(db, 1000)
    db.execute("analyze s.t")
    db.execute("create view s.view as select id as number, v from s.t where id > 10")
    plan = check(url, db, table="s.view", count=3)
    assert plan.by == "number"
    db.execute("create materialized view s.stored as select * from s.t")
    assert check(url, db, table="s.stored", count=3).by == "ctid"
    db.execute('create table s."a ""b%" ("x ""y%" int, "select" text)')
    db.execute("""insert into s."a ""b%" values (1, 'a'), (2, null)""")
    check(url, db, table='s."a ""b%"', count=2)
    check(url, db, table='s."a ""b%"', by='x "y%', count=2)
    with headrace.partitions(url, table='s."a ""b%"', columns=["select"], by='x "y%', count=2) as plan:
        assert sorted(map(repr, [row for rows in parts_of(plan) for row in rows])) == ["('a',)", "(None,)"]
    with pytest.raises(ProgrammingError, match="not a table"):
        headrace.partitions(url, table="s.view", by="ctid")
    with pytest.raises(ProgrammingError, match="have a place"):
        headrace.partitions(url, query="select 1", by="ctid")
    db.execute("create temp table own (n int)")
    with pytest.raises(headrace.DatabaseError):
        headrace.partitions(url, table="own")


def test_row_level_security_holds_in_partitions(url: str, db: Any) -> None:
    fill(db, 1000)
    db.execute("drop role if exists reader")
    db.execute("create role reader login")
    db.execute("grant usage on schema s to reader")
    db.execute("grant select on s.t to reader")
    db.execute("alter table s.t enable row level security")
    db.execute("create policy p on s.t to reader using (id <= 10)")
    with headrace.partitions(url.replace("postgres@", "reader@"), table="s.t", count=3) as plan:
        assert sorted(row[0] for rows in parts_of(plan) for row in rows) == list(range(1, 11))
    db.execute("drop owned by reader")
    db.execute("drop role reader")


VALUES: dict[str, list[Any]] = {
    "numeric": [decimal.Decimal("1e-10"), decimal.Decimal(10**15), decimal.Decimal("-0.5"), None, decimal.Decimal(0)],
    "float8": [float("inf"), float("-inf"), 0.1, -0.0, 0.0, None, 1e-300, 0.30000000000000004],
    "timestamptz": [
        datetime.datetime(2020, 1, day, hour, tzinfo=datetime.timezone.utc)
        for day in (1, 5)
        for hour in range(0, 24, 5)
    ],
    "date": [datetime.date(1, 1, 1), datetime.date(9999, 12, 31), datetime.date(2024, 2, 29), None],
    "uuid": [uuid.UUID(int=n * 2**100) for n in range(20)],
    "interval": [datetime.timedelta(days=n, seconds=-n) for n in range(9)],
    'text collate "C"': ["a", "B", "b", "A", "ä", "", "%", "'", "\\", None],
    "text": ["a", "B", "b", "A", "ä", "", "%", "'", "\\", None],
    "char(3)": ["a", "b ", "abc", "", None],
    "bytea": [b"", b"\x00", b"\xff" * 5, None],
    "bool": [True, False, None],
    "inet": ["10.0.0.1", "::1", "10.0.0.0/8"],
    "int[]": [[1, 2], [1], [], [3]],
}


@pytest.mark.parametrize("analysed", [True, False], ids=["statistics", "no statistics"])
@pytest.mark.parametrize("kind", VALUES)
def test_keys_of_any_type(url: str, db: Any, kind: str, analysed: bool) -> None:
    db.execute(f"create table s.k (k {kind}, n int)")
    values = [value for value in VALUES[kind] for _ in range(2)]
    db.executemany("insert into s.k values (%s, %s)", [(value, n) for n, value in enumerate(values)])
    if analysed:
        db.execute("analyze s.k")
    for count in (1, 2, 5):
        with headrace.partitions(url, table="s.k", by="k", count=count, columns=["n"]) as plan:
            assert sorted(row for rows in parts_of(plan) for row in rows) == [(n,) for n in range(len(values))]


def test_nan_and_other_keys_without_an_own_literal(url: str, db: Any) -> None:
    db.execute("create type s.mood as enum ('sad', 'ok', 'happy')")
    db.execute("create domain s.percent as int check (value between 0 and 100)")
    db.execute("create table s.k (f float8, e s.mood, d s.percent, c char(5), n int)")
    db.execute(
        "insert into s.k select case when n % 4 = 0 then 'NaN' else n::float8 end, "
        "(array['sad', 'ok', 'happy', null])[n % 4 + 1]::s.mood, n, 'abcd' || n % 3, n from generate_series(1, 40) n"
    )
    for _ in range(2):
        for key in ("f", "e", "d", "c"):
            with headrace.partitions(url, table="s.k", by=key, count=3, columns=["n"]) as plan:
                assert sorted(row for rows in parts_of(plan) for row in rows) == [(n,) for n in range(1, 41)], key
        db.execute("analyze s.k")


def test_query_is_divided_evenly_by_statistics(url: str, db: Any) -> None:
    db.execute("create table s.skew (k int, n int)")
    # Almost all keys are small, and one is a third of all.
    db.execute("insert into s.skew select (random() ^ 8 * 1000000)::int, n from generate_series(1, 20000) n")
    db.execute("insert into s.skew select 500000, n from generate_series(1, 10000) n")
    db.execute("insert into s.skew select null, n from generate_series(1, 3000) n")
    db.execute("analyze s.skew")
    query = "select k, n from s.skew where n >= 0;"
    with headrace.partitions(url, query=query, count=4) as plan:
        assert plan.by == "n"
    with headrace.partitions(url, query=query, by="k", count=6) as plan:
        sizes = [len(rows) for rows in parts_of(plan)]
        assert sum(sizes) == 33000
        assert sizes[-1] == 3000
        assert sorted(sizes)[-2] < 2 * 30000 / 6
        for part, size in zip(plan, sizes[:-1], strict=False):
            assert part.rows == pytest.approx(size, rel=0.5, abs=1500)
    with headrace.partitions(url, query="select 1 as one, 'a' as a", count=4) as plan:
        assert len(plan) == 1
        assert plan.by == ""
        assert parts_of(plan) == [[(1, "a")]]
    check(url, db, query="select k + 1 as more, count(*) as c from s.skew group by 1 -- all", by="more", count=3)


def test_all_readers_see_one_snapshot_beside_a_writer(url: str, db: Any) -> None:
    fill(db)
    before = rows_of(db.fetch_arrow("select * from s.t"))
    over = threading.Event()

    def write() -> None:
        with headrace.connect(url, autocommit=True) as writer:
            n = 100_000
            while not over.is_set():
                n += 1
                writer.execute("insert into s.t values (%s, 'new')", (n,))
                writer.execute("update s.t set v = 'changed' where id = %s", (n % 20_000,))
                writer.execute("delete from s.t where id = %s", (n * 7 % 20_000,))

    with (
        headrace.partitions(url, table="s.t", count=5) as plan,
        headrace.partitions(url, query="select * from s.t", by="id", count=5) as other,
    ):
        thread = threading.Thread(target=write)
        thread.start()
        try:
            for each in (plan, other):
                assert each.snapshot is not None
                assert each.no_snapshot_because is None
                assert "one snapshot" in repr(each)
                assert sorted(row for rows in parts_of(each) for row in rows) == before
                assert sorted(rows_of(each.read(threads=3))) == before
        finally:
            over.set()
            thread.join()
        assert db.fetchval("select count(*) from s.t where v in ('new', 'changed')") > 0


def test_snapshot_ends_with_its_plan(url: str, db: Any) -> None:
    fill(db, 10)
    plan = headrace.partitions(url, table="s.t")
    part = plan[0]
    plan.close()
    assert not plan.is_open
    # The server ends the session, and with it the snapshot, after the plan has said goodbye.
    until(lambda: not db.fetchval(HOLDERS))
    with pytest.raises(ProgrammingError, match="has to be open"):
        headrace.read(part)
    with pytest.raises(ProgrammingError, match="closed"):
        plan.read()
    with headrace.partitions(url, table="s.t", snapshot="none") as plan:
        assert plan.is_open
        assert plan.no_snapshot_because == "none was wanted"
        assert len(rows_of(plan)) == 10


def test_another_process_reads_with_the_password_of_its_environment(tls_server: Any) -> None:
    """The partition holds the place and the user, and the password is the reader's own matter."""
    url = f"postgresql://scram_user:secret@127.0.0.1:{tls_server.port}/postgres?sslmode=disable"
    program = (
        "import sys, pickle, headrace\n"
        "part = pickle.load(sys.stdin.buffer)\n"
        "print(sum(batch.num_rows for batch in headrace.read(part)))"
    )
    with headrace.partitions(url, query="select n from generate_series(1, 7) n", by="n", count=1) as plan:
        pickled = pickle.dumps(plan[0])
        assert b"secret" not in pickled

        def run(**environment: str) -> Any:
            return subprocess.run(
                [sys.executable, "-c", program],
                input=pickled,
                capture_output=True,
                env={**os.environ, **environment},
                check=False,
            )

        assert run(PGPASSWORD="secret").stdout.strip() == b"7"
        assert b"password" in run(PGPASSWORD="wrong").stderr


def test_closing_a_threaded_read_ends_what_the_server_computes(url: str, db: Any) -> None:
    query = "select n, case when n > 1 then pg_sleep(60)::text end as s from generate_series(1, 4) n"
    with headrace.partitions(url, query=query, by="n", count=1, snapshot="none", columns=["n"]) as plan:
        stream = plan.read(2, batch_rows=1)
        assert next(stream).num_rows == 1
        executing = "select count(*) from pg_stat_activity where datname = current_database() and state = 'active'"
        until(lambda: db.fetchval(executing) > 1)  # more than this query itself
        stream.close()
        until(lambda: db.fetchval(executing) == 1)


def test_error_of_a_partition_is_raised_after_the_rows_before_it(url: str, db: Any) -> None:
    fill(db, 100)
    query = "select id, 1 / (id - 80) as q from s.t"
    with headrace.partitions(url, query=query, by="id", count=4) as plan:
        found = 0
        with pytest.raises(headrace.errors.DivisionByZero):
            for batch in plan.read(3):
                found += batch.num_rows
        assert 0 < found < 80
