"""Batches of INSERTs with expressions or ON CONFLICT that go on in statements of many rows: only the time they take and
the last command's tag show it."""

from __future__ import annotations

import asyncio
import datetime as dt
import random
from collections.abc import AsyncIterator, Callable
from decimal import Decimal
from typing import Any

import pytest

import headrace
import headrace.aio
from headrace import errors
from strategies import assert_alike

MANY = 100
"""Rows of a statement of many."""
ROWS = 1 + 3 * MANY
"""The first one by itself, then three statements."""
UPSERT = "insert into c values (%s, %s) on conflict (n) do update set s = excluded.s"
Make = Callable[..., Any]


@pytest.fixture
async def make(url: str) -> AsyncIterator[Make]:
    """Opens connections in autocommit that join rows after the first; the table ``c`` is empty."""
    opened = []

    async def connect(**settings: Any) -> headrace.aio.Connection[Any]:
        conn = await headrace.aio.connect(url, **{"autocommit": True, "batch_strategy": "joined", **settings})
        opened.append(conn)
        return conn

    conn = await connect()
    await conn.executescript("drop table if exists c cascade; create table c (n int primary key, s varchar(20))")
    yield connect
    for conn in opened:
        await conn.close()


def rows(size: int = ROWS) -> list[tuple[int, str]]:
    return [(i, f"row {i}") for i in range(size)]


async def is_joined(conn: headrace.aio.Connection[Any], sql: str, given: Any = None) -> bool:
    """Executes a batch of ROWS rows, and returns true if the end of it was one statement."""
    cursor = await conn.executemany(sql, rows() if given is None else given)
    assert cursor.rowcount == ROWS
    return cursor.statusmessage == f"INSERT 0 {MANY}"


async def test_rows_are_joined_once_there_are_enough(make: Make) -> None:
    conn = await make(batch_strategy="auto")
    size = 5000 + MANY + 1
    cursor = await conn.executemany(UPSERT, rows(size))
    assert (cursor.rowcount, cursor.statusmessage) == (size, f"INSERT 0 {MANY}")
    assert await conn.fetch("select n, s from c order by n") == rows(size)
    cursor = await conn.executemany(UPSERT, [(n, s.upper()) for n, s in rows(size + 7)])
    assert (cursor.rowcount, cursor.statusmessage) == (size + 7, "INSERT 0 1")
    assert await conn.fetch("select n, lower(s) from c order by n") == rows(size + 7)
    assert await conn.fetchval("select count(*) from c where s = upper(s)") == size + 7
    conn = await make(batch_strategy="pipelined")
    assert (await conn.executemany(UPSERT, rows(size))).statusmessage == "INSERT 0 1"


@pytest.mark.parametrize("given", [iter, lambda made: (row for row in made)], ids=["iter", "rows"])
async def test_rows_that_cannot_be_read_again_are_executed(make: Make, given: Any) -> None:
    conn = await make()
    assert not await is_joined(conn, UPSERT, given(rows()))
    assert await conn.fetch("select n, s from c order by n") == rows()


FUNCTION = "create function f(t text) returns text {} language sql as 'select lower(t)';"
EXPRESSION = "insert into t values (%s, f(%s))"


@pytest.mark.parametrize(
    ("setup", "sql", "joined"),
    [
        ("", "insert into t values (%s, %s)", True),
        ("", "insert into t (b, a) values (lower(%s), %s)", True),
        ("", "insert into t values (%s, coalesce(%s, 'none')) on conflict do nothing", True),
        ("", "insert into t values (%s, case when 1 > 0 then %s::text end);", True),
        ("alter table t add primary key (a)",
         "insert into t values (%s, %s) on conflict (a) do update set b = t.b || excluded.b", True),
        ("alter table t add c timestamptz", "insert into t values (%s, %s, now())", True),
        ("alter table t add c uuid", "insert into t values (%s, %s, gen_random_uuid())", True),
        ("alter table t add c int default 7", "insert into t values (%s, %s, default)", True),
        (FUNCTION.format("immutable"), EXPRESSION, True),
        (FUNCTION.format("stable"), EXPRESSION, False),
        (FUNCTION.format("volatile"), EXPRESSION, False),
        ("create function f(a text, b text) returns text stable language sql as 'select lower(a || b)';"
         "create operator <<<< (leftarg = text, rightarg = text, function = f)",
         "insert into t values (%s, %s <<<< '')", False),
        ("create domain d as text check (length(value) < 99)", "insert into t values (%s, %s::d)", False),
        ("create sequence q; alter table t add c int", "insert into t values (%s, %s, nextval('q'))", False),
        ("alter table t add c timestamptz", "insert into t values (%s, %s, statement_timestamp())", False),
        ("", "insert into t values (%s, (select %s::text))", False),
        ("", "insert into t values (%s, %s) returning a", False),
        ("alter table t add primary key (a)",
         "insert into t values ($1, $2) on conflict (a) do update set b = $2", False),
        ("create function g() returns trigger language plpgsql as 'begin return new; end';"
         "create trigger g before insert on t for each row execute function g()",
         "insert into t values (%s, lower(%s))", True),
        ("create function g() returns trigger language plpgsql as 'begin return null; end';"
         "create trigger g after update on t for each statement execute function g()",
         "insert into t values (%s, lower(%s))", True),
        ("create function g() returns trigger language plpgsql as 'begin return null; end';"
         "create trigger g after update on t for each statement execute function g()",
         "insert into t values (%s, %s) on conflict do nothing", False),
        ("create table u (a int primary key); insert into u select generate_series(0, 5000);"
         "alter table t add foreign key (a) references u", "insert into t values (%s, lower(%s))", False),
        ("create rule r as on insert to t do also select 1", "insert into t values (%s, lower(%s))", False),
        ("set statement_timeout = '1min'", "insert into t values (%s, lower(%s))", False),
    ],
)  # fmt: skip
async def test_what_is_joined(make: Make, setup: str, sql: str, joined: bool) -> None:
    conn = await make()
    await conn.executescript("drop schema if exists w cascade; create schema w; set search_path = w")
    await conn.executescript("create table t (a int, b text);" + setup)
    given = [(s, n) for n, s in rows()] if "(b, a)" in sql else rows()
    assert await is_joined(conn, sql, given) == joined
    assert await conn.fetch("select a, b from t order by a") == rows()


STATES = ["alone", "first", "within"]
"""In autocommit, as the first statement of a transaction, after another one."""


async def in_state(make: Make, state: str) -> headrace.aio.Connection[Any]:
    conn: headrace.aio.Connection[Any] = await make(autocommit=state == "alone")
    if state == "within":
        await conn.execute("insert into c values (-1, 'before')")
    return conn


@pytest.mark.parametrize("state", STATES)
async def test_a_row_that_is_updated_twice_is_so(make: Make, state: str) -> None:
    conn = await in_state(make, state)
    given = [*rows(150), (149, "again"), *rows(ROWS)[150:], (7, "at last")]
    assert (await conn.executemany(UPSERT, given)).rowcount == len(given)
    await conn.commit()
    found = dict(await conn.fetch("select n, s from c where n >= 0"))
    assert found == {**dict(rows()), 149: "again", 7: "at last"}
    assert await conn.fetchval("select count(*) from c where n = -1") == (state == "within")
    # It is not tried again.
    assert not await is_joined(conn, UPSERT)


@pytest.mark.parametrize("state", STATES)
async def test_of_equal_rows_the_first_is_inserted(make: Make, state: str) -> None:
    conn = await in_state(make, state)
    given = [(n // 2, f"row {n}") for n in range(ROWS)]
    sql = "insert into c values (%s, lower(%s)) on conflict do nothing"
    assert (await conn.executemany(sql, given)).rowcount == 151
    assert await conn.fetch("select n, s from c where n >= 0 order by n") == [(n, f"row {2 * n}") for n in range(151)]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("bad", [0, 1, 100, 101, 250, ROWS - 1])
async def test_a_row_that_fails_is_named_and_nothing_stays(make: Make, state: str, bad: int) -> None:
    for value, error in ((-7, errors.UniqueViolation), (2**40, errors.DataError), ("x", errors.DataError)):
        await (await make()).execute("insert into c values (-7, 'there')")
        conn = await in_state(make, state)
        made: list[tuple[Any, str]] = [*rows()]
        made[bad] = (value, "bad")
        with pytest.raises(error) as caught:
            await conn.executemany("insert into c values (%s, lower(%s))", made)
        assert caught.value.row == bad  # type: ignore[attr-defined]
        if state != "alone" and bad > 0:
            with pytest.raises(errors.InFailedSqlTransaction):
                await conn.execute("select 1")
        await conn.rollback()
        assert await conn.fetchval("select count(*) from c where n <> -7") == 0
        await conn.execute("truncate c")
        await conn.commit()


async def test_a_row_with_too_few_values_is_named_after_those_that_the_server_refuses(make: Make) -> None:
    conn = await make()
    for earlier, row in ((None, 290), (280, 280)):
        made: list[Any] = rows()
        made[290] = (1,)
        if earlier:
            made[earlier] = (5, "again")
        with pytest.raises(errors.Error) as caught:
            await conn.executemany("insert into c values (%s, lower(%s))", made)
        assert caught.value.row == row  # type: ignore[attr-defined]
        assert await conn.fetchval("select count(*) from c") == 0


async def test_the_savepoint_is_gone_afterwards(make: Make) -> None:
    conn = await in_state(make, "within")
    assert await is_joined(conn, UPSERT)
    with pytest.raises(errors.Error) as caught:
        await conn.execute("rollback to savepoint headrace_batch")
    assert caught.value.sqlstate == "3B001"  # type: ignore[attr-defined]


async def test_within_blocks_each_undoes_its_own(make: Make) -> None:
    conn = await make()
    async with conn.transaction():
        await conn.execute("insert into c values (-1, 'before')")
        with pytest.raises(errors.UniqueViolation) as caught:
            async with conn.transaction():
                await conn.executemany("insert into c values (%s, lower(%s))", [*rows(), (5, "again")])
        assert caught.value.row == ROWS  # type: ignore[attr-defined]
        assert await is_joined(conn, UPSERT)
    assert await conn.fetchval("select count(*) from c") == ROWS + 1


async def test_rows_are_seen_and_numbered_in_their_order(make: Make) -> None:
    conn = await make()
    await conn.executescript(
        "drop table if exists k; create table k (id serial, n int, seen bigint, s text);"
        "create or replace function see() returns trigger language plpgsql as "
        "'begin select count(*) into new.seen from k; return new; end';"
        "create trigger g before insert on k for each row execute function see()"
    )
    given = [(s, n) for n, s in rows()]
    assert await is_joined(conn, "insert into k (s, n) values (upper(%s), %s)", given)
    assert await conn.fetch("select id, n, seen from k order by id") == [(n + 1, n, n) for n in range(ROWS)]


async def test_values_keep_the_types_of_the_statement_of_one_row(make: Make) -> None:
    conn = await make()
    found = []
    for strategy in ("pipelined", "joined"):
        conn = await make(batch_strategy=strategy)
        await conn.executescript(
            "drop table if exists k; create table k (a smallint, b varchar(5), c numeric(8, 2), d text, e int[], "
            "f date, g text, h jsonb)"
        )
        given = [
            {
                "a": n % 99,
                "b": None if n % 3 else "äbc  ",
                "c": Decimal(n) / 7,
                "d": None if n < 2 else n * 10**7,
                "e": [n, None],
                "f": dt.date(2024, 1, 1) + dt.timedelta(n),
                "g": f"{n:03}",
                "h": {"n": n},
            }
            for n in range(ROWS)
        ]
        sql = (
            "insert into k values (%(a)s, %(b)s, %(c)s + %(a)s, pg_typeof(coalesce(%(d)s, 5))::text, "
            "%(e)s || %(a)s::int, %(f)s + 1, %(g)s || %(g)s, %(h)s)"
        )
        assert (await conn.executemany(sql, given)).rowcount == ROWS
        found.append(await conn.fetch("select * from k order by g"))
    assert found[0] == found[1]


async def test_large_rows_are_executed(make: Make) -> None:
    conn = await make()
    await conn.execute("alter table c alter s type text")
    given = [(n, f"{n}" * 5000) for n in range(ROWS)]
    assert not await is_joined(conn, UPSERT, given)
    assert await conn.fetch("select n, s from c order by n") == given


class Money:
    """A value that an adapter gives the text of."""

    def __init__(self, cents: int) -> None:
        self.cents = cents


async def test_texts_of_adapters_are_joined(make: Make) -> None:
    conn = await make()
    conn.register_adapters(dumpers={Money: lambda value: str(value.cents)})
    given = [(Money(n) if n % 2 else n, s) for n, s in rows()]
    assert (await conn.executemany(UPSERT, given)).rowcount == ROWS
    assert await conn.fetch("select n, s from c order by n") == rows()


async def test_a_task_that_is_cancelled_leaves_nothing(make: Make) -> None:  # asyncio only
    other = await make()
    conn = await make(batch_strategy="auto")
    for at in (0.0, 0.001, 0.005, 0.02):
        task = asyncio.create_task(conn.executemany(UPSERT, rows(100_000)))
        await asyncio.sleep(at)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await conn.fetchval("select 1") == 1
        assert await other.fetchval("select count(*) from c") == 0


async def test_requests_of_other_tasks_keep_their_order(make: Make) -> None:  # asyncio only
    conn = await make()
    results = await asyncio.gather(
        conn.executemany(UPSERT, [*rows(), (1, "again")]),
        conn.fetchval("select count(*) from c"),
        conn.executemany("insert into c values (%s, lower(%s))", [(n + ROWS, s) for n, s in rows()]),
        conn.fetchval("select count(*) from c"),
    )
    assert [results[1], results[3]] == [ROWS, 2 * ROWS]


COLUMNS: dict[str, list[Any]] = {
    "int": [0, -1, 5, 6, 7.0, 8, 9, 10, 11, True, None, 2**31, "12", "x"],
    "bigint not null": [1, 2, 3, 4, 5, 6, 2**62, None],
    "numeric(8,2)": [Decimal("1.005"), 3, 4, 5, 6, 0.5, Decimal("1e9"), None, "7.125"],
    "varchar(5)": ["abc", "abc     ", "x", "y", "z", "äöüßé", "abcdef", None, "a\0b"],
    "text": ["abc", "A", "b", "C", "d", "", None, "\U0001f600"],
    "boolean": [True, False, None, 1, "t"],
    "date": [dt.date(2024, 2, 29), "2024-01-05", None, dt.datetime(2024, 1, 2, 3, 4), "no"],
    "int[]": [[1, None, 3], [], None, ["5"], [2**40]],
    "jsonb": [{"a": [1, None]}, '"s"', None, "no json"],
}
"""Types, each with values that it takes and, at the end, some that it does not."""
AROUND: dict[str, list[str]] = {
    "int": ["{} + 1", "coalesce({}, 7)", "({})", "greatest({}, 3)", "{}::bigint"],
    "numeric(8,2)": ["{} * 2", "round({}::numeric, 1)", "1000000 / ({}::numeric - 5)"],
    "varchar(5)": ["lower({})", "{} || ''", "left({}, 3)", "{}::varchar(3)", "nullif({}, 'x')"],
    "text": ["upper({})", "{}::text", "concat({}, 'b')", "case when {} = 'A' then 'x' end"],
    "date": ["{}::date + 1", "least({}::date, now()::date)"],
}


@pytest.mark.parametrize("seed", range(80))
async def test_both_strategies_give_the_same_table_or_the_same_error(url: str, seed: int) -> None:
    chance = random.Random(seed)
    types = ["int" if chance.random() < 0.7 else "text", *chance.choices(list(COLUMNS), k=chance.randint(1, 3))]
    definitions = [f"c{i} {kind}" for i, kind in enumerate(types)] + chance.choice(([], ["extra int default 5"]))
    keyed = chance.random() < 0.8
    size = chance.randint(2, 500)
    wild = chance.choice((0.0, 0.0, 0.0, 0.002, 0.05))
    batch = []
    for n in range(size):
        values = [chance.choice(COLUMNS[kind][: None if chance.random() < wild else 2]) for kind in types]
        if chance.random() >= wild:
            number = n if chance.random() < chance.choice((1, 1, 0.99)) else chance.randrange(n + 1)
            values[0] = number if types[0] == "int" else str(number)
        batch.append(tuple(values))
    if chance.random() < 0.1:
        batch[chance.randrange(size)] += (1,)
    marks = [
        chance.choice(AROUND.get(kind, ["{}"])).format("%s") if i and chance.random() < 0.5 else "%s"
        for i, kind in enumerate(types)
    ]
    tails = ["", " on conflict do nothing"]
    if keyed:
        tails += [f" on conflict (c0) do update set c1 = {new}" for new in ("excluded.c1", "t.c1", "default")]
        tails += [" on conflict (c0) do update set c1 = excluded.c1 where t.c1 is distinct from excluded.c1"]
    marks += ["default"] * (len(definitions) - len(types))
    sql = f"insert into w.t values ({', '.join(marks)}){chance.choice(tails)}"
    state = chance.choice(STATES)
    found = []
    for strategy in ("pipelined", "joined"):
        async with await headrace.aio.connect(url, autocommit=True, batch_strategy=strategy) as conn:
            await conn.executescript("drop schema if exists w cascade; create schema w; set search_path = w, public")
            await conn.execute(f"create table w.t ({', '.join(definitions)}{', unique (c0)' * keyed})")
            await conn.set_autocommit(state == "alone")
            if state == "within":
                await conn.execute("select 1")
            try:
                outcome: Any = (await conn.executemany(sql, batch)).rowcount
            except errors.Error as error:
                outcome = type(error), getattr(error, "sqlstate", None), error.row  # type: ignore[attr-defined]
                await conn.rollback()
            else:
                await conn.commit()
            found.append((outcome, sorted(await conn.fetch("select t::text from w.t t"))))
    assert_alike(found, (definitions, sql))
