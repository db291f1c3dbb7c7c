"""The error of a statement or a commit whose reply was lost says that the server may have executed it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from adbc_driver_headrace import dbapi
from cutting import AFTER, Cutting
from servers import Cubrid, Database, database, names


@pytest.fixture(params=names(but=(Cubrid,)))
def db(request: pytest.FixtureRequest) -> Database:
    """Each database; a session of CUBRID's is resumed in another connection."""
    return database(request, request.param)


@pytest.fixture
def way(db: Database) -> Iterator[Cutting]:
    """A way to the server, and an empty table ``lost (id, name)``."""
    found = re.search(r":(\d+)/", db.url)
    assert found is not None
    with dbapi.connect(db.url, autocommit=True) as conn, conn.cursor() as cursor:
        cursor.execute("drop table if exists lost")
        cursor.execute("create table lost (id int, name varchar(9))")
    with Cutting(int(found[1]), AFTER) as way:
        yield way


def connect(db: Database, way: Cutting, autocommit: bool) -> dbapi.Connection:
    """A connection by that way, which has executed something."""
    url = re.sub(r":\d+/", f":{way.port}/", db.url, count=1)
    conn = dbapi.connect(url, db_kwargs={"headrace.batch_rows": "10"}, autocommit=autocommit)
    with conn.cursor() as cursor:
        cursor.execute("delete from lost")
    return conn


@pytest.mark.parametrize("rows", [1, 3])
def test_a_statement_may_have_been_executed(db: Database, way: Cutting, rows: int) -> None:
    sql = f"insert into lost values ({', '.join(db.native_marks(2))})"
    with connect(db, way, autocommit=True) as conn, conn.cursor() as cursor:
        way.arm(1)
        with pytest.raises(dbapi.Error, match="unknown whether"):
            cursor.executemany(sql, [(number, "a") for number in range(rows)])


def test_a_transaction_may_have_been_committed(db: Database, way: Cutting) -> None:
    with connect(db, way, autocommit=False) as conn:
        with conn.cursor() as cursor:
            cursor.execute("insert into lost values (1, 'a')")
        way.arm(1)
        with pytest.raises(dbapi.Error, match="unknown whether"):
            conn.commit()


@pytest.mark.parametrize("db", names(), indirect=True)
def test_a_transaction_that_was_lost_with_the_rest_of_a_result_is_not_committed(db: Database, way: Cutting) -> None:
    many = 200
    sql = f"insert into lost values ({', '.join(db.native_marks(2))})"
    with connect(db, way, autocommit=False) as conn:
        with conn.cursor() as cursor:
            cursor.executemany(sql, [(number, "a") for number in range(many)])
            # Far more than the sockets on its way hold.
            cursor.execute("select a.name, b.name, c.name from lost a, lost b, lost c")
            assert cursor.fetchone() == ("a", "a", "a")
            way.arm(0)
        assert way.cut
        for _ in range(2):
            with pytest.raises(dbapi.Error, match="the connection is closed: nothing was committed"):
                conn.commit()
        conn.rollback()
    with dbapi.connect(db.url, autocommit=True) as conn, conn.cursor() as cursor:
        cursor.execute("select count(*) from lost")
        assert cursor.fetchone() == (0,)
