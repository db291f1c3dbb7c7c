"""Servers of older versions of the protocol: the rows are the right ones, although these servers cannot seek."""

# Made by tools/async_to_sync.py of test_versions_async.py: edit that file, and run the tool.

from __future__ import annotations

import random
from typing import Any

import headrace.cubrid

from .older import ALL, ROWS


def filled(older_server: Any, long_rows: list[tuple[int, str]]) -> Any:
    """A connection to a server with a table of these rows."""
    conn = headrace.cubrid.connect(older_server.url)
    conn.execute("create table hr_long (n int primary key, v varchar(4000))")
    conn.executemany("insert into hr_long values (?, ?)", long_rows)
    conn.commit()
    return conn


def test_rows_of_all_pages_are_the_right_ones(older_server: Any, long_rows: list[tuple[int, str]]) -> None:
    with filled(older_server, long_rows) as conn:
        assert conn.fetch(ALL) == long_rows
        assert list(conn.stream(ALL, fetch_size=50)) == long_rows


def test_cursors_scroll(older_server: Any, long_rows: list[tuple[int, str]]) -> None:
    with filled(older_server, long_rows) as conn, conn.transaction():
        cursor = conn.cursor(scrollable=True)
        cursor.execute(ALL)
        rng = random.Random(2)
        for _ in range(60):
            number = rng.randint(1, ROWS)
            assert cursor.fetch_absolute(number) == long_rows[number - 1]
        assert cursor.fetch_last() == long_rows[-1]
        assert cursor.fetch_first() == long_rows[0]
        assert cursor.fetchall() == long_rows[1:]
        cursor.scroll(10, "absolute")
        assert cursor.fetchmany(300) == long_rows[10:310]


def test_session_of_each_version(older_server: Any) -> None:
    with headrace.cubrid.connect(older_server.url, autocommit=True) as conn:
        conn.execute("create table hr_key (id int auto_increment primary key, d datetime, j json)")
        assert len(conn.generated_keys("insert into hr_key (d) values (?), (?)", (None, None))) == 2
        assert conn.fetchval("select count(*) from hr_key") == 2
        conn.ping()
