"""Cursors, with MySQLdb's names."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Literal

from . import _exceptions as exceptions
from . import converters
from .constants import CLIENT
from .converters import reader
from .results import Result, converted
from .rows import RE_INSERT_VALUES

_EXECUTEMANY_MULTI_SEPARATOR: Final = b"\n;\n"
_DML: Final = ("insert", "replace", "update", "delete")
NO_CURSOR_INTO: Final = 1323
"""ER_SP_BAD_CURSOR_SELECT: SELECT ... INTO returns no rows, so it has no cursor."""
SS_ROWS: Final = 1_000
"""Rows that an SSCursor fetches at a time."""


def _is_executemany_dml(query: str | bytes | bytearray) -> bool:
    """Returns true if several of these can travel in one text: a single INSERT, REPLACE, UPDATE or DELETE without
    RETURNING."""
    text = (query if isinstance(query, str) else bytes(query).decode(errors="replace")).strip().lower()
    first = re.match(r"[a-z]*", text)
    return first is not None and first[0] in _DML and ";" not in text and re.search(r"\breturning\b", text) is None


class BaseCursor:
    """What cursors share. They differ in how rows are received and what rows are."""

    MySQLError = exceptions.MySQLError
    Warning = exceptions.Warning
    Error = exceptions.Error
    InterfaceError = exceptions.InterfaceError
    DatabaseError = exceptions.DatabaseError
    DataError = exceptions.DataError
    OperationalError = exceptions.OperationalError
    IntegrityError = exceptions.IntegrityError
    InternalError = exceptions.InternalError
    ProgrammingError = exceptions.ProgrammingError
    NotSupportedError = exceptions.NotSupportedError

    max_stmt_length = 64 * 1024
    """Bytes of an INSERT that executemany makes of many rows."""
    max_multi_stmt_length = 16_000
    """Bytes of a text of several statements."""
    max_multi_stmt_count = 200
    """Statements in such a text."""
    executemany_fallback: Literal["loop", "multi"] | None = None
    _fetch_type = 0

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.description: Any = None
        self.description_flags: Any = None
        self.rowcount: int | None = 0
        self.arraysize = 1
        self.lastrowid: int | None = None
        self.warning_count = 0
        self.rownumber: int | None = None
        self.messages: list[Any] = []
        self._executed: bytes | None = None
        self._result: Any = None
        self._rows: Any = None

    # the connection

    def _get_db(self) -> Any:
        if self.connection is None:
            raise exceptions.ProgrammingError("cursor closed")
        return self.connection

    def close(self) -> None:
        """Closes it, and drops what was not read. Raises the error of a later statement, or of a procedure after its
        first result, that :meth:`nextset` would have raised."""
        if self.connection is None:
            return
        try:
            self._discard()
        finally:
            self.connection = None

    def _discard(self) -> None:
        """Drops what was not read. Raises the error of a statement after those results. ``rowcount`` and ``lastrowid``
        stay: Django reads them after ``close()``."""
        self._result = None
        self._rows = None
        self.description = self.description_flags = self.rownumber = None
        if self.connection is not None and self.connection.open:
            self.connection.discard_result()

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            # One error is enough.
            with contextlib.suppress(exceptions.Error):
                self.close()

    # executing

    def _escape_args(self, args: Any, db: Any) -> Any:
        if isinstance(args, Mapping):
            items: Any = args.items()  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            return {
                (name.decode() if isinstance(name, bytes) else name): db.literal(value).decode()
                for name, value in items
            }
        if isinstance(args, (tuple, list)):
            return tuple(db.literal(value).decode() for value in args)  # pyright: ignore[reportUnknownVariableType]
        return db.literal(args).decode()

    def _mogrify(self, query: str | bytes | bytearray, args: Any = None) -> bytes:
        """The text that is sent, as bytes."""
        if args is None:
            return query.encode() if isinstance(query, str) else bytes(query)
        text = query if isinstance(query, str) else bytes(query).decode()
        # What a converter raises is the program's own.
        literals = self._escape_args(args, self._get_db())
        try:
            made: str = text % literals
        except TypeError as error:
            # mysqlclient formats bytes.
            raise exceptions.ProgrammingError(str(error).replace("string formatting", "bytes formatting")) from error
        return converters.introduced_once(made).encode()

    def mogrify(self, query: str | bytes, args: Any = None) -> str:
        """The text that :meth:`execute` would send."""
        return self._mogrify(query, args).decode()

    def execute(self, query: str | bytes | bytearray, args: Any = None) -> Any:
        """Executes a statement, and returns the number of rows."""
        self._get_db()
        self._discard()
        return self._query(self._mogrify(query, args))

    def _query(self, query: bytes) -> Any:
        db = self._get_db()
        self._result = None
        self.rowcount = self.lastrowid = None
        self.warning_count = 0
        self._send(db, query)
        self._do_get_result(db)
        self._post_get_result()
        self._executed = query
        return self.rowcount

    def _send(self, db: Any, query: bytes) -> None:
        db.query(query)

    def _do_get_result(self, db: Any) -> None:
        self._result = result = db.store_result()
        self.description = result.describe() if result is not None else None
        self.description_flags = result.field_flags() if result is not None else None
        self.rowcount = db.affected_rows()
        self.rownumber = 0
        self.lastrowid = db.insert_id()
        self.warning_count = db.warning_count()

    def _post_get_result(self) -> None:
        self._rows = self._result.fetch_row(0, self._fetch_type) if self._result is not None else ()

    def executemany(self, query: str | bytes | bytearray, args: Iterable[Any]) -> Any:
        """Executes a statement for every row of parameters. INSERT and REPLACE become statements of many rows."""
        if not args:
            return None
        rows = iter(args)
        try:
            first = next(rows)
        except StopIteration:
            return None
        rows = itertools.chain((first,), rows)
        text = query if isinstance(query, str) else bytes(query).decode()
        parts = RE_INSERT_VALUES.match(text)
        if parts is not None:
            return self._insert_many(parts.group(1) % (), parts.group(2), parts.group(3), rows)
        fallback = self.executemany_fallback or getattr(self._get_db(), "executemany_fallback", "loop")
        if fallback not in ("loop", "multi"):
            raise ValueError(f"executemany_fallback={fallback!r} is neither 'loop' nor 'multi'")
        several = self._get_db().client_flag & CLIENT.MULTI_STATEMENTS and _is_executemany_dml(query)
        if fallback == "multi" and several:
            return self._multi(query, rows)
        total = 0
        for row in rows:
            total += self.execute(query, row) or 0
            if (db := self._get_db())._failure is not None:
                # Of a procedure, after its first result.
                db.discard_result()
        self.rowcount = total
        return total

    def _insert_many(self, prefix: str, values: str, postfix: str, rows: Iterator[Any]) -> int:
        head, tail = prefix.encode(), postfix.encode() if not postfix else (postfix % ()).encode()
        total, chunk, size = 0, [self._mogrify(values, next(rows))], 0
        size = len(head) + len(tail) + len(chunk[0])
        for row in rows:
            value = self._mogrify(values, row)
            size += len(value) + 1
            if size > self.max_stmt_length:
                total += self.execute(head + b",".join(chunk) + tail) or 0
                chunk, size = [], len(head) + len(tail) + len(value)
            chunk.append(value)
        total += self.execute(head + b",".join(chunk) + tail) or 0
        self.rowcount = total
        return total

    def _multi(self, query: str | bytes | bytearray, rows: Iterator[Any]) -> int:
        total, batch, size = 0, list[bytes](), 0
        try:
            for row in rows:
                statement = self._mogrify(query, row)
                more = len(statement) + (len(_EXECUTEMANY_MULTI_SEPARATOR) if batch else 0)
                if batch and (size + more > self.max_multi_stmt_length or len(batch) >= self.max_multi_stmt_count):
                    total += self._execute_multi_statement_batch(_joined(batch), len(batch))
                    batch, size, more = [], 0, len(statement)
                batch.append(statement)
                size += more
            total += self._execute_multi_statement_batch(_joined(batch), len(batch))
        except BaseException:
            self.rowcount = None
            raise
        self.rowcount = total
        return total

    def _execute_multi_statement_batch(self, query: bytes, statement_count: int) -> int:
        """Executes a text of several statements, each with one result without rows; returns the sum of their rows."""
        if statement_count == 1:
            return self.execute(query) or 0
        db = self._get_db()
        try:
            total = self.execute(query) or 0
        except exceptions.Error as error:
            if error.args[0] == exceptions.SERVER_LOST and db.open:
                db.close()
            raise
        except BaseException:
            db.close()
            raise
        count = 1
        # A statement that failed is the last of its text: where next_result() raises, nothing is left after it.
        while db.next_result() == 0:
            count += 1
            try:
                self._do_get_result(db)
            except BaseException:
                # Unread results would be taken for those of the next statement.
                db.close()
                raise
            total += self.rowcount or 0
        if count != statement_count or self._result is not None:
            db.close()
            raise exceptions.InternalError(
                exceptions.UNKNOWN, f"multi-statement executemany: {count} results for {statement_count} statements"
            )
        return total

    def callproc(self, procname: str, args: Sequence[Any] = ()) -> Sequence[Any]:
        """Calls a procedure. Its parameters are the session's variables ``@_name_0``, ``@_name_1``, ..., which a SELECT
        reads afterwards."""
        name = procname.replace("`", "``")
        db = self._get_db()
        if args:
            values = (f"@`_{name}_{i}`={db.literal(value).decode()}" for i, value in enumerate(args))
            self._query(f"SET {', '.join(values)}".encode())
        places = ",".join(f"@`_{name}_{i}`" for i in range(len(args)))
        self._query(f"CALL `{name}`({places})".encode())
        return args

    def setinputsizes(self, *args: Any) -> None:
        """Does nothing."""

    def setoutputsizes(self, *args: Any) -> None:
        """Does nothing."""

    setoutputsize = setoutputsizes

    # results

    def _check_executed(self) -> None:
        if self._executed is None or self._rows is None:
            raise exceptions.ProgrammingError("execute() first")

    def nextset(self) -> int | None:
        """To the next result: 1, or None when there is none."""
        db = self._get_db()
        if self._executed is None:
            return None
        self._skip()
        if db.next_result() == -1:
            return None
        self._do_get_result(db)
        self._post_get_result()
        return 1

    def _skip(self) -> None:
        """To the end of the result."""
        self.rownumber = len(self._rows or ())

    def fetchone(self) -> Any:
        """The next row, None after the last."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def _size(self, size: int | None) -> int:
        # As mysqlclient, to which 0 is no number.
        wanted = size or self.arraysize
        if wanted < 0:
            raise exceptions.ProgrammingError(f"fetchmany() takes the number of rows, not {wanted}")
        return wanted

    def fetchmany(self, size: int | None = None) -> Any:
        """The next rows."""
        self._check_executed()
        at = self.rownumber or 0
        taken = self._rows[at : at + self._size(size)]
        self.rownumber = at + len(taken)
        return taken

    def fetchall(self) -> Any:
        """All rows that are left."""
        self._check_executed()
        at = self.rownumber or 0
        self.rownumber = len(self._rows)
        return self._rows[at:] if at else self._rows

    def scroll(self, value: int, mode: str = "relative") -> None:
        """Moves within the result. Raises IndexError beyond its ends."""
        self._check_executed()
        if mode not in ("relative", "absolute"):
            raise exceptions.ProgrammingError(f"unknown scroll mode {mode!r}")
        target = (self.rownumber or 0) + value if mode == "relative" else value
        if not 0 <= target < len(self._rows):
            raise IndexError("out of range")
        self.rownumber = target

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row


def _joined(statements: list[bytes]) -> bytes:
    return _EXECUTEMANY_MULTI_SEPARATOR.join(statements)


class CursorStoreResultMixIn:
    """Receives results whole."""


class CursorTupleRowsMixIn:
    """Rows are tuples."""

    _fetch_type = 0


class CursorDictRowsMixIn:
    """Rows are dicts."""

    _fetch_type = 1


class CursorUseResultMixIn(BaseCursor):
    """Receives the rows of a query in blocks, from a cursor on the server: in bounded memory, however many there
    are."""

    _blocks: Generator[list[Any]] | None = None

    def _send(self, db: Any, query: bytes) -> None:
        text = query.decode()
        if text.lstrip(" \t\r\n(").lower().startswith(("select", "with")) and ";" not in text:
            db.discard_result()
            self._blocks = _blocks(db, text)
            try:
                db._current, db._results = next(self._blocks)
            except exceptions.OperationalError as error:
                # Nothing was executed.
                if error.args[0] != NO_CURSOR_INTO:
                    raise
            else:
                return
        self._blocks = None
        super()._send(db, query)

    def _do_get_result(self, db: Any) -> None:
        super()._do_get_result(db)
        if self._result is not None:
            self.rowcount = -1  # How many there are is unknown until all are read.

    def _post_get_result(self) -> None:
        self._rows = list(self._result.fetch_row(0, self._fetch_type)) if self._result is not None else []

    def fetchmany(self, size: int | None = None) -> Any:
        self._check_executed()
        wanted = self._size(size)
        taken: list[Any] = []
        while len(taken) < wanted:
            at = self.rownumber or 0
            rows = self._rows[at : at + wanted - len(taken)]
            if not rows and not self._more():
                break
            self.rownumber = (self.rownumber or 0) + len(rows)
            taken += rows
        return tuple(taken)

    def fetchall(self) -> Any:
        out: list[Any] = []
        while rows := self.fetchmany(SS_ROWS):
            out += rows
        return tuple(out)

    def _more(self) -> bool:
        """The next block, if there is one, in place of the one that was read."""
        block = next(self._blocks, None) if self._blocks is not None else None
        if block is None:
            self._blocks = None
            return False
        self._rows = block if self._fetch_type == 0 else list(self._result.dicts(block, self._fetch_type))
        self.rownumber = 0
        return True

    def _leave_blocks(self) -> None:
        if self._blocks is not None:
            self._blocks.close()
            self._blocks = None

    def _skip(self) -> None:
        self._leave_blocks()
        super()._skip()

    def _discard(self) -> None:
        self._leave_blocks()
        super()._discard()

    def scroll(self, value: int, mode: str = "relative") -> None:
        """Not possible: what was read is gone."""
        raise exceptions.NotSupportedError(exceptions.UNKNOWN, "a cursor that streams cannot scroll")


def _blocks(db: Any, text: str) -> Generator[Any]:
    """First the result with its first rows, in the shape that a connection keeps; then lists of rows."""
    with db._busy() as connection:
        wire = connection._core.wire
        ticket, number = wire.open_cursor(text, None, SS_ROWS)
        result = connection._wait(ticket, None)
    yield result, []
    readers = [reader(field, db.converter, db.use_unicode, db.encoding) for field in result.columns.fields]
    suspended = result.suspended
    try:
        while suspended:
            with db._busy() as connection:
                result = connection._wait(wire.fetch(number, SS_ROWS), None)
            suspended = result.suspended
            if result.rows:
                yield converted(result.rows, readers)
    finally:
        if suspended and not wire.closed:
            with db._busy() as connection:
                connection._wait(wire.close_cursor(number), None)


class Cursor(CursorStoreResultMixIn, CursorTupleRowsMixIn, BaseCursor):
    """Receives results whole; rows are tuples."""


class DictCursor(CursorStoreResultMixIn, CursorDictRowsMixIn, BaseCursor):
    """Receives results whole; rows are dicts."""


class SSCursor(CursorTupleRowsMixIn, CursorUseResultMixIn):
    """Receives rows in blocks; they are tuples."""


class SSDictCursor(CursorDictRowsMixIn, CursorUseResultMixIn):
    """Receives rows in blocks; they are dicts."""


__all__ = [
    "RE_INSERT_VALUES",
    "BaseCursor",
    "Cursor",
    "DictCursor",
    "Result",
    "SSCursor",
    "SSDictCursor",
]
