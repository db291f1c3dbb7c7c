"""The dialects, blocking and asyncio, on :mod:`headrace.informix` and its asyncio form."""

# The base classes are typed in part only.
# mypy: disable-error-code="no-untyped-call"
# pyright: basic, reportIncompatibleMethodOverride=false, reportArgumentType=false

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, ClassVar

from sqlalchemy import schema
from sqlalchemy.engine import URL, default

import headrace
import headrace.informix

from ..._shared.loading import NO_CONVERSIONS
from ...informix.catalog import LONGEST_NAME, ONE_ROW
from .. import _asyncio
from .._alembic import set_up_older_alembic
from .._engines import Levels, QuestionMarks, StreamsReads
from .compiler import InformixCompiler
from .ddl import InformixDDLCompiler, InformixIdentifierPreparer, InformixTypeCompiler
from .reflection import InformixReflection
from .types import COLSPECS

_cursor_numbers = itertools.count(1)


class _ExecutionContext(StreamsReads, default.DefaultExecutionContext):
    def create_server_side_cursor(self) -> Any:
        connection: Any = self._dbapi_connection
        # Where every statement is a transaction of its own only a cursor WITH HOLD lives longer than its DECLARE.
        return connection.cursor(f"headrace_{next(_cursor_numbers)}", withhold=connection.autocommit)

    def fire_sequence(self, seq: Any, type_: Any) -> Any:
        name = self.identifier_preparer.format_sequence(seq)
        return self._execute_scalar(f"SELECT {name}.NEXTVAL FROM {ONE_ROW}", type_)


class InformixDialect_headrace(QuestionMarks, Levels, InformixReflection):
    """Blocking engines: ``informix+headrace://user@host:9088/database?server=name``."""

    name = "informix"
    driver = "headrace"
    default_paramstyle = "qmark"
    max_identifier_length = LONGEST_NAME

    supports_statement_cache = True
    supports_server_side_cursors = True
    supports_sane_rowcount = True
    supports_sane_multi_rowcount = True
    supports_native_decimal = True
    # There is the type, but no condition that is one of its values.
    supports_native_boolean = True
    supports_native_enum = False
    supports_alter = True
    supports_comments = False
    supports_schemas = True
    supports_sequences = True
    sequences_optional = True
    postfetch_lastrowid = True
    supports_default_values = True
    supports_default_metavalue = False
    supports_empty_insert = False
    supports_multivalues_insert = False
    supports_is_distinct_from = True
    use_insertmanyvalues = False
    insert_returning = update_returning = delete_returning = False
    non_native_boolean_check_constraint = False
    tuple_in_values = False
    div_is_floordiv = False
    cte_follows_insert = True

    statement_compiler = InformixCompiler
    ddl_compiler = InformixDDLCompiler
    type_compiler_cls = InformixTypeCompiler
    preparer = InformixIdentifierPreparer
    execution_ctx_cls = _ExecutionContext
    colspecs = COLSPECS
    construct_arguments = [
        (
            schema.Table,
            {"with_no_log": False, "in": None, "extent_size": None, "next_size": None, "lock_mode": None},
        )
    ]
    LEVELS: ClassVar[dict[str, str]] = {
        "READ UNCOMMITTED": "read uncommitted",
        "READ COMMITTED": "read committed",
        "LAST COMMITTED": "last committed",
        "CURSOR STABILITY": "cursor stability",
        "REPEATABLE READ": "repeatable read",
        "SERIALIZABLE": "serializable",
    }

    @classmethod
    def import_dbapi(cls) -> Any:
        return headrace.informix

    @classmethod
    def get_async_dialect_cls(cls, url: URL) -> type[InformixDialectAsync_headrace]:
        return InformixDialectAsync_headrace

    def __init__(self, json_serializer: Any = None, **keywords: Any) -> None:
        super().__init__(**keywords)
        # The driver reads JSON.
        self._json_serializer, self._json_deserializer = json_serializer, None
        set_up_older_alembic()

    def create_connect_args(self, url: URL) -> tuple[Sequence[str], dict[str, Any]]:
        keywords = url.translate_connect_args(username="user")
        keywords.update(NO_CONVERSIONS)
        keywords.update(url.query)
        # The dialect writes names that need it in double quotes.
        keywords.setdefault("DELIMIDENT", "y")
        return (), keywords

    def initialize(self, connection: Any) -> None:
        self.is_ansi = connection.connection.dbapi_connection.logging == "ansi"
        super().initialize(connection)

    def _get_server_version_info(self, connection: Any) -> tuple[int, ...]:
        # "IBM Informix Dynamic Server Version 14.10.FC5"
        number = connection.connection.dbapi_connection.server_version.rpartition("Version ")[2]
        return tuple(int(part) for part in number.split(".") if part.isdigit())

    def _get_default_schema_name(self, connection: Any) -> str:
        name: str = connection.exec_driver_sql(f"SELECT USER FROM {ONE_ROW}").scalar()
        return name.rstrip()

    # transactions

    def level_unasked(self, dbapi_connection: Any) -> str:
        # "SET ISOLATION statement", IBM Informix Guide to SQL: Syntax: the defaults depend on the logging.
        return {"ansi": "REPEATABLE READ", "none": "READ UNCOMMITTED"}.get(dbapi_connection.logging, "READ COMMITTED")


class _AsyncConnection(_asyncio.Connection):
    __slots__ = ()

    def cursor(self, name: str | None = None, *, withhold: bool = False) -> _asyncio.Cursor:
        """A new cursor; with a ``name`` one on the server."""
        if name is None:
            return _asyncio.Cursor(self._connection.cursor())
        return _asyncio.ServerCursor(self._connection.cursor(name, withhold=withhold))

    @property
    def logging(self) -> str:
        """The transactions of the database."""
        return self._connection.logging  # type: ignore[no-any-return]

    @property
    def server_version(self) -> str:
        """The name and version that the server reports."""
        return self._connection.server_version  # type: ignore[no-any-return]


class InformixDialectAsync_headrace(_asyncio.Dialect, InformixDialect_headrace):
    """Asyncio engines: ``create_async_engine("informix+headrace://...")``."""

    supports_statement_cache = True

    @classmethod
    def import_dbapi(cls) -> Any:
        import headrace.aio.informix

        return _asyncio.Module(headrace.informix, headrace.aio.informix.connect, _AsyncConnection)
