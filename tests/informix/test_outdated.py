"""Statements that are kept, and tables that have changed since: they are prepared again, batches too, whichever session
changed the table; nothing fails for ever, and a batch is applied once."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

import headrace.aio.informix
import headrace.informix
from headrace.testing import InformixServer, informix
from headrace.types import Interval

DAYS = datetime.timedelta(days=45, hours=17)
CHANGES = [
    ("int", 1, "varchar(20)", "one"),
    ("varchar(20)", "one", "interval day to hour", DAYS),
    ("datetime month to day", "02-29", "datetime minute to second", "59:58"),
    ("datetime minute to second", "59:58", "interval year to month", Interval(months=-7)),
    ("date", datetime.date(2024, 2, 29), "decimal(8,2)", Decimal("12.50")),
    ("boolean", True, "int", 5),
    ("set(int not null)", "SET{1}", "varchar(20)", "one"),
]


@pytest.fixture(scope="module", params=["logged", "ansi", "unlogged"])
def moded(request: pytest.FixtureRequest) -> Iterator[InformixServer]:
    """A test server with a database of each kind."""
    with informix(mode=request.param) as running:
        yield running


def redefined(conn: headrace.informix.Connection[Any], table: str, kind: str) -> None:
    """Creates the table again, with a column of this type."""
    conn.execute(f"drop table if exists {table}")
    conn.execute(f"create table {table} (v {kind})")
    if not conn.autocommit:
        conn.commit()


@pytest.mark.parametrize("by_itself", [True, False], ids=["own", "elsewhere"])
@pytest.mark.parametrize("autocommit", [True, False], ids=["autocommit", "transaction"])
def test_batch_is_applied_once_to_a_table_created_again(
    moded: InformixServer, table: str, autocommit: bool, by_itself: bool
) -> None:
    with (
        headrace.informix.connect(**moded.parameters(), autocommit=autocommit) as conn,
        headrace.informix.connect(**moded.parameters(), autocommit=True) as other,
    ):
        insert = f"insert into {table} values (?)"
        for before, first, after, second in CHANGES:
            for kind, value in ((before, first), (after, second)):
                redefined(conn if by_itself else other, table, kind)
                values = [(value,), (None,), (value,)]
                try:
                    assert conn.executemany(insert, values).rowcount == 3
                except headrace.informix.DataError:
                    # Without a log nothing is undone, so nothing is repeated: the second time it is prepared again.
                    assert not by_itself
                    assert conn.logging == "none"
                    conn.executemany(insert, values)
                rows = [row for (row,) in conn.fetch(f"select v from {table}")]
                assert rows.count(value) == 2
                assert rows.count(None) == 1
                conn.commit()


def test_batch_of_a_generator_follows_own_definitions(conn: headrace.informix.Connection[Any], table: str) -> None:
    for kind, value in (("int", 1), ("varchar(20)", "one"), ("int", 2)):
        redefined(conn, table, kind)
        conn.executemany(f"insert into {table} values (?)", ((value,) for _ in range(3)))
        assert conn.fetch(f"select v from {table}") == [(value,)] * 3
        conn.commit()


def test_definitions_that_are_rolled_back_are_followed(conn: headrace.informix.Connection[Any], table: str) -> None:
    redefined(conn, table, "interval day to hour")
    insert = f"insert into {table} values (?)"
    conn.execute(insert, (DAYS,))
    conn.commit()
    conn.execute(f"drop table {table}")
    conn.execute(f"create table {table} (v varchar(20))")
    conn.execute(insert, ("one",))
    conn.rollback()
    conn.execute(insert, (DAYS,))
    conn.executemany(insert, ((value,) for value in (DAYS, DAYS)))
    assert conn.fetch(f"select v from {table}") == [(DAYS,)] * 4


@pytest.mark.parametrize(("before", "first", "after", "second"), CHANGES)
def test_parameter_follows_the_type_of_its_column(
    conn: headrace.informix.Connection[Any], table: str, before: str, first: Any, after: str, second: Any
) -> None:
    statements = [f"insert into {table} values (?)", f"select count(*) from {table} where v = ?"]
    for kind, value in ((before, first), (after, second), (before, first)):
        redefined(conn, table, kind)
        conn.execute(statements[0], (value,))
        assert conn.fetchval(statements[1], value) == 1
        conn.commit()


def test_parameter_of_a_column_changed_elsewhere_fails_at_most_once(ifx: InformixServer, table: str) -> None:
    insert = f"insert into {table} values (?)"
    with (
        headrace.informix.connect(**ifx.parameters(), autocommit=True) as conn,
        headrace.informix.connect(**ifx.parameters(), autocommit=True) as other,
    ):
        redefined(other, table, "datetime minute to second")
        conn.execute(insert, ("59:58",))
        redefined(other, table, "interval day to hour")
        try:
            conn.execute(insert, (DAYS,))
        except headrace.informix.DataError:
            conn.execute(insert, (DAYS,))
        assert conn.fetch(f"select v from {table}") == [(DAYS,)]


async def test_batch_on_a_loop_is_applied_once_to_a_table_created_again(ifx: InformixServer, table: str) -> None:
    insert = f"insert into {table} values (?)"
    async with await headrace.aio.informix.connect(**ifx.parameters(), autocommit=True) as conn:
        with headrace.informix.connect(**ifx.parameters(), autocommit=True) as other:
            for before, first, after, second in CHANGES:
                for kind, value in ((before, first), (after, second)):
                    redefined(other, table, kind)
                    await conn.executemany(insert, [(value,), (value,)])
                    assert await conn.fetch(f"select v from {table}") == [(value,)] * 2
