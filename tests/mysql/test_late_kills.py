"""A KILL QUERY that comes when its statement has ended meets no other: MySQL before 5.7 keeps it for the next."""

# Made by tools/async_to_sync.py of test_late_kills_async.py: edit that file, and run the tool.

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from served import fresh

pytestmark = pytest.mark.servers("mysql56", "mysql80", "mysql", "mariadb")
COUNT = "select count(*) from k"
FOLLOWED_BY: dict[str, Callable[[Any], Any]] = {
    "a prepared statement": lambda c: c.fetchval(COUNT),
    "a new statement": lambda c: c.fetchval(f"{COUNT} where n > ?", 0),
    "text": lambda c: c.executescript(COUNT),
    "a batch": lambda c: c.executemany("update k set n = n + ? where n = ?", [(0, 1), (0, 2)]),
    "rows": lambda c: c.executemany("insert into k values (?)", [(4,), (5,)]),
    "a load": lambda c: c.load_rows("k", [(6,)]),
    "a schema": lambda c: c.select_db("test"),
    "a ping": lambda c: c.ping(),
}


@pytest.fixture(autouse=True)
def _table(my: Any) -> None:
    fresh(my, "table k (n int) engine=innodb")
    my.execute("insert into k values (1), (2)")


@pytest.mark.parametrize("name", FOLLOWED_BY)
def test_a_cancel_request_of_an_idle_connection_meets_nothing(my: Any, name: str) -> None:
    my.fetchval(COUNT)
    schema = my.fetchval("select database()")
    my.cancel()
    FOLLOWED_BY[name](my)
    my.select_db(schema)
    assert my.fetchval(COUNT) >= 2


def test_what_ends_a_block_is_not_met(my: Any) -> None:
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), my.transaction():
            my.execute("insert into k values (3)")
            my.cancel()
            raise ZeroDivisionError
        with my.transaction():
            my.execute("insert into k values (3)")
            my.cancel()
    assert my.fetchval(COUNT) == 5
