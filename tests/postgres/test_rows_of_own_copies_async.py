"""Rows that are written into a COPY of the program's own words are those that the server reads."""

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
async def test_rows_are_refused_where_the_server_would_read_others(aconn: Any, options: str) -> None:
    await aconn.execute("create temp table if not exists own (csv text, n int)")
    await aconn.commit()
    with pytest.raises(errors.ProgrammingError, match=r"write\(\) the data yourself"):
        async with aconn.cursor().copy(f"copy own (csv, n) from stdin {options}") as copy:
            await copy.write_row(ROW)
    await aconn.rollback()
    async with aconn.cursor().copy("copy own (csv, n) from stdin (format csv)") as copy:
        await copy.write("a,1\n")
    assert await aconn.fetch("select * from own") == [("a", 1)]


@pytest.mark.parametrize("options", SAME)
async def test_rows_are_what_the_server_stores(aconn: Any, options: str) -> None:
    await aconn.execute("create temp table if not exists own (csv text, n int)")
    async with aconn.cursor().copy(f"copy own (csv, n) from stdin {options}") as copy:
        await copy.write_rows([ROW, ("a\tb", 2)])
    assert await aconn.fetch("select * from own") == [ROW, ("a\tb", 2)]
