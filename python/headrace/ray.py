"""Ray datasets of a table or query, and tables of datasets.

>>> dataset = headrace.ray.read(plan)  # doctest: +SKIP
"""

# pyright: basic, reportMissingTypeStubs=false, reportMissingImports=false

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow
import ray.data
from ray.data import Datasink, Datasource, ReadTask
from ray.data.block import BlockAccessor, BlockMetadata

from .partitioning import Partition, PartitionPlan, Url
from .partitioning import read as read_partition
from .writing import Written, partitioned_write

__all__ = ["HeadraceDatasink", "HeadraceDatasource", "read", "write"]


class HeadraceDatasource(Datasource):
    """The partitions of a plan as tasks of Ray: there are as many as the plan has, whatever number Ray asks for.

    Args:
        plan: of :func:`headrace.partitions`.
        url: the URL that workers read from, as for :func:`read`.
    """

    def __init__(self, plan: PartitionPlan, url: Url | None = None) -> None:
        super().__init__()
        # Ray's own data sources that take a choice of columns do this, too.
        self._projection_map = None
        self._partitions = tuple(plan)
        self._schema: Any = pyarrow.schema(plan)
        self._url = url

    def estimate_inmemory_data_size(self) -> int | None:
        """Returns None, as it is not known."""
        return None

    def supports_projection_pushdown(self) -> bool:
        """Returns true: only columns that are used are read."""
        return True

    def get_read_tasks(
        self, parallelism: int, per_task_row_limit: int | None = None, data_context: Any = None
    ) -> list[ReadTask]:
        """Returns a task for each partition.

        Args:
            parallelism: the number that Ray would like.
            per_task_row_limit: passed on to the tasks.
            data_context: not used.
        """
        names = self.get_projection_map()
        columns = None if names is None else list(names)
        schema = self._schema
        if columns is not None:
            schema = pyarrow.schema([self._schema.field(name) for name in columns])
        # An estimated number of rows would be taken for the exact one.
        metadata = BlockMetadata(num_rows=None, size_bytes=None, exec_stats=None, input_files=None)
        return [
            ReadTask(
                partial(_tables, part, self._url, columns),
                metadata,
                schema=schema,
                per_task_row_limit=per_task_row_limit,
            )
            for part in self._partitions
        ]


def _tables(partition: Partition, url: Url | None, columns: Sequence[str] | None) -> Iterator[Any]:
    # If only the length is requested, no column is named. Ray counts no rows of a table without columns.
    wanted = None if columns is None else (list(columns) or [partition.columns[0]])
    with read_partition(partition, url=url, columns=wanted) as stream:
        for batch in stream:
            yield pyarrow.table(batch)


def read(plan: PartitionPlan, *, url: Url | None = None) -> Any:
    """Makes a dataset of a plan: each of its partitions is a task, whose record batches are blocks.

    Args:
        plan: of :func:`headrace.partitions`. With a snapshot it has to stay open until the dataset is read.
        url: the URL that workers read from, or a function that returns it; None as for :func:`headrace.read`.

    Returns:
        A ``ray.data.Dataset``.
    """
    return ray.data.read_datasource(HeadraceDatasource(plan, url), override_num_blocks=len(plan))


class HeadraceDatasink(Datasink[Written]):
    """A table that tasks of Ray write into.

    Args:
        url: the database, as for :func:`write`.
        table: the table, as it is written in SQL.
        overwrite: replace the rows that are there.
        idempotent: as for :func:`headrace.writing.partitioned_write`.
    """

    def __init__(self, url: Url, table: str, *, overwrite: bool = False, idempotent: bool = True) -> None:
        self._job = partitioned_write(url, table=table, overwrite=overwrite, idempotent=idempotent)
        self._url = url
        self._begun = False

    def on_write_start(self, schema: Any = None) -> None:
        """Creates the staging table.

        Args:
            schema: of the rows; not used.
        """
        self._begun = True
        self._job.begin(url=self._url)

    def write(self, blocks: Iterable[Any], ctx: Any) -> Written:
        """Writes the blocks of a task, all or none.

        Args:
            blocks: of Arrow or pandas.
            ctx: the task's; not used.
        """
        tables = (BlockAccessor.for_block(block).to_arrow() for block in blocks)
        first = next((table for table in tables if table.num_columns), None)
        if first is None:
            return Written("", 0, ())
        rest = (table.select(first.schema.names).cast(first.schema) for table in tables if table.num_rows)
        batches = (batch for table in itertools.chain((first,), rest) for batch in table.to_batches())
        reader: Any = pyarrow.RecordBatchReader.from_batches(first.schema, batches)
        return self._job.write(reader, url=self._url)

    def on_write_complete(self, write_result: Any) -> None:
        """Makes the rows of all tasks visible.

        Args:
            write_result: with what the tasks returned.
        """
        if not self._begun:
            # There was no block, so there were no tasks.
            self.on_write_start()
        self._job.commit(write_result.write_returns, url=self._url)

    def on_write_failed(self, error: Exception) -> None:
        """Drops what was written.

        Args:
            error: what failed.
        """
        if self._begun:
            self._job.abort(url=self._url)


def write(dataset: Any, url: Url, table: str, *, overwrite: bool = False, idempotent: bool = True) -> None:
    """Writes a dataset into a table: a task for each of its blocks, or for some of them. Executes it.

    Args:
        dataset: the ``ray.data.Dataset``, whose columns have the names of the table's.
        url: the database, or a function that returns its URL, which then is called by each task.
        table: the table, as it is written in SQL.
        overwrite: replace the rows that are there.
        idempotent: as for :func:`headrace.writing.partitioned_write`.
    """
    dataset.write_datasink(HeadraceDatasink(url, table, overwrite=overwrite, idempotent=idempotent))
