"""Dask data frames of a table or query, and tables of data frames.

>>> frame = headrace.dask.read(plan)  # doctest: +SKIP
"""

# pyright: basic, reportMissingTypeStubs=false

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import dask
import dask.dataframe
import pandas
import pyarrow

from .errors import Error
from .partitioning import Partition, PartitionPlan, Url
from .partitioning import read as read_partition
from .writing import PartitionedWrite, Written, partitioned_write

__all__ = ["read", "write"]


def read(plan: PartitionPlan, *, url: Url | None = None) -> Any:
    """Makes a data frame of a plan: each of its partitions is one of Dask's, which reads only columns that are used.

    The values have pandas' Arrow types, which keep integers beside NULLs, and decimals.

    Args:
        plan: of :func:`headrace.partitions`. With a snapshot it has to stay open until the frame is computed.
        url: the URL that workers read from, or a function that returns it; None as for :func:`headrace.read`.

    Returns:
        A ``dask.dataframe.DataFrame``.
    """
    schema: Any = pyarrow.schema(plan)
    meta = _frame(schema.empty_table())
    return dask.dataframe.from_map(_part, list(plan), meta=meta, url=url, label="headrace")


def _part(partition: Partition, columns: Sequence[str] | None = None, url: Url | None = None) -> Any:
    # A frame of which only the length is requested has no columns.
    wanted = None if columns is None else (list(columns) or [partition.columns[0]])
    frame = _frame(pyarrow.table(read_partition(partition, url=url, columns=wanted)))
    return frame if columns is None else frame[list(columns)]


def _frame(table: Any) -> Any:
    return table.to_pandas(types_mapper=pandas.ArrowDtype)


def write(frame: Any, url: Url, table: str, *, overwrite: bool = False, idempotent: bool = True) -> int:
    """Writes a data frame into a table: a task for each partition. Computes it.

    Args:
        frame: the ``dask.dataframe.DataFrame``, whose columns have the names of the table's. Its index is not written.
        url: the database, or a function that returns its URL, which then is called by each task.
        table: the table, as it is written in SQL.
        overwrite: replace the rows that are there.
        idempotent: as for :func:`headrace.writing.partitioned_write`.

    Returns:
        The number of rows.
    """
    job = partitioned_write(url, table=table, overwrite=overwrite, idempotent=idempotent)
    job.begin(url=url)
    # Neither name is exported by the package itself.
    engine: Any = dask
    try:
        task = engine.delayed(_write, pure=False)
        done: Sequence[Written] = engine.compute(*[task(part, job, url) for part in frame.to_delayed()])
        return job.commit(done, url=url)
    except BaseException:
        with contextlib.suppress(Error):
            job.abort(url=url)
        raise


def _write(frame: Any, job: PartitionedWrite, url: Url) -> Written:
    return job.write(pyarrow.Table.from_pandas(frame, preserve_index=False), url=url)
