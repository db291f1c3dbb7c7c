"""SQL and definitions as CUBRID has them."""

# The base classes are typed in part only.
# mypy: disable-error-code="no-untyped-call,no-any-return"
# pyright: basic, reportIncompatibleMethodOverride=false

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import exc
from sqlalchemy.schema import Sequence
from sqlalchemy.sql import compiler, elements, functions, sqltypes

from ...cubrid.catalog import LARGEST_LIMIT
from .._conditions import ConditionsCompiler
from .types import quoted

RESERVED = """
absolute action add after all allocate alter and any are as asc assertion async at attach attribute avg before between
bigint bit bit_length blob boolean both breadth by call cascade cascaded case cast catalog change check class classes
clob close cluster coalesce collate column commit completion connect connect_by_iscycle connect_by_isleaf
connect_by_root connection constraint constraints continue convert corresponding count create cross current
current_date current_datetime current_time current_timestamp current_user cursor cycle data data_type database date
datetime day day_hour day_millisecond day_minute day_second deallocate dec decimal declare deferrable deferred delete
depth desc describe descriptor diagnostics dictionary difference disconnect distinct distinctrow div domain double
drop duplicate each else elseif end equals escape evaluate except exception exec execute exists external extract false
fetch file first float for foreign found from full function general get global go goto grant group having hour
hour_millisecond hour_minute hour_second identity if ignore immediate in index indicator inherit inner inout
insensitive insert int integer intersect intersection interval into is isolation join key language last leading leave
left less level like limit list local loop lower match max method millisecond min minute minute_millisecond
minute_second mod modify module monetary month multiset multiset_of na names national natural nchar next no none not
null nullif numeric object octet_length of off oid old on only open operation operators optimization option or order
others out outer output over overlaps parameters partial pendant position precision prepare preserve primary prior
private privileges procedure protected proxy query read real recursive ref references referencing register relative
rename replace resignal restrict return returns revoke right role rollback rollup routine row rownum rows savepoint
schema scope scroll search second second_millisecond section select sensitive sequence sequence_of serializable
session set set_of setneq setof shared short siblings signal similar size smallint some sql sqlcode sqlerror
sqlexception sqlstate sqlwarning statistics string structure subclass subset subseteq substring sum superclass
superset superseteq sysdate sysdatetime system_user systime table temporary then there time timestamp timezone_hour
timezone_minute to trailing transaction translate translation trigger trim true truncate type under union unique
unknown update upper usage use user using utime value values varchar variable varying vclass view virtual visible wait
when whenever where while with without work write xor year year_month zone
"""
""""Reserved Words" of the CUBRID manual, and more: a name in quotes is the same name."""


class CubridCompiler(ConditionsCompiler):
    """Queries, INSERT, UPDATE and DELETE."""

    _is_filtered = False
    """True while a SELECT is written that has conditions or groups."""

    def _compose_select_body(self, text: str, select_stmt: Any, *rest: Any) -> str:
        self._is_filtered = bool(select_stmt._where_criteria or select_stmt._group_by_clauses)
        return super()._compose_select_body(text, select_stmt, *rest)

    def render_literal_value(self, value: Any, type_: Any) -> str:
        text = super().render_literal_value(value, type_)
        if text.startswith("'"):
            # After both kinds of quotes the lexer of 11.3 loses a backslash before a character of several bytes.
            joined = re.sub(r"\\(?=[^\x00-\x7f])", "',CHR(92),'", text)
            return text if joined == text else f"CONCAT({joined})"
        return text

    def default_from(self) -> str:
        # "SELECT", CUBRID manual: without FROM there is no WHERE; this table has one row.
        return " FROM db_root" if self._is_filtered else ""

    def limit_clause(self, select: Any, **keywords: Any) -> str:
        return self._limits(select._limit_clause, select._offset_clause, **keywords)

    def _limits(self, limit: Any, offset: Any, **keywords: Any) -> str:
        if limit is None and offset is None:
            return ""
        text = str(LARGEST_LIMIT) if limit is None else self.process(limit, **keywords)
        # "LIMIT Clause", CUBRID manual: the offset comes first.
        return f" LIMIT {text}" if offset is None else f" LIMIT {self.process(offset, **keywords)}, {text}"

    def fetch_clause(
        self,
        select: Any,
        fetch_clause: Any = None,
        require_offset: bool = False,
        use_literal_execute_for_simple_int: bool = False,
        **keywords: Any,
    ) -> str:
        options = select._fetch_clause_options
        if options["percent"] or options["with_ties"]:
            raise exc.CompileError("CUBRID has neither FETCH ... PERCENT nor WITH TIES")
        return self._limits(select._fetch_clause, select._offset_clause, **keywords)

    def for_update_clause(self, select: Any, **keywords: Any) -> str:
        wanted = select._for_update_arg
        if wanted.nowait or wanted.skip_locked:
            raise exc.CompileError("CUBRID waits for locks by lock_timeout of the connection")
        return "" if wanted.read else " FOR UPDATE"

    def visit_sequence(self, sequence: Any, **keywords: Any) -> str:
        return f"{self.preparer.format_sequence(sequence)}.NEXT_VALUE"

    def visit_true(self, expr: Any, **keywords: Any) -> str:
        return "1"

    def visit_false(self, expr: Any, **keywords: Any) -> str:
        return "0"

    def visit_mod_binary(self, binary: Any, operator: Any, **keywords: Any) -> str:
        return f"MOD({self.process(binary.left, **keywords)}, {self.process(binary.right, **keywords)})"

    def visit_truediv_binary(self, binary: Any, operator: Any, **keywords: Any) -> str:
        kinds = {side.type._type_affinity for side in (binary.left, binary.right)}
        left, right = (self.process(side, **keywords) for side in (binary.left, binary.right))
        if not kinds & {sqltypes.Numeric, sqltypes.Float}:
            # The quotient of whole numbers is a whole number.
            right = f"CAST({right} AS DOUBLE)"
        return f"{left} / {right}"

    def visit_is__binary(self, binary: Any, operator: Any, **keywords: Any) -> str:
        if isinstance(binary.right, elements.Null):
            return f"{self.process(binary.left, **keywords)} IS NULL"
        # "Comparison Operators", CUBRID manual: IS is for NULL alone.
        return self.visit_is_not_distinct_from_binary(binary, operator, **keywords)

    def visit_is_not_binary(self, binary: Any, operator: Any, **keywords: Any) -> str:
        if isinstance(binary.right, elements.Null):
            return f"{self.process(binary.left, **keywords)} IS NOT NULL"
        return self.visit_is_distinct_from_binary(binary, operator, **keywords)

    def visit_is_distinct_from_binary(self, binary: Any, operator: Any, **keywords: Any) -> str:
        # NOT is for conditions, and not for what is selected.
        return f"({self.process(binary.left, **keywords)} <=> {self.process(binary.right, **keywords)}) = 0"

    def visit_is_not_distinct_from_binary(self, binary: Any, operator: Any, **keywords: Any) -> str:
        return f"{self.process(binary.left, **keywords)} <=> {self.process(binary.right, **keywords)}"

    def visit_empty_set_op_expr(self, type_: Any, expand_op: Any, **keywords: Any) -> str:
        return self.visit_empty_set_expr(type_)

    def visit_empty_set_expr(self, element_types: Any, **keywords: Any) -> str:
        return f"SELECT {', '.join('1' for _ in element_types or [1])} FROM db_root WHERE 1 = 0"

    def visit_cast(self, cast: Any, **keywords: Any) -> str:
        type_ = cast.typeclause.type.dialect_impl(self.dialect)
        declared = self.dialect.type_compiler_instance.process(type_)
        return f"CAST({self.process(cast.clause, **keywords)} AS {declared})"

    def visit_now_func(self, fn: Any, **keywords: Any) -> str:
        return "CURRENT_DATETIME"

    visit_current_timestamp_func = visit_localtimestamp_func = visit_now_func

    def visit_char_length_func(self, fn: Any, **keywords: Any) -> str:
        return f"CHAR_LENGTH{self.function_argspec(fn, **keywords)}"

    def visit_aggregate_strings_func(self, fn: Any, **keywords: Any) -> str:
        keywords.pop("use_function_name", None)
        value, separator = fn.clauses
        # The clause takes plain literals only.
        given = separator.value if isinstance(separator, elements.BindParameter) else None
        text = quoted(given) if isinstance(given, str) else self.process(separator, literal_binds=True)
        return f"GROUP_CONCAT({self.process(value, **keywords)} SEPARATOR {text})"

    def visit_join(self, join: Any, asfrom: bool = False, from_linter: Any = None, **keywords: Any) -> str:
        if join.full:
            raise exc.CompileError("CUBRID has no FULL OUTER JOIN")
        return super().visit_join(join, asfrom=asfrom, from_linter=from_linter, **keywords)

    # JSON

    def visit_json_getitem_op_binary(self, binary: Any, operator: Any, **keywords: Any) -> str:
        found = f"JSON_EXTRACT({self.process(binary.left, **keywords)}, {self.process(binary.right, **keywords)})"
        kind = binary.type._type_affinity
        if kind is sqltypes.JSON:
            return found
        if kind is sqltypes.Boolean:
            words = f"CASE JSON_UNQUOTE({found}) WHEN 'true' THEN 1 WHEN 'false' THEN 0"
            return f"{words} ELSE CAST({found} AS BIGINT) END"
        if kind is sqltypes.Integer:
            value = f"CAST({found} AS BIGINT)"
        elif kind in (sqltypes.Numeric, sqltypes.Float):
            exact = getattr(binary.type, "scale", None) is not None
            declared = self.dialect.type_compiler_instance.process(binary.type) if exact else "DOUBLE"
            value = f"CAST({found} AS {declared})"
        else:
            value = f"JSON_UNQUOTE({found})"
        return f"CASE JSON_TYPE({found}) WHEN 'NULL' THEN NULL ELSE {value} END"

    visit_json_path_getitem_op_binary = visit_json_getitem_op_binary

    # patterns

    def _matches(self, binary: Any, word: str, **keywords: Any) -> str:
        flags = binary.modifiers["flags"]
        if flags not in (None, "", "i"):
            raise exc.CompileError("CUBRID's REGEXP has no flags but 'i'")
        # "Regular Expressions Functions and Operators", CUBRID manual: without BINARY upper and lower case are one.
        binary_word = "" if flags else "BINARY "
        return f"{self.process(binary.left, **keywords)} {word} {binary_word}{self.process(binary.right, **keywords)}"

    def visit_regexp_match_op_binary(self, binary: Any, operator: Any, **keywords: Any) -> str:
        return self._matches(binary, "REGEXP", **keywords)

    def visit_not_regexp_match_op_binary(self, binary: Any, operator: Any, **keywords: Any) -> str:
        return self._matches(binary, "NOT REGEXP", **keywords)

    def visit_regexp_replace_op_binary(self, binary: Any, operator: Any, **keywords: Any) -> str:
        flags = binary.modifiers["flags"]
        if flags not in (None, "", "i", "c"):
            raise exc.CompileError("CUBRID's REGEXP_REPLACE has the flags 'c' and 'i'")
        value, arguments = (self.process(side, **keywords) for side in (binary.left, binary.right))
        # From the first character on, all occurrences.
        return f"REGEXP_REPLACE({value}, {arguments}, 1, 0, '{flags or 'c'}')"

    # changes of several tables

    render_table_with_column_in_update_from = True

    def update_tables_clause(self, update_stmt: Any, from_table: Any, extra_froms: Any, **kw: Any) -> str:
        kw["asfrom"] = True
        return ", ".join(self.process(table, **kw) for table in (from_table, *extra_froms))

    def update_from_clause(self, update_stmt: Any, from_table: Any, extra_froms: Any, *rest: Any, **kw: Any) -> None:
        # The tables are all before SET.
        return None

    def delete_extra_from_clause(
        self, delete_stmt: Any, from_table: Any, extra_froms: Any, from_hints: Any, **kw: Any
    ) -> str:
        kw.update(asfrom=True, fromhints=from_hints)
        return f"USING {', '.join(self.process(table, **kw) for table in (from_table, *extra_froms))}"

    def visit_insert(self, insert_stmt: Any, *arguments: Any, **keywords: Any) -> str:
        text = super().visit_insert(insert_stmt, *arguments, **keywords)
        return text.replace(" DEFAULT VALUES", " DEFAULT")


class CubridDDLCompiler(compiler.DDLCompiler):
    """CREATE, ALTER and DROP."""

    def get_column_specification(self, column: Any, **keywords: Any) -> str:
        if column.computed is not None:
            raise exc.CompileError("CUBRID has no computed columns")
        text = f"{self.preparer.format_column(column)} "
        text += self.dialect.type_compiler_instance.process(column.type, type_expression=column)
        default = self.get_column_default_string(column)
        if default is not None:
            text += f" DEFAULT {default}"
        counted = (
            column.table is not None
            and column is column.table._autoincrement_column
            and (column.server_default is None or column.identity is not None)
            and not (isinstance(column.default, Sequence) and not column.default.optional)
        )
        if counted:
            identity = column.identity
            start = None if identity is None else identity.start
            step = None if identity is None else identity.increment
            text += (
                " AUTO_INCREMENT" if start is None and step is None else f" AUTO_INCREMENT({start or 1}, {step or 1})"
            )
        if not column.nullable:
            text += " NOT NULL"
        if column.comment is not None:
            text += f" COMMENT {quoted(column.comment)}"
        return text

    def get_column_default_string(self, column: Any) -> str | None:
        default = column.server_default
        if default is None or not hasattr(default, "arg"):
            return None
        if isinstance(default.arg, (functions.now, functions.current_timestamp, functions.localtimestamp)):
            is_time = isinstance(column.type, sqltypes.TIMESTAMP)
            return "CURRENT_TIMESTAMP" if is_time else "CURRENT_DATETIME"
        # The clauses of DDL take plain literals only.
        return quoted(default.arg) if isinstance(default.arg, str) else super().get_column_default_string(column)

    def visit_identity_column(self, identity: Any, **keywords: Any) -> str:
        return ""

    def post_create_table(self, table: Any) -> str:
        text = ""
        options = table.dialect_options["cubrid"]
        # Another package may have a dialect of this name, whose options tables have then.
        if (reuses := options.get("reuse_oid")) is not None:
            text += " REUSE_OID" if reuses else " DONT_REUSE_OID"
        if table.comment is not None:
            text += f" COMMENT = {quoted(table.comment)}"
        return text

    def visit_drop_index(self, drop: Any, **keywords: Any) -> str:
        index = drop.element
        name = self._prepared_index_name(index, include_schema=False)
        return f"DROP INDEX {name} ON {self.preparer.format_table(index.table)}"

    def define_constraint_cascades(self, constraint: Any) -> str:
        if (constraint.onupdate or "").upper() == "CASCADE":
            raise exc.CompileError("CUBRID has no ON UPDATE CASCADE")
        return super().define_constraint_cascades(constraint)

    def define_constraint_deferrability(self, constraint: Any) -> str:
        if constraint.deferrable or (constraint.initially or "").upper() == "DEFERRED":
            raise exc.CompileError("CUBRID defers no constraints")
        return ""

    def visit_set_table_comment(self, create: Any, **keywords: Any) -> str:
        return f"ALTER TABLE {self.preparer.format_table(create.element)} COMMENT = {quoted(create.element.comment)}"

    def visit_drop_table_comment(self, drop: Any, **keywords: Any) -> str:
        return f"ALTER TABLE {self.preparer.format_table(drop.element)} COMMENT = ''"

    # sequences are serials

    def visit_create_sequence(self, create: Any, prefix: Any = None, **keywords: Any) -> str:
        text = super().visit_create_sequence(create, prefix=prefix, **keywords)
        return text.replace("CREATE SEQUENCE", "CREATE SERIAL", 1).replace("IF NOT EXISTS ", "")

    def visit_drop_sequence(self, drop: Any, **keywords: Any) -> str:
        return f"DROP SERIAL {self.preparer.format_sequence(drop.element)}"

    def get_identity_options(self, identity_options: Any) -> str:
        text: str = super().get_identity_options(identity_options)
        for word in ("MINVALUE", "MAXVALUE", "CYCLE"):
            text = text.replace(f"NO {word}", f"NO{word}")
        return text


class CubridTypeCompiler(compiler.GenericTypeCompiler):
    """The declarations of types."""

    def visit_boolean(self, type_: Any, **keywords: Any) -> str:
        return "SMALLINT"

    visit_BOOLEAN = visit_boolean

    def visit_VARCHAR(self, type_: Any, **keywords: Any) -> str:
        return "VARCHAR" if type_.length is None else f"VARCHAR({type_.length})"

    def visit_unicode(self, type_: Any, **keywords: Any) -> str:
        return self.visit_VARCHAR(type_, **keywords)

    def visit_NVARCHAR(self, type_: Any, **keywords: Any) -> str:
        return "NCHAR VARYING" if type_.length is None else f"NCHAR VARYING({type_.length})"

    def visit_TEXT(self, type_: Any, **keywords: Any) -> str:
        return "STRING"

    visit_text = visit_unicode_text = visit_TEXT

    def visit_large_binary(self, type_: Any, **keywords: Any) -> str:
        return "BIT VARYING" if type_.length is None else f"BIT VARYING({8 * type_.length})"

    visit_VARBINARY = visit_BINARY = visit_large_binary

    def visit_double(self, type_: Any, **keywords: Any) -> str:
        return "DOUBLE"

    visit_DOUBLE = visit_DOUBLE_PRECISION = visit_double

    def visit_FLOAT(self, type_: Any, **keywords: Any) -> str:
        # A FLOAT has 32 bits, Python's has 64.
        return "DOUBLE" if type_.precision is None or type_.precision > 24 else "FLOAT"

    def visit_REAL(self, type_: Any, **keywords: Any) -> str:
        return "FLOAT"

    def visit_MONETARY(self, type_: Any, **keywords: Any) -> str:
        return "MONETARY"

    def visit_NUMERIC(self, type_: Any, **keywords: Any) -> str:
        if type_.precision is None:
            return f"NUMERIC(38, {10 if type_.scale is None else type_.scale})"
        return f"NUMERIC({type_.precision}, {type_.scale or 0})"

    visit_DECIMAL = visit_NUMERIC

    def visit_DATETIME(self, type_: Any, **keywords: Any) -> str:
        return "DATETIMETZ" if type_.timezone else "DATETIME"

    def visit_datetime(self, type_: Any, **keywords: Any) -> str:
        return self.visit_DATETIME(type_, **keywords)

    def visit_DATETIMETZ(self, type_: Any, **keywords: Any) -> str:
        return "DATETIMETZ"

    def visit_DATETIMELTZ(self, type_: Any, **keywords: Any) -> str:
        return "DATETIMELTZ"

    def visit_TIMESTAMP(self, type_: Any, **keywords: Any) -> str:
        return "TIMESTAMPTZ" if type_.timezone else "TIMESTAMP"

    def visit_TIME(self, type_: Any, **keywords: Any) -> str:
        return "TIME"

    def visit_JSON(self, type_: Any, **keywords: Any) -> str:
        return "JSON"

    def visit_enum(self, type_: Any, **keywords: Any) -> str:
        if not type_.native_enum:
            return super().visit_enum(type_, **keywords)
        return self.visit_ENUM(type_, **keywords)

    def visit_ENUM(self, type_: Any, **keywords: Any) -> str:
        names = ", ".join(map(quoted, type_.enums))
        return f"ENUM({names})"


class CubridIdentifierPreparer(compiler.IdentifierPreparer):
    """Names, which are lower case whether they are in quotes or not."""

    reserved_words = compiler.RESERVED_WORDS | frozenset(RESERVED.split())
