"""Spark data frames of a table or query, and tables of data frames: a data source for Spark 4.

>>> frame = headrace.spark.read(spark, plan)  # doctest: +SKIP
"""

# pyright: basic, reportMissingTypeStubs=false, reportMissingImports=false

from __future__ import annotations

import base64
import itertools
import pickle
from collections.abc import Iterator
from typing import Any

import pyarrow
from pyspark import cloudpickle
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
from pyspark.sql.types import StructField, StructType

from ._plain_arrow import as_plain, plain_type
from .partitioning import Partition, PartitionPlan, Url, partitions
from .partitioning import read as read_partition
from .writing import PartitionedWrite, Written, partitioned_write

__all__ = ["HeadraceSource", "read", "register", "write"]


class HeadraceSource(DataSource):
    """The data source ``headrace``.

    Its options to read are the arguments of :func:`headrace.partitions`: ``url``, ``table`` or ``query``, ``by``,
    ``count``, ``where`` and ``columns`` (with commas). It plans without a shared snapshot; for one, make a plan and use
    :func:`read`. Its options to write are ``url``, ``table`` and ``idempotent``.
    """

    @classmethod
    def name(cls) -> str:
        """Returns the name of the format: ``headrace``."""
        return "headrace"

    def schema(self) -> StructType:
        """Returns the schema, which is known without reading a row."""
        return spark_schema(pyarrow.schema(self._plan()))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Returns a reader of the partitions, which reads the columns of the schema alone.

        Args:
            schema: that of the data source, or the one that ``DataFrameReader.schema`` was given.
        """
        made = self.options.get("partitions")
        parts = _decoded(made) if made else tuple(self._plan())
        return _Reader(parts, self._url(None), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """Returns a writer, whose staging table exists.

        Args:
            schema: of the rows.
            overwrite: replace the rows that are there.
        """
        url = self._url("") or ""
        idempotent = self.options.get("idempotent", "true").lower() != "false"
        job = partitioned_write(url, table=self.options["table"], overwrite=overwrite, idempotent=idempotent)
        job.begin(url=url)
        return _Writer(job, url)

    def _url(self, default: str | None) -> Url | None:
        if "url_function" in self.options:
            function: Url = _decoded(self.options["url_function"])
            return function
        url: str | None = self.options.get("url", default)
        return url

    def _plan(self) -> PartitionPlan:
        given: dict[str, Any] = {
            name: self.options[name] for name in ("table", "query", "by", "where") if name in self.options
        }
        if "count" in self.options:
            given["count"] = int(self.options["count"])
        if "columns" in self.options:
            given["columns"] = [name.strip() for name in self.options["columns"].split(",")]
        return partitions(self._url("") or "", snapshot="none", **given)


class _Reader(DataSourceReader):
    def __init__(self, parts: tuple[Partition, ...], url: Url | None, schema: StructType) -> None:
        self._parts = parts
        self._url = url
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(part) for part in self._parts]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        wanted: Any = to_arrow_schema(self._schema, timezone="UTC")
        with read_partition(partition.value, url=self._url, columns=wanted.names) as stream:
            for batch in stream:
                yield as_plain(pyarrow.record_batch(batch), wanted)


class _Message(WriterCommitMessage):
    def __init__(self, written: Written) -> None:
        self.written = written


class _Writer(DataSourceArrowWriter):
    def __init__(self, job: PartitionedWrite, url: Url) -> None:
        self._job = job
        self._url = url

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        first = next(iterator, None)
        if first is None:
            return _Message(Written("", 0, ()))
        batches = itertools.chain((first,), iterator)
        reader: Any = pyarrow.RecordBatchReader.from_batches(first.schema, batches)
        return _Message(self._job.write(reader, url=self._url))

    def commit(self, messages: list[Any]) -> None:
        self._job.commit([message.written for message in messages if message is not None], url=self._url)

    def abort(self, messages: list[Any]) -> None:
        self._job.abort(url=self._url)


def spark_schema(schema: Any) -> StructType:
    """Returns a schema in Spark's types.

    Args:
        schema: the ``pyarrow.Schema``.

    Raises:
        NotSupportedError: a column has a type that neither Spark has nor text can take the place of.
    """
    return StructType(
        [
            StructField(field.name, from_arrow_type(plain_type(field), prefer_timestamp_ntz=True), True)
            for field in schema
        ]
    )


def _encoded(value: Any) -> str:
    # The options of a data source are texts.
    return base64.b64encode(cloudpickle.dumps(value)).decode()


def _decoded(text: str) -> Any:
    return pickle.loads(base64.b64decode(text))


def _url_options(url: Url | None) -> dict[str, str]:
    """The options with a URL: Spark conceals what is in options whose names contain ``url``."""
    if url is None:
        return {}
    return {"url": url} if isinstance(url, str) else {"url_function": _encoded(url)}


def register(spark: Any) -> None:
    """Makes the format ``headrace`` known to a session.

    Args:
        spark: the ``SparkSession``.
    """
    spark.dataSource.register(HeadraceSource)


def read(spark: Any, plan: PartitionPlan, *, url: Url | None = None) -> Any:
    """Makes a data frame of a plan: each of its partitions is a task.

    Args:
        spark: the ``SparkSession``.
        plan: of :func:`headrace.partitions`. With a snapshot it has to stay open until the frame is computed.
        url: the URL that executors read from, or a function that returns it; None as for :func:`headrace.read`.

    Returns:
        A ``pyspark.sql.DataFrame``.

    Raises:
        NotSupportedError: a column has a type that neither Spark has nor text can take the place of.
    """
    register(spark)
    reader = spark.read.format("headrace").schema(spark_schema(pyarrow.schema(plan)))
    return reader.options(partitions=_encoded(tuple(plan)), **_url_options(url)).load()


def write(frame: Any, url: Url, table: str, *, overwrite: bool = False, idempotent: bool = True) -> None:
    """Writes a data frame into a table: a task for each partition.

    Args:
        frame: the ``pyspark.sql.DataFrame``, whose columns have the names of the table's.
        url: the database, or a function that returns its URL, which then is called by each task.
        table: the table, as it is written in SQL.
        overwrite: replace the rows that are there.
        idempotent: as for :func:`headrace.writing.partitioned_write`.
    """
    register(frame.sparkSession)
    mode = "overwrite" if overwrite else "append"
    options = {"table": table, "idempotent": str(idempotent), **_url_options(url)}
    frame.write.format("headrace").mode(mode).options(**options).save()
