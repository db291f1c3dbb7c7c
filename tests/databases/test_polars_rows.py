"""``polars.read_database``, which takes rows and reads type codes, gives the values of ``fetch`` for every type."""

from __future__ import annotations

from typing import Any

import polars
import pytest
import sqlalchemy

from servers import Database

# Not among them: a time with a zone, which polars drops, and values that are named tuples, which it makes structs of.
QUERIES = {
    "postgresql": [
        "12345678901234567890.123456789::numeric",
        "1.50::numeric(10,2)",
        "1e30::numeric(38,0)",
        "(select sum(n) from generate_series(9007199254740990, 9007199254740993) n)",
        "(select avg(n) from generate_series(9007199254740990, 9007199254740993) n)",
        "'{{1.5,2},{3,4.25}}'::numeric[]",
        "'{1.5,2}'::numeric[]",
        "'{{1,2},{3,4}}'::int[]",
        "'[1,5)'::int4range",
        "'[1,5)'::int8range",
        "'{[1,5)}'::int4multirange",
        "'1 mon 2 days'::interval",
        "'1 day'::interval",
        "'12:30'::time",
        "'2024-01-02 03:04:05.678'::timestamp",
        "'2024-01-02 03:04:05.678Z'::timestamptz",
        "'2024-01-02'::date",
        "1::int2",
        "9223372036854775807::int8",
        "1.1::float4",
        "'x'::text",
        "'x'::char(3)",
        "'x'::name",
        "'\\\\x00ff'::bytea",
        "true",
        "4294967295::oid",
        "'1.50'::money",
    ],
    "mysql": [
        "cast(12345678901234567890.123456789 as decimal(38,9))",
        "(select sum(x) from (select cast(1.25 as decimal(18,2)) x) t)",
        "cast('10:11:12' as time)",
        "cast('-810:11:12.5' as time(1))",
        "cast(18446744073709551615 as unsigned)",
        "cast(-9223372036854775807 as signed)",
        "(select max(u) from of_polars)",
        "(select max(s) from of_polars)",
        "(select max(small) from of_polars)",
        "(select max(tiny) from of_polars)",
        "(select max(e) from of_polars)",
        "(select max(y) from of_polars)",
        "cast('2024-01-02' as date)",
        "cast('2024-01-02 03:04:05.678' as datetime(3))",
        "1.5e0",
        "'x'",
        "cast('x' as binary)",
    ],
    "informix": [
        "cast(1.25 as decimal(10,2))",
        "cast(1.25 as decimal(16))",
        "cast(12345678901234567890.5 as decimal(32))",
        "cast('10:11:12' as datetime hour to second)",
        "cast('2024-01-02' as datetime year to day)",
        "cast('2024-01' as datetime year to month)",
        "cast('2024-01-02 03:04:05' as datetime year to second)",
        "cast('x' as varchar(10))",
        "cast(1 as bigint)",
    ],
    "cubrid": [
        "cast(12345678901234567890.123456789 as numeric(38,9))",
        "cast(1.5 as numeric(20,3))",
        "cast('10:11:12' as time)",
        "cast('2024-01-02 03:04:05' as datetime)",
        "{1, 2}",
        "cast(1 as bigint)",
        "cast('x' as varchar(10))",
        "cast(1.5 as double)",
    ],
}
PREPARING = {
    "mysql": (
        "drop table if exists of_polars",
        "create table of_polars (u int unsigned, s int(2), small smallint unsigned, tiny tinyint unsigned, "
        "e enum('a','b'), y year)",
        "insert into of_polars values (4294967295, 2000000000, 65535, 255, 'b', 2024)",
    ),
}
"""What is executed before the queries."""


def _typed(value: Any) -> Any:
    """A value with its types, as 1, 1.0, True and Decimal(1) are equal."""
    if isinstance(value, (list, tuple)):
        return [_typed(each) for each in value]
    return type(value), value


def test_values_are_those_of_rows_by_connection_and_by_sqlalchemy(any_db: Database) -> None:
    sources: dict[str, Any] = {}
    if any_db.supports_sqlalchemy:
        sources["sqlalchemy"] = sqlalchemy.create_engine(any_db.url.replace("://", "+headrace://", 1))
    wrong: dict[str, Any] = {}
    with any_db.connect(autocommit=True) as conn:
        for statement in PREPARING.get(any_db.kind, ()):
            conn.execute(statement)
        nothing = any_db.differences.from_nothing
        for value in QUERIES[any_db.kind]:
            sql = f"select {value} as v{nothing}"
            expected = conn.fetch(sql)
            for name, source in {"connection": conn, **sources}.items():
                try:
                    found: Any = polars.read_database(sql, source).rows()
                except Exception as error:
                    found = repr(error)
                if _typed(found) != _typed([tuple(row) for row in expected]):
                    wrong[f"{value} by {name}"] = (found, expected)
    for engine in sources.values():
        engine.dispose()
    assert not wrong


@pytest.mark.parametrize("any_db", ["postgresql"], indirect=True)
def test_types_are_known_without_rows_where_their_names_mean_the_same_everywhere(any_db: Database) -> None:
    sql = "select null::int8 as a, null::numeric(10,2) as b, null::text as c, null::timestamp as d, null::numeric as e"
    with any_db.connect() as conn:
        schema = polars.read_database(sql, conn).schema
    assert schema == {
        "a": polars.Int64,
        "b": polars.Decimal(10, 2),
        "c": polars.String,
        "d": polars.Datetime("us"),
        "e": polars.Null,
    }
