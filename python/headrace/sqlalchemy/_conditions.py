"""CASE where a column of the type Boolean is no condition: on CUBRID, which has SMALLINTs, and on Informix."""

# The base classes are typed in part only.
# mypy: disable-error-code="no-untyped-call,no-any-return"
# pyright: basic, reportIncompatibleMethodOverride=false

from __future__ import annotations

from typing import Any

from sqlalchemy import text
from sqlalchemy.sql import compiler, elements, operators


class ConditionsCompiler(compiler.SQLCompiler):
    """Writes what WHEN asks for as WHERE has it: SQLAlchemy does it there only."""

    def visit_case(self, clause: Any, **keywords: Any) -> str:
        """Writes a CASE, of which each WHEN has a condition, or a value that the first is compared with."""
        if clause.value is None:
            clause = clause._clone()
            clause.whens = [(_condition(when), result) for when, result in clause.whens]
        return super().visit_case(clause, **keywords)


def _condition(when: Any) -> Any:
    if isinstance(when, elements.True_):
        return text("1 = 1")
    if isinstance(when, elements.False_):
        return text("0 = 1")
    return when.self_group(against=operators._asbool)
