"""What the engines of several databases do alike with a connection."""

# pyright: basic, reportIncompatibleMethodOverride=false

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any, ClassVar

from sqlalchemy.dialects import registry
from sqlalchemy.engine.cursor import CursorFetchStrategy
from sqlalchemy.engine.interfaces import ExecuteStyle
from sqlalchemy.sql.elements import ReleaseSavepointClause, RollbackToSavepointClause, SavepointClause

import headrace

from ._values import clock, is_aware, some_of_text

_SAVEPOINTS = (SavepointClause, RollbackToSavepointClause, ReleaseSavepointClause)


def unwrapped(connection: Any) -> Any:
    """The driver's connection, which the pool wraps."""
    return getattr(connection, "dbapi_connection", connection)


def register(name: str, module: str) -> None:
    """Makes a dialect that of its database's name, whose options tables then have, where no other one is installed."""
    if not entry_points(group="sqlalchemy.dialects", name=name):
        registry.register(name, module, "dialect")


class Engines:
    """A base before SQLAlchemy's own."""

    def retrieve_dbapi_version(self, dbapi: Any) -> Any:
        return tuple(map(int, headrace.__version__.split(".")[:3]))

    def is_disconnect(self, e: BaseException, connection: Any, cursor: Any) -> bool:
        if isinstance(e, headrace.errors.ConnectionClosed):
            return True
        return isinstance(e, headrace.Error) and connection is not None and bool(connection.closed)

    def detect_autocommit_setting(self, dbapi_conn: Any) -> bool:
        return bool(dbapi_conn.autocommit)


class StreamsReads:
    """A base of execution contexts, before SQLAlchemy's own."""

    def create_cursor(self) -> Any:
        context: Any = self
        statement = getattr(context.compiled, "statement", None)
        has_no_rows = context.isddl or isinstance(statement, _SAVEPOINTS)
        writes = context.isinsert or context.isupdate or context.isdelete or has_no_rows
        if writes or context.execute_style is ExecuteStyle.EXECUTEMANY:
            # ``stream_results`` may be an option of the whole connection. A cursor that streams has no batches, and
            # PostgreSQL and Informix declare one for queries only, not for what an INSERT returns.
            if has_no_rows:
                # Otherwise the option has a row fetched, of which there is none.
                context.cursor_fetch_strategy = CursorFetchStrategy()
            return context.create_default_cursor()
        return super().create_cursor()  # type: ignore[misc]


class QuestionMarks(Engines):
    """Those whose parameters are ``?``."""

    @staticmethod
    def of_text(value: Any) -> Any:
        """What is sent for a time with a zone in a text, whose columns are unknown: its clock, unless the database has
        zones."""
        return clock(value)

    def do_executemany(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        if some_of_text(context, parameters, is_aware):
            parameters = [tuple(map(self.of_text, row)) for row in parameters]
        cursor.executemany(statement, parameters)

    def do_execute(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        if some_of_text(context, (parameters,), is_aware):
            parameters = tuple(map(self.of_text, parameters))
        # Without parameters a question mark means none.
        cursor.execute(statement, parameters or None)

    def do_ping(self, dbapi_connection: Any) -> bool:
        if not dbapi_connection.check_alive():
            return False
        dbapi_connection.ping()
        return True

    @classmethod
    def load_provisioning(cls) -> None:
        # Those who run SQLAlchemy's tests have their own.
        pass


class Levels:
    """The isolation levels of a database that the driver sets by names of its own."""

    LEVELS: ClassVar[dict[str, str]]
    """The driver's names, by those of SQLAlchemy."""

    def get_isolation_level_values(self, dbapi_conn: Any) -> Any:
        return ("AUTOCOMMIT", *self.LEVELS)

    def set_isolation_level(self, dbapi_connection: Any, level: str) -> None:
        try:
            dbapi_connection.autocommit = level == "AUTOCOMMIT"
            if level != "AUTOCOMMIT":
                dbapi_connection.isolation_level = self.LEVELS[level]
        except BaseException:
            # The pool sets back only what has ended without an error, and not what a task has that is cancelled here.
            unwrapped(dbapi_connection).close()
            raise

    def reset_isolation_level(self, dbapi_conn: Any) -> None:
        try:
            super().reset_isolation_level(dbapi_conn)  # type: ignore[misc]
        except headrace.Error:
            # An error that is raised here, while it is returned, would cost the pool its place.
            unwrapped(dbapi_conn).close()

    def get_isolation_level(self, dbapi_connection: Any) -> Any:
        level = dbapi_connection.isolation_level
        if level is None:
            return self.level_unasked(dbapi_connection)
        return next((name for name, own in self.LEVELS.items() if own == level), level.upper())

    def level_unasked(self, dbapi_connection: Any) -> str:
        """The level of a session that has set none."""
        raise NotImplementedError
