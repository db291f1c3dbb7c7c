"""Tables and data frames of other packages, from connections and cursors, on every database, in both worlds."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pandas
import polars
import pyarrow
import pytest

import headrace
from headrace import errors
from headrace.aio.pool import AsyncConnectionPool
from headrace.pool import ConnectionPool
from servers import Database

ROWS = [(0, "zero", Decimal("0.500")), (1, None, Decimal("-1.250")), (2, "two", None)]
SQL = "select n, name, amount from arrow_frames order by n"
FRAMES = ["fetch_arrow_table", "fetch_df", "fetch_polars"]
"""What pools have."""
METHODS = ["fetch_arrow", "fetch_arrow_table", "fetch_record_batch", "fetch_df", "fetch_polars"]


@pytest.fixture(autouse=True)
def _table(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as admin:
        admin.execute("drop table if exists arrow_frames")
        admin.execute("create table arrow_frames (n int, name varchar(40), amount numeric(12, 3))")
        admin.executemany(f"insert into arrow_frames values ({', '.join([any_db.question_mark] * 3)})", ROWS)


def rows(made: Any) -> list[tuple[Any, ...]]:
    """The rows of what a method made, whose class is the right one."""
    if isinstance(made, pandas.DataFrame):
        cells = made.astype(object).where(made.notna(), None)
        return [tuple(row) for row in cells.itertuples(index=False)]
    if isinstance(made, polars.DataFrame):
        return made.rows()
    table = made.read_all() if isinstance(made, pyarrow.RecordBatchReader) else pyarrow.table(made)
    return [tuple(row.values()) for row in table.to_pylist()]


CLASSES = {
    "fetch_arrow_table": pyarrow.Table,
    "fetch_record_batch": pyarrow.RecordBatchReader,
    "fetch_df": pandas.DataFrame,
    "fetch_polars": polars.DataFrame,
}


@pytest.mark.parametrize("method", METHODS)
def test_a_connection_makes_it(any_db: Database, method: str) -> None:
    with any_db.connect() as conn:
        made = getattr(conn, method)(SQL)
        assert isinstance(made, CLASSES.get(method, object))
        assert rows(made) == ROWS
        some = SQL.replace("order", f"where n > {any_db.question_mark} order")
        assert rows(getattr(conn, method)(some, 0)) == ROWS[1:]
        with pytest.raises(TypeError, match=rf"{method}\(\) has no keyword 'n'"):
            getattr(conn, method)(SQL, n=1)
        assert conn.fetchval("select count(*) from arrow_frames") == 3


@pytest.mark.asyncio
@pytest.mark.parametrize("method", METHODS)
async def test_a_loop_connection_makes_it(any_db: Database, method: str) -> None:
    conn = await any_db.aconnect()
    async with conn:
        made = await getattr(conn, method)(SQL)
        assert isinstance(made, CLASSES.get(method, object))
        assert await conn.fetchval("select count(*) from arrow_frames") == 3
        assert rows(made) == ROWS


@pytest.mark.parametrize("method", FRAMES)
@pytest.mark.parametrize("shell", ["blocking", "asyncio"])
def test_a_pool_makes_it(any_db: Database, shell: str, method: str) -> None:
    some = SQL.replace("order", f"where n > {any_db.question_mark} order")
    with shell_pool(shell, any_db.url) as call:
        made = call(method, some, 0)
        assert isinstance(made, CLASSES[method])
        assert rows(made) == ROWS[1:]
        with pytest.raises(TypeError, match=rf"{method}\(\) has no keyword 'n'"):
            call(method, SQL, n=1)
        with pytest.raises(errors.DatabaseError):
            call(method, "select * from no_such_table")
        # The only connection is back each time.
        assert rows(call(method, SQL, timeout=60.0)) == ROWS


@contextlib.contextmanager
def shell_pool(shell: str, url: str) -> Iterator[Callable[..., Any]]:
    """A pool of one connection; yields what calls its methods."""
    if shell == "blocking":
        with ConnectionPool(url, min_size=1, max_size=1, timeout=60.0) as pool:
            yield lambda method, *args, **keywords: getattr(pool, method)(*args, **keywords)
        return
    loop = asyncio.new_event_loop()
    try:
        apool = AsyncConnectionPool(url, min_size=1, max_size=1, timeout=60.0, open=False)
        loop.run_until_complete(apool.open())
        try:
            yield lambda method, *args, **keywords: loop.run_until_complete(getattr(apool, method)(*args, **keywords))
        finally:
            loop.run_until_complete(apool.close())
    finally:
        loop.close()


@pytest.mark.parametrize("method", METHODS)
def test_a_cursor_makes_it(any_db: Database, method: str) -> None:
    some = SQL.replace("order", f"where n > {any_db.question_mark} order")
    with any_db.connect() as conn, conn.cursor() as cursor:
        assert cursor.execute_arrow(some, (0,)) is cursor
        made = getattr(cursor, method)()
        assert isinstance(made, CLASSES.get(method, object))
        assert rows(made) == rows(getattr(cursor, method)()) == ROWS[1:]
        assert [column.name for column in cursor.description] == ["n", "name", "amount"]
        assert cursor.rowcount == 2
        assert conn.fetchval("select count(*) from arrow_frames") == 3


@pytest.mark.asyncio
@pytest.mark.parametrize("method", METHODS)
async def test_a_loop_cursor_makes_it(any_db: Database, method: str) -> None:
    conn = await any_db.aconnect()
    async with conn:
        cursor = await conn.cursor().execute_arrow(SQL, batch_rows=2)
        assert rows(getattr(cursor, method)()) == ROWS
        assert cursor.fetch_arrow().num_batches == 2


@pytest.mark.parametrize("method", METHODS)
def test_a_cursor_without_an_arrow_result(any_db: Database, method: str) -> None:
    with any_db.connect(autocommit=True) as conn:
        cursor = conn.cursor()
        with pytest.raises(errors.ProgrammingError, match="nothing was executed by execute_arrow"):
            getattr(cursor, method)()
        cursor.execute(SQL)
        # The error names the call that does it.
        with pytest.raises(errors.ProgrammingError, match=rf"has made Python objects.* connection\.{method}\(sql"):
            getattr(cursor, method)()
        assert cursor.fetchall() == ROWS
        cursor.execute_arrow("delete from arrow_frames where n = 2")
        assert (cursor.rowcount, cursor.description) == (1, None)
        with pytest.raises(errors.ProgrammingError, match="returned no rows"):
            getattr(cursor, method)()
        cursor.execute_arrow(SQL)
        assert len(cursor.fetch_arrow()) == 2
        # What was executed last counts.
        cursor.execute(SQL)
        with pytest.raises(errors.ProgrammingError, match="has made Python objects"):
            getattr(cursor, method)()
        with pytest.raises(errors.DatabaseError):
            cursor.execute_arrow("select * from no_such_table")
        with pytest.raises(errors.ProgrammingError, match="nothing was executed by execute_arrow"):
            getattr(cursor, method)()
        cursor.close()
        with pytest.raises(errors.InterfaceError, match="closed"):
            getattr(cursor, method)()
        with pytest.raises(errors.InterfaceError, match="closed"):
            cursor.execute_arrow(SQL)


def test_rows_of_an_arrow_result_cannot_be_fetched(any_db: Database) -> None:
    with any_db.connect() as conn:
        cursor = conn.cursor().execute_arrow(SQL)
        for fetch in (cursor.fetchone, cursor.fetchmany, cursor.fetchall, lambda: list(cursor)):
            with pytest.raises(errors.ProgrammingError, match="record batches"):
                fetch()
        cursor.execute(SQL)
        assert cursor.fetchall() == ROWS


def test_cursors_that_fetch_later_refuse_it(any_db: Database) -> None:
    with any_db.connect() as conn:
        for keywords in any_db.cursors_that_fetch_later:
            cursor = conn.cursor(**keywords)
            with pytest.raises(errors.NotSupportedError, match="stream_arrow"):
                cursor.execute_arrow(SQL)
        assert conn.fetch(SQL) == ROWS


def test_a_reader_that_is_closed_frees_the_connection(any_db: Database) -> None:
    with any_db.connect() as conn:
        with conn.fetch_record_batch(SQL, batch_rows=1) as reader:
            assert len(reader.read_next_batch()) == 1
        assert conn.fetch(SQL) == ROWS


PACKAGES = [
    ("fetch_arrow_table", "pyarrow", "pyarrow"),
    ("fetch_record_batch", "pyarrow", "pyarrow"),
    ("fetch_df", "pandas", "pandas pyarrow"),
    ("fetch_df", "pyarrow", "pyarrow"),
    ("fetch_polars", "polars", "polars"),
]


@pytest.mark.parametrize(("method", "package", "install"), PACKAGES)
def test_a_package_that_is_missing_is_named(
    any_db: Database, monkeypatch: pytest.MonkeyPatch, method: str, package: str, install: str
) -> None:
    with any_db.connect() as conn:
        cursor = conn.cursor().execute_arrow(SQL)
        monkeypatch.setitem(sys.modules, package, None)
        wanted = rf"{method}\(\) needs {package}, which is not installed: pip install {install}$"
        with pytest.raises(ModuleNotFoundError, match=wanted) as missing:
            # Before the statement, of which the server would complain, is executed.
            getattr(conn, method)("not a statement")
        assert missing.value.name == package
        with pytest.raises(ModuleNotFoundError, match=wanted):
            getattr(cursor, method)()
        assert len(conn.fetch_arrow(SQL)) == 3


def test_a_table_does_not_import_pandas(any_db: Database) -> None:
    program = (
        "import headrace, sys\n"
        f"conn = headrace.connect({any_db.url!r})\n"
        f"assert conn.fetch_arrow_table({SQL!r}).num_rows == 3\n"
        f"assert conn.cursor().execute_arrow({SQL!r}).fetch_arrow_table().num_rows == 3\n"
        "conn.close()\n"
        "assert 'pandas' not in sys.modules, 'pandas was imported'\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_value_that_does_not_fit(url: str) -> None:
    import headrace

    with headrace.connect(url) as conn:
        cursor = conn.cursor()
        with pytest.raises(errors.DataError, match="NaN"):
            cursor.execute_arrow("select 'NaN'::numeric as x")
        with pytest.raises(errors.ProgrammingError, match="execute_arrow"):
            cursor.fetch_arrow()
        assert cursor.execute_arrow("select 'NaN'::numeric as x", numeric="string").fetch_df()["x"][0] == "NaN"


@pytest.mark.parametrize("value", ["interval '1 month'", "1::numeric(60, 10)", "array[interval '1 month']"])
async def test_a_type_that_polars_does_not_have(url: str, value: str) -> None:
    sql = f"select 1 as n, {value} as v"
    with headrace.connect(url) as conn:
        with pytest.raises(errors.NotSupportedError, match=r"polars.*v: .*cast the column"):
            conn.fetch_polars(sql)
        with pytest.raises(errors.NotSupportedError, match="polars"), conn.cursor() as cursor:
            cursor.execute_arrow(sql)
            cursor.fetch_polars()
        assert conn.fetch_polars(f"select ({value})::text as v")["v"][0]
    async with await headrace.aio.connect(url) as aconn:
        with pytest.raises(errors.NotSupportedError, match="polars"):
            await aconn.fetch_polars(sql)
