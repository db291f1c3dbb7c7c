"""Results outside of a transaction whose rows the server takes for one page, and that are longer in its replies."""

# Made by tools/async_to_sync.py of test_reexecuted_async.py: edit that file, and run the tool.

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

import headrace.cubrid

WHEN = dt.datetime(2024, 2, 29, 13, 45, 59, 123_000)
COLUMNS: dict[str, tuple[str, Any, int, list[int]]] = {
    "datetime": ("datetime", WHEN, 5, [159, 160, 163, 168, 172, 180]),
    "numeric": ("numeric(38,0)", Decimal("9" * 38), 10, [35, 36, 43, 50, 57, 70]),
    "enum": (f"enum('{'x' * 40}', 'y')", "x" * 40, 3, [100, 113, 200, 267, 300]),
    "datetimetz": ("datetimetz", WHEN.replace(tzinfo=dt.timezone.utc), 3, [150, 190, 200, 250]),
    "list": ("list(numeric(38,0))", [Decimal("9" * 38)] * 3, 2, [40, 60, 80]),
}
"""The type, a value of it, how many such columns, and numbers of rows about those where a page is full."""


@pytest.mark.parametrize("name", COLUMNS)
def test_all_rows_come(url: str, name: str) -> None:
    kind, value, width, counts = COLUMNS[name]
    columns = [f"c{n}" for n in range(width)]
    with headrace.cubrid.connect(url, autocommit=True) as conn:
        conn.execute("drop table if exists hr_reexecuted")
        conn.execute(f"create table hr_reexecuted ({', '.join(f'{column} {kind}' for column in columns)})")
        rows = [(value,) * width] * max(counts)
        conn.executemany(f"insert into hr_reexecuted values ({', '.join('?' * width)})", rows)
        for count in counts:
            # A text of its own each: what the first execution has shown is known to later ones.
            sql = f"select {', '.join(columns)} from hr_reexecuted limit {count}"
            for _ in range(2):
                assert conn.fetch(sql) == rows[:count]
            assert list(conn.stream(f"{sql} -- streamed", fetch_size=50)) == rows[:count]
            cursor = conn.cursor(stream=True)
            cursor.execute(f"{sql} -- by a cursor")
            assert cursor.fetchall() == rows[:count]
            with conn.cursor(withhold=True) as held:
                held.execute(sql)
                assert held.fetchall() == rows[:count]
        assert conn.transaction_status == 0
        conn.execute("drop table hr_reexecuted")


def test_all_rows_come_of_pipelined_queries(url: str) -> None:
    with headrace.cubrid.connect(url, autocommit=True, keep_cas=True) as conn:
        conn.execute("drop table if exists hr_reexecuted")
        conn.execute("create table hr_reexecuted (a datetime, b datetime, c datetime, d datetime, e datetime)")
        rows = [(WHEN,) * 5] * 200
        conn.executemany("insert into hr_reexecuted values (?, ?, ?, ?, ?)", rows)
        counts = [10, 163, 168, 172, 200]
        found = conn.fetchmany("select * from hr_reexecuted limit ?", [(count,) for count in counts])
        assert found == rows[:1] * sum(counts)
        conn.execute("drop table hr_reexecuted")
