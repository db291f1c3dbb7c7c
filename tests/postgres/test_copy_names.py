"""The name of a table in COPY means the table that it means in INSERT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import headrace
from headrace.postgres.names import quote_table


@pytest.mark.parametrize(
    ("name", "quoted"),
    [
        ("users", '"users"'),
        ("Users", '"users"'),
        ("public.UPPER", '"public"."upper"'),
        ('"Users"', '"Users"'),
        ('public."A ""b"" . c"', '"public"."A ""b"" . c"'),
        (' s . "T" ', '"s"."T"'),
        ("order", '"order"'),
        ("Ünder_1$", '"Ünder_1$"'),
        ("My table", '"My table"'),
        ("a; drop table b", '"a; drop table b"'),
        (("Users",), '"Users"'),
        (("a.b", 'c"d'), '"a.b"."c""d"'),
    ],
)
def test_names_are_read_as_in_sql(name: str | Sequence[str], quoted: str) -> None:
    assert quote_table(name) == quoted


@pytest.mark.parametrize("name", ["", "a.", ".a", "a b.c", 'a "b"', '"a', '"a\0"', "a\0", "a..b", '""'])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(headrace.ProgrammingError):
        quote_table(name)


def test_a_name_that_the_server_would_shorten_is_refused(conn: Any, dba: Any) -> None:
    kept = "é" * 31 + "x"
    dba.executescript(f'drop table if exists "{kept}"; create table "{kept}" ("{kept}" int)')
    for name in (kept, (kept,), ("public", kept), f'public."{kept}"'):
        conn.copy_in(name, [(1,)], columns=[kept])
    for name in (kept + "y", (kept + "y",), ("public", kept + "y"), f'public."{kept}y"'):
        for copy in (lambda name=name: conn.copy_in(name, [(1,)]), lambda name=name: list(conn.copy_out(name))):
            with pytest.raises(headrace.ProgrammingError, match=r"has 64 bytes, and names of PostgreSQL at most 63"):
                copy()
    with pytest.raises(headrace.ProgrammingError, match="has 64 bytes"):
        conn.copy_in(kept, [(1,)], columns=[kept + "y"])
    assert conn.fetchval(f'select count(*) from "{kept}"') == 4


@pytest.mark.parametrize("name", ["mixed", "Mixed", '"Mixed"', "PUBLIC.Mixed", 'public."Mixed"', "Order", '"a b"'])
def test_copy_and_insert_mean_the_same_table(conn: Any, dba: Any, name: str) -> None:
    names = ["mixed", '"Mixed"', '"order"', '"a b"']
    dba.executescript("".join(f"DROP TABLE IF EXISTS {each}; CREATE TABLE {each} (n int);" for each in names))
    conn.copy_in(name, [(1,)])
    insert = name.replace("Order", '"order"')
    conn.execute(f"INSERT INTO {insert} VALUES (1)")
    found = {each: dba.fetchval(f"SELECT count(*) FROM {each}") for each in names}
    assert sorted(found.values()) == [0, 0, 0, 2], found
    assert list(conn.copy_out(name)) == [(1,), (1,)]
