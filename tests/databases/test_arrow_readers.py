"""A reader never looks complete when it is not: whatever overtakes it, it delivers all rows, or raises."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow
import pytest

import headrace
from accepting import Accepting
from adbc_driver_headrace import dbapi
from robustness.test_fork import in_child
from servers import Database

pytestmark = pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")

ROWS = 3000
SQL = "select n, big, big as b2, big as b3, big as b4, big as b5 from overtaken order by n"
"""About 3 MB: more than what is received ahead."""
ALL = "all rows"
RAISES = "an error"
EITHER = "all rows, or an error"


class Between(Accepting):
    """Passes everything to a server and back, until it is cut."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self.target = port
        self.ends: list[socket.socket] = []
        self.listen()

    def serve(self, client: socket.socket) -> None:
        server = self.connected(self.target)
        self.ends += [client, server]
        self.start(self._passes, server, client)
        self._passes(client, server)

    def _passes(self, source: socket.socket, to: socket.socket) -> None:
        while block := source.recv(65536):
            to.sendall(block)
        # A request to cancel waits until the server ends its connection.
        to.shutdown(socket.SHUT_WR)

    def cut(self) -> None:
        """Ends every connection at once."""
        for end in self.ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@dataclass
class Reading:
    """A reader that has delivered its first batch."""

    connection: Any
    cursor: Any
    """None for the Python driver, whose connections read."""
    reader: Any
    first: int
    way: Between

    def execute(self, sql: str) -> None:
        """Executes another statement where the reader was made."""
        (self.cursor or self.connection).execute(sql)

    def rest(self) -> int | str:
        """The number of the other rows, or the error, which the reader does not forget either."""
        try:
            return self.count()
        except (OSError, pyarrow.ArrowInvalid, dbapi.Error, headrace.Error) as error:
            return repr(error)

    def count(self) -> int:
        return sum(batch.num_rows for batch in self.reader)


@contextlib.contextmanager
def by_adbc(db: Database, way: Between) -> Iterator[Reading]:
    """A reader of the ADBC driver, in a transaction."""
    connection = dbapi.connect(db.url_at(way.port), db_kwargs={"headrace.batch_rows": "100"})
    cursor = connection.cursor()
    cursor.execute(SQL)
    reader = cursor.fetch_record_batch()
    try:
        yield Reading(connection, cursor, reader, reader.read_next_batch().num_rows, way)
    finally:
        with contextlib.suppress(Exception):
            cursor.close()
        with contextlib.suppress(Exception):
            connection.close()


@contextlib.contextmanager
def by_stream(db: Database, way: Between) -> Iterator[Reading]:
    """A stream of the Python driver, read by another library."""
    connection = db.connect(way.port)
    reader = pyarrow.RecordBatchReader.from_stream(connection.stream_arrow(SQL, batch_rows=100))
    try:
        yield Reading(connection, None, reader, reader.read_next_batch().num_rows, way)
    finally:
        connection.close()


@contextlib.contextmanager
def by_batches(db: Database, way: Between) -> Iterator[Reading]:
    """pyarrow's reader of the Python driver."""
    connection = db.connect(way.port)
    reader = connection.fetch_record_batch(SQL, batch_rows=100)
    try:
        yield Reading(connection, None, reader, reader.read_next_batch().num_rows, way)
    finally:
        connection.close()


def commits(reading: Reading) -> None:
    reading.connection.commit()


def rolls_back(reading: Reading) -> None:
    reading.connection.rollback()


def executes_again(reading: Reading) -> None:
    reading.execute("select count(*) from overtaken")


def executes_elsewhere(reading: Reading) -> None:
    with reading.connection.cursor() as other:
        other.execute("select count(*) from overtaken")


def closes_the_cursor(reading: Reading) -> None:
    if reading.cursor is not None:
        reading.cursor.close()


def closes_the_connection(reading: Reading) -> None:
    if reading.cursor is not None:
        reading.cursor.close()
    reading.connection.close()


def cancels(reading: Reading) -> None:
    if reading.cursor is None:
        reading.connection.cancel()
    else:
        reading.cursor.adbc_cancel()


def loses_the_connection(reading: Reading) -> None:
    reading.way.cut()


OVERTAKING: dict[Callable[[Reading], None], dict[str, str]] = {
    commits: {"by_adbc": ALL},
    rolls_back: {"by_adbc": RAISES},
    executes_again: {"by_adbc": RAISES},
    executes_elsewhere: {"by_adbc": ALL},
    # The reader of the driver manager is closed with its cursor, and says so.
    closes_the_cursor: {"by_stream": ALL, "by_batches": ALL},
    closes_the_connection: {"by_adbc": RAISES, "by_stream": RAISES, "by_batches": RAISES},
    # A reply that is on its way already is not cancelled.
    cancels: {},
    # What was received before is delivered, which may be all.
    loses_the_connection: {},
}
"""What may come between two batches, and how it ends for each reader where only one end will do."""


@pytest.fixture
def way(any_db: Database) -> Iterator[Between]:
    """A way to the server, which has a table of ROWS rows."""
    with any_db.connect(autocommit=True) as admin:
        try:
            found = admin.fetchval("select count(*) from overtaken")
        except headrace.DatabaseError:
            found = 0
        if found != ROWS:
            admin.execute("drop table if exists overtaken")
            admin.execute("create table overtaken (n int, big varchar(200))")
            rows = [(n, "x" * 200) for n in range(ROWS)]
            admin.executemany(f"insert into overtaken values ({', '.join([any_db.question_mark] * 2)})", rows)
    with Between(any_db.port) as between:
        yield between


@pytest.mark.parametrize("read", [by_adbc, by_stream, by_batches])
@pytest.mark.parametrize("overtakes", OVERTAKING)
def test_a_reader_that_is_overtaken_delivers_all_rows_or_raises(
    any_db: Database, way: Between, read: Callable[..., Any], overtakes: Callable[[Reading], None]
) -> None:
    with read(any_db, way) as reading:
        assert 0 < reading.first < ROWS
        with contextlib.suppress(dbapi.Error, headrace.Error):
            overtakes(reading)
        rest = reading.rest()
        wanted = OVERTAKING[overtakes].get(read.__name__, EITHER)
        if wanted == RAISES or not isinstance(rest, int):
            assert wanted != ALL, rest
            assert isinstance(rest, str), f"{reading.first} rows and {rest} more look like all of {ROWS}"
            # Who asks again does not find a complete result either.
            assert not isinstance(reading.rest(), int)
        else:
            assert reading.first + rest == ROWS


def test_a_stream_that_was_cut_is_not_empty(any_db: Database, way: Between) -> None:
    with any_db.connect() as conn:
        streams = {"closed": conn.stream_arrow(SQL, batch_rows=100)}
        next(streams["closed"])
        streams["closed"].close()
        with conn.stream_arrow(SQL, batch_rows=100) as streams["left"]:
            next(streams["left"])
        streams["never begun"] = conn.stream_arrow(SQL)
        streams["never begun"].close()
        wrong = conn.stream_arrow("select nothing from nowhere")
        with pytest.raises(headrace.Error):
            _ = wrong.column_names
        for name, stream in streams.items():
            for read in (pyarrow.table, list):
                with pytest.raises(headrace.ProgrammingError, match="closed before it was read to its end"):
                    print(name, read(stream))
        for read in (pyarrow.table, list):
            with pytest.raises(headrace.DatabaseError):
                read(wrong)
        conn.rollback()
        with conn.stream_arrow(SQL, batch_rows=100) as whole:
            assert sum(map(len, whole)) == ROWS
        assert list(whole) == []


@pytest.mark.parametrize("read", [by_adbc, by_stream, by_batches])
def test_the_child_of_a_fork_reads_no_rows_and_takes_none_from_its_parent(
    any_db: Database, way: Between, read: Callable[..., Any]
) -> None:
    with read(any_db, way) as reading:
        assert "before a fork" in in_child(lambda: str(reading.rest()))
        assert reading.first + reading.count() == ROWS


@pytest.mark.parametrize("read", [by_adbc, by_stream, by_batches])
def test_another_thread_reads_the_rest(any_db: Database, way: Between, read: Callable[..., Any]) -> None:
    with read(any_db, way) as reading:
        found: list[int | str] = []
        thread = threading.Thread(target=lambda: found.append(reading.rest()))
        thread.start()
        thread.join(60)
        assert found == [ROWS - reading.first]
