"""Statements, results, rows."""

# Made by tools/async_to_sync.py of test_statements_async.py: edit that file, and run the tool.

from __future__ import annotations

import dataclasses
import datetime
import decimal
from typing import Any

import pytest

import headrace
from headrace import errors, rows

Conn = headrace.Connection[Any]


def test_all_parameter_styles(conn: Conn) -> None:
    assert conn.execute("select %s, %s", (1, "a")).fetchone() == (1, "a")
    assert conn.execute("select %(b)s, %(a)s, %(b)s", {"a": 1, "b": "x"}).fetchone() == ("x", 1, "x")
    assert conn.execute("select $1::int + $2", (1, 2)).fetchone() == (3,)
    assert conn.execute("select 5 %% %s", (3,)).fetchone() == (2,)
    assert conn.execute("select 5 % 3").fetchone() == (2,)
    assert conn.execute("select '100%'").fetchone() == ("100%",)


def test_fetching_in_every_way(conn: Conn) -> None:
    cursor = conn.execute("select g from generate_series(1, 10) g")
    assert cursor.rowcount == 10
    assert cursor.fetchone() == (1,)
    assert cursor.fetchmany() == [(2,)]
    assert cursor.fetchmany(3) == [(3,), (4,), (5,)]
    assert next(cursor) == (6,)
    assert list(cursor) == [(7,), (8,), (9,), (10,)]
    assert cursor.fetchone() is None
    assert cursor.fetchall() == []


def test_description_tells_names_and_types(conn: Conn) -> None:
    cursor = conn.execute("select 1 as n, 'x'::varchar(9) as t, 1.5::numeric(10,2) as d, now() as w, ''::bytea as b")
    description = cursor.description
    assert description is not None
    assert [column[0] for column in description] == ["n", "t", "d", "w", "b"]
    pg = headrace.postgres
    assert [column[1] for column in description] == [pg.NUMBER, pg.STRING, pg.NUMBER, pg.DATETIME, pg.BINARY]
    assert description[2][1] == "numeric(10,2)"
    assert description[2][4:6] == (10, 2)
    assert description[1][3] == 9
    assert conn.execute("create temp table x ()").description is None


def test_status_message_and_rowcount(conn: Conn) -> None:
    cursor = conn.execute("create temp table s (n int)")
    assert (cursor.statusmessage, cursor.rowcount) == ("CREATE TABLE", -1)
    cursor.execute("insert into s select generate_series(1, 5)")
    assert (cursor.statusmessage, cursor.rowcount) == ("INSERT 0 5", 5)
    with pytest.raises(errors.ProgrammingError, match="no result"):
        cursor.fetchone()


def test_scripts_have_a_result_per_statement(conn: Conn) -> None:
    cursor = conn.executescript("select 1; select 'a', 2.5; create temp table q (i int); select null")
    assert cursor.fetchall() == [(1,)]
    assert cursor.nextset()
    row = cursor.fetchone()
    assert row is not None
    assert row[0] == "a"
    assert str(row[1]) == "2.5"
    assert cursor.nextset()
    assert cursor.description is None
    assert cursor.nextset()
    assert cursor.fetchall() == [(None,)]
    assert cursor.nextset() is None


@dataclasses.dataclass
class User:
    id: int
    name: str


def test_row_factories(conn: Conn) -> None:
    sql = "select 1 as id, 'ann' as name"
    assert conn.cursor(row_factory=rows.dict_row).execute(sql).fetchall() == [{"id": 1, "name": "ann"}]
    assert conn.cursor(row_factory=rows.class_row(User)).execute(sql).fetchone() == User(1, "ann")
    assert conn.cursor(row_factory=rows.namedtuple_row).execute(sql).fetchone().name == "ann"
    assert conn.cursor(row_factory=rows.scalar_row).execute(sql).fetchall() == [1]
    with pytest.raises(errors.ProgrammingError, match="unknown extra"):
        conn.cursor(row_factory=rows.class_row(User)).execute("select 1 as id, 'a' as name, 2 as extra")


def test_callproc(conn: Conn) -> None:
    conn.execute("create function pg_temp.twice(n int) returns int language sql as 'select n * 2'")
    cursor = conn.cursor()
    assert cursor.callproc("lower", ("ABC",)) == ("ABC",)
    assert cursor.fetchone() == ("abc",)


def test_a_schema_change_does_not_break_a_prepared_statement(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        conn.execute("create table changing (a int)")
        conn.execute("insert into changing values (1)")
        assert conn.execute("select * from changing").fetchall() == [(1,)]
        conn.execute("alter table changing add b text default 'new'")
        assert conn.execute("select * from changing").fetchall() == [(1, "new")]
        conn.execute("deallocate all")
        assert conn.execute("select * from changing").fetchall() == [(1, "new")]
        conn.executescript("discard all")
        assert conn.execute("select * from changing").fetchall() == [(1, "new")]


def test_the_statement_cache_is_bounded(url: str) -> None:
    with headrace.connect(url, autocommit=True, statement_cache_size=5) as conn:
        for i in range(20):
            assert conn.fetchval(f"select {i}") == i
        assert conn.fetchval("select count(*) from pg_prepared_statements") <= 6


def test_without_named_statements_nothing_stays_prepared(url: str) -> None:
    with headrace.connect(url, autocommit=True, prepared=False) as conn:
        for i in range(5):
            assert conn.fetchval("select $1::int", i) == i
        conn.executemany("select $1::int", [(1,), (2,)])
        assert conn.fetchval("select count(*) from pg_prepared_statements") == 0


def test_a_timeout_cancels_and_leaves_the_connection_usable(conn: Conn) -> None:
    with pytest.raises(TimeoutError):
        conn.execute("select pg_sleep(30)", timeout=0.2)
    conn.rollback()
    assert conn.fetchval("select 1") == 1


def test_timings_count_when_they_are_on(url: str) -> None:
    with headrace.connect(url, enable_timing=True) as conn:
        conn.execute("select 1").fetchall()
        counted = conn.timings()
        assert counted["connect"]["count"] == 1
        assert counted["execute"]["count"] == 1
        assert counted["execute"]["ns"] > 0
        assert counted["fetch"]["count"] == 1
        conn.reset_timings()
        assert conn.timings()["execute"]["count"] == 0


def test_notices_reach_their_handler(conn: Conn) -> None:
    seen: list[str] = []
    conn.add_notice_handler(lambda notice: seen.append(f"{notice.severity} {notice.message}"))
    conn.execute("do $$ begin raise notice 'hello'; end $$")
    assert seen == ["NOTICE hello"]


def test_a_schema_change_before_a_transactions_first_statement_is_not_seen(url: str) -> None:
    with headrace.connect(url) as conn, headrace.connect(url, autocommit=True) as other:
        other.execute("create table shifting (a int)")
        assert conn.execute("select * from shifting").fetchall() == []
        conn.commit()
        other.execute("alter table shifting add b int")
        assert conn.execute("insert into shifting values (1, 2) returning *").fetchall() == [(1, 2)]
        assert conn.transaction_status == headrace.types.TransactionStatus.INTRANS
        conn.commit()
        assert conn.execute("select * from shifting").fetchall() == [(1, 2)]
        # In the middle of a transaction only its owner can repeat it.
        other_change = "alter table shifting add c int"
        conn.commit()
        conn.execute("select 1")
        other.execute(other_change)
        with pytest.raises(errors.FeatureNotSupported):
            conn.execute("select * from shifting")
        conn.rollback()
        assert conn.execute("select * from shifting").fetchall() == [(1, 2, None)]


def test_parameters_follow_a_table_that_has_changed(conn: Conn) -> None:
    insert, batch = "insert into mutable values ($1)", "insert into mutable values (%s)"
    conn.autocommit = True
    conn.execute("create table mutable (v int)")
    conn.execute(insert, (1,))
    assert conn.executemany(batch, [(2,), (3,)]).rowcount == 2
    with pytest.raises(errors.ProgrammingError, match="cannot be sent as int4"):
        conn.execute(insert, (1.5,))
    with pytest.raises(errors.DataError, match="invalid input syntax"):
        conn.execute(insert, ("text",))
    conn.execute(insert, (4,))
    conn.execute("alter table mutable alter v type text")
    conn.execute(insert, ("five",))
    assert conn.executemany(batch, [("six",), ("seven",)]).rowcount == 2
    conn.execute("drop table mutable")
    conn.execute("create table mutable (v date)")
    conn.execute(insert, (datetime.date(2020, 1, 1),))
    conn.execute("alter table mutable alter v type numeric using 0")
    conn.executemany(batch, [(decimal.Decimal("1.5"),)])
    assert conn.fetchval("select sum(v) from mutable") == decimal.Decimal("1.5")
    conn.execute("drop table mutable")


@pytest.mark.parametrize("prepared", [True, False])
def test_more_parameters_than_the_protocol_can_count_are_refused(url: str, prepared: bool) -> None:
    most = 65_535
    with headrace.connect(url, prepared=prepared) as conn:
        for given in (most, most + 1, 3 * most):
            query = f"select * from (values {', '.join(['(%s::int)'] * given)}) t(n) order by n desc limit 1"
            if given == most:
                assert conn.fetchval(query, *range(given)) == given - 1
                continue
            with pytest.raises(errors.ProgrammingError, match=f"takes {most} parameters .* but {given} were given"):
                conn.execute(query, range(given))
            with conn.pipeline():
                before = conn.execute("select 1")
                with pytest.raises(errors.ProgrammingError, match="were given"):
                    conn.execute(query, list(range(given))).fetchone()
                behind = conn.execute("select 2")
            assert (before.fetchone(), behind.fetchone()) == ((1,), (2,))
