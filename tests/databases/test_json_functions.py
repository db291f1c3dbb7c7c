"""What reads and writes JSON is the program's, per connection, pool and process, on every database; and its dumpers."""

# Made by tools/async_to_sync.py of test_json_functions_async.py: edit that file, and run the tool.

from __future__ import annotations

import json
import weakref
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

import headrace
import headrace.types
from headrace.types import Json, Jsonb
from servers import Database


class Document(dict[str, Any]):
    """What the loader makes."""


def loads(text: str) -> Document:
    return Document(json.loads(text))


def dumps(value: Any) -> str:
    return json.dumps({"dumped": value})


@pytest.fixture
def place(any_db: Database) -> Iterator[tuple[Database, str, str]]:
    """A database, an INSERT of one document, and the query for the documents."""
    with any_db.connect(autocommit=True) as conn:
        conn.execute("drop table if exists json_own")
        conn.execute(f"create table json_own (document {any_db.json})")
        insert = f"insert into json_own values ({any_db.differences.mark})"
        yield any_db, insert, f"select document{any_db.as_json} from json_own"
        conn.execute("drop table json_own")


def test_a_connection_has_its_own(place: tuple[Database, str, str]) -> None:
    db, insert, query = place
    with db.connect(autocommit=True, json_loads=loads, json_dumps=dumps) as conn:
        conn.execute(insert, ({"n": 1},))
        conn.execute(insert, (Json([2]),))
        conn.execute(insert, (Json({"n": 3}, lambda _: '{"own": 3}'),))
        conn.execute(insert, (Jsonb({"n": 4}, json.dumps),))
        found = [row[0] for row in conn.fetch(query)]
        assert found == [{"dumped": {"n": 1}}, {"dumped": [2]}, {"own": 3}, {"n": 4}]
        assert {type(each) for each in found} == {Document}
        conn.register_json()
        assert {type(row[0]) for row in conn.fetch(query)} == {dict}
        conn.register_json(loads=lambda text: len(text))
        assert all(type(row[0]) is int for row in conn.fetch(query))
        with pytest.raises(TypeError):
            conn.register_json(loads="json")  # type: ignore[arg-type]


def test_a_result_is_freed_before_the_next_statement_of_its_cursor_is_sent(
    place: tuple[Database, str, str],
) -> None:
    db, insert, query = place
    alive: list[bool] = []
    with db.connect(autocommit=True, json_loads=loads) as conn, conn.cursor() as cursor:
        cursor.execute(insert, (Json({"n": 1}),))
        cursor.execute(query)
        row = cursor.fetchone()
        assert row is not None
        document = weakref.ref(row[0])
        del row
        # What the loop runs now has the future, which has the result.

        def dumped(value: Any) -> str:
            alive.append(document() is not None)
            return json.dumps(value)

        cursor.execute(insert, (Json({"n": 2}, dumped),))
    assert set(alive) == {False}


def test_an_exception_of_theirs_leaves_the_connection_usable(place: tuple[Database, str, str]) -> None:
    db, insert, query = place

    def refuse(_: Any) -> Any:
        raise LookupError("mine")

    with db.connect(autocommit=True, json_loads=refuse) as conn:
        conn.execute(insert, ({"n": 1},))
        with pytest.raises(LookupError, match="mine"):
            conn.fetch(query)
        conn.register_json(dumps=refuse)
        with pytest.raises(LookupError, match="mine"):
            conn.execute(insert, ({"n": 1},))
        assert len(conn.fetch(query)) == 1


def test_a_pool_sets_them_back_and_the_process_has_some(
    place: tuple[Database, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    db, insert, query = place
    with headrace.ConnectionPool(
        db.url, kwargs={"json_loads": loads, "autocommit": True}, min_size=1, max_size=1
    ) as pool:
        with pool.connection() as conn:
            conn.execute(insert, ({"n": 1},))
            conn.register_json()
            assert type(conn.fetch(query)[0][0]) is dict
        with pool.connection() as conn:
            assert type(conn.fetch(query)[0][0]) is Document
    headrace.types.set_json(loads=loads)
    try:
        with db.connect() as conn:
            assert type(conn.fetch(query)[0][0]) is Document
    finally:
        headrace.types.set_json()


def test_dumpers_make_parameters_of_classes(any_db: Database) -> None:
    mark = any_db.differences.mark
    with any_db.connect(autocommit=True) as conn:
        conn.execute("drop table if exists dumped")
        conn.execute("create table dumped (name varchar(40))")
        insert = f"insert into dumped values ({mark})"
        conn.register_dumpers({Fraction: str})
        conn.execute(insert, (Fraction(1, 3),))
        conn.executemany(insert, [(Fraction(2, 3),), ("plain",)])
        conn.register_dumpers({Fraction: lambda value: f"<{value}>"})
        conn.execute(insert, (Fraction(1, 2),))
        found = [row[0] for row in conn.fetch("select name from dumped")]
        assert sorted(found) == ["1/3", "2/3", "<1/2>", "plain"]
        with pytest.raises(TypeError):
            conn.register_dumpers({"Fraction": str})  # type: ignore[dict-item]
