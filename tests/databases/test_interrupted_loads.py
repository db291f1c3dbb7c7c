"""Ctrl-C at any place of a COPY or a LOAD DATA LOCAL: its rows are there as a whole or not at all, the connection goes
on at once or is closed, and no transaction stays."""

from __future__ import annotations

import gc
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headrace.compat.mysqldb as facade
from headrace.types import TransactionStatus
from interrupting import Interrupt
from servers import Database, MariaDB, MySQL, PostgreSQL, database, names

ROWS = 3
PATIENCE = 20.0
"""Seconds after which a connection counts as occupied."""


def text(at: int) -> bytes:
    """The rows, as both kinds of servers take them."""
    return b"%d\tload\n" % at * ROWS


def block(conn: Any, at: int) -> None:
    with conn.cursor().copy("copy loaded from stdin") as copy:
        for _ in range(ROWS):
            copy.write_row((at, "load"))


def out(conn: Any, at: int) -> None:
    """The other way, and the rows by an INSERT."""
    for _ in conn.copy_out("select * from generate_series(1, 20)"):
        pass
    conn.execute(f"insert into loaded select {at}, 'load' from generate_series(1, {ROWS})")


LOAD = "load data local infile 'x' into table loaded"
WAYS: dict[str, dict[str, Callable[[Any, int], object]]] = {
    "postgresql": {
        "rows": lambda conn, at: conn.copy_in("loaded", [(at, "load")] * ROWS),
        "bytes": lambda conn, at: conn.copy_in("loaded", text(at), format="text"),
        "file": lambda conn, at: conn.copy_in("loaded", io.BytesIO(text(at)), format="text"),
        "block": block,
        "out": out,
    },
    "mysql": {
        "rows": lambda conn, at: conn.load_rows("loaded", [(at, "load")] * ROWS),
        "bytes": lambda conn, at: conn.load_data(LOAD, text(at)),
        "file": lambda conn, at: conn.load_data(LOAD, io.BytesIO(text(at))),
    },
}
CASES = [(name, way) for name in names(PostgreSQL) for way in WAYS["postgresql"]]
CASES += [(name, way) for name in names(MySQL, MariaDB) for way in WAYS["mysql"]]


def made(db: Database) -> None:
    with db.connect(autocommit=True) as conn:
        conn.execute("drop table if exists loaded")
        conn.execute(f"create table loaded (n int, who varchar(5)) {db.transactional}")


def interrupted(at: int, work: Callable[..., object], *arguments: Any) -> Interrupt | None:
    """Works, and is interrupted at the place of this number; None where there are fewer places."""
    interrupt = Interrupt(at)
    try:
        with interrupt:
            work(*arguments)
    except KeyboardInterrupt:
        pass
    return interrupt if interrupt.raised else None


@pytest.mark.slow
@pytest.mark.parametrize(("name", "way"), CASES)
def test_interrupted_load_is_whole_or_not_there(
    request: pytest.FixtureRequest, name: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = database(request, name)
    ignored: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    made(db)
    work = WAYS[db.kind][way]
    # A connection that was dropped before is not finalized at the place that is interrupted.
    gc.collect()
    conn = db.connect(autocommit=True, **db.loading)
    steps = 0
    with db.connect(autocommit=True) as other:
        while interrupt := interrupted(steps, work, conn, steps):
            later = []
            if not conn.closed:
                conn.execute(f"insert into loaded values ({steps}, 'later')", timeout=PATIENCE)
                assert (conn.transaction_status, conn._core.depth) == (TransactionStatus.IDLE, 0), interrupt.where
                later = [("later", 1)]
            rows = other.fetch(f"select who, count(*) from loaded where n = {steps} group by who")
            assert sorted(rows) in (later, [*later, ("load", ROWS)]), interrupt.where
            assert not ignored, interrupt.where
            if conn.closed:
                conn = db.connect(autocommit=True, **db.loading)
                gc.collect()
            steps += 1
    conn.close()
    assert steps > 50


def execute(conn: Any, sql: str) -> None:
    with conn.cursor() as cursor:
        cursor.execute(sql)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # The file that was just opened.
@pytest.mark.slow
@pytest.mark.parametrize("name", names(MySQL, MariaDB))
def test_interrupted_load_of_the_facade_goes_on_or_is_closed(
    request: pytest.FixtureRequest, name: str, tmp_path: Path
) -> None:
    db: Any = database(request, name)
    made(db)
    (tmp_path / "rows").write_bytes(text(0))

    def connect() -> Any:
        return facade.connect(**db.served.where, database="test", autocommit=True, local_infile=1)

    conn = connect()
    steps = 0
    load = f"load data local infile '{tmp_path / 'rows'}' into table loaded"
    while interrupt := interrupted(steps, execute, conn, load):
        if conn._connection.closed:
            conn = connect()
        conn._connection._core.command_timeout = PATIENCE
        with conn.cursor() as cursor:
            cursor.execute("select count(*) from loaded")
            assert cursor.fetchone()[0] % ROWS == 0, interrupt.where
        steps += 1
    conn.close()
    assert steps > 20
