"""The facade of IfxPy: what programs that were written for it rely on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headrace
from headrace.compat import ifxpy, ifxpydbi
from headrace.testing import InformixServer

ANIMALS = [(0, "cat", "Pook", 3.2), (1, "dog", "Peaches", 12.3), (2, "horse", "Smarty", 350)]


def connection_string(server: InformixServer, more: str = "") -> str:
    its = server.parameters()
    return (
        f"SERVER={its['server']};DATABASE={its['database']};HOST={its['host']};SERVICE={its['port']};"
        f"PROTOCOL=onsoctcp;UID={its['user']};PWD={its['password']};{more}"
    )


@pytest.fixture
def handle(ifx: InformixServer) -> Iterator[ifxpy.IFXConnection]:
    made = ifxpy.connect(connection_string(ifx), "", "")
    yield made
    ifxpy.close(made)


@pytest.fixture
def animals(handle: ifxpy.IFXConnection, table: str) -> str:
    """A table with three rows."""
    columns = "id integer, breed varchar(32), name char(16), weight decimal(7,2)"
    ifxpy.exec_immediate(handle, f"create table {table} ({columns})")
    insert = ifxpy.prepare(handle, f"insert into {table} values (?, ?, ?, ?)")
    for row in ANIMALS:
        assert ifxpy.execute(insert, row) is True
        assert ifxpy.num_rows(insert) == 1
    return table


def test_rows_come_as_tuples_dicts_and_single_values(handle: ifxpy.IFXConnection, animals: str) -> None:
    statement = ifxpy.exec_immediate(handle, f"select * from {animals} order by id")
    assert ifxpy.fetch_tuple(statement) == (0, "cat", "Pook            ", "3.20")
    assert ifxpy.fetch_assoc(statement)["weight"] == "12.30"
    both = ifxpy.fetch_both(statement)
    assert (both[0], both["breed"], both[3]) == (2, "horse", "350.00")
    assert ifxpy.fetch_tuple(statement) is False
    assert ifxpy.fetch_row(statement) is False

    statement = ifxpy.exec_immediate(handle, f"select breed, name from {animals} where id = 0")
    assert ifxpy.fetch_row(statement) is True
    assert (ifxpy.result(statement, 0), ifxpy.result(statement, "name")) == ("cat", "Pook            ")
    assert ifxpy.result(statement, "passport") is None


def test_statements_are_independent_of_each_other(handle: ifxpy.IFXConnection, animals: str) -> None:
    outer = ifxpy.exec_immediate(handle, f"select id from {animals} order by id")
    inner = ifxpy.prepare(handle, f"select name from {animals} where id = ?")
    seen = []
    while row := ifxpy.fetch_tuple(outer):
        ifxpy.bind_param(inner, 1, row[0])
        ifxpy.execute(inner)
        seen.append(ifxpy.fetch_tuple(inner)[0].rstrip())
    assert seen == ["Pook", "Peaches", "Smarty"]


def test_rows_by_number_need_a_scrollable_cursor(ifx: InformixServer, handle: Any, animals: str) -> None:
    sql = f"select id from {animals} order by id"
    static = {ifxpy.SQL_ATTR_CURSOR_TYPE: ifxpy.SQL_CURSOR_STATIC}
    forward = ifxpy.exec_immediate(handle, sql, static)
    assert ifxpy.get_option(forward, ifxpy.SQL_ATTR_CURSOR_TYPE, 0) == ifxpy.SQL_CURSOR_FORWARD_ONLY
    with pytest.raises(ifxpy.IfxPyError, match=r"Fetch type out of range\. SQLCODE=-11086"):
        ifxpy.fetch_tuple(forward, 2)
    assert ifxpy.stmt_error(forward) == "HY106"

    scrolling = ifxpy.connect(connection_string(ifx, "ENABLESCROLLABLECURSORS=1"), "", "")
    statement = ifxpy.exec_immediate(scrolling, sql, static)
    assert ifxpy.num_rows(statement) == 3
    assert [ifxpy.fetch_tuple(statement, at) for at in (3, 1, 4)] == [(2,), (0,), False]
    ifxpy.close(scrolling)


def test_names_have_the_case_that_was_asked_for(handle: ifxpy.IFXConnection, animals: str) -> None:
    ifxpy.set_option(handle, {ifxpy.ATTR_CASE: ifxpy.CASE_UPPER}, 1)
    statement = ifxpy.exec_immediate(handle, f"select id, breed from {animals} where id = 0")
    assert ifxpy.fetch_assoc(statement) == {"ID": 0, "BREED": "cat"}
    assert (ifxpy.field_name(statement, 1), ifxpy.field_num(statement, "ID")) == ("BREED", 0)


def test_columns_are_described_as_odbc_does(handle: ifxpy.IFXConnection, table: str) -> None:
    kinds = {
        "a": ("smallint", "int", 2, 6),
        "b": ("integer", "int", 4, 11),
        "c": ("bigint", "bigint", 20, 20),
        "d": ("decimal(7,2)", "decimal", 9, 9),
        "e": ("float", "real", 8, 24),
        "f": ("varchar(15)", "string", 15, 15),
        "g": ("char(5)", "string", 5, 5),
        "h": ("date", "date", 6, 10),
        "i": ("datetime hour to second", "time", 6, 8),
        "j": ("datetime year to fraction(5)", "timestamp", 16, 25),
        "k": ("blob", "string", 2**31 - 1, 2**31 - 1),
        "l": ("interval day to second", "interval", 28, 25),
    }
    declared = ", ".join(f"{name} {kind}" for name, (kind, *_) in kinds.items())
    ifxpy.exec_immediate(handle, f"create table {table} ({declared})")
    statement = ifxpy.exec_immediate(handle, f"select * from {table}")
    assert ifxpy.num_fields(statement) == len(kinds)
    for at, (name, (_, kind, width, shown)) in enumerate(kinds.items()):
        for column in (at, name):
            found = (
                ifxpy.field_type(statement, column),
                ifxpy.field_width(statement, column),
                ifxpy.field_display_size(statement, column),
            )
            assert found == (kind, width, shown), name
    assert (ifxpy.field_precision(statement, "d"), ifxpy.field_scale(statement, "d")) == (7, 2)
    for missing in (-1, len(kinds), "z", "A", False):
        assert ifxpy.field_type(statement, missing) is False


def test_large_objects_are_their_content(handle: ifxpy.IFXConnection, table: str, tmp_path: Path) -> None:
    content = bytes(range(256)) * 1_000
    path = tmp_path / "picture"
    path.write_bytes(content)
    ifxpy.exec_immediate(handle, f"create table {table} (id int, picture blob, note clob)")
    insert = ifxpy.prepare(handle, f"insert into {table} values (?, ?, ?)")
    ifxpy.execute(insert, (1, content, "Ä"))
    ifxpy.bind_param(insert, 1, 2)
    ifxpy.bind_param(insert, 2, str(path), ifxpy.PARAM_FILE)
    ifxpy.bind_param(insert, 3, None)
    ifxpy.execute(insert)
    statement = ifxpy.exec_immediate(handle, f"select picture, note from {table} order by id")
    assert ifxpy.fetch_tuple(statement) == (content, "Ä")
    assert ifxpy.fetch_tuple(statement) == (content, None)


def test_transactions(handle: ifxpy.IFXConnection, animals: str) -> None:
    assert ifxpy.autocommit(handle) == 1
    assert ifxpy.autocommit(handle, ifxpy.SQL_AUTOCOMMIT_OFF) is True
    assert ifxpy.get_option(handle, ifxpy.SQL_ATTR_AUTOCOMMIT, 1) == 0
    assert ifxpy.num_rows(ifxpy.exec_immediate(handle, f"update {animals} set id = 9")) == 3
    ifxpy.rollback(handle)
    many = ifxpy.prepare(handle, f"insert into {animals} (id) values (?)")
    assert ifxpy.execute_many(many, ((7,), (8,))) == 2
    ifxpy.commit(handle)
    statement = ifxpy.exec_immediate(handle, f"select id from {animals} order by id")
    assert [row[0] for row in iter(lambda: ifxpy.fetch_tuple(statement), False)] == [0, 1, 2, 7, 8]
    assert ifxpy.get_num_result(statement) == 5


def test_errors_have_the_number_behind_them_and_are_kept(ifx: InformixServer, handle: ifxpy.IFXConnection) -> None:
    for code, sql in ((-201, "selekt 1"), (-206, "select * from nowhere_at_all")):
        text = rf"(?s)^\[Informix\]\[Informix ODBC Driver\].* SQLCODE={code}$"
        with pytest.raises(ifxpy.IfxPyError, match=text) as raised:
            ifxpy.exec_immediate(handle, sql)
        assert isinstance(raised.value.__cause__, headrace.Error)
        assert ifxpy.stmt_errormsg() == str(raised.value) == ifxpy.conn_errormsg(handle)
    with pytest.raises(ifxpy.IfxPyError) as many:
        ifxpy.execute_many(ifxpy.prepare(handle, "insert into nowhere_at_all values (?)"), ((1,), (2,)))
    assert ifxpy.stmt_errormsg() == str(many.value)
    with pytest.raises(ifxpy.IfxPyError):
        ifxpy.connect(connection_string(ifx).replace("PWD=", "PWD=wrong"), "", "")
    assert (ifxpy.conn_error(), "SQLCODE=-951" in ifxpy.conn_errormsg()) == ("28P01", True)
    ifxpy.exec_immediate(handle, "select 1 from systables where tabid = 1")
    assert ifxpy.conn_error(handle) == ifxpy.stmt_error() == ""


def test_the_catalog(handle: ifxpy.IFXConnection, table: str) -> None:
    child = f"{table}_c"
    ifxpy.exec_immediate(handle, f"create table {table} (a int not null, b varchar(9) not null, primary key (a, b))")
    ifxpy.exec_immediate(
        handle, f"create table {child} (x int, y varchar(9), z int, foreign key (x, y) references {table} (a, b))"
    )
    ifxpy.exec_immediate(handle, f"create unique index {child}_z on {child} (z desc)")

    def rows(statement: ifxpy.IFXStatement) -> list[Any]:
        return list(iter(lambda: ifxpy.fetch_assoc(statement), False))

    [found] = rows(ifxpy.tables(handle, None, None, table))
    assert (found["TABLE_NAME"], found["TABLE_TYPE"]) == (table, "TABLE")
    owner = found["TABLE_SCHEM"]
    assert rows(ifxpy.tables(handle, None, owner, table, "VIEW")) == []
    columns = rows(ifxpy.columns(handle, None, owner, table))
    assert [(c["COLUMN_NAME"], c["DATA_TYPE"], c["COLUMN_SIZE"], c["IS_NULLABLE"]) for c in columns] == [
        ("a", ifxpy.SQL_INTEGER, 10, "NO"),
        ("b", ifxpy.SQL_VARCHAR, 9, "NO"),
    ]
    keys = rows(ifxpy.primary_keys(handle, None, owner, table))
    assert [(key["COLUMN_NAME"], key["KEY_SEQ"]) for key in keys] == [("a", 1), ("b", 2)]
    for which in ((None, owner, table), (None, None, None, None, owner, child)):
        keys = rows(ifxpy.foreign_keys(handle, *which))
        assert [(key["PKCOLUMN_NAME"], key["FKTABLE_NAME"], key["FKCOLUMN_NAME"]) for key in keys] == [
            ("a", child, "x"),
            ("b", child, "y"),
        ]
    statistics = rows(ifxpy.statistics(handle, None, owner, child, False))
    assert [(row["INDEX_NAME"], row["COLUMN_NAME"], row["ASC_OR_DESC"]) for row in statistics] == [
        (None, None, None),
        (f"{child}_z", "z", "D"),
    ]
    assert len(rows(ifxpy.statistics(handle, None, owner, child, True))) == 4
    special = rows(ifxpy.special_columns(handle, None, owner, table, 0))
    assert [row["COLUMN_NAME"] for row in special] == ["a", "b"]


def test_information_and_closing(ifx: InformixServer) -> None:
    handle = ifxpy.connect(connection_string(ifx), "", "")
    server, client = ifxpy.server_info(handle), ifxpy.client_info(handle)
    assert (server.DBMS_NAME[:3], server.DB_NAME) == ("Inf", ifx.database)
    assert client.DRIVER_NAME == "headrace"
    assert ifxpy.active(handle) is True
    assert ifxpy.close(handle) is True
    assert ifxpy.active(handle) is ifxpy.active(None) is False


def test_dbi(ifx: InformixServer, handle: Any, animals: str) -> None:
    connection = ifxpydbi.connect(connection_string(ifx), "", "")
    cursor = connection.cursor()
    cursor.execute(f"insert into {animals} (id) values (?)", (5,))
    connection.rollback()
    cursor.execute(f"select id from {animals} where id > ? order by id", (0,))
    assert cursor.fetchall() == [(1,), (2,)]
    connection.rollback()
    assert [row["TABLE_NAME"] for row in connection.tables(None, animals)] == [animals]
    assert [row["COLUMN_NAME"] for row in connection.columns(None, animals, ["name"])] == ["name"]
    assert connection.primary_keys(table_name=animals) == connection.foreign_keys(table_name=animals) == []
    assert len(connection.indexes(table_name=animals)) == 1
    with pytest.raises(ifxpydbi.ProgrammingError):
        cursor.execute("select * from nowhere_at_all")
    cursor.execute(f"insert into {animals} (id) values (6)")
    connection.set_autocommit(True)
    connection.rollback()
    assert cursor.execute(f"select max(id) from {animals}").fetchone() == (6,)
    assert connection.get_option(ifxpy.SQL_ATTR_AUTOCOMMIT) == 1
    connection.close()
    with pytest.raises(ifxpydbi.OperationalError):
        ifxpydbi.connect(connection_string(ifx), "", "", database="nowhere_at_all")


def test_it_takes_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("IfxPy", "IfxPyDbi"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    ifxpy.install_as_IfxPy()
    import IfxPy  # type: ignore[import-not-found]
    import IfxPyDbi  # type: ignore[import-not-found]

    assert (IfxPy, IfxPyDbi) == (ifxpy, ifxpydbi)
    for name in ("IfxPy", "IfxPyDbi"):
        monkeypatch.delitem(sys.modules, name)
