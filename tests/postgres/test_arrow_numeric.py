"""``numeric`` without precision as Arrow: exact, and no error where another decimal has room for the numbers."""

from __future__ import annotations

import decimal
from collections.abc import Iterator
from typing import Any

import pyarrow
import pytest

import headrace
from headrace import errors

SUM = "select sum(x) as n from (values (9223372036854775807), (9223372036854775807)) t(x)"
RATIO = "select 5::numeric / 1300000000 as n"
EXPRESSIONS = {
    SUM: pyarrow.decimal128(38, 18),
    "select avg(x) as n from (values (9223372036854775807), (9223372036854775805)) t(x)": pyarrow.decimal128(38, 19),
    "select avg(x) / 1e6 as n from (values (1), (2), (2)) t(x)": pyarrow.decimal128(38, 22),
    RATIO: pyarrow.decimal128(38, 28),
    "select 1.0 / 3 as n": pyarrow.decimal128(38, 20),
    "select null::numeric as n": pyarrow.decimal128(38, 20),
    "select 1.5::numeric as n where false": pyarrow.decimal128(38, 20),
    f"select * from ({SUM} union all {RATIO}) t": pyarrow.decimal256(76, 38),
}
LATER = "select case when g = 9999 then 1e30 else g end::numeric as n from generate_series(1, 10000) g"


@pytest.fixture
def conn(url: str) -> Iterator[Any]:
    with headrace.connect(url, autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize("sql", EXPRESSIONS)
def test_numbers_have_the_type_that_they_need(url: str, conn: Any, adbc_dbapi: Any, sql: str) -> None:
    wanted = [value for (value,) in conn.fetch(sql)]
    with adbc_dbapi.connect(url, autocommit=True) as adbc, adbc.cursor() as cursor:
        cursor.execute(sql)
        for table in (
            pyarrow.table(conn.fetch_arrow(sql)),
            pyarrow.table(conn.stream_arrow(sql)),
            conn.fetch_record_batch(sql).read_all(),
            cursor.fetch_arrow_table(),
        ):
            assert table.schema.field("n").type == EXPRESSIONS[sql]
            assert table["n"].to_pylist() == wanted


def test_numbers_within_others_have_the_type_that_they_need(url: str, conn: Any, adbc_dbapi: Any) -> None:
    conn.execute("drop type if exists totals cascade")
    conn.execute("create type totals as (total numeric, ratio numeric)")
    wide = pyarrow.decimal128(38, 18)
    number = decimal.Decimal("12345678901234567890.5")
    sql = (
        f"select array_agg(x) as items, row({number}, 1e-25)::totals as totals, "
        f"array[row({number}, 1)::totals] as many, "
        f"numrange(1, {number}) as range, nummultirange(numrange(1, {number})) as ranges "
        f"from (values ({number}), (null), (1.5)) t(x)"
    )
    with adbc_dbapi.connect(url, autocommit=True) as adbc, adbc.cursor() as cursor:
        cursor.execute(sql)
        for table in (
            pyarrow.table(conn.fetch_arrow(sql)),
            pyarrow.table(conn.stream_arrow(sql)),
            conn.fetch_record_batch(sql).read_all(),
            cursor.fetch_arrow_table(),
        ):
            table.validate(full=True)
            types = {field.name: field.type for field in table.schema}
            assert types["items"] == pyarrow.list_(wide)
            assert [field.type for field in types["totals"]] == [wide, pyarrow.decimal128(38, 25)]
            assert [field.type for field in types["range"]][:2] == [wide, wide]
            (row,) = table.to_pylist()
            assert row["items"] == [number, None, decimal.Decimal("1.5")]
            assert row["totals"] == {"total": number, "ratio": decimal.Decimal("1e-25")}
            assert row["many"] == [{"total": number, "ratio": 1}]
            assert (row["range"]["lower"], row["range"]["upper"]) == (1, number)
            assert row["ranges"][0]["upper"] == number


def test_a_number_that_does_not_fit_the_first_batch_fails_its_own(conn: Any) -> None:
    read = 0
    with pytest.raises(errors.DataError, match=r"row 9999: 10*\.?0* does not fit"):
        for batch in conn.stream_arrow(LATER, batch_rows=100):
            assert pyarrow.record_batch(batch).schema.field("n").type == pyarrow.decimal128(38, 20)
            read += len(batch)
    assert 0 < read < 9999
    assert pyarrow.table(conn.fetch_arrow(LATER))["n"].to_pylist()[9998] == decimal.Decimal("1e30")


def test_what_no_decimal_can_be_is_refused(conn: Any) -> None:
    for sql in ("select 'NaN'::numeric as n", "select 1e80::numeric as n"):
        with pytest.raises(errors.DataError, match="numeric='string' gives text"):
            conn.fetch_arrow(sql)


def test_digits_are_those_of_attributes_and_domains(url: str, conn: Any, adbc_dbapi: Any) -> None:
    conn.execute("drop type if exists offer, digits cascade")
    conn.execute("drop domain if exists price, cheap cascade")
    conn.execute("create domain price as numeric(30, 0)")
    conn.execute("create domain cheap as price")
    conn.execute("create type digits as (v numeric(60, 30), at timestamp(0))")
    conn.execute("create type offer as (p price, c cheap[], n numeric(10, 2), d digits, free numeric)")
    number = decimal.Decimal("123456789012345678901234567890")
    sql = (
        f"select array[{number}::price] as domains, array[{number}::cheap] as nested, "
        f"row({number}, array[{number}::cheap], 1.5, row(1e-30, '2024-05-06'), 2)::offer as o"
    )
    price, exact = pyarrow.decimal128(30, 0), pyarrow.decimal256(60, 30)
    digits = pyarrow.struct([("v", exact), ("at", pyarrow.timestamp("s"))])
    offer = pyarrow.struct(
        [
            ("p", price),
            ("c", pyarrow.list_(price)),
            ("n", pyarrow.decimal128(10, 2)),
            ("d", digits),
            ("free", pyarrow.decimal128(38, 20)),
        ]
    )
    with adbc_dbapi.connect(url, autocommit=True) as adbc, adbc.cursor() as cursor:
        cursor.execute(sql)
        for table in (pyarrow.table(conn.fetch_arrow(sql)), cursor.fetch_arrow_table()):
            assert table.schema.types == [pyarrow.list_(price), pyarrow.list_(price), offer]
            (row,) = table.to_pylist()
            assert (row["domains"], row["nested"], row["o"]["c"]) == ([number], [number], [number])
            assert row["o"]["d"]["v"] == decimal.Decimal("1e-30")


def test_partitions_have_the_type_that_they_were_planned_with(url: str, conn: Any) -> None:
    conn.execute("create table if not exists wide_sums (id int primary key, n numeric)")
    conn.execute("truncate wide_sums")
    conn.execute("insert into wide_sums values (1, 1), (2, 1e30)")
    with headrace.partitions(url, table="wide_sums", by="id", count=2) as plan:
        assert pyarrow.schema(plan).field("n").type == pyarrow.decimal128(38, 20)
        with pytest.raises((OSError, pyarrow.ArrowInvalid), match="does not fit"):
            pyarrow.table(plan)
