"""``postgresql+headrace``: SQLAlchemy's dialect of PostgreSQL on :mod:`headrace.postgres` and its asyncio form.

Statements go with the server's own parameters (``$1``), whose types are casts in the text: the server decides them, so
that a statement is prepared once, whatever values come.
"""

# The base classes are typed in part only.
# pyright: basic, reportIncompatibleMethodOverride=false, reportArgumentType=false

from __future__ import annotations

import datetime
import decimal
import enum
import importlib
import itertools
import logging
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import exc, util
from sqlalchemy import types as sqltypes
from sqlalchemy.dialects.postgresql import (
    BIT,
    BYTEA,
    CITEXT,
    ENUM,
    INTERVAL,
    JSON,
    JSONB,
    OID,
    REGCLASS,
    REGCONFIG,
    ranges,
)
from sqlalchemy.dialects.postgresql.array import ARRAY
from sqlalchemy.dialects.postgresql.base import PGCompiler, PGDialect, PGExecutionContext
from sqlalchemy.dialects.postgresql.json import JSONPathType
from sqlalchemy.dialects.postgresql.pg_catalog import INT2VECTOR, OIDVECTOR
from sqlalchemy.engine import URL, processors

import headrace.postgres
from headrace._shared.arguments import TimedRow, TimedRows
from headrace._shared.loading import NO_CONVERSIONS
from headrace.types import Multirange, Notice, Range, TransactionStatus

from . import _asyncio
from ._engines import Engines, StreamsReads, unwrapped
from ._scripts import execute
from ._two_phase import TwoPhase, TwoPhaseConnection
from ._valued import is_compound, valued_row, valued_text
from ._values import day, is_aware, is_time, some_of_text

logger = logging.getLogger("sqlalchemy.dialects.postgresql")

# Numbers of pg_type; a TypeCode equals its number.
_FLOATS = (700, 701, 1021, 1022)
_EXACT = (1700, 1231, 20, 21, 23, 26, 1005, 1007, 1016, 1028)
_JSON_TYPES = (114, 3802)
_INET_TYPES = (869, 650)

# What statements report of their parameters


class _Text:
    """Members of an enumeration are their names and bytes are the server's text of them, as with psycopg."""

    def bind_processor(self, dialect: Any) -> Callable[[Any], Any]:
        return _text


class _String(_Text, sqltypes.String):
    render_bind_cast = True


class _Char(_Text, sqltypes.CHAR):
    render_bind_cast = True


class _CiText(_Text, CITEXT):
    pass


class _LargeBinary(BYTEA):
    render_bind_cast = True

    def bind_processor(self, dialect: Any) -> Callable[[Any], Any]:
        def process(value: Any) -> Any:
            if value is None or isinstance(value, (bytes, bytearray, memoryview)):
                return value
            # bytes() makes so many zeros of a number.
            return bytes(memoryview(value))

        return process


class _Boolean(sqltypes.Boolean):
    render_bind_cast = True


class _Integer(sqltypes.Integer):
    render_bind_cast = True


class _SmallInteger(sqltypes.SmallInteger):
    render_bind_cast = True


class _BigInteger(sqltypes.BigInteger):
    render_bind_cast = True


class _Processed(threading.local):
    """What the processors of this thread's parameters have seen since it was set."""

    other_time = False
    of_no_column = False


_processed = _Processed()


class _Timed:
    """A date or time that is not of its column's type, with a zone or without one, goes as the type that it is of: the
    server converts it, by the time zone of the session, as it does what psycopg sends."""

    render_bind_cast = True
    timezone: bool

    def bind_processor(self, dialect: Any) -> Callable[[Any], Any]:
        def aware(value: Any) -> Any:
            if value is not None and not isinstance(value, str) and not is_aware(value):
                _processed.other_time = True
            return value

        def naive(value: Any) -> Any:
            if is_aware(value):
                _processed.other_time = True
            return value

        return aware if self.timezone else naive


class _Null(sqltypes.NullType):
    """No column is known, as in a text: the values have the types of their own, as psycopg sends them. The server could
    tell none in ``SELECT :a + :b``, and takes numbers for texts in ``greatest(:a, :b)``; it does choose those of
    mappings and lists. Members of an enumeration are their names, which SQLAlchemy's ``Enum`` stores."""

    def bind_processor(self, dialect: Any) -> Callable[[Any], Any]:
        def process(value: Any) -> Any:
            if value is None or type(value) is str:
                return value
            if is_time(value):
                _processed.other_time = True
            if not is_compound(value):
                _processed.of_no_column = True
            return _named(value)

        return process


class _DateTime(_Timed, sqltypes.DateTime):
    pass


class _Time(_Timed, sqltypes.Time):
    def bind_processor(self, dialect: Any) -> Callable[[Any], Any]:
        process = super().bind_processor(dialect)

        def of_day(value: Any) -> Any:
            if isinstance(value, datetime.datetime):
                _processed.other_time = True
            return process(value)

        return of_day


class _Date(sqltypes.Date):
    render_bind_cast = True

    def bind_processor(self, dialect: Any) -> Callable[[Any], Any]:
        def process(value: Any) -> Any:
            if is_aware(value):
                _processed.other_time = True
                return value
            return day(value)

        return process


class _Interval(INTERVAL):
    render_bind_cast = True

    @classmethod
    def adapt_emulated_to_native(cls, interval: Any, **kw: Any) -> _Interval:  # type: ignore[override]
        return _Interval(precision=interval.second_precision)


class _Enum(ENUM):
    render_bind_cast = True


class _Array(ARRAY[Any]):
    render_bind_cast = True


class _Bit(BIT):
    render_bind_cast = True


class _Oid(OID):
    render_bind_cast = True


class _RegClass(REGCLASS):
    render_bind_cast = True


class _RegConfig(REGCONFIG):
    render_bind_cast = True


class _Decided:
    """Numbers come as what the column is; a type asks for a Decimal or a float."""

    render_bind_cast = True
    asdecimal: bool
    _effective_decimal_return_scale: int

    def bind_processor(self, dialect: Any) -> None:
        return None

    def result_processor(self, dialect: Any, coltype: Any) -> Callable[[Any], Any] | None:
        if coltype not in _FLOATS and coltype not in _EXACT:
            raise exc.InvalidRequestError(f"the column has the type {coltype}, which is not one of numbers")
        if not self.asdecimal:
            return None if coltype in _FLOATS else processors.to_float
        if coltype in _FLOATS:
            return processors.to_decimal_processor_factory(decimal.Decimal, self._effective_decimal_return_scale)
        return None


class _Numeric(_Decided, sqltypes.Numeric[Any]):
    pass


class _Float(_Decided, sqltypes.Float[Any]):
    pass


class _NativeJson:
    """Serialised by SQLAlchemy, read by the driver (or by the engine's ``json_deserializer``, which it calls)."""

    def result_processor(self, dialect: Any, coltype: Any) -> None:
        return None


class _Json(_NativeJson, JSON):
    pass


class _Jsonb(_NativeJson, JSONB):
    pass


class _JsonIntIndex(sqltypes.JSON.JSONIntIndexType):
    __visit_name__ = "json_int_index"
    render_bind_cast = True


class _JsonStrIndex(sqltypes.JSON.JSONStrIndexType):
    __visit_name__ = "json_str_index"
    render_bind_cast = True


class _JsonPath(JSONPathType):
    pass


class _Vector:
    """``int2vector`` and ``oidvector`` come as lists."""

    def result_processor(self, dialect: Any, coltype: Any) -> None:
        return None


class _Int2Vector(_Vector, INT2VECTOR):
    cache_ok = True


class _OidVector(_Vector, OIDVECTOR):
    cache_ok = True


def _range_to_driver(value: Any) -> Any:
    if isinstance(value, ranges.Range):
        return Range(value.lower, value.upper, value.bounds, empty=value.empty)
    return value


def _range_from_driver(value: Any) -> Any:
    if value is None:
        return None
    return ranges.Range(value.lower, value.upper, bounds="[)" if value.isempty else value.bounds, empty=value.isempty)


class _Range(ranges.AbstractSingleRangeImpl[Any]):
    def bind_processor(self, dialect: Any) -> Callable[[Any], Any]:
        return _range_to_driver

    def result_processor(self, dialect: Any, coltype: Any) -> Callable[[Any], Any]:
        return _range_from_driver


class _Multirange(ranges.AbstractMultiRangeImpl[Any]):
    def bind_processor(self, dialect: Any) -> Callable[[Any], Any]:
        def process(value: Any) -> Any:
            if value is None or isinstance(value, (str, Multirange)):
                return value
            return Multirange(map(_range_to_driver, value))

        return process

    def result_processor(self, dialect: Any, coltype: Any) -> Callable[[Any], Any]:
        def process(value: Any) -> Any:
            return None if value is None else ranges.MultiRange(map(_range_from_driver, value))

        return process


# The engine's side

_cursor_numbers = itertools.count(1)


class _Schemas:
    """The changes of the schema that an engine makes: PostgreSQL does not report to a connection what another one has
    changed, and in a transaction a statement that was prepared before is an error, "cached plan must not change result
    type"."""

    def __init__(self) -> None:
        self._changes = 0
        # Of each connection, how many it has registered.
        self._known: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def note_change(self) -> None:
        """A connection of the engine has changed the schema, and has it locked until its transaction ends."""
        self._changes += 1

    def forget_before(self, connection: Any) -> None:
        """Has a connection of the driver prepare its statements again, if the schema was changed since."""
        # Most programs change none.
        if (changes := self._changes) and self._known.get(connection, 0) < changes:
            self._known[connection] = changes
            connection._core.wire.forget_statements()


class _Compiler(PGCompiler):
    def render_bind_cast(self, type_: Any, dbapi_type: Any, sqltext: str) -> str:
        """A number is cast without the precision of its column, which would round it: ``price * 1.0825``, say."""
        if isinstance(dbapi_type, _Decided):
            dbapi_type = sqltypes.FLOAT() if isinstance(dbapi_type, _Float) else sqltypes.NUMERIC()
        elif isinstance(dbapi_type, _Interval) and isinstance(type_, sqltypes.Interval):
            dbapi_type = INTERVAL()
        text: str = super().render_bind_cast(type_, dbapi_type, sqltext)  # type: ignore[no-untyped-call]
        return text


class _ExecutionContext(StreamsReads, PGExecutionContext):
    dialect: PGDialect_headrace
    types_times = False
    """A date or time of the parameters is not of its column's type."""
    types_values = False
    """The parameters have the types of their values: no column is known of any of them."""

    @classmethod
    def _init_compiled(cls, *args: Any, **keywords: Any) -> Any:
        # The default of a column may be a statement, which is executed in here and has parameters of its own. Nothing
        # waits between the processors of the parameters, which are called after that, and the end.
        before = _processed.other_time, _processed.of_no_column
        _processed.other_time = _processed.of_no_column = False
        try:
            self: Any = super()._init_compiled(*args, **keywords)
            self.types_times = _processed.other_time
            # By its value a float would be rounded for a NUMERIC, and one with a fraction stored as an INTEGER.
            self.types_values = _processed.of_no_column and self._knows_no_column()
        finally:
            _processed.other_time, _processed.of_no_column = before
        return self

    def _knows_no_column(self) -> bool:
        compiled: Any = self.compiled
        kinds = (bind.type._unwrapped_dialect_impl(self.dialect) for bind in compiled.binds.values())
        return all(isinstance(kind, _Null) for kind in kinds)

    def pre_exec(self) -> None:
        self.dialect.schemas.forget_before(self._dbapi_connection.driver_connection)

    def post_exec(self) -> None:
        if self.isddl:
            self.dialect.schemas.note_change()

    def create_server_side_cursor(self) -> Any:
        connection = self._dbapi_connection
        # Where every statement is a transaction of its own only a cursor WITH HOLD lives longer than its DECLARE.
        return connection.cursor(f"headrace_{next(_cursor_numbers)}", withhold=connection.autocommit)


def _named(value: Any) -> Any:
    """The name of a member of an enumeration, unless it is a value by itself, such as text, a number or a date, or
    several flags; of a list those of its items."""
    if isinstance(value, list):
        return list(map(_named, value))
    of_members = getattr(type(value), "_member_type_", object)
    if isinstance(value, enum.Enum) and of_members is object and not isinstance(value, enum.Flag):
        return value.name
    return value


def _text(value: Any) -> Any:
    """What is sent for a column of text."""
    if type(value) is str:
        return value
    return f"\\x{bytes(value).hex()}" if isinstance(value, (bytes, bytearray, memoryview)) else _named(value)


def _types_times(context: Any, rows: Sequence[Any]) -> bool:
    """True if the dates and times of these rows have the types of their values: one of them is not of its column's
    type, or the statement is a text, of which no column is known."""
    return (context is not None and context.types_times) or some_of_text(context, rows, is_time)


def _valued(context: Any, statement: str, parameters: Any) -> str | None:
    """The statement whose parameters have the types of their values, if they are to have them."""
    if context is None or not context.types_values:
        return None
    return valued_text(statement, len(parameters))


def _log_notice(notice: Notice) -> None:
    logger.info("%s: %s", notice.severity, notice.message)


class PGDialect_headrace(TwoPhase, Engines, PGDialect):
    """Blocking engines: ``postgresql+headrace://user@host/database``."""

    driver = "headrace"
    supports_statement_cache = True
    supports_server_side_cursors = True
    supports_sane_multi_rowcount = True
    supports_native_json_serialization = False
    supports_native_json_deserialization = True
    dialect_injects_custom_json_deserializer = True
    default_paramstyle = "numeric_dollar"
    execution_ctx_cls = _ExecutionContext
    statement_compiler = _Compiler

    colspecs = util.update_copy(
        PGDialect.colspecs,
        {
            sqltypes.String: _String,
            sqltypes.CHAR: _Char,
            sqltypes.LargeBinary: _LargeBinary,
            sqltypes.Boolean: _Boolean,
            sqltypes.Integer: _Integer,
            sqltypes.SmallInteger: _SmallInteger,
            sqltypes.BigInteger: _BigInteger,
            sqltypes.Numeric: _Numeric,
            sqltypes.Float: _Float,
            sqltypes.NullType: _Null,
            sqltypes.Date: _Date,
            sqltypes.DateTime: _DateTime,
            sqltypes.Time: _Time,
            sqltypes.Interval: _Interval,
            INTERVAL: _Interval,
            sqltypes.Enum: _Enum,
            sqltypes.ARRAY: _Array,
            sqltypes.JSON: _Json,
            JSON: _Json,
            JSONB: _Jsonb,
            sqltypes.JSON.JSONPathType: _JsonPath,
            sqltypes.JSON.JSONIntIndexType: _JsonIntIndex,
            sqltypes.JSON.JSONStrIndexType: _JsonStrIndex,
            ranges.AbstractSingleRange: _Range,
            ranges.AbstractMultiRange: _Multirange,
            BIT: _Bit,
            CITEXT: _CiText,
            INT2VECTOR: _Int2Vector,
            OIDVECTOR: _OidVector,
            OID: _Oid,
            REGCLASS: _RegClass,
            REGCONFIG: _RegConfig,
        },
    )

    def __init__(self, paramstyle: Any = None, **keywords: Any) -> None:
        # The module's own is %s, whose types depend on the values.
        super().__init__(  # type: ignore[no-untyped-call]
            paramstyle=paramstyle or self.default_paramstyle, **keywords
        )
        self.schemas = _Schemas()

    @classmethod
    def import_dbapi(cls) -> Any:
        return headrace.postgres

    @classmethod
    def get_async_dialect_cls(cls, url: URL) -> type[PGDialectAsync_headrace]:
        return PGDialectAsync_headrace

    @classmethod
    def load_provisioning(cls) -> None:
        # What SQLAlchemy's own tests do with a server depends on the database, not on the driver.
        importlib.import_module("sqlalchemy.dialects.postgresql.provision")

    def create_connect_args(self, url: URL) -> tuple[Sequence[str], dict[str, Any]]:
        keywords = url.translate_connect_args(username="user", database="dbname")
        hosts, ports = self._split_multihost_from_url(url)
        # SQLAlchemy's HSTORE and the types of pgvector and GeoAlchemy read text.
        keywords["extension_types"] = "text"
        keywords.update(NO_CONVERSIONS)
        keywords.update(url.query)
        if hosts:
            keywords["host"] = ",".join(host or "" for host in hosts)
            if ports and any(ports):
                keywords["port"] = ",".join(str(port or "") for port in ports)
        return (), keywords

    def on_connect(self) -> Callable[[Any], None]:
        loaders: dict[int, Callable[[bytes], Any]] = {}
        if self._json_deserializer is not None:
            deserialize = self._json_deserializer
            loaders.update(dict.fromkeys(_JSON_TYPES, lambda data: deserialize(data.decode())))
        if self._native_inet_types is False:
            loaders.update(dict.fromkeys(_INET_TYPES, bytes.decode))

        def connected(connection: Any) -> None:
            connection.add_notice_handler(_log_notice)
            if loaders:
                connection.register_adapters(loaders=loaders)

        return connected

    def do_execute(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        if isinstance(parameters, tuple):
            if text := _valued(context, statement, parameters):
                statement, parameters = text, valued_row(parameters)
            elif _types_times(context, (parameters,)):
                parameters = TimedRow(parameters)
        execute(cursor, statement, parameters, headrace.Cursor)

    def do_executemany(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        if text := _valued(context, statement, parameters[0]):
            statement, parameters = text, list(map(valued_row, parameters))
        elif _types_times(context, parameters):
            parameters = TimedRows(parameters)
        cursor.executemany(statement, parameters)

    def do_ping(self, dbapi_connection: Any) -> bool:
        if not dbapi_connection.check_alive():
            return False
        # Of its own: in a transaction it would leave one open.
        autocommit = dbapi_connection.autocommit
        if not autocommit:
            dbapi_connection.autocommit = True
        try:
            dbapi_connection.execute("")
        finally:
            if not autocommit and not dbapi_connection.closed:
                dbapi_connection.autocommit = False
        return True

    # transactions

    def get_isolation_level_values(self, dbapi_conn: Any) -> Any:
        return ("AUTOCOMMIT", "READ COMMITTED", "READ UNCOMMITTED", "REPEATABLE READ", "SERIALIZABLE")

    def set_isolation_level(self, dbapi_connection: Any, level: str) -> None:
        try:
            dbapi_connection.autocommit = level == "AUTOCOMMIT"
            dbapi_connection.isolation_level = None if level == "AUTOCOMMIT" else level.lower()
        except BaseException:
            # The pool sets back only what has ended without an error, and not what a task has that is cancelled here.
            unwrapped(dbapi_connection).close()
            raise

    def get_isolation_level(self, dbapi_connection: Any) -> Any:
        idle = dbapi_connection.transaction_status == TransactionStatus.IDLE
        level = super().get_isolation_level(dbapi_connection)  # type: ignore[no-untyped-call]
        if idle:
            dbapi_connection.rollback()
        return level

    def set_readonly(self, connection: Any, value: bool) -> None:
        connection.read_only = value

    def get_readonly(self, connection: Any) -> bool:
        return bool(connection.read_only)

    def set_deferrable(self, connection: Any, value: bool) -> None:
        connection.deferrable = value

    def get_deferrable(self, connection: Any) -> bool:
        return bool(connection.deferrable)


class _AsyncConnection(TwoPhaseConnection):
    __slots__ = ()

    def cursor(self, name: str | None = None, *, withhold: bool = False) -> _asyncio.Cursor:
        """A new cursor; with a ``name`` one on the server."""
        if name is None:
            return _asyncio.Cursor(self._connection.cursor())
        return _asyncio.ServerCursor(self._connection.cursor(name, withhold=withhold))

    def add_notice_handler(self, handler: Callable[[Notice], None]) -> None:
        """Calls ``handler`` with every notice of the server."""
        self._connection.add_notice_handler(handler)

    def register_adapters(self, *, loaders: Mapping[int, Callable[[bytes], Any]]) -> None:
        """Registers loaders by the numbers of their types."""
        self._connection.register_adapters(loaders=loaders)

    @property
    def deferrable(self) -> bool | None:
        """True if transactions to come are deferrable."""
        return self._connection.deferrable  # type: ignore[no-any-return]

    @deferrable.setter
    def deferrable(self, value: bool | None) -> None:
        _asyncio.wait(self._connection.set_deferrable(value))


class PGDialectAsync_headrace(_asyncio.Dialect, PGDialect_headrace):
    """Asyncio engines: ``create_async_engine("postgresql+headrace://...")``."""

    supports_statement_cache = True

    @classmethod
    def import_dbapi(cls) -> Any:
        import headrace.aio.postgres

        return _asyncio.Module(headrace.postgres, headrace.aio.postgres.connect, _AsyncConnection)


dialect = PGDialect_headrace
dialect_async = PGDialectAsync_headrace
