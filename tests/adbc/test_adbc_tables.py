"""Tables of record batches into databases, and metadata, through ADBC, on every database."""

from __future__ import annotations

import contextlib
import datetime
import decimal
from collections.abc import Iterator
from typing import Any

import adbc_driver_manager
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import adbc_driver_headrace
from adbc_driver_headrace import dbapi
from databases.test_arrow_types import UNTESTED, table
from long import times
from servers import Database

from .conftest import connect, marks, rows, run

TEXT = st.text("abcxyzABC '\"\\%_äöüßéñ", min_size=1, max_size=20).map(lambda text: text.strip() or "x")
MILLIS = st.datetimes(datetime.datetime(1970, 1, 2), datetime.datetime(2030, 1, 1)).map(
    lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000)
)
COLUMNS: dict[str, tuple[pa.DataType, Any]] = {
    "i": (pa.int64(), st.integers(-(2**62), 2**62)),
    "j": (pa.int32(), st.integers(-(2**31) + 1, 2**31 - 1)),
    "f": (pa.float64(), st.floats(-1e100, 1e100, allow_subnormal=False)),
    "s": (pa.string(), TEXT),
    "d": (pa.date32(), st.dates(datetime.date(1900, 1, 1), datetime.date(2200, 1, 1))),
    "ts": (pa.timestamp("us"), MILLIS),
    "n": (pa.decimal128(12, 3), st.decimals(-100_000_000, 100_000_000, places=3)),
}


def a_table(data: st.DataObject) -> pa.Table:
    count = data.draw(st.integers(0, 20))
    columns = {
        name: pa.array(data.draw(st.lists(st.none() | values, min_size=count, max_size=count)), ty)
        for name, (ty, values) in COLUMNS.items()
    }
    return pa.table(columns)


@settings(max_examples=times(5), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_values_come_back_and_equal_those_of_the_python_driver(
    any_db: Database, conn: dbapi.Connection, data: st.DataObject
) -> None:
    sent = a_table(data)
    with conn.cursor() as cursor, any_db.connect(autocommit=True) as plain:
        assert cursor.adbc_ingest("ingested", sent, mode="replace") == sent.num_rows
        cursor.execute("select * from ingested")
        received = cursor.fetch_arrow_table()
        expected = pa.table(plain.fetch_arrow("select * from ingested"))
    assert without_type_names(received.schema).equals(expected.schema, check_metadata=True)
    assert received.equals(expected)
    assert received.cast(sent.schema).equals(sent)


def without_type_names(schema: pa.Schema) -> pa.Schema:
    """The schema without the names of the server's types, which only the ADBC driver writes into it."""
    for at, field in enumerate(schema):
        kept = {key: value for key, value in (field.metadata or {}).items() if not key.endswith(b":type")}
        schema = schema.set(at, field.with_metadata(kept or None))
    return schema


def test_each_type_has_the_schema_of_the_python_driver(any_db: Database, conn: dbapi.Connection) -> None:
    names = [name for name in table(any_db.kind) if name not in UNTESTED[any_db.name]]
    different = {}
    with conn.cursor() as cursor, any_db.connect(autocommit=True) as plain:
        for name in names:
            run(cursor, "drop table if exists arrow_type")
            run(cursor, f"create table arrow_type (nr int, c {name})")
            found = conn.adbc_get_table_schema("arrow_type")
            wanted = pa.schema(plain.fetch_arrow("select * from arrow_type"))
            if not without_type_names(found).equals(wanted, check_metadata=True):
                different[name] = (str(found), str(wanted))
        run(cursor, "drop table arrow_type")
    assert different == {}


TYPE_NAMES = {
    "postgresql": (b"POSTGRESQL:type", b"int4", b"varchar"),
    "mysql": (b"MYSQL:type", b"int", b"varchar"),
    "informix": (b"INFORMIX:type", b"INTEGER", b"VARCHAR(40)"),
    "cubrid": (b"CUBRID:type", b"INT", b"VARCHAR"),
}


def test_fields_name_the_type_of_their_column(any_db: Database, conn: dbapi.Connection) -> None:
    key, *names = TYPE_NAMES[any_db.kind]
    with conn.cursor() as cursor:
        run(cursor, "select id, name from t")
        schemas = [conn.adbc_get_table_schema("t"), cursor.fetch_arrow_table().schema]
    for schema in schemas:
        assert [field.metadata[key] for field in schema] == names


@pytest.mark.parametrize("any_db", ["mariadb", "mysql", "cubrid"], indirect=True)
def test_lists_are_refused_before_a_table_is_created(any_db: Database, conn: dbapi.Connection) -> None:
    data = pa.table({"id": [1], "items": [[1, None]]})
    with conn.cursor() as cursor:
        run(cursor, "drop table if exists listed")
        with pytest.raises(dbapi.NotSupportedError, match=r"'items'.*List"):
            cursor.adbc_ingest("listed", data, mode="create")
        with pytest.raises(dbapi.Error):
            run(cursor, "select * from listed")


def test_parts_of_a_microsecond_are_refused_or_cut_off(any_db: Database, conn: dbapi.Connection) -> None:
    nanoseconds = pa.array([1_588_748_889_123_456_789, -1, None], pa.timestamp("ns"))
    fine = pa.table({"id": [1, 2, 3], "made": nanoseconds})
    coarse = fine.set_column(1, "made", pa.array([1_588_748_889_123_456, -1, None], pa.timestamp("us")))
    with conn.cursor() as cursor:
        with pytest.raises(dbapi.DataError, match="nanoseconds"):
            cursor.adbc_ingest("fine", fine, mode="replace")
        cursor.adbc_ingest("fine", coarse, mode="replace")
        wanted = rows(conn, "select id, made from fine order by id")
    with connect(any_db, nanoseconds="truncate") as other, other.cursor() as cursor:
        assert cursor.adbc_ingest("fine", fine, mode="replace") == 3
        assert rows(other, "select id, made from fine order by id") == wanted
        run(cursor, "drop table fine")
    with pytest.raises(dbapi.Error, match="raise or truncate"):
        connect(any_db, nanoseconds="round")


@pytest.mark.parametrize("any_db", ["mysql"], indirect=True)
def test_lists_of_one_length_are_vectors(any_db: Database, conn: dbapi.Connection) -> None:
    vectors = pa.array([[1.0, 2.5, -3.0], None], pa.list_(pa.float32(), 3))
    with conn.cursor() as cursor:
        assert cursor.adbc_ingest("embedded", pa.table({"id": [1, 2], "v": vectors}), mode="replace") == 2
        assert cursor.adbc_ingest("embedded", pa.table({"id": [3], "v": [[4.0, 5.0, 6.0]]}), mode="append") == 1
        run(cursor, "select v from embedded order by id")
        found = cursor.fetch_arrow_table()["v"]
        run(cursor, "drop table embedded")
    assert found.type == pa.list_(pa.float32())
    assert found.to_pylist() == [[1.0, 2.5, -3.0], None, [4.0, 5.0, 6.0]]


@pytest.mark.parametrize("any_db", ["mariadb"], indirect=True)
@pytest.mark.parametrize("mode", ["create", "replace", "create_append"])
def test_vectors_are_refused_by_a_server_that_is_too_old(any_db: Database, conn: dbapi.Connection, mode: Any) -> None:
    vectors = pa.table({"id": [1], "v": pa.array([[1.0, 2.5]], pa.list_(pa.float32(), 2))})
    with conn.cursor() as cursor:
        run(cursor, "drop table if exists embedded")
        run(cursor, "create table embedded (id int)")
        run(cursor, "insert into embedded values (7)")
        with pytest.raises(dbapi.NotSupportedError, match=r"column 'v' .* it is 10\..*MariaDB.*from version 9"):
            cursor.adbc_ingest("embedded", vectors, mode=mode)
        assert rows(conn, "select id from embedded") == [(7,)]
        run(cursor, "drop table embedded")


def test_a_table_that_is_there_is_not_made_again(any_db: Database, conn: dbapi.Connection) -> None:
    data = pa.table({"id": pa.array([1], pa.int32())})
    with conn.cursor() as cursor:
        cursor.adbc_ingest("made", data, mode="replace")
        with pytest.raises(dbapi.Error) as raised:
            cursor.adbc_ingest("made", data, mode="create")
        assert raised.value.status_code == adbc_driver_manager.AdbcStatusCode.ALREADY_EXISTS, raised.value
        assert raised.value.sqlstate == "42P07"
        run(cursor, "drop table made")


def test_a_question_mark_in_a_name_is_one_or_refused(any_db: Database, conn: dbapi.Connection) -> None:
    if any_db.quote is None:
        pytest.skip("names without quotes")
    data = pa.table({"id": pa.array([1], pa.int32()), "why?": ["so"]})
    with conn.cursor() as cursor:
        for name in ("asked", "who?"):
            if not any_db.supports_question_mark_names:
                with pytest.raises(dbapi.NotSupportedError, match=r"the name '(why|who)\?': CUBRID's broker takes"):
                    cursor.adbc_ingest(name, data, mode="replace")
                continue
            assert cursor.adbc_ingest(name, data, mode="replace") == 1
            assert cursor.adbc_ingest(name, data, mode="append") == 1
            assert conn.adbc_get_table_schema(name).names == ["id", "why?"]
            cursor.execute(f"select * from {any_db.quoted(name)}")
            assert cursor.fetch_arrow_table().to_pylist() == [{"id": 1, "why?": "so"}] * 2
            run(cursor, f"drop table {any_db.quoted(name)}")


def test_the_schema_of_a_missing_table_leaves_the_transaction(any_db: Database, conn: dbapi.Connection) -> None:
    with connect(any_db, autocommit=False) as other, other.cursor() as cursor:
        run(cursor, f"insert into t (id, name) values ({marks(any_db, 2)})", 1, "one")
        for name in ("not_there", "no't\\there")[: 2 if any_db.quote else 1]:
            with pytest.raises(dbapi.Error) as raised:
                other.adbc_get_table_schema(name)
            assert raised.value.status_code == adbc_driver_manager.AdbcStatusCode.NOT_FOUND, raised.value
            assert raised.value.sqlstate == "42P01"
        other.commit()
    assert rows(conn, "select id from t") == [(1,)]


def test_a_name_that_is_too_long_is_never_that_of_another_table(any_db: Database, conn: dbapi.Connection) -> None:
    kept, longer = any_db.longest_name, any_db.longest_name + "x"
    # Of Informix it is a plain word, which needs no quotes.
    quoted = any_db.quoted(kept) if any_db.quote else kept
    data = pa.table({"id": pa.array([1], pa.int32())})

    def refused() -> Any:
        return pytest.raises(dbapi.NotSupportedError, match=r"is too long for \w+: it has \d+ (bytes|characters), and")

    with conn.cursor() as cursor:
        assert cursor.adbc_ingest(kept, data.rename_columns([kept]), mode="replace") == 1
        assert conn.adbc_get_table_schema(kept).names == [kept]
        for mode in ("append", "create_append", "replace", "create"):
            with refused():
                cursor.adbc_ingest(longer, data, mode=mode)
        with refused():
            cursor.adbc_ingest(kept, data.rename_columns([longer]), mode="append")
        with refused():
            conn.adbc_get_table_schema(longer)
        with refused():
            conn.adbc_current_db_schema = longer
        found = conn.adbc_get_objects(depth="tables", table_name_filter=longer).read_all().to_pylist()
        assert names(found, "catalog_db_schemas", "db_schema_tables", "table_name") == []
        assert rows(conn, f"select count(*) from {quoted}") == [(1,)]
        run(cursor, f"drop table {quoted}")


@pytest.mark.parametrize("any_db", ["mariadb", "mysql"], indirect=True)
def test_characters_that_names_do_not_have_are_not_replaced(any_db: Database, conn: dbapi.Connection) -> None:
    data = pa.table({"id": pa.array([1], pa.int32())})
    with conn.cursor() as cursor:
        assert cursor.adbc_ingest("näme€", data, mode="replace") == 1
        for table, column in (("n😀", "id"), ("named", "😀")):
            with pytest.raises(dbapi.NotSupportedError, match="do not have the character '😀'"):
                cursor.adbc_ingest(table, data.rename_columns([column]), mode="replace")
        run(cursor, "drop table `näme€`")


@pytest.mark.parametrize("any_db", ["informix"], indirect=True)
def test_types_that_have_no_number_of_their_own_have_a_name(any_db: Database, conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor:
        run(cursor, "drop table if exists opaque")
        run(cursor, "create table opaque (a lvarchar(200), b boolean not null, c blob, d int, e decimal(10, 2))")
    found = conn.adbc_get_objects(depth="all", table_name_filter="opaque").read_all().to_pylist()
    (columns,) = [
        table["table_columns"]
        for catalog in found
        for schema in catalog["catalog_db_schemas"]
        for table in schema["db_schema_tables"]
    ]
    names = {column["column_name"]: column["xdbc_type_name"] for column in columns}
    assert names == {"a": "LVARCHAR", "b": "BOOLEAN", "c": "BLOB", "d": "INTEGER", "e": "DECIMAL(10,2)"}
    with conn.cursor() as cursor:
        run(cursor, "drop table opaque")


@pytest.mark.parametrize("any_db", ["mariadb", "mysql"], indirect=True)
def test_times_keep_their_unit_and_instants_their_point_in_time(any_db: Database, conn: dbapi.Connection) -> None:
    at = datetime.datetime(2020, 5, 6, 7, 8, 9)
    data = pa.table(
        {
            "s": pa.array([at, None], pa.timestamp("s")),
            "ms": pa.array([at, None], pa.timestamp("ms")),
            "utc": pa.array([at, None], pa.timestamp("us", "UTC")),
            "paris": pa.array([at, None], pa.timestamp("us", "UTC")).cast(pa.timestamp("ns", "Europe/Paris")),
        }
    )
    with conn.cursor() as cursor:
        run(cursor, "set time_zone = '+05:00'")
        for given in (data, data.to_reader(), data.to_batches()[0]):
            assert cursor.adbc_ingest("times", given, mode="replace") == 2
            run(cursor, "select s, ms, unix_timestamp(utc), unix_timestamp(paris), @@time_zone from times")
            found = cursor.fetch_arrow_table()
            assert found.schema.types[:2] == [pa.timestamp("s"), pa.timestamp("ms")]
            seconds = at.replace(tzinfo=datetime.timezone.utc).timestamp()
            assert [tuple(row.values()) for row in found.to_pylist()] == [
                (at, at, seconds, seconds, "+05:00"),
                (None, None, None, None, "+05:00"),
            ]
        with pytest.raises(dbapi.Error):
            cursor.adbc_ingest("times", pa.table({"missing": data["utc"]}), mode="append")
        assert rows(conn, "select @@time_zone") == [("+05:00",)]
        run(cursor, "drop table times")


AWARE = {"aware": pa.array([datetime.datetime(2024, 10, 27, 1, 30)], pa.timestamp("us", "UTC"))}
"""In Berlin an hour comes twice then."""
SUMMER_TIME = (
    "insert ignore into mysql.time_zone (time_zone_id, use_leap_seconds) values (9000, 'N')",
    "insert ignore into mysql.time_zone_name (name, time_zone_id) values ('Test/Summer', 9000)",
    "insert ignore into mysql.time_zone_transition_type "
    "(time_zone_id, transition_type_id, `offset`, is_dst, abbreviation) "
    "values (9000, 0, 3600, 0, 'CET'), (9000, 1, 7200, 1, 'CEST')",
    "insert ignore into mysql.time_zone_transition (time_zone_id, transition_time, transition_type_id) "
    "values (9000, 0, 0), (9000, 1711846800, 1), (9000, 1729990800, 0)",
)
"""A zone with Berlin's summer of 2024, as the servers have no named zones until somebody loads them."""
NAIVE = {"naive": pa.array([datetime.datetime(2024, 5, 6, 12, 0)])}


DEPENDENTS = {
    "aware datetime(6)": "column 'aware' of the table has the type datetime",
    "aware varchar(40)": "column 'aware' of the table has the type varchar",
    "aware timestamp null, naive timestamp null": "column 'naive' of the table is given values without a zone",
    "aware timestamp null, naive datetime, day date as (date(aware)) stored": "column 'day' of the table is computed",
    "aware timestamp null, naive datetime, day date as (date(aware)) virtual": "column 'day' of the table is computed",
    "aware timestamp null, naive datetime, made datetime default now()": "column 'made' of the table has a default",
    "aware timestamp null, naive datetime, n int default 7, nil date default null": "",
}
"""Columns of a table, and why one of instants and one without are not inserted in UTC; nothing if they are."""


@pytest.mark.parametrize("any_db", ["mariadb", "mysql"], indirect=True)
@pytest.mark.parametrize("columns", DEPENDENTS)
@pytest.mark.parametrize("kind", ["table", "temporary table"])
def test_an_instant_is_right_in_every_column_or_refused(
    any_db: Database, conn: dbapi.Connection, columns: str, kind: str
) -> None:
    """Where an hour comes twice, and where the zone is the same all year."""
    temporary = kind != "table"
    if "virtual" in columns and temporary and not any_db.supports_temporary_virtual_columns:
        pytest.skip("the server has no such tables")
    data = pa.table({**AWARE, **(NAIVE if "naive" in columns else {})})
    with conn.cursor() as cursor:
        for statement in SUMMER_TIME:
            run(cursor, statement)
        run(cursor, "drop table if exists dependent")
        run(cursor, f"create {kind} dependent ({columns})")
        run(cursor, "set time_zone = '+02:00'")
        assert cursor.adbc_ingest("dependent", data, mode="append", temporary=temporary) == 1
        shown = [*data.column_names, *(["day"] if "day" in columns else [])]
        query = f"select {', '.join(f'cast({name} as char(16))' for name in shown)} from dependent"
        wanted = {"aware": "2024-10-27 03:30", "naive": "2024-05-06 12:00", "day": "2024-10-27"}
        assert rows(conn, query) == [tuple(wanted[name] for name in shown)]
        run(cursor, "delete from dependent")
        run(cursor, "set time_zone = 'Test/Summer'")
        if DEPENDENTS[columns]:
            with pytest.raises(dbapi.NotSupportedError, match=DEPENDENTS[columns]):
                cursor.adbc_ingest("dependent", data, mode="append", temporary=temporary)
            assert rows(conn, "select count(*) from dependent") == [(0,)]
            return
        assert cursor.adbc_ingest("dependent", data, mode="append", temporary=temporary) == 1
        query = "select unix_timestamp(aware), cast(naive as char(16)), n, nil, @@time_zone from dependent"
        assert rows(conn, query) == [(1729992600, "2024-05-06 12:00", 7, None, "Test/Summer")]


@pytest.mark.parametrize("any_db", ["mariadb", "mysql"], indirect=True)
def test_an_instant_is_refused_that_a_trigger_or_a_view_sees(any_db: Database, conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor:
        for statement in (
            *SUMMER_TIME,
            "drop view if exists seen",
            "drop table if exists watched",
            "create table watched (aware timestamp null, day date)",
            "create view seen as select aware from watched",
            "create trigger watching before insert on watched for each row set new.day = date(new.aware)",
            "set time_zone = 'Test/Summer'",
        ):
            run(cursor, statement)
        for name in ("seen", "watched"):
            with pytest.raises(dbapi.NotSupportedError, match="has triggers, or is a view"):
                cursor.adbc_ingest(name, pa.table(AWARE), mode="append")
        assert rows(conn, "select count(*) from watched") == [(0,)]
        # A table that is made has neither.
        assert cursor.adbc_ingest("unwatched", pa.table({**NAIVE, **AWARE}), mode="replace") == 1
        assert rows(conn, "select unix_timestamp(aware), cast(naive as char(16)) from unwatched") == [
            (1729992600, "2024-05-06 12:00")
        ]


def zoned(cursor: dbapi.Cursor, zone: str) -> None:
    """The session's time zone, and an empty table whose columns depend on it."""
    run(cursor, "drop table if exists zoned")
    run(
        cursor,
        "create table zoned (aware timestamp null, naive timestamp null, made datetime default current_timestamp)",
    )
    run(cursor, f"set time_zone = {zone}")


@pytest.mark.parametrize("any_db", ["mariadb", "mysql"], indirect=True)
@pytest.mark.parametrize("zone", ["'+09:00'", "'-03:30'", "'+00:00'"])
def test_instants_do_not_change_the_columns_and_defaults_beside_them(
    any_db: Database, conn: dbapi.Connection, zone: str
) -> None:
    with conn.cursor() as cursor:
        zoned(cursor, zone)
        cursor.adbc_ingest("zoned", pa.table(NAIVE), mode="append")
        cursor.adbc_ingest("zoned", pa.table({**NAIVE, **AWARE}), mode="append")
        nulls = {"aware": pa.nulls(1, pa.timestamp("ms", "UTC"))}
        cursor.adbc_ingest("zoned", pa.table({**NAIVE, **nulls}), mode="append")
        run(cursor, "select cast(naive as char), timestampdiff(minute, made, now()), unix_timestamp(aware) from zoned")
        found = cursor.fetchall()
        assert [row[:2] for row in found] == [("2024-05-06 12:00:00", 0)] * 3
        assert [row[2] for row in found] == [None, 1729992600, None]


@pytest.mark.parametrize("any_db", ["mariadb", "mysql"], indirect=True)
def test_instants_are_refused_where_an_hour_comes_twice_and_the_table_depends_on_the_zone(
    any_db: Database, conn: dbapi.Connection
) -> None:
    with conn.cursor() as cursor:
        zoned(cursor, "'+00:00'")
        for statement in SUMMER_TIME:
            run(cursor, statement)
        run(cursor, "set time_zone = 'Test/Summer'")
        with pytest.raises(dbapi.NotSupportedError, match="column 'made' of the table has a default"):
            cursor.adbc_ingest("zoned", pa.table(AWARE), mode="append")
        run(cursor, "alter table zoned drop column made")
        with pytest.raises(dbapi.NotSupportedError, match="column 'naive' of the table is given values without a zone"):
            cursor.adbc_ingest("zoned", pa.table({**NAIVE, **AWARE}), mode="append")
        assert cursor.adbc_ingest("zoned", pa.table(AWARE), mode="append") == 1
        assert rows(conn, "select unix_timestamp(aware), @@time_zone from zoned") == [(1729992600, "Test/Summer")]

        def cancelled() -> Iterator[pa.RecordBatch]:
            (batch,) = pa.table(AWARE).to_batches()
            yield batch
            cursor.adbc_cancel()
            yield batch

        reader = pa.RecordBatchReader.from_batches(pa.table(AWARE).schema, cancelled())
        with contextlib.suppress(dbapi.Error):
            cursor.adbc_ingest("zoned", reader, mode="append")
        # The session does not stay in UTC.
        assert rows(conn, "select @@time_zone") == [("Test/Summer",)]


def test_a_name_without_temporary_is_never_that_of_a_temporary_table(any_db: Database, conn: dbapi.Connection) -> None:
    if not any_db.hides_tables:
        pytest.skip("a temporary table cannot have the name of another")
    data = pa.table({"id": pa.array([1, 2], pa.int32())})
    for mode in ("append", "create_append", "replace"):
        with conn.cursor() as cursor:
            run(cursor, "drop table if exists hidden")
            run(cursor, "create table hidden (id int)")
        with connect(any_db) as other, other.cursor() as cursor:
            run(cursor, "create temporary table hidden (id int)")
            if any_db.names_hidden_tables:
                assert cursor.adbc_ingest("hidden", data, mode=mode) == 2
            else:
                with pytest.raises(dbapi.ProgrammingError, match=r"INVALID_STATE.*hides the table 'hidden'"):
                    cursor.adbc_ingest("hidden", data, mode=mode)
            assert rows(other, "select count(*) from hidden") == [(0,)]
        assert rows(conn, "select count(*) from hidden") == [(2 if any_db.names_hidden_tables else 0,)]
    with connect(any_db) as other, other.cursor() as cursor:
        # Nor the other way round.
        with pytest.raises(dbapi.Error):
            cursor.adbc_ingest("hidden", data, mode="append", temporary=True)
        cursor.adbc_ingest("hidden", data, mode="create", temporary=True)
        assert cursor.adbc_ingest("hidden", data, mode="append", temporary=True) == 2
    assert rows(conn, "select count(*) from hidden") == [(2 if any_db.names_hidden_tables else 0,)]


def test_a_table_of_a_later_schema_of_the_path_is_appended_to(url: str) -> None:
    with dbapi.connect(url, autocommit=True) as conn, conn.cursor() as cursor:
        cursor.execute('create schema "a\'b\\c"; create schema later; create table later."o\'k\\" (id int)')
        cursor.execute('set search_path to "a\'b\\c", later')
        data = pa.table({"id": [1]})
        cursor.adbc_ingest("o'k\\", data, mode="append")
        assert rows(conn, 'select count(*) from later."o\'k\\"') == [(1,)]
        cursor.adbc_ingest("o'k\\", data, mode="create")
        assert rows(conn, 'select count(*) from "a\'b\\c"."o\'k\\"') == [(1,)]
        cursor.adbc_ingest("o'k\\", data, mode="replace")
        assert rows(conn, 'select count(*) from later."o\'k\\"') == [(1,)]


def test_another_catalog_is_refused_or_meant(any_db: Database, conn: dbapi.Connection) -> None:
    data = pa.table({"id": pa.array([1], pa.int32())})
    with conn.cursor() as cursor:
        run(cursor, "drop table if exists in_another_catalog")
        with pytest.raises(dbapi.Error):
            cursor.adbc_ingest("in_another_catalog", data, mode="create", catalog_name="no_such_catalog")
        with pytest.raises(dbapi.Error):
            rows(conn, "select * from in_another_catalog")
        with pytest.raises(dbapi.Error):
            conn.adbc_get_table_schema("t", catalog_filter="no_such_catalog")
        catalog = conn.adbc_current_catalog
        assert conn.adbc_get_table_schema("t", catalog_filter=catalog).names
        assert cursor.adbc_ingest("in_another_catalog", data, mode="create", catalog_name=catalog) == 1


def test_another_schema_has_none_of_the_tables(any_db: Database, conn: dbapi.Connection) -> None:
    data = pa.table({"id": pa.array([1], pa.int32())})
    with pytest.raises(dbapi.Error):
        conn.adbc_get_table_schema("t", db_schema_filter="no_such_schema")
    objects = conn.adbc_get_objects(depth="tables", db_schema_filter="no_such_schema", table_name_filter="t")
    assert names(objects.read_all().to_pylist(), "catalog_db_schemas", "db_schema_tables", "table_name") == []
    with conn.cursor() as cursor:
        for mode in ("append", "create_append", "replace"):
            with pytest.raises(dbapi.Error):
                cursor.adbc_ingest("t", data, mode=mode, db_schema_name="no_such_schema")
    assert rows(conn, "select count(*) from t") == [(0,)]
    # Its own schema is taken, as the catalog has it.
    assert conn.adbc_get_table_schema("t", db_schema_filter=conn.adbc_current_db_schema).names == ["id", "name"]


def test_a_schema_or_catalog_is_that_of_one_ingestion(any_db: Database, conn: dbapi.Connection) -> None:
    if any_db.adbc_schema is None:
        pytest.skip("there is one schema that a test may write to")
    data, keyword = pa.table({"id": [1]}), any_db.adbc_schema
    with conn.cursor() as cursor:
        run(cursor, "drop table if exists here")
        run(cursor, "create schema if not exists elsewhere")
        cursor.adbc_ingest("here", data, mode="replace", **{keyword: "elsewhere"})
        cursor.adbc_ingest("here", data, mode="create")
        assert rows(conn, "select count(*) from here") == rows(conn, "select count(*) from elsewhere.here") == [(1,)]
        run(cursor, "drop table elsewhere.here")


@pytest.mark.parametrize("any_db", ["mariadb", "mysql"], indirect=True)
def test_text_of_a_table_that_is_made_may_be_any(any_db: Database, conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor:
        run(cursor, "create database if not exists of_latin1 character set latin1")
        data = pa.table({"s": ["é😀"]})
        assert cursor.adbc_ingest("texts", data, mode="replace", catalog_name="of_latin1") == 1
        assert rows(conn, "select s from of_latin1.texts") == [("é😀",)]
        run(cursor, "drop database of_latin1")


def test_modes_of_ingestion(any_db: Database, conn: dbapi.Connection) -> None:
    data = pa.table({"a": pa.array([1, 2], pa.int64()), "b": ["x", None]})
    with conn.cursor() as cursor:
        run(cursor, "drop table if exists modes")
        with pytest.raises(dbapi.Error):
            cursor.adbc_ingest("modes", data, mode="append")
        assert cursor.adbc_ingest("modes", data, mode="create") == 2
        with pytest.raises(dbapi.Error):
            cursor.adbc_ingest("modes", data, mode="create")
        assert cursor.adbc_ingest("modes", data, mode="append") == 2
        assert cursor.adbc_ingest("modes", data.to_batches()[0], mode="create_append") == 2
        assert rows(conn, "select count(*) from modes") == [(6,)]
        assert cursor.adbc_ingest("modes", data, mode="replace") == 2
        assert rows(conn, "select a, b from modes order by a") == [(1, "x"), (2, None)]
        run(cursor, "drop table modes")


def failing(*batches: pa.RecordBatch) -> pa.RecordBatchReader:
    """A stream that raises after these batches."""

    def generate() -> Iterator[pa.RecordBatch]:
        yield from batches
        raise ValueError("no more")

    return pa.RecordBatchReader.from_batches(batches[0].schema, generate())


FAILING = [pa.record_batch({"a": [1]}), pa.record_batch({"a": [2]})]


def test_table_of_a_failed_ingestion_is_not_there(any_db: Database, conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor:
        for mode in ("create", "replace"):
            run(cursor, "drop table if exists halfway")
            with pytest.raises(dbapi.Error, match="no more"):
                cursor.adbc_ingest("halfway", failing(*FAILING), mode=mode)
            with pytest.raises(dbapi.Error):
                run(cursor, "select * from halfway")


def test_failed_replacement_leaves_the_old_table(any_db: Database, conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor:
        cursor.adbc_ingest("replaced", pa.table({"a": [7, 8], "b": ["x", "y"]}), mode="replace")
    wrong = pa.table({"a": pa.array([1_700_000_000_123_456_789], pa.timestamp("ns"))})
    for autocommit in (True, False):
        with connect(any_db, autocommit=autocommit) as other, other.cursor() as cursor:
            for data in (failing(*FAILING), wrong):
                with pytest.raises(dbapi.Error):
                    cursor.adbc_ingest("replaced", data, mode="replace")
                if not autocommit:
                    other.rollback()
            assert cursor.adbc_ingest("other_name", pa.table({"a": [1]}), mode="replace") == 1
            if not autocommit:
                other.commit()
        assert rows(conn, "select a, b from replaced order by a") == [(7, "x"), (8, "y")]
    assert tables(conn, "headrace%") == []
    with conn.cursor() as cursor:
        for name in ("replaced", "other_name"):
            run(cursor, f"drop table {name}")


def tables(conn: dbapi.Connection, pattern: str) -> list[Any]:
    """The names of the tables that match a pattern."""
    found = conn.adbc_get_objects(depth="tables", table_name_filter=pattern).read_all().to_pylist()
    return names(found, "catalog_db_schemas", "db_schema_tables", "table_name")


@pytest.mark.parametrize("any_db", ["mariadb", "mysql"], indirect=True)
def test_table_is_there_until_its_replacement_is_whole(any_db: Database, conn: dbapi.Connection) -> None:
    data = pa.table({"a": [1, 2]})
    with conn.cursor() as cursor, connect(any_db) as other:
        cursor.adbc_ingest("swapped", pa.table({"a": [7]}), mode="replace")
        run(cursor, "create trigger at_swapped before insert on swapped for each row set new.a = 0")

        def generate() -> Iterator[pa.RecordBatch]:
            for batch in data.to_batches(max_chunksize=1):
                assert rows(other, "select a from swapped") == [(7,)]
                yield batch

        reader = pa.RecordBatchReader.from_batches(data.schema, generate())
        assert cursor.adbc_ingest("swapped", reader, mode="replace") == 2
        # Nor do its rows pass through a trigger, which is dropped with the old table.
        assert rows(other, "select a from swapped order by a") == [(1,), (2,)]
        assert cursor.adbc_ingest("swapped", data, mode="append") == 2
        assert rows(other, "select min(a), count(*) from swapped") == [(1, 4)]
        assert tables(conn, "headrace%") == []
        run(cursor, "drop table swapped")


@pytest.mark.parametrize("any_db", ["mariadb", "mysql"], indirect=True)
def test_what_a_foreign_key_refers_to_is_not_replaced(any_db: Database, conn: dbapi.Connection) -> None:
    data = pa.table({"id": pa.array([1, 2], pa.int32())})
    with conn.cursor() as cursor:
        run(cursor, "drop table if exists referring")
        run(cursor, "drop table if exists referred")
        run(cursor, "create table referred (id int primary key) engine=innodb")
        run(cursor, "insert into referred values (7)")
        run(cursor, "create table referring (id int, foreign key (id) references referred (id)) engine=innodb")
        for checks in (1, 0):
            run(cursor, f"set foreign_key_checks = {checks}")
            with pytest.raises(dbapi.Error, match=r"(?i)foreign key"):
                cursor.adbc_ingest("referred", data, mode="replace")
            assert rows(conn, "select id, @@foreign_key_checks from referred") == [(7, checks)]
            assert tables(conn, "headrace%") == []
        assert cursor.adbc_ingest("unreferred", data, mode="replace") == 2
        assert cursor.adbc_ingest("unreferred", data, mode="replace") == 2
        assert rows(conn, "select count(*), min(@@foreign_key_checks) from unreferred") == [(2, 0)]
        # It refers to the same table as before.
        run(cursor, "set foreign_key_checks = 1")
        run(cursor, "insert into referring values (7)")
        with pytest.raises(dbapi.IntegrityError):
            run(cursor, "insert into referring values (8)")
        run(cursor, "drop table unreferred")
        run(cursor, "drop table referring")
        run(cursor, "drop table referred")


@pytest.mark.parametrize("any_db", ["mariadb", "mysql"], indirect=True)
def test_view_is_not_replaced(any_db: Database, conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor:
        run(cursor, "create or replace view seen as select 7 as a")
        with pytest.raises(dbapi.Error, match="'seen' is not a table") as raised:
            cursor.adbc_ingest("seen", pa.table({"a": [1]}), mode="replace")
        assert raised.value.status_code == adbc_driver_manager.AdbcStatusCode.ALREADY_EXISTS
        assert rows(conn, "select a from seen") == [(7,)]
        run(cursor, "drop view seen")


def test_temporary_table_ends_with_the_connection(any_db: Database, conn: dbapi.Connection) -> None:
    data = pa.table({"a": pa.array([1, 2], pa.int64())})
    with connect(any_db) as other, other.cursor() as cursor:
        if not any_db.supports_temporary_tables:
            with pytest.raises(dbapi.NotSupportedError, match="temporary"):
                cursor.adbc_ingest("passing", data, mode="create", temporary=True)
            return
        assert cursor.adbc_ingest("passing", data, mode="create", temporary=True) == 2
        assert rows(other, "select count(*) from passing") == [(2,)]
    with pytest.raises(dbapi.Error):
        rows(conn, "select count(*) from passing")


def names(objects: list[dict[str, Any]], *path: str) -> list[Any]:
    """The values at the end of a path of lists."""
    for key in path[:-1]:
        objects = [child for parent in objects for child in parent[key] or []]
    return [each[path[-1]] for each in objects]


def test_objects_at_each_depth(any_db: Database, conn: dbapi.Connection) -> None:
    catalog, schema = conn.adbc_current_catalog, conn.adbc_current_db_schema

    def objects(depth: Any, **filters: Any) -> list[dict[str, Any]]:
        filters.setdefault("catalog_filter", catalog)
        return list(conn.adbc_get_objects(depth=depth, **filters).read_all().to_pylist())

    (one,) = objects("catalogs")
    assert one == {"catalog_name": catalog, "catalog_db_schemas": None}
    found = objects("db_schemas")
    assert schema in names(found, "catalog_db_schemas", "db_schema_name")
    path = ("catalog_db_schemas", "db_schema_tables")
    (t,) = (each for each in names(objects("tables", table_name_filter="t"), *path, "table_name"))
    assert t == "t"
    found = objects("all", table_name_filter="t", column_name_filter="n%")
    assert names(found, *path, "table_type") == ["table"]
    assert names(found, *path, "table_columns", "column_name") == ["name"]
    found = objects("all", table_name_filter="t", table_types_filter=["view"])
    assert names(found, *path, "table_name") == []
    columns = objects("all", table_name_filter="t")
    assert names(columns, *path, "table_columns", "ordinal_position") == [1, 2]
    if any_db.describes_constraints:
        assert names(columns, *path, "table_constraints", "constraint_type") == ["PRIMARY KEY"]
        assert names(columns, *path, "table_constraints", "constraint_column_names") == [["id"]]
        # Only a foreign key refers to other columns.
        assert names(columns, *path, "table_constraints", "constraint_column_usage") == [None]


def test_the_servers_own_schemas_are_shown_to_who_asks_for_them(url: str) -> None:
    own = {"pg_catalog", "information_schema"}
    with dbapi.connect(url, autocommit=True) as conn:
        path = ("catalog_db_schemas", "db_schema_name")
        shown = names(conn.adbc_get_objects(depth="db_schemas").read_all().to_pylist(), *path)
        assert "public" in shown
        assert not own & set(shown)
        every = names(conn.adbc_get_objects(depth="db_schemas", db_schema_filter="%").read_all().to_pylist(), *path)
        assert own < set(every)
        found = conn.adbc_get_objects(depth="tables", table_name_filter="columns").read_all().to_pylist()
        assert names(found, "catalog_db_schemas", "db_schema_tables", "table_name") == []


def test_facts_about_driver_and_server(any_db: Database, conn: dbapi.Connection) -> None:
    info = conn.adbc_get_info()
    vendors = {
        "postgresql": "PostgreSQL",
        "mysql": "MySQL",
        "mariadb": "MariaDB",
        "informix": "Informix",
        "cubrid": "CUBRID",
    }
    assert info["driver_arrow_version"].startswith("v")
    assert info["driver_version"] == adbc_driver_headrace.__version__
    assert info["vendor_name"] == vendors[any_db.name]
    assert info["vendor_version"]
    assert "table" in conn.adbc_get_table_types()


# The keys of adbc.h: 0 for bytes, 1 for distinct values, 5 for nulls, 6 for rows.
STATISTICS: dict[str, dict[tuple[str | None, int], float | None]] = {
    "postgresql": {
        (None, 6): 1000,
        ("id", 0): 4.0,
        ("id", 1): 1000,
        ("id", 5): 0,
        ("name", 1): 1,
        ("name", 5): 500,
    },
    # It has figures of columns with an index, and only how many values they have.
    "mysql": {(None, 6): 1000, ("id", 0): None, ("id", 1): 1000, ("id", 5): None, ("name", 1): None},
}


def test_statistics_are_those_of_the_planner(any_db: Database, conn: dbapi.Connection) -> None:
    assert conn.adbc_get_statistic_names().read_all().num_rows == 0
    if any_db.analyze is None:
        with pytest.raises(dbapi.NotSupportedError, match="statistics"):
            conn.adbc_get_statistics(approximate=True)
        return
    with conn.cursor() as cursor:
        values = [(n, "x" if n % 2 else None) for n in range(1000)]
        cursor.executemany(f"insert into t values ({marks(any_db, 2)})", values)
        run(cursor, any_db.analyze)
        cursor.fetchall()
    found = conn.adbc_get_statistics(
        catalog_filter=conn.adbc_current_catalog,
        db_schema_filter=conn.adbc_current_db_schema,
        table_name_filter="t",
        approximate=True,
    ).read_all()
    (catalog,) = found.to_pylist()
    assert catalog["catalog_name"] == conn.adbc_current_catalog
    (schema,) = catalog["catalog_db_schemas"]
    assert all(one["table_name"] == "t" and one["statistic_is_approximate"] for one in schema["db_schema_statistics"])
    statistics = {
        (one["column_name"], one["statistic_key"]): one["statistic_value"] for one in schema["db_schema_statistics"]
    }
    exact = STATISTICS[any_db.kind]
    assert {key: statistics.get(key) for key in exact} == exact


def test_partition_is_read_by_another_connection(any_db: Database, conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor, connect(any_db) as other, other.cursor() as reader:
        run(cursor, f"insert into t values ({marks(any_db, 2)})", 1, "one")
        if not any_db.supports_partitions:
            with pytest.raises(dbapi.NotSupportedError):
                cursor.adbc_execute_partitions("select * from t")
            return
        (partition,), schema = cursor.adbc_execute_partitions("select id, name from t")
        assert schema is not None
        assert schema.names == ["id", "name"]
        reader.adbc_read_partition(partition)
        assert reader.fetchall() == [(1, "one")]


@pytest.mark.parametrize("any_db", ["postgresql"], indirect=True)
def test_decimals_become_what_the_option_says(any_db: Database) -> None:
    """Only PostgreSQL has exact numbers without a precision."""
    for numeric, wanted in (("decimal", decimal.Decimal("1.5")), ("string", "1.5"), ("float64", 1.5)):
        with connect(any_db, numeric=numeric) as other:
            assert rows(other, "select 1.5::numeric as n") == [(wanted,)]
