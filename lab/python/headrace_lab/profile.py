"""``headrace profile``: profiles one kind of operation through headrace or a database's usual driver.

The operations and their options are those of pycubrid's profiling scripts, for every database.
"""

from __future__ import annotations

import contextlib
import cProfile
import pstats
import secrets
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from . import databases
from .across.databases import DATABASES, HEADRACE, Driver, driver
from .differences import Differences

ITERATIONS: Final = {"connect": 50, "execute": 100, "fetch": 50}
"""How often each operation is repeated."""
STATEMENTS: Final = ("insert", "select", "update", "delete")
"""What ``execute`` executes."""
ROWS: Final = 1_000
"""Rows that are fetched."""
FETCH_SIZE: Final = 50
"""Rows of a ``fetchmany``."""
SHOWN: Final = 30
"""Functions that are printed beside a .prof file."""
INTERVAL_S: Final = 0.0002
"""Seconds between two samples of a flame graph."""


@dataclass(frozen=True)
class ProfileOptions:
    """What is profiled."""

    operation: str
    """``connect``, ``execute`` or ``fetch``."""
    database: str
    out: Path
    """A .prof file for pstats, else an HTML flame graph."""
    url: str | None = None
    """None starts a server, as a race does."""
    driver: str = HEADRACE.name
    iterations: int | None = None
    """None for those of the operation."""
    statements: tuple[str, ...] = STATEMENTS
    rows: int = ROWS
    fetch_size: int = FETCH_SIZE
    sql: str | None = None
    """A statement to execute in place of the own ones."""


class Client:
    """A connection, and a table of its own."""

    def __init__(self, conn: Any, differences: Differences, options: ProfileOptions) -> None:
        self.conn = conn
        self.cursor = conn.cursor()
        self.options = options
        self.count = options.iterations or ITERATIONS[options.operation]
        self.table = f"headrace_profile_{secrets.token_hex(4)}"
        mark = differences.mark
        self._insert = f"INSERT INTO {self.table} (id, val) VALUES ({mark}, {mark})"
        self._select = f"SELECT id, val FROM {self.table} WHERE id > {mark}"
        self._update = f"UPDATE {self.table} SET val = {mark} WHERE id > {mark}"
        self._delete = f"DELETE FROM {self.table} WHERE id > {mark}"

    @contextlib.contextmanager
    def filled(self) -> Iterator[None]:
        """The table for as long as the block lasts; with rows, if they are to be fetched."""
        self.cursor.execute(f"CREATE TABLE {self.table} (id INT NOT NULL PRIMARY KEY, val VARCHAR(64))")
        try:
            if self.options.operation == "fetch":
                self.cursor.executemany(self._insert, [(n, f"row-{n}") for n in range(1, self.options.rows + 1)])
            self.conn.commit()
            yield
        finally:
            self.conn.rollback()
            self.cursor.execute(f"DROP TABLE {self.table}")
            self.conn.commit()

    def work(self) -> Iterator[Callable[[], None]]:
        """What is profiled, one after the other."""
        if self.options.sql is not None:
            yield self._given
        elif self.options.operation == "fetch":
            yield from (self._one_by_one, self._all, self._in_blocks)
        else:
            yield from (getattr(self, f"_{name}s") for name in self.options.statements)

    def _given(self) -> None:
        for _ in range(self.count):
            self.cursor.execute(self.options.sql)
            self.cursor.fetchall()

    def _inserts(self) -> None:
        for n in range(1, self.count + 1):
            self.cursor.execute(self._insert, (n, f"row-{n}"))
        self.conn.commit()

    def _selects(self) -> None:
        for _ in range(self.count):
            self.cursor.execute(self._select, (0,))
            self.cursor.fetchall()
        self.conn.commit()

    def _updates(self) -> None:
        for n in range(self.count):
            self.cursor.execute(self._update, (f"new-{n}", 0))
        self.conn.commit()

    def _deletes(self) -> None:
        for n in range(self.count):
            self.cursor.execute(self._delete, (0,))
            self.cursor.execute(self._insert, (1, f"row-{n}"))
        self.conn.commit()

    def _one_by_one(self) -> None:
        for _ in range(self.count):
            self.cursor.execute(self._select, (0,))
            while self.cursor.fetchone() is not None:
                pass

    def _all(self) -> None:
        for _ in range(self.count):
            self.cursor.execute(self._select, (0,))
            self.cursor.fetchall()

    def _in_blocks(self) -> None:
        for _ in range(self.count):
            self.cursor.execute(self._select, (0,))
            while self.cursor.fetchmany(self.options.fetch_size):
                pass


def profile(options: ProfileOptions) -> None:
    """Executes the operation, and writes the profile.

    Raises:
        ValueError: the driver is not one of the database's.
    """
    chosen = _driver(options.database, options.driver)
    with contextlib.ExitStack() as stack:
        url = options.url
        if url is None:
            url = stack.enter_context(databases.load(options.database).start())[0]
        if options.operation == "connect":
            chosen.connect(url).close()
            with _recorded(options.out):
                for _ in range(options.iterations or ITERATIONS["connect"]):
                    chosen.connect(url).close()
            return
        conn = stack.enter_context(contextlib.closing(chosen.connect(url)))
        client = Client(conn, DATABASES[options.database].differences, options)
        if options.sql is None:
            stack.enter_context(client.filled())
        with _recorded(options.out):
            for work in client.work():
                work()


def _driver(database: str, name: str) -> Driver:
    try:
        return driver(database, name)
    except KeyError:
        usual = DATABASES[database].usual.name
        raise ValueError(
            f"unknown driver {name!r} of {database}; the drivers are {HEADRACE.name} and {usual}"
        ) from None


@contextlib.contextmanager
def _recorded(out: Path) -> Iterator[None]:
    """Writes the profile of the block: a .prof file (for pstats, snakeviz), whose first functions are printed, or an
    HTML flame graph."""
    if out.suffix == ".prof":
        profiler = cProfile.Profile()
        with profiler:
            yield
        profiler.dump_stats(out)
        pstats.Stats(profiler, stream=sys.stdout).sort_stats("cumulative").print_stats(SHOWN)
        return
    from pyinstrument import Profiler

    sampler = Profiler(interval=INTERVAL_S)
    with sampler:
        yield
    out.write_text(sampler.output_html(), encoding="utf-8")
