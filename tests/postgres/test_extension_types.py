"""Types of the extensions that come with PostgreSQL: hstore, citext, ltree and its queries."""

from __future__ import annotations

from typing import Any

import pyarrow
import pytest

import headrace
from headrace.types import Hstore

# Debian's PostgreSQL comes with the extensions, the embedded one does not.
pytestmark = pytest.mark.parametrize("version", ["15"], indirect=True)

STORES: list[dict[str, str | None]] = [
    {},
    {"a": "1"},
    {"a": None, "": "", 'quote"': "back\\slash", "NULL": "NULL", "ü → 漢": "🦀"},
    {"a=>b": "c, d", "line": "one\ntwo"},
]
PATHS = [("ltree", "Top.Science.Astronomy"), ("lquery", "*.Astro@*.!pictures"), ("ltxtquery", "Europe & Russia@*")]


@pytest.fixture
def conn(conn: Any, dba: Any) -> Any:
    """A connection that has met none of the types, and a table of them."""
    dba.execute("create extension if not exists hstore")
    dba.execute("create extension if not exists citext")
    dba.execute("create extension if not exists ltree")
    dba.execute("drop table if exists things")
    dba.execute("create table things (id serial, h hstore, c citext, l ltree, hs hstore[], cs citext[], ls ltree[])")
    return conn


@pytest.mark.parametrize("store", STORES)
def test_an_hstore_is_a_dict_by_every_way(conn: Any, store: dict[str, str | None]) -> None:
    conn.execute("insert into things (h, hs) values ($1, $2)", (store, [store, None]))
    conn.execute("insert into things (h, hs) values (%s, %s)", (Hstore(store), [Hstore(store), None]))
    conn.executemany("insert into things (h, hs) values ($1, $2)", [(store, [store, None])] * 2)
    assert conn.copy_in("things", [(store, [store, None])], columns=["h", "hs"]) == 1
    assert conn.copy_in("things", [(store, [store, None])], columns=["h", "hs"], format="text") == 1
    conn.executemany("insert into things (h, hs) values (%s, %s)", [(Hstore(store), [Hstore(store), None])] * 2)
    wanted = [(store, [store, None])] * 8
    assert conn.fetch("select h, hs from things") == wanted
    assert conn.executescript("select h, hs from things").fetchall() == wanted
    assert conn.fetchval("select row(h, 1) from things limit 1") == (store, 1)
    assert conn.fetchval("select $1::hstore", store) == store
    assert conn.fetchval("select %s::hstore", Hstore(store)) == store


def test_what_is_no_hstore_is_refused_before_it_is_sent(conn: Any) -> None:
    for wrong in ({"a": 1}, {1: "a"}, {"a": {"b": "c"}}, [("a", "b")]):
        with pytest.raises(headrace.ProgrammingError, match=r"hstore"):
            conn.execute("insert into things (h) values ($1)", (wrong,))
    assert conn.fetchval("select $1::hstore", '"a"=>"b"') == {"a": "b"}


def test_citext_is_text_in_every_place(conn: Any) -> None:
    conn.execute("insert into things (c, cs) values ($1, $2)", ("Ada", ["Ada", None]))
    conn.execute("insert into things (c, cs) values (%s, %s)", ("Ada", ["Ada", None]))
    assert conn.copy_in("things", [("Ada", ["Ada", None])], columns=["c", "cs"]) == 1
    assert conn.fetch("select c, cs from things") == [("Ada", ["Ada", None])] * 3
    assert conn.fetchval("select count(*) from things where c = $1", "ADA") == 3
    assert conn.fetch_arrow_table("select c, cs from things").schema.types == [
        pyarrow.string(),
        pyarrow.list_(pyarrow.string()),
    ]


@pytest.mark.parametrize(("kind", "text"), PATHS)
def test_ltree_and_its_queries_are_text(conn: Any, kind: str, text: str) -> None:
    assert conn.fetchval(f"select $1::{kind}", text) == text
    assert conn.fetchval(f"select %s::{kind}", text) == text
    assert conn.fetchval(f"select $1::{kind}[]", [text, None]) == [text, None]
    assert conn.fetchval(f"select row('{text}'::{kind}, 1)") == (text, 1)
    assert conn.executescript(f"select '{text}'::{kind}").fetchall() == [(text,)]


def test_paths_are_copied_in_binary_form(conn: Any) -> None:
    path = "Top.Science"
    assert conn.copy_in("things", [(path, [path, None])], columns=["l", "ls"]) == 1
    assert conn.fetch("select l, ls from things where l is not null") == [(path, [path, None])]
    with pytest.raises(headrace.DatabaseError, match="syntax error"):
        conn.copy_in("things", [("no path!", None)], columns=["l", "ls"])


def test_in_arrow_they_are_text(conn: Any) -> None:
    conn.execute("insert into things (h, l) values ($1, $2)", ({"a": None, "b": '"'}, "Top"))
    found = conn.fetch_arrow_table("select h, l, h::text, l::text from things")
    assert found.schema.types == [pyarrow.string()] * 4
    (row,) = zip(*found.to_pydict().values(), strict=False)
    assert row[0] == '"a"=>NULL, "b"=>"\\""'
    assert row[1] == "Top"


def test_a_connection_may_have_the_servers_text(connect: Any, conn: Any) -> None:
    plain = connect(autocommit=True, extension_types="text")
    plain.execute("insert into things (h, c, l) values ($1, $2, $3)", ({"a": "b"}, "Ada", "Top"))
    assert plain.fetch("select h, c, l from things") == [('"a"=>"b"', "Ada", "Top")]
    assert conn.fetch("select h, c, l from things") == [({"a": "b"}, "Ada", "Top")]


def test_a_type_that_was_made_again_is_looked_up_again(conn: Any, dba: Any) -> None:
    assert conn.fetchval("select 'a=>b'::hstore") == {"a": "b"}
    dba.execute("drop extension hstore cascade")
    dba.execute("create schema if not exists elsewhere")
    dba.execute("create extension hstore schema elsewhere")
    try:
        assert conn.fetchval("select 'a=>b'::elsewhere.hstore") == {"a": "b"}
    finally:
        dba.execute("drop extension hstore cascade")


def test_a_loader_of_the_programs_own_is_registered_by_name(conn: Any) -> None:
    conn.register_type("hstore", lambda data: data.decode().upper())
    conn.register_type("ltree", lambda data: data[1:].decode().split("."), binary=True)
    assert conn.fetchval("select 'a=>b'::hstore") == '"A"=>"B"'
    assert conn.fetchval("select array['a.b'::ltree]") == [["a", "b"]]
    with pytest.raises(headrace.errors.UndefinedObject):
        conn.register_type("nowhere", bytes.decode)
