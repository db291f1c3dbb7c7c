"""Arrow streams as the rows of executemany: the same as the rows that Python has of them, on every database, in both
worlds."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Database
from .test_arrow import TABLES, mark, prepare


def emptied(db: Database, admin: Any, columns: dict[str, tuple[str, list[Any]]]) -> str:
    """An empty table of these columns; returns the statement that inserts a row."""
    admin.execute("drop table if exists arrow_taken")
    types = ", ".join(f"{name} {kind}" for name, (kind, _) in columns.items())
    admin.execute(f"create table arrow_taken (nr int, {types})")
    marks = ", ".join([mark(db)] * (len(columns) + 1))
    return f"insert into arrow_taken values ({marks})"


def carried(db: Database) -> dict[str, tuple[str, list[Any]]]:
    """The columns whose Arrow type can be sent back."""
    # MySQL's bits become a string of digits.
    return {name: column for name, column in TABLES[db.kind].items() if not column[0].startswith("bit(")}


def test_a_result_goes_back_as_it_came(any_db: Database) -> None:
    prepare(any_db)
    columns = carried(any_db)
    listed = ", ".join(["nr", *columns])
    with any_db.connect(autocommit=True) as conn:
        insert = emptied(any_db, conn, columns)
        result = conn.fetch_arrow(f"select {listed} from arrow_values order by nr")
        assert conn.executemany(insert, result).rowcount == 3
        rows = conn.fetch("select * from arrow_taken order by nr")
        assert rows == conn.fetch(f"select {listed} from arrow_values order by nr")


@pytest.mark.asyncio
async def test_a_result_goes_back_on_asyncio(any_db: Database) -> None:
    prepare(any_db)
    columns = carried(any_db)
    listed = ", ".join(["nr", *columns])
    with any_db.connect(autocommit=True) as admin:
        insert = emptied(any_db, admin, columns)
    conn = await any_db.aconnect(autocommit=True)
    async with conn:
        result = await conn.fetch_arrow(f"select {listed} from arrow_values order by nr")
        assert (await conn.executemany(insert, result)).rowcount == 3
        rows = await conn.fetch("select * from arrow_taken order by nr")
        assert rows == await conn.fetch(f"select {listed} from arrow_values order by nr")
