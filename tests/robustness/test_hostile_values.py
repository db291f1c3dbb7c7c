"""Values and messages that single faults were made of: what `json.loads` cannot take, lengths that are lies, replies of
another shape."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from headrace import errors
from headrace._shared.cursor_base import CursorBase
from headrace.informix import lobs
from headrace.rows import dict_row
from headrace.types import Opaque
from servers import Database

from .hostile import HostileProxy, description, peak_kib, u16, u32

DEEP = "(repeat('[', 2000) || repeat(']', 2000))::json"
DIGITS = "('1' || repeat('0', 5000))::jsonb"


@pytest.mark.parametrize("value", [DEEP, DIGITS])
def test_json_beyond_pythons_limits_is_a_data_error(postgres: Database, value: str) -> None:
    with postgres.connect() as conn:
        for sql in (f"select 1, {value} as nested", f"select 1, array[{value}] as nested"):
            with pytest.raises(errors.DataError, match=r"column 2 \(nested\): the server sent JSON"):
                conn.execute(sql)
            conn.rollback()
            assert conn.fetchval("select 42") == 42
        with pytest.raises(errors.DataError, match="column 2"):
            list(conn.stream(f"select 1, {value} as nested"))


async def test_json_beyond_pythons_limits_on_a_loop(postgres: Database) -> None:
    async with await postgres.aconnect(autocommit=True) as conn:
        for value in (DEEP, DIGITS):
            with pytest.raises(errors.DataError, match="nested") as caught:
                await conn.execute(f"select {value} as nested")
            assert isinstance(caught.value.__cause__, RecursionError | ValueError)
            assert await conn.fetchval("select 42") == 42


# Not MySQL, which makes doubles of long numbers.
@pytest.mark.parametrize("target", ["mariadb", "informix"], indirect=True)
def test_json_of_other_databases(target: Database) -> None:
    with target.connect(autocommit=True) as conn:
        conn.execute("create table if not exists jsons (j json)")
        conn.execute("delete from jsons")
        value = "1" + "0" * 5000
        conn.execute(f"insert into jsons values ('{value}'{target.as_json})")
        with pytest.raises(errors.DataError, match=r"column 1 \(j\)"):
            conn.fetch("select j from jsons")
        assert conn.fetchval(target.answer) == 42
        conn.execute("drop table jsons")


def test_a_users_own_loader_raises_what_it_raises(postgres: Database) -> None:
    def loader(_: bytes) -> Any:
        raise ValueError("mine")

    with postgres.connect(autocommit=True) as conn:
        conn.register_adapters({114: loader})
        with pytest.raises(ValueError, match="mine"):
            conn.execute("select '{}'::json")
        assert conn.fetchval("select 42") == 42


# What a server returns of a large object


class Answers:
    """A wire whose every request is answered by the same rows."""

    closed = False

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *args, **_: (name, args)


def driven(flow: Any, *rows: Any) -> Any:
    """Runs a flow of requests on these answers, the last one for ever."""
    answers = list(rows)
    try:
        next(flow)
        while True:
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
            flow.send(SimpleNamespace(rows=answer, rowcount=-1))
    except StopIteration as end:
        return end.value


WRONG = [None, [], [()], [(None,)], [(None, None)], [(2**31 - 1,)], [(-1,)], [("x",)], [(1.5,)], [(True,)], [(1, 2, 3)]]


@pytest.mark.parametrize("rows", [*WRONG, [(2**31 - 1, 1)], [(b"x", 2**31)], [(b"x", None)]])
def test_a_large_object_is_made_of_nothing_but_a_locator_and_a_handle(rows: Any) -> None:
    core: Any = SimpleNamespace(wire=Answers(), begins=False, drop=list)
    before = peak_kib(reset=True)
    with pytest.raises(errors.OperationalError, match="the server"):
        driven(lobs.creating(core, "blob", None), rows)
    if rows != [(b"x", 2**31)]:
        with pytest.raises(errors.OperationalError, match="the server"):
            driven(lobs.creating(core, "blob", "t.b"), rows)
    assert peak_kib() - before < 8 * 1024


@pytest.mark.parametrize("rows", [*WRONG[:5], [("x",)], [(b"more than was asked for",)]])
def test_the_content_of_a_large_object_is_bytes_of_the_length_asked_for(rows: Any) -> None:
    core: Any = SimpleNamespace(wire=Answers(), begins=False, drop=list)
    state = lobs.InformixLob(core, Opaque("blob", b""), "rb", 1)  # type: ignore[arg-type]
    with pytest.raises(errors.OperationalError, match="the server"):
        driven(state.reading(4), rows)
    if rows != [(b"more than was asked for",)]:
        with pytest.raises(errors.OperationalError, match="the server"):
            driven(state.sizing(), rows)


# Long descriptions


@pytest.mark.parametrize(("columns", "name"), [(32_767, b""), (3000, b"x" * 300)])
def test_a_long_description_takes_a_time_that_grows_with_its_length(
    informix_only: Database, columns: int, name: bytes
) -> None:
    long = description(columns, name) + u16(13) + u16(-201) + u16(0) + u32(0) + u16(0) + u16(12)
    with HostileProxy(informix_only.port) as proxy, informix_only.connect(proxy.port, autocommit=True) as conn:
        proxy.answer = lambda _: [long[at : at + 1000] for at in range(0, len(long), 1000)]
        began = time.monotonic()
        with pytest.raises(errors.Error):
            conn.execute(informix_only.answer)
        assert time.monotonic() - began < 5


def test_an_unexpected_message_is_named_not_shown(informix_only: Database) -> None:
    with HostileProxy(informix_only.port) as proxy, informix_only.connect(proxy.port, autocommit=True) as conn:
        conn.execute(informix_only.answer)
        proxy.answer = lambda _: [description(12_000) + u16(12)]
        with pytest.raises(errors.OperationalError, match="SQ_DESCRIBE") as caught:
            conn.ping()
        assert len(str(caught.value)) < 300


# Rows without columns


def said(tag: str, body: bytes = b"") -> bytes:
    """A message of PostgreSQL."""
    return tag.encode() + u32(len(body) + 4) + body


NO_COLUMNS = said("1") + said("t", u16(0)) + said("n")
BINARY = said("d", b"PGCOPY\n\xff\r\n\0" + u32(0) * 2) + said("d", u16(1) + u32(4) + u32(7)) + said("d", u16(-1))
COPIED = (
    said("1")
    + said("2")
    + said("H", b"\1" + u16(1) * 2)
    + BINARY
    + said("c")
    + said("C", b"COPY 1\0")
    + said("Z", b"I")
)


@pytest.mark.parametrize("answer", [NO_COLUMNS, NO_COLUMNS + COPIED], ids=["alone", "with rows"])
def test_a_copied_query_without_columns_is_an_error(postgres: Database, answer: bytes) -> None:
    with HostileProxy(postgres.port) as proxy, postgres.connect(proxy.port, autocommit=True) as conn:
        proxy.answer = lambda _: [answer]
        with pytest.raises(errors.OperationalError, match="the server"):
            list(conn.copy_out("select 1 as n"))


@pytest.mark.parametrize("answer", [NO_COLUMNS, NO_COLUMNS + COPIED], ids=["alone", "with rows"])
async def test_a_copied_query_without_columns_on_a_loop(postgres: Database, answer: bytes) -> None:
    with HostileProxy(postgres.port) as proxy:
        async with await postgres.aconnect(proxy.port, autocommit=True) as conn:
            proxy.answer = lambda _: [answer]
            with pytest.raises(errors.OperationalError, match="the server"):
                [row async for row in await conn.copy_out("select 1 as n")]


def test_rows_without_columns_are_an_error() -> None:
    core = SimpleNamespace(tuples=None, row_maker=None)
    cursor = CursorBase[Any](SimpleNamespace(_core=core), dict_row)
    with pytest.raises(errors.OperationalError, match="without describing its columns"):
        cursor._set(SimpleNamespace(rows=[(1,)], columns=None))  # type: ignore[arg-type]
