"""The partitions of a table or query: together they are the whole, on every database."""

from __future__ import annotations

import asyncio
import hashlib
import pickle
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pyarrow
import pytest

import headrace
from headrace import ProgrammingError
from headrace.writing import partitioned_write
from servers import Database, database, names

KEYS: dict[str, tuple[str, list[Any]]] = {
    "integers": ("int", [-(2**31) + 1, -5, -1, 0, 1, 2, 3, 3, 3, 7, 2**31 - 1]),
    "skewed": ("int", [7] * 60 + [1, 2, 9]),
    "one row": ("int", [4]),
    "no row": ("int", []),
    "only NULLs": ("int", [None, None, None]),
    "NULLs": ("int", [None, 3, None, 1, 2, None, 5, 8, 13, 21]),
    "big integers": ("bigint", [2**63 - 1, -(2**63) + 1, 0, 1, 2**53, 2**53 + 1, 2**53 + 2]),
    "floats": ("double precision", [0.1, 0.2, 0.30000000000000004, -1e300, 1e300, 1e-300, 0.0, -0.0]),
    "text": ("varchar(20)", ["", "a", "A", "b", "ä", "a b", "z", "Z", "ab", "aB", "%s", "O'Neil", "\\"]),
}


def digest(rows: list[Any]) -> str:
    """Whatever their order is."""
    return hashlib.sha256("\n".join(sorted(map(repr, rows))).encode()).hexdigest()


def rows_of(stream: Any) -> list[tuple[Any, ...]]:
    """All rows of a stream."""
    table = pyarrow.table(stream)
    return list(zip(*[column.to_pylist() for column in table.columns], strict=True)) if table.num_columns else []


@pytest.fixture
def conn(any_db: Database) -> Iterator[Any]:
    """A connection in autocommit to any of the databases."""
    connection = any_db.connect(autocommit=True)
    connection.execute("drop table if exists parts")
    yield connection
    connection.close()


def mark(conn: Any) -> str:
    """A parameter."""
    return "?" if type(conn).__module__.split(".")[1] in ("informix", "cubrid") else "%s"


def insert(conn: Any, rows: list[tuple[Any, ...]]) -> None:
    conn.executemany(f"insert into parts values ({mark(conn)}, {mark(conn)})", rows)


def fill(conn: Any, kind: str, keys: list[Any]) -> None:
    conn.execute(f"create table parts (k {kind}, n int)")
    if keys:
        conn.executemany(
            f"insert into parts values ({mark(conn)}, {mark(conn)})", [(key, n) for n, key in enumerate(keys)]
        )


@pytest.mark.parametrize("which", KEYS)
def test_partitions_by_any_key_are_the_whole(any_db: Database, conn: Any, which: str) -> None:
    kind, keys = KEYS[which]
    fill(conn, kind, keys)
    whole = rows_of(conn.fetch_arrow("select k, n from parts"))
    for count in (1, 2, 3, 7):
        for source in ({"table": "parts"}, {"query": "select k, n from parts where n >= 0"}):
            with headrace.partitions(any_db.url, by="k", count=count, **source) as plan:
                found = [row for part in plan for row in rows_of(headrace.read(part))]
                assert Counter(found) == Counter(whole), (count, plan)
                assert len(plan) <= count + 1
                assert digest(rows_of(plan.read(threads=3))) == digest(whole)


@pytest.mark.parametrize("seed", range(6))
def test_random_tables_conditions_and_counts(any_db: Database, conn: Any, seed: int) -> None:
    rnd = random.Random(seed)
    keys = [rnd.choice([None, rnd.randint(-9, 9), rnd.randint(-(10**9), 10**9)]) for _ in range(rnd.randint(2, 300))]
    fill(conn, "int", keys)
    conn.execute(f"delete from parts where n < {rnd.randint(0, 40)}")
    where = rnd.choice(["k > 0", "n < 100", "k is null", "n <> 3 -- a comment", "1 = 0", None])
    whole = conn.fetch(f"select n from parts {'where ' + where if where else ''}")
    with headrace.partitions(
        any_db.url, table="parts", by="k", count=rnd.randint(1, 12), where=where, columns=["n"]
    ) as plan:
        assert sorted(row for part in plan for row in rows_of(headrace.read(part))) == sorted(whole)


@pytest.fixture(params=names(supports_zero_dates=True))
def no_calendar(request: pytest.FixtureRequest) -> Database:
    """The databases that have the date 0000-00-00."""
    return database(request, request.param)


@pytest.mark.parametrize("constraint", ["", " not null"])
def test_dates_that_do_not_exist_are_in_one_part(no_calendar: Database, constraint: str) -> None:
    """They are no bounds, and not NULL, whatever MySQL says of them."""
    url = no_calendar.url_with(unrepresentable="none")
    with closing(headrace.connect(url, autocommit=True)) as conn:
        conn.execute("drop table if exists parts")
        if no_calendar.allow_zero_dates is not None:
            conn.execute(no_calendar.allow_zero_dates)
        conn.execute(f"create table parts (k date{constraint}, n int)")
        for n in range(20):
            conn.execute(f"insert into parts values ('{f'2020-01-{n:02}' if n > 11 else '0000-00-00'}', {n})")
        for source in ({"table": "parts"}, {"query": "select k, n from parts"}):
            for columns in (["k", "n"], ["n"]):
                with headrace.partitions(url, by="k", count=4, columns=columns, **source) as plan:
                    found = [row[-1] for part in plan for row in rows_of(headrace.read(part))]
                    assert sorted(found) == list(range(20)), plan
                    assert len(plan) >= 2


def test_columns_with_a_percent_sign_are_selected(any_db: Database, conn: Any) -> None:
    if any_db.quote is None:
        pytest.skip("names without quotes")
    fill(conn, "int", [1, 2, 3, None])
    query = f"select k, n as {any_db.quoted('n%')} from parts"
    with headrace.partitions(any_db.url, query=query, by="k", count=2) as plan:
        assert plan.column_names == ["k", "n%"]
        assert sorted(row for part in plan for row in rows_of(headrace.read(part, columns=["n%"]))) == [
            (0,),
            (1,),
            (2,),
            (3,),
        ]


def test_parts_have_about_the_same_number_of_rows(any_db: Database, conn: Any) -> None:
    fill(conn, "int", list(range(10)))
    with headrace.partitions(any_db.url, query="select k from parts where k is not null", by="k", count=4) as plan:
        sizes = [len(rows_of(headrace.read(part))) for part in plan]
        assert sum(sizes) == 10
        assert max(sizes) <= 3
        assert all(part.rows is None or type(part.rows) is int for part in plan)


def test_primary_key_is_chosen(any_db: Database, conn: Any) -> None:
    conn.execute("create table parts (name varchar(20), id int not null primary key)")
    conn.executemany(
        f"insert into parts values ({mark(conn)}, {mark(conn)})", [(f"name {n}", n * n) for n in range(100)]
    )
    with headrace.partitions(any_db.url, table="parts", count=4) as plan:
        assert plan.by == (any_db.row_address or "id")
        assert plan.column_names == ["name", "id"]
        assert pyarrow.schema(plan).names == ["name", "id"]
        assert sum(len(rows_of(headrace.read(part))) for part in plan) == 100
        if any_db.row_address is None:
            assert [len(rows_of(headrace.read(part))) for part in plan] == [25, 25, 25, 25]
            assert plan.snapshot is None
            assert "no shared snapshot" in repr(plan)


def test_partition_is_pickled_without_the_password(any_db: Database, conn: Any) -> None:
    fill(conn, "int", [1, 2, 3])
    with headrace.partitions(any_db.url, table="parts", by="k", count=2) as plan:
        pickled = pickle.dumps(list(plan))
        assert b"tiger" not in pickled
        assert len(pickled) < 4096
        parts = pickle.loads(pickled)
        assert parts == list(plan)
        # In another process nothing is known of the plan.
        for known in ({}, {"columns": ["n"]}):
            rows = [row for part in parts for row in rows_of(headrace.read(part, url=lambda: any_db.url, **known))]
            assert sorted(row[-1] for row in rows) == [0, 1, 2]
        with pytest.raises(TypeError, match="for the process that made it"):
            pickle.dumps(plan)


def test_partition_can_be_a_key_whatever_its_parameters_are(url: str) -> None:
    query = "select n from generate_series(1, 9) n where n = any(%s)"
    with headrace.partitions(url, query=query, params=[[2, 3, 5]], by="n", count=2) as plan:
        rows = {part: rows_of(headrace.read(part)) for part in plan}
        assert sorted(row for part in plan for row in rows[part]) == [(2,), (3,), (5,)]


def test_parameters_of_a_query_and_percent_signs(any_db: Database, conn: Any) -> None:
    fill(conn, "varchar(20)", ["a%b", "a", "b%", None])
    with headrace.partitions(any_db.url, table="parts", by="k", count=3, where="k like 'a%'") as plan:
        assert sorted(row for part in plan for row in rows_of(headrace.read(part))) == [("a", 1), ("a%b", 0)]
    query, where = f"select n, k from parts where n < {mark(conn)}", f"n > {mark(conn)}"
    with pytest.raises(headrace.Error):
        headrace.partitions(any_db.url, query=query, params=[2], where=where, by="n", count=2)
    with headrace.partitions(any_db.url, query=query, params=[2, 0], where=where, by="n", count=2) as plan:
        assert rows_of(plan.read(2)) == [(1, "a")]


def test_mistakes(any_db: Database, conn: Any) -> None:
    fill(conn, "int", [1])
    for wrong in (
        {},
        {"table": "parts", "query": "select 1"},
        {"table": "parts", "by": "missing"},
        {"table": "parts", "count": 0},
        {"table": "parts", "columns": []},
        {"table": "parts", "params": {"a": 1}},
    ):
        with pytest.raises(ProgrammingError):
            headrace.partitions(any_db.url, **wrong)  # type: ignore[arg-type]
    with headrace.partitions(any_db.url, table="parts") as plan:
        with pytest.raises(ProgrammingError, match="no column 'x'"):
            headrace.read(plan[0], columns=["x"])
        with pytest.raises(ProgrammingError, match="sequence"):
            plan[0].select("k")
        with pytest.raises(ProgrammingError):
            plan.read(0)


def test_a_name_that_is_too_long_is_never_that_of_another_table(any_db: Database, conn: Any) -> None:
    kept, longer = any_db.longest_name, any_db.longest_name + "x"
    table = any_db.longest_table or kept
    quote = any_db.quoted if any_db.quote else str
    conn.execute(f"drop table if exists {quote(table)}")
    conn.execute(f"create table {quote(table)} ({quote(kept)} int)")
    conn.execute(f"insert into {quote(table)} values (1)")
    try:
        with headrace.partitions(any_db.url, table=quote(table), columns=[kept], count=2) as plan:
            assert rows_of(plan.read()) == [(1,)]
        for given in ({"table": quote(longer)}, {"table": quote(table), "columns": [longer]}):
            with pytest.raises(ProgrammingError, match=r"has \d+ (bytes|characters), and names of "):
                headrace.partitions(any_db.url, **given)
        with pytest.raises(ProgrammingError, match="names of "):
            partitioned_write(any_db.url, table=quote(longer), idempotent=False)
        direct = partitioned_write(any_db.url, table=quote(table), idempotent=False)
        with pytest.raises(ProgrammingError, match="names of "):
            direct.write(pyarrow.table({longer: [2]}), url=any_db.url)
        assert conn.fetch(f"select * from {quote(table)}") == [(1,)]
    finally:
        conn.execute(f"drop table {quote(table)}")


async def test_partitions_are_read_on_asyncio(any_db: Database, conn: Any) -> None:
    fill(conn, "int", [None, 1, 2, 3, 4, 5])

    async def url() -> str:
        return any_db.url

    async def total(part: headrace.Partition) -> int:
        stream = await headrace.aio.read(part, url=url, columns=["n"], batch_rows=1)
        return sum([pyarrow.record_batch(batch)["n"][0].as_py() async for batch in stream])

    with headrace.partitions(any_db.url, table="parts", by="k", count=3) as plan:
        assert sum(await asyncio.gather(*map(total, plan))) == 15
        async with await headrace.aio.read(plan[0], batch_rows=1) as stream:
            assert (await anext(stream)).num_rows == 1
