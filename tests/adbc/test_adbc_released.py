"""A broker of CUBRID that gives the process of a connection to another client: the session goes on with the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

import headrace.cubrid
import headrace.testing
from adbc_driver_headrace import dbapi
from cutting import AFTER, Cutting

ROWS = 300
STEPS: dict[str, Callable[[dbapi.Connection, dbapi.Cursor], Any]] = {
    "parameters": lambda _, cursor: cursor.execute("insert into kept values (?)", (1,)),
    "literal": lambda _, cursor: cursor.execute("insert into kept values (1)"),
    "batch": lambda _, cursor: cursor.executemany("insert into kept values (?)", [(n,) for n in range(ROWS)]),
    "ingest": lambda _, cursor: cursor.adbc_ingest("kept", pa.table({"n": list(range(ROWS))}), mode="append"),
    "query": lambda _, cursor: cursor.execute("select count(*) from kept where n > ?", (-1,)).fetchall(),
    "schema": lambda conn, _: conn.adbc_get_table_schema("kept"),
}
ADDED = {"parameters": 1, "literal": 1, "batch": ROWS, "ingest": ROWS, "query": 0, "schema": 0}


@pytest.fixture
def few() -> Iterator[str]:
    """The URL of a server of one process, with an empty table."""
    with headrace.testing.cubrid(cas=1) as server:
        with headrace.cubrid.connect(server.url, autocommit=True) as admin:
            admin.execute("create table kept (n int)")
        yield server.url


def count(url: str) -> int:
    """The rows; whoever has the process of the server loses it."""
    with headrace.cubrid.connect(url) as other:
        return int(other.fetchval("select count(*) from kept"))


@pytest.mark.parametrize("autocommit", [True, False], ids=["autocommit", "transaction"])
@pytest.mark.parametrize("step", STEPS)
def test_a_connection_whose_process_was_taken_goes_on(few: str, step: str, autocommit: bool) -> None:
    stored = []
    with dbapi.connect(few, autocommit=autocommit) as conn, conn.cursor() as cursor:
        for _ in range(3):
            STEPS[step](conn, cursor)
            if not autocommit:
                conn.commit()
            stored.append(count(few))
    assert stored == [ADDED[step] * times for times in (1, 2, 3)]


def test_a_statement_whose_reply_was_cut_off_is_executed_or_not_as_it_says(few: str) -> None:
    port = int(few.rpartition(":")[2].partition("/")[0])
    outcomes = set()
    with Cutting(port, AFTER) as way:
        for blocks in range(1, 5):
            url, before, said = few.replace(f":{port}", f":{way.port}"), count(few), "executed"
            with dbapi.connect(url, autocommit=True) as conn, conn.cursor() as cursor:
                way.arm(blocks)
                try:
                    cursor.execute("insert into kept values (?)", (blocks,))
                except dbapi.Error as error:
                    said = "unknown" if "it is unknown whether the statement in flight" in str(error) else "failed"
                way.left = None
            outcomes.add(said)
            assert count(few) - before in {"executed": [1], "failed": [0], "unknown": [0, 1]}[said]
    assert "unknown" in outcomes
