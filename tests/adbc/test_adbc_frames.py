"""pandas and polars on connections of the ADBC driver, and the manifest by which programs find it."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import adbc_driver_manager.dbapi
import duckdb
import pandas
import polars
import pyarrow
import pyarrow.dataset
import pytest

import adbc_driver_headrace
from adbc_driver_headrace import dbapi
from headrace._command import main
from servers import Database

from .conftest import connect, marks, rows, run


def test_pandas_reads_and_writes_by_arrow(
    any_db: Database, conn: dbapi.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pandas.DataFrame({"id": [1, 2, 3], "price": [1.5, None, 2.5], "name": ["a", "b", None]})
    # By Arrow: no row becomes a Python object.
    monkeypatch.delattr(adbc_driver_manager.dbapi.Cursor, "fetchall")
    with conn.cursor() as cursor:
        run(cursor, "drop table if exists frame")
    assert frame.to_sql("frame", conn, index=False, if_exists="fail") == 3
    assert frame.to_sql("frame", conn, index=False, if_exists="append") == 3
    found = pandas.read_sql("select id, price, name from frame order by id", conn)
    assert found["id"].tolist() == [1, 1, 2, 2, 3, 3]
    assert found["price"].sum() == 8.0
    if not any_db.understands_double_quotes:
        return  # pandas quotes the name as the standard has it
    assert frame.to_sql("frame", conn, index=False, if_exists="replace") == 3
    assert len(pandas.read_sql("select * from frame", conn)) == 3


def test_polars_reads_and_writes_by_arrow(
    any_db: Database, conn: dbapi.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = polars.DataFrame({"id": [1, 2, 3], "name": ["a", "b", None]})
    with conn.cursor() as cursor:
        run(cursor, "drop table if exists frame")
    monkeypatch.delattr(adbc_driver_manager.dbapi.Cursor, "fetchall")
    assert frame.write_database("frame", conn, engine="adbc") == 3
    assert frame.write_database("frame", conn, engine="adbc", if_table_exists="append") == 3
    found = polars.read_database("select id, name from frame order by id", conn)
    assert found["id"].to_list() == [1, 1, 2, 2, 3, 3]
    assert found.schema["name"] == polars.String


def test_polars_finds_the_driver_by_the_uri(any_db: Database, conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor:
        run(cursor, "drop table if exists frame")
    uri = f"headrace:{any_db.url}"
    frame = polars.DataFrame({"id": [1, 2, 3], "name": ["a", "b", None]})
    assert frame.write_database("frame", uri, engine="adbc") == 3
    assert frame.write_database("frame", uri, engine="adbc", if_table_exists="append") == 3
    found = polars.read_database_uri("select id, name from frame order by id", uri, engine="adbc")
    assert found.rows() == [row for row in frame.rows() for _ in range(2)]


def test_polars_appends_to_a_table_that_it_makes(any_db: Database, conn: dbapi.Connection) -> None:
    frame = polars.DataFrame({"id": [1, 2]})
    with conn.cursor() as cursor:
        run(cursor, "drop table if exists appended")
    for _ in range(2):
        uri = f"headrace:{any_db.url}"
        assert frame.write_database("appended", uri, if_table_exists="append", engine="adbc") == 2
    assert rows(conn, "select count(*), sum(id) from appended") == [(4, 6)]


def test_lazy_frames_and_datasets_are_executed(any_db: Database, conn: dbapi.Connection) -> None:
    lazy = polars.LazyFrame({"id": [1, 2]}).with_columns(name=polars.format("name {}", "id"))
    dataset = pyarrow.dataset.dataset(pyarrow.table({"id": [3, 4], "name": ["c", "d"]}))
    with conn.cursor() as cursor:
        for data, count in ((lazy, 2), (dataset, 2), (dataset.scanner(filter=pyarrow.dataset.field("id") > 3), 1)):
            run(cursor, "delete from t")
            assert cursor.adbc_ingest("t", data, mode="append") == count
            assert len(rows(conn, "select id, name from t")) == count
    assert rows(conn, "select id, name from t") == [(4, "d")]


def test_a_frame_is_ingested_as_what_it_says(any_db: Database, conn: dbapi.Connection) -> None:
    nulls = polars.DataFrame({"id": [1, 2], "name": [None, None]})
    named = pandas.DataFrame({"name": ["c", "d"]}, index=pandas.RangeIndex(3, 5, name="id"))
    objects = polars.DataFrame({"id": [9], "name": [uuid.uuid4()]})
    empty = pyarrow.record_batch({"id": pyarrow.array([7, 8], pyarrow.int32()), "name": ["x", "y"]}).slice(2, 0)
    with conn.cursor() as cursor:
        assert cursor.adbc_ingest("t", nulls, mode="append") == 2
        assert cursor.adbc_ingest("t", named, mode="append") == 2
        assert cursor.adbc_ingest("t", empty, mode="append") == 0
        with pytest.raises(dbapi.NotSupportedError, match="column 'name' has the polars type Object"):
            cursor.adbc_ingest("t", objects, mode="append")
        with pytest.raises(dbapi.NotSupportedError, match="Object"):
            cursor.executemany(f"insert into t values ({marks(any_db, 2)})", objects)
        with pytest.raises(dbapi.NotSupportedError, match="Object"):
            cursor.execute(f"insert into t values ({marks(any_db, 2)})", objects)
        with conn.adbc_clone() as beside, beside.cursor() as other:
            assert isinstance(beside, dbapi.Connection)
            with pytest.raises(dbapi.NotSupportedError, match="Object"):
                other.adbc_ingest("t", objects, mode="append")
        with pytest.raises(dbapi.NotSupportedError, match="Object"):
            objects.write_database("t", conn, engine="adbc", if_table_exists="append")
    assert rows(conn, "select id, name from t order by id") == [(1, None), (2, None), (3, "c"), (4, "d")]


def test_duckdb_reads_a_stream_of_the_driver(any_db: Database, conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor:
        assert cursor.adbc_ingest("t", pyarrow.table({"id": range(1000), "name": ["x"] * 1000}), mode="append") == 1000
        run(cursor, "select id, name from t")
        found = duckdb.from_arrow(cursor.fetch_record_batch()).aggregate("count(*), sum(id), min(name)").fetchall()
    assert found == [(1000, 499_500, "x")]


def test_duckdb_queries_and_fills_a_database_by_arrow_streams(any_db: Database, conn: dbapi.Connection) -> None:
    """DuckDB reads the result by its name in Python, while the server sends it, and its own results are ingested."""
    with conn.cursor() as cursor, duckdb.connect() as duck:
        sent = duck.sql("select n::int as id, 'name ' || n as name from range(20000) t(n)")
        assert cursor.adbc_ingest("t", sent.to_arrow_reader(), mode="append") == 20_000
        with connect(any_db, batch_rows="1000") as other, other.cursor() as reading:
            run(reading, "select id, name from t")
            orders = reading.fetch_record_batch()
            wanted = "select count(*), sum(id), max(name) from orders where id % 2 = 0"
            assert duck.execute(wanted).fetchall() == [(10_000, 99_990_000, "name 9998")]
            # A stream has been read then: a second query would find no rows.
            assert orders.read_all().num_rows == 0


def test_driver_is_found_by_the_name_of_its_manifest(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "drivers"
    where = ["--folder", str(folder)]
    assert main(["adbc", "status", *where]) == 1
    assert main(["adbc", "install", *where]) == 0
    assert main(["adbc", "status", *where]) == 0
    assert adbc_driver_headrace.library_path() in (folder / "headrace.toml").read_text(encoding="utf-8")
    monkeypatch.setenv("ADBC_DRIVER_PATH", str(folder))
    options: dict[str, Any] = {"driver": "headrace", "db_kwargs": {"uri": url}}
    with adbc_driver_manager.dbapi.connect(**options, autocommit=True) as connection:
        assert rows(connection, "select 6 * 7 as answer") == [(42,)]
    assert main(["adbc", "uninstall", *where]) == 0
    assert main(["adbc", "uninstall", *where]) == 0
    assert not list(folder.iterdir())
    assert "is up to date" in capsys.readouterr().out
