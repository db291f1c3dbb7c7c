"""Arrow streams as the rows of executemany: the same as the rows that Python has of them, on every database, in both
worlds."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pandas
import polars
import pyarrow
import pytest

from headrace import errors
from servers import Database, MySQL, PostgreSQL, database, names

from .test_arrow import TABLES, prepare
from .test_first_failing_rows import prepare as prepare_failing
from .test_first_failing_rows import strategies

FAILING = pyarrow.schema({"id": pyarrow.int64(), "name": pyarrow.string()})
"""The columns of the table of failing rows."""


def emptied(db: Database, admin: Any, columns: dict[str, tuple[str, list[Any]]]) -> str:
    """An empty table of these columns; returns the statement that inserts a row."""
    admin.execute("drop table if exists arrow_taken")
    types = ", ".join(f"{name} {kind}" for name, (kind, _) in columns.items())
    admin.execute(f"create table arrow_taken (nr int, {types})")
    marks = ", ".join([db.question_mark] * (len(columns) + 1))
    return f"insert into arrow_taken values ({marks})"


def carried(db: Database) -> dict[str, tuple[str, list[Any]]]:
    """The columns whose Arrow type can be sent back."""
    return TABLES[db.kind]


def pairs(db: Database) -> str:
    """An empty table of numbers and names; returns the statement that inserts a row."""
    with db.connect(autocommit=True) as admin:
        return emptied(db, admin, {"name": ("varchar(40)", [])})


def chunked(count: int, *sizes: int) -> pyarrow.Table:
    """Numbers and names, in chunks of these sizes, that begin in the middle of their arrays."""
    numbers = pyarrow.array(range(-5, count), pyarrow.int32())
    names = pyarrow.array([None if number % 7 == 0 else f"name {number}" for number in range(-5, count)])
    whole = pyarrow.record_batch({"nr": numbers, "name": names})
    batches, at = [], 5
    for size in itertools.cycle(sizes):
        if at >= len(whole):
            return pyarrow.Table.from_batches(batches)
        batches.append(whole.slice(at, size))
        at += size
    raise AssertionError("no sizes")


def rows_of(table: pyarrow.Table) -> list[tuple[Any, ...]]:
    """Its rows, in Python's types."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


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


def sources(table: pyarrow.Table) -> Iterator[Any]:
    """The same rows as several packages have them."""
    yield table
    yield table.combine_chunks().to_batches()[0]
    yield table.to_reader()
    yield polars.DataFrame(table)
    yield table.to_pandas(types_mapper=pandas.ArrowDtype)


def test_any_package_may_have_the_rows(any_db: Database) -> None:
    insert = pairs(any_db)
    table = chunked(100, 30, 1, 69)
    with any_db.connect(autocommit=True) as conn:
        for source in sources(table):
            assert conn.executemany(insert, source).rowcount == 100
            assert conn.fetch("select * from arrow_taken order by nr") == rows_of(table)
            conn.execute("delete from arrow_taken")
        # headrace's own, from another connection: all of it, a batch of it, and while it is received.
        with any_db.connect() as other:
            conn.executemany(insert, table)
            for take in (other.fetch_arrow, lambda sql: next(iter(other.stream_arrow(sql))), other.stream_arrow):
                rows = take("select * from arrow_taken order by nr")
                conn.executemany(insert, rows)
                other.rollback()
        assert conn.fetchval("select count(*) from arrow_taken") >= 400


@pytest.mark.parametrize("sizes", [(5000,), (1, 999, 2000), (1500, 3), (7,)], ids=["one", "uneven", "two", "small"])
def test_chunks_of_any_size(any_db: Database, sizes: tuple[int, ...]) -> None:
    insert = pairs(any_db)
    table = chunked(5000, *sizes)
    with any_db.connect(autocommit=True) as conn:
        assert conn.executemany(insert, table).rowcount == 5000
        assert conn.executemany(insert, table.to_reader()).rowcount == 5000
        rows = conn.fetch("select * from arrow_taken order by nr")
    assert rows == [row for row in rows_of(table) for _ in range(2)]


@pytest.mark.parametrize("inside", [False, True], ids=["alone", "inside"])
@pytest.mark.parametrize("once", [False, True], ids=["table", "reader"])
@pytest.mark.parametrize(("count", "at"), [(10, 3), (3000, 2500), (35_000, 33_000)])
def test_the_row_that_the_server_refuses_is_named(
    any_db: Database, inside: bool, once: bool, count: int, at: int
) -> None:
    prepare_failing(any_db)
    ids = [*range(at), -1, *range(at + 1, count)]
    table = pyarrow.table({"id": ids, "name": [f"row {n}" for n in range(count)]}, FAILING)
    table = pyarrow.concat_tables([table.slice(0, count // 3), table.slice(count // 3)])
    with any_db.connect(autocommit=True) as conn:
        for name, sql, keywords in strategies(any_db):
            rows = table.to_reader() if once else table
            block = conn.transaction() if inside else contextlib.nullcontext()
            with pytest.raises(errors.UniqueViolation) as caught, block:
                conn._wait(conn._core.wire.execute_batch(sql, rows, **keywords), None)
            assert caught.value.row == at, name
            assert conn.fetch("select id from first_failing") == [(-1,)], name


@pytest.mark.parametrize(("count", "at"), [(10, 3), (3000, 2500)])
def test_a_value_that_cannot_be_sent_is_named_with_its_column(any_db: Database, count: int, at: int) -> None:
    insert = pairs(any_db)
    names = pyarrow.array([b"name"] * at + [b"\xff"] + [b"name"] * (count - at - 1), pyarrow.binary())
    # Not checked by pyarrow: text that is not UTF-8.
    names = pyarrow.Array.from_buffers(pyarrow.string(), count, names.buffers())
    table = pyarrow.table({"nr": pyarrow.array(range(count)), "name": names})
    with any_db.connect(autocommit=True) as conn:
        with pytest.raises(errors.DataError, match=rf"row {at}: column 'name' \(Arrow type Utf8\): .*UTF-8") as caught:
            conn.executemany(insert, table)
        assert caught.value.row == at
        assert conn.fetchval("select count(*) from arrow_taken") == 0
        assert conn.executemany(insert, table.slice(0, at)).rowcount == at


def test_what_is_finer_than_a_microsecond_is_refused(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn:
        insert = emptied(any_db, conn, {"moment": (any_db.timestamp, [])})
        nanos = pyarrow.array([1_000_000_000, 1_000_000_001]).cast(pyarrow.timestamp("ns"))
        table = pyarrow.table({"nr": [0, 1], "moment": nanos})
        with pytest.raises(errors.DataError, match=r"row 1: column 'moment' \(Arrow type Timestamp\(ns\)\)") as caught:
            conn.executemany(insert, table)
        assert caught.value.row == 1
        assert conn.executemany(insert, table.slice(0, 1)).rowcount == 1
        assert str(conn.fetchval("select moment from arrow_taken")) == "1970-01-01 00:00:01"


@pytest.fixture(params=names(PostgreSQL, MySQL))
def naming_db(request: pytest.FixtureRequest) -> Database:
    """A database whose driver takes ``%(name)s``."""
    return database(request, request.param)


def test_there_are_as_many_columns_as_parameters(any_db: Database) -> None:
    insert = pairs(any_db)
    table = chunked(10, 3)
    with any_db.connect(autocommit=True) as conn:
        for rows in (table.select(["nr"]), table.append_column("more", table["nr"])):
            with pytest.raises(errors.ProgrammingError, match="parameter"):
                conn.executemany(insert, rows)
        assert conn.fetchval("select count(*) from arrow_taken") == 0


def test_columns_are_found_by_their_names(naming_db: Database) -> None:
    pairs(naming_db)
    table = pyarrow.table({"spare": [None, None], "name": ["a", "b"], "nr": [1, 2]})
    with naming_db.connect(autocommit=True) as conn:
        insert = "insert into arrow_taken (nr, name) values (%(nr)s, %(name)s)"
        assert conn.executemany(insert, table).rowcount == 2
        assert conn.fetch("select * from arrow_taken order by nr") == [(1, "a"), (2, "b")]
        with pytest.raises(errors.ProgrammingError, match=r"no column for the parameter %\(other\)s"):
            conn.executemany("insert into arrow_taken (nr, name) values (%(nr)s, %(other)s)", table)
        twice = pyarrow.Table.from_arrays([table["nr"], table["name"], table["nr"]], ["nr", "name", "nr"])
        with pytest.raises(errors.ProgrammingError, match=r"several columns for the parameter %\(nr\)s"):
            conn.executemany(insert, twice)
        with pytest.raises(errors.ProgrammingError, match="2 parameters, but the rows have 3 columns"):
            conn.executemany("insert into arrow_taken values (%s, %s)", table)
        assert conn.fetchval("select count(*) from arrow_taken") == 2


@pytest.mark.parametrize("sizes", [[], [0], [0, 0]], ids=["no batch", "empty", "two"])
def test_streams_without_rows(any_db: Database, sizes: list[int]) -> None:
    insert = pairs(any_db)
    schema = pyarrow.schema({"nr": pyarrow.int32(), "name": pyarrow.string()})
    batches = [pyarrow.record_batch([pyarrow.nulls(size, field.type) for field in schema], schema) for size in sizes]
    with any_db.connect(autocommit=True) as conn:
        assert conn.executemany(insert, pyarrow.Table.from_batches(batches, schema)).rowcount == 0
        # Batches without rows between others.
        table = pyarrow.Table.from_batches([*batches, *chunked(3, 2).to_batches(), *batches])
        assert conn.executemany(insert, table).rowcount == 3


class Lent:
    """An object with a capsule that is given out every time."""

    def __init__(self, source: Any, name: str = "__arrow_c_stream__") -> None:
        self.capsule = getattr(source, name)()
        setattr(self, name, lambda requested_schema=None: self.capsule)


def without_columns() -> Any:
    """Two rows of no columns."""
    return pyarrow.record_batch({"nr": [1, 2]}).select([])


UNSENDABLE: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "no columns": (without_columns, errors.ProgrammingError, "parameter"),
    "not of structs": (lambda: Lent(pyarrow.chunked_array([[1, 2]])), errors.ProgrammingError, "not of Int64"),
    "a series": (lambda: polars.Series([1, 2]), errors.ProgrammingError, "not of Int64"),
    "a series of pandas": (lambda: pandas.Series([1, 2]), TypeError, "must be a sequence"),
    "union": (
        lambda: pyarrow.table(
            {
                "nr": [1],
                "name": pyarrow.UnionArray.from_sparse(pyarrow.array([0], pyarrow.int8()), [pyarrow.array(["x"])]),
            }
        ),
        errors.DataError,
        "column 'name' has the Arrow type Union",
    ),
}


@pytest.mark.parametrize("name", UNSENDABLE)
def test_what_is_not_a_stream_of_rows(any_db: Database, name: str) -> None:
    insert = pairs(any_db)
    make, error, match = UNSENDABLE[name]
    with any_db.connect(autocommit=True) as conn:
        with pytest.raises(error, match=match):
            conn.executemany(insert, make())
        assert conn.fetchval("select count(*) from arrow_taken") == 0


def test_a_series_may_have_rows_as_its_values(any_db: Database) -> None:
    insert = pairs(any_db)
    with any_db.connect(autocommit=True) as conn:
        assert conn.executemany(insert, pandas.Series([(1, "a"), (2, None)])).rowcount == 2
        structs = polars.DataFrame({"nr": [3], "name": ["c"]}).to_struct("rows")
        assert conn.executemany(insert, structs).rowcount == 1
        assert conn.fetch("select * from arrow_taken order by nr") == [(1, "a"), (2, None), (3, "c")]


def test_a_stream_that_was_released(any_db: Database) -> None:
    insert = pairs(any_db)
    with any_db.connect(autocommit=True) as conn:
        lent = Lent(chunked(3, 2))
        assert conn.executemany(insert, lent).rowcount == 3
        with pytest.raises(errors.InterfaceError, match="released"):
            conn.executemany(insert, lent)
        assert conn.fetchval("select count(*) from arrow_taken") == 3


def test_rows_that_are_null_as_a_whole(any_db: Database) -> None:
    insert = pairs(any_db)
    columns = [pyarrow.array([1, 2, 3]), pyarrow.array(["a", "b", "c"])]
    rows = pyarrow.StructArray.from_arrays(columns, ["nr", "name"], mask=pyarrow.array([False, False, True]))
    with any_db.connect(autocommit=True) as conn:
        with pytest.raises(errors.DataError, match=r"row 2: .*null as a whole") as caught:
            conn.executemany(insert, rows)
        assert caught.value.row == 2
        assert conn.executemany(insert, rows.slice(0, 2)).rowcount == 2
        assert conn.fetch("select * from arrow_taken order by nr") == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("count", [10, 3000, 60_000])
def test_a_stream_that_fails_leaves_nothing(any_db: Database, count: int) -> None:
    insert = pairs(any_db)
    table = chunked(count, max(count // 3, 1))

    def failing() -> Iterator[pyarrow.RecordBatch]:
        yield from table.to_batches()
        raise LookupError("the source is gone")

    with any_db.connect(autocommit=True) as conn:
        with pytest.raises(errors.InterfaceError, match="the source is gone") as caught:
            conn.executemany(insert, pyarrow.RecordBatchReader.from_batches(table.schema, failing()))
        assert caught.value.row == count
        assert conn.fetchval("select count(*) from arrow_taken") == 0
        assert conn.executemany(insert, table).rowcount == count


def test_a_stream_of_the_same_connection(any_db: Database) -> None:
    """A clear error instead of a deadlock; the connection stays usable once the stream is closed."""
    insert = pairs(any_db)
    with any_db.connect(autocommit=True) as conn:
        conn.executemany(insert, chunked(10, 3))
        stream = conn.stream_arrow("select * from arrow_taken")
        with pytest.raises(errors.InterfaceError):
            conn.executemany(insert, stream)
        stream.close()
        assert conn.fetchval("select count(*) from arrow_taken") == 10


def test_memory_is_bounded(any_db: Database) -> None:
    """Batches are made as the connection takes their rows, and are given back."""
    with any_db.connect(autocommit=True) as admin:
        insert = emptied(any_db, admin, {"name": ("varchar(250)", [])})
    held: list[int] = []

    def made() -> Iterator[pyarrow.RecordBatch]:
        for at in range(0, 40_000, 1000):
            names = pyarrow.array(["x" * 250] * 1000)
            held.append(pyarrow.total_allocated_bytes())
            yield pyarrow.record_batch({"nr": pyarrow.array(range(at, at + 1000)), "name": names})

    schema = pyarrow.schema({"nr": pyarrow.int64(), "name": pyarrow.string()})
    with any_db.connect(autocommit=True) as conn:
        rows = pyarrow.RecordBatchReader.from_batches(schema, made())
        assert conn.executemany(insert, rows).rowcount == 40_000
    # Of 10 MiB. The first MiB is kept, in case that the statement has to be prepared again.
    assert max(held) - min(held) < 3 * 1024 * 1024


def endless() -> pyarrow.RecordBatchReader:
    """A stream without an end."""
    batch = chunked(1000, 1000).to_batches()[0]
    return pyarrow.RecordBatchReader.from_batches(batch.schema, itertools.repeat(batch))


def test_a_batch_that_takes_too_long_is_cancelled(any_db: Database) -> None:
    insert = pairs(any_db)
    with any_db.connect(autocommit=True) as conn:
        with pytest.raises(TimeoutError):
            conn.executemany(insert, endless(), timeout=0.5)
        if not conn.closed:
            assert conn.fetchval("select count(*) from arrow_taken") == 0
    with any_db.connect(autocommit=True) as conn:
        assert conn.executemany(insert, chunked(10, 3)).rowcount == 10


@pytest.mark.asyncio
async def test_a_cancelled_task_leaves_nothing(any_db: Database) -> None:
    insert = pairs(any_db)
    async with await any_db.aconnect(autocommit=True) as conn:
        task = asyncio.ensure_future(conn.executemany(insert, endless()))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    async with await any_db.aconnect(autocommit=True) as conn:
        assert await conn.fetchval("select count(*) from arrow_taken") == 0
        assert (await conn.executemany(insert, chunked(10, 3))).rowcount == 10


@pytest.mark.asyncio
async def test_failures_on_asyncio(any_db: Database) -> None:
    prepare_failing(any_db)
    table = pyarrow.table({"id": [*range(2500), -1, 2501], "name": ["x"] * 2502}, FAILING)
    async with await any_db.aconnect(autocommit=True) as conn:
        for name, sql, keywords in strategies(any_db):
            with pytest.raises(errors.UniqueViolation) as caught:
                await conn._wait(conn._core.wire.execute_batch(sql, table, **keywords), None)
            assert caught.value.row == 2500, name
            assert await conn.fetch("select id from first_failing") == [(-1,)], name


def test_in_a_pipeline(any_db: Database) -> None:
    insert = pairs(any_db)
    with any_db.connect(autocommit=True) as conn:
        with conn.pipeline():
            conn.executemany(insert, chunked(10, 3))
            conn.executemany(insert, chunked(2000, 700))
        assert conn.fetchval("select count(*) from arrow_taken") == 2010


def test_a_statement_that_was_prepared_for_another_table(any_db: Database) -> None:
    """The batch is repeated from its first row, also of a stream that can be read once."""
    insert = pairs(any_db)
    with any_db.connect(autocommit=True) as conn, any_db.connect(autocommit=True) as other:
        for rows in (chunked(3000, 1000), chunked(3000, 1000).to_reader()):
            conn.executemany(insert, chunked(5, 2))
            conn.executemany(insert, chunked(5, 2))
            emptied(any_db, other, {"name": ("varchar(50)", [])})
            assert conn.executemany(insert, rows).rowcount == 3000
            assert conn.fetchval("select count(*) from arrow_taken") == 3000
