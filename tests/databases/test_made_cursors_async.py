"""A cursor that a connection makes without calling its class is what the class makes. A class that does it otherwise is
called."""

from __future__ import annotations

import gc
import sysconfig
import types  # asyncio only
import weakref
from typing import Any

import pytest

from frames_of_python import Frames
from headrace import errors
from headrace._shared.cursor_base import CursorBase
from headrace.rows import dict_row, tuple_row
from servers import Database

SLOTS = [name for name in CursorBase.__slots__ if name != "__weakref__"]


@pytest.mark.skipif(bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="there are shortcuts with the lock only")
async def test_a_usual_cursor_takes_no_frame_of_python(any_db: Database) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        await (await conn.execute(any_db.answer, timeout=20)).fetchall()  # asyncio only
        # blocking: conn.execute(any_db.answer, timeout=20).fetchall()
        with Frames() as frames:
            cursor = await conn.execute(any_db.answer, None, timeout=20)
            rows = await cursor.fetchall()
            async with conn.cursor() as other:
                await other.execute(any_db.answer)
                one = await other.fetchone()
            made = conn.cursor()
            await made.close(timeout=None)
        assert (rows, one, other.closed, made.closed) == ([(42,)], (42,), True, True)
        assert frames.names == []


async def test_it_is_what_its_class_makes(any_db: Database) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        made = conn.cursor()
        called = type(made)(conn, conn.row_factory)
        for name in SLOTS:
            assert getattr(made, name) == getattr(called, name), name
        assert (made.rowcount, made.lastrowid, made.rownumber, made.description) == (-1, None, None, None)
        made.mine = 42
        assert (made.mine, made.arraysize, repr(made)) == (42, called.arraysize, repr(called))
        executed = await conn.execute(any_db.answer)
        await called.execute(any_db.answer)
        assert executed.connection is conn
        for name in SLOTS:
            if name != "_result":
                assert getattr(executed, name) == getattr(called, name), name
        with pytest.raises(TypeError):
            conn.cursor(1, 2, 3, 4, 5)
        with pytest.raises(TypeError):
            type(conn).cursor()
        with pytest.raises(TypeError, match="sql"):
            await conn.execute()
        with pytest.raises(TypeError, match="parameters"):
            await conn.execute(any_db.answer, parameters=None)


async def test_it_has_the_row_factory_of_its_connection(any_db: Database) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        assert await (await conn.execute(any_db.answer)).fetchone() == (42,)
        conn.row_factory = dict_row
        row = await (await conn.execute(any_db.answer)).fetchone()
        assert list(row.values()) == [42]
        assert conn.cursor().row_factory is dict_row
        cursor = conn.cursor()
        cursor.row_factory = tuple_row
        assert await (await cursor.execute(any_db.answer)).fetchall() == [(42,)]


async def test_it_still_tells_of_its_statement_when_it_is_closed(any_db: Database) -> None:
    async with await any_db.aconnect() as conn:
        await conn.execute("drop table if exists made_cursors")
        await conn.execute("create table made_cursors (n int)")
        async with await conn.execute("insert into made_cursors values (1)") as cursor:
            told = cursor.rowcount, cursor.lastrowid
        assert (cursor.closed, cursor.rowcount, cursor.lastrowid, cursor.description) == (True, *told, None)
        assert told[0] == 1
        await cursor.close()
        assert (cursor.rowcount, cursor.statusmessage, cursor.rownumber) == (1, None, None)
        for call in (cursor.execute, cursor.fetchall, cursor.fetchone):
            with pytest.raises(errors.InterfaceError, match="the cursor is closed"):
                await call(*([any_db.answer] if call == cursor.execute else []))
        empty = conn.cursor()
        await empty.close()
        assert empty.rowcount == -1
        await conn.execute("drop table made_cursors")


async def test_the_end_of_its_block_lets_an_exception_pass(any_db: Database) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        cursor = conn.cursor()
        with pytest.raises(ZeroDivisionError):
            async with cursor as entered:
                assert entered is cursor
                raise ZeroDivisionError
        assert cursor.closed
        cursor, closed = conn.cursor(), list[int]()

        async def close() -> bool:
            closed.append(1)
            return True

        cursor.close = close
        with pytest.raises(ZeroDivisionError):
            async with cursor:
                raise ZeroDivisionError
        assert (closed, cursor.closed) == ([1], False)


async def test_a_class_of_the_programs_own_is_called(any_db: Database) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        calls: list[str] = []

        class Mine(type(conn.cursor())):  # type: ignore[misc]
            def __init__(self, *args: Any) -> None:
                calls.append("init")
                super().__init__(*args)

            async def execute(self, *args: Any, **named: Any) -> Any:
                calls.append("execute")
                return await super().execute(*args, **named)

            async def close(self, **named: Any) -> None:
                calls.append("close")
                await super().close(**named)

        conn._cursor_type = Mine
        cursor = await conn.execute(any_db.answer)
        async with cursor:
            assert type(cursor) is Mine
            assert await cursor.fetchall() == [(42,)]
        assert (calls, cursor.closed) == (["init", "execute", "close"], True)
        assert type(conn.cursor()) is Mine
        assert calls[3:] == ["init"]


@pytest.mark.parametrize("name", ["__init__", "_free", "execute"])
async def test_a_method_that_was_replaced_is_called(
    any_db: Database, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        async with await conn.execute(any_db.answer) as cursor:
            kind = type(cursor)
        before, calls = getattr(kind, name), list[str]()

        def replaced(self: Any, *args: Any, **named: Any) -> Any:
            calls.append(name)
            return before(self, *args, **named)

        with monkeypatch.context() as patched:
            # In the class that has it, and in one that inherits it.
            for owner in (next(owner for owner in kind.__mro__ if name in owner.__dict__), kind):
                patched.setattr(owner, name, replaced)
                async with await conn.execute(any_db.answer) as cursor:
                    assert await cursor.fetchall() == [(42,)]
                assert name in calls
                calls.clear()
                patched.undo()
        async with await conn.execute(any_db.answer) as cursor:
            assert await cursor.fetchall() == [(42,)]
        assert calls == []


async def test_a_class_is_looked_at_again_once_it_was_changed(any_db: Database) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        kind, calls = type(conn.cursor()), list[str]()

        class Mine(kind):  # type: ignore[misc, valid-type]
            pass

        class Other(kind):  # type: ignore[misc, valid-type]
            def __init__(self, *args: Any) -> None:
                calls.append("other")
                super().__init__(*args)

        def init(self: Any, *args: Any) -> None:
            calls.append("mine")
            kind.__init__(self, *args)

        for _ in range(3):
            for _ in range(3):
                for made in (Mine, Other):
                    conn._cursor_type = made
                    async with await conn.execute(any_db.answer) as cursor:
                        assert (type(cursor), await cursor.fetchall()) == (made, [(42,)])
                    assert type(conn.cursor()) is made
            assert calls == ["other"] * 6
            calls.clear()
            Mine.__init__ = init  # type: ignore[method-assign]
            conn._cursor_type = Mine
            for _ in range(3):
                await conn.execute(any_db.answer)
                conn.cursor()
            assert calls == ["mine"] * 6
            calls.clear()
            del Mine.__init__


async def test_none_is_made_in_vain(any_db: Database) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        gone: list[int] = []

        class Mine(type(conn.cursor())):  # type: ignore[misc]
            def __del__(self) -> None:
                gone.append(1)

        conn._cursor_type = Mine
        for n, factory in enumerate((tuple_row, dict_row, tuple_row, dict_row)):
            conn.row_factory = factory
            await conn.execute(any_db.answer)
            gc.collect()
            assert len(gone) == n + 1


async def test_a_generator_that_may_be_awaited_does_for_its_methods(any_db: Database) -> None:  # asyncio only
    async with await any_db.aconnect(autocommit=True) as conn:
        calls: list[str] = []

        class Mine(type(conn.cursor())):  # type: ignore[misc]
            @types.coroutine
            def execute(self, *args: Any, **named: Any) -> Any:
                calls.append("execute")
                return (yield from super().execute(*args, **named).__await__())

            @types.coroutine
            def close(self) -> Any:
                calls.append("close")
                yield from super().close().__await__()

        conn._cursor_type = Mine
        async with await conn.execute(any_db.answer) as cursor:
            assert await cursor.fetchall() == [(42,)]
        assert (calls, cursor.closed) == (["execute", "close"], True)

        def close() -> Any:
            yield

        cursor = conn.cursor()
        cursor.close = close
        with pytest.raises(TypeError, match="await"):
            async with cursor:
                pass


async def test_a_closed_connection_makes_none(any_db: Database) -> None:
    conn = await any_db.aconnect(autocommit=True)
    async with conn:
        assert await (await conn.execute(any_db.answer)).fetchall() == [(42,)]
    with pytest.raises(errors.ConnectionClosed):
        conn.cursor()
    with pytest.raises(errors.ConnectionClosed):
        await conn.execute(any_db.answer)


async def test_an_error_is_the_statements_and_leaves_the_connection_as_it_was(any_db: Database) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        for _ in range(3):
            with pytest.raises(errors.DatabaseError):
                await conn.execute("no statement at all")
            with pytest.raises((errors.Error, TypeError)):
                await conn.execute(any_db.answer, object())
        assert await (await conn.execute(any_db.answer)).fetchall() == [(42,)]


async def test_it_is_let_go_with_its_last_reference(any_db: Database) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        gc.disable()
        try:
            cursor = await conn.execute(any_db.answer)
            gone = weakref.ref(cursor)
            del cursor
            assert gone() is None
        finally:
            gc.enable()
        cursor = conn.cursor()
        cursor.mine = [cursor]
        gone = weakref.ref(cursor)
        del cursor
        gc.collect()
        assert gone() is None


async def test_in_a_pipeline_it_waits_for_its_result(any_db: Database) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        async with conn.transaction(), conn.pipeline():
            cursors = [await conn.execute(any_db.answer) for _ in range(5)]
        assert [await cursor.fetchone() for cursor in cursors] == [(42,)] * 5
