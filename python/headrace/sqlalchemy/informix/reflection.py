"""The system catalog of Informix, read for SQLAlchemy.

The tables are those of "The System Catalog Tables", IBM Informix Guide to SQL: Reference. Temporary tables are not in
it.
"""

# The base classes are typed in part only.
# mypy: disable-error-code="no-untyped-call"
# pyright: basic, reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import exc, util
from sqlalchemy.engine import default, reflection
from sqlalchemy.engine.reflection import ReflectionDefaults
from sqlalchemy.sql import sqltypes

from ...informix.catalog import (
    CHECKS,
    COLUMN_NAMES,
    COLUMNS,
    CONSTRAINTS,
    FIRST_OWN,
    INDEXES,
    KIND,
    NOT_NULL,
    REFERENCES,
    SERIALS,
    WITH_BINARY,
    Indexes,
    checks,
    indexes,
)
from .types import reflected

_TABLE, _VIEW, _SEQUENCE, _SYNONYMS = "T", "V", "Q", ("S", "P")
_VIEW_TEXT = 64
"""Characters of a row of ``sysviews``: a text goes on in the next row, its blanks at the end of one may be lost."""
_FUNCTIONS = {"T": "TODAY", "U": "USER", "S": "DBSERVERNAME", "N": "NULL"}


class Found(NamedTuple):
    """A row of ``systables``."""

    number: int
    kind: str
    owner: str
    lock_level: str


def _joined(rows: Sequence[Any], width: int) -> str:
    """The text of rows that have a part each."""
    return "".join(text.ljust(width) for (text,) in rows).rstrip()


class InformixReflection(default.DefaultDialect):
    """What an Inspector asks."""

    is_ansi = False
    """True if each owner has a namespace: the database is MODE ANSI."""

    def _owner(self, schema: str | None) -> str | None:
        """The owner that is looked for, or None where a name has only one table."""
        return schema if schema is not None or not self.is_ansi else self.default_schema_name

    @reflection.cache
    def _found(self, connection: Any, name: str, schema: str | None = None, **keywords: Any) -> Found | None:
        owner = self._owner(schema)
        sql = "SELECT tabid, tabtype, owner, locklevel FROM systables WHERE tabname = ?"
        rows = connection.exec_driver_sql(
            sql if owner is None else f"{sql} AND owner = ?", (name,) if owner is None else (name, owner)
        ).all()
        if not rows:
            return None
        number, kind, whose, level = rows[0]
        if kind in _SYNONYMS:
            sql = (
                "SELECT t.tabid, t.tabtype, t.owner, t.locklevel FROM syssyntable s, systables t "
                "WHERE s.tabid = ? AND t.tabid = s.btabid"
            )
            base = connection.exec_driver_sql(sql, (number,)).first()
            if base is not None:
                number, kind, whose, level = base
        return Found(number, kind, whose.rstrip(), level)

    def _number(self, connection: Any, table_name: str, schema: str | None, **keywords: Any) -> int:
        found: Found | None = self._found(connection, table_name, schema, **keywords)
        if found is None or found.kind not in (_TABLE, _VIEW):
            raise exc.NoSuchTableError(f"{schema}.{table_name}" if schema else table_name)
        return found.number

    # names

    def _names(self, connection: Any, kinds: Sequence[str], schema: str | None) -> list[str]:
        owner = self._owner(schema)
        marks = ", ".join("?" for _ in kinds)
        sql = f"SELECT tabname FROM systables WHERE tabid >= {FIRST_OWN} AND tabtype IN ({marks})"
        parameters: tuple[Any, ...] = tuple(kinds)
        if owner is not None:
            sql, parameters = f"{sql} AND owner = ?", (*parameters, owner)
        return list(connection.exec_driver_sql(f"{sql} ORDER BY tabname", parameters).scalars())

    @reflection.cache
    def get_schema_names(self, connection: Any, **keywords: Any) -> list[str]:
        sql = f"SELECT DISTINCT owner FROM systables WHERE tabid >= {FIRST_OWN}"
        found = {owner.rstrip() for owner in connection.exec_driver_sql(sql).scalars()}
        return sorted({*found, self.default_schema_name} - {None, ""})

    @reflection.cache
    def get_table_names(self, connection: Any, schema: str | None = None, **keywords: Any) -> list[str]:
        return self._names(connection, [_TABLE], schema)

    @reflection.cache
    def get_view_names(self, connection: Any, schema: str | None = None, **keywords: Any) -> list[str]:
        return self._names(connection, [_VIEW], schema)

    @reflection.cache
    def get_synonym_names(self, connection: Any, schema: str | None = None, **keywords: Any) -> list[str]:
        """The names of synonyms, which are reflected as the tables that they stand for."""
        return self._names(connection, _SYNONYMS, schema)

    @reflection.cache
    def get_sequence_names(self, connection: Any, schema: str | None = None, **keywords: Any) -> list[str]:
        return self._names(connection, [_SEQUENCE], schema)

    @reflection.cache
    def has_table(self, connection: Any, table_name: str, schema: str | None = None, **keywords: Any) -> bool:
        self._ensure_has_table_connection(connection)
        found: Found | None = self._found(connection, table_name, schema, **keywords)
        return found is not None and found.kind in (_TABLE, _VIEW)

    @reflection.cache
    def has_sequence(self, connection: Any, sequence_name: str, schema: str | None = None, **keywords: Any) -> bool:
        found: Found | None = self._found(connection, sequence_name, schema, **keywords)
        return found is not None and found.kind == _SEQUENCE

    # columns

    @reflection.cache
    def get_columns(self, connection: Any, table_name: str, schema: str | None = None, **keywords: Any) -> Any:
        number = self._number(connection, table_name, schema, **keywords)
        columns = []
        for name, kind, length, extended, default_kind, text in connection.exec_driver_sql(COLUMNS, (number,)):
            type_ = reflected(kind, length, extended)
            if type_ is None:
                util.warn(f"Did not recognize type {extended or kind & KIND!r} of column {name!r}")
                type_ = sqltypes.NULLTYPE
            columns.append(
                {
                    "name": name,
                    "type": type_,
                    "nullable": not kind & NOT_NULL,
                    "default": self._default(type_, default_kind, text),
                    "autoincrement": kind & KIND in SERIALS,
                }
            )
        return columns or ReflectionDefaults.columns()

    def _default(self, type_: Any, kind: str | None, text: str | None) -> str | None:
        """A default as SQL, by the class of it and the text that the catalog has."""
        if kind is None:
            return None
        if kind == "C":
            declared = self.type_compiler_instance.process(type_)
            return f"CURRENT {declared.partition(' ')[2]}"
        if kind != "L" or text is None:
            return _FUNCTIONS.get(kind)
        text = text.rstrip(" ")
        if isinstance(type_, (sqltypes.String, sqltypes.Boolean)):
            quoted = text.replace("'", "''")
            return f"'{quoted}'"
        return WITH_BINARY.sub("", text)

    # keys and indexes

    @reflection.cache
    def _indexes(self, connection: Any, *, number: int, **keywords: Any) -> Indexes:
        """The indexes of a table: whether they are unique, and their columns, each with whether it descends."""
        names: dict[int, str] = {at: name for at, name in connection.exec_driver_sql(COLUMN_NAMES, (number,))}  # noqa: C416
        return indexes(names, connection.exec_driver_sql(INDEXES, (number,)))

    @reflection.cache
    def _constraints(self, connection: Any, *, number: int, **keywords: Any) -> list[Any]:
        return list(connection.exec_driver_sql(CONSTRAINTS, (number,)))

    def _keys(self, connection: Any, number: int, kind: str, **keywords: Any) -> list[tuple[str, list[str], int, str]]:
        """The keys of a kind: name, columns, number, name of the index."""
        indexes = self._indexes(connection, number=number, **keywords)
        return [
            (name, [column for column, _ in indexes[index][1]], constraint, index)
            for constraint, name, own, index in self._constraints(connection, number=number, **keywords)
            if own == kind and index in indexes
        ]

    @reflection.cache
    def get_pk_constraint(self, connection: Any, table_name: str, schema: str | None = None, **keywords: Any) -> Any:
        number = self._number(connection, table_name, schema, **keywords)
        for name, columns, _, _ in self._keys(connection, number, "P", **keywords):
            return {"constrained_columns": columns, "name": name}
        return ReflectionDefaults.pk_constraint()

    @reflection.cache
    def get_unique_constraints(
        self, connection: Any, table_name: str, schema: str | None = None, **keywords: Any
    ) -> Any:
        number = self._number(connection, table_name, schema, **keywords)
        found = [
            {"name": name, "column_names": columns}
            for name, columns, _, _ in self._keys(connection, number, "U", **keywords)
        ]
        return found or ReflectionDefaults.unique_constraints()

    @reflection.cache
    def get_foreign_keys(self, connection: Any, table_name: str, schema: str | None = None, **keywords: Any) -> Any:
        number = self._number(connection, table_name, schema, **keywords)
        references = {row[0]: row[1:] for row in connection.exec_driver_sql(REFERENCES, (number,))}
        found = []
        for name, columns, constraint, _ in self._keys(connection, number, "R", **keywords):
            rule, parent, table, owner, index = references[constraint]
            referred = self._indexes(connection, number=parent, **keywords)[index][1]
            shown = None if schema is None and not self.is_ansi else owner.rstrip()
            found.append(
                {
                    "name": name,
                    "constrained_columns": columns,
                    "referred_schema": None if schema is None and shown == self.default_schema_name else shown,
                    "referred_table": table,
                    "referred_columns": [column for column, _ in referred],
                    "options": {"ondelete": "CASCADE"} if rule == "C" else {},
                }
            )
        return found or ReflectionDefaults.foreign_keys()

    @reflection.cache
    def get_indexes(self, connection: Any, table_name: str, schema: str | None = None, **keywords: Any) -> Any:
        number = self._number(connection, table_name, schema, **keywords)
        found = []
        for name, (kind, columns) in self._indexes(connection, number=number, **keywords).items():
            # The server's own names, of the indexes that constraints have, begin with a blank.
            if name.startswith(" ") or not columns:
                continue
            index: dict[str, Any] = {
                "name": name,
                "column_names": [column for column, _ in columns],
                "unique": kind.upper() == "U",
            }
            if descending := {column: ("desc",) for column, down in columns if down}:
                index["column_sorting"] = descending
            found.append(index)
        return found or ReflectionDefaults.indexes()

    @reflection.cache
    def get_check_constraints(
        self, connection: Any, table_name: str, schema: str | None = None, **keywords: Any
    ) -> Any:
        number = self._number(connection, table_name, schema, **keywords)
        texts = checks(connection.exec_driver_sql(CHECKS, (number,)))
        found = [
            {"name": name, "sqltext": _without_brackets(texts[constraint])}
            for constraint, name, kind, _ in self._constraints(connection, number=number, **keywords)
            if kind == "C"
        ]
        return found or ReflectionDefaults.check_constraints()

    @reflection.cache
    def get_table_options(self, connection: Any, table_name: str, schema: str | None = None, **keywords: Any) -> Any:
        self._number(connection, table_name, schema, **keywords)
        found: Found | None = self._found(connection, table_name, schema, **keywords)
        if found is not None and found.kind == _TABLE and found.lock_level == "R":
            return {"informix_lock_mode": "row"}
        return ReflectionDefaults.table_options()

    @reflection.cache
    def get_view_definition(self, connection: Any, view_name: str, schema: str | None = None, **keywords: Any) -> str:
        found: Found | None = self._found(connection, view_name, schema, **keywords)
        if found is None or found.kind != _VIEW:
            raise exc.NoSuchTableError(f"{schema}.{view_name}" if schema else view_name)
        sql = "SELECT viewtext FROM sysviews WHERE tabid = ? ORDER BY seqno"
        return _joined(connection.exec_driver_sql(sql, (found.number,)).all(), _VIEW_TEXT)


def _without_brackets(text: str) -> str:
    """A condition without the brackets around all of it."""
    while text.startswith("(") and text.endswith(")"):
        depth = 0
        for at, character in enumerate(text):
            depth += (character == "(") - (character == ")")
            if depth == 0 and at < len(text) - 1:
                return text
        text = text[1:-1].strip()
    return text
