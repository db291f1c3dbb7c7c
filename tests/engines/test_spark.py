"""Spark's data frames of a plan, and back into a table, also if tasks are killed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

import headrace
import headrace.spark
from servers import Database

from .conftest import EXPECTED, ROWS, STAGED, First, check_copied, staging_tables, write_options, written

# An engine takes long to start where other programs run.
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """Spark on this machine: two tasks at the same time, each of which may fail three times."""
    # Workers cannot import the tests.
    for name in (__name__, First.__module__):
        cloudpickle.register_pickle_by_value(sys.modules[name])
    session = (
        SparkSession.builder.master("local[2,4]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.memory", "1g")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def test_frame_has_the_rows_of_a_plan(any_db: Database, tables: Any, spark: Any) -> None:
    with headrace.partitions(any_db.url, table="many_lines", count=4) as plan:
        frame = headrace.spark.read(spark, plan, url=any_db.url)
        assert frame.rdd.getNumPartitions() == len(plan)
        assert dict(frame.dtypes) == {"id": "int", "k": "int", "name": "string", "price": "decimal(10,2)"}
        assert sorted(map(tuple, frame.collect())) == [tuple(row) for row in tables.fetch("select * from many_lines")]


def test_format_has_options_and_reads_the_columns_of_a_schema(any_db: Database, tables: Any, spark: Any) -> None:
    headrace.spark.register(spark)
    reader = spark.read.format("headrace").options(url=any_db.url, table="many_lines", by="id", count=3)
    frame = reader.option("columns", "id, name").option("where", "k is null").load()
    assert frame.columns == ["id", "name"]
    assert frame.rdd.getNumPartitions() == 3
    assert {row.id for row in frame.collect()} == {n for n in range(ROWS) if n % 3 == 0}
    # The statement names this column alone.
    chosen = spark.read.format("headrace").options(url=any_db.url, table="many_lines").schema("k int").load()
    assert chosen.agg({"k": "sum"}).collect()[0][0] == sum(n for n in range(ROWS) if n % 3)


def test_frame_is_written_into_a_table(any_db: Database, tables: Any, spark: Any) -> None:
    with headrace.partitions(any_db.url, table="many_lines", count=4) as plan:
        frame = headrace.spark.read(spark, plan, url=any_db.url).select("id", "name")
        headrace.spark.write(frame, any_db.url, "copied", **write_options(any_db))
    check_copied(any_db, tables)


class Killed(headrace.spark.HeadraceSource):
    """A source one of whose tasks dies after its rows are in the staging table, and before Spark knows."""

    @classmethod
    def name(cls) -> str:
        return "killed"

    def writer(self, schema: Any, overwrite: bool) -> Any:
        writer: Any = super().writer(schema, overwrite)
        whole = writer.write
        first = First(self.options["first"])

        def write(iterator: Any) -> Any:
            done = whole(iterator)
            if first():
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        writer.write = write
        return writer


@STAGED
def test_task_that_was_killed_and_runs_again_writes_once(
    any_db: Database, tables: Any, spark: Any, tmp_path: Path
) -> None:
    spark.dataSource.register(Killed)
    path = str(tmp_path / "killed")
    tables.execute("delete from copied")
    with headrace.partitions(any_db.url, table="many_lines", count=4) as plan:
        frame = headrace.spark.read(spark, plan, url=any_db.url).select("id", "name")
        frame.write.format("killed").mode("append").options(url=any_db.url, table="copied", first=path).save()
    assert not First(path)(), "no task was killed"
    assert written(tables) == EXPECTED
    assert staging_tables(any_db, tables) == []


@STAGED
def test_failed_write_changes_nothing(any_db: Database, tables: Any, spark: Any) -> None:
    with headrace.partitions(any_db.url, table="many_lines", count=2) as plan:
        frame = headrace.spark.read(spark, plan, url=any_db.url).selectExpr(
            "if(id = 700, raise_error('no mood'), id) as id", "name"
        )
        with pytest.raises(Exception, match="no mood"):
            headrace.spark.write(frame, any_db.url, "copied", overwrite=True)
    assert written(tables) == [(-1, "before")]
    assert staging_tables(any_db, tables) == []
