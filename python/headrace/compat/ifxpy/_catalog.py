"""What the catalog functions of ODBC return ("SQLTables", "SQLColumns" and so on, IBM Informix ODBC Driver Programmer's
Manual), read from the system catalog ("System Catalog Tables", IBM Informix Guide to SQL: Reference)."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any, Final

from ...informix.catalog import COLUMN_NAMES, FIRST_OWN, INDEXES, Indexes, indexes
from ...sql import Identifier
from ._columns import described
from ._handles import IFXConnection, IFXStatement

_KINDS: Final = {"T": "TABLE", "V": "VIEW", "S": "SYNONYM", "P": "SYNONYM"}
_RULES: Final = {"C": 0, "R": 1}
"""SQL_CASCADE, SQL_RESTRICT."""
_RESTRICT: Final = 1
_NOT_DEFERRABLE: Final = 7
_STATISTICS: Final = 0
_OTHER_INDEX: Final = 3


def result(connection: IFXConnection, names: str, rows: Iterable[Sequence[Any]]) -> IFXStatement:
    """A statement that has been executed, with these rows. Names are separated by blanks."""
    made = IFXStatement(connection, "", None)
    made.answered([described(name, "VARCHAR(128)", True, 128) for name in names.split()], iter(list(rows)))
    return made


def _found(
    connection: IFXConnection, schema: str | None, table: str | None, kinds: Sequence[str] = ("T", "V")
) -> list[tuple[int, str, str, str]]:
    """Number, owner, name and kind of tables whose owner and name are like these patterns; none is every one."""
    marks = ", ".join("?" for _ in kinds)
    sql = f"SELECT tabid, owner, tabname, tabtype FROM systables WHERE tabtype IN ({marks})"
    params: list[Any] = list(kinds)
    for column, pattern in (("owner", schema), ("tabname", table)):
        if pattern:
            sql, params = f"{sql} AND {column} LIKE ?", [*params, pattern]
    rows = connection.driver.fetch(f"{sql} ORDER BY tabname", *params)
    return [(number, owner.rstrip(), name, kind) for number, owner, name, kind in rows]


def tables(connection: IFXConnection, schema: str | None, table: str | None, wanted: str | None) -> IFXStatement:
    """The tables, views and synonyms."""
    kinds = [part.strip().strip("'").upper() for part in wanted.split(",")] if wanted else []
    rows: list[tuple[Any, ...]] = []
    for number, owner, name, kind in _found(connection, schema, table, tuple(_KINDS)):
        shown = "SYSTEM TABLE" if kind == "T" and number < FIRST_OWN else _KINDS[kind]
        if not kinds or shown in kinds:
            rows.append((connection.database, owner, name, shown, None))
    return result(connection, "TABLE_CAT TABLE_SCHEM TABLE_NAME TABLE_TYPE REMARKS", rows)


def columns(connection: IFXConnection, schema: str | None, table: str | None, column: str | None) -> IFXStatement:
    """The columns of tables and views: as a query describes them."""
    rows: list[tuple[Any, ...]] = []
    for _, owner, name, _ in _found(connection, schema, table):
        quoted, its_name = owner.replace('"', '""'), Identifier(name).as_string(connection.driver)
        query = connection.driver.execute(f'SELECT * FROM "{quoted}".{its_name} WHERE 1 = 0')
        for at, found in enumerate(query.description or (), 1):
            if column and column != "%" and found.name != column:
                continue
            its = described(found.name, str(found.type_code), found.null_ok, found.internal_size)
            exact = its.field_type in ("int", "bigint", "decimal")
            rows.append(
                (
                    connection.database, owner, name, its.name, its.number, its.type, its.precision, its.width,
                    its.scale if exact else None, 10 if exact else None, int(its.nullable), None, None, its.number,
                    None, its.width if its.field_type == "string" else None, at, "YES" if its.nullable else "NO",
                )
            )  # fmt: skip
    names = (
        "TABLE_CAT TABLE_SCHEM TABLE_NAME COLUMN_NAME DATA_TYPE TYPE_NAME COLUMN_SIZE BUFFER_LENGTH DECIMAL_DIGITS "
        "NUM_PREC_RADIX NULLABLE REMARKS COLUMN_DEF SQL_DATA_TYPE SQL_DATETIME_SUB CHAR_OCTET_LENGTH ORDINAL_POSITION "
        "IS_NULLABLE"
    )
    return result(connection, names, rows)


def _indexes(connection: IFXConnection, table: int) -> Indexes:
    names = dict(connection.driver.fetch(COLUMN_NAMES, table))
    return indexes(names, connection.driver.fetch(INDEXES, table))


def _columns_of(found: Indexes, index: str) -> list[str]:
    return [name for name, _ in found.get(index, ("", []))[1]]


def primary_keys(connection: IFXConnection, schema: str | None, table: str | None) -> IFXStatement:
    """The columns of the primary keys."""
    rows: list[tuple[Any, ...]] = []
    for number, owner, name, _ in _found(connection, schema, table, ("T",)):
        sql = "SELECT constrname, idxname FROM sysconstraints WHERE tabid = ? AND constrtype = 'P'"
        for key, index in connection.driver.fetch(sql, number):
            for at, column in enumerate(_columns_of(_indexes(connection, number), index), 1):
                rows.append((connection.database, owner, name, column, at, key))
    return result(connection, "TABLE_CAT TABLE_SCHEM TABLE_NAME COLUMN_NAME KEY_SEQ PK_NAME", rows)


def foreign_keys(
    connection: IFXConnection,
    schema: str | None,
    table: str | None,
    referring_schema: str | None,
    referring_table: str | None,
) -> IFXStatement:
    """The columns of the foreign keys that refer to a table, or that a table has, or both."""
    parents = {number: (owner, name) for number, owner, name, _ in _found(connection, schema, table, ("T",))}
    rows: list[tuple[Any, ...]] = []
    sql = (
        "SELECT c.constrname, c.idxname, r.ptabid, p.constrname, p.idxname, r.delrule "
        "FROM sysconstraints c, sysreferences r, sysconstraints p "
        "WHERE c.tabid = ? AND c.constrtype = 'R' AND r.constrid = c.constrid AND p.constrid = r.primary"
    )
    of = functools.cache(functools.partial(_indexes, connection))
    for number, owner, name, _ in _found(connection, referring_schema, referring_table, ("T",)):
        for key, index, parent, primary, its_index, rule in connection.driver.fetch(sql, number):
            if parent not in parents:
                continue
            pairs = zip(_columns_of(of(number), index), _columns_of(of(parent), its_index), strict=False)
            for at, (column, referred) in enumerate(pairs, 1):
                database = connection.database
                rows.append(
                    (database, *parents[parent], referred, database, owner, name, column, at, _RESTRICT,
                     _RULES.get(rule, _RESTRICT), key, primary, _NOT_DEFERRABLE)
                )  # fmt: skip
    names = (
        "PKTABLE_CAT PKTABLE_SCHEM PKTABLE_NAME PKCOLUMN_NAME FKTABLE_CAT FKTABLE_SCHEM FKTABLE_NAME FKCOLUMN_NAME "
        "KEY_SEQ UPDATE_RULE DELETE_RULE FK_NAME PK_NAME DEFERRABILITY"
    )
    return result(connection, names, rows)


def statistics(connection: IFXConnection, schema: str | None, table: str | None, every: bool) -> IFXStatement:
    """A row for each table, and the columns of its indexes: of every one, or of those that are unique."""
    rows: list[tuple[Any, ...]] = []
    for number, owner, name, _ in _found(connection, schema, table, ("T",)):
        database = connection.database
        rows.append((database, owner, name, None, None, None, _STATISTICS, None, None, None, None, None, None))
        for index, (kind, parts) in _indexes(connection, number).items():
            is_unique = kind.upper() == "U"
            if not every and not is_unique:
                continue
            for at, (column, descends) in enumerate(parts, 1):
                order = "D" if descends else "A"
                rows.append(
                    (database, owner, name, int(not is_unique), owner, index, _OTHER_INDEX, at, column, order, None,
                     None, None)
                )  # fmt: skip
    names = (
        "TABLE_CAT TABLE_SCHEM TABLE_NAME NON_UNIQUE INDEX_QUALIFIER INDEX_NAME TYPE ORDINAL_POSITION COLUMN_NAME "
        "ASC_OR_DESC CARDINALITY PAGES FILTER_CONDITION"
    )
    return result(connection, names, rows)


def special_columns(connection: IFXConnection, schema: str | None, table: str | None, scope: int) -> IFXStatement:
    """The columns that tell the rows of a table apart: those of its primary key."""
    keys = [row[3] for row in _rows(primary_keys(connection, schema, table))]
    rows = [
        (scope, row[3], row[4], row[5], row[6], row[7], row[8], row[9], 1)
        for row in _rows(columns(connection, schema, table, None))
        if row[3] in keys
    ]
    names = (
        "SCOPE COLUMN_NAME DATA_TYPE TYPE_NAME COLUMN_SIZE BUFFER_LENGTH DECIMAL_DIGITS NUM_PREC_RADIX PSEUDO_COLUMN"
    )
    return result(connection, names, rows)


def _rows(statement: IFXStatement) -> Iterable[Sequence[Any]]:
    while (row := statement.fetch()) is not None:
        yield row
