"""SQL as Informix has it: queries and expressions."""

# The base classes are typed in part only.
# mypy: disable-error-code="no-untyped-call,no-any-return"
# pyright: basic, reportIncompatibleMethodOverride=false

from __future__ import annotations

from typing import Any

from sqlalchemy import cast, exc, select, util
from sqlalchemy.sql import compiler, elements, expression, sqltypes

from ...informix.catalog import ONE_ROW
from .._conditions import ConditionsCompiler
from .types import DATETIME, FINEST

FULL_PRECISION = 32
"""Digits of the longest DECIMAL."""


class InformixCompiler(ConditionsCompiler):
    """Queries, INSERT, UPDATE and DELETE."""

    compound_keywords = util.update_copy(
        compiler.SQLCompiler.compound_keywords,
        {expression.CompoundSelect.EXCEPT: "MINUS"},  # type: ignore[attr-defined]
    )

    _compound_index: int | None = None
    """Which of several queries begins."""

    # queries

    def visit_select(self, select_stmt: Any, *arguments: Any, **keywords: Any) -> str:
        self._compound_index = keywords.get("compound_index")
        return super().visit_select(select_stmt, *arguments, **keywords)

    def visit_compound_select(
        self, cs: Any, asfrom: bool = False, compound_index: int | None = None, **keywords: Any
    ) -> str:
        first = getattr(cs.selects[0], "element", cs.selects[0])
        if cs._has_row_limiting_clause and isinstance(first, expression.CompoundSelect):
            raise exc.CompileError("a limit of queries of which the first is several itself: make that a subquery")
        is_inside = bool(self.stack)
        text = super().visit_compound_select(cs, asfrom=asfrom, compound_index=compound_index, **keywords)
        if is_inside and not asfrom and compound_index is None:
            # "Union", IBM Informix Guide to SQL: Tutorial: within a statement it is in FROM only.
            return f"SELECT * FROM ({text}) AS queries"
        return text

    def default_from(self) -> str:
        return f" FROM {ONE_ROW}"

    def get_cte_preamble(self, recursive: bool) -> str:
        return "WITH"

    def translate_select_structure(self, select_stmt: Any, **keywords: Any) -> Any:
        """A limit inside of a statement is that of a derived table.

        "FIRST clause to select specific rows", IBM Informix Guide to SQL: Tutorial: not in a subquery, except in the
        FROM clause of the outer query.
        """
        if not self.stack or getattr(select_stmt, "_is_wrapped", False):
            return select_stmt
        is_one_of_several = isinstance(self.stack[-1]["selectable"], expression.CompoundSelect)
        if not select_stmt._has_row_limiting_clause:
            # One of several queries has no order, and would have it without a limit for nothing.
            return select_stmt.order_by(None) if is_one_of_several else select_stmt
        if keywords.get("asfrom") and not is_one_of_several:
            return select_stmt
        inner = select_stmt._generate()
        inner._is_wrapped = True
        # Where rows are inserted the names matter to nobody, and an expression may have none.
        return select(*inner.subquery().c).correlate(None)

    def visit_select_statement_grouping(self, grouping: Any, **keywords: Any) -> str:
        if keywords.get("compound_index") is not None and isinstance(grouping.element, expression.Select):
            # One of several queries has no brackets; its limit is inside of a derived table.
            return self.process(grouping.element, **keywords)
        return super().visit_select_statement_grouping(grouping, **keywords)

    def get_select_precolumns(self, select: Any, **keywords: Any) -> str:
        # "A FIRST clause", IBM Informix Guide to SQL: Tutorial: in the first of several queries it limits all of them.
        limited = self.stack[-2]["selectable"] if self._compound_index == 0 else select
        self._compound_index = None
        text = self._limits(limited, **keywords)
        return text + super().get_select_precolumns(select, **keywords)

    def _limits(self, select: Any, **keywords: Any) -> str:
        text = ""
        if select._fetch_clause_options and (
            select._fetch_clause_options["percent"] or select._fetch_clause_options["with_ties"]
        ):
            raise exc.CompileError("Informix has neither FETCH ... PERCENT nor WITH TIES")
        limit = select._limit_clause if select._fetch_clause is None else select._fetch_clause
        for word, clause in (("SKIP", select._offset_clause), ("FIRST", limit)):
            if clause is not None:
                text += f"{word} {self._row_count(clause, **keywords)} "
        return text

    def _row_count(self, clause: Any, **keywords: Any) -> str:
        if not isinstance(clause, elements.BindParameter):
            raise exc.CompileError("Informix takes numbers and parameters, and no expressions, for LIMIT and OFFSET")
        return self.process(clause, **{**keywords, "within_columns_clause": False})

    def _row_limit_clause(self, cs: Any, **keywords: Any) -> str:
        # The numbers are after the first SELECT.
        return ""

    def limit_clause(self, select: Any, **keywords: Any) -> str:
        return ""

    def for_update_clause(self, select: Any, **keywords: Any) -> str:
        wanted = select._for_update_arg
        if wanted.nowait or wanted.skip_locked:
            raise exc.CompileError("Informix waits for locks by SET LOCK MODE: set lock_wait of the connection")
        if wanted.read:
            # Isolation levels lock rows for reading, not statements.
            return ""
        text = " FOR UPDATE"
        if wanted.of is not None:
            columns = [one for one in wanted.of if isinstance(one, elements.ColumnElement)]
            if columns:
                text += f" OF {', '.join(self.preparer.format_column(column) for column in columns)}"
        return text

    def visit_frame_clause(self, frameclause: Any, **keywords: Any) -> str:
        # "OLAP window expressions", IBM Informix Guide to SQL: Syntax: the offsets are constants.
        return super().visit_frame_clause(frameclause, **{**keywords, "literal_execute": True})

    def _format_frame_clause(self, range_: Any, **keywords: Any) -> str:
        # The same of SQLAlchemy 2.0.
        return super()._format_frame_clause(  # type: ignore[misc,unused-ignore]
            range_, **{**keywords, "literal_execute": True}
        )

    def visit_sequence(self, sequence: Any, **keywords: Any) -> str:
        return f"{self.preparer.format_sequence(sequence)}.NEXTVAL"

    # expressions

    def visit_bindparam(  # type: ignore[override]
        self, bindparam: Any, within_columns_clause: bool = False, **keywords: Any
    ) -> str:
        is_cast = keywords.pop("is_cast", False)
        text = super().visit_bindparam(bindparam, within_columns_clause=within_columns_clause, **keywords)
        if (
            not within_columns_clause
            or is_cast
            or keywords.get("literal_binds")
            or keywords.get("literal_execute")
            or bindparam.expanding
        ):
            return text
        # A parameter in the list of a query has no type of its own.
        if isinstance(bindparam.type, sqltypes.NullType):
            return text
        return f"CAST({text} AS {self._type_of_cast(self._without_limit(bindparam.type))})"

    def _without_limit(self, type_: Any) -> Any:
        """The type of a value beside a column of this one: its precision or length would round or cut it."""
        impl = type_.dialect_impl(self.dialect)
        if isinstance(impl, sqltypes.Numeric) and not isinstance(impl, sqltypes.Float):
            return sqltypes.Numeric()
        return sqltypes.Text() if isinstance(impl, sqltypes.String) and not isinstance(impl, sqltypes.Enum) else type_

    def _type_of_cast(self, type_: Any) -> str:
        impl = type_.dialect_impl(self.dialect)
        if isinstance(impl, sqltypes.Numeric) and not isinstance(impl, sqltypes.Float) and impl.precision is None:
            return f"DECIMAL({FULL_PRECISION})"
        if isinstance(impl, (sqltypes.Text, sqltypes.CLOB)) or (
            isinstance(impl, sqltypes.String) and impl.length is None
        ):
            return "LVARCHAR"
        text: str = self.dialect.type_compiler_instance.process(impl)
        return text

    def visit_cast(self, cast: Any, **keywords: Any) -> str:
        value = cast.clause
        if isinstance(value, elements.BindParameter):
            keywords["is_cast"] = True
        text = self.process(value, **keywords)
        return f"CAST({text} AS {self._type_of_cast(cast.typeclause.type)})"

    def _label_select_column(self, select: Any, column: Any, *arguments: Any, **keywords: Any) -> Any:
        if isinstance(column, elements.Null):
            # A list of a query has no NULL without a type.
            column = cast(column, sqltypes.Integer)
        return super()._label_select_column(select, column, *arguments, **keywords)

    def visit_true(self, expr: Any, **keywords: Any) -> str:
        return "CAST('t' AS BOOLEAN)"

    def visit_false(self, expr: Any, **keywords: Any) -> str:
        return "CAST('f' AS BOOLEAN)"

    def visit_is_true_unary_operator(self, element: Any, operator: Any, **keywords: Any) -> str:
        text = self.process(element.element, **keywords)
        return text if element._is_implicitly_boolean else f"{text} = 't'"

    def visit_is_false_unary_operator(self, element: Any, operator: Any, **keywords: Any) -> str:
        text = self.process(element.element, **keywords)
        return f"NOT {text}" if element._is_implicitly_boolean else f"{text} = 'f'"

    def visit_mod_binary(self, binary: Any, operator: Any, **keywords: Any) -> str:
        return f"MOD({self.process(binary.left, **keywords)}, {self.process(binary.right, **keywords)})"

    def visit_is__binary(self, binary: Any, operator: Any, **keywords: Any) -> str:
        if isinstance(binary.right, elements.Null):
            return f"{self.process(binary.left, **keywords)} IS NULL"
        return self._is(binary, 1, **keywords)

    def visit_is_not_binary(self, binary: Any, operator: Any, **keywords: Any) -> str:
        if isinstance(binary.right, elements.Null):
            return f"{self.process(binary.left, **keywords)} IS NOT NULL"
        return self._is(binary, 0, **keywords)

    def _is(self, binary: Any, expected: int, **keywords: Any) -> str:
        # "IS NULL condition", IBM Informix Guide to SQL: Syntax: there is none for other values; and a condition is no
        # value that could be compared.
        left, right = binary.left, binary.right
        if isinstance(right, (elements.True_, elements.False_)):
            text = self.process(left, **keywords)
            if getattr(left, "_is_implicitly_boolean", False):
                condition = text if isinstance(right, elements.True_) else f"NOT {text}"
            else:
                condition = f"{text} = '{'t' if isinstance(right, elements.True_) else 'f'}'"
            return f"CASE WHEN {condition} THEN 1 ELSE 0 END = {expected}"
        return f"DECODE({self.process(left, **keywords)}, {self.process(right, **keywords)}, 1, 0) = {expected}"

    def visit_is_distinct_from_binary(self, binary: Any, operator: Any, **keywords: Any) -> str:
        # To DECODE a NULL is equal to another one.
        return f"DECODE({self.process(binary.left, **keywords)}, {self.process(binary.right, **keywords)}, 0, 1) = 1"

    def visit_is_not_distinct_from_binary(self, binary: Any, operator: Any, **keywords: Any) -> str:
        return f"DECODE({self.process(binary.left, **keywords)}, {self.process(binary.right, **keywords)}, 0, 1) = 0"

    def visit_empty_set_op_expr(self, type_: Any, expand_op: Any, **keywords: Any) -> str:
        return self.visit_empty_set_expr(type_, **keywords)

    def visit_empty_set_expr(self, element_types: Any, **keywords: Any) -> str:
        columns = ", ".join(
            f"CAST(NULL AS {self._type_of_cast(sqltypes.Integer() if isinstance(one, sqltypes.NullType) else one)})"
            for one in element_types or [sqltypes.Integer()]
        )
        return f"SELECT {columns} FROM {ONE_ROW} WHERE 1 = 0"

    def _bitwise(self, name: str, binary: Any, **keywords: Any) -> str:
        return f"{name}({self.process(binary.left, **keywords)}, {self.process(binary.right, **keywords)})"

    def visit_bitwise_and_op_binary(self, binary: Any, operator: Any, **keywords: Any) -> str:
        return self._bitwise("BITAND", binary, **keywords)

    def visit_bitwise_or_op_binary(self, binary: Any, operator: Any, **keywords: Any) -> str:
        return self._bitwise("BITOR", binary, **keywords)

    def visit_bitwise_xor_op_binary(self, binary: Any, operator: Any, **keywords: Any) -> str:
        return self._bitwise("BITXOR", binary, **keywords)

    def visit_bitwise_not_op_unary_operator(self, element: Any, operator: Any, **keywords: Any) -> str:
        return f"BITNOT({self.process(element.element, **keywords)})"

    # functions

    def visit_now_func(self, fn: Any, **keywords: Any) -> str:
        return current(fn.type)

    visit_current_timestamp_func = visit_now_func
    visit_localtimestamp_func = visit_now_func

    def visit_current_date_func(self, fn: Any, **keywords: Any) -> str:
        return "TODAY"

    def visit_current_time_func(self, fn: Any, **keywords: Any) -> str:
        return f"CURRENT HOUR TO {FINEST}"

    visit_localtime_func = visit_current_time_func

    def visit_current_user_func(self, fn: Any, **keywords: Any) -> str:
        return "USER"

    visit_session_user_func = visit_user_func = visit_current_user_func

    def visit_char_length_func(self, fn: Any, **keywords: Any) -> str:
        return f"CHAR_LENGTH{self.function_argspec(fn, **keywords)}"

    def visit_extract(self, extract: Any, **keywords: Any) -> str:
        text = self.process(extract.expr, **keywords)
        name = extract.field.lower()
        if name in ("year", "month", "day"):
            return f"{name.upper()}({text})"
        if name in ("hour", "minute", "second"):
            word = name.upper()
            return f"CAST(CAST(EXTEND({text}, {word} TO {word}) AS CHAR(2)) AS INTEGER)"
        if name in ("dow", "weekday"):
            return f"WEEKDAY({text})"
        if name == "quarter":
            return f"QUARTER({text})"
        raise exc.CompileError(f"Informix has no function for the {extract.field} of a date")

    def visit_aggregate_strings_func(self, fn: Any, **keywords: Any) -> str:
        raise exc.CompileError("Informix has no aggregate function for texts")

    # changes

    def visit_insert(self, insert_stmt: Any, *arguments: Any, **keywords: Any) -> str:
        text = super().visit_insert(insert_stmt, *arguments, **keywords)
        head, found, tail = text.partition(" DEFAULT VALUES")
        if not found:
            return text
        # There is no such clause: a SERIAL has its next number for a zero, all other columns their defaults.
        column = insert_stmt.table._autoincrement_column
        if column is None:
            raise exc.CompileError("Informix has no INSERT of default values alone, unless the table has a SERIAL")
        return f"{head} ({self.preparer.format_column(column)}) VALUES (0){tail}"


def current(type_: Any, largest: str = "YEAR") -> str:
    """The time of now with the units of a column, which a default must have."""
    if isinstance(type_, sqltypes.Date):
        return "TODAY"
    if isinstance(type_, DATETIME):
        return f"CURRENT {type_.largest} TO {type_.smallest}"
    if isinstance(type_, sqltypes.Time):
        return f"CURRENT HOUR TO {FINEST}"
    return f"CURRENT {largest} TO {FINEST}"
