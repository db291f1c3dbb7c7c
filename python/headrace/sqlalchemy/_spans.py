"""Spans of time that are compared with MySQL's TIME columns, as the values of such a column that they are."""

# The base classes are typed in part only.
# pyright: basic, reportIncompatibleMethodOverride=false, reportIncompatibleVariableOverride=false

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from sqlalchemy import types as sqltypes
from sqlalchemy import util
from sqlalchemy.dialects.mysql.base import MySQLCompiler
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import BindParameter, ClauseList, ExpressionClauseList, Grouping
from sqlalchemy.sql.sqltypes import TupleType


def _binds(element: Any) -> Iterator[BindParameter[Any]]:
    """The parameters that an operand consists of: one, or those of ``BETWEEN`` and of lists."""
    if isinstance(element, BindParameter):
        yield element
    elif isinstance(element, Grouping):
        yield from _binds(element.element)
    elif isinstance(element, (ClauseList, ExpressionClauseList)):
        for each in element.clauses:
            yield from _binds(each)


def _has_span(column: Any, value: Any) -> bool:
    """True for a TIME and a timedelta, also within tuples."""
    if isinstance(column, TupleType) and isinstance(value, TupleType) and len(column.types) == len(value.types):
        return any(map(_has_span, column.types, value.types))
    return isinstance(column, sqltypes.Time) and isinstance(value, sqltypes.Interval)


class SpanCompiler(MySQLCompiler):
    """SQLAlchemy takes a timedelta for an Interval, which MySQL has as a DATETIME since 1970: no TIME equals it."""

    _spans: Mapping[Any, Any] = MappingProxyType({})
    """The type of what a parameter is compared with."""

    def _compare(self, one: Any, other: Any) -> None:
        found = {bind: one.type for bind in _binds(other) if _has_span(one.type, bind.type)}
        self._spans = {**self._spans, **found}

    def visit_binary(self, binary: Any, *arguments: Any, **keywords: Any) -> Any:
        self._compare(binary.left, binary.right)
        self._compare(binary.right, binary.left)
        return super().visit_binary(binary, *arguments, **keywords)  # type: ignore[no-untyped-call]

    def visit_case(self, clause: Any, **keywords: Any) -> Any:
        if clause.value is not None:
            for condition, _ in clause.whens:
                self._compare(clause.value, condition)
        return super().visit_case(clause, **keywords)  # type: ignore[no-untyped-call]

    @util.memoized_property
    def _bind_processors(self) -> Any:
        processors: dict[Any, Any] = dict(SQLCompiler._bind_processors.fget(self))
        for bind, type_ in self._spans.items():
            name = self.bind_names.get(bind)
            if isinstance(type_, TupleType) and name in processors:
                pairs = zip(processors[name], type_.types, bind.type.types, strict=True)
                processors[name] = tuple(None if _has_span(one, other) else process for process, one, other in pairs)
            else:
                processors.pop(name, None)
        return processors
