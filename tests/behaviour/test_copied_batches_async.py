"""Batches of a plain INSERT that go on as a COPY: only the time they take and the last command's tag show it."""

from __future__ import annotations

import asyncio
import datetime as dt
import random
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest

import headrace
import headrace.aio
from headrace import errors
from strategies import assert_alike

ROWS = 3000
PLAIN = "insert into {table} values (%s, %s)"


@pytest.fixture
async def make(url: str) -> AsyncIterator[Callable[..., headrace.aio.AsyncConnection[Any]]]:
    """Opens connections in autocommit; the table ``c`` is empty."""
    opened = []

    async def connect(**settings: Any) -> headrace.aio.AsyncConnection[Any]:
        conn = await headrace.aio.connect(url, **{"autocommit": True, **settings})
        opened.append(conn)
        return conn

    await (await connect()).executescript(
        "drop table if exists c cascade; create table c (n int primary key, s varchar(20))"
    )
    yield connect
    for conn in opened:
        await conn.close()


async def is_copied(aconn: headrace.aio.AsyncConnection[Any], sql: str, rows: Any) -> bool:
    """Executes a batch of ROWS rows, and returns true if the end of it was copied."""
    cursor = await aconn.executemany(sql, rows)
    assert cursor.rowcount == ROWS
    return (cursor.statusmessage or "").startswith("COPY ")


def rows(size: int = ROWS) -> list[tuple[int, str]]:
    return [(i, f"row {i}") for i in range(size)]


@pytest.mark.parametrize(
    "given", [list, tuple, iter, lambda made: (row for row in made)], ids=["list", "tuple", "iter", "rows"]
)
async def test_rows_are_copied_once_there_are_enough(make: Any, given: Any) -> None:
    conn = await make()
    assert await is_copied(conn, "insert into c values ($1, $2)", given(rows()))
    assert await conn.fetch("select n, s from c order by n") == rows()
    await conn.execute("truncate c")
    assert (
        await conn.executemany("insert into c (s, n) values (%s, %s)", given([(s, n) for n, s in rows(100)]))
    ).rowcount == 100
    assert await conn.fetch("select n, s from c order by n") == rows(100)


@pytest.mark.parametrize("autocommit", [True, False])
async def test_every_batch_of_a_connection_is_copied(make: Any, autocommit: bool) -> None:
    conn = await make(autocommit=autocommit)
    for k in range(4):
        # Nothing is sent in between: of a statement that is used again the driver asks which process executes it.
        assert await is_copied(conn, "insert into c values ($1, $2)", [(k * ROWS + i, "") for i in range(ROWS)])
        if not autocommit:
            await conn.commit()
    assert await conn.fetchval("select count(*) from c") == 4 * ROWS


async def test_the_strategy_can_be_named(make: Any) -> None:
    assert not await is_copied(await make(batch_strategy="pipelined"), PLAIN.format(table="c"), rows())
    conn = await make(batch_strategy="copy")
    await conn.execute("truncate c")
    assert (await conn.executemany("insert into c values (%s, %s)", rows(2))).statusmessage == "COPY 1"
    with pytest.raises(errors.ProgrammingError, match="batch_strategy"):
        await make(batch_strategy="bulk")


@pytest.mark.parametrize(
    ("table", "copied"),
    [
        ("create table t (a int, b text)", True),
        ("create temp table t (a int, b text)", True),
        ("create table t (a int, b text default 'x', c int default 7, d int generated always as (a + 1) stored)", True),
        ("create table t (a int, gone int, b text); alter table t drop gone", True),
        ("create domain small as int check (value < 100000); create table t (a small, b text)", True),
        ("create table t (a int, b text) partition by range (a); create table t1 partition of t default", True),
        ("create table t (a int primary key, b text); create table u (a int references t)", True),
        (
            "create table t (a int, b text); create function f() returns trigger language plpgsql as "
            "'begin new.b = upper(new.b); return new; end'; create trigger g before insert on t for each row "
            "execute function f()",
            True,
        ),
        (
            "create function f() returns int language sql as 'select 5'; "
            "create table t (a int, b text, c int default f())",
            True,
        ),
        (
            "create table t (a int, b text, c bigint); create function f() returns bigint stable language sql as "
            "'select count(*) from t'; alter table t alter c set default f()",
            False,
        ),
        (
            "create table t (a int, b text); create function f(n int) returns boolean language sql as "
            "'select not exists (select from t where a = n)'; alter table t add check (f(a))",
            False,
        ),
        (
            "create table t (a int, b text); create function f() returns trigger stable language plpgsql as "
            "'begin return new; end'; create trigger g before insert on t for each row execute function f()",
            False,
        ),
        ("create type pair as (x int, y int); create table t (a int, b text, c pair)", False),
        ("create domain d as int; create domain e as d; create table t (a e, b text)", False),
        ("create domain d as int; create table t (a int, b text, c d[])", False),
        (
            "create table t (a int, b text); create function f(n int) returns boolean stable language sql as "
            "'select not exists (select from t where a = n)'; create domain d as int check (f(value)); "
            "alter table t alter a type d",
            False,
        ),
        (
            "create table t (a int, b text); create function f() returns bigint stable language sql as "
            "'select count(*) from t'; create domain d as bigint default f(); alter table t add c d",
            False,
        ),
        (
            "create table t (a int, b text); create function f(n int, m int) returns boolean language sql as "
            "'select not exists (select from t where a = n)'; "
            "create operator <<<< (leftarg = int, rightarg = int, function = f); "
            "alter table t add check (a <<<< 1)",
            False,
        ),
        ("create table u (a int primary key); insert into u select generate_series(0, 5000); "
         "create table t (a int references u, b text)", False),
        ("create table t (a int unique deferrable, b text)", False),
        ("create table u (a int, b text); create view t as select * from u", False),
        ("create table u (a int, b text); create table t (a int, b text); create rule r as on insert to t do also "
         "insert into u values (new.a, new.b)", False),
        (
            "create table n (k int); create table t (a int, b text); "
            "create function f() returns trigger language plpgsql as "
            "'begin insert into n values (1); return null; end'; "
            "create trigger g after insert on t for each statement execute function f()",
            False,
        ),
        (
            "create table n (k int); create table t (a int, b text) partition by range (a); "
            "create table t1 partition of t default; create function f() returns trigger language plpgsql as "
            "'begin insert into n values (1); return null; end'; create trigger g after insert on t1 for each row "
            "execute function f()",
            False,
        ),
    ],
)  # fmt: skip
async def test_which_tables_are_copied_into(make: Any, table: str, copied: bool) -> None:
    conn = await make()
    await conn.executescript("drop schema if exists w cascade; create schema w; set search_path = w")
    await conn.executescript(table)
    assert await is_copied(conn, "insert into t values (%s, %s)", rows()) == copied
    assert await conn.fetch("select a, lower(b) from t order by a") == rows()
    if "table n " in table:
        assert await conn.fetchval("select count(*) from n") == ROWS, "a trigger for each statement, or row"


@pytest.mark.parametrize(
    "sql",
    [
        "insert into c values (%s, upper(%s))",
        "insert into c values (%s, %s) on conflict do nothing",
        "insert into c (n, s) select %s, %s",
        "insert into c as d values (%s, %s)",
    ],
)
async def test_other_statements_are_executed(make: Any, sql: str) -> None:
    assert not await is_copied(await make(), sql, rows())


async def test_a_limit_on_the_time_of_a_statement_is_for_each_row(make: Any) -> None:
    conn = await make()
    await conn.execute("set statement_timeout = '1min'")
    assert not await is_copied(conn, PLAIN.format(table="c"), rows())


async def test_row_level_security_holds(make: Any) -> None:
    conn = await make()
    await conn.executescript(
        "drop role if exists limited; create role limited; grant insert, select on c to limited;"
        "alter table c enable row level security;"
        "create policy p on c for insert to limited with check (n < 2000); create policy q on c for select using (true)"
    )
    await conn.execute("set role limited")
    with pytest.raises(errors.InsufficientPrivilege) as caught:
        await conn.executemany(PLAIN.format(table="c"), rows())
    assert caught.value.row == 2000
    assert await conn.fetchval("select count(*) from c") == 0


async def test_what_may_be_inserted_is_what_the_role_may(make: Any) -> None:
    conn = await make()
    await conn.executescript(
        "drop role if exists writer; create role writer; grant insert (n) on c to writer; set role writer"
    )
    assert await is_copied(conn, "insert into c (n) values (%s)", [(n,) for n in range(ROWS)])
    with pytest.raises(errors.InsufficientPrivilege):
        await conn.executemany(PLAIN.format(table="c"), rows())


async def test_a_table_that_another_session_alters_in_between(make: Any) -> None:
    conn, other = await make(), await make()
    assert await is_copied(conn, PLAIN.format(table="c"), rows())
    await other.executescript("truncate c; alter table c alter n type bigint, alter s type text")
    assert (await conn.executemany(PLAIN.format(table="c"), rows())).rowcount == ROWS
    assert await conn.fetch("select n, s from c order by n") == rows()
    await other.executescript(
        "truncate c; create table seen (n int); create function see() returns trigger language plpgsql as "
        "'begin insert into seen values (1); return null; end'; "
        "create trigger g after insert on c for each statement execute function see()"
    )
    assert not await is_copied(conn, PLAIN.format(table="c"), rows())
    assert await conn.fetchval("select count(*) from seen") == ROWS


@pytest.mark.parametrize("autocommit", [True, False])
@pytest.mark.parametrize("bad", [0, 1, 1023, 1024, 1025, 1500, ROWS - 1])
async def test_a_row_that_fails_is_named_and_nothing_stays(make: Any, autocommit: bool, bad: int) -> None:
    conn = await make(autocommit=autocommit)
    for value, error in ((7, errors.UniqueViolation), (2**40, errors.DataError), ("x", errors.DataError)):
        made: list[tuple[Any, str]] = [(10 + n, s) for n, s in rows()]
        made[bad] = (value, "bad")
        await conn.execute("insert into c values (7, 'there')")
        with pytest.raises(error) as caught:
            await conn.executemany(PLAIN.format(table="c"), made)
        assert caught.value.row == bad  # type: ignore[attr-defined]
        await conn.rollback()
        assert await conn.fetchval("select count(*) from c where n <> 7") == 0
        await conn.execute("truncate c")


async def test_within_a_transaction_what_came_before_stays_undone(make: Any) -> None:
    conn = await make(autocommit=False)
    await conn.execute("insert into c values (-1, 'before')")
    with pytest.raises(errors.UniqueViolation) as caught:
        await conn.executemany(
            PLAIN.format(table="c"), [*rows(2000), (1999, "again"), *[(n, "") for n in range(2000, 2500)]]
        )
    assert caught.value.row == 2000
    with pytest.raises(errors.InFailedSqlTransaction):
        await conn.execute("select 1")
    await conn.rollback()
    assert await conn.fetchval("select count(*) from c") == 0


@pytest.mark.parametrize("given", [list, iter])
@pytest.mark.parametrize("alone", [True, False])
async def test_of_several_rows_that_fail_the_first_is_named(make: Any, given: Any, alone: bool) -> None:
    conn = await make(autocommit=alone)
    await conn.execute("alter table c add check (n <> 666666)")
    await conn.commit()
    if not alone:
        await conn.execute("select 1")
    made = rows()
    # COPY looks for the keys of many rows at once, after their checks.
    made[1100], made[1200] = (5, "again"), (666_666, "refused")
    with pytest.raises(errors.UniqueViolation) as caught:
        await conn.executemany(PLAIN.format(table="c"), given(made))
    assert caught.value.row == 1100


async def test_a_row_that_is_too_large_is_named(make: Any) -> None:
    conn = await make()
    names = [f"v{i}" for i in range(1200)]
    await conn.execute("drop table if exists wide")
    await conn.execute(f"create table wide ({', '.join(f'{name} bigint' for name in names)})")
    batch = [tuple([1] * 1200 if n == 1200 else [None] * 1200) for n in range(2100)]
    listed = ", ".join(["%s"] * 1200)
    with pytest.raises(errors.ProgramLimitExceeded) as caught:
        await conn.executemany(f"insert into wide values ({listed})", batch)
    assert caught.value.row == 1200


async def test_an_iterator_that_fails_leaves_nothing(make: Any) -> None:
    def broken(at: int) -> Iterator[tuple[int, str]]:
        yield from rows(at)
        raise LookupError("no more")

    conn = await make()
    for at in (0, 1024, 1025, 2000):
        with pytest.raises(LookupError):
            await conn.executemany(PLAIN.format(table="c"), broken(at))
        assert await conn.fetchval("select count(*) from c") == 0


async def test_values_that_are_not_binary_are_executed_where_they_stand(make: Any) -> None:
    conn = await make()
    mixed: list[tuple[Any, Any]] = list(rows())
    for n in (1100, 2000, 2999):
        mixed[n] = (str(n), f"row {n}")
    assert not await is_copied(conn, PLAIN.format(table="c"), mixed)
    assert await conn.fetch("select n, s from c order by n") == rows()


class Money:
    """A value that an adapter gives the text of."""

    def __init__(self, cents: int) -> None:
        self.cents = cents


async def test_texts_of_adapters_are_not_copied(make: Any) -> None:
    conn = await make()
    conn.register_adapters(dumpers={Money: lambda value: str(value.cents)})
    batch = [(n, f"row {n}") if n < 2000 else (Money(n), f"row {n}") for n in range(ROWS)]
    assert not await is_copied(conn, PLAIN.format(table="c"), batch)
    assert await conn.fetch("select n, s from c order by n") == rows()


async def test_a_task_that_is_cancelled_leaves_nothing(make: Any, url: str) -> None:  # asyncio only
    conn = await make()
    async with await headrace.aio.connect(url, autocommit=True) as aconn:
        for at in (0.0, 0.001, 0.005, 0.02):
            task = asyncio.create_task(aconn.executemany(PLAIN.format(table="c"), rows(100_000)))
            await asyncio.sleep(at)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await aconn.fetchval("select 1") == 1
            assert await conn.fetchval("select count(*) from c") == 0


async def test_requests_of_other_tasks_keep_their_order(make: Any, url: str) -> None:  # asyncio only
    conn = await make()
    async with await headrace.aio.connect(url, autocommit=True) as aconn:
        results = await asyncio.gather(
            aconn.executemany(PLAIN.format(table="c"), rows()),
            aconn.fetchval("select count(*) from c"),
            aconn.executemany(PLAIN.format(table="c"), [(n + ROWS, s) for n, s in rows()]),
            aconn.fetchval("select count(*) from c"),
        )
    assert [results[1], results[3]] == [ROWS, 2 * ROWS]
    assert await conn.fetchval("select count(*) from c") == 2 * ROWS


COLUMNS: dict[str, list[Any]] = {
    "int": [0, -1, 2**31 - 1, 7.0, Decimal(3), True, None, 2**31, "12", "x", 1.5],
    "smallint": [0, 300, None, 40_000, Decimal("2.0")],
    "bigint not null": [1, 2**62, None],
    "real": [0.1, 1e30, 1e300, 3, Decimal("1.5"), None, float("nan")],
    "double precision": [0.1, 3, Decimal("2.25"), None, float("inf"), "1e5"],
    "numeric(8,2)": [Decimal("1.005"), 3, 0.5, Decimal("1e9"), None, "7.125"],
    "numeric": [Decimal("1.00500"), 10**40, 1.5, None],
    "varchar(5)": ["abc", "abc     ", "abcdef", "äöüßé", "", None, "a\0b", 7],
    "char(4)": ["ab", "abcd", "abcde", "abcd ", None],
    "text check (length(x) < 9)": ["abc", "x" * 9, None, "\U0001f600"],
    "boolean": [True, False, None, 1, "t"],
    "date": [dt.date(2024, 2, 29), dt.datetime(2024, 1, 2, 3, 4), "2024-01-05", None, "infinity"],
    "timestamp(0)": [dt.datetime(2024, 1, 2, 3, 4, 5, 600_000), dt.date(2024, 1, 2), None],
    "timestamptz": [dt.datetime(2024, 1, 2, tzinfo=dt.timezone.utc), dt.datetime(2024, 1, 2), None],
    "time": [dt.time(1, 2, 3), None],
    "interval day": [dt.timedelta(days=3, hours=5), None],
    "uuid": [uuid.UUID(int=5), str(uuid.UUID(int=7)), None, "x"],
    "bytea": [b"", b"\0\xff", bytearray(b"x"), None, "text"],
    "json": [{"a": 1}, [1, "x"], '{"b": 2}', "no json", None, 5],
    "jsonb": [{"a": [1, None]}, '"s"', None],
    "int[]": [[1, None, 3], [], [[1, 2], [3, 4]], ["5"], None, [2**40]],
    "text[]": [["a", 'b"c', None], [], None, "{x,y}"],
    "mood": ["sad", "glad", "angry", None],
    "even": [2, 4, 3, None],
    "int4range": [headrace.types.Range(1, 5), None, "[2,3)"],
    "bit(3)": ["101", "1", None],
    "inet": ["10.0.0.1", None, "x"],
}
"""Types, each with values that it takes and some that it does not."""
GOOD = 3
"""So many of them are mostly taken."""


@pytest.mark.parametrize("seed", range(60))
async def test_both_strategies_give_the_same_table_or_the_same_error(url: str, seed: int) -> None:
    chance = random.Random(seed)
    types = chance.choices(list(COLUMNS), k=chance.randint(1, 5))
    definitions = [f"c{i} {kind.replace('(x)', f'(c{i})')}" for i, kind in enumerate(types)]
    definitions += chance.choice(([], ["extra int default 5"], ["made int generated always as identity"]))
    tail = chance.choice(("", "", ", unique (c0)")) if types[0] != "json" else ""
    size = chance.randint(2, 900)
    wild = chance.choice((0.0, 0.0, 0.002, 0.05))
    batch = [
        tuple(chance.choice(COLUMNS[kind][: None if chance.random() < wild else GOOD]) for kind in types)
        for _ in range(size)
    ]
    if chance.random() < 0.1:
        batch[chance.randrange(size)] += (1,)
    named = chance.random() < 0.5
    columns = [f"c{i}" for i in range(len(types))]
    order = chance.sample(range(len(types)), len(types)) if named else range(len(types))
    listed = f" ({', '.join(columns[i] for i in order)})" if named else ""
    sql = f"insert into w.t{listed} values ({', '.join(['%s'] * len(types))})"
    alone = chance.random() < 0.6
    given = [tuple(row[i] for i in order if i < len(row)) + row[len(types) :] for row in batch]
    found = []
    for strategy in ("pipelined", "copy"):
        async with await headrace.aio.connect(url, autocommit=True, batch_strategy=strategy) as conn:
            await conn.executescript(
                "drop schema if exists w cascade; create schema w; create type w.mood as enum ('sad', 'glad', 'so so');"
                "create domain w.even as int check (value % 2 = 0); set search_path = w, public"
            )
            await conn.execute(f"create table w.t ({', '.join(definitions)}{tail})")
            await conn.set_autocommit(alone)
            if not alone:
                await conn.execute("select 1")
            try:
                outcome: Any = (await conn.executemany(sql, given)).rowcount
            except errors.Error as error:
                outcome = type(error), getattr(error, "sqlstate", None), error.row  # type: ignore[attr-defined]
                await conn.rollback()
            else:
                await conn.commit()
            found.append((outcome, sorted(await conn.fetch("select t::text from w.t t"))))
    assert_alike(found, (definitions, sql))
