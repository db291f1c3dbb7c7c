"""Definitions as Informix has them: tables, constraints, sequences, types, names."""

# The base classes are typed in part only.
# mypy: disable-error-code="no-untyped-call"
# pyright: basic, reportIncompatibleMethodOverride=false

from __future__ import annotations

from typing import Any

from sqlalchemy import exc
from sqlalchemy.schema import Sequence
from sqlalchemy.sql import compiler, elements, functions, sqltypes

from ...informix.catalog import LONGEST_VARCHAR
from .compiler import FULL_PRECISION, current
from .types import FINEST

NOT_THERE = ("NO ACTION", "RESTRICT")
"""What a foreign key does without a clause for it."""


class InformixDDLCompiler(compiler.DDLCompiler):
    """CREATE, ALTER and DROP."""

    def get_column_specification(self, column: Any, **keywords: Any) -> str:
        if column.computed is not None:
            raise exc.CompileError("Informix has no computed columns")
        text = f"{self.preparer.format_column(column)} "
        serial = self._serial(column)
        if serial is not None:
            return f"{text}{serial}"
        text += self.dialect.type_compiler_instance.process(column.type, type_expression=column)
        default = self.get_column_default_string(column)
        if default is not None:
            text += f" DEFAULT {default}"
        if not column.nullable:
            text += " NOT NULL"
        return text

    def _serial(self, column: Any) -> str | None:
        """The type of a column whose numbers the server generates, or None."""
        if (
            column.table is None
            or column is not column.table._autoincrement_column
            or (column.server_default is not None and column.identity is None)
            or (isinstance(column.default, Sequence) and not column.default.optional)
        ):
            return None
        type_ = column.type.dialect_impl(self.dialect)
        name: str = self.dialect.type_compiler_instance.process(type_)
        if "SERIAL" not in name:
            name = "BIGSERIAL" if isinstance(type_, sqltypes.BigInteger) else "SERIAL"
        if column.identity is not None and column.identity.start is not None:
            name = f"{name.partition('(')[0]}({column.identity.start})"
        return name

    def get_column_default_string(self, column: Any) -> str | None:
        default = column.server_default
        if default is None or not hasattr(default, "arg"):
            return None
        if isinstance(default.arg, (functions.now, functions.current_timestamp, functions.localtimestamp)):
            return current(column.type)
        if isinstance(default.arg, (elements.True_, elements.False_)):
            # A default is a literal.
            return "'t'" if isinstance(default.arg, elements.True_) else "'f'"
        return super().get_column_default_string(column)

    # Constraints have their names after them.

    def define_constraint_preamble(self, constraint: Any, **keywords: Any) -> str:
        return ""

    def _named(self, text: str, constraint: Any) -> str:
        name = None if constraint.name is None else self.preparer.format_constraint(constraint)
        return f"{text.rstrip()} CONSTRAINT {name}" if text and name is not None else text

    def visit_check_constraint(self, constraint: Any, **keywords: Any) -> str:
        return self._named(super().visit_check_constraint(constraint, **keywords), constraint)

    def visit_column_check_constraint(self, constraint: Any, **keywords: Any) -> str:
        return self._named(super().visit_column_check_constraint(constraint, **keywords), constraint)

    def visit_primary_key_constraint(self, constraint: Any, **keywords: Any) -> str:
        return self._named(super().visit_primary_key_constraint(constraint, **keywords), constraint)

    def visit_unique_constraint(self, constraint: Any, **keywords: Any) -> str:
        return self._named(super().visit_unique_constraint(constraint, **keywords), constraint)

    def visit_foreign_key_constraint(self, constraint: Any, **keywords: Any) -> str:
        return self._named(super().visit_foreign_key_constraint(constraint, **keywords), constraint)

    def visit_add_constraint(self, create: Any, **keywords: Any) -> str:
        table = self.preparer.format_table(create.element.table)
        return f"ALTER TABLE {table} ADD CONSTRAINT {self.process(create.element)}"

    def define_constraint_cascades(self, constraint: Any) -> str:
        updating, deleting = constraint.onupdate, constraint.ondelete
        if updating is not None and updating.upper() not in NOT_THERE:
            raise exc.CompileError("Informix has no ON UPDATE for foreign keys")
        if deleting is None or deleting.upper() in NOT_THERE:
            return ""
        if deleting.upper() != "CASCADE":
            raise exc.CompileError(f"Informix has ON DELETE CASCADE, and not ON DELETE {deleting.upper()}")
        return " ON DELETE CASCADE"

    def define_constraint_deferrability(self, constraint: Any) -> str:
        if (constraint.initially or "").upper() == "DEFERRED":
            raise exc.CompileError(
                "Informix defers constraints by SET CONSTRAINTS in a transaction, and not by default"
            )
        # Each can be deferred.
        return ""

    # tables, indexes

    def post_create_table(self, table: Any) -> str:
        # Another package may have a dialect of this name, whose options tables have then.
        options = table.dialect_options["informix"]
        text = ""
        if options.get("with_no_log"):
            text += " WITH NO LOG"
        if dbspace := options.get("in"):
            text += f" IN {dbspace}"
        for name in ("extent_size", "next_size"):
            if (size := options.get(name)) is not None:
                text += f" {name.replace('_', ' ').upper()} {int(size)}"
        if lock_mode := options.get("lock_mode"):
            mode = str(lock_mode).upper()
            if mode not in ("PAGE", "ROW"):
                raise exc.CompileError(f"informix_lock_mode={lock_mode!r} is neither 'row' nor 'page'")
            text += f" LOCK MODE {mode}"
        return text

    def visit_drop_index(self, drop: Any, **keywords: Any) -> str:
        clause = "IF EXISTS " if drop.if_exists else ""
        return f"DROP INDEX {clause}{self._prepared_index_name(drop.element, include_schema=True)}"

    # sequences

    def get_identity_options(self, identity_options: Any) -> str:
        text: str = super().get_identity_options(identity_options)
        return text.replace("NO MINVALUE", "NOMINVALUE").replace("NO MAXVALUE", "NOMAXVALUE").replace(
            "NO CYCLE", "NOCYCLE"
        )  # fmt: skip

    def visit_identity_column(self, identity: Any, **keywords: Any) -> str:
        return ""


class InformixTypeCompiler(compiler.GenericTypeCompiler):
    """The declarations of types."""

    def _text(self, name: str, type_: Any) -> str:
        if type_.length is None or type_.length > LONGEST_VARCHAR:
            return "LVARCHAR" if type_.length is None else f"LVARCHAR({type_.length})"
        return f"{name}({type_.length})"

    def visit_VARCHAR(self, type_: Any, **keywords: Any) -> str:
        return self._text("VARCHAR", type_)

    def visit_NVARCHAR(self, type_: Any, **keywords: Any) -> str:
        return self._text("NVARCHAR", type_)

    def visit_enum(self, type_: Any, **keywords: Any) -> str:
        # A length is one in bytes.
        return self._text("VARCHAR", sqltypes.String(max(len(name.encode()) for name in type_.enums)))

    def visit_unicode(self, type_: Any, **keywords: Any) -> str:
        return self._text("VARCHAR", type_)

    def visit_LVARCHAR(self, type_: Any, **keywords: Any) -> str:
        return "LVARCHAR" if type_.length is None else f"LVARCHAR({type_.length})"

    def visit_unicode_text(self, type_: Any, **keywords: Any) -> str:
        return "TEXT"

    def visit_TEXT(self, type_: Any, **keywords: Any) -> str:
        return "TEXT"

    def visit_large_binary(self, type_: Any, **keywords: Any) -> str:
        return "BYTE"

    def visit_BINARY(self, type_: Any, **keywords: Any) -> str:
        return "BYTE"

    visit_VARBINARY = visit_BINARY

    def visit_BYTE(self, type_: Any, **keywords: Any) -> str:
        return "BYTE"

    def visit_BIGINT(self, type_: Any, **keywords: Any) -> str:
        return "BIGINT"

    def visit_INT8(self, type_: Any, **keywords: Any) -> str:
        return "INT8"

    def _counted(self, name: str, type_: Any) -> str:
        return name if type_.start is None else f"{name}({type_.start})"

    def visit_SERIAL(self, type_: Any, **keywords: Any) -> str:
        return self._counted("SERIAL", type_)

    def visit_SERIAL8(self, type_: Any, **keywords: Any) -> str:
        return self._counted("SERIAL8", type_)

    def visit_BIGSERIAL(self, type_: Any, **keywords: Any) -> str:
        return self._counted("BIGSERIAL", type_)

    def visit_NUMERIC(self, type_: Any, **keywords: Any) -> str:
        return self.visit_DECIMAL(type_, **keywords)

    def visit_DECIMAL(self, type_: Any, **keywords: Any) -> str:
        if type_.precision is None:
            return "DECIMAL" if type_.scale is None else f"DECIMAL({FULL_PRECISION}, {type_.scale})"
        return f"DECIMAL({type_.precision})" if type_.scale is None else f"DECIMAL({type_.precision}, {type_.scale})"

    def visit_MONEY(self, type_: Any, **keywords: Any) -> str:
        if type_.precision is None:
            return "MONEY"
        return f"MONEY({type_.precision})" if type_.scale is None else f"MONEY({type_.precision}, {type_.scale})"

    def visit_FLOAT(self, type_: Any, **keywords: Any) -> str:
        return "FLOAT"

    def visit_DOUBLE(self, type_: Any, **keywords: Any) -> str:
        return "FLOAT"

    visit_DOUBLE_PRECISION = visit_DOUBLE

    def visit_REAL(self, type_: Any, **keywords: Any) -> str:
        return "SMALLFLOAT"

    visit_SMALLFLOAT = visit_REAL

    def visit_DATETIME(self, type_: Any, **keywords: Any) -> str:
        largest, smallest = getattr(type_, "largest", "YEAR"), getattr(type_, "smallest", FINEST)
        return f"DATETIME {largest} TO {smallest}"

    def visit_TIMESTAMP(self, type_: Any, **keywords: Any) -> str:
        return f"DATETIME YEAR TO {FINEST}"

    def visit_TIME(self, type_: Any, **keywords: Any) -> str:
        return f"DATETIME HOUR TO {FINEST}"

    def visit_JSON(self, type_: Any, **keywords: Any) -> str:
        return "JSON"

    def visit_INTERVAL(self, type_: Any, **keywords: Any) -> str:
        largest = type_.largest if type_.largest == type_.smallest and "(" in type_.largest else (
            f"{type_.largest}({type_.digits})"
        )  # fmt: skip
        return f"INTERVAL {largest} TO {type_.smallest}"


class InformixIdentifierPreparer(compiler.IdentifierPreparer):
    """Names, in quotes where they need them: the sessions of the dialect have DELIMIDENT set."""

    # What the server takes for something else where a name may stand: "Keywords of SQL for IBM Informix", Guide to SQL:
    # Syntax, has more, most of which it accepts as names.
    reserved_words = compiler.RESERVED_WORDS | {
        "add", "after", "alter", "any", "audit", "before", "begin", "between", "boolean", "by", "byte", "call",
        "close", "cluster", "column", "commit", "connect", "connect_by_root", "continue", "count", "current",
        "cursor", "database", "date", "datetime", "day", "dbinfo", "decimal", "declare", "define", "delete",
        "document", "drop", "each", "elif", "execute", "exists", "exit", "extend", "extent", "external", "fetch",
        "first", "float", "foreach", "fraction", "free", "function", "global", "go", "hex", "hour", "if", "index",
        "insert", "int", "int8", "integer", "interval", "last", "leave", "length", "let", "like", "limit", "list",
        "lock", "lvarchar", "matches", "mdy", "merge", "minus", "minute", "mode", "modify", "money", "month",
        "multiset", "national", "nchar", "next", "numeric", "nvarchar", "of", "open", "option", "out", "outer",
        "percent", "prepare", "prior", "procedure", "put", "raise", "real", "references", "rename", "return",
        "returning", "returns", "rollback", "row", "rowid", "rows", "savepoint", "second", "serial", "sets",
        "sitename", "skip", "smallfloat", "smallint", "start", "synonym", "sysdate", "temp", "text", "to", "today",
        "trigger", "truncate", "units", "unlock", "update", "values", "varchar", "view", "weekday", "while", "with",
        "work", "year",
    }  # fmt: skip
