"""headrace.informix with the functions of IfxPy, for programs that were written for IBM's driver.

    import headrace.compat.ifxpy
    headrace.compat.ifxpy.install_as_IfxPy()

Behind that ``import IfxPy`` finds this, and ``import IfxPyDbi`` :mod:`headrace.compat.ifxpydbi`. It does as IfxPy does:
a connection begins in autocommit, a DECIMAL is text, a large object is its content. Functions that fail raise
:class:`IfxPyError`, an Exception as IfxPy's.

It is one long file as IfxPy is one module: its functions and constants, each a few lines, by the names that programs
look for. What they do beyond that is in the modules beside it.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from ... import __version__, errors, informix
from ..._shared.loading import NO_CONVERSIONS
from . import _catalog
from ._columns import (
    SQL_BIGINT,
    SQL_BINARY,
    SQL_BIT,
    SQL_CHAR,
    SQL_DECIMAL,
    SQL_DOUBLE,
    SQL_FLOAT,
    SQL_INFX_RC_COLLECTION,
    SQL_INFX_RC_LIST,
    SQL_INFX_RC_MULTISET,
    SQL_INFX_RC_ROW,
    SQL_INFX_RC_SET,
    SQL_INFX_UDT_FIXED,
    SQL_INFX_UDT_VARYING,
    SQL_INTEGER,
    SQL_LONGVARBINARY,
    SQL_LONGVARCHAR,
    SQL_NUMERIC,
    SQL_REAL,
    SQL_SMALLINT,
    SQL_TINYINT,
    SQL_TYPE_DATE,
    SQL_TYPE_TIME,
    SQL_TYPE_TIMESTAMP,
    SQL_VARBINARY,
    SQL_VARCHAR,
    SQL_WCHAR,
    SQL_WLONGVARCHAR,
    SQL_WVARCHAR,
    Described,
)
from ._errors import IfxPyError, from_driver
from ._handles import (
    CASE_LOWER,
    CASE_NATURAL,
    CASE_UPPER,
    SQL_ATTR_CURSOR_TYPE,
    SQL_CURSOR_FORWARD_ONLY,
    IFXConnection,
    IFXStatement,
)

SQL_AUTOCOMMIT_OFF: Final = 0
SQL_AUTOCOMMIT_ON: Final = 1
SQL_ATTR_AUTOCOMMIT: Final = 102
SQL_ATTR_QUERY_TIMEOUT: Final = 0
SQL_CURSOR_KEYSET_DRIVEN: Final = 1
SQL_CURSOR_DYNAMIC: Final = 2
SQL_CURSOR_STATIC: Final = 3
ATTR_CASE: Final = 3271982
USE_WCHAR: Final = 100
WCHAR_YES: Final = 1
WCHAR_NO: Final = 0
SQL_PARAM_INPUT: Final = 1
SQL_PARAM_INPUT_OUTPUT: Final = 2
SQL_PARAM_OUTPUT: Final = 4
PARAM_FILE: Final = 11
SQL_FALSE: Final = 0
SQL_TRUE: Final = 1
SQL_TABLE_STAT: Final = 0
SQL_INDEX_CLUSTERED: Final = 1
SQL_INDEX_OTHER: Final = 3
SQL_DBMS_NAME: Final = 17
SQL_DBMS_VER: Final = 18
SQL_API_SQLROWCOUNT: Final = 20
DRIVER_NAME: Final = "headrace"
_NAME_LENGTH: Final = 128
_ODBC_ONLY: Final = frozenset({"enablescrollablecursors", "connectdatabase"})
"""Keywords of a connection string for the ODBC driver itself."""
_last: dict[str, IfxPyError | None] = {"connect": None, "statement": None}
"""The last errors of functions that have no handle to keep them."""


# connections


def connect(
    ConnectionString: str, user: str, password: str, options: dict[int, Any] | None = None, quoted: int = 1
) -> IFXConnection:
    """Connects.

    Args:
        ConnectionString: ``SERVER=...;DATABASE=...;HOST=...;SERVICE=...;UID=...;PWD=...``.
        user: the user, if the string has none.
        password: likewise.
        options: ``SQL_ATTR_AUTOCOMMIT`` and ``ATTR_CASE`` are followed.
        quoted: ignored.

    Raises:
        IfxPyError: the server refused the connection, or there is none.
    """
    kept: list[str] = []
    scrolls, database = False, None
    for part in ConnectionString.split(";"):
        name, _, value = part.partition("=")
        if name.strip().lower() in _ODBC_ONLY:
            scrolls = scrolls or value.strip() == "1"
            continue
        if name.strip().lower() in ("database", "db"):
            database = value.strip()
        kept.append(part)
    given: dict[str, Any] = {name: value for name, value in (("user", user), ("password", password)) if value}
    try:
        driver = informix.connect(";".join(kept), autocommit=True, **NO_CONVERSIONS, **given)
    except errors.Error as error:
        _last["connect"] = failed = from_driver(error)
        raise failed from error
    _last["connect"] = None
    made = IFXConnection(driver, database=database, scrolls=scrolls)
    set_option(made, options or {}, 1)
    return made


def close(connection: IFXConnection) -> bool:
    """Closes the connection."""
    with connection.watched():
        connection.driver.close()
    return True


def active(connection: object) -> bool:
    """Returns true if the connection is open and the server answers."""
    if not isinstance(connection, IFXConnection) or connection.driver.closed:
        return False
    try:
        connection.driver.ping()
    except errors.Error:
        return False
    return True


def autocommit(connection: IFXConnection, value: int | None = None) -> int | bool:
    """Whether each statement is committed, as 0 or 1; with a value sets it and returns true. An open transaction is
    committed by that (``SQL_ATTR_AUTOCOMMIT`` of ODBC)."""
    if value is None:
        return int(connection.driver.autocommit)
    with connection.watched():
        if connection.driver.autocommit != (value == SQL_AUTOCOMMIT_ON):
            connection.driver.commit()
            connection.driver.autocommit = value == SQL_AUTOCOMMIT_ON
    return True


def commit(connection: IFXConnection) -> bool:
    """Commits."""
    with connection.watched():
        connection.driver.commit()
    return True


def rollback(connection: IFXConnection) -> bool:
    """Rolls back."""
    with connection.watched():
        connection.driver.rollback()
    return True


def set_option(handle: IFXConnection | IFXStatement, options: dict[int, Any], type: int) -> bool:
    """Sets options of a connection (``type`` 1) or a statement (0)."""
    handle.options.update(options)
    if isinstance(handle, IFXConnection):
        handle.case = options.get(ATTR_CASE, handle.case)
        if SQL_ATTR_AUTOCOMMIT in options:
            autocommit(handle, options[SQL_ATTR_AUTOCOMMIT])
    return True


def get_option(handle: IFXConnection | IFXStatement, option: int, type: int) -> Any:
    """The value of an option."""
    if isinstance(handle, IFXStatement) and option == SQL_ATTR_CURSOR_TYPE:
        return handle.cursor_type
    if isinstance(handle, IFXConnection) and option == SQL_ATTR_AUTOCOMMIT:
        return autocommit(handle)
    return handle.options.get(option, "")


def conn_error(connection: IFXConnection | None = None) -> str:
    """SQLSTATE of the last error of a connection, or of the last attempt to connect; an empty text if there is none."""
    return _sqlstate(connection.error if connection else _last["connect"])


def conn_errormsg(connection: IFXConnection | None = None) -> str:
    """The text of that error."""
    return str((connection.error if connection else _last["connect"]) or "")


def stmt_error(statement: IFXStatement | None = None) -> str:
    """SQLSTATE of the last error of a statement, or of the last statement that failed."""
    return _sqlstate(statement.error if statement else _last["statement"])


def stmt_errormsg(statement: IFXStatement | None = None) -> str:
    """The text of that error."""
    return str((statement.error if statement else _last["statement"]) or "")


def _sqlstate(failed: IfxPyError | None) -> str:
    return failed.sqlstate if failed else ""


# statements


def prepare(connection: IFXConnection, statement: str, options: dict[int, Any] | None = None) -> IFXStatement:
    """A statement to be executed. The server prepares it when it is executed first, and raises what is wrong with it
    then."""
    return IFXStatement(connection, statement, options)


def exec_immediate(connection: IFXConnection, statement: str, options: dict[int, Any] | None = None) -> IFXStatement:
    """Executes a statement.

    Raises:
        IfxPyError: the server refused it.
    """
    made = prepare(connection, statement, options)
    execute(made)
    return made


def bind_param(
    statement: IFXStatement,
    number: int,
    variable: Any,
    type: int = SQL_PARAM_INPUT,
    data_type: int | None = None,
    precision: int | None = None,
    scale: int | None = None,
    size: int | None = None,
) -> bool:
    """Binds a value to a parameter.

    Args:
        statement: what :func:`prepare` has returned.
        number: of the parameter, from 1 on.
        variable: the value, or with ``PARAM_FILE`` the path of a file that has it.
        type: ``SQL_PARAM_INPUT``, or ``PARAM_FILE``.
        data_type: ignored, as what follows: the column has a type.
        precision: ignored.
        scale: ignored.
        size: ignored.
    """
    statement.bound[number] = Path(variable).read_bytes() if type == PARAM_FILE else variable
    return True


def execute(statement: IFXStatement, parameters: Sequence[Any] | None = None) -> bool:
    """Executes a prepared statement.

    Raises:
        IfxPyError: the server refused it.
    """
    with _noted():
        statement.execute(parameters)
    return True


def execute_many(statement: IFXStatement, seq_of_parameters: Sequence[Sequence[Any]]) -> int:
    """Executes a prepared statement for each of these rows, all or none of them; returns how many rows it changed.

    Raises:
        IfxPyError: the server refused a row.
    """
    with _noted():
        return statement.execute_many(seq_of_parameters)


@contextlib.contextmanager
def _noted() -> Generator[None, None, None]:
    """What the last statement has raised, for those who ask without one."""
    _last["statement"] = None
    try:
        yield
    except IfxPyError as failed:
        _last["statement"] = failed
        raise


def callproc(connection: IFXConnection, procname: str, parameters: Sequence[Any] = ()) -> Any:
    """Calls a procedure.

    Returns:
        A tuple of the statement, whose rows are what it has returned, and of the parameters; without parameters the
        statement alone. Informix describes no OUT parameters to clients of this kind: they come back as they were.
    """
    made = IFXStatement(connection, f"EXECUTE PROCEDURE {procname}({', '.join('?' for _ in parameters)})", None)
    execute(made, tuple(parameters))
    return (made, *parameters) if parameters else made


def free_result(statement: IFXStatement) -> bool:
    """Frees the result."""
    statement.answered((), iter(()))
    return True


free_stmt = free_result


def next_result(statement: IFXStatement) -> bool:
    """False: a statement of Informix has one result."""
    return False


def num_rows(statement: IFXStatement) -> int:
    """How many rows were inserted, updated or deleted; of a scrollable cursor, how many there are; else -1."""
    return statement.count


def get_num_result(statement: IFXStatement) -> int:
    """How many rows the result has; -1 if it has none, or the statement has no result."""
    return statement.rows_in_result or -1


def stmt_warn(statement: IFXStatement | None = None) -> str:
    """The text of that error: what the ODBC driver makes a warning, such as text that is cut, is an error here."""
    return stmt_errormsg(statement)


def num_fields(statement: IFXStatement) -> int:
    """How many columns the result has."""
    return len(statement.columns)


def cursor_type(statement: IFXStatement) -> int:
    """One of ``SQL_CURSOR_*``."""
    return statement.cursor_type


# rows


def fetch_tuple(statement: IFXStatement, row_number: int | None = None) -> Any:
    """The next row, or the one with this number from 1 on, as a tuple; False if there is none.

    Raises:
        IfxPyError: a row is asked for by its number and the cursor is not scrollable.
    """
    row = statement.fetch(row_number)
    return False if row is None else row


def fetch_assoc(statement: IFXStatement, row_number: int | None = None) -> Any:
    """The same as a dict by the names of the columns."""
    row = statement.fetch(row_number)
    return False if row is None else dict(zip(_names(statement), row, strict=True))


def fetch_both(statement: IFXStatement, row_number: int | None = None) -> Any:
    """The same as a dict by the names and the positions of the columns."""
    row = statement.fetch(row_number)
    return False if row is None else {**dict(zip(_names(statement), row, strict=True)), **dict(enumerate(row))}


def fetch_row(statement: IFXStatement, row_number: int | None = None) -> bool:
    """Goes to the next row, or to the one with this number, for :func:`result`."""
    return statement.fetch(row_number) is not None


def result(statement: IFXStatement, column: int | str) -> Any:
    """The value of a column in the row that was fetched; None if there is no such column."""
    at = statement.position(column)
    return None if at is None or statement.row is None else statement.row[at]


def _names(statement: IFXStatement) -> list[str]:
    return [statement.connection.named(column.name) for column in statement.columns]


# columns


def _field(statement: IFXStatement, column: int | str) -> Described | None:
    at = statement.position(column)
    return None if at is None else statement.columns[at]


def field_name(statement: IFXStatement, column: int | str) -> str | bool:
    """The name of a column that is given by its position or its name; False if there is none, as in what follows."""
    found = _field(statement, column)
    return statement.connection.named(found.name) if found else False


def field_num(statement: IFXStatement, column: int | str) -> int | bool:
    """Its position, from 0 on."""
    at = statement.position(column)
    return False if at is None else at


def field_type(statement: IFXStatement, column: int | str) -> str | bool:
    """``int``, ``bigint``, ``real``, ``decimal``, ``date``, ``time``, ``timestamp``, ``interval`` or ``string``."""
    found = _field(statement, column)
    return found.field_type if found else False


def field_width(statement: IFXStatement, column: int | str) -> int | bool:
    """Bytes that a program in C reserves for it."""
    found = _field(statement, column)
    return found.width if found else False


def field_display_size(statement: IFXStatement, column: int | str) -> int | bool:
    """Characters of its longest value."""
    found = _field(statement, column)
    return found.display_size if found else False


def field_precision(statement: IFXStatement, column: int | str) -> int | bool:
    """Digits, or characters."""
    found = _field(statement, column)
    return found.precision if found else False


def field_scale(statement: IFXStatement, column: int | str) -> int | bool:
    """Digits behind the point."""
    found = _field(statement, column)
    return found.scale if found else False


# the catalog


def tables(
    connection: IFXConnection,
    qualifier: str | None = None,
    schema: str | None = None,
    table_name: str | None = None,
    table_type: str | None = None,
) -> IFXStatement:
    """The tables, views and synonyms whose owner and name are like these patterns."""
    with connection.watched():
        return _catalog.tables(connection, schema, table_name, table_type)


def columns(
    connection: IFXConnection,
    qualifier: str | None = None,
    schema: str | None = None,
    table_name: str | None = None,
    column_name: str | None = None,
) -> IFXStatement:
    """The columns of such tables."""
    with connection.watched():
        return _catalog.columns(connection, schema, table_name, column_name)


def primary_keys(
    connection: IFXConnection, qualifier: str | None, schema: str | None, table_name: str | None
) -> IFXStatement:
    """The columns of their primary keys."""
    with connection.watched():
        return _catalog.primary_keys(connection, schema, table_name)


def foreign_keys(
    connection: IFXConnection,
    qualifier: str | None,
    schema: str | None,
    table_name: str | None,
    fk_qualifier: str | None = None,
    fk_schema: str | None = None,
    fk_table_name: str | None = None,
) -> IFXStatement:
    """The columns of the foreign keys that refer to a table, or that another one has."""
    with connection.watched():
        return _catalog.foreign_keys(connection, schema, table_name, fk_schema, fk_table_name)


def statistics(
    connection: IFXConnection, qualifier: str | None, schema: str | None, table_name: str | None, unique: bool
) -> IFXStatement:
    """The columns of the indexes: of all if ``unique`` is true, else of those that are unique."""
    with connection.watched():
        return _catalog.statistics(connection, schema, table_name, unique)


def special_columns(
    connection: IFXConnection, qualifier: str | None, schema: str | None, table_name: str | None, scope: int
) -> IFXStatement:
    """The columns that tell the rows of a table apart."""
    with connection.watched():
        return _catalog.special_columns(connection, schema, table_name, scope)


# information


def server_info(connection: IFXConnection) -> Any:
    """What is known of the server, as attributes."""
    with connection.watched():
        sql = 'SELECT DBSERVERNAME FROM "informix".systables WHERE tabid = 1'
        instance = str(connection.driver.fetchval(sql)).rstrip()
    return SimpleNamespace(
        DBMS_NAME="Informix",
        DBMS_VER=connection.driver.server_version,
        DB_NAME=connection.database,
        INST_NAME=instance,
        DB_CODEPAGE=connection.driver.encoding,
        DFT_ISOLATION="CS",
        ISOLATION_OPTION=("UR", "CS", "RS", "RR"),
        IDENTIFIER_QUOTE_CHAR='"',
        KEYWORDS=(),
        LIKE_ESCAPE_CLAUSE=True,
        MAX_COL_NAME_LEN=_NAME_LENGTH,
        MAX_IDENTIFIER_LEN=_NAME_LENGTH,
        MAX_INDEX_SIZE=0,
        MAX_PROC_NAME_LEN=_NAME_LENGTH,
        MAX_ROW_SIZE=32767,
        MAX_SCHEMA_NAME_LEN=32,
        MAX_STATEMENT_LEN=0,
        MAX_TABLE_NAME_LEN=_NAME_LENGTH,
        NON_NULLABLE_COLUMNS=True,
        PROCEDURES=True,
        SPECIAL_CHARS="",
        SQL_CONFORMANCE="ENTRY",
    )


def client_info(connection: IFXConnection) -> Any:
    """What is known of the driver, as attributes."""
    return SimpleNamespace(
        APPL_CODEPAGE=connection.driver.encoding,
        CONN_CODEPAGE=connection.driver.encoding,
        DATA_SOURCE_NAME="",
        DRIVER_NAME=DRIVER_NAME,
        DRIVER_ODBC_VER="03.00",
        DRIVER_VER=__version__,
        ODBC_SQL_CONFORMANCE="EXTENDED",
        ODBC_VER="03.01.0000",
    )


def install_as_IfxPy() -> None:
    """Makes ``import IfxPy`` and ``import IfxPyDbi`` find the modules here."""
    from .. import ifxpydbi

    sys.modules["IfxPy"] = sys.modules[__name__]
    sys.modules["IfxPyDbi"] = ifxpydbi


__all__ = [
    "ATTR_CASE",
    "CASE_LOWER",
    "CASE_NATURAL",
    "CASE_UPPER",
    "DRIVER_NAME",
    "PARAM_FILE",
    "SQL_API_SQLROWCOUNT",
    "SQL_ATTR_AUTOCOMMIT",
    "SQL_ATTR_CURSOR_TYPE",
    "SQL_ATTR_QUERY_TIMEOUT",
    "SQL_AUTOCOMMIT_OFF",
    "SQL_AUTOCOMMIT_ON",
    "SQL_BIGINT",
    "SQL_BINARY",
    "SQL_BIT",
    "SQL_CHAR",
    "SQL_CURSOR_DYNAMIC",
    "SQL_CURSOR_FORWARD_ONLY",
    "SQL_CURSOR_KEYSET_DRIVEN",
    "SQL_CURSOR_STATIC",
    "SQL_DBMS_NAME",
    "SQL_DBMS_VER",
    "SQL_DECIMAL",
    "SQL_DOUBLE",
    "SQL_FALSE",
    "SQL_FLOAT",
    "SQL_INDEX_CLUSTERED",
    "SQL_INDEX_OTHER",
    "SQL_INFX_RC_COLLECTION",
    "SQL_INFX_RC_LIST",
    "SQL_INFX_RC_MULTISET",
    "SQL_INFX_RC_ROW",
    "SQL_INFX_RC_SET",
    "SQL_INFX_UDT_FIXED",
    "SQL_INFX_UDT_VARYING",
    "SQL_INTEGER",
    "SQL_LONGVARBINARY",
    "SQL_LONGVARCHAR",
    "SQL_NUMERIC",
    "SQL_PARAM_INPUT",
    "SQL_PARAM_INPUT_OUTPUT",
    "SQL_PARAM_OUTPUT",
    "SQL_REAL",
    "SQL_SMALLINT",
    "SQL_TABLE_STAT",
    "SQL_TINYINT",
    "SQL_TRUE",
    "SQL_TYPE_DATE",
    "SQL_TYPE_TIME",
    "SQL_TYPE_TIMESTAMP",
    "SQL_VARBINARY",
    "SQL_VARCHAR",
    "SQL_WCHAR",
    "SQL_WLONGVARCHAR",
    "SQL_WVARCHAR",
    "USE_WCHAR",
    "WCHAR_NO",
    "WCHAR_YES",
    "IFXConnection",
    "IFXStatement",
    "IfxPyError",
    "__version__",
    "active",
    "autocommit",
    "bind_param",
    "callproc",
    "client_info",
    "close",
    "columns",
    "commit",
    "conn_error",
    "conn_errormsg",
    "connect",
    "cursor_type",
    "exec_immediate",
    "execute",
    "execute_many",
    "fetch_assoc",
    "fetch_both",
    "fetch_row",
    "fetch_tuple",
    "field_display_size",
    "field_name",
    "field_num",
    "field_precision",
    "field_scale",
    "field_type",
    "field_width",
    "foreign_keys",
    "free_result",
    "free_stmt",
    "get_num_result",
    "get_option",
    "install_as_IfxPy",
    "next_result",
    "num_fields",
    "num_rows",
    "prepare",
    "primary_keys",
    "result",
    "rollback",
    "server_info",
    "set_option",
    "special_columns",
    "statistics",
    "stmt_error",
    "stmt_errormsg",
    "stmt_warn",
    "tables",
]
