"""What a user of headrace.informix relies on: statements, transactions, results."""

# Made by tools/async_to_sync.py of test_driver_async.py: edit that file, and run the tool.

from __future__ import annotations

from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

import pytest

import headrace.informix
from headrace import errors, testing
from headrace.rows import dict_row, namedtuple_row
from headrace.testing import InformixServer
from headrace.types import TransactionStatus
from headrace_lab.roundtrips import CountingRelay, through

Connection = headrace.informix.Connection[Any]


def connect(ifx: InformixServer, **settings: Any) -> Connection:
    return headrace.informix.connect(**{**ifx.parameters(), **settings})


def test_session_says_what_it_is(conn: Connection) -> None:
    assert "Informix" in conn.server_version
    assert conn.encoding == "ISO-8859-1"
    assert conn.logging == "logged"
    assert conn.transaction_status is TransactionStatus.IDLE
    conn.ping()


def test_insert_and_select_with_parameters(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} (a int, b varchar(20), c decimal(8,2))")
    cursor = conn.execute(f"insert into {table} values (?, ?, ?)", (1, "one", Decimal("1.50")))
    assert cursor.rowcount == 1
    assert cursor.description is None
    conn.execute(f"insert into {table} values (:1, :2, :3)", (2, "zwei", None))
    cursor = conn.execute(f"select a, b, c from {table} where a >= ? order by a", (1,))
    assert cursor.fetchone() == (1, "one", Decimal("1.50"))
    assert cursor.fetchall() == [(2, "zwei", None)]
    assert cursor.fetchone() is None
    assert cursor.rowcount == 2
    assert cursor.description is not None
    assert [column[0] for column in cursor.description] == ["a", "b", "c"]
    conn.commit()


def test_numbered_parameters_repeat_and_leave_literals_alone(conn: Connection) -> None:
    sql = "select first 1 :2::int, ':1', :1::int, :2::int, '10:30' from systables {:1} -- :1"
    assert conn.execute(sql, (1, 2)).fetchall() == [(2, ":1", 1, 2, "10:30")]


def test_fetch_helpers(conn: Connection) -> None:
    assert conn.fetchval("select first 1 tabname from systables where tabid = ?", 1) == "systables"
    assert conn.fetchrow("select tabname from systables where tabid = ?", -5) is None
    assert conn.fetch("select first 2 tabid from systables order by tabid") == [(1,), (2,)]


def test_update_and_delete_count_rows(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} (a int)")
    conn.executemany(f"insert into {table} values (?)", [(n,) for n in range(10)])
    assert conn.execute(f"update {table} set a = a + 1 where a < ?", (5,)).rowcount == 5
    assert conn.execute(f"update {table} set a = 0 where a > ?", (1000,)).rowcount == 0
    assert conn.execute(f"delete from {table} where a > ?", (5,)).rowcount == 4
    assert conn.fetchval(f"select count(*) from {table}") == 6


def test_lastrowid_is_the_serial_value(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table}_s (id serial, a int)")
    conn.execute(f"create table {table}_8 (id serial8, a int)")
    conn.execute(f"create table {table}_b (id bigserial, a int)")
    for kind in "s8b":
        values = [conn.execute(f"insert into {table}_{kind} (a) values (?)", (n,)).lastrowid for n in range(3)]
        assert values == [1, 2, 3], kind
        assert conn.execute(f"insert into {table}_{kind} values (0, 9)").lastrowid == 4
    assert conn.execute(f"select id from {table}_s order by id").lastrowid is None


def test_row_factories(conn: Connection) -> None:
    cursor = conn.cursor(row_factory=dict_row)
    assert cursor.execute("select tabid, tabname from systables where tabid = 1").fetchone() == {
        "tabid": 1,
        "tabname": "systables",
    }
    row: Any = (
        conn.cursor(row_factory=namedtuple_row).execute("select tabid from systables where tabid = 1")
    ).fetchone()
    assert row.tabid == 1


def test_statements_are_prepared_once(conn: Connection) -> None:
    for n in range(1, 4):
        assert conn.fetchval("select tabid from systables where tabid = ?", n) == n
    assert conn._core.wire.prepared_statements() == 1


def test_evicted_statements_are_released_on_the_server(ifx: InformixServer) -> None:
    with connect(ifx, statement_cache_size=3) as conn:
        for n in range(20):
            assert conn.fetchval(f"select tabid + {n} from systables where tabid = ?", 1) == n + 1
        assert conn._core.wire.prepared_statements() == 3


def test_two_results_are_read_side_by_side(conn: Connection) -> None:
    first = conn.execute("select tabid from systables where tabid <= 3 order by tabid")
    second = conn.execute("select tabid from systables where tabid <= 3 order by tabid desc")
    assert [(first.fetchone(), second.fetchone()) for _ in range(3)] == [
        ((1,), (3,)),
        ((2,), (2,)),
        ((3,), (1,)),
    ]


def test_large_results_arrive_whole(conn: Connection, table: str) -> None:
    rows = [(n, f"row {n} " + "x" * (n % 90)) for n in range(30_000)]
    conn.execute(f"create table {table} (a int, b varchar(120))")
    conn.executemany(f"insert into {table} values (?, ?)", rows)
    assert conn.fetch(f"select a, b from {table} order by a") == rows
    assert conn.fetch(f"select first 100 a, b from {table} order by a") == rows[:100]


@pytest.mark.parametrize("text", ["", " ", "a", "ab", "äöü", 'it\'s "q"', "x" * 255])
def test_text_comes_back(conn: Connection, table: str, text: str) -> None:
    conn.execute(f"create table {table} (a varchar(255), b lvarchar(300), c nvarchar(255))")
    conn.execute(f"insert into {table} values (?, ?, ?)", (text, text, text))
    assert conn.fetchrow(f"select a, b, c from {table}") == (text, text, text)


def test_text_outside_of_the_code_set_is_refused(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} (a varchar(10))")
    with pytest.raises(errors.DataError, match="code set"):
        conn.execute(f"insert into {table} values (?)", ("\N{SNOWMAN}",))
    with pytest.raises(errors.ProgrammingError, match="code set"):
        conn.execute(f"insert into {table} values ('\N{SNOWMAN}')")
    assert conn.fetchval("select count(*) from systables where tabid = 1") == 1


def test_text_that_is_too_long_is_refused_not_cut(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} (a varchar(4), b char(4), c lvarchar(4))")
    insert = f"insert into {table} values (?, ?, ?)"
    for value in [("12345", "x", "x"), ("x", "12345", "x"), ("x", "x", "12345")]:
        with pytest.raises(errors.DataError, match="does not fit"):
            conn.execute(insert, value)
        with pytest.raises(errors.DataError, match="does not fit") as caught:
            conn.executemany(insert, [("1", "2", "3"), value])
        assert getattr(caught.value, "row", None) == 1
    conn.execute(insert, ("1234", "12", "1234"))
    conn.executemany(insert, [("1234", "12", "1234")])
    assert conn.fetch(f"select a, b, c from {table}") == [("1234", "12  ", "1234")] * 2


def test_wrong_number_of_parameters(conn: Connection) -> None:
    for params in [(), (1, 2)]:
        with pytest.raises(errors.ProgrammingError, match="1 parameter"):
            conn.execute("select tabid from systables where tabid = ?", params)
    conn.ping()


@pytest.mark.parametrize(
    ("sql", "sqlcode", "isamcode", "kind"),
    [
        ("select * from nowhere", -206, -111, errors.UndefinedTable),
        ("slect 1 from systables", -201, None, errors.SyntaxError),
        ("select nothing from systables", -217, None, errors.UndefinedColumn),
        (
            "select 1 from systables where tabid = (select tabid from systables)",
            -284,
            None,
            errors.CardinalityViolation,
        ),
        ("select nosuch(1) from systables", -674, None, errors.UndefinedFunction),
        ("select 'open from systables", -282, None, errors.SyntaxError),
    ],
)
def test_errors_have_codes_and_classes(
    conn: Connection, sql: str, sqlcode: int, isamcode: int | None, kind: type[Exception]
) -> None:
    with pytest.raises(kind) as caught:
        conn.execute(sql)
    assert isinstance(caught.value, errors.Error)
    assert (caught.value.sqlcode, caught.value.isamcode, caught.value.statement) == (sqlcode, isamcode, sql)
    assert str(sqlcode) in str(caught.value)
    assert conn.fetchval("select tabname from systables where tabid = 1") == "systables"


def test_constraints(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} (a int primary key, b int not null, c int check (c > 0))")
    conn.execute(f"create table {table}_2 (a int references {table} (a))")
    conn.execute(f"insert into {table} values (1, 1, 1)")
    conn.commit()
    for sql, kind, codes in [
        (f"insert into {table} values (1, 1, 1)", errors.UniqueViolation, (-268, -239)),
        (f"insert into {table} values (2, null, 1)", errors.NotNullViolation, (-391,)),
        (f"insert into {table} values (2, 1, -1)", errors.CheckViolation, (-530,)),
        (f"insert into {table}_2 values (77)", errors.ForeignKeyViolation, (-691,)),
    ]:
        with pytest.raises(kind) as caught:
            conn.execute(sql)
        assert isinstance(caught.value, errors.Error)
        assert caught.value.sqlcode in codes, sql
    with pytest.raises(errors.DataError) as wrong:
        conn.execute(f"insert into {table}_2 values (?)", ("x",))
    assert wrong.value.sqlcode == -1213
    assert conn.fetchval(f"select count(*) from {table}") == 1


def test_offset_of_a_syntax_error(conn: Connection) -> None:
    with pytest.raises(errors.SyntaxError) as caught:
        conn.execute("select 1 frm systables wher tabid = 1")
    assert caught.value.position is not None
    assert 0 < caught.value.position <= 37


# transactions


def test_nothing_is_kept_without_commit(ifx: InformixServer, conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} (a int)")
    conn.commit()
    conn.execute(f"insert into {table} values (1)")
    assert conn.transaction_status is TransactionStatus.INTRANS
    conn.rollback()
    assert conn.transaction_status is TransactionStatus.IDLE
    conn.execute(f"insert into {table} values (2)")
    conn.commit()
    with connect(ifx) as other:
        assert other.fetch(f"select a from {table}") == [(2,)]


def test_autocommit(ifx: InformixServer, table: str) -> None:
    with connect(ifx, autocommit=True) as conn:
        conn.execute(f"create table {table} (a int)")
        conn.execute(f"insert into {table} values (1)")
        assert conn.transaction_status is TransactionStatus.IDLE
        conn.rollback()
        assert conn.fetch(f"select a from {table}") == [(1,)]
        conn.autocommit = False
        conn.execute(f"insert into {table} values (2)")
        with pytest.raises(errors.ProgrammingError, match="inside a transaction"):
            conn.autocommit = True
        conn.rollback()
        assert conn.fetch(f"select a from {table}") == [(1,)]


def test_begin_and_commit_as_sql_are_followed(ifx: InformixServer, table: str) -> None:
    with connect(ifx, autocommit=True) as conn:
        conn.execute(f"create table {table} (a int)")
        conn.execute("begin work")
        assert conn.transaction_status is TransactionStatus.INTRANS
        conn.execute(f"insert into {table} values (1)")
        conn.rollback()
        assert conn.fetchval(f"select count(*) from {table}") == 0
        conn.execute("begin work")
        conn.execute(f"insert into {table} values (1)")
        conn.execute("commit work")
        assert conn.transaction_status is TransactionStatus.IDLE
        assert conn.fetchval(f"select count(*) from {table}") == 1


def test_transaction_blocks_and_savepoints(ifx: InformixServer, table: str) -> None:
    with connect(ifx, autocommit=True) as conn:
        conn.execute(f"create table {table} (a int primary key)")
        with conn.transaction():
            conn.execute(f"insert into {table} values (1)")
            with pytest.raises(errors.IntegrityError), conn.transaction():
                conn.execute(f"insert into {table} values (2)")
                conn.execute(f"insert into {table} values (1)")
            with conn.transaction():
                conn.execute(f"insert into {table} values (3)")
            with conn.transaction():
                conn.execute(f"insert into {table} values (4)")
                raise headrace.informix.Rollback
        assert conn.transaction_status is TransactionStatus.IDLE
        assert conn.fetch(f"select a from {table} order by a") == [(1,), (3,)]
        with pytest.raises(ZeroDivisionError), conn.transaction():
            conn.execute(f"insert into {table} values (5)")
            raise ZeroDivisionError
        assert conn.fetch(f"select a from {table} order by a") == [(1,), (3,)]


def test_context_manager_commits_or_rolls_back(ifx: InformixServer, table: str) -> None:
    with connect(ifx) as conn:
        conn.execute(f"create table {table} (a int)")
        conn.execute(f"insert into {table} values (1)")
    with pytest.raises(ZeroDivisionError), connect(ifx) as conn:
        conn.execute(f"insert into {table} values (2)")
        raise ZeroDivisionError
    with connect(ifx) as conn:
        assert conn.fetch(f"select a from {table}") == [(1,)]


# batches


@pytest.mark.parametrize("autocommit", [True, False])
@pytest.mark.parametrize(("count", "bad"), [(100, 0), (1000, 500), (100, 99), (20_000, 15_000)])
def test_failed_batch_names_its_row_and_leaves_nothing(
    ifx: InformixServer, table: str, autocommit: bool, count: int, bad: int
) -> None:
    with connect(ifx, autocommit=autocommit) as conn:
        conn.execute(f"create table {table} (a int primary key, b varchar(20))")
        conn.execute(f"insert into {table} values (-1, 'there')")
        conn.commit()
        if not autocommit:
            conn.execute(f"insert into {table} values (-2, 'before')")
        rows = [(-1 if n == bad else n, f"row {n}") for n in range(count)]
        with pytest.raises(errors.UniqueViolation) as caught:
            conn.executemany(f"insert into {table} values (?, ?)", rows)
        assert caught.value.row == bad
        assert conn.fetchval(f"select count(*) from {table}") == (1 if autocommit else 2)
        assert conn.fetchval("select tabname from systables where tabid = ?", 1) == "systables"
        good = [(n, f"row {n}") for n in range(count)]
        assert conn.executemany(f"insert into {table} values (?, ?)", good).rowcount == count
        conn.commit()
        assert conn.fetchval(f"select count(*) from {table} where a >= 0") == count
    with connect(ifx) as conn:
        assert conn.fetchval(f"select count(*) from {table} where a >= 0") == count


@pytest.mark.parametrize("bad", [0, 500, 999])
def test_value_that_does_not_fit_names_its_row(conn: Connection, table: str, bad: int) -> None:
    conn.execute(f"create table {table} (a int, b varchar(5))")
    rows = [(n, "too long" if n == bad else "ok") for n in range(1000)]
    with pytest.raises(errors.DataError) as caught:
        conn.executemany(f"insert into {table} values (?, ?)", rows)
    assert caught.value.row == bad
    assert conn.fetchval(f"select count(*) from {table}") == 0


def test_iterator_that_raises_ends_the_batch(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} (a int)")

    def rows() -> Any:
        for n in range(5000):
            if n == 3000:
                raise ZeroDivisionError
            yield (n,)

    with pytest.raises(ZeroDivisionError):
        conn.executemany(f"insert into {table} values (?)", rows())
    assert conn.fetchval(f"select count(*) from {table}") == 0


def test_batch_of_updates_and_deletes(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} (a int, b int)")
    conn.executemany(f"insert into {table} values (?, 0)", [(n,) for n in range(500)])
    cursor = conn.executemany(f"update {table} set b = ? where a = ?", [(n * 2, n) for n in range(500)])
    assert cursor.rowcount == 500
    assert conn.fetchval(f"select sum(b) from {table}") == sum(range(0, 1000, 2))
    assert (conn.executemany(f"delete from {table} where a = ?", [(n,) for n in range(0, 600, 2)])).rowcount == 250


def test_empty_batch(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} (a int)")
    conn.executemany(f"insert into {table} values (?)", [])
    assert conn.fetchval(f"select count(*) from {table}") == 0


def test_batch_of_queries_is_refused(conn: Connection) -> None:
    with pytest.raises(errors.ProgrammingError, match="rows"):
        conn.executemany("select tabid from systables where tabid = ?", [(1,), (2,)])
    conn.ping()


# pipelines


def test_pipeline(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} (a int)")
    with conn.pipeline():
        for n in range(10):
            conn.execute(f"insert into {table} values (?)", (n,))
        total = conn.execute(f"select sum(a) from {table}")
        wrong = conn.execute("select * from nowhere")
        after = conn.execute(f"select count(*) from {table}")
        assert total.fetchone() == (45,)
        with pytest.raises(errors.UndefinedTable):
            wrong.fetchone()
        assert after.fetchone() == (10,)
    assert conn.fetchval(f"select count(*) from {table}") == 10


def test_queries_of_a_pipeline_share_round_trips_and_nothing_else(url: str, table: str) -> None:
    parts = urlsplit(url)
    with CountingRelay(str(parts.hostname), parts.port or 9088) as relay:
        conn = headrace.informix.connect(through(url, relay.port), autocommit=True)
        conn.execute(f"create table {table} (a int, b varchar(200), t text)")
        conn.executemany(f"insert into {table} values (?, ?, ?)", [(n, "x" * 200, f"text {n}") for n in range(1000)])
        few, long = f"select a from {table} where a < ? order by a", f"select a, b from {table} order by a"
        named = f"select t from {table} where a < ? order by a"
        for length in (200, 1):
            before = relay.trips
            with conn.pipeline():
                asked = [conn.execute(few, (n % 7,)) for n in range(600)]
                behind = conn.execute(long)
                texts = [conn.execute(named, (n % 3,)) for n in range(20)]
                conn.execute(f"update {table} set b = 'y'")
                after = conn.execute(f"select count(*) from {table} where b = 'y'")
            trips = relay.trips - before
            assert [cursor.fetchall() for cursor in asked] == [[(a,) for a in range(n % 7)] for n in range(600)]
            assert [len(row[1]) for row in behind.fetchall()] == [length] * 1000
            assert [cursor.fetchall() for cursor in texts] == [
                [(f"text {a}",) for a in range(n % 3)] for n in range(20)
            ]
            assert after.fetchone() == (1000,)
        assert trips < 200, "one for each of 622 queries, if they waited for one another"
        conn.close()


def test_a_transaction_begins_with_its_first_statement(url: str, table: str) -> None:
    parts = urlsplit(url)
    insert = f"insert into {table} values (?)"
    with (
        CountingRelay(str(parts.hostname), parts.port or 9088) as relay,
        headrace.informix.connect(through(url, relay.port), autocommit=True) as conn,
    ):
        conn.execute(f"create table {table} (a int)")
        conn.execute(insert, (0,))
        before = relay.trips
        with conn.transaction():
            assert conn.transaction_status is TransactionStatus.INTRANS
            assert relay.trips == before
            conn.execute(insert, (1,))
        assert relay.trips == before + 2
        with conn.transaction(), conn.transaction():
            conn.execute(insert, (2,))
        with pytest.raises(errors.UndefinedTable), conn.transaction():
            conn.execute(insert, (3,))
            conn.execute("select * from nowhere")
        before = relay.trips
        with conn.transaction():
            pass
        assert relay.trips == before
        assert conn.fetch(f"select a from {table} order by a") == [(0,), (1,), (2,)]


def test_a_pipeline_outlives_a_change_of_its_table(conn: Connection, url: str, table: str) -> None:
    conn.autocommit = True
    conn.execute(f"create table {table} (a int)")
    conn.execute(f"insert into {table} values (1)")
    query = f"select * from {table}"
    for n in range(3):
        with conn.pipeline():
            asked = [conn.execute(query) for _ in range(50)]
        assert {tuple(cursor.fetchall()) for cursor in asked} == {((1, *[None] * n),)}
        with headrace.informix.connect(url, autocommit=True) as other:
            other.execute(f"alter table {table} add (b{n} int)")


def test_pipeline_raises_its_first_error_at_the_end(conn: Connection) -> None:
    with pytest.raises(errors.UndefinedTable), conn.pipeline():
        conn.execute("select * from nowhere")
        conn.execute("select nothing from systables")
    conn.ping()


# sharing, cancelling, ending


def test_timeout_interrupts_the_statement(conn: Connection, slow: str) -> None:
    with pytest.raises(TimeoutError, match=r"0\.2 s"):
        conn.cursor().execute(slow, timeout=0.2)
    assert conn.fetchval("select tabname from systables where tabid = 1") == "systables"


def test_cancel_of_an_idle_connection_harms_nothing(conn: Connection) -> None:
    conn.cancel()
    assert conn.fetchval("select tabname from systables where tabid = 1") == "systables"


def test_stale_statement_is_prepared_again(ifx: InformixServer, table: str) -> None:
    with connect(ifx, autocommit=True) as conn, connect(ifx, autocommit=True) as other:
        conn.execute(f"create table {table} (a int)")
        conn.execute(f"insert into {table} values (1)")
        assert conn.fetch(f"select * from {table}") == [(1,)]
        other.execute(f"alter table {table} add b int")
        assert conn.fetch(f"select * from {table}") == [(1, None)]
        other.execute(f"drop table {table}")
        with pytest.raises(errors.ProgrammingError):
            conn.fetch(f"select * from {table}")
        conn.ping()


def test_temp_tables(conn: Connection) -> None:
    conn.execute("create temp table mine (a int) with no log")
    conn.executemany("insert into mine values (?)", [(1,), (2,)])
    assert conn.fetchval("select sum(a) from mine") == 3
    conn.execute("select a from mine where a > 1 into temp others")
    assert conn.fetch("select a from others") == [(2,)]


def test_database_statement_changes_the_database(ifx: InformixServer, conn: Connection, table: str) -> None:
    conn.close()
    with connect(ifx, autocommit=True) as conn:
        conn.execute(f"create database db_{table} with log")
        assert conn.logging == "logged"
        conn.execute(f"database {ifx.database}")
        assert conn.fetchval("select tabname from systables where tabid = ?", 1) == "systables"
        conn.execute(f"drop database db_{table}")
    with pytest.raises(errors.InvalidCatalogName) as caught:
        connect(ifx, database=f"db_{table}")
    assert caught.value.sqlcode == -329


def test_sessions_without_a_database(ifx: InformixServer) -> None:
    with connect(ifx, database=None, autocommit=True) as conn:
        assert conn.logging == "none"
        with pytest.raises(errors.ProgrammingError) as caught:
            conn.execute("select 1 from systables")
        assert caught.value.sqlcode == -349
        conn.execute(f"database {ifx.database}")
        assert conn.logging == "logged"
        assert conn.fetchval("select tabname from systables where tabid = 1") == "systables"


def test_a_begin_that_fails_in_a_pipeline_begins_nothing() -> None:
    with (
        testing.informix(mode="unlogged") as server,
        headrace.informix.connect(**server.parameters(), autocommit=True) as conn,
    ):
        conn.execute("create table t (a int)")
        with pytest.raises(errors.NotSupportedError), conn.pipeline():
            conn.execute("begin work")
            for _ in range(3):
                conn.execute("insert into t values (1)")
            asked = [conn.execute("select a from t") for _ in range(3)]
        assert [cursor.fetchall() for cursor in asked] == [[(1,)] * 3] * 3
        conn.commit()
