"""A cursor that a connection makes without calling its class is what the class makes. A class that does it otherwise is
called."""

# Made by tools/async_to_sync.py of test_made_cursors_async.py: edit that file, and run the tool.

from __future__ import annotations

import gc
import sysconfig
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
def test_a_usual_cursor_takes_no_frame_of_python(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn:
        conn.execute(any_db.answer, timeout=20).fetchall()
        with Frames() as frames:
            cursor = conn.execute(any_db.answer, None, timeout=20)
            rows = cursor.fetchall()
            with conn.cursor() as other:
                other.execute(any_db.answer)
                one = other.fetchone()
            made = conn.cursor()
            made.close(timeout=None)
        assert (rows, one, other.closed, made.closed) == ([(42,)], (42,), True, True)
        assert frames.names == []


def test_it_is_what_its_class_makes(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn:
        made = conn.cursor()
        called = type(made)(conn, conn.row_factory)
        for name in SLOTS:
            assert getattr(made, name) == getattr(called, name), name
        assert (made.rowcount, made.lastrowid, made.rownumber, made.description) == (-1, None, None, None)
        made.mine = 42
        assert (made.mine, made.arraysize, repr(made)) == (42, called.arraysize, repr(called))
        executed = conn.execute(any_db.answer)
        called.execute(any_db.answer)
        assert executed.connection is conn
        for name in SLOTS:
            if name != "_result":
                assert getattr(executed, name) == getattr(called, name), name
        with pytest.raises(TypeError):
            conn.cursor(1, 2, 3, 4, 5)
        with pytest.raises(TypeError):
            type(conn).cursor()
        with pytest.raises(TypeError, match="sql"):
            conn.execute()
        with pytest.raises(TypeError, match="parameters"):
            conn.execute(any_db.answer, parameters=None)


def test_it_has_the_row_factory_of_its_connection(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn:
        assert conn.execute(any_db.answer).fetchone() == (42,)
        conn.row_factory = dict_row
        row = conn.execute(any_db.answer).fetchone()
        assert list(row.values()) == [42]
        assert conn.cursor().row_factory is dict_row
        cursor = conn.cursor()
        cursor.row_factory = tuple_row
        assert cursor.execute(any_db.answer).fetchall() == [(42,)]


def test_it_still_tells_of_its_statement_when_it_is_closed(any_db: Database) -> None:
    with any_db.connect() as conn:
        conn.execute("drop table if exists made_cursors")
        conn.execute("create table made_cursors (n int)")
        with conn.execute("insert into made_cursors values (1)") as cursor:
            told = cursor.rowcount, cursor.lastrowid
        assert (cursor.closed, cursor.rowcount, cursor.lastrowid, cursor.description) == (True, *told, None)
        assert told[0] == 1
        cursor.close()
        assert (cursor.rowcount, cursor.statusmessage, cursor.rownumber) == (1, None, None)
        for call in (cursor.execute, cursor.fetchall, cursor.fetchone):
            with pytest.raises(errors.InterfaceError, match="the cursor is closed"):
                call(*([any_db.answer] if call == cursor.execute else []))
        empty = conn.cursor()
        empty.close()
        assert empty.rowcount == -1
        conn.execute("drop table made_cursors")


def test_the_end_of_its_block_lets_an_exception_pass(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn:
        cursor = conn.cursor()
        with pytest.raises(ZeroDivisionError), cursor as entered:
            assert entered is cursor
            raise ZeroDivisionError
        assert cursor.closed
        cursor, closed = conn.cursor(), list[int]()

        def close() -> bool:
            closed.append(1)
            return True

        cursor.close = close
        with pytest.raises(ZeroDivisionError), cursor:
            raise ZeroDivisionError
        assert (closed, cursor.closed) == ([1], False)


def test_a_class_of_the_programs_own_is_called(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn:
        calls: list[str] = []

        class Mine(type(conn.cursor())):  # type: ignore[misc]
            def __init__(self, *args: Any) -> None:
                calls.append("init")
                super().__init__(*args)

            def execute(self, *args: Any, **named: Any) -> Any:
                calls.append("execute")
                return super().execute(*args, **named)

            def close(self, **named: Any) -> None:
                calls.append("close")
                super().close(**named)

        conn._cursor_type = Mine
        cursor = conn.execute(any_db.answer)
        with cursor:
            assert type(cursor) is Mine
            assert cursor.fetchall() == [(42,)]
        assert (calls, cursor.closed) == (["init", "execute", "close"], True)
        assert type(conn.cursor()) is Mine
        assert calls[3:] == ["init"]


@pytest.mark.parametrize("name", ["__init__", "_free", "execute"])
def test_a_method_that_was_replaced_is_called(any_db: Database, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with any_db.connect(autocommit=True) as conn:
        with conn.execute(any_db.answer) as cursor:
            kind = type(cursor)
        before, calls = getattr(kind, name), list[str]()

        def replaced(self: Any, *args: Any, **named: Any) -> Any:
            calls.append(name)
            return before(self, *args, **named)

        with monkeypatch.context() as patched:
            # In the class that has it, and in one that inherits it.
            for owner in (next(owner for owner in kind.__mro__ if name in owner.__dict__), kind):
                patched.setattr(owner, name, replaced)
                with conn.execute(any_db.answer) as cursor:
                    assert cursor.fetchall() == [(42,)]
                assert name in calls
                calls.clear()
                patched.undo()
        with conn.execute(any_db.answer) as cursor:
            assert cursor.fetchall() == [(42,)]
        assert calls == []


def test_a_class_is_looked_at_again_once_it_was_changed(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn:
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
                    with conn.execute(any_db.answer) as cursor:
                        assert (type(cursor), cursor.fetchall()) == (made, [(42,)])
                    assert type(conn.cursor()) is made
            assert calls == ["other"] * 6
            calls.clear()
            Mine.__init__ = init  # type: ignore[method-assign]
            conn._cursor_type = Mine
            for _ in range(3):
                conn.execute(any_db.answer)
                conn.cursor()
            assert calls == ["mine"] * 6
            calls.clear()
            del Mine.__init__


def test_none_is_made_in_vain(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn:
        gone: list[int] = []

        class Mine(type(conn.cursor())):  # type: ignore[misc]
            def __del__(self) -> None:
                gone.append(1)

        conn._cursor_type = Mine
        for n, factory in enumerate((tuple_row, dict_row, tuple_row, dict_row)):
            conn.row_factory = factory
            conn.execute(any_db.answer)
            gc.collect()
            assert len(gone) == n + 1


def test_a_closed_connection_makes_none(any_db: Database) -> None:
    conn = any_db.connect(autocommit=True)
    with conn:
        assert conn.execute(any_db.answer).fetchall() == [(42,)]
    with pytest.raises(errors.ConnectionClosed):
        conn.cursor()
    with pytest.raises(errors.ConnectionClosed):
        conn.execute(any_db.answer)


def test_an_error_is_the_statements_and_leaves_the_connection_as_it_was(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn:
        for _ in range(3):
            with pytest.raises(errors.DatabaseError):
                conn.execute("no statement at all")
            with pytest.raises((errors.Error, TypeError)):
                conn.execute(any_db.answer, object())
        assert conn.execute(any_db.answer).fetchall() == [(42,)]


def test_it_is_let_go_with_its_last_reference(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn:
        gc.disable()
        try:
            cursor = conn.execute(any_db.answer)
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


def test_in_a_pipeline_it_waits_for_its_result(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn:
        with conn.transaction(), conn.pipeline():
            cursors = [conn.execute(any_db.answer) for _ in range(5)]
        assert [cursor.fetchone() for cursor in cursors] == [(42,)] * 5
