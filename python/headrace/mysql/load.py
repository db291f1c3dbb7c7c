"""LOAD DATA LOCAL: what blocking and asyncio connections share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from .._native import Columns, MySqlWire, Result, Transfer
from .._shared.arguments import checked_data, checked_names, checked_text
from .._shared.flows import Flow, ask, each
from ..errors import DataError, Error, ProgrammingError
from .core import quote_identifier

if TYPE_CHECKING:
    from .core import MySqlCore

DUPLICATES: Final = {"error": "", "ignore": "IGNORE", "replace": "REPLACE"}
_SKIPPED = re.compile(r"Skipped: (\d+)")
_AT_ROW = re.compile(r" at row (\d+)$")
_DUPLICATE_ENTRY: Final = 1062
LOADING: Final = (
    "a LOAD DATA is being fed on this connection, and a statement would wait for its end: collect the rows first, or "
    "use a second connection"
)


def quote_table(table: str | Sequence[str]) -> str:
    """A table's name: as it stands in SQL where it has a dot or backticks, else in backticks; or its parts."""
    if isinstance(table, str):
        return table if "." in table or "`" in table else quote_identifier(table)
    if not isinstance(table, (tuple, list)) or not table:
        raise TypeError(f"a table is given by its name, or a tuple of schema and name, not {table!r}")
    return ".".join(map(quote_identifier, table))


def check_allowed(core: MySqlCore) -> None:
    """Raises ProgrammingError where the connection was not made for it."""
    if not core.options.local_infile:
        raise ProgrammingError(
            "LOAD DATA LOCAL is off; connect with local_infile=True (the server's variable local_infile must be on too)"
        )


def columns_of(core: MySqlCore, table: str | Sequence[str], columns: Sequence[str] | None) -> Flow[Columns]:
    """The columns that are loaded."""
    names = ", ".join(map(quote_identifier, checked_names(columns) or ())) or "*"
    results = yield core.wire.query(f"SELECT {names} FROM {quote_table(table)} LIMIT 0")
    return cast("Columns", results[0].columns)


def statement(table: str | Sequence[str], columns: Columns, duplicates: str) -> str:
    """LOAD DATA for rows that :meth:`MySqlWire.infile_rows` writes."""
    if checked_text(duplicates, "duplicates") not in DUPLICATES:
        raise ProgrammingError(f"duplicates={duplicates!r} is not one of {', '.join(DUPLICATES)}")
    return MySqlWire.load_statement(quote_table(table), columns, DUPLICATES[duplicates])


class Guard:
    """What undoes a load that fails, a transaction or a savepoint, and keeps the connection for the load.

    Other tasks' and threads' requests wait until it was left: one between its statements would be undone with it, or
    take its warnings. It is left in any case, also where it was not entered to the end.
    """

    def __init__(self, core: MySqlCore) -> None:
        self._core = core
        self._reserved: list[tuple[Any, int]] = []
        self._begun: list[Any] = []
        self._ended: list[Any] = []
        self.asked: list[Any] = []
        """The ticket of the LOAD DATA, once it was queued."""
        self._released = False

    @property
    def left(self) -> bool:
        """Others can go on: in no transaction of the load, and with no server that waits for data."""
        if not self._reserved:
            return True
        feeding = self.asked and self._core.wire.infile_state(self.asked[0]) != Transfer.ENDED
        return self._released and not feeding and (not self._begun or bool(self._ended) or self._core.wire.closed)

    @property
    def _reservation(self) -> int:
        return self._reserved[0][1] if self._reserved else 0

    def query(self, sql: str) -> Any:
        """Queues a statement of the load."""
        return self._core.wire.query(sql, reservation=self._reservation)

    def load(self, sql: str) -> Any:
        """Queues the LOAD DATA."""
        ask(partial(self._core.wire.query, sql, infile=True, reservation=self._reservation), self.asked)
        return self.asked[0]

    def enter(self) -> Flow[None]:
        """Waits for the connection, and begins."""
        wire = self._core.wire
        ask(partial(wire.reserve), self._reserved)
        yield self._reserved[0][0]
        ask(partial(wire.guard, "begin", self._reservation), self._begun)
        yield from each(self._begun[0])

    def leave(self, undo: bool) -> Flow[None]:
        """Ends it, and lets others go on."""
        wire = self._core.wire
        try:
            # What is to be kept is not, where the connection is closed: that raises.
            if self._begun and not (undo and wire.closed):
                yield from self._end(undo)
        finally:
            if self._reserved:
                wire.release(self._reservation)
            self._released = True

    def _end(self, undo: bool) -> Flow[None]:
        ask(partial(self._core.wire.guard, "undo" if undo else "keep", self._reservation), self._ended)
        restore, end = self._ended[-1]
        yield restore
        try:
            yield end
        except Error:
            if not undo:
                raise
            # A deadlock has ended the transaction, and the savepoint with it.
            yield self.query("ROLLBACK")


def check(guard: Guard, result: Result, duplicates: str) -> Flow[None]:
    """Raises the first warning as an error. Of a LOAD DATA LOCAL the server makes a warning of everything: it cannot
    stop the client from sending."""
    skipped = _SKIPPED.search(result.tag)
    number = int(skipped[1]) if skipped else 0
    allowed = number if duplicates == "ignore" else 0
    if not result.warnings:
        if number > allowed:
            text = f"{number} of the rows have a key that is there already, in the table or among themselves"
            raise MySqlWire.error_of_warning(_DUPLICATE_ENTRY, text)
        return
    # Their number alone is not sufficient: MySQL before 5.7 counts skipped rows, and has no warnings of them.
    listed = yield guard.query("SHOW WARNINGS")
    found = [(code, text) for _, code, text in listed[0].rows]
    for code, text in found:
        if code != _DUPLICATE_ENTRY or duplicates != "ignore":
            at = _AT_ROW.search(text)
            raise MySqlWire.error_of_warning(code, text, int(at[1]) - 1 if at else None)
    if result.warnings > allowed:
        raise DataError(f"the server has {result.warnings} warnings about the rows, and {allowed} rows that it skipped")


def pieces(source: Any, block: int) -> Any:
    """The bytes to send: of bytes, of a file, of an iterable of bytes; text as UTF-8."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        yield bytes(cast("bytes", source))
    elif isinstance(source, str):
        raise ProgrammingError("the data are bytes, a file or an iterable of bytes; headrace opens no file by its name")
    elif hasattr(source, "read"):
        while piece := source.read(block):
            yield checked_data(piece)
    elif not hasattr(source, "__iter__"):
        raise TypeError(f"the data are bytes, a file or an iterable of bytes, not {type(source).__name__}")
    else:
        for piece in source:
            yield checked_data(piece)
