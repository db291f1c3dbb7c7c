"""Tables and queries that are read in parts: by threads, processes or machines.

:func:`headrace.partitions` divides, :func:`headrace.read` reads one part as Arrow.
"""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from importlib import import_module
from types import TracebackType
from typing import Any, Final, Literal, NoReturn, TypeVar, overload

from . import defaults
from ._native import ArrowBatch, ArrowSink
from ._partition_threads import PartitionStream, in_order
from ._shared.arrow import Numeric, arrow_sink
from ._shared.arrow_stream import ArrowStream
from ._shared.connection import BlockingConnection
from ._shared.dispatch import module_for
from ._shared.loading import NO_CONVERSIONS
from ._shared.partition import Partition, quoted, without_secrets
from ._shared.planning import AUTO, Planned, Request, Source
from .errors import DatabaseError, ProgrammingError

__all__ = ["Partition", "PartitionPlan", "PartitionStream", "partitions", "read"]

Url = str | Callable[[], str]
Self = TypeVar("Self", bound="PartitionPlan")

_plans: Final[weakref.WeakValueDictionary[str, PartitionPlan]] = weakref.WeakValueDictionary()
"""The plans that this process has made: their partitions need no URL here."""


class PartitionPlan:
    """The partitions of a table or query.

    It is for the process that made it; its partitions are for any. With a shared snapshot it holds a connection, which
    :meth:`close` closes: read the partitions before. It is a context manager, and it has the Arrow PyCapsule interface,
    by which its rows are read one partition after the other.
    """

    def __init__(
        self,
        parts: tuple[Partition, ...],
        planned: Planned,
        sink: ArrowSink,
        url: Url,
        what: str,
        connection: BlockingConnection[Any] | None,
    ) -> None:
        self._partitions = parts
        self._planned = planned
        self._sink = sink
        self._url = url
        self._what = what
        self._connection = connection

    @overload
    def __getitem__(self, index: int) -> Partition: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Partition, ...]: ...
    def __getitem__(self, index: int | slice) -> Partition | tuple[Partition, ...]:
        found = self._partitions[index]
        return self._lent(found) if isinstance(found, Partition) else tuple(map(self._lent, found))

    def __len__(self) -> int:
        return len(self._partitions)

    def __iter__(self) -> Iterator[Partition]:
        return map(self._lent, self._partitions)

    def _lent(self, part: Partition) -> Partition:
        """A partition for the program, which keeps the plan, and its snapshot with it. The plan's own do not: a cycle
        is collected later than it is dropped."""
        return part._with_plan(self)

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        """Refuses to be values of NumPy: pandas would make a frame of the partitions, and not of their rows."""
        raise TypeError("a PartitionPlan is rows for libraries that take Arrow streams: pyarrow.table(plan), for one")

    @property
    def by(self) -> str:
        """What it is divided by: a column, ``ctid``, or nothing if there is one partition."""
        return self._planned.by

    @property
    def snapshot(self) -> str | None:
        """The snapshot that all partitions are read in; None if each sees what is committed when it is read."""
        return self._planned.snapshot

    @property
    def no_snapshot_because(self) -> str | None:
        """Why there is no shared snapshot; None if there is one."""
        return self._planned.remark or None

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return self._sink.column_names

    @property
    def rows(self) -> int | None:
        """The number of rows, as estimated; None if it is not known."""
        known = [part.rows for part in self._partitions if part.rows is not None]
        return sum(known) if known else None

    @property
    def is_open(self) -> bool:
        """Returns true if its partitions can be read: it has no snapshot, or holds the connection that keeps it."""
        return self.snapshot is None or (self._connection is not None and not self._connection.closed)

    def read(
        self,
        threads: int = 1,
        *,
        columns: Sequence[str] | None = None,
        batch_rows: int = defaults.ARROW_BATCH_ROWS,
        batch_bytes: int = defaults.ARROW_BATCH_BYTES,
        timeout: float | None = None,
    ) -> ArrowStream:
        """Reads all partitions on this machine, each on a connection of its own.

        The batches come in the order of the partitions. Each thread waits when it is
        ``defaults.PARTITION_BATCHES`` batches ahead, so that memory is bounded.

        Args:
            threads: the partitions that are read at the same time, at least 1.
            columns: the columns to read; None for all.
            batch_rows: rows of a record batch at most.
            batch_bytes: bytes of the values of a record batch after which it ends.
            timeout: seconds until each wait for the server is cancelled; None for ``command_timeout``.

        Returns:
            A stream of record batches. Close it if it is not read to its end.

        Raises:
            ProgrammingError: ``threads`` is less than 1, there is no such column, or the plan is closed.
            OperationalError: a connection could not be opened.
            DatabaseError: the server refused a statement.
        """
        if threads < 1:
            raise ProgrammingError("plan.read() needs at least 1 thread")
        if not self.is_open:
            raise ProgrammingError("the plan is closed, and its snapshot with it")
        parts = self._partitions if columns is None else tuple(part.select(columns) for part in self._partitions)
        sink = self._sink
        if columns is not None:
            sink = _schema(self._url, parts[0], timeout)

        opening = [
            partial(read, part, url=self._url, batch_rows=batch_rows, batch_bytes=batch_bytes, timeout=timeout)
            for part in parts
        ]
        return ArrowStream(self._held(in_order(opening, threads)), sink)

    def _held(self, batches: Generator[ArrowBatch]) -> Generator[ArrowBatch]:
        """The same batches, which keep the plan, and its snapshot with it, until they are read or closed."""
        yield from batches

    def __arrow_c_schema__(self) -> Any:
        """The schema, as a capsule of an ``ArrowSchema``. No row was read for it."""
        return self._sink.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """All rows, as a capsule of an ``ArrowArrayStream``."""
        return self.read().__arrow_c_stream__(requested_schema)

    def close(self) -> None:
        """Closes the connection that keeps the snapshot. Partitions that are read before go on. Does nothing without a
        snapshot, or after the first time."""
        if self._connection is not None:
            self._connection.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a PartitionPlan is for the process that made it; send its partitions to others")

    def __repr__(self) -> str:
        number = "1 partition" if len(self) == 1 else f"{len(self)} partitions"
        by = f" by {self.by}" if self.by else ", as there is nothing to divide by"
        snapshot = f"no shared snapshot: {self._planned.remark}" if self.snapshot is None else "one snapshot"
        return f"<PartitionPlan of {self._what}: {number}{by}; {snapshot}>"


def partitions(
    url: Url = "",
    /,
    *,
    table: str | None = None,
    query: str | None = None,
    params: Sequence[Any] = (),
    by: str = AUTO,
    count: int = defaults.PARTITIONS,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    numeric: Numeric = "decimal",
    snapshot: Literal["shared", "none"] = "shared",
) -> PartitionPlan:
    """Divides a table or query into partitions that can be read independently, by threads, processes or machines.

    Each row is in one partition. On PostgreSQL all partitions are read in one snapshot, that of this call, and the plan
    has to stay open until they are read; on the other databases each sees what is committed when it is read.

    Args:
        url: the database, as for :func:`headrace.connect`, or a function that returns its URL. The partitions contain
            the URL without passwords, or the function.
        table: a table or view, as it is written in SQL.
        query: a SELECT, in place of a table. It has to return the same rows each time.
        params: the parameters of ``query`` and ``where``, in this order, for ``%s``.
        by: the column to divide by. ``"auto"`` chooses: a table of PostgreSQL is divided by the places of its rows
            (``"ctid"``), everything else by a key. NULLs have a partition of their own.
        count: the number of partitions, without that of the NULLs; there may be fewer.
        columns: the columns to read; None for all.
        where: a condition that rows have to satisfy, in SQL.
        numeric: the Arrow type of exact numbers whose type has no precision, as in ``fetch_arrow``.
        snapshot: ``"none"`` does without a shared snapshot on PostgreSQL, too: the plan then holds no connection.

    Returns:
        The plan: a sequence of partitions.

    Raises:
        ProgrammingError: an argument is wrong, there is no such column, or a name is longer than those of the database.
        OperationalError: no connection could be opened.
        DatabaseError: the server refused a statement, such as one that sorts values without an order.
    """
    request = _request(table, query, params, by, count, columns, where, numeric, snapshot)
    conninfo = url() if callable(url) else url
    module = module_for(conninfo, __package__ or "headrace")
    database = module.__name__.rpartition(".")[2]
    rules = rules_of(database)
    rules.NAMES.check_sql(table or "")
    for name in request.columns or ():
        rules.NAMES.check(name)
    # Of the values it reads only some become bounds, and each partition is read by its own URL.
    keywords = {**NO_CONVERSIONS, "unrepresentable": "none", **rules.connecting(request.shared)}
    connection: BlockingConnection[Any] = module.connect(conninfo, **keywords)
    try:
        source: Source
        planned: Planned
        source, planned = rules.plan(connection, request)
        sink, fields = source.describe(connection, request.columns)
        names = tuple(field[0] for field in fields)
        selected: tuple[str, ...] = ("*",)
        if request.columns is not None or source.relation:
            selected = tuple(quoted(name, source.quote) for name in names)
        plan_id = os.urandom(16).hex()
        parts: list[Partition] = []
        for number, part in enumerate(planned.parts):
            text, given = source.text(part.condition, part.params)
            parts.append(
                Partition(
                    plan=plan_id,
                    number=number,
                    columns=names,
                    selected=tuple(name.replace("%", source.percent) for name in selected) if given else selected,
                    source=text,
                    params=given,
                    database=database,
                    address=() if callable(url) else without_secrets(rules.address(conninfo)),
                    url=url if callable(url) else None,
                    snapshot=planned.snapshot,
                    rows=part.rows,
                    numeric=numeric,
                    quote=source.quote,
                    percent=source.percent if given else "%",
                )
            )
    except BaseException:
        connection.close()
        raise
    if planned.snapshot is None:
        connection.close()
    what = table if table is not None else "a query"
    held = connection if planned.snapshot is not None else None
    plan = PartitionPlan(tuple(parts), planned, sink, url, what, held)
    _plans[plan_id] = plan
    return plan


def _request(
    table: str | None,
    query: str | None,
    params: Sequence[Any],
    by: str,
    count: int,
    columns: Sequence[str] | None,
    where: str | None,
    numeric: Numeric,
    snapshot: str,
) -> Request:
    if (table is None) == (query is None):
        raise ProgrammingError("partitions() needs either table or query")
    if not isinstance(count, int) or count < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ProgrammingError(f"count={count!r} is not a number of partitions")
    if snapshot not in ("shared", "none"):
        raise ProgrammingError(f"snapshot={snapshot!r} is neither 'shared' nor 'none'")
    if columns is not None and (isinstance(columns, str) or not columns):
        raise ProgrammingError("columns are a sequence of at least one name")
    if isinstance(params, (str, bytes)) or hasattr(params, "keys"):
        raise ProgrammingError("the parameters of partitions() are a sequence, for %s")
    return Request(
        table=table,
        query=(query or "").strip().rstrip(";").rstrip(),
        params=tuple(params),
        by=by,
        count=count,
        columns=None if columns is None else tuple(columns),
        where=where or "",
        numeric=numeric,
        shared=snapshot == "shared",
    )


def rules_of(database: str) -> Any:
    """How a database divides."""
    return import_module(f"{__package__}.{database}.partitions")


def read(
    partition: Partition,
    *,
    url: Url | None = None,
    columns: Sequence[str] | None = None,
    batch_rows: int = defaults.ARROW_BATCH_ROWS,
    batch_bytes: int = defaults.ARROW_BATCH_BYTES,
    timeout: float | None = None,
) -> PartitionStream:
    """Reads a partition as Arrow record batches, in bounded memory, on a connection of its own.

    Args:
        partition: a partition, of this process or another one.
        url: the URL of the database with its password, or a function that returns it; None for, in this order, the URL
            of the plan if this process made it, the function that the plan was made with, or the plan's URL without its
            password, which is then taken from where the driver looks for one: the environment or a password file.
        columns: the columns to read; None for all.
        batch_rows: rows of a record batch at most.
        batch_bytes: bytes of the values of a record batch after which it ends.
        timeout: seconds until each wait for the server is cancelled; None for ``command_timeout``.

    Returns:
        A stream of record batches, which has the Arrow PyCapsule interface. It opens its connection now and executes
        its statement with the first batch. Close it if it is not read to its end.

    Raises:
        ProgrammingError: there is no such column, or the snapshot of the plan has ended.
        OperationalError: no connection could be opened.
        DatabaseError: the server refused the statement.
    """
    if columns is not None:
        partition = partition.select(columns)
    sink = arrow_sink(partition.numeric, batch_rows, batch_bytes, fixed=True)
    connection = _connected(partition, url)
    try:
        batches = connection._arrow_batches(partition.sql, partition.params or None, sink, timeout)
    except BaseException:
        connection.close()
        raise
    return PartitionStream(connection, batches, sink)


def conninfo_of(partition: Partition, url: Url | None) -> tuple[str, dict[str, Any]]:
    """What a partition is read from: a connection string and keywords."""
    if url is None:
        plan = _plans.get(partition.plan)
        url = partition.url if plan is None else plan._url
    if url is None:
        return "", dict(partition.address)
    return (url() if callable(url) else url), {}


def gone(error: DatabaseError) -> ProgrammingError:
    """The error for a snapshot that is not there."""
    return ProgrammingError(
        f"the partition cannot be read in the snapshot of its plan, which has to be open, on the same server: {error}"
    )


def _connected(partition: Partition, url: Url | None) -> BlockingConnection[Any]:
    """A connection in the snapshot of the partition."""
    conninfo, keywords = conninfo_of(partition, url)
    rules = rules_of(partition.database)
    module = import_module(f"{__package__}.{partition.database}")
    keywords |= rules.connecting(partition.snapshot is not None)
    connection: BlockingConnection[Any] = module.connect(conninfo, **keywords)
    try:
        for statement in rules.beginning(partition.snapshot):
            connection._wait(connection._core.submit(statement, None), None)
    except DatabaseError as error:
        connection.close()
        raise gone(error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _schema(url: Url, partition: Partition, timeout: float | None) -> ArrowSink:
    """The sink of a partition's columns, without its rows."""
    sink = ArrowSink(partition.numeric, 1, 1)
    connection = _connected(partition, url)
    with contextlib.closing(connection):
        sql = f"SELECT * FROM ({partition.sql}) p WHERE 1 = 0"
        connection._wait(connection._core.submit_arrow(sql, partition.params or None, sink), timeout)
    return sink
