"""What a cursor does without a frame of Python in the usual case is what its methods do in every case."""

from __future__ import annotations

import contextlib
import copy
import cProfile
import gc
import inspect
import pstats
import sysconfig
import threading
import weakref
from typing import Any

import pytest

from frames_of_python import Frames
from headrace import errors
from headrace.rows import dict_row
from servers import Database


@pytest.mark.skipif(bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="there are shortcuts with the lock only")
def test_usual_statement_takes_no_frame_of_python(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn, conn.cursor() as cursor:
        cursor.execute(any_db.answer).fetchall()
        with Frames() as frames:
            rows = cursor.execute(any_db.answer).fetchall()
            cursor.execute(any_db.answer, None, timeout=20)
            one = cursor.fetchone()
        assert (rows, one, frames.names) == ([(42,)], (42,), [])
        assert list(cursor.execute(any_db.answer)) == [(42,)]


def test_profiler_sees_the_calls(any_db: Database) -> None:
    profile = cProfile.Profile()
    with any_db.connect(autocommit=True) as conn, conn.cursor() as cursor:
        with profile:
            for _ in range(3):
                cursor.execute(any_db.answer)
                cursor.fetchone()
        assert cursor.execute(any_db.answer).fetchall() == [(42,)]
    calls = {name: found[1] for (_, _, name), found in pstats.Stats(profile).stats.items()}  # type: ignore[attr-defined]
    assert (calls["execute"], calls["fetchone"]) == (3, 3)


def test_shortcut_looks_like_its_method(any_db: Database) -> None:
    with any_db.connect() as conn, conn.cursor() as cursor:
        kind = type(cursor)
        assert list(inspect.signature(kind.execute).parameters) == ["self", "sql", "params", "timeout"]
        assert list(inspect.signature(cursor.fetchall).parameters) == ["timeout"]
        assert kind.fetchone.__name__ == "fetchone"
        assert (kind.execute.__doc__ or "").startswith("Executes one statement.")
        assert kind.execute(cursor, any_db.answer) is cursor
        with pytest.raises(TypeError, match="sql"):
            cursor.execute()
        with pytest.raises(TypeError, match="parameters"):
            cursor.execute(any_db.answer, parameters=None)
        with pytest.raises(TypeError):
            cursor.fetchall(1)
        with pytest.raises((TypeError, AttributeError)):
            kind.execute(42, any_db.answer)
        assert kind.fetchall(cursor) == [(42,)]


def test_subclass_calls_a_shortcut_as_its_method(any_db: Database) -> None:
    with any_db.connect() as conn:

        class Counting(type(conn.cursor())):  # type: ignore[misc]
            executed = 0

            def execute(self, *args: Any, **named: Any) -> Any:
                self.executed += 1
                return super().execute(*args, **named)

            def fetchall(self, **named: Any) -> Any:
                return [*super().fetchall(**named), "more"]

        cursor = Counting(conn, conn.row_factory)
        assert cursor.execute(any_db.answer).fetchall() == [(42,), "more"]
        assert cursor.executed == 1


def test_what_a_statement_leaves_is_of_that_statement(any_db: Database) -> None:
    with any_db.connect() as conn, conn.cursor() as cursor:
        cursor.execute(any_db.answer)
        assert cursor.rownumber == 0
        assert cursor.fetchone() == (42,)
        assert cursor.rownumber == 1
        assert cursor.fetchall() == []
        cursor.execute(any_db.answer)
        assert (cursor.fetchall(), cursor.fetchall(), cursor.fetchone(), cursor.rownumber) == ([(42,)], [], None, 1)
        with pytest.raises(errors.ProgrammingError, match="the rows themselves"):
            cursor.scroll(0, "absolute")
        with pytest.raises(errors.DatabaseError):
            cursor.execute("no statement at all")
        with pytest.raises(errors.ProgrammingError, match="nothing was executed"):
            cursor.fetchall()
        with pytest.raises(errors.ProgrammingError, match="nothing was executed"):
            cursor.fetchone()
        conn.rollback()
        assert cursor.description is None
        assert cursor.execute(any_db.answer).description is not None
        assert copy.copy(cursor).fetchall() == [(42,)]
        cursor.close()
        with pytest.raises(errors.InterfaceError, match="the cursor is closed"):
            cursor.execute(any_db.answer)
        with pytest.raises(errors.InterfaceError, match="the cursor is closed"):
            cursor.fetchall()


def test_row_factory_and_pipeline_are_not_the_usual_case(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn:
        (row,) = conn.cursor(row_factory=dict_row).execute(any_db.answer).fetchall()
        assert list(row.values()) == [42]
        with conn.pipeline():
            cursor = conn.cursor()
            cursor.execute(any_db.answer)
            assert cursor._pending is not None
            assert cursor.fetchall() == [(42,)]


class Reading:
    """An object that uses a cursor when it is freed."""

    def __init__(self, cursor: Any, sql: str, seen: list[Any]) -> None:
        self.of = cursor, sql, seen

    def __del__(self) -> None:
        cursor, sql, seen = self.of
        seen.append(cursor.execute(sql).fetchall())


def test_cursor_may_be_used_by_what_its_last_rows_free(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn, conn.cursor() as cursor:
        seen: list[Any] = []
        cursor.execute(any_db.answer)
        rows = cursor._rows
        assert rows is not None
        rows.append(Reading(cursor, any_db.answer, seen))
        del rows
        assert cursor.execute(any_db.answer).fetchall() == [(42,)]
        assert seen == [[(42,)]]


def test_cursor_in_a_cycle_is_collected(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn:
        cursor = conn.cursor()
        cursor.execute(any_db.answer)
        cursor.mine = [cursor]
        gone = weakref.ref(cursor)
        del cursor
        gc.collect()
        assert gone() is None


def test_error_leaves_no_cycle(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn:
        cursor = conn.cursor()
        gone = weakref.ref(cursor)
        gc.disable()
        try:
            with contextlib.suppress(errors.DatabaseError):
                cursor.execute("no statement at all")
            del cursor
            assert gone() is None
        finally:
            gc.enable()


def test_iteration_ends_where_a_subclass_fetches_its_own_way(any_db: Database) -> None:
    with any_db.connect() as conn:

        class Manys(type(conn.cursor())):  # type: ignore[misc]
            def fetchone(self, **named: Any) -> Any:
                rows = self.fetchmany(1)
                return rows[0] if rows else None

        assert list(Manys(conn, conn.row_factory).execute(any_db.answer)) == [(42,)]


def test_method_is_referred_to_weakly(any_db: Database) -> None:
    with any_db.connect() as conn, conn.cursor() as cursor:
        method = weakref.WeakMethod(cursor.execute(any_db.answer).fetchall)()
        assert method is not None
        assert method() == [(42,)]
        with pytest.raises(TypeError):
            type(type(cursor).execute)()


def test_error_of_a_thread_is_raised_in_it(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn:
        raised: list[BaseException] = []

        def work() -> None:
            for _ in range(20):
                try:
                    conn.cursor().execute("no statement at all")
                except errors.DatabaseError as error:
                    raised.append(error)

        workers = [threading.Thread(target=work) for _ in range(3)]
        for worker in workers:
            worker.start()
        for _ in range(60):
            assert conn.cursor().execute(any_db.answer).fetchall() == [(42,)]
        for worker in workers:
            worker.join()
        assert len(raised) == 60
