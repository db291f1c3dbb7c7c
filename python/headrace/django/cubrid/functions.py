"""Expressions that CUBRID writes otherwise: Django asks them for ``as_cubrid``."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

from typing import Any, Final

from django.core.exceptions import FieldError
from django.db.models.expressions import DurationExpression, OrderBy
from django.db.models.fields.json import HasKeyLookup, KeyTextTransform, KeyTransform
from django.db.models.functions import ConcatPair, Now

from ..expressions import concatenated, written

_MILLISECOND: Final = 1_000
_SECOND: Final = 1_000_000
"""In microseconds."""


def _kind(expression: Any) -> str:
    try:
        name: str = expression.output_field.get_internal_type()
    except (AttributeError, FieldError):
        return ""
    return name


def _duration(self: Any, compiler: Any, connection: Any) -> tuple[str, Any]:
    """A sum of a time and a span, or the product of a span and a number.

    A number that is added to a DATETIME is one of milliseconds, and of seconds to a TIME.
    """
    kinds = {_kind(self.lhs), _kind(self.rhs)}
    unit = _SECOND if "TimeField" in kinds else _MILLISECOND
    is_sum = bool(kinds & {"DateField", "DateTimeField", "TimeField"})
    parts: list[str] = []
    values: list[Any] = []
    for side in (self.lhs, self.rhs):
        sql, params = compiler.compile(side)
        kind = _kind(side)
        if is_sum and kind == "DurationField":
            sql = f"CAST({sql} AS BIGINT) / {unit}"
        elif is_sum and kind == "DateField":
            sql = f"CAST({sql} AS DATETIME)"
        parts.append(sql)
        values += params
    return f"({connection.ops.combine_expression(self.connector, parts)})", values


def _has_key(self: Any, compiler: Any, connection: Any) -> tuple[str, Any]:
    """A path into JSON that is there. The function gives a number, which is no condition."""
    found: tuple[str, Any] = self.as_sql(compiler, connection, template="JSON_CONTAINS_PATH(%s, 'one', %s) = 1")
    return found


def _text_of_key(self: Any, compiler: Any, connection: Any) -> tuple[str, Any]:
    """A text inside of a document, without the quotes that it has there."""
    sql, params = KeyTransform.as_mysql(self, compiler, connection)
    return f"JSON_UNQUOTE({sql})", params


def _now(self: Any, compiler: Any, connection: Any) -> tuple[str, Any]:
    """The time in the zone of Django's connection: CURRENT_DATETIME is in that of the server's session."""
    template = f"NEW_TIME(CURRENT_DATETIME, SESSIONTIMEZONE, '{connection.ops.own_zone()}')"
    return self.as_sql(compiler, connection, template=template)  # type: ignore[no-any-return]


def install() -> None:
    """Lets these expressions be written for CUBRID, whose functions for JSON have MySQL's names."""
    of_mysql: Any = KeyTransform
    # EXISTS is no value that rows are ordered by.
    of_oracle: Any = OrderBy
    own = {DurationExpression: _duration, HasKeyLookup: _has_key, Now: _now, ConcatPair: concatenated}
    written("cubrid", {**own, of_mysql: of_mysql.as_mysql, of_oracle: of_oracle.as_oracle})
    written("cubrid", {KeyTextTransform: _text_of_key})
