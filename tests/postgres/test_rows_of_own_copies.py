"""Rows that are written into a COPY of the program's own words are those that the server reads."""

# Made by tools/async_to_sync.py of test_rows_of_own_copies_async.py: edit that file, and run the tool.

from __future__ import annotations

from typing import Any

import pytest

from headrace import errors

OTHER = (
    "(format csv)",
    "csv",
    "with csv header",
    "(format 'csv', null 'x')",
    "(delimiter ',')",
    "delimiters ','",
    "(null '')",
    "null as 'x'",
    "(encoding 'latin1')",
    "(format csv) where n is not null",
    "(header)",
    "(format text, header true)",
    "(header match)",
)
"""Options with which the server would store others: ``\\N`` for NULL, two columns for one, or all but the first."""
SAME = (
    "",
    "(format text)",
    "with (format 'text')",
    "(delimiter E'\\t', null '\\N', encoding 'UTF8')",
    "where csv is null or n > 0",
    "(header false)",
    "(header off)",
)
ROW = (None, 1)


@pytest.mark.parametrize("options", OTHER)
def test_rows_are_refused_where_the_server_would_read_others(conn: Any, options: str) -> None:
    conn.execute("create temp table if not exists own (csv text, n int)")
    conn.commit()
    with (
        pytest.raises(errors.ProgrammingError, match=r"write\(\) the data yourself"),
        conn.cursor().copy(f"copy own (csv, n) from stdin {options}") as copy,
    ):
        copy.write_row(ROW)
    conn.rollback()
    with conn.cursor().copy("copy own (csv, n) from stdin (format csv)") as copy:
        copy.write("a,1\n")
    assert conn.fetch("select * from own") == [("a", 1)]


@pytest.mark.parametrize("options", SAME)
def test_rows_are_what_the_server_stores(conn: Any, options: str) -> None:
    conn.execute("create temp table if not exists own (csv text, n int)")
    with conn.cursor().copy(f"copy own (csv, n) from stdin {options}") as copy:
        copy.write_rows([ROW, ("a\tb", 2)])
    assert conn.fetch("select * from own") == [ROW, ("a\tb", 2)]
