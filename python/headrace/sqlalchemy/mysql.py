"""``mysql+headrace`` and ``mariadb+headrace``: SQLAlchemy's dialects on :mod:`headrace.mysql` and its asyncio form.

Statements go with the server's own parameters (``?``), so that a percent sign is only that, and are prepared.
"""

# The base classes are typed in part only.
# pyright: basic, reportIncompatibleMethodOverride=false, reportArgumentType=false

from __future__ import annotations

import importlib
import uuid
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import types as sqltypes
from sqlalchemy import util
from sqlalchemy.dialects.mysql import BIT, DATETIME, TIME, TIMESTAMP
from sqlalchemy.dialects.mysql.base import MySQLDialect, MySQLExecutionContext
from sqlalchemy.dialects.mysql.mariadb import INET4, INET6, MariaDBDialect
from sqlalchemy.engine import URL

import headrace.mysql
from headrace import defaults

from .._shared.loading import NO_CONVERSIONS
from . import _asyncio
from ._engines import Engines, StreamsReads, unwrapped
from ._scripts import execute
from ._spans import SpanCompiler
from ._two_phase import TwoPhase, TwoPhaseConnection
from ._values import Zoneless, clock, day, is_aware, some_of_text

# Values


class _Date(sqltypes.Date):
    def bind_processor(self, dialect: Any) -> Callable[[Any], Any]:
        return day


# As PyMySQL and mysqlclient send them.
class _DateTime(Zoneless, sqltypes.DateTime):
    pass


# Without these, casts lose the digits of a second, and a column of timestamps is not declared NULL: servers without
# explicit_defaults_for_timestamp then write the time of each change into it.
class _MyDateTime(Zoneless, DATETIME):
    pass


class _Timestamp(Zoneless, TIMESTAMP):
    pass


class _Time(Zoneless, TIME):
    pass


class _Null(Zoneless, sqltypes.NullType):
    pass


class _Bit(BIT):
    def result_processor(self, dialect: Any, coltype: Any) -> Callable[[Any], Any]:
        def process(value: Any) -> Any:
            return int(value, 2) if isinstance(value, str) else value

        return process


class _Shown:
    """Addresses are text to SQLAlchemy."""

    def result_processor(self, dialect: Any, coltype: Any) -> Callable[[Any], Any]:
        def process(value: Any) -> Any:
            return None if value is None else str(value)

        return process


class _Inet4(_Shown, INET4):
    pass


class _Inet6(_Shown, INET6):
    pass


class _Uuid(sqltypes.UUID[Any]):
    """MariaDB's UUID, which comes as one; as text from the columns that stand for it before 10.7."""

    def bind_processor(self, dialect: Any) -> Any:
        return None if dialect.supports_native_uuid else super().bind_processor(dialect)

    def result_processor(self, dialect: Any, coltype: Any) -> Callable[[Any], Any]:
        def to_uuid(value: Any) -> Any:
            return value if value is None or isinstance(value, uuid.UUID) else uuid.UUID(value)

        def to_text(value: Any) -> Any:
            return None if value is None else str(to_uuid(value))

        return to_uuid if self.as_uuid else to_text


# The engine's side


class _ExecutionContext(StreamsReads, MySQLExecutionContext):
    dialect: MySQLDialect_headrace
    _lastrowid: int | None

    def _setup_result_proxy(self) -> Any:
        # The cursor of a result without rows is closed before anybody can ask.
        self._lastrowid = self.cursor.lastrowid
        if self.cursor.description is None:
            # SELECT ... INTO: there is nothing to fetch from the cursor of a stream either.
            self._is_server_side = False
        return super()._setup_result_proxy()  # type: ignore[no-untyped-call]

    def get_lastrowid(self) -> Any:
        return self._lastrowid

    def create_server_side_cursor(self) -> Any:
        options = self.execution_options
        on_server = bool(options.get("mysql_on_server", False))
        cursor: Any = self._dbapi_connection.cursor(stream=True, on_server=on_server)
        cursor.itersize = max(int(options.get("max_row_buffer", defaults.FETCH_SIZE)), 1)
        if not on_server:
            self.dialect.streams[unwrapped(self._dbapi_connection)] = weakref.ref(cursor)
        return cursor


class MySQLDialect_headrace(TwoPhase, Engines, MySQLDialect):
    """Blocking engines: ``mysql+headrace://user@host/database``."""

    driver = "headrace"
    supports_statement_cache = True
    supports_sane_rowcount = True
    supports_sane_multi_rowcount = True
    supports_native_decimal = True
    supports_server_side_cursors = True
    default_paramstyle = "qmark"
    execution_ctx_cls = _ExecutionContext
    statement_compiler = SpanCompiler

    colspecs = util.update_copy(
        MySQLDialect.colspecs,
        {
            sqltypes.NullType: _Null,
            sqltypes.Date: _Date,
            sqltypes.DateTime: _DateTime,
            DATETIME: _MyDateTime,
            sqltypes.TIMESTAMP: _Timestamp,
            sqltypes.Time: _Time,
            BIT: _Bit,
            INET4: _Inet4,
            INET6: _Inet6,
        },
    )

    def __init__(self, paramstyle: Any = None, **keywords: Any) -> None:
        super().__init__(paramstyle=paramstyle or self.default_paramstyle, **keywords)
        self.streams: weakref.WeakKeyDictionary[Any, weakref.ref[Any]] = weakref.WeakKeyDictionary()
        """The last cursor of each connection that has occupied it for a stream."""

    def _set_mariadb(self, is_mariadb: bool | None, server_version_info: tuple[int, ...]) -> None:
        super()._set_mariadb(is_mariadb, server_version_info)
        if is_mariadb:
            # SQLAlchemy 2.1 puts in its own, for drivers that return text.
            self.colspecs = util.update_copy(self.colspecs, {sqltypes.Uuid: _Uuid})

    @classmethod
    def import_dbapi(cls) -> Any:
        return headrace.mysql

    @classmethod
    def get_async_dialect_cls(cls, url: URL) -> type[MySQLDialect]:
        return MySQLDialectAsync_headrace

    @classmethod
    def load_provisioning(cls) -> None:
        # What SQLAlchemy's own tests do with a server depends on the database, not on the driver.
        importlib.import_module("sqlalchemy.dialects.mysql.provision")

    def create_connect_args(self, url: URL) -> tuple[Sequence[str], dict[str, Any]]:
        keywords = url.translate_connect_args(username="user")
        keywords.update(NO_CONVERSIONS)
        keywords.update(url.query)
        # An UPDATE counts the rows that it found, also where it changes nothing in them.
        keywords.setdefault("client_found_rows", True)
        # SQLAlchemy reads JSON itself, by the engine's json_deserializer.
        keywords["json_text"] = True
        return (), keywords

    def do_execute(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        if some_of_text(context, (parameters,), is_aware):
            parameters = tuple(map(clock, parameters))
        execute(cursor, statement, parameters, headrace.mysql.Cursor)

    def do_executemany(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        if some_of_text(context, parameters, is_aware):
            parameters = [tuple(map(clock, row)) for row in parameters]
        cursor.executemany(statement, parameters)

    def _extract_error_code(self, exception: Any) -> int | None:
        code: int | None = exception.sqlcode
        return code

    def _detect_charset(self, connection: Any) -> str:
        return "utf8mb4"

    def is_disconnect(self, e: Any, connection: Any, cursor: Any) -> bool:
        # The names of other drivers' errors, too.
        return super().is_disconnect(e, connection, cursor) or MySQLDialect.is_disconnect(self, e, connection, cursor)

    def do_ping(self, dbapi_connection: Any) -> bool:
        if not dbapi_connection.check_alive():
            return False
        dbapi_connection.ping()
        return True

    # transactions

    def _end_stream(self, connection: Any) -> None:
        """Closes a result that is not read to its end, which occupies the connection."""
        reference = self.streams.pop(unwrapped(connection), None)
        cursor = None if reference is None else reference()
        if cursor is not None:
            cursor.close()

    def do_commit(self, dbapi_connection: Any) -> None:
        self._end_stream(dbapi_connection)
        super().do_commit(dbapi_connection)  # type: ignore[no-untyped-call]

    def do_rollback(self, dbapi_connection: Any) -> None:
        self._end_stream(dbapi_connection)
        super().do_rollback(dbapi_connection)  # type: ignore[no-untyped-call]
        if dbapi_connection.autocommit and not dbapi_connection.check_alive():
            # The pool has not learned by a round trip that it cannot be lent again.
            dbapi_connection.ping()

    def get_isolation_level_values(self, dbapi_conn: Any) -> Any:
        return ("AUTOCOMMIT", "READ COMMITTED", "READ UNCOMMITTED", "REPEATABLE READ", "SERIALIZABLE")

    def set_isolation_level(self, dbapi_connection: Any, level: Any) -> None:
        try:
            dbapi_connection.autocommit = level == "AUTOCOMMIT"
            if level != "AUTOCOMMIT":
                super().set_isolation_level(dbapi_connection, level)
        except BaseException:
            # The server may have done it, and the pool sets back only what has ended without an error: a task that is
            # cancelled here would leave the next one a session that commits each statement.
            unwrapped(dbapi_connection).close()
            raise

    def reset_isolation_level(self, dbapi_conn: Any) -> None:
        try:
            super().reset_isolation_level(dbapi_conn)  # type: ignore[no-untyped-call]
        except headrace.Error:
            # An error that is raised here, while it is returned, would cost the pool its place.
            unwrapped(dbapi_conn).close()


class _AsyncConnection(TwoPhaseConnection):
    __slots__ = ("__weakref__",)

    def cursor(self, *, stream: bool = False, on_server: bool = False) -> _asyncio.Cursor:
        """A new cursor; with ``stream`` or ``on_server`` one whose rows are received while they are fetched."""
        if not stream and not on_server:
            return _asyncio.Cursor(self._connection.cursor())
        return _asyncio.ServerCursor(self._connection.cursor(stream=stream, on_server=on_server))


class MySQLDialectAsync_headrace(_asyncio.Dialect, MySQLDialect_headrace):
    """Asyncio engines: ``create_async_engine("mysql+headrace://...")``."""

    supports_statement_cache = True

    @classmethod
    def import_dbapi(cls) -> Any:
        import headrace.aio.mysql

        return _asyncio.Module(headrace.mysql, headrace.aio.mysql.connect, _AsyncConnection)


class MariaDBDialect_headrace(MariaDBDialect, MySQLDialect_headrace):
    """Blocking engines that refuse MySQL: ``mariadb+headrace://user@host/database``."""

    supports_statement_cache = True

    @classmethod
    def get_async_dialect_cls(cls, url: URL) -> type[MySQLDialect]:
        return MariaDBDialectAsync_headrace


class MariaDBDialectAsync_headrace(MariaDBDialect, MySQLDialectAsync_headrace):
    """Asyncio engines that refuse MySQL."""

    supports_statement_cache = True


dialect = MySQLDialect_headrace
dialect_async = MySQLDialectAsync_headrace
mariadb_dialect = MariaDBDialect_headrace
mariadb_dialect_async = MariaDBDialectAsync_headrace
