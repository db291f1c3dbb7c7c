"""A batch does what its statement does row by row, however its rows travel."""

from __future__ import annotations

from typing import Any

import pytest

from served import Served, fresh

NAMES = [(1, "ada"), (2, "grace"), (3, "jean"), (4, "ada")]
ROWS = {
    "subquery": "insert into made (a, b) values (?, (select id from people where name = ?))",
    "subquery without parameters": "insert into made (b, c) values ((select count(*) from made as other) + ?, ?)",
    "subquery in SET": "insert into made set a = ?, b = (select id from people where name = ?)",
    "REPLACE": "replace into made (id, b) values (?, (select id from people where name = ?))",
    "exists": "insert into made (a, b) values (?, exists (select 1 from people where name = ? and id > 1))",
    "on duplicate key": "insert into made (id, a) values (1, ?) on duplicate key update b = (select id from people "
    "where name = ?)",
    "on duplicate key, correlated": "insert into made (id, a, c) values (?, 3, ?) on duplicate key update "
    "b = (select count(*) from people as other where other.id <= made.a), a = made.a - 1",
    "regexp": "insert into made (a, b) values (?, 'adam' regexp ?)",
    "XPath": "insert into made (a, c) values (?, extractvalue(concat('<a>', ?, '</a>'), '/a'))",
    "JSON": "insert into made (a, b) values (?, json_contains('[\"ada\"]', json_quote(?)))",
    "RAND": "insert into made (c, a) values (rand(?), length(?))",
    "last id": "insert into made (a, c, b) values (?, ?, last_insert_id())",
    "identity": "insert into made (a, c, b) values (?, ?, @@identity)",
    "sums": "insert into made (a, c) values (? * 2 + 1, ?) on duplicate key update a = a + 1",
    "UPDATE": "update made set a = ?, b = (select id from people where name = ?)",
    "UPDATE, looking back": "update made set b = last_insert_id(a) + ?, c = ? where id = 7",
    "DELETE": "delete from made where a < ? and 7 in (select id + 6 from people where name = ?)",
}


@pytest.mark.parametrize("sql", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("again", [1, 500], ids=["short", "long"])
@pytest.mark.slow
def test_a_batch_does_what_its_rows_do(my: Any, sql: str, again: int) -> None:
    fresh(my, "table people (id int primary key, name varchar(20))")
    my.executemany("insert into people values (?, ?)", [(1, "ada"), (2, "grace"), (3, "jean")])
    made: list[Any] = []
    for at_once in (True, False):
        fresh(my, "table made (id int auto_increment primary key, a int, b int, c varchar(40))")
        my.execute("insert into made (id, a) values (7, 1)")
        my.execute("do last_insert_id(7)")
        if at_once:
            my.executemany(sql, NAMES * again)
        else:
            for row in NAMES * again:
                my.execute(sql, row)
        made.append(my.fetch("select * from made order by id"))
    assert made[0] == made[1]
    assert made[0] or sql.startswith("delete")


def test_rows_that_a_batch_does_not_keep_are_counted(my_server: Served, my: Any) -> None:
    fresh(my, "table counted (n int)")
    assert my.executemany("select ? as n", [(1,), (2,)]).rowcount == 2
    if my_server.is_mariadb:
        cursor = my.executemany("insert into counted values (?), (?) returning n", [(1, 2), (3, 4)])
        assert cursor.rowcount == 4
    assert my.executemany("insert into counted values (?)", [(5,)]).rowcount == 1
