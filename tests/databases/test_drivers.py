"""What every driver promises, on MariaDB, MySQL, and the servers of Informix and CUBRID."""

# Made by tools/async_to_sync.py of test_drivers_async.py: edit that file, and run the tool.

from __future__ import annotations

import itertools
import re
import socket
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

import headrace
from headrace import errors
from headrace.rows import dict_row, namedtuple_row
from headrace.types import TransactionStatus
from servers import Database, PostgreSQL, names
from waiting import gather

SOON = 5.0
"""Seconds within which a cancelled statement has ended; it would run for far longer."""


def rows_of(conn: Any) -> list[tuple[Any, ...]]:
    return conn.fetch("select id, name from t order by id")  # type: ignore[no-any-return]


def test_parameters_in_every_style(db: Database, conn: Any) -> None:
    conn.execute("insert into t values (?, ?)", (1, "Ünï"))
    styles: list[tuple[str, Any]] = [("id = ? and name = ?", (1, "Ünï"))]
    if not db.colon_parameters:
        styles += [("id = %s and name = %s", (1, "Ünï")), ("id = %(i)s and name = %(n)s", {"n": "Ünï", "i": 1})]
        styles += [("id = %(i)s and id = %(i)s and 10 %% 3 = 1", {"i": 1})]
    else:
        styles += [("name = :2 and id = :1", (1, "Ünï")), ("id = :1 and id = :1", (1,))]
    for where, params in styles:
        assert conn.execute(f"select id, name from t where {where}", params).fetchall() == [(1, "Ünï")]


def test_state_after_a_statement(db: Database, conn: Any) -> None:
    assert conn.execute("insert into t values (1, 'a')").rowcount == 1
    assert conn.execute("update t set name = 'b'").rowcount == 1
    cursor = conn.execute("select id, name from t")
    assert [column[0] for column in cursor.description] == ["id", "name"]
    assert cursor.description[0][1] == db.module.NUMBER
    assert cursor.description[1][1] == db.module.STRING
    assert cursor.rowcount == 1
    assert cursor.fetchone() == (1, "b")
    assert cursor.fetchone() is None
    assert conn.execute("delete from t").description is None


def test_the_value_that_the_server_made(db: Database, conn: Any) -> None:
    conn.execute("drop table if exists s")
    conn.execute(f"create table s (id {db.differences.serial} primary key, name varchar(10))")
    inserts = [("insert into s (name) values ('a')", ()), ("insert into s (name) values (?)", ("b",))]
    for value, (statement, parameters) in enumerate(inserts, 1):
        cursor = conn.execute(statement, parameters)
        assert cursor.lastrowid == value
    assert conn.execute("select * from s").lastrowid is None


def test_row_factories(conn: Any) -> None:
    conn.execute("insert into t values (1, 'a')")
    assert conn.cursor(row_factory=dict_row).execute("select id, name from t").fetchone() == {
        "id": 1,
        "name": "a",
    }
    assert (conn.cursor(row_factory=namedtuple_row).execute("select id, name from t").fetchone()).name == "a"


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize(("rows", "bad"), [(100, 0), (1000, 500), (100, 99)])
def test_a_batch_is_whole_or_not_at_all_and_the_error_names_the_row(
    conn: Any, rows: int, bad: int, inside: bool
) -> None:
    conn.execute("insert into t values (-1, 'before')")
    batch = [(n, f"row {n}") for n in range(rows)]
    batch[bad] = (-1, "duplicate")
    conn.autocommit = not inside
    if inside:
        conn.execute("insert into t values (-2, 'mine')")
    with pytest.raises(errors.UniqueViolation) as caught:
        conn.executemany("insert into t values (?, ?)", batch)
    assert caught.value.row == bad
    kept = [(-2, "mine"), (-1, "before")] if inside else [(-1, "before")]
    assert rows_of(conn) == kept
    batch[bad] = (-3, "good")
    assert conn.executemany("insert into t values (?, ?)", batch).rowcount == rows
    assert conn.fetchval("select count(*) from t") == rows + len(kept)
    if inside:
        conn.rollback()


def test_a_batch_from_an_iterator_that_fails(conn: Any) -> None:
    def rows() -> Iterator[tuple[int, str]]:
        for n in range(500):
            yield n, "x"
        raise KeyError("no more")

    with pytest.raises(KeyError):
        conn.executemany("insert into t values (?, ?)", rows())
    assert rows_of(conn) == []
    with pytest.raises(errors.Error) as caught:
        conn.executemany("insert into t values (?, ?)", [(1, "a"), (2,)])
    assert caught.value.row == 1
    assert rows_of(conn) == []


@pytest.mark.parametrize("count", [0, 1, 10_000])
def test_batches_of_any_size(conn: Any, count: int) -> None:
    assert (
        conn.executemany("insert into t values (?, ?)", ((n, "x" * (n % 40)) for n in range(count)))
    ).rowcount == count
    assert conn.fetchval("select count(*) from t") == count
    changed = conn.executemany("update t set name = ? where id = ?", [("new", n) for n in range(min(count, 100))])
    assert changed.rowcount == min(count, 100)


def test_large_results(conn: Any) -> None:
    rows = [(n, f"name {n} " + "é" * (n % 20)) for n in range(20_000)]
    conn.executemany("insert into t values (?, ?)", rows)
    assert rows_of(conn) == rows
    assert conn.fetchval("select name from t where id = ?", 19_999) == rows[-1][1]


def test_transactions(db: Database, conn: Any) -> None:
    conn.autocommit = False
    conn.execute("insert into t values (1, 'a')")
    assert conn.transaction_status is TransactionStatus.INTRANS
    with pytest.raises(errors.ProgrammingError):
        conn.autocommit = True
    conn.rollback()
    assert conn.transaction_status is TransactionStatus.IDLE
    conn.execute("insert into t values (1, 'a')")
    conn.commit()
    with db.connect() as other:
        assert rows_of(other) == [(1, "a")]
    with pytest.raises(KeyError), db.connect() as other:
        other.execute("insert into t values (2, 'b')")
        raise KeyError
    with db.connect() as other:
        other.execute("insert into t values (3, 'c')")
    assert rows_of(conn) == [(1, "a"), (3, "c")]
    conn.rollback()


def test_blocks_of_transactions(conn: Any) -> None:
    with conn.transaction():
        conn.execute("insert into t values (1, 'kept')")
        with conn.transaction(force_rollback=True):
            conn.execute("delete from t")
        with pytest.raises(errors.UniqueViolation), conn.transaction():
            conn.execute("insert into t values (2, 'gone')")
            conn.execute("insert into t values (1, 'twice')")
        with conn.transaction("named"):
            conn.execute("insert into t values (3, 'kept')")
        with conn.transaction():
            conn.execute("delete from t")
            raise headrace.Rollback
        with pytest.raises(errors.ProgrammingError):
            conn.commit()
    assert rows_of(conn) == [(1, "kept"), (3, "kept")]
    with conn.transaction():
        conn.execute("delete from t")
        raise headrace.Rollback
    assert rows_of(conn) == [(1, "kept"), (3, "kept")]


def test_pipelines(conn: Any) -> None:
    with conn.pipeline() as pipeline:
        first = conn.execute("insert into t values (1, 'a')")
        second = conn.execute("select name from t where id = ?", (1,))
        wrong = conn.execute("insert into t values (1, 'again')")
        third = conn.execute("select count(*) from t")
        assert second.fetchall() == [("a",)]
        with pytest.raises(errors.UniqueViolation):
            wrong.fetchall()
        pipeline.sync()
        assert third.fetchone() == (1,)
    assert first.rowcount == 1
    with pytest.raises(errors.UniqueViolation), conn.pipeline():
        conn.execute("insert into t values (1, 'again')")
        conn.execute("insert into t values (2, 'b')")
    assert rows_of(conn) == [(1, "a"), (2, "b")]


def test_an_overdue_statement_is_cancelled(db: Database, conn: Any) -> None:
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        conn.execute(db.slow, timeout=0.2)
    assert time.monotonic() - started < SOON
    assert conn.fetchval("select count(*) from numbers") == 1000


def test_more_statements_than_the_cache_holds(db: Database) -> None:
    with db.connect(autocommit=True, statement_cache_size=4) as conn:
        for n in itertools.chain(range(20), range(20)):
            assert conn.fetchval(f"select n + {n} from numbers where n = ?", 1) == n + 1


@pytest.mark.parametrize("db", names(but=(PostgreSQL,), notices_altered_tables=True), indirect=True)
def test_a_statement_follows_a_changed_table(db: Database, conn: Any) -> None:
    conn.execute("insert into t values (1, 'a')")
    assert conn.fetch("select * from t where id = ?", 1) == [(1, "a")]
    conn.execute("alter table t add extra int")
    assert conn.fetch("select * from t where id = ?", 1) == [(1, "a", None)]


def test_errors_have_the_servers_numbers(db: Database, conn: Any) -> None:
    for statement, kind in [
        ("select * from no_such_table", errors.UndefinedTable),
        ("select nope from t", errors.UndefinedColumn),
        ("selekt 1", errors.SyntaxError),
    ]:
        with pytest.raises(kind) as caught:
            conn.execute(statement)
        assert caught.value.sqlcode == db.codes[kind]
        assert caught.value.statement == statement
    with pytest.raises(errors.ProgrammingError):
        conn.execute("select * from t where id = ?", (1, 2))
    with pytest.raises(errors.ProgrammingError, match="NUL"):
        conn.execute("select '\0'")
    assert rows_of(conn) == []


def test_refusals(db: Database) -> None:
    with pytest.raises(errors.InvalidPassword):
        headrace.connect(db.refused_url)
    with socket.socket() as taken, pytest.raises(errors.OperationalError):
        # Held, so that no other program listens there in the meantime.
        taken.bind(("127.0.0.1", 0))
        headrace.connect(re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{taken.getsockname()[1]}", db.url))
    with pytest.raises(errors.ProgrammingError, match="did you mean"):
        db.connect(statement_cache_sise=3)


def test_a_closed_connection_says_so(db: Database) -> None:
    conn = db.connect()
    conn.close()
    conn.close()
    assert conn.closed
    for use in (lambda: conn.execute("select 1"), conn.commit):
        with pytest.raises(errors.Error, match="closed"):
            use()
    with pytest.raises(errors.Error, match="closed"):
        conn.cursor()


def test_timings(db: Database) -> None:
    with db.connect(autocommit=True, enable_timing=True) as conn:
        conn.execute("select n from numbers where n = 1").fetchall()
        timings = conn.timings()
        assert timings["connect"]["count"] == 1
        assert timings["execute"]["count"] == 1
        assert timings["fetch"]["ns"] > 0
        conn.reset_timings()
        assert conn.timings()["execute"]["count"] == 0


def test_timings_count_commits_and_not_what_commits_nothing(db: Database) -> None:
    with db.connect(autocommit=True, enable_timing=True) as conn:
        with conn.transaction(), conn.transaction():
            conn.execute("select n from numbers where n = 1")
        with conn.transaction(force_rollback=True):
            conn.execute("select n from numbers where n = 1")
        assert conn.timings()["commit"]["count"] == 1
        assert conn.timings()["commit"]["ns"] > 0
        conn.autocommit = False
        conn.execute("select n from numbers where n = 1")
        conn.commit()
        assert conn.timings()["commit"]["count"] == 2


def test_timings_count_what_fails_and_each_fetch(db: Database) -> None:
    with db.connect(autocommit=True, enable_timing=True) as conn:
        cursor = conn.execute("select n from numbers where n < 5")
        conn.reset_timings()
        cursor.fetchone()
        cursor.fetchmany(2)
        cursor.fetchall()
        with pytest.raises(errors.UndefinedColumn):
            conn.execute("select nope from numbers")
        assert {name: conn.timings()[name]["count"] for name in ("execute", "fetch")} == {"execute": 1, "fetch": 3}


def test_a_pool(db: Database) -> None:
    with headrace.ConnectionPool(db.url, min_size=1, max_size=2) as pool:
        with pool.connection() as conn:
            conn.execute("drop table if exists p")
            conn.execute("create table p (n int)")
        with pytest.raises(KeyError), pool.connection() as conn:
            conn.execute("insert into p values (1)")
            raise KeyError
        with pool.connection() as conn:
            assert conn.fetchval("select count(*) from p") == 0
            conn.execute("insert into p values (2)")
        with pool.connection() as one, pool.connection() as two:
            assert one is not two
            assert one.fetchval("select count(*) from p") == 1


def test_concurrent_calls_get_their_own_answers(conn: Any) -> None:
    conn.executemany("insert into t values (?, ?)", [(n, f"n{n}") for n in range(200)])
    asked = (partial(conn.fetchval, "select name from t where id = ?", n) for n in range(200))
    assert gather(*asked) == [f"n{n}" for n in range(200)]


def test_errors_belong_to_who_caused_them(conn: Any) -> None:
    results = gather(
        lambda: conn.fetchval("select count(*) from numbers"),
        lambda: conn.fetchval("select nope from t"),
        lambda: conn.fetchval("select max(n) from numbers"),
        return_exceptions=True,
    )
    assert results[0] == 1000
    assert isinstance(results[1], errors.UndefinedColumn)
    assert results[2] == 999


def test_rows_and_cursors(conn: Any) -> None:
    cursor = conn.executemany("insert into t values (?, ?)", [(1, "a"), (2, "b")])
    assert cursor.rowcount == 2
    cursor = conn.cursor(row_factory=dict_row)
    cursor.execute("select id, name from t order by id")
    assert list(cursor) == [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
    assert conn.fetchrow("select id from t where id = ?", 2) == (2,)


def test_blocks_and_pipelines(conn: Any) -> None:
    with conn.transaction():
        conn.execute("insert into t values (1, 'kept')")
        with conn.transaction(force_rollback=True):
            conn.execute("delete from t")
        with conn.transaction():
            conn.execute("delete from t")
            raise headrace.Rollback
    with conn.pipeline():
        first = conn.execute("select name from t")
        second = conn.execute("select count(*) from t")
    assert first.fetchall() == [("kept",)]
    assert second.fetchone() == (1,)
    conn.autocommit = False
    conn.execute("delete from t")
    conn.rollback()
    assert conn.fetchval("select count(*) from t") == 1


def test_a_pool_for_many_at_once(db: Database, conn: Any) -> None:
    with headrace.ConnectionPool(db.url, min_size=1, max_size=4) as pool:

        def one(n: int) -> Any:
            with pool.connection() as connection:
                return connection.fetchval("select n from numbers where n = ?", n)

        assert gather(*(partial(one, n) for n in range(40))) == list(range(40))
