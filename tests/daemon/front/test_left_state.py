"""What a client leaves in a session is not there for the next one."""

from __future__ import annotations

import pytest

from ..raw import SYNC
from .conftest import Front
from .plain import PlainClient

STATE = {
    "mariadb": ("set @left = 'of the first'", "select coalesce(@left, 'nothing')"),
    "informix": ("select tabid from systables where tabid = 1 into temp left_behind", "select tabid from left_behind"),
    "cubrid": ("set @kept = 'of the first'", "select @kept"),
}
"""A statement that leaves something in the session, and one that finds it."""


@pytest.mark.parametrize("mode", ["one", "session"])
def test_use_ends_with_its_client(fronts: dict[str, Front], mode: str) -> None:
    front = fronts["mariadb"]
    with front.direct() as admin:
        admin.execute("create database if not exists other")
    with PlainClient(front, f"mariadb_{mode}") as first:
        [own] = first.query("select database()")
        assert first.query("use other") == []
        assert first.query("select database()") == ["other"]
        [session] = first.query("select connection_id()")
    with PlainClient(front, f"mariadb_{mode}") as second:
        assert second.query("select connection_id()") == [session]
        assert second.query("select database()") == [own]


def test_session_of_a_client_in_session_mode_is_its_own(front: Front) -> None:
    leaves, finds = STATE[front.name]
    with PlainClient(front, f"{front.name}_session") as first:
        first.query(leaves)
        found = first.query(finds)
        first.ask(SYNC)
        with PlainClient(front, f"{front.name}_session") as second:
            assert second.query(finds) != found
        assert first.query(finds) == found


COLUMNS = ", ".join(f"{n} as c{n}" for n in range(70))
UNSUPPORTED = "0A000"


@pytest.mark.parametrize(
    ("leaves", "finds", "nothing"),
    [
        ("select @l := 'of the first'", "select @l is null", ["1"]),
        ("select 4 into @l", "select @l is null", ["1"]),
        (f"select {COLUMNS}, @l := 4", "select @l is null", ["1"]),
        (f"select {COLUMNS}, get_lock('left', 0)", "select is_used_lock('left') is null", ["1"]),
        ("select `get_lock`('left', 0)", "select is_used_lock('left') is null", ["1"]),
        ("/*!40101 set @l = 4 */;", "select @l is null", ["1"]),
        ("insert ignore into small (n) values ('a card number')", "show warnings", [UNSUPPORTED]),
        ("insert ignore into small (n) values ('a card number')", "select @@warning_count", [UNSUPPORTED]),
        ("insert into small (n) values (1)", "select @@identity", [UNSUPPORTED]),
        ("insert into small (n) values (1)", "select `last_insert_id`()", [UNSUPPORTED]),
        ("select next value for numbers", "select previous value for numbers", [UNSUPPORTED]),
        ("select next value for numbers", "select lastval(numbers)", [UNSUPPORTED]),
    ],
)
def test_what_a_statement_of_mariadb_leaves_is_its_client_s(
    fronts: dict[str, Front], leaves: str, finds: str, nothing: list[str]
) -> None:
    front = fronts["mariadb"]
    front.table("small", "n tinyint, id int auto_increment primary key")
    with front.direct() as admin:
        admin.execute("create or replace sequence numbers")
    with PlainClient(front, "mariadb_one") as first:
        assert UNSUPPORTED not in first.query(leaves)
    with PlainClient(front, "mariadb_one") as second:
        assert second.query(finds) == nothing


def test_read_lock_on_all_tables_ends_with_its_client(fronts: dict[str, Front]) -> None:
    front = fronts["mariadb"]
    table = front.table("locked", "n int primary key")
    with PlainClient(front) as client:
        assert client.query("flush tables with read lock") == []
    with front.direct() as admin:
        admin.execute("set lock_wait_timeout = 1")
        admin.execute(f"insert into {table} values (1)")


def test_what_a_long_statement_of_informix_leaves_is_its_client_s(fronts: dict[str, Front]) -> None:
    columns = ", ".join(f"tabid c{n}" for n in range(70))
    with PlainClient(fronts["informix"], "informix_one") as first:
        first.query(f"select {columns} from systables where tabid = 1 into temp left_behind")
        assert first.query("select c3 from left_behind") == ["1"]
    with PlainClient(fronts["informix"], "informix_one") as second:
        assert second.query("select c3 from left_behind") == ["42P01"]


def test_variable_of_a_client_of_cubrid_is_its_own(fronts: dict[str, Front]) -> None:
    with PlainClient(fronts["cubrid"], "cubrid_one") as first:
        assert first.query(f"select @l := 'of the first', {COLUMNS}") == ["of the first"]
    with PlainClient(fronts["cubrid"], "cubrid_one") as second:
        assert second.query("select @l") != ["of the first"]
