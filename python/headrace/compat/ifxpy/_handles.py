"""The handles that the functions of IfxPy take: a connection and a statement."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from decimal import Decimal
from typing import Any, Final

from ... import errors, informix
from ...types import BlobLocator, ClobLocator
from ._columns import Described, described
from ._errors import FETCH_TYPE, IfxPyError, from_driver, of_odbc

SQL_ATTR_CURSOR_TYPE: Final = 6
SQL_CURSOR_FORWARD_ONLY: Final = 0
CASE_NATURAL: Final = 0
CASE_LOWER: Final = 1
CASE_UPPER: Final = 2
_CASES: Final[dict[int, Callable[[str], str]]] = {CASE_LOWER: str.lower, CASE_UPPER: str.upper}
_NO_LOB: Final = re.compile(r"parameter (\d+) .*is not a smart large object", re.DOTALL)


class IFXConnection:
    """A connection."""

    def __init__(self, driver: informix.Connection[Any], *, database: str | None, scrolls: bool) -> None:
        self.driver = driver
        """The connection of headrace."""
        self.database = database
        self.scrolls = scrolls
        """True if the connection string has ENABLESCROLLABLECURSORS."""
        self.case = CASE_NATURAL
        self.options: dict[int, Any] = {}
        self.error: IfxPyError | None = None
        """The last error on it."""

    def named(self, name: str) -> str:
        """A column's name in the case that was asked for."""
        return _CASES.get(self.case, str)(name)

    @contextlib.contextmanager
    def watched(self, *others: IFXStatement) -> Generator[None, None, None]:
        """What the driver raises in the block is IfxPy's error, and is kept for those who ask for it afterwards."""
        self.error = None
        for other in others:
            other.error = None
        try:
            yield
        except (errors.Error, IfxPyError) as error:
            failed = error if isinstance(error, IfxPyError) else from_driver(error)
            self.error = failed
            for other in others:
                other.error = failed
            if error is failed:
                raise
            raise failed from error


class IFXStatement:
    """A statement, with its result once it was executed."""

    def __init__(self, connection: IFXConnection, sql: str, options: dict[int, Any] | None) -> None:
        self.connection = connection
        self.sql = sql
        self.options = dict(options or {})
        self.bound: dict[int, Any] = {}
        """Parameters that were bound, by their number from 1 on."""
        self.columns: Sequence[Described] = ()
        self.count = -1
        """Rows that were inserted, updated or deleted, -1 if it is not known."""
        self.rows_in_result = 0
        self.row: Sequence[Any] | None = None
        """The row that was fetched last."""
        self.error: IfxPyError | None = None
        self._rows: Iterator[Sequence[Any]] = iter(())
        self._all: list[Sequence[Any]] | None = None

    @property
    def cursor_type(self) -> int:
        """One of SQL_CURSOR_*. Without scrollable cursors the driver makes each of them forward only."""
        asked = int(self.options.get(SQL_ATTR_CURSOR_TYPE, SQL_CURSOR_FORWARD_ONLY))
        return asked if self.connection.scrolls else SQL_CURSOR_FORWARD_ONLY

    def execute(self, params: Sequence[Any] | None) -> None:
        """Executes it with these parameters, or those that were bound."""
        values = list(params) if params is not None else [self.bound[at] for at in sorted(self.bound)]
        with self.connection.watched(self):
            cursor = self._executed(values)
            self.answered(
                [described(c.name, str(c.type_code), c.null_ok, c.internal_size) for c in cursor.description or ()],
                iter(cursor) if cursor.description else iter(()),
            )
            self.count = cursor.rowcount if cursor.description is None else self.count
            self.rows_in_result = cursor.rowcount if cursor.description else 0

    def execute_many(self, rows: Sequence[Sequence[Any]]) -> int:
        """Executes it for each of these rows, all or none of them. Returns how many rows it has changed."""
        with self.connection.watched(self):
            cursor = self.connection.driver.executemany(self.sql, [tuple(row) for row in rows])
            self.answered((), iter(()))
            self.count = cursor.rowcount
        return self.count

    def answered(self, columns: Sequence[Described], rows: Iterator[Sequence[Any]]) -> None:
        """Takes a result."""
        self.columns, self._rows, self.row, self.count = columns, rows, None, -1
        self._all = list(rows) if columns and self.cursor_type != SQL_CURSOR_FORWARD_ONLY else None
        if self._all is not None:
            self._rows = iter(self._all)
            self.count = len(self._all)

    def _executed(self, values: list[Any]) -> informix.Cursor[Any]:
        """Executes it. Bytes and text for a column of large objects become an object: the driver reports which do,
        before anything is sent."""
        driver = self.connection.driver
        while True:
            try:
                return driver.execute(self.sql, values)
            except errors.ProgrammingError as error:
                refused = _NO_LOB.match(str(error))
                at = int(refused[1]) - 1 if refused else len(values)
                if at >= len(values) or not isinstance(values[at], (bytes, bytearray, memoryview, str)):
                    raise
                values[at] = self._large(values[at])

    def _large(self, value: bytes | bytearray | memoryview | str) -> Any:
        driver = self.connection.driver
        kind: Any = "clob" if isinstance(value, str) else "blob"
        with driver.create_lob(kind) as lob:
            content = memoryview(value.encode(driver.encoding) if isinstance(value, str) else value)
            while content:
                content = content[lob.write(content) :]
            return lob.locator

    def fetch(self, number: int | None = None) -> Sequence[Any] | None:
        """The next row, or the one with a number from 1 on; None behind the last."""
        with self.connection.watched(self):
            if number is None or (self._all is None and number == 0):
                found = next(self._rows, None)
            elif self._all is None:
                raise of_odbc(FETCH_TYPE)
            else:
                found = self._all[number - 1] if 0 < number <= len(self._all) else None
            self.row = None if found is None else tuple(map(self._value, found))
        return self.row

    def _value(self, value: Any) -> Any:
        """A value as IfxPy has it: a DECIMAL is text, a large object its content."""
        if isinstance(value, Decimal):
            return format(value, "f")
        if isinstance(value, (BlobLocator, ClobLocator)):
            driver = self.connection.driver
            with driver.open_lob(value) as lob:
                content = lob.read()
            return content.decode(driver.encoding) if isinstance(value, ClobLocator) else content
        return value

    def position(self, column: int | str) -> int | None:
        """The index of a column that is named, or has a number from 0 on; None if there is none."""
        if isinstance(column, bool):
            return None  # what another function has said of a column that is none
        if isinstance(column, int):
            return column if 0 <= column < len(self.columns) else None
        own = [found.name for found in self.columns]
        for names in ([self.connection.named(name) for name in own], own):
            if column in names:
                return names.index(column)
        return None
