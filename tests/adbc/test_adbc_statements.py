"""Statements, parameters, transactions, streams and errors through ADBC, on every database."""

from __future__ import annotations

import contextlib
import threading
import time
from functools import partial
from typing import Any

import polars
import pyarrow as pa
import pytest

from adbc_driver_headrace import dbapi
from long import times
from robustness.test_fork import in_child
from servers import Database

from .conftest import connect, marks, rows, run

pytestmark = pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")

DUPLICATE = {"postgresql": None, "mysql": b"1062", "informix": b"-268", "cubrid": b"-670"}
"""The servers' own numbers; PostgreSQL has none."""


def insert(any_db: Database) -> str:
    return f"insert into t (id, name) values ({marks(any_db, 2)})"


def raises_cancelled() -> Any:
    return pytest.raises(dbapi.OperationalError, match="CANCELLED")


def fill(connection: dbapi.Connection, any_db: Database, count: int) -> None:
    """Rows of about 40 bytes."""
    with connection.cursor() as cursor:
        table = pa.table({"id": pa.array(range(count), pa.int32()), "name": [f"{i:040}" for i in range(count)]})
        assert cursor.adbc_ingest("t", table, mode="append") == count


def test_parameters_reach_the_server(any_db: Database, conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor:
        run(cursor, insert(any_db), 1, "one")
        run(cursor, insert(any_db), 2, None)
        run(cursor, f"select id, name from t where id >= {marks(any_db, 1)} order by id", 1)
        assert cursor.fetchall() == [(1, "one"), (2, None)]


def test_one_row_of_parameters_means_the_same_however_it_is_given(url: str) -> None:
    batch = pa.record_batch({"a": [1.5], "b": [2]})
    empty = batch.slice(0, 0)
    given: list[Any] = [
        (1.5, 2),
        batch,
        pa.Table.from_batches([batch]),
        pa.RecordBatchReader.from_batches(batch.schema, [empty, batch, empty]),
        polars.DataFrame(batch),
    ]
    with dbapi.connect(url) as conn, conn.cursor() as cursor:
        for parameters in given:
            cursor.execute("select $1 + 1, $2", parameters)
            assert cursor.fetchall() == [(2.5, 2)], type(parameters)
        two = pa.RecordBatchReader.from_batches(batch.schema, [batch, batch])
        cursor.execute("select $1::float8 + 1, $2::int", two)
        assert cursor.fetchall() == [(2.5, 2)] * 2
        cursor.execute("select 1 where $1::float8 + $2::int > 0", pa.Table.from_batches([empty]))
        assert cursor.fetchall() == []


@pytest.mark.parametrize("count", [1, 2])
def test_parameters_of_executemany_have_the_types_of_what_they_are_for(url: str, count: int) -> None:
    """However many rows there are: as values by themselves, whole numbers would be smallint."""
    with dbapi.connect(url) as conn, conn.cursor() as cursor:
        cursor.execute("create temporary table typed (id int, name text, data jsonb)")
        cursor.executemany("insert into typed values ($1, $2, $3)", [(n, str(n), n) for n in range(count)])
        cursor.executemany("update typed set data = $2 where name = $1", [(n, [n]) for n in range(count)])
        assert cursor.rowcount == count
        cursor.execute("select name, data::text from typed order by id")
        assert cursor.fetchall() == [(str(n), f"[{n}]") for n in range(count)]
        with pytest.raises(dbapi.Error, match=r"1\.5"):
            cursor.executemany("insert into typed (id) values ($1)", [(1.5,)] * count)


def test_another_number_of_parameters_is_an_error(any_db: Database, conn: dbapi.Connection) -> None:
    query = f"select id from t where id = {marks(any_db, 1)}"
    for sql, given, message in (
        (query, (1, 2), "1 parameter, but 2 were given"),
        (query, (1, "two", None), "1 parameter, but 3 were given"),
        (insert(any_db), (1, "one", 2), "2 parameters, but 3 were given"),
        ("select id from t", (1,), "0 parameters, but 1 was given"),
    ):
        with conn.cursor() as cursor, pytest.raises(dbapi.ProgrammingError, match=message):
            run(cursor, sql, *given)
    with conn.cursor() as cursor:
        run(cursor, query, 1)
        assert cursor.fetchall() == []


def test_batch_is_executed_as_a_whole_and_counted(any_db: Database, conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor:
        cursor.executemany(insert(any_db), [(i, f"n{i}") for i in range(3000)])
        assert cursor.rowcount == 3000
        with pytest.raises(dbapi.Error):
            cursor.executemany(insert(any_db), [(10_000, "new"), (5, "there already"), (10_001, "new")])
    assert rows(conn, "select count(*), max(id) from t") == [(3000, 2999)]


def test_prepared_statement_is_executed_again_with_other_parameters(any_db: Database, conn: dbapi.Connection) -> None:
    fill(conn, any_db, 10)
    with conn.cursor() as cursor:
        query = f"select name from t where id = {marks(any_db, 1)}"
        for number in (3, 7, 11):
            run(cursor, query, number)
            assert cursor.fetchall() == ([(f"{number:040}",)] if number < 10 else [])


def test_stream_comes_in_batches_and_has_the_connection_to_itself(any_db: Database, conn: dbapi.Connection) -> None:
    fill(conn, any_db, 50_000)
    with connect(any_db, batch_bytes="100000") as other, other.cursor() as cursor, other.cursor() as second:
        run(cursor, "select id, name from t order by id")
        reader = cursor.fetch_record_batch()
        first = reader.read_next_batch()
        assert 0 < first.num_rows < 50_000
        with pytest.raises(dbapi.ProgrammingError, match=r"INVALID_STATE.*reading a result"):
            run(second, "select 1 as one from t")
        assert first.num_rows + sum(batch.num_rows for batch in reader) == 50_000
        run(second, "select count(*) from t")
        assert second.fetchall() == [(50_000,)]


def test_stream_that_is_closed_early_leaves_the_connection_usable(any_db: Database, conn: dbapi.Connection) -> None:
    fill(conn, any_db, 50_000)
    for autocommit in (True, False):
        with connect(any_db, batch_bytes="100000", autocommit=autocommit) as other:
            with other.cursor() as cursor:
                run(cursor, "select id, name from t order by id")
                cursor.fetch_record_batch().read_next_batch()
            assert rows(other, "select count(*) from t") == [(50_000,)]


LEVEL = "adbc.connection.transaction.isolation_level"
SERIALIZABLE = "adbc.connection.transaction.isolation.serializable"
READ_ONLY = "adbc.connection.readonly"


@pytest.mark.parametrize("any_db", ["mariadb"], indirect=True)
def test_rows_that_an_insert_returns_are_stored_where_their_reader_is_closed_early(
    any_db: Database, conn: dbapi.Connection
) -> None:
    count = 100_000
    numbers = f"with recursive s (n) as (select 1 union all select n + 1 from s where n < {count})"
    with connect(any_db, batch_bytes="100000") as other, other.cursor() as cursor:
        run(cursor, f"set session max_recursive_iterations = {count}")
        run(cursor, f"insert into t {numbers} select n, repeat('x', 40) from s returning id, name")
        reader = cursor.fetch_record_batch()
        reader.read_next_batch()
        reader.close()
    assert rows(conn, "select count(*) from t") == [(count,)]


@pytest.mark.parametrize(
    ("option", "value", "supported"),
    [(LEVEL, SERIALIZABLE, "supports_serializable"), (READ_ONLY, "true", "supports_read_only")],
)
def test_mode_of_transactions_is_taken_or_refused_when_it_is_set(
    any_db: Database, conn: dbapi.Connection, option: str, value: str, supported: str
) -> None:
    with connect(any_db, autocommit=False) as connection:
        if not getattr(any_db, supported):
            before = connection.adbc_connection.get_option(option)
            with pytest.raises(dbapi.NotSupportedError):
                connection.adbc_connection.set_options(**{option: value})
            assert connection.adbc_connection.get_option(option) == before
        else:
            connection.adbc_connection.set_options(**{option: value})
            assert connection.adbc_connection.get_option(option) == value
        with connection.cursor() as cursor:
            run(cursor, "select count(*) from t")
            assert cursor.fetchall() == [(0,)]
        connection.rollback()


def test_transaction_is_committed_or_rolled_back(any_db: Database, conn: dbapi.Connection) -> None:
    with connect(any_db, autocommit=False) as other:
        with other.cursor() as cursor:
            run(cursor, insert(any_db), 1, "kept")
            other.commit()
            run(cursor, insert(any_db), 2, "undone")
        other.rollback()
        assert rows(other, "select id from t") == [(1,)]
        other.rollback()
    assert rows(conn, "select id from t") == [(1,)]


def test_commit_of_a_failed_transaction_is_an_error(any_db: Database, conn: dbapi.Connection) -> None:
    with connect(any_db, autocommit=False) as other:
        with other.cursor() as cursor:
            run(cursor, insert(any_db), 1, "one")
            with pytest.raises(dbapi.IntegrityError):
                run(cursor, insert(any_db), 1, "again")
        if any_db.error_fails_transaction:
            with pytest.raises(dbapi.ProgrammingError, match="rolled back, not committed") as raised:
                other.commit()
            assert raised.value.sqlstate == "25P02"
        other.commit()
    assert rows(conn, "select count(*) from t") == [(0 if any_db.error_fails_transaction else 1,)]


def test_parameters_are_those_of_one_execution(any_db: Database, conn: dbapi.Connection) -> None:
    """A program that forgets them does not insert the rows before again."""
    one = f"insert into t (id) select coalesce(max(id), 0) + {marks(any_db, 1)} from t"
    with conn.cursor() as cursor:
        for sql, given in ((insert(any_db), [(1, "one"), (2, "two")]), (one, [(1,)])):
            cursor.executemany(sql, given)
            before = rows(conn, "select count(*) from t")
            for nothing in (None, ()):
                with pytest.raises(dbapi.Error):
                    cursor.execute(sql, nothing)
            assert rows(conn, "select count(*) from t") == before


def test_rows_that_a_statement_has_changed_are_counted(any_db: Database, conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor:
        for sql, given, count in (
            (insert(any_db), (1, "one"), 1),
            ("insert into t values (2, 'two')", (), 1),
            ("update t set name = 'x'", (), 2),
            ("delete from t where id = 9", (), 0),
            ("select id from t", (), -1),
            ("delete from t", (), 2),
        ):
            run(cursor, sql, *given)
            assert cursor.rowcount == count, sql


FAILS = {
    "postgresql": "select n, 1 / (n - 2500) as x, repeat('x', 1000) as big from generate_series(0, 2999) n",
    "mysql": "with recursive s (n) as (select 0 union all select n + 1 from s where n < 999) "
    "select n, if(n = 900, exp(1000), 1) as x, repeat('x', 5000) as big from s",
}


@pytest.mark.parametrize("any_db", ["postgresql", "mariadb", "mysql"], indirect=True)
def test_error_in_the_course_of_a_result_is_one_of_the_driver(any_db: Database, conn: dbapi.Connection) -> None:
    with connect(any_db, batch_rows="10") as other:
        for fetch in (dbapi.Cursor.fetchall, dbapi.Cursor.fetch_arrow_table, dbapi.Cursor.fetch_df):
            with other.cursor() as cursor:
                run(cursor, FAILS[any_db.kind])
                assert cursor.fetchone() is not None
                with pytest.raises(dbapi.DataError) as raised:
                    fetch(cursor)
            assert raised.value.sqlstate in ("22012", "22003")
            assert raised.value.status_code.name == "INVALID_DATA"
            assert raised.value.details
        assert rows(other, "select count(*) from t") == [(0,)]


def test_the_child_of_a_fork_leaves_the_session_alone(any_db: Database, conn: dbapi.Connection) -> None:
    def use() -> str:
        with conn.cursor() as cursor:
            run(cursor, "select id from t")
        return "used"

    def close() -> str:
        conn.close()
        return "closed"

    assert "before a fork" in in_child(use)
    assert in_child(close) == "closed"
    with conn.cursor() as cursor:
        run(cursor, insert(any_db), 1, "one")
    assert rows(conn, "select id from t") == [(1,)]


def test_cancel_reaches_an_ingestion_whose_source_takes_its_time(any_db: Database, conn: dbapi.Connection) -> None:
    cancelled = threading.Event()
    batch = pa.record_batch({"id": pa.array([1], pa.int32()), "name": ["one"]})

    def batches() -> Any:
        yield batch
        # Nothing was sent yet: the server has nothing to cancel.
        cursor.adbc_cancel()
        cancelled.set()
        yield pa.record_batch({"id": pa.array([2], pa.int32()), "name": ["two"]})

    with conn.cursor() as cursor:
        with raises_cancelled():
            cursor.adbc_ingest("t", pa.RecordBatchReader.from_batches(batch.schema, batches()), mode="append")
        assert cancelled.is_set()
        assert rows(conn, "select count(*) from t") == [(0,)]
        run(cursor, insert(any_db), 1, "one")
        assert cursor.rowcount == 1


def test_commit_in_autocommit_is_refused(any_db: Database, conn: dbapi.Connection) -> None:
    with pytest.raises(dbapi.ProgrammingError, match=r"INVALID_STATE.*autocommit"):
        conn.adbc_connection.commit()


def details(error: dbapi.Error) -> dict[bytes, bytes]:
    """The details of an error. The driver manager declares their names as str."""
    given: Any = error.details
    return dict(given)


def test_error_has_its_status_and_sqlstate(any_db: Database, conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor:
        run(cursor, insert(any_db), 1, "one")
        with pytest.raises(dbapi.IntegrityError) as raised:
            run(cursor, insert(any_db), 1, "again")
        assert raised.value.sqlstate == "23505"
        assert details(raised.value).get(b"headrace:vendor_code") == DUPLICATE[any_db.kind]
        assert raised.value.status_code.name == "INTEGRITY"
        with pytest.raises(dbapi.ProgrammingError) as refused:
            run(cursor, "select nothing from nowhere_at_all")
        assert refused.value.status_code.name == "NOT_FOUND"
        assert refused.value.details


def test_row_of_a_batch_that_fails_is_named(any_db: Database, conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor, pytest.raises(dbapi.Error) as raised:
        cursor.executemany(insert(any_db), [(1, "a"), (2, "b"), (1, "a")])
    assert details(raised.value)[b"headrace:row"] == b"2"


def test_running_statement_is_cancelled_from_another_thread(any_db: Database, conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor:
        stop = threading.Event()

        def cancel() -> None:
            while not stop.wait(0.2):
                cursor.adbc_cancel()

        thread = threading.Thread(target=cancel)
        thread.start()
        begun = time.monotonic()
        try:
            with raises_cancelled() if any_db.slow_raises else contextlib.nullcontext():
                run(cursor, any_db.slow)
        finally:
            stop.set()
            thread.join()
        assert time.monotonic() - begun < 30
    assert rows(conn, "select count(*) from t") == [(0,)]


def test_wrong_password_is_refused_without_showing_it(checking: Database) -> None:
    with pytest.raises(dbapi.Error) as raised:
        dbapi.connect(checking.refused_url)
    assert raised.value.status_code.name in ("UNAUTHENTICATED", "UNAUTHORIZED")
    assert ":wrong" not in str(raised.value)


PARAMETER_TYPES = {"postgresql": [pa.int32(), pa.string()], "mysql": [pa.null()] * 2, "cubrid": [pa.null()] * 2}


def test_parameters_have_a_schema(any_db: Database, conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor:
        # The second time the statement is known.
        for _ in range(2):
            schema = cursor.adbc_prepare(insert(any_db))
            if not any_db.describes_parameters:
                assert schema is None
                continue
            assert schema is not None
            assert (schema.names, schema.types) == (["", ""], PARAMETER_TYPES[any_db.kind])
        without = cursor.adbc_prepare("select id from t")
        assert without == (pa.schema([]) if any_db.describes_parameters else None)


@pytest.mark.parametrize("any_db", ["postgresql"], indirect=True)
def test_several_statements_are_executed_as_one(any_db: Database, conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor:
        run(
            cursor, "insert into t values (1, ';'); insert into t values (2, null); select id, name from t order by id;"
        )
        table = cursor.fetch_arrow_table()
        run(cursor, "select id, name from t order by id")
        assert table == cursor.fetch_arrow_table()
        assert table.to_pydict() == {"id": [1, 2], "name": [";", None]}
        run(cursor, "select g, repeat('x', 100) as x from generate_series(1, 100000) g; select 1")
        assert sum(batch.num_rows for batch in cursor.fetch_record_batch()) == 100_000
        with pytest.raises(dbapi.IntegrityError):
            run(cursor, "insert into t values (3, 'undone'); insert into t values (1, 'again')")
        with pytest.raises(dbapi.ProgrammingError, match="multiple commands"):
            run(cursor, "insert into t values ($1, 'x'); select 1", 3)
    assert rows(conn, "select count(*) from t") == [(2,)]


@pytest.mark.parametrize("any_db", ["cubrid"], indirect=True)
def test_several_statements_are_executed_one_after_the_other(any_db: Database, conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor:
        inserts = "insert into t values (1, ';'); insert into t values (2, null)"
        run(cursor, f"{inserts}; select id, name from t order by id;")
        table = cursor.fetch_arrow_table()
        assert {name.lower(): values for name, values in table.to_pydict().items()} == {
            "id": [1, 2],
            "name": [";", None],
        }
        run(cursor, "select id from t order by id desc; select name from t; insert into t values (3, 'c')")
        assert cursor.fetch_arrow_table().num_columns == 1
        with pytest.raises(dbapi.Error):
            run(cursor, "insert into t values (?, 'x'); select 1", 4)
        with pytest.raises(dbapi.IntegrityError):
            run(cursor, "insert into t values (4, 'undone'); insert into t values (1, 'again')")
    assert rows(conn, "select id from t order by id") == [(1,), (2,), (3,)]


def test_a_copy_names_what_to_do_in_its_stead(url: str) -> None:
    with dbapi.connect(url) as conn, conn.cursor() as cursor:
        cursor.execute("create temporary table copied (n int)")
        for query in ("copied", "(select 1)"):
            with pytest.raises(dbapi.NotSupportedError, match="execute the query itself") as raised:
                cursor.execute(f"copy {query} to stdout")
            assert raised.value.sqlstate == "0A000"
        # It has failed on no server.
        conn.commit()
        with pytest.raises(dbapi.NotSupportedError, match="adbc_ingest"):
            cursor.execute("copy copied from stdin")
        conn.rollback()
        assert rows(conn, "select count(*) from copied") == [(0,)]


@pytest.mark.parametrize("any_db", ["mariadb", "mysql"], indirect=True)
def test_a_file_that_is_not_sent_names_what_to_do_in_its_stead(any_db: Database, conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor, pytest.raises(dbapi.Error, match="adbc_ingest"):
        cursor.execute("load data local infile '/etc/hostname' into table t")
    assert rows(conn, "select count(*) from t") == [(0,)]


@pytest.mark.parametrize("value", ["text", b"bytes", 4, 4.5])
def test_unknown_options_are_not_implemented(url: str, value: Any) -> None:
    with dbapi.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        for owner in (connection.adbc_database, connection.adbc_connection, cursor.adbc_statement):
            with pytest.raises(dbapi.NotSupportedError):
                owner.set_options(there_is_none=value)
            with pytest.raises(dbapi.ProgrammingError, match="NOT_FOUND"):
                owner.get_option("there_is_none")


def test_unknown_option_names_the_known_ones() -> None:
    with pytest.raises(dbapi.Error, match="sslmode"):
        dbapi.connect("postgresql://jo@nowhere/db?ssl_mode=on")
    with pytest.raises(dbapi.Error, match="postgresql://"):
        dbapi.connect("oracle://jo@nowhere/db")


@pytest.mark.parametrize("overtaking", ["execute", "cursor", "connection"])
def test_reader_that_another_thread_overtakes_raises_or_has_all_rows(any_db: Database, overtaking: str) -> None:
    for _ in range(times(3)):
        with connect(any_db, batch_rows="5") as other:
            cursor = other.cursor()
            cursor.execute(any_db.count_from_zero(1_000))
            reader, began = cursor.fetch_record_batch(), threading.Event()
            overtakes = {
                "execute": partial(cursor.execute, any_db.one),
                "cursor": cursor.close,
                "connection": other.close,
            }
            thread = threading.Thread(target=lambda act=overtakes[overtaking], began=began: began.wait(30) and act())
            thread.start()
            read = 0
            with contextlib.suppress(pa.ArrowInvalid, dbapi.Error):
                for batch in reader:
                    read += batch.num_rows
                    began.set()
                assert read == 1_000
            thread.join(30)
            if overtaking == "execute":
                assert cursor.fetchall() == [(1,)]
                cursor.close()
