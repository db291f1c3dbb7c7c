"""Frames of pandas and polars as rows: what Arrow does not tell of them, and how columns are paired with a table's."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pandas
import polars
import pyarrow
import pyarrow.dataset
import pytest

from headrace import errors
from servers import Database, MySQL, PostgreSQL, database, names


@pytest.fixture
def table(any_db: Database) -> str:
    """An empty table ``(id, qty)``."""
    with any_db.connect(autocommit=True) as admin:
        admin.execute("drop table if exists framed")
        admin.execute("create table framed (id int, qty int)")
    return "framed"


def inserted(db: Database, frame: Any) -> list[Any]:
    """What a batch of a frame stores."""
    with db.connect(autocommit=True) as conn:
        conn.executemany(f"insert into framed values ({db.marks(2)})", frame)
        return list(conn.fetch("select id, qty from framed order by id"))


def test_columns_of_nulls_are_taken(any_db: Database, table: str) -> None:
    frame = polars.DataFrame({"id": [1, 2], "qty": [None, None]})
    assert frame.schema["qty"] == polars.Null
    assert inserted(any_db, frame) == [(1, None), (2, None)]


def test_objects_are_refused(any_db: Database, table: str) -> None:
    with pytest.raises(errors.DataError, match="column 'qty' has the polars type Object"):
        inserted(any_db, polars.DataFrame({"id": [1], "qty": [uuid.uuid4()]}))


def test_an_index_with_a_name_is_a_column_also_if_it_is_a_range(any_db: Database, table: str) -> None:
    for ids in ([7, 8], [7, 9]):
        frame = pandas.DataFrame({"id": ids, "qty": [1, 2]}).set_index("id")
        with any_db.connect(autocommit=True) as conn:
            conn.executemany(f"insert into framed (qty, id) values ({any_db.marks(2)})", frame)
    with any_db.connect(autocommit=True) as conn:
        assert conn.fetch("select id, qty from framed order by id, qty") == [(7, 1), (7, 1), (8, 2), (9, 2)]


def test_lazy_frames_and_datasets_are_executed(any_db: Database, table: str) -> None:
    assert inserted(any_db, polars.LazyFrame({"id": [1]}).with_columns(qty=polars.col("id") * 5)) == [(1, 5)]
    dataset = pyarrow.dataset.dataset(pyarrow.table({"id": [2, 3], "qty": [6, 7]}))
    assert inserted(any_db, dataset) == [(1, 5), (2, 6), (3, 7)]
    assert inserted(any_db, dataset.scanner(filter=pyarrow.dataset.field("id") == 3))[2:] == [(3, 7), (3, 7)]


NO_ROWS: dict[str, tuple[Callable[[], Any], str]] = {
    "column of pyarrow": (lambda: pyarrow.array([1, 2]), r"not of Int64: make a table or a frame"),
    "chunked column": (lambda: pyarrow.chunked_array([[1, 2]]), r"pyarrow\.table\(\[column\], names"),
    "column of polars": (lambda: polars.Series("id", [1, 2]), r"series\.to_frame\(\)"),
    "list of batches": (
        lambda: pyarrow.table({"id": [1], "qty": [2]}).to_batches(),
        r"RecordBatchReader\.from_batches",
    ),
    "tuple of tables": (lambda: (pyarrow.table({"id": [1], "qty": [2]}),), r"Table is Arrow data, and not a row"),
    "generator of batches": (
        lambda: (batch for batch in pyarrow.table({"id": [1], "qty": [2]}).to_batches()),
        r"RecordBatchReader\.from_batches",
    ),
    "list of frames": (lambda: [polars.DataFrame({"id": [1], "qty": [2]})], r"DataFrame is Arrow data, and not a row"),
    "integers of 128 bits": (
        lambda: polars.DataFrame({"id": [1], "qty": [2**100]}, schema={"id": polars.Int32, "qty": polars.Int128}),
        r"cast it to polars\.Decimal\(38, 0\)",
    ),
}
"""What has no rows, or none that Arrow has a type for, and what its error tells."""


@pytest.mark.parametrize("what", NO_ROWS)
def test_what_has_no_rows_of_arrow_is_refused_with_what_to_do(any_db: Database, table: str, what: str) -> None:
    make, hint = NO_ROWS[what]
    with pytest.raises((TypeError, errors.Error), match=hint):
        inserted(any_db, make())
    assert inserted(any_db, [(1, 2)]) == [(1, 2)]


def test_a_column_of_rows_is_rows(any_db: Database, table: str) -> None:
    assert inserted(any_db, polars.Series([[1, 5], [2, 6]])) == [(1, 5), (2, 6)]


def test_slices_without_rows_are_taken(any_db: Database, table: str) -> None:
    batch = pyarrow.record_batch({"id": ["1", "2"], "qty": ["3", "4"]})
    reader = pyarrow.RecordBatchReader.from_batches(batch.schema, [batch.slice(2, 0), batch.slice(1, 1)])
    assert inserted(any_db, reader) == [(2, 4)]


@pytest.fixture(params=names(PostgreSQL, MySQL))
def loading(request: pytest.FixtureRequest) -> Database:
    """Each database with a way besides INSERT to fill a table."""
    return database(request, request.param)


def load(db: Database, rows: Any, columns: list[str] | None) -> list[Any]:
    """The rows that are stored in the way of the database."""
    with db.connect(autocommit=True, **db.loading) as conn:
        conn.execute("drop table if exists loaded")
        conn.execute("create table loaded (id int, qty int)")
        assert db.copies_by is not None
        getattr(conn, db.copies_by)("loaded", rows, columns=columns)
        return list(conn.fetch("select id, qty from loaded order by id"))


@pytest.mark.parametrize(
    ("columns", "stored"),
    [
        (None, [(1, 5)]),
        (["id", "qty"], [(1, 5)]),
        (["qty", "id"], [(1, 5)]),
        (["ID", "QTY"], [(1, 5)]),
        (["id"], [(1, None)]),
    ],
)
def test_columns_with_names_are_paired_by_name(loading: Database, columns: list[str] | None, stored: list[Any]) -> None:
    rows = pyarrow.table({"qty": [5], "id": [1]})
    if columns == ["ID", "QTY"] and loading.copies_by_exact_names:
        with pytest.raises(errors.UndefinedColumn):
            load(loading, rows, columns)
        return
    assert load(loading, rows, columns) == stored


def test_columns_with_other_names_are_paired_by_position(loading: Database) -> None:
    assert load(loading, pyarrow.table({"a": [1], "b": [5]}), ["id", "qty"]) == [(1, 5)]
    with pytest.raises(errors.ProgrammingError, match="'id', which is none of them"):
        load(loading, pyarrow.table({"qty": [5], "b": [1]}), ["id", "qty"])
