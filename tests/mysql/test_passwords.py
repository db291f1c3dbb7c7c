"""A password is asked for when it is needed, and kept no longer."""

from __future__ import annotations

from typing import Any

import pytest

import headrace.aio.mysql
import headrace.mysql
from headrace import errors
from headrace.mysql.settings import known
from served import Served


@pytest.fixture
def rotating(my_server: Served, my_url: str) -> Any:
    """A user whose password changes: where to connect, and what changes it."""
    current = ["first"]
    with headrace.mysql.connect(my_url, autocommit=True) as admin:
        admin.execute("drop user if exists rotating@'%'")
        admin.execute("create user rotating@'%' identified by 'first'")

        def change(new: str) -> None:
            admin.execute(f"alter user rotating@'%' identified by '{new}'")
            current[0] = new

        where = my_server.where | {"user": "rotating", "password": lambda: current[0]}
        yield where, change


def test_statement_is_cancelled_with_the_password_of_today(rotating: Any) -> None:
    where, change = rotating
    with headrace.mysql.connect(**where) as conn:
        for password in ("second", "third"):
            change(password)
            with pytest.raises(TimeoutError):
                conn.execute("select sleep(20)", timeout=0.3)
            assert conn.fetchval("select 42") == 42


async def test_statement_on_a_loop_is_cancelled_with_the_password_of_today(rotating: Any) -> None:
    where, change = rotating
    current = where["password"]

    async def password() -> str:
        return str(current())

    async with await headrace.aio.mysql.connect(**where | {"password": password}) as conn:
        change("second")
        with pytest.raises(TimeoutError):
            await conn.execute("select sleep(20)", timeout=0.3)
        assert await conn.fetchval("select 42") == 42


@pytest.mark.parametrize("given", ["keyword", "alias", "url", "environment"])
def test_remembered_settings_hold_no_password(
    given: str, my_server: Served, my_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = dict(my_server.where)
    where["program_name"] = name = f"{given} {my_server.name}"
    password = where.pop("password")
    url = ""
    if given == "environment":
        monkeypatch.setenv("MYSQL_PWD", password)
    elif given == "url":
        url, where = my_url, {"program_name": name}
    else:
        where["passwd" if given == "alias" else "password"] = password
    for _ in range(2):
        with headrace.mysql.connect(url, **where) as conn:
            assert conn.fetchval("select 1") == 1
            assert conn._core.wire_options["password"] is None
    kept = [options for options, _ in known._known.values() if options.program_name == name]
    assert [options.password for options in kept] == [None]
    wrong = {"password": "wrong"} if given != "alias" else {"passwd": "wrong"}
    with pytest.raises(errors.OperationalError):
        headrace.mysql.connect(url, **where | wrong)
