"""Tables that are written in parts: by tasks of a cluster that may fail, or run twice."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final
from uuid import uuid4

from ._shared.arrow import reader_maker
from ._shared.connection import BlockingConnection
from ._shared.dispatch import module_for
from ._shared.loading import NO_CONVERSIONS
from ._shared.partition import quoted, without_secrets
from .errors import DatabaseError, NotSupportedError, ProgrammingError, UndefinedTable
from .partitioning import Url, rules_of

__all__ = ["PartitionedWrite", "Written", "partitioned_write"]

_ATTEMPT: Final = "headrace_attempt"
"""The column of a staging table with the attempt that wrote a row."""
_ATTEMPTS_IN_STATEMENT: Final = 1000
_PATIENCE: Final = 10.0
"""Seconds that a commit waits for attempts that still write, before it leaves the staging table where it is."""


@dataclass(frozen=True)
class Written:
    """The result of a task: what it wrote, if the write is committed with it."""

    attempt: str
    """The number of this attempt of the task."""
    rows: int
    """The number of rows."""
    columns: tuple[str, ...]
    """The columns that were written."""


@dataclass(frozen=True)
class PartitionedWrite:
    """A write to a table by several tasks. It is small, immutable, can be pickled, and contains no password.

    Each task writes atomically into a staging table, under the number of its attempt. :meth:`commit` then moves the
    rows of the attempts that it is given into the table, in one transaction: what other attempts wrote is dropped.
    """

    table: str
    """As it is written in SQL."""
    staging: str
    """The name of the staging table; empty if the tasks write directly. The table with ``_open`` after its name has a
    row until the write is committed."""
    overwrite: bool
    """The rows that were there are deleted by :meth:`commit`."""
    database: str
    """The package of its driver."""
    address: tuple[tuple[str, str], ...]
    """The settings of the URL, without passwords."""
    url: Callable[[], str] | None
    """The function that returns a URL, if it was made with one."""

    def begin(self, *, url: Url | None = None) -> None:
        """Creates the staging table, and the one whose row the commit takes. Call it once, before the tasks.

        Args:
            url: the URL of the database with its password, or a function that returns it; None as for
                :func:`headrace.read`.

        Raises:
            OperationalError: no connection could be opened.
            DatabaseError: the table is missing, or no other can be created next to it.
        """
        if self.staging:
            source = rules_of(self.database).STAGED.format(self.table)
            select = f"SELECT t.*, CAST('{'0' * 32}' AS CHAR(32)) AS {_ATTEMPT} FROM {source} WHERE 1 = 0"
            with contextlib.closing(self._connect(url, autocommit=True)) as connection:
                self._execute(connection, f"CREATE TABLE {self.staging} AS {select}")
                self._execute(connection, f"CREATE TABLE {self.staging}_open AS SELECT 1 AS n")

    def write(self, data: Any, *, url: Url | None = None) -> Written:
        """Writes the rows of a task, all or none. With a staging table it may be called any number of times for the
        same rows, also at the same time.

        Args:
            data: Arrow data: anything with ``__arrow_c_stream__``. Its columns have the names of the table's.
            url: the URL of the database, as for :meth:`begin`.

        Returns:
            What :meth:`commit` needs.

        Raises:
            ModuleNotFoundError: pyarrow is not installed.
            ProgrammingError: the write has not begun, or was committed or aborted; or the name of a column is longer
                than those of the database.
            OperationalError: no connection could be opened.
            DatabaseError: the server refused the rows.
        """
        attempt = uuid4().hex
        rules = rules_of(self.database)
        rows = _Rows(data, attempt if self.staging else None)
        for name in rows.columns:
            rules.NAMES.check(name)
        columns = ", ".join(quoted(name, rules.QUOTE) for name in rows.columns)
        into = f"{self.staging or self.table} ({columns})"
        if rules.MARK == "%s":
            into = into.replace("%", "%%")
        marks = ", ".join([rules.MARK] * len(rows.columns))
        with contextlib.closing(self._connect(url)) as connection:
            sql = f"INSERT INTO {into} VALUES ({marks})"
            try:
                _cursor(connection).executemany(sql, rows.reader)
            except UndefinedTable as error:
                if not self.staging:
                    raise
                raise ProgrammingError(
                    f"rows for {self.table} can be written after begin(), and before commit() or abort(): "
                    f"there is no table {self.staging}"
                ) from error
            connection.commit()
        return Written(attempt, rows.count, tuple(name for name in rows.columns if name != _ATTEMPT))

    def commit(self, written: Iterable[Written], *, url: Url | None = None) -> int:
        """Makes the rows of the attempts visible, all in one transaction, and drops the staging table.

        Of several calls, also at the same time, one has an effect. The staging table may stay if it cannot be dropped
        within ten seconds, because an attempt still writes into it: that is a ResourceWarning, not an error.

        Args:
            written: the results of the tasks, one of each task. An attempt that is named twice counts once.
            url: the URL of the database, as for :meth:`begin`.

        Returns:
            The number of rows that were written into the staging table, or by the tasks.

        Raises:
            ProgrammingError: it was committed or aborted before, or not all rows are there. Nothing is changed then.
            OperationalError: no connection could be opened, or it was lost. Unless it was lost while the transaction
                ended, nothing is changed; another call then writes the rows if they are not there, and raises
                ProgrammingError if they are.
            DatabaseError: the server refused the rows.
        """
        attempts = {each.attempt: each for each in written if each.rows}
        expected = sum(each.rows for each in attempts.values())
        if not self.staging:
            return expected
        with contextlib.closing(self._connect(url)) as connection:
            for sql in rules_of(self.database).MOVES:
                self._execute(connection, sql)
            try:
                # A second commit waits here for the first, and then finds nothing.
                still_open = self._execute(connection, f"DELETE FROM {self.staging}_open").rowcount == 1
            except UndefinedTable:
                still_open = False
            if not still_open:
                raise ProgrammingError(f"the write to {self.table} was committed or aborted before")
            if self.overwrite:
                self._execute(connection, f"DELETE FROM {self.table}")
            found = sum(self._move(connection, *group) for group in _groups(attempts.values()))
            if found != expected:
                raise ProgrammingError(
                    f"of {expected} rows for {self.table} there are {found} in {self.staging}: nothing was changed"
                )
            connection.commit()
        # The rows are there. An error now would be taken for theirs, and the write be repeated.
        try:
            self._drop(url, _PATIENCE)
        except (DatabaseError, TimeoutError) as error:
            warnings.warn(f"the table {self.staging} was not dropped: {error}", ResourceWarning, stacklevel=2)
        return expected

    def abort(self, *, url: Url | None = None) -> None:
        """Drops the staging table, and with it all rows that were not committed.

        Args:
            url: the URL of the database, as for :meth:`begin`.
        """
        if self.staging:
            self._drop(url)

    def _drop(self, url: Url | None, seconds: float | None = None) -> None:
        with contextlib.closing(self._connect(url, autocommit=True)) as connection:
            for table in (f"{self.staging}_open", self.staging):
                self._execute(connection, f"DROP TABLE IF EXISTS {table}", seconds)

    def _move(self, connection: BlockingConnection[Any], columns: tuple[str, ...], attempts: list[str]) -> int:
        """Copies the rows of some attempts into the table, and returns how many there are."""
        quote = rules_of(self.database).QUOTE
        names = ", ".join(quoted(name, quote) for name in columns)
        # Hexadecimal numbers need no parameters.
        these = f"FROM {self.staging} WHERE {_ATTEMPT} IN ({', '.join(repr(attempt) for attempt in attempts)})"
        self._execute(connection, f"INSERT INTO {self.table} ({names}) SELECT {names} {these}")
        # Not the number of the INSERT: a trigger may have left out some.
        return int(self._execute(connection, f"SELECT count(*) {these}").fetchone()[0])

    def _execute(self, connection: BlockingConnection[Any], sql: str, seconds: float | None = None) -> Any:
        return _cursor(connection).execute(sql, timeout=seconds)

    def _connect(self, url: Url | None, autocommit: bool = False) -> BlockingConnection[Any]:
        given = self.url if url is None else url
        module = import_module(f"{__package__}.{self.database}")
        if given is None:
            keywords: dict[str, Any] = {**NO_CONVERSIONS, **dict(self.address), "autocommit": autocommit}
            return module.connect(**keywords)  # type: ignore[no-any-return]
        given = given() if callable(given) else given
        return module.connect(given, autocommit=autocommit, **NO_CONVERSIONS)  # type: ignore[no-any-return]


def partitioned_write(
    url: Url = "", /, *, table: str, overwrite: bool = False, idempotent: bool = True
) -> PartitionedWrite:
    """Describes a write to a table by several tasks. Nothing is sent.

    Args:
        url: the database, as for :func:`headrace.partitions`.
        table: the table, as it is written in SQL.
        overwrite: replace the rows that are there.
        idempotent: write through a staging table, so that a task that fails or runs twice does no harm. False lets each
            task write directly, in one transaction of its own.

    Returns:
        The write: call ``begin()``, in each task ``write(data)``, and ``commit(results)``.

    Raises:
        ProgrammingError: the URL is wrong, rows are to be replaced without a staging table, or a name is longer than
            those of the database.
        NotSupportedError: the database cannot create a table of a query (Informix); use ``idempotent=False``.
    """
    if overwrite and not idempotent:
        raise ProgrammingError("overwrite=True needs the staging table of idempotent=True")
    conninfo = url() if callable(url) else url
    database = module_for(conninfo, __package__ or "headrace").__name__.rpartition(".")[2]
    rules_of(database).NAMES.check_sql(table)
    if idempotent and not rules_of(database).STAGES:
        raise NotSupportedError(f"there is no staging table for {database}; use idempotent=False")
    staging = f"{_schema_of(table)}headrace_write_{uuid4().hex[:16]}" if idempotent else ""
    address = () if callable(url) else without_secrets(rules_of(database).address(conninfo))
    return PartitionedWrite(table, staging, overwrite, database, address, url if callable(url) else None)


def _schema_of(table: str) -> str:
    """The part of a name before the last dot that is not in quotes, with the dot."""
    place, inside = 0, ""
    for number, character in enumerate(table):
        if character in '"`[]' and (not inside or character == inside):
            inside = "" if inside else ("]" if character == "[" else character)
        elif character == "." and not inside:
            place = number + 1
    return table[:place]


def _cursor(connection: BlockingConnection[Any]) -> Any:
    return connection.cursor()  # type: ignore[attr-defined]


def _groups(written: Iterable[Written]) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """The columns, and attempts that wrote them, for each statement that moves rows."""
    by_columns: dict[tuple[str, ...], list[str]] = {}
    for each in written:
        by_columns.setdefault(each.columns, []).append(each.attempt)
    for columns, attempts in by_columns.items():
        for start in range(0, len(attempts), _ATTEMPTS_IN_STATEMENT):
            yield columns, attempts[start : start + _ATTEMPTS_IN_STATEMENT]


class _Rows:
    """The rows of a task, which are counted while they are read, with a column for the attempt if there is one."""

    def __init__(self, data: Any, attempt: str | None) -> None:
        self._data: Any = reader_maker("write")(data)
        self._attempt = attempt
        self._pyarrow: Any = import_module("pyarrow")
        self.count = 0
        schema: Any = self._data.schema
        if attempt is not None:
            schema = schema.append(self._pyarrow.field(_ATTEMPT, self._pyarrow.string()))
        self.columns: list[str] = list(schema.names)
        self.reader: Any = self._pyarrow.RecordBatchReader.from_batches(schema, self._batches())

    def _batches(self) -> Generator[Any]:
        for batch in self._data:
            self.count += batch.num_rows
            if self._attempt is None:
                yield batch
            else:
                repeated = self._pyarrow.repeat(self._attempt, batch.num_rows)
                yield batch.append_column(_ATTEMPT, repeated.cast(self._pyarrow.string()))
