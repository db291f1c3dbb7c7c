"""Random programs of MySQLdb's interface give the same with mysqlclient and with the facade, and store the same. What
differs on purpose (the table in docs/howto/from-mysqlclient.md) is not among the steps."""

from __future__ import annotations

import datetime
import decimal
import random
from collections.abc import Iterator
from typing import Any

import MySQLdb
import pytest

from headrace.compat import mysqldb
from long import FACTOR, NIGHT
from served import Served

PROGRAMS = 60 * (FACTOR if NIGHT else 1)
SCHEMAS = ("programs_theirs", "programs_ours")
PROCEDURES = (
    "create procedure two(a int) begin select a; select a + 1, 'x'; end",
    "create procedure adds(a int) insert into t (k) values (a)",
    "create procedure signals() signal sqlstate '45000' set message_text = 'own'",
)
TABLES = (
    "drop table if exists t",
    "create table t (id int primary key auto_increment, k int unique, s varchar(9), d decimal(8, 2), at datetime(6)) "
    "engine=innodb",
    "insert into t (k, s, d, at) values (1, 'one', 1.5, '2020-01-01'), (2, 'two', null, null)",
    "drop table if exists m",
    "create table m (n int) engine=myisam",
)
VALUES: tuple[Any, ...] = (
    *(None, 0, 1, 2, 3, -5, 2**63, "", "a", "ä😀", "it's", "back\\slash", "%s", b"", b"abc", 1.5, True),
    *(decimal.Decimal("1.50"), datetime.date(2020, 2, 3), datetime.timedelta(hours=-5, microseconds=7)),
    datetime.datetime(2020, 1, 2, 3, 4, 5, 678900),
)
STATEMENTS = (
    *("select * from t order by id", "select id, id, t.s from t order by id", "select s from t where s = %s or k = %s"),
    *("select %s, %s", "select 1 where 1 = 0", "select count(*) from t", "show warnings", "select null"),
    *("insert into t (k, s) values (%s, %s)", "insert into t (k) values (1)", "insert ignore into t (k) values (1)"),
    *("replace into t (k, s) values (%s, 'r')", "insert into t (s) select s from t", "update t set s = 'same'"),
    *("insert into t (k, s) values (5, 'a') on duplicate key update s = 'b'", "update t set s = %s where id = %s"),
    *(
        "insert into t (s) values ('far too long for it')",
        "insert into t (d) values (%s)",
        "delete from t where id = %s",
    ),
    *("update t set k = last_insert_id(7) where id = 1", "insert into m values (%s)", "insert into nosuch values (1)"),
    *("create table t (a int)", "drop table if exists nosuch", "select 1 into @v", "set @a = 1", "selec 1", "", "-- x"),
    *("select 1; select 2", "select 1; insert into t (k) values (77)", "insert into t (k) values (78); select 1"),
    *("call two(3)", "call adds(%s)", "call signals()", "call nosuch()", "do 1", "savepoint a", "rollback to a"),
)
BATCHES = (
    *("insert into t (k, s) values (%s, %s)", "insert into t (k, s) values (%s, concat(%s, '%%'))", "call adds(%s)"),
    *("insert into t (k, s) values (%s, %s) on duplicate key update s = values(s)", "insert into t (k) values (%s);"),
    *("replace into t (k, s) values (%s, 'r')", "update t set s = %s where k = %s", "select s from t where id = %s"),
)
FETCHES = (
    "fetchone",
    "fetchall",
    "fetchmany 2",
    "fetchmany 0",
    "list",
    "nextset",
    "scroll -1",
    "scroll 1",
    "scroll 99",
)
CALLS = ("commit", "rollback", "begin", "insert_id", "get_autocommit", "autocommit")


def step(conn: Any, cursor: Any, kind: str, *given: Any) -> Any:
    """Does a step; returns what it gives."""
    name, _, number = kind.partition(" ")
    if name in ("execute", "executemany", "callproc", "mogrify"):
        return getattr(cursor, name)(*given)
    if name == "list":
        return list(cursor)
    if name == "autocommit":
        return conn.autocommit(bool(conn.get_autocommit()) is False)
    if name in CALLS:
        return getattr(conn, name)()
    return getattr(cursor, name)(*([int(number)] if number else []))


def seen(conn: Any, cursor: Any, todo: tuple[Any, ...]) -> list[Any]:
    """What a step gives, and what can be seen afterwards."""
    try:
        found: list[Any] = [step(conn, cursor, *todo)]
    except Exception as error:
        found = [type(error).__name__, *(str(arg) for arg in error.args)]
    # The third is the length of the longest value, which the facade does not look for.
    columns = [(*column[:2], *column[3:]) for column in cursor.description or ()]
    found += [columns, cursor.description_flags, cursor.rowcount, cursor.lastrowid, cursor.rownumber]
    return found


def program(choose: random.Random) -> Iterator[tuple[Any, ...]]:
    def arguments(sql: str) -> Any:
        places = sql.replace("%%", "").count("%s") + choose.choice([0] * 12 + [1, -1])
        values = [choose.choice(VALUES) for _ in range(max(places, 0))]
        return choose.choice([tuple, list])(values) if values or "%" in sql else None

    for _ in range(choose.randint(3, 12)):
        kind = choose.random()
        sql = choose.choice(STATEMENTS)
        if kind < 0.45:
            yield "execute", sql, arguments(sql)
        elif kind < 0.6:
            sql = choose.choice(BATCHES)
            yield "executemany", sql, [arguments(sql) for _ in range(choose.randint(0, 4))]
        elif kind < 0.65:
            yield ("callproc", *choose.choice([("two", (1,)), ("adds", (9,)), ("nosuch", ()), ("two", (1, 2))]))
        elif kind < 0.7:
            yield "mogrify", sql, arguments(sql)
        elif kind < 0.9:
            yield (choose.choice(FETCHES),)
        else:
            yield (choose.choice(CALLS),)


@pytest.fixture(scope="module")
def pairs(my_server: Served) -> Iterator[list[tuple[Any, Any]]]:
    """For each module its connection for the programs, and one that makes and reads tables."""
    with MySQLdb.connect(**my_server.where, autocommit=True) as admin, admin.cursor() as cursor:
        for schema in SCHEMAS:
            cursor.execute(f"create schema if not exists {schema}")
            cursor.execute(f"use {schema}")
            for each in PROCEDURES:
                cursor.execute(each)
        made = [
            (module.connect(**my_server.where, database=schema), MySQLdb.connect(**my_server.where, database=schema))
            for module, schema in zip((MySQLdb, mysqldb), SCHEMAS, strict=True)
        ]
        yield made
        for conn, other in made:
            conn.close()
            other.close()
        for schema in SCHEMAS:
            cursor.execute(f"drop schema {schema}")


def run(pair: tuple[Any, Any], schema: str, number: int) -> list[Any]:
    """What the steps of a program give, and what is stored in the end."""
    conn, other = pair
    other.autocommit(True)
    with other.cursor() as cursor:
        for each in TABLES:
            cursor.execute(each)
    conn.autocommit(False)
    found: list[Any] = []
    cursor = conn.cursor()
    for todo in program(random.Random(number)):
        found.append((todo, seen(conn, cursor, todo)))
        if todo[0] in ("execute", "executemany", "callproc") and todo[1].startswith(
            ("select 1;", "call", "insert", "two")
        ):
            # Whoever does not ask for the results that follow gets error 2014 from mysqlclient.
            for _ in range(3):
                found.append(("nextset", seen(conn, cursor, ("nextset",)) if cursor._rows is not None else None))
        if cursor._rows is None:
            # A statement has failed. What fetchone() raises then differs.
            cursor.close()
            cursor = conn.cursor()
    cursor.close()
    conn.commit()
    with other.cursor() as cursor:
        cursor.execute("select id, k, s, d, at from t order by id")
        found.append(cursor.fetchall())
        cursor.execute("select n from m order by n")
        found.append(cursor.fetchall())
    return [str(each).replace(schema, "schema") for each in found]


@pytest.mark.slow
def test_random_programs_give_what_mysqlclient_gives(pairs: list[tuple[Any, Any]]) -> None:
    for number in range(NIGHT, NIGHT + PROGRAMS):
        theirs, ours = (run(pair, schema, number) for pair, schema in zip(pairs, SCHEMAS, strict=True))
        assert ours == theirs, f"program {number}"
