"""What the last user of a pool's connection leaves behind: the next one gets what the table of the database says, which
is the one in the manual."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from headrace import errors
from headrace.pool import ConnectionPool
from headrace.types import TransactionStatus
from servers import Database
from waiting import auntil

from .left_behind import LEAVING, OTHER_VALUES, UNSEEN, Leaving, attributes, is_same, one_of, pool_of
from .settings_behind import EVERY_SETTING

SHELLS = ("blocking", "asyncio")
ROWS = 20_000
MODES = ("none", "rollback", "discard")


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def admin(any_db: Database) -> Iterator[Any]:
    """A connection in autocommit, and a table ``left_t`` with many rows."""
    with contextlib.closing(any_db.connect(autocommit=True)) as conn:
        conn.execute("drop table if exists left_t")
        conn.execute("create table left_t (n int)")
        conn.executemany(f"insert into left_t values ({any_db.differences.mark})", [(n,) for n in range(ROWS)])
        for leaving in LEAVING[any_db.kind].values():
            for statement in leaving.prepare:
                with contextlib.suppress(errors.Error):
                    conn.execute(statement)
        yield conn


def seen(conn: Any, leaving: Leaving) -> Any:
    """What a user sees, or the class of the error. No transaction is open afterwards that was not before."""
    if callable(leaving.look):
        return leaving.look(conn)
    try:
        found = conn.fetchval(leaving.look)
    except errors.Error as error:
        found = type(error).__name__
    conn.rollback()
    return found


def fate_of(shell: str, db: Database, mode: str, leaving: Leaving, name: str) -> str:
    """Leaves something behind; returns what became of it."""
    options = {"reset": mode, "kwargs": {"autocommit": True} if leaving.autocommit else {}}
    with pool_of(shell, db.url, **options) as (lend, give_back):
        one = lend()
        before = seen(one, leaving)
        if name == "two_phase":
            one.tpc_begin("left")
        for statement in leaving.leave:
            one.execute(statement)
        if leaving.commits:
            one.commit()
        after = seen(one, leaving)
        assert after != before, f"{name} was not left"
        if not leaving.commits and not callable(leaving.look):
            for statement in leaving.leave:
                one.execute(statement)
        give_back(one)
        two = lend()
        if not is_same(one, two):
            return "closed"
        found = seen(two, leaving)
        with contextlib.suppress(errors.Error):
            two.rollback()
        give_back(two)
    return "set back" if found == before else "kept" if found == after else f"neither {before} nor {after}, but {found}"


def test_every_entry_is_what_the_table_says(shell: str, any_db: Database, admin: Any, mode: str) -> None:
    table = any_db.resets
    wrong: dict[str, tuple[str, str]] = {}
    for entry in table.SESSION_STATE:
        said = getattr(entry, mode)
        leaving = LEAVING[any_db.kind].get(entry.name)
        if said is None or leaving is None:
            continue
        found = fate_of(shell, any_db, mode, leaving, entry.name)
        if found != said:
            wrong[entry.name] = (found, said)
    assert not wrong, "found, and said"


def test_no_entry_is_without_a_test(any_db: Database) -> None:
    kind = any_db.kind
    # Those of character sets are in tests/mysql/test_server_charsets.py.
    here = {"attributes", "unknown_attributes", "streams", "charsets", "open_cursors"}
    with_settings = {"settings"} if kind in EVERY_SETTING else set[str]()
    entries = {entry.name for entry in any_db.resets.SESSION_STATE}
    assert entries <= here | with_settings | LEAVING[kind].keys() | UNSEEN.get(kind, {}).keys()
    assert all(
        getattr(entry, mode) in ("kept", None)
        for entry in any_db.resets.SESSION_STATE
        for mode in MODES
        if entry.name in UNSEEN.get(kind, {})
    )


def test_attributes_are_set_back_by_every_reset(shell: str, any_db: Database, admin: Any, mode: str) -> None:
    table = any_db.resets
    if mode not in table.MODES:
        mode = "rollback"
    with pool_of(shell, any_db.url, reset=mode, kwargs=dict(any_db.unasked)) as (lend, give_back):
        # Not those of the table, in which one may be missing.
        for name, value in OTHER_VALUES.items():
            one = lend()
            if not hasattr(one, name):
                assert name not in table.ATTRIBUTES
                give_back(one)
                continue
            before = attributes(one)
            setattr(one, name, value)
            assert attributes(one) != before, name
            one.execute("insert into left_t values (-1)") if name == "autocommit" else None
            one.rollback()
            give_back(one)
            two = lend()
            assert is_same(one, two), name
            assert attributes(two) == before, name
            two.rollback()
            give_back(two)


def test_a_failed_block_keeps_nothing_after_another_set_autocommit(
    shell: str, any_db: Database, admin: Any, mode: str
) -> None:
    if mode not in any_db.resets.MODES:
        mode = "rollback"
    ways = [lambda conn: setattr(conn, "autocommit", True)]
    if any_db.supports_set_autocommit:
        admin.execute("drop procedure if exists left_p")
        admin.execute("create procedure left_p() set autocommit = 1")
        ways += [lambda conn: conn.execute("set autocommit = 1"), lambda conn: conn.execute("call left_p()")]
    for way in ways:
        admin.execute("delete from left_t")
        with pool_of(shell, any_db.url, reset=mode) as (lend, give_back):
            one = lend()
            way(one)
            give_back(one)
            two = lend()
            assert is_same(one, two)
            two.execute("insert into left_t values (1)")
            two.rollback()
            give_back(two)
        assert admin.fetchval("select count(*) from left_t") == 0


def test_what_was_never_known_closes_the_connection(shell: str, any_db: Database) -> None:
    unknown = [entry for entry in any_db.resets.SESSION_STATE if entry.name == "unknown_attributes"]
    names = [name for name in ("isolation_level", "lock_wait") if f"`{name}`" in "".join(e.what for e in unknown)]
    assert bool(names) != any_db.supports_isolation_query
    for name in names:
        with pool_of(shell, any_db.url, reset="rollback") as (lend, give_back):
            one = lend()
            setattr(one, name, OTHER_VALUES[name])
            one.rollback()
            give_back(one)
            two = lend()
            assert not is_same(one, two)
            assert getattr(two, name) is None
            give_back(two)


def test_streams_that_are_open(shell: str, any_db: Database, admin: Any, mode: str) -> None:
    (said,) = [getattr(entry, mode) for entry in any_db.resets.SESSION_STATE if entry.name == "streams"]
    if said is None:
        return
    with pool_of(shell, any_db.url, reset=mode) as (lend, give_back):
        one = lend()
        rows = one.stream("select n from left_t", **any_db.differences.streamed(100))
        one_of(one, rows)
        give_back(one)
        two = lend()
        found = "closed"
        if is_same(one, two):
            # Rows of the block that was received can still be read.
            try:
                for _ in range(ROWS - 1):
                    one_of(two, rows)
                found = "kept"
            except errors.Error:
                found = "set back"
        assert found == said
        with contextlib.suppress(errors.Error):
            two.rollback()
        give_back(two)


@pytest.mark.parametrize("any_db", ["postgresql"], indirect=True)
def test_notifications_that_were_not_read(shell: str, any_db: Database, mode: str) -> None:
    (said,) = [getattr(entry, mode) for entry in any_db.resets.SESSION_STATE if entry.name == "subscriptions"]
    with pool_of(shell, any_db.url, reset=mode, kwargs={"autocommit": True}) as (lend, give_back):
        one = lend()
        one.execute("listen left_c")
        # Its own comes before the end of the statement.
        one.execute("notify left_c, 'first'")
        give_back(one)
        two = lend()
        assert is_same(one, two)
        found = one_of(two, two.notifies(timeout=0), None)
        give_back(two)
    assert (found and found.payload) == ("first" if said == "kept" else None)


@pytest.mark.parametrize("any_db", ["postgresql"], indirect=True)
def test_a_stream_that_waits_for_nothing_is_open_too(any_db: Database, admin: Any) -> None:
    """Its next rows are here before it is given back, which only a loop receives by itself."""
    with pool_of("asyncio", any_db.url, reset="none") as (lend, give_back):
        one = lend()
        rows = one.stream("select n from left_t", fetch_size=100)
        one_of(one, rows)

        async def received() -> None:
            await auntil(lambda: one.transaction_status != TransactionStatus.ACTIVE)

        one._loop.run_until_complete(received())
        give_back(one)
        two = lend()
        assert not is_same(one, two)
        give_back(two)


def test_settings_of_the_session(shell: str, any_db: Database, mode: str) -> None:
    change = EVERY_SETTING.get(any_db.kind)
    if change is None:
        assert not any_db.supports_settings_query
        return
    with pool_of(shell, any_db.url, reset=mode, kwargs={"autocommit": True}) as (lend, give_back):
        one = lend()
        before, after = change(one)
        changed = {name for name in before if before[name] != after[name]}
        assert len(changed) > 120, "too few settings were changed"
        give_back(one)
        two = lend()
        assert is_same(one, two)
        found = EVERY_SETTING[any_db.kind].look(two)
        give_back(two)
    (said,) = [getattr(entry, mode) for entry in any_db.resets.SESSION_STATE if entry.name == "settings"]
    wanted = after if said == "kept" else before
    assert {name: found[name] for name in changed} == {name: wanted[name] for name in changed}


def test_a_reset_that_the_database_does_not_have_is_refused(any_db: Database) -> None:
    if "discard" in any_db.resets.MODES:
        return
    with (
        ConnectionPool(any_db.url, min_size=1, reset="discard", timeout=30) as pool,
        pytest.raises(errors.ProgrammingError, match="'discard' is not one of none, rollback"),
    ):
        pool.getconn()
