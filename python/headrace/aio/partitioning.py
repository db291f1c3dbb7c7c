"""Partitions on asyncio. They are planned by :func:`headrace.partitions`, in a thread."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from importlib import import_module
from typing import Any

from .. import defaults, errors
from .._native import ArrowBatch, ArrowSink
from .._shared.arrow import arrow_sink
from .._shared.partition import Partition
from ..errors import DatabaseError
from ..partitioning import conninfo_of, gone, rules_of
from ._shared.arrow_stream import AsyncArrowStream
from ._shared.connection import LoopConnection

__all__ = ["AsyncPartitionStream", "read"]


class AsyncPartitionStream(AsyncArrowStream):
    """The Arrow record batches of a partition, while they are received, on a connection of their own.

    The connection is closed at the end of the stream. Close it if it is not read to its end, or use it as a context
    manager.
    """

    def __init__(self, connection: LoopConnection[Any], batches: AsyncGenerator[ArrowBatch], sink: ArrowSink) -> None:
        super().__init__(batches, sink)
        self._connection = connection

    async def __anext__(self) -> ArrowBatch:
        try:
            return await super().__anext__()
        except BaseException:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        """Ends the stream and closes its connection. Does nothing after its end."""
        try:
            await super().aclose()
        except errors.Error:
            # The connection ends anyway.
            pass
        finally:
            await self._connection.close()


async def read(
    partition: Partition,
    *,
    url: str | Callable[[], str | Awaitable[str]] | None = None,
    columns: Sequence[str] | None = None,
    batch_rows: int = defaults.ARROW_BATCH_ROWS,
    batch_bytes: int = defaults.ARROW_BATCH_BYTES,
    timeout: float | None = None,
) -> AsyncPartitionStream:
    """Reads a partition as Arrow record batches, in bounded memory, on a connection of its own to the running loop.

    Args:
        partition: a partition, of this process or another one.
        url: the URL of the database with its password, or a function that returns it and may be asynchronous; None as
            for :func:`headrace.read`.
        columns: the columns to read; None for all.
        batch_rows: rows of a record batch at most.
        batch_bytes: bytes of the values of a record batch after which it ends.
        timeout: seconds until each wait for the server is cancelled; None for ``command_timeout``.

    Returns:
        A stream of record batches. It opens its connection now and executes its statement with the first batch. Close
        it if it is not read to its end.

    Raises:
        ProgrammingError: there is no such column, or the snapshot of the plan has ended.
        OperationalError: no connection could be opened.
        DatabaseError: the server refused the statement.
    """
    if columns is not None:
        partition = partition.select(columns)
    given: Any = url() if callable(url) else url
    if inspect.isawaitable(given):
        given = await given
    sink = arrow_sink(partition.numeric, batch_rows, batch_bytes, fixed=True)
    conninfo, keywords = conninfo_of(partition, given)
    rules = rules_of(partition.database)
    module = import_module(f".{partition.database}", __package__)
    keywords |= rules.connecting(partition.snapshot is not None)
    connection: LoopConnection[Any] = await module.connect(conninfo, **keywords)
    try:
        for statement in rules.beginning(partition.snapshot):
            await connection._wait(connection._core.submit(statement, None), None)
        batches = connection._arrow_batches(partition.sql, partition.params or None, sink, timeout)
    except DatabaseError as error:
        await connection.close()
        raise gone(error) from error
    except BaseException:
        await connection.close()
        raise
    return AsyncPartitionStream(connection, batches, sink)
