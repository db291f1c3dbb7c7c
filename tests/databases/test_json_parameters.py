"""A value of which json.dumps makes no text is a DataError, as JSON is that json.loads does not read."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import errors
from headrace.types import Json
from servers import Database

LONG = 10**5000
ROUND: list[Any] = []
ROUND.append(ROUND)
REFUSED = {
    "a dict": {"n": LONG},
    "a key": {LONG: 1},
    "wrapped": Json([1, LONG]),
    "in itself": Json(ROUND),
}


@pytest.fixture
def insert(any_db: Database) -> Any:
    """A connection, and a statement with one parameter."""
    differences = any_db.differences
    with any_db.connect(autocommit=True) as conn:
        conn.execute("drop table if exists json_refused")
        conn.execute(f"create table json_refused (document {any_db.json})")
        yield conn, f"insert into json_refused values ({differences.mark})"
        conn.execute("drop table json_refused")


@pytest.mark.parametrize("value", REFUSED.values(), ids=REFUSED)
def test_value_that_json_refuses_is_a_data_error(insert: Any, value: Any) -> None:
    conn, sql = insert
    with pytest.raises(errors.DataError, match=r"of type (dict|Json) cannot be sent as JSON"):
        conn.execute(sql, (value,))
    with pytest.raises(errors.DataError, match="cannot be sent as JSON") as failed:
        conn.executemany(sql, [({"n": 1},), (value,)])
    assert failed.value.row == 1
    assert conn.fetchval("select count(*) from json_refused") == 0


def test_error_of_a_serialiser_of_the_program_stays_its_own(insert: Any) -> None:
    conn, sql = insert

    def refuse(_: Any) -> str:
        raise ValueError("mine")

    with pytest.raises(ValueError, match=r"^mine$"):
        conn.execute(sql, (Json({}, refuse),))
    conn.execute(sql, (Json({"n": LONG}, lambda _: '{"n": 1}'),))
    assert conn.fetchval("select count(*) from json_refused") == 1
