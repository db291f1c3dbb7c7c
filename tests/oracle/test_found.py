"""Programs that once failed, made short: each with the fault that it found."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from . import mysql, postgres
from .mysql import Use
from .pg_steps import Do, Express, Interleave, Other, Read, Tx, Write
from .program import Options, replay

NAIVE = datetime.datetime(2020, 1, 1, 12)


def one(table: str, columns: str, row: tuple[Any, ...], literals: tuple[str, ...], way: str = "copy_in") -> Write:
    """A row into all columns of a table."""
    return Write(table, tuple(columns.split()), (row,), (literals,), way, True)


def insert(number: int, way: str = "execute") -> Express:
    """A row into the table ``ex``."""
    return Express("INSERT INTO public.ex (n) VALUES (%s)", ((number,),), way)


SERIES = "SELECT generate_series(1, 9)"
INT, FLOAT = "SELECT 100::int8 AS v", "SELECT 19.99::float8 AS v"
FOUND: dict[str, list[Any]] = {
    "named cursor's name again": [Read(INT, "hold", size=3), Read(FLOAT, "hold", size=3)],
    "cursor by hand": [
        Tx("enter"),
        Do(f"DECLARE c1 CURSOR FOR {INT}"),
        Read("FETCH ALL FROM c1"),
        Do("CLOSE c1"),
        Do(f"DECLARE c1 CURSOR FOR {FLOAT}"),
        Read("FETCH ALL FROM c1"),
    ],
    "statement prepared by hand": [
        Do(f"PREPARE p1 AS {INT}"),
        Read("EXECUTE p1"),
        Do("DEALLOCATE p1"),
        Do(f"PREPARE p1 AS {FLOAT}"),
        Read("EXECUTE p1", "fetch"),
    ],
    "copy after another session's ALTER": [
        Other("CREATE TABLE t1 (v int8)"),
        one("t1", "v", (1,), ("1",)),
        Do("COMMIT", "script"),
        Other("ALTER TABLE t1 ALTER v TYPE float8"),
        one("t1", "v", (2,), ("2",)),
        Read("t1", "copy_table"),
    ],
    "copy after the columns changed places": [
        Other("CREATE TABLE t1 (a date, b int4)"),
        one("t1", "a b", (NAIVE.date(), 5), ("'2020-01-01'", "5")),
        Do("COMMIT", "script"),
        Other("DROP TABLE t1; CREATE TABLE t1 (b int4, a date)"),
        one("t1", "b a", (5, NAIVE.date()), ("5", "'2020-01-01'")),
        Read("t1", "copy_table"),
    ],
    "copy in another schema": [
        Other("CREATE TABLE r1.t1 (v int8); CREATE TABLE r2.t1 (v float8)"),
        Do("SET search_path = r1"),
        one("t1", "v", (1,), ("1",)),
        Do("SET search_path = r2"),
        one("t1", "v", (2,), ("2",)),
    ],
    "copy in another role": [
        Other("CREATE TABLE r1.t1 (v int8); CREATE TABLE r2.t1 (v float8)"),
        Do("SET ROLE r1"),
        one("t1", "v", (1,), ("1",)),
        Do("SET ROLE r2"),
        one("t1", "v", (2,), ("2",)),
        Read("t1", "copy_table"),
    ],
    "writes during a stream that is left": [Interleave(SERIES, (insert(1), insert(2)), size=2, stop=3)],
    "writes during a stream that is dropped": [Interleave(SERIES, (insert(1),), size=2, stop=3, ending="drop")],
    "writes during a stream that ends": [
        Interleave(SERIES, (insert(1), insert(2, "many")), size=2, ending="exhaust"),
        Tx("rollback"),
    ],
    "write before a stream that ends": [insert(1), Interleave(SERIES, (insert(2),), ending="exhaust"), Tx("rollback")],
    "executemany of a naive timestamp": [
        Do("SET timezone = 'Asia/Tokyo'"),
        Express("INSERT INTO public.ex (at) VALUES (%s)", ((NAIVE,),), "many"),
    ],
    "executemany of a float in a division": [Express("INSERT INTO public.ex (n) VALUES (7/%s)", ((2.0,),), "many")],
    "executemany in an expression": [
        Express("INSERT INTO public.ex (j) VALUES (jsonb_build_object('a', %s))", ((1,),), "many"),
        Express("INSERT INTO public.ex (d) VALUES (date '2020-01-01' + %s)", ((1,),), "returning"),
    ],
    "copy_out of tsvector": [Read("SELECT 'a:1'::tsvector AS v", "copy_out")],
    "copy_out of money": [Read("SELECT '0'::money AS v", "copy_out")],
    "copy_out of citext[]": [Read("SELECT array['A']::citext[] AS v", "copy_out")],
    "copy_out of hstore": [Read("SELECT 'a=>1'::hstore AS v", "copy_out")],
    "copy_in beside citext": [
        Other("CREATE TABLE t1 (a int4[], j jsonb, e mood, z citext)"),
        one("t1", "a j e z", ([1, 2], {"a": 1}, "sad", "A"), ("'{1,2}'", "'{\"a\": 1}'", "'sad'", "'A'")),
    ],
    "copy_in of a composite beside citext": [
        Other("CREATE TABLE t1 (p pair, z citext)"),
        one("t1", "p z", ((1, "a"), "A"), ("ROW(1, 'a')", "'A'")),
    ],
    "pipeline after another session's definitions": [
        Other("CREATE TABLE t1 (a int4)"),
        Read("SELECT * FROM t1"),
        Other("DROP TABLE t1; CREATE TABLE t1 (b text, c date)"),
        Read("SELECT * FROM t1", "pipeline"),
        Read("SELECT * FROM t1", "pipeline"),
    ],
    "copy of a table of generated columns": [
        Other("CREATE TABLE t1 (a int4, g int4 GENERATED ALWAYS AS (42) STORED)"),
        one("t1", "a", (1,), ("1",), "execute"),
        Other("ALTER TABLE t1 DROP COLUMN a"),
        Read("t1", "copy_table"),
    ],
    "float8 that became a float4": [
        Other("CREATE TABLE t1 (a float8)"),
        one("t1", "a", (1.1,), ("1.1",)),
        Other("ALTER TABLE t1 ALTER COLUMN a TYPE float4 USING a::float4"),
        Read("SELECT a FROM t1"),
        Read("SELECT array[a] AS v FROM t1", "copy_out"),
    ],
    "composite whose attribute changed": [
        Read("SELECT ROW(1, 'x')::ty.pair AS v"),
        Tx("commit"),
        Other("ALTER TYPE ty.pair ALTER ATTRIBUTE x TYPE float4"),
        Read("SELECT ROW(1.5, 'x')::ty.pair AS v"),
        Tx("commit"),
        Other("ALTER TYPE ty.pair ADD ATTRIBUTE z date"),
        Read("SELECT ROW(1.5, 'x', '2020-01-01')::ty.pair AS v", "copy_out"),
    ],
}
SHELLS = [Options(aio=aio, autocommit=autocommit) for aio in (False, True) for autocommit in (False, True)]
IDS = ["default", "autocommit", "aio-default", "aio-autocommit"]


@pytest.mark.parametrize("options", SHELLS, ids=IDS)
@pytest.mark.parametrize("name", FOUND)
def test_postgresql(databases15: postgres.Databases, name: str, options: Options) -> None:
    replay(databases15.twin, options, FOUND[name])


NUMBERS = [
    mysql.Other("CREATE TABLE ~a.t1 (a int) ENGINE=InnoDB"),
    mysql.Other("CREATE TABLE ~b.t1 (a int) ENGINE=InnoDB"),
]
FOUND_ON_MYSQL: dict[str, list[Any]] = {
    f"insert after USE by {way}": [
        *NUMBERS,
        mysql.Write("t1", ("a",), ((1,),), (("1",),), by),
        Use("b", way),
        mysql.Write("t1", ("a",), ((2,), (3,)), (("2",), ("3",)), by),
        Use("a", way),
        mysql.Read("SELECT * FROM t1 WHERE {p}", "fetch:percent"),
    ]
    for way, by in (("execute", "execute"), ("select_db", "pipeline"), ("script", "many"))
}


@pytest.mark.parametrize("server", ["mariadb", "mysql"])
@pytest.mark.parametrize("options", SHELLS, ids=IDS)
@pytest.mark.parametrize("name", FOUND_ON_MYSQL)
def test_mysql(name: str, options: Options, server: str, request: pytest.FixtureRequest) -> None:
    replay(request.getfixturevalue(f"databases_{server}").twin, options, FOUND_ON_MYSQL[name])
