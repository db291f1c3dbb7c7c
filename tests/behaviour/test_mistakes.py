"""Values and settings that do not fit on PostgreSQL: the error says what to do."""

from __future__ import annotations

from typing import Any

import pytest

import headrace
from headrace import errors

Conn = headrace.Connection[Any]


@pytest.mark.parametrize("sql", ["select $1::place", "select %s::place", "select $1::place[]"])
def test_what_lacks_an_attribute_of_a_composite_is_named(conn: Conn, sql: str) -> None:
    conn.execute("create type place as (a int, b text)")
    given: Any = [object()] if "[]" in sql else object()
    for use in (lambda: conn.execute(sql, (given,)), lambda: conn.executemany(sql, [(given,)])):
        with pytest.raises(errors.ProgrammingError, match="it has no attribute a"), conn.transaction():
            use()
    if sql.startswith("select $1::place") and "[]" not in sql:
        with pytest.raises(errors.ProgrammingError, match="it has no attribute b"), conn.transaction():
            conn.fetchval(sql, {"a": 1})
    conn.execute("create temp table places (p place)")
    with pytest.raises(errors.ProgrammingError, match="it has no attribute a"), conn.transaction():
        conn.copy_in("places", [(object(),)])
    assert conn.fetchval("select 1") == 1


def test_an_error_of_a_property_goes_on(conn: Conn) -> None:
    class Place:
        @property
        def a(self) -> int:
            raise LookupError("mine")

    conn.execute("create type place as (a int, b text)")
    with pytest.raises(LookupError, match="mine"):
        conn.execute("select $1::place", (Place(),))


@pytest.mark.parametrize("pool", [headrace.ConnectionPool, headrace.aio.AsyncConnectionPool])
async def test_a_pool_without_a_lifetime_is_refused(pool: Any) -> None:
    with pytest.raises(errors.ProgrammingError, match=r"max_lifetime=0 .*None sets no limit"):
        pool("postgresql://nowhere", max_lifetime=0)
