"""Arrow streams as the rows of LOAD DATA LOCAL: the same as the rows that Python has of them."""

from __future__ import annotations

from typing import Any

import polars
import pyarrow
import pytest

import headrace.mysql
from headrace import errors

Conn = headrace.mysql.Connection[Any]


@pytest.fixture(autouse=True)
def _table(my: Conn) -> None:
    my.execute("drop table if exists arrow_loaded")
    my.execute("create table arrow_loaded (nr int, name varchar(40), document json)")


def table(count: int) -> pyarrow.Table:
    """Rows in chunks, that begin in the middle of their arrays."""
    whole = pyarrow.table(
        {
            "document": [None if n % 3 == 0 else {"n": n} for n in range(count + 5)],
            "nr": [None if n % 5 == 0 else n for n in range(count + 5)],
            "name": [None if n % 7 == 0 else f"name\t{n}\\" for n in range(count + 5)],
        }
    ).slice(5)
    return pyarrow.concat_tables([whole.slice(0, count // 3), whole.slice(count // 3)])


@pytest.mark.parametrize("count", [0, 10, 30_000])
@pytest.mark.slow
def test_the_values_are_those_of_rows(my: Conn, count: int) -> None:
    rows = table(count)
    assert my.load_rows("arrow_loaded", rows) == count
    assert my.load_rows("arrow_loaded", polars.DataFrame(rows)) == count
    wanted = [(row["nr"], row["name"], row["document"]) for row in rows.to_pylist()]
    found = my.fetch("select * from arrow_loaded")
    assert sorted(map(repr, found)) == sorted(map(repr, wanted * 2))


@pytest.mark.parametrize("bits", [1, 8, 9, 16, 40, 64])
def test_bits_go_out_and_in_as_themselves_in_every_way(my: Conn, my_url: str, adbc_dbapi: Any, bits: int) -> None:
    my.execute("drop table if exists bits_from, bits_to")
    numbers = sorted({0, 1, 5 % 2**bits, 2**bits // 3, 2**bits - 1})
    for table in ("bits_from", "bits_to"):
        my.execute(f"create table {table} (b bit({bits}))")
    my.executemany("insert into bits_from values (%s)", [(number,) for number in numbers] + [(None,)])
    data = pyarrow.table(my.fetch_arrow("select b from bits_from"))
    assert data.schema.types == [pyarrow.binary()]
    with adbc_dbapi.connect(my_url, autocommit=True) as adbc, adbc.cursor() as cursor:
        for copy in (
            lambda: my.executemany("insert into bits_to values (%s)", data),
            lambda: my.load_rows("bits_to", data),
            lambda: my.load_rows("bits_to", [tuple(row.values()) for row in data.to_pylist()]),
            lambda: cursor.adbc_ingest("bits_to", data, mode="append"),
        ):
            my.execute("delete from bits_to")
            copy()
            assert my.fetch("select b + 0 from bits_to order by b") == [(None,), *((number,) for number in numbers)]


async def test_on_asyncio(my: Conn, amy: Any) -> None:
    assert await amy.load_rows("arrow_loaded", table(5000).to_reader()) == 5000
    assert my.fetchval("select count(*) from arrow_loaded") == 5000


def test_columns_have_their_names(my: Conn) -> None:
    assert my.load_rows("arrow_loaded", pyarrow.table({"name": ["a"], "nr": [1]})) == 1
    assert my.load_rows("arrow_loaded", pyarrow.table({"x": [2], "y": ["b"]}), columns=["nr", "name"]) == 1
    assert my.fetch("select nr, name from arrow_loaded order by nr") == [(1, "a"), (2, "b")]
    with pytest.raises(errors.UndefinedColumn):
        my.load_rows("arrow_loaded", pyarrow.table({"nr": [1], "other": [2]}))
    with pytest.raises(errors.ProgrammingError, match="none of them"):
        my.load_rows("arrow_loaded", pyarrow.table({"nr": [1]}), columns=["nr", "name"])


@pytest.mark.parametrize("at", [3, 25_000])
def test_what_cannot_be_sent_is_named(my: Conn, at: int) -> None:
    moments = pyarrow.array([1_001 if n == at else 1_000 for n in range(30_000)]).cast(pyarrow.timestamp("ns"))
    with pytest.raises(errors.DataError, match=rf"row {at}: column 'name' \(Arrow type Timestamp\(ns\)\)") as caught:
        my.load_rows("arrow_loaded", pyarrow.table({"name": moments}))
    assert caught.value.row == at
    assert my.fetchval("select count(*) from arrow_loaded") == 0
