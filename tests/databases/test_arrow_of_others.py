"""Random tables of Arrow as other libraries export them: what is stored, or which row is refused, is what it is for
pyarrow's own, by the Python driver and by ADBC."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from adbc_driver_headrace import dbapi
from long import times
from servers import Database

from .test_arrow_in_as_rows import COLUMNS, Column, outcome, tables


def polars_frame(table: pyarrow.Table) -> Any:
    """A frame of polars: views of texts, and its own times of nanoseconds."""
    return pytest.importorskip("polars").from_arrow(table)


def polars_slices(table: pyarrow.Table) -> Any:
    """The same, put together of two frames that are slices."""
    polars = pytest.importorskip("polars")
    frame = polars.from_arrow(polars.from_arrow(table).to_arrow())
    return polars.concat([frame.slice(0, 3), frame.slice(3)], rechunk=False)


def duckdb_relation(table: pyarrow.Table) -> Any:
    """A query of DuckDB, in vectors of its own."""
    duckdb = pytest.importorskip("duckdb")
    return duckdb.connect().from_arrow(table).filter("nr >= 0")


def nanoarrow_array(table: pyarrow.Table) -> Any:
    """nanoarrow's own structures, over buffers of pyarrow."""
    return pytest.importorskip("nanoarrow").Array(table)


def arro3_table(table: pyarrow.Table) -> Any:
    """A table of Rust's Arrow, a slice of a longer one."""
    arro3 = pytest.importorskip("arro3.core")
    return arro3.Table.from_arrow(pyarrow.concat_tables([table, table])).slice(len(table), len(table))


@dataclass(frozen=True)
class Library:
    """A library that makes Arrow data of a table of pyarrow's."""

    make: Callable[[pyarrow.Table], Any]
    others: tuple[Callable[[pyarrow.DataType], bool], ...] = ()
    """The types that are others there, or that it does not have."""

    def takes(self, columns: list[Column]) -> bool:
        """It makes the same types of these, or types of the same values."""
        return not any(is_other(column.arrow) for column in columns for is_other in self.others)


def is_zone_by_offset(kind: pyarrow.DataType) -> bool:
    return pyarrow.types.is_timestamp(kind) and (kind.tz or "").startswith("+")


TYPES = pyarrow.types
POLARS = (TYPES.is_decimal256, TYPES.is_date64, is_zone_by_offset)
LIBRARIES = {
    "polars": Library(polars_frame, POLARS),
    "polars, slices": Library(polars_slices, POLARS),
    # Its dates end earlier, spans of time are intervals, and text cannot have a NUL.
    "duckdb": Library(duckdb_relation, (TYPES.is_decimal256, TYPES.is_duration, TYPES.is_null)),
    # Whoever reads views of its arrays crashes, pyarrow too (nanoarrow 0.9).
    "nanoarrow": Library(nanoarrow_array, (TYPES.is_string_view, TYPES.is_binary_view)),
    "arro3": Library(arro3_table),
}


def by_adbc(db: Database, rows: Any) -> Any:
    """The rows of a table after they are appended, or None if they are refused."""
    with dbapi.connect(db.url, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("delete from arrow_as_rows")
        try:
            cursor.adbc_ingest("arrow_as_rows", rows, mode="append")
        except dbapi.Error:
            return None
        cursor.execute("select * from arrow_as_rows order by nr")
        return repr(cursor.fetchall())


@pytest.mark.parametrize("library", LIBRARIES)
@settings(
    deadline=None,
    max_examples=times(6),
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
    ],
)
@given(data=st.data())
def test_tables_of_other_libraries_are_stored_as_those_of_pyarrow(
    any_db: Database, library: str, data: st.DataObject
) -> None:
    taken = [column for column in COLUMNS[any_db.kind] if LIBRARIES[library].takes([column])]
    columns, table = data.draw(tables(taken))
    table = table.add_column(0, "nr", pyarrow.array(range(len(table)), pyarrow.int32()))
    assume(len(table) > 0)
    marks = ", ".join(any_db.native_marks(len(columns) + 1))
    with any_db.connect(autocommit=True) as conn:
        conn.execute("drop table if exists arrow_as_rows")
        types = ", ".join(f"c{i} {column.server}" for i, column in enumerate(columns))
        conn.execute(f"create table arrow_as_rows (nr int, {types})")
        insert = f"insert into arrow_as_rows values ({marks})"
        wanted = outcome(conn, insert, table)
        assert outcome(conn, insert, LIBRARIES[library].make(table)) == wanted
    by_pyarrow = by_adbc(any_db, table)
    assert by_adbc(any_db, LIBRARIES[library].make(table)) == by_pyarrow
