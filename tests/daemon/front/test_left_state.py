"""What a client leaves in a session is not there for the next one."""

from __future__ import annotations

import pytest

from ..raw import SYNC
from .conftest import Front
from .plain import PlainClient

STATE = {
    "mariadb": ("set @left = 'of the first'", "select coalesce(@left, 'nothing')"),
    "informix": ("select tabid from systables where tabid = 1 into temp left_behind", "select tabid from left_behind"),
    "cubrid": ("set @left = 'of the first'", "select @left"),
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
