"""The dialects, blocking and asyncio, on :mod:`headrace.cubrid` and its asyncio form."""

# The base classes are typed in part only.
# mypy: disable-error-code="no-untyped-call"
# pyright: basic, reportIncompatibleMethodOverride=false, reportArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from sqlalchemy import schema
from sqlalchemy.engine import URL, default
from sqlalchemy.engine.cursor import FullyBufferedCursorFetchStrategy

import headrace
import headrace.cubrid

from ..._shared.loading import NO_CONVERSIONS
from ...cubrid.catalog import LONGEST_NAME
from .. import _asyncio
from .._alembic import set_up_older_alembic
from .._engines import Levels, QuestionMarks, StreamsReads, unwrapped
from .compiler import CubridCompiler, CubridDDLCompiler, CubridIdentifierPreparer, CubridTypeCompiler
from .reflection import CubridReflection
from .types import COLSPECS, with_own_zone


class _ExecutionContext(StreamsReads, default.DefaultExecutionContext):
    def get_lastrowid(self) -> Any:
        return unwrapped(self._dbapi_connection).last_insert_id()

    def create_server_side_cursor(self) -> Any:
        connection: Any = self._dbapi_connection
        # Where every statement is a transaction of its own only a holdable result survives its statement.
        return connection.cursor(scrollable=True, withhold=connection.autocommit)

    def post_exec(self) -> None:
        compiled: Any = self.compiled
        columns = getattr(compiled, "_result_columns", None)
        # The server describes no columns of a query that it finds to have no rows before it looks at a table. How many
        # a text has is not known here either.
        if columns and not compiled._ad_hoc_textual and self.cursor.description == []:
            described = [(column.keyname, None, None, None, None, None, None) for column in columns]
            self.cursor_fetch_strategy = FullyBufferedCursorFetchStrategy(self.cursor, described, [])

    def fire_sequence(self, seq: Any, type_: Any) -> Any:
        name = self.identifier_preparer.format_sequence(seq)
        return self._execute_scalar(f"SELECT {name}.NEXT_VALUE", type_)


class CubridDialect_headrace(QuestionMarks, Levels, CubridReflection):
    """Blocking engines: ``cubrid+headrace://user@host:33000/database``."""

    name = "cubrid"
    driver = "headrace"
    default_paramstyle = "qmark"
    max_identifier_length = LONGEST_NAME

    supports_statement_cache = True
    supports_server_side_cursors = True
    supports_sane_rowcount = True
    supports_sane_multi_rowcount = True
    supports_native_decimal = True
    supports_native_boolean = False
    supports_native_enum = True
    supports_alter = True
    supports_comments = True
    inline_comments = True
    supports_schemas = True
    supports_sequences = True
    sequences_optional = True
    postfetch_lastrowid = True
    supports_default_values = True
    supports_default_metavalue = True
    supports_empty_insert = False
    supports_multivalues_insert = True
    supports_is_distinct_from = True
    use_insertmanyvalues = False
    insert_returning = update_returning = delete_returning = False
    non_native_boolean_check_constraint = False
    tuple_in_values = False
    div_is_floordiv = True
    cte_follows_insert = True

    statement_compiler = CubridCompiler
    ddl_compiler = CubridDDLCompiler
    type_compiler_cls = CubridTypeCompiler
    preparer = CubridIdentifierPreparer
    execution_ctx_cls = _ExecutionContext
    colspecs = COLSPECS
    construct_arguments = [(schema.Table, {"reuse_oid": None})]
    LEVELS: ClassVar[dict[str, str]] = {
        "READ COMMITTED": "read committed",
        "REPEATABLE READ": "repeatable read",
        "SERIALIZABLE": "serializable",
    }

    def __init__(self, json_serializer: Any = None, **keywords: Any) -> None:
        super().__init__(**keywords)
        # The driver reads JSON.
        self._json_serializer, self._json_deserializer = json_serializer, None
        set_up_older_alembic()

    @classmethod
    def import_dbapi(cls) -> Any:
        return headrace.cubrid

    @classmethod
    def get_async_dialect_cls(cls, url: URL) -> type[CubridDialectAsync_headrace]:
        return CubridDialectAsync_headrace

    def create_connect_args(self, url: URL) -> tuple[Sequence[str], dict[str, Any]]:
        keywords = url.translate_connect_args(username="user")
        keywords.update(NO_CONVERSIONS)
        keywords.update(url.query)
        return (), keywords

    def _get_server_version_info(self, connection: Any) -> tuple[int, ...]:
        version = connection.exec_driver_sql("SELECT VERSION()").scalar()
        return tuple(int(part) for part in version.split(".") if part.isdigit())

    def _get_default_schema_name(self, connection: Any) -> str:
        # "DBA@host"
        name: str = connection.exec_driver_sql("SELECT USER()").scalar()
        return name.partition("@")[0].lower()

    of_text = staticmethod(with_own_zone)

    # transactions

    def do_release_savepoint(self, connection: Any, name: str) -> None:
        # There is no such statement: a savepoint ends with its transaction.
        pass

    def level_unasked(self, dbapi_connection: Any) -> str:
        return "READ COMMITTED"


class _AsyncConnection(_asyncio.Connection):
    __slots__ = ()

    def cursor(self, *, scrollable: bool = False, withhold: bool = False) -> _asyncio.Cursor:
        """A new cursor; a scrollable one is on the server."""
        if not scrollable:
            return _asyncio.Cursor(self._connection.cursor())
        return _asyncio.ServerCursor(self._connection.cursor(scrollable=True, withhold=withhold))

    def last_insert_id(self) -> int | None:
        """The number that the session's last INSERT has generated."""
        return _asyncio.wait(self._connection.last_insert_id())  # type: ignore[no-any-return]

    def schema_info(self, kind: str, name: str | None = None) -> Any:
        """Rows of the catalogue."""

        async def rows() -> Any:
            cursor = await self._connection.schema_info(kind, name)
            return await cursor.fetchall()

        return _asyncio.wait(rows())


class CubridDialectAsync_headrace(_asyncio.Dialect, CubridDialect_headrace):
    """Asyncio engines: ``create_async_engine("cubrid+headrace://...")``."""

    supports_statement_cache = True

    @classmethod
    def import_dbapi(cls) -> Any:
        import headrace.aio.cubrid

        return _asyncio.Module(headrace.cubrid, headrace.aio.cubrid.connect, _AsyncConnection)
