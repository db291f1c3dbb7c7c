"""A batch does what its statement does row by row, however its rows travel."""

from __future__ import annotations

from typing import Any

import pytest

import headrace.mysql
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


# Tables and modes in which rows that travel together could mean something else.

LENIENT = {"no mode": "", "no strict one": "ANSI_QUOTES"}


@pytest.mark.parametrize("prepared", [True, False], ids=["prepared", "text"])
@pytest.mark.parametrize("mode", LENIENT.values(), ids=LENIENT)
@pytest.mark.parametrize("row", ["?, ?, ?", "?, concat(?), ?"], ids=["plain", "expression"])
def test_a_lenient_server_makes_of_a_later_row_what_it_makes_of_a_single_one(
    my_url: str, my: Any, mode: str, row: str, prepared: bool
) -> None:
    fresh(my, "table lenient (id int primary key, s varchar(5) not null, n int not null)")
    sql = f"insert into lenient values ({row})"
    with headrace.mysql.connect(my_url, autocommit=True, sql_mode=mode, prepared=prepared) as conn:
        with pytest.raises(headrace.errors.NotNullViolation):
            conn.execute(sql, (1, None, 5))
        for bad in ((11, None, 5), (11, "b", None)):
            with pytest.raises(headrace.errors.NotNullViolation) as caught:
                conn.executemany(sql, [(10, "a", 1), bad, (12, "c", 2)])
            assert caught.value.row == 1
            assert conn.fetchval("select count(*) from lenient") == 0
        assert conn.executemany(sql, [(n, "long text", n) for n in range(300)]).rowcount == 300
        assert conn.fetch("select distinct s from lenient") == [("long ",)]


@pytest.mark.parametrize("prepared", [True, False], ids=["prepared", "text"])
def test_a_table_without_transactions_refuses_in_strict_mode_what_it_refuses_of_a_single_row(
    my_url: str, my: Any, prepared: bool
) -> None:
    sql = "insert into lenient values (?, concat(?), ?)"
    for bad in ((11, "a", 500), (11, "too long", 1), (11, None, 1)):
        fresh(my, "table lenient (id int primary key, s varchar(5) not null, n tinyint not null) engine=myisam")
        with headrace.mysql.connect(my_url, autocommit=True, prepared=prepared) as conn:
            with pytest.raises(headrace.Error) as single:
                conn.execute(sql, bad)
            with pytest.raises(headrace.Error) as caught:
                conn.executemany(sql, [(10, "a", 1), bad])
            assert (type(caught.value), caught.value.sqlcode) == (type(single.value), single.value.sqlcode)
            assert "1 row of it stay" in str(caught.value)
            assert conn.fetch("select * from lenient") == [(10, "a", 1)]


@pytest.mark.parametrize("prepared", [True, False], ids=["prepared", "text"])
def test_a_view_refuses_what_it_refuses_of_a_single_row_whatever_is_behind_it(
    my_url: str, my: Any, prepared: bool
) -> None:
    for bad in ((11, "a", 500), (11, "too long", 1), (11, None, 1)):
        fresh(my, "table lenient (id int primary key, s varchar(5) not null, n tinyint not null) engine=myisam")
        my.execute("create or replace view seen as select * from lenient")
        with headrace.mysql.connect(my_url, autocommit=True, prepared=prepared) as conn:
            for sql in ("insert into seen values (?, ?, ?)", "insert into seen values (?, concat(?), ?)"):
                my.execute("delete from lenient")
                with pytest.raises(headrace.Error) as single:
                    conn.execute(sql, bad)
                with pytest.raises(headrace.Error) as caught:
                    conn.executemany(sql, [(10, "a", 1), bad])
                assert (type(caught.value), caught.value.sqlcode) == (type(single.value), single.value.sqlcode)
                assert conn.fetch("select * from lenient") == [(10, "a", 1)]


CHECKED = {
    "a check": ["table checked (id int primary key, n int check (n < 10))"],
    "the check of a view": [
        "table checked_base (id int primary key, n int)",
        "view checked as select * from checked_base where n < 10 with check option",
    ],
}


@pytest.mark.parametrize("made", CHECKED.values(), ids=CHECKED)
@pytest.mark.parametrize("prepared", [True, False], ids=["prepared", "text"])
def test_a_check_means_for_rows_that_are_ignored_what_it_means_for_a_single_one(
    my_url: str, my: Any, made: list[str], prepared: bool
) -> None:
    rows = [(1, 1), (2, 20), (3, 3)]
    for sql in ("insert ignore into checked values (?, ?)", "insert ignore into checked values (?, abs(?))"):
        outcomes: list[Any] = []
        for at_once in (True, False):
            my.execute("drop view if exists checked")
            my.execute("drop table if exists checked, checked_base")
            for definition in made:
                my.execute(f"create {definition}")
            error: Any = None
            with headrace.mysql.connect(
                my_url, autocommit=False, prepared=prepared, sql_mode="STRICT_ALL_TABLES"
            ) as conn:
                try:
                    if at_once:
                        conn.executemany(sql, rows)
                    else:
                        for row in rows:
                            conn.execute(sql, row)
                    conn.commit()
                except headrace.Error as raised:
                    error = raised.sqlcode
                    conn.rollback()
            outcomes.append((error, my.fetch("select * from checked order by id")))
        assert outcomes[0] == outcomes[1], sql


FORMS = {
    "in bulk": "insert into lenient values (?, ?, ?)",
    "by names": "insert into lenient set id = ?, s = ?, n = ?",
    "joined": "insert into lenient values (?, concat(?), ?)",
}


@pytest.mark.servers("mariadb")
@pytest.mark.parametrize("autocommit", [True, False])
@pytest.mark.parametrize("engine", ["myisam", "memory", "aria"])
@pytest.mark.parametrize("sql", FORMS.values(), ids=FORMS)
def test_rows_sent_together_are_refused_as_single_ones_where_the_mode_is_not_strict_for_the_table(
    my_url: str, my: Any, sql: str, engine: str, autocommit: bool
) -> None:
    with headrace.mysql.connect(my_url, autocommit=autocommit) as conn:
        mode = conn.fetchval("select @@sql_mode")
        assert "STRICT_TRANS_TABLES" in mode
        for bad in ((11, "a", 500), (11, "too long", 1), (11, None, 1)):
            fresh(my, f"table lenient (id int primary key, s varchar(5) not null, n tinyint not null) engine={engine}")
            with pytest.raises(headrace.Error) as single:
                conn.execute(sql, bad)
            with pytest.raises(headrace.Error, match="stay applied") as caught:
                conn.executemany(sql, [(10, "a", 1), bad, (12, "b", 2)])
            assert (type(caught.value), caught.value.sqlcode) == (type(single.value), single.value.sqlcode)
            # What is sent one by one is in flight already after a row that is refused.
            assert conn.fetch("select * from lenient") in ([(10, "a", 1)], [(10, "a", 1), (12, "b", 2)])
            rows = [(n, "c", 3) for n in range(20, 50)]
            assert conn.executemany(sql, rows).rowcount == len(rows)
            assert conn.fetchval("select @@sql_mode") == mode
            conn.rollback()


def test_a_table_is_asked_about_once_and_again_after_the_mode_has_changed(my_url: str, my: Any) -> None:
    fresh(my, "table lenient (id int primary key, s varchar(5) not null)")
    with headrace.mysql.connect(my_url, autocommit=True, prepared=False) as conn:
        sql = "insert into lenient values (?, concat(?))"

        def questions() -> int:
            return int(conn.fetch("show session status like 'Com_select'")[0][1])

        conn.executemany(sql, [(1, "a"), (2, "b")])
        before = questions()
        conn.executemany(sql, [(3, "a"), (4, "b")])
        assert questions() == before
        conn.execute("set sql_mode = ''")
        with pytest.raises(headrace.errors.NotNullViolation) as caught:
            conn.executemany(sql, [(5, "a"), (6, None)])
        assert caught.value.row == 1
        assert questions() == before + 1


OTHERS = {
    "altered": ("alter table lenient engine=myisam",),
    "made anew": ("drop table lenient", "create table lenient {columns} engine=memory"),
    "hidden": ("create temporary table lenient {columns} engine=memory",),
    "renamed": ("create table other {columns} engine=myisam", "drop table lenient", "rename table other to lenient"),
}


@pytest.mark.parametrize("prepared", [True, False], ids=["prepared", "text"])
@pytest.mark.parametrize("change", OTHERS)
def test_a_table_that_the_session_has_exchanged_is_asked_about_again(
    my_url: str, my: Any, change: str, prepared: bool
) -> None:
    """A temporary table hides another of its name, and is in no table of information_schema."""
    columns = "(id int primary key, s varchar(5) not null, n tinyint not null)"
    fresh(my, f"table lenient {columns} engine=innodb")
    my.execute("drop table if exists other")
    sql = "insert into lenient values (?, ?, ?)"
    with headrace.mysql.connect(my_url, autocommit=True, prepared=prepared) as conn:
        assert conn.executemany(sql, [(n, "a", 1) for n in range(300)]).rowcount == 300
        for text in OTHERS[change]:
            conn.execute(text.format(columns=columns))
        for bad in ((1000, "too long", 1), (1000, "a", 500)):
            with pytest.raises(headrace.Error) as single:
                conn.execute(sql, bad)
            with pytest.raises(headrace.Error) as caught:
                conn.executemany(sql, [(301, "a", 1), bad, (302, "a", 1)])
            assert (type(caught.value), caught.value.sqlcode) == (type(single.value), single.value.sqlcode)
            assert conn.fetchval("select count(*) from lenient where id = 1000") == 0
            conn.execute("delete from lenient where id > 300")


@pytest.mark.parametrize("engine", ["myisam", "memory"])
@pytest.mark.parametrize("prepared", [True, False], ids=["prepared", "text"])
def test_rows_after_a_first_one_that_fails_are_counted_where_a_table_has_no_transactions(
    my_url: str, my: Any, engine: str, prepared: bool
) -> None:
    for bad in ((5, "x" * 20), (None, "x")):
        fresh(my, f"table whole (id int not null primary key, s varchar(5) not null) engine={engine}")
        with headrace.mysql.connect(my_url, autocommit=True, prepared=prepared) as conn:
            with pytest.raises(headrace.Error) as caught:
                conn.executemany("insert into whole values (?, ?)", [bad, *((10 + n, "a") for n in range(50))])
            stay = conn.fetchval("select count(*) from whole")
        assert caught.value.row == 0
        assert stay == 0 or f"{stay} rows of it stay" in str(caught.value)


ARIA = "table aria (id int, s varchar(20), key (id)) engine=Aria transactional=1"


@pytest.mark.servers("mariadb")
@pytest.mark.parametrize("autocommit", [True, False])
@pytest.mark.parametrize("prepared", [True, False], ids=["prepared", "text"])
@pytest.mark.parametrize("count", [2, 300, 60_000])
def test_rows_go_into_a_table_whose_engine_has_no_savepoints(
    my_url: str, my: Any, autocommit: bool, prepared: bool, count: int
) -> None:
    fresh(my, ARIA)
    with headrace.mysql.connect(my_url, autocommit=autocommit, prepared=prepared) as conn:
        if not autocommit:
            conn.execute("insert into aria values (0, 'z')")
        # Values of two types are sent in two chunks.
        rows = [(n if n < count // 2 else str(n), "x") for n in range(count)]
        assert conn.executemany("insert into aria values (?, ?)", rows).rowcount == count
        conn.commit()
    assert my.fetchval("select count(*) from aria where s = 'x'") == count


@pytest.mark.servers("mariadb")
@pytest.mark.parametrize("autocommit", [True, False])
@pytest.mark.parametrize("prepared", [True, False], ids=["prepared", "text"])
def test_the_error_of_a_row_says_how_many_rows_stay(my_url: str, my: Any, autocommit: bool, prepared: bool) -> None:
    fresh(my, "table aria (id int primary key, s varchar(20)) engine=Aria transactional=1")
    with headrace.mysql.connect(my_url, autocommit=autocommit, prepared=prepared) as conn:
        with pytest.raises(headrace.errors.UniqueViolation, match="stay applied"):
            conn.executemany("insert into aria values (?, ?)", [(n if n != 50_000 else 7, "x") for n in range(60_000)])
        conn.rollback()
    assert my.fetchval("select count(*) from aria") == 50_000


@pytest.mark.servers("mariadb")
def test_rows_of_a_transaction_that_takes_no_savepoint_are_undone_with_it(my_url: str, my: Any) -> None:
    fresh(my, ARIA)
    fresh(my, "table beside (id int primary key)")
    with headrace.mysql.connect(my_url, autocommit=False) as conn:
        conn.execute("insert into aria values (0, 'z')")
        with pytest.raises(headrace.errors.UniqueViolation):
            conn.executemany("insert into beside values (?)", [(1,), (2,), (1,)])
        conn.rollback()
    assert my.fetch("select * from beside") == []


@pytest.mark.servers("mariadb")
@pytest.mark.parametrize("autocommit", [True, False])
def test_a_batch_that_loads_files_is_refused_and_the_connection_stays(my_url: str, my: Any, autocommit: bool) -> None:
    """MySQL takes no parameters there."""
    fresh(my, "table loaded (a varchar(20), b varchar(20))")
    with headrace.mysql.connect(my_url, autocommit=autocommit, local_infile=True) as conn:
        with pytest.raises(headrace.errors.OperationalError, match="no data were handed over") as caught:
            conn.executemany("load data local infile 'rows.txt' into table loaded set b = ?", [("x",), ("y",), ("z",)])
        assert caught.value.row == 0
        assert conn.fetchval("select count(*) from loaded") == 0
