"""CREATE, ALTER and DROP on the test server: what they promise is kept, what they take away is not asked for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from decimal import Decimal as D
from typing import Any

import informix_db
import pytest

import headrace.informix
from headrace.testing import InformixServer


class InformixDriverSession:
    """A connection of informix-driver in autocommit, and what it says."""

    def __init__(self, server: InformixServer) -> None:
        self.connection = informix_db.connect(**server.parameters(), autocommit=True)

    def __call__(self, *statements: str) -> list[tuple[Any, ...]]:
        """The rows of the last of several statements."""
        cursor = self.connection.cursor()
        for sql in statements:
            cursor.execute(sql)
        return list(cursor.fetchall()) if cursor.description else []

    def fails(self, sql: str, sqlcode: int) -> str:
        """The text of the error that a statement must have."""
        with pytest.raises(informix_db.Error) as caught:
            self(sql)
        assert caught.value.sqlcode == sqlcode, caught.value
        assert "sqlite" not in str(caught.value).lower()
        return str(caught.value)


@pytest.fixture
def run(server: InformixServer) -> Iterator[InformixDriverSession]:
    session = InformixDriverSession(server)
    session("create database defs with log")
    yield session
    session("close database", "drop database defs")
    session.connection.close()


def test_serial_begins_and_continues_at_the_given_value(run: InformixDriverSession) -> None:
    run("create table a (n serial(100), t char(1))", "insert into a (t) values ('x')", "insert into a values (0, 'y')")
    assert run("select n from a order by n") == [(100,), (101,)]
    run("alter table a modify (n serial(500))", "insert into a values (0, 'z')")
    assert run("select max(n), dbinfo('sqlca.sqlerrd1') from a") == [(500, 500)]
    run.fails("insert into a values (null, 'z')", -391)
    run("create table b (n bigserial(5000000000))", "insert into b values (0)")
    assert run("select n, dbinfo('bigserial') from b") == [(5_000_000_000, 5_000_000_000)]
    for _ in range(2):
        run("create temp table c (n serial, t int)", "insert into c values (0, 1)")
        assert run("select n from c") == [(1,)]
        run("drop table c")
    run(
        "create table d (t int)",
        "insert into d values (7)",
        "alter table d add n serial",
        "insert into d (t) values (8)",
    )
    assert run("select * from d order by t") == [(7, 1), (8, 2)]


def test_a_check_that_is_added_holds_and_one_that_is_dropped_does_not(run: InformixDriverSession) -> None:
    run("create table a (n int check (n < 9) constraint small)", "insert into a values (1)")
    run("alter table a add constraint check (n > 0) constraint positive")
    assert "positive" in run.fails("insert into a values (0)", -530)
    assert "small" in run.fails("insert into a values (9)", -530)
    run.fails("alter table a add constraint check (n > 5)", -530)
    run("alter table a drop constraint positive", "insert into a values (0)")
    run("alter table a drop constraint (small)", "insert into a values (9)")
    run.fails("alter table a drop constraint small", -623)


def test_foreign_keys_come_and_go(run: InformixDriverSession) -> None:
    run("create table parent (n int primary key constraint pk, m int)", "insert into parent values (1, 1)")
    run("create table child (n int, m int)", "insert into child values (2, 1)")
    run.fails("alter table child add constraint foreign key (n) references parent (m)", -297)
    run.fails("alter table child add constraint foreign key (n) references parent constraint fk", -525)
    run("delete from child", "alter table child add constraint (foreign key (n) references parent constraint fk)")
    assert "fk" in run.fails("insert into child values (2, 1)", -691)
    run("insert into child values (1, 1)")
    assert "pk" in run.fails("delete from parent", -692)
    assert "pk" in run.fails("update parent set n = 5", -692)
    run.fails("drop table parent restrict", -999)
    run("alter table child drop constraint fk", "insert into child values (2, 1)", "delete from parent")
    run.fails("create table other (n int references child (n))", -297)


def test_a_table_goes_with_what_points_to_it_and_what_reads_it(run: InformixDriverSession) -> None:
    run("create table parent (n int primary key)", "create table child (n int references parent on delete cascade)")
    run("create view seen (k) as select n from parent", "create view twice as select k * 2 k from seen")
    run("insert into parent values (1)", "insert into child values (1)", "drop table parent")
    run("insert into child values (9)")
    assert run("select n from child order by n") == [(1,), (9,)]
    assert run("select count(*) from sysreferences") == [(0,)]
    assert run("select tabname from systables where tabid > 99") == [("child",)]
    run.fails("select * from twice", -206)


def test_a_table_that_others_point_to_is_not_emptied_under_them(run: InformixDriverSession) -> None:
    run("create table parent (n int primary key)", "create table child (n int references parent on delete cascade)")
    run("insert into parent values (1)", "insert into child values (1)")
    run.fails("truncate table parent", -692)
    assert run("select count(*) from child") == [(1,)]
    run("delete from child", "truncate table parent")
    assert run("select count(*) from parent") == [(0,)]


def test_foreign_keys_can_wait_for_the_end(run: InformixDriverSession) -> None:
    run("create table parent (n int primary key)", "create table child (n int references parent)")
    run("begin work", "set constraints all deferred")
    run("insert into child values (1)", "insert into parent values (1)", "commit work")
    run("begin work", "set constraints all deferred", "insert into child values (2)")
    run.fails("commit work", -691)
    run.fails("rollback work", -255)
    assert run("select n from child") == [(1,)]


def test_not_null_that_is_added_holds(run: InformixDriverSession) -> None:
    run("create table a (n int, t varchar(9))", "insert into a values (null, 'x')")
    run.fails("alter table a modify (n int not null)", -391)
    run.fails("alter table a add (m int not null)", -391)
    run("update a set n = 1", "alter table a modify (n smallint not null, t char(3))")
    run.fails("insert into a (t) values ('y')", -391)
    run("alter table a add (m decimal(5,2) default 2.5 not null before t)")
    assert run("select * from a") == [(1, D("2.50"), "x")]
    run("alter table a modify (n int)", "insert into a (t) values ('y')")
    assert run("select n from a where t = 'y'") == [(None,)]


def test_a_column_goes_with_its_keys_and_the_others_keep_theirs(run: InformixDriverSession) -> None:
    run("create table a (n int, m int default 3, k int primary key constraint pk)")
    run("create index i on a (n)", "create unique index j on a (m)", "alter table a drop n")
    assert run("select nindexes, ncols from systables where tabname = 'a'") == [(2, 2)]
    assert run("select idxname, part1 from sysindexes order by 1") == [(" 100_1", 2), ("j", 1)]
    assert run("select colno from sysdefaults") == [(1,)]
    run("insert into a (k) values (1)")
    assert "pk" in run.fails("insert into a values (4, 1)", -268)
    run("create table b (n int default 1 references a constraint fk, m int)", "alter table b drop n")
    run("insert into b values (7)")
    run("create table c (n int check (n > 0), m int, k int, check (m > k))", "alter table c drop (n, m)")
    run("insert into c values (7)")
    assert run("select count(*) from sysreferences") == [(0,)]
    assert run("select count(*) from syschecks") == [(0,)]
    run("alter table a drop (k)", "insert into a values (4)")
    run.fails("insert into a values (4)", -239)
    run.fails("alter table a drop m", -999)


@pytest.mark.parametrize("temporary", ["", "temp "], ids=["table", "temporary"])
def test_defaults_go_and_change_with_their_columns(run: InformixDriverSession, temporary: str) -> None:
    run(f"create {temporary}table a (n int, m int default 1, k int default 2 not null, unique (m))")
    run("insert into a (n) values (1)", "alter table a modify (k int default 3)", "rename column a.m to mm")
    run.fails("insert into a (n) values (2)", -268)
    run("alter table a drop mm", "insert into a (n) values (2)")
    assert run("select n, k from a order by n") == [(1, 2), (2, 3)]
    run("alter table a modify (k int)", "insert into a (n) values (3)")
    assert run("select k from a where n = 3") == [(None,)]


@pytest.mark.parametrize(
    ("sql", "sqlcode"),
    [
        ("create table x (n int primary key, m int primary key)", -577),
        ("create table x (n int unique, unique (n))", -577),
        ("create table x (n int) nonsense", -201),
        ("create table x (n int, foreign key (m) references a)", -217),
        ("create external table x (n int) using (datafiles ('x'))", -999),
        ("create index x on a (n) nonsense", -201),
        ("create index x on a (n, n)", -201),
        ("create view x (k) as select n, m from a", -201),
        ("create view x as select n + 1 from a", -249),
        ("create sequence x cycle", -999),
        ("create sequence x maxvalue 3", -999),
        ("create sequence x nonsense", -201),
        ("rename table a to b", -310),
        ("rename column a.n to m", -328),
        ("drop table b_view", -206),
        ("drop view a", -206),
        ("drop table b_synonym", -206),
        ("insert into b_view values (1)", -999),
        ("select s.nextval, s.nextval from a", -999),
    ],
)
def test_a_definition_is_refused(run: InformixDriverSession, sql: str, sqlcode: int) -> None:
    run("create table a (n int, m int)", "create table b (n int)", "create view b_view as select n from b")
    run("create synonym b_synonym for b", "create sequence s")
    run.fails(sql, sqlcode)
    assert run("select count(*) from a") == [(0,)]


def test_a_sequence_counts_up_or_down(run: InformixDriverSession) -> None:
    run("create table a (n int)", "insert into a values (1)")
    run(
        "create sequence up start with 5 increment by 2 nocycle nomaxvalue",
        "create sequence down increment by -1 nocache",
    )
    assert [run("select up.nextval, down.nextval from a") for _ in range(2)] == [[(5, -1)], [(7, -2)]]
    assert run("select up.currval, down.currval from a") == [(7, -2)]


def test_a_locked_table_has_one_writer(run: InformixDriverSession, server: InformixServer) -> None:
    run("create table a (n int)")
    other = InformixDriverSession(server)
    other("database defs")
    run("begin work", "lock table a in exclusive mode")
    other.fails("insert into a values (1)", -244)
    run("commit work")
    other("insert into a values (1)", "close database")
    other.connection.close()


def test_database_is_dropped_when_no_session_has_it_open(run: InformixDriverSession, server: InformixServer) -> None:
    other = InformixDriverSession(server)
    other("create database other", "create table a (n int)")
    run.fails("drop database other", -425)
    other("close database")
    run("drop database other")
    other("create database other")
    other.fails("select * from a", -206)
    other("close database", "drop database other")
    other.fails("drop database other", -329)
    other.connection.close()


def test_what_a_transaction_defined_goes_with_it(run: InformixDriverSession, server: InformixServer) -> None:
    run("create table kept (n int)", "create temp table own (n serial, t int)", "insert into own values (0, 1)")
    defined = (
        "create temp table gone (n int)",
        "create table gone_too (n int)",
        "create procedure gone_routine() returning int; return 1; end procedure",
        "create distinct type gone_type as int",
        "select n from kept into temp gone_copy",
        "drop table own",
        "drop table kept",
    )
    run("begin work", *defined, "rollback work")
    assert run("select n, t from own") == [(1, 1)]
    assert run("select count(*) from kept") == [(0,)]
    for sql, sqlcode in (
        ("select * from gone", -206),
        ("select * from gone_too", -206),
        ("select * from gone_copy", -206),
        ("execute procedure gone_routine()", -674),
        ("create table x (n gone_type)", -9628),
    ):
        run.fails(sql, sqlcode)
    run("begin work", "savepoint s", "create temp table gone (n int)", "rollback work to savepoint s")
    run.fails("select * from gone", -206)
    run("create temp table gone (n int)", "commit work", "insert into gone values (1)")
    run("begin work")
    run.fails("close database", -377)
    run("rollback work")


def test_what_was_defined_since_a_savepoint_goes_with_it(run: InformixDriverSession) -> None:
    run("create table kept (n int)", "create temp table own (n int, t int)", "insert into own values (1, 2)")
    run("create procedure kept_routine() returning int; return 1; end procedure")
    cursor = run.connection.cursor()
    run("begin work", "savepoint outer_one", "savepoint s")
    run("alter table kept add (f int)", "drop table own", "drop procedure kept_routine")
    run("create distinct type gone_type as int", "savepoint inner_one", "create temp table gone (n int)")
    cursor.execute("select * from kept")
    assert [column[0] for column in cursor.description] == ["n", "f"]
    run("rollback work to savepoint s")
    assert run("select n, t from own") == [(1, 2)]
    assert run("execute procedure kept_routine()") == [(1,)]
    cursor.execute("select * from kept")
    assert [column[0] for column in cursor.description] == ["n"]
    run.fails("create table x (n gone_type)", -9628)
    run("release savepoint outer_one", "commit work")
    assert run("select n, t from own") == [(1, 2)]


def test_a_statement_older_than_what_a_savepoint_undid_is_prepared_again(server: InformixServer) -> None:
    with headrace.informix.connect(**server.parameters(), autocommit=True) as conn:
        conn.execute("create table undone (n int)")
        with conn.transaction():
            with contextlib.suppress(KeyError), conn.transaction():
                conn.execute("alter table undone add (f int)")
                assert conn.fetch("select * from undone") == []
                raise KeyError
            assert conn.execute("select * from undone").fetchall() == []
            conn.execute("insert into undone values (1)")
            assert conn.fetch("select * from undone") == [(1,)]
        conn.execute("drop table undone")


def test_a_client_that_goes_takes_its_transaction_along(run: InformixDriverSession, server: InformixServer) -> None:
    run("create table kept (n int primary key)")
    other = InformixDriverSession(server)
    other("database defs", "begin work", "create procedure gone() returning int; return 1; end procedure")
    other("insert into kept values (1)")
    run.fails("insert into kept values (2)", -244)
    cut = other.connection._sock
    cut.close()
    run("set lock mode to wait 5", "insert into kept values (2)")
    assert run("select n from kept") == [(2,)]
    run.fails("execute procedure gone()", -674)


@pytest.mark.parametrize(
    ("create", "drop", "there", "gone"),
    [
        ("create sequence {}q", "drop sequence {}q", -8301, -8300),
        ("create synonym {}q for systables", "drop synonym {}q", -310, -206),
        ("create distinct type {}q as int", "drop type {}q", -9631, -9628),
        ("create row type {}q (n int)", "drop row type {}q", -9631, -9628),
        ("create table {}q (n int)", "drop table {}q", -310, -206),
        ("create view {}q as select tabid from systables", "drop view {}q", -310, -206),
    ],
)
def test_if_exists_is_heeded(run: InformixDriverSession, create: str, drop: str, there: int, gone: int) -> None:
    run(drop.format("if exists "))
    run.fails(drop.format(""), gone)
    for _ in range(2):
        run(create.format("if not exists "))
    run.fails(create.format(""), there)
    for _ in range(2):
        run(drop.format("if exists "))
    run("begin work", create.format("if not exists "), create.format("if not exists "), "rollback work")
    run.fails(drop.format(""), gone)


def test_a_database_may_be_dropped_if_it_exists(run: InformixDriverSession) -> None:
    run("drop database if exists nowhere")
    run.fails("drop database nowhere", -329)
    run.fails("drop database if exists nowhere; drop database if exists nowhere", -555)
