"""The facade, where neither mysqlclient's suite nor Django's looks: side by side with mysqlclient itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import MySQLdb
import pytest

from headrace.compat import mysqldb
from served import Served


@pytest.fixture(params=[MySQLdb, mysqldb], ids=["mysqlclient", "headrace"])
def connection(request: pytest.FixtureRequest, my_server: Served) -> Iterator[Any]:
    conn = request.param.connect(**my_server.where, database="test")
    yield conn
    conn.close()


def test_a_later_statement_that_fails_does_not_hide_the_results_before_it(connection: Any) -> None:
    cursor = connection.cursor()
    cursor.execute("select 1; select 2, 'x'; select * from no_such_table; select 3")
    assert cursor.fetchall() == ((1,),)
    assert cursor.nextset()
    assert cursor.fetchall() == ((2, "x"),)
    with pytest.raises(Exception, match="no_such_table") as caught:
        cursor.nextset()
    assert type(caught.value).__name__ == "ProgrammingError"
    assert caught.value.args[0] == 1146
    cursor.close()
    with connection.cursor() as other:
        other.execute("select 42")
        assert other.fetchall() == ((42,),)


def test_the_first_statement_that_fails_raises_at_once(connection: Any) -> None:
    with connection.cursor() as cursor:
        with pytest.raises(Exception, match="no_such_table"):
            cursor.execute("select * from no_such_table; select 3")
        cursor.execute("select 42")
        assert cursor.fetchall() == ((42,),)


def test_autocommit_is_off_from_the_first_statement_on(connection: Any) -> None:
    assert connection.get_autocommit() is False
    with connection.cursor() as cursor:
        cursor.execute("drop table if exists facade_off")
        cursor.execute("create table facade_off (n int)")
        cursor.execute("insert into facade_off values (1)")
        connection.rollback()
        cursor.execute("select count(*) from facade_off")
        assert cursor.fetchall() == ((0,),)
