"""A blocking connection is opened and used without what only asyncio needs, and a query without what only some values
need."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from uuid import UUID

from servers import Database

OPENING = """
import sys
import headrace
with headrace.connect(sys.argv[1]) as connection:
    connection.execute("drop table if exists not_there")
print(sorted({"asyncio", "ssl", "concurrent.futures", "logging", "headrace.aio", "headrace.pool"} & {*sys.modules}))
"""

VALUES = """
import sys
import headrace
url, number, insert = sys.argv[1:]
with headrace.connect(url, autocommit=True) as connection:
    connection.execute("drop table if exists imported")
    connection.execute("create table imported (d decimal(5,2), u varchar(36))")
    assert connection.fetchval(number, 7) == 7
    print(sorted({"decimal", "uuid", "platform", "numbers", "calendar", "locale", "string"} & {*sys.modules}))
    import decimal, uuid
    class Price(decimal.Decimal):
        def __str__(self):
            return "a price"
    connection.execute(insert, (decimal.Decimal("1.50"), uuid.UUID(int=5)))
    connection.execute(insert, (Price("2.50"), "none"))
    print(connection.fetch("select d, u from imported order by d"))
    connection.execute("drop table imported")
"""
"""A query without decimals and UUIDs, then values of classes that were not there before it."""

RECEIVED = """
import sys
import headrace
with headrace.connect(sys.argv[1]) as connection:
    received = connection.fetchval(sys.argv[2])
print(type(received), received, {*sys.modules} >= {"decimal"})
"""


def printed(script: str, *arguments: str) -> list[str]:
    """The lines that a program prints which has imported nothing else before."""
    command = [sys.executable, "-I", "-c", script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()


def test_a_blocking_connection_imports_no_event_loop(any_db: Database) -> None:
    assert printed(OPENING, any_db.url) == ["[]"]


def test_a_query_imports_what_its_values_need_and_nothing_else(any_db: Database) -> None:
    insert = f"insert into imported values ({any_db.marks(2)})"
    rows = [(Decimal("1.50"), str(UUID(int=5))), (Decimal("2.50"), "none")]
    assert printed(VALUES, any_db.url, any_db.number, insert) == ["[]", str(rows)]


def test_a_decimal_that_a_query_returns_is_one_whatever_was_imported_before(any_db: Database) -> None:
    query = f"select cast(1.5 as decimal(4,2)) {any_db.differences.from_nothing}"
    assert printed(RECEIVED, any_db.url, query) == ["<class 'decimal.Decimal'> 1.50 True"]
