"""Expressions that Informix writes otherwise: Django asks them for ``as_informix``."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

import datetime
import decimal
from typing import Any, Final

from django.core.exceptions import FieldError
from django.db import NotSupportedError
from django.db.models import StdDev, Value, Variance
from django.db.models.expressions import DurationExpression
from django.db.models.fields.json import HasKeyLookup, JSONExact, JSONIContains, KeyTransform
from django.db.models.functions import Ceil, ConcatPair, Ln, Now

from ..expressions import concatenated, written

_TYPES: Final[tuple[tuple[type, str], ...]] = (
    (bool, "BOOLEAN"),
    (int, "BIGINT"),
    (float, "FLOAT"),
    (decimal.Decimal, "DECIMAL(32)"),
    (datetime.datetime, "DATETIME YEAR TO FRACTION(5)"),
    (datetime.date, "DATE"),
    (datetime.time, "DATETIME HOUR TO FRACTION(5)"),
    (datetime.timedelta, "BIGINT"),
    (str, "LVARCHAR"),
)


def _value(self: Any, compiler: Any, connection: Any) -> tuple[str, Any]:
    """A parameter, which has no type of its own in the list of a query."""
    sql, params = self.as_sql(compiler, connection)
    if sql == "NULL":
        field = self._output_field_or_none
        declared = field.cast_db_type(connection) if field is not None else None
        return (f"CAST(NULL AS {declared})" if declared else sql), params
    if sql != "%s" or len(params) != 1:
        return sql, params
    for kind, name in _TYPES:
        if isinstance(params[0], kind):
            return f"CAST(%s AS {name})", params
    return sql, params


def _now(self: Any, compiler: Any, connection: Any) -> tuple[str, Any]:
    return self.as_sql(compiler, connection, template="CURRENT YEAR TO FRACTION(5)")  # type: ignore[no-any-return]


def _spread(self: Any, compiler: Any, connection: Any) -> tuple[str, Any]:
    """VARIANCE is that of a sample: of all rows it is smaller."""
    is_deviation = isinstance(self, StdDev)
    if self.function.endswith("_SAMP"):
        return self.as_sql(compiler, connection, function="STDEV" if is_deviation else "VARIANCE")  # type: ignore[no-any-return]
    text = "VARIANCE(%(expressions)s) * (COUNT(%(expressions)s) - 1) / COUNT(%(expressions)s)"
    sql, params = self.as_sql(compiler, connection, template=f"SQRT({text})" if is_deviation else f"({text})")
    return sql, (*params, *params, *params)


def _duration(self: Any, compiler: Any, connection: Any) -> tuple[str, Any]:
    """The product of a span of time and a number: a span is a number of microseconds."""
    kinds = set()
    parts, values = [], []
    for side in (self.lhs, self.rhs):
        try:
            kinds.add(side.output_field.get_internal_type())
        except (AttributeError, FieldError):
            kinds.add("")
        sql, params = compiler.compile(side)
        parts.append(sql)
        values += params
    if kinds & {"DateField", "DateTimeField", "TimeField"}:
        raise NotSupportedError("A span of time is a number of microseconds, which Informix adds to no DATETIME.")
    return f"({connection.ops.combine_expression(self.connector, parts)})", values


def _ceil(self: Any, compiler: Any, connection: Any) -> tuple[str, Any]:
    return self.as_sql(compiler, connection, function="CEIL")  # type: ignore[no-any-return]


def _ln(self: Any, compiler: Any, connection: Any) -> tuple[str, Any]:
    return self.as_sql(compiler, connection, function="LOGN")  # type: ignore[no-any-return]


def _inside(self: Any, compiler: Any, connection: Any) -> tuple[str, Any]:
    raise NotSupportedError("Informix compares no JSON documents, and Django's paths into them are not written for it.")


def install() -> None:
    """Lets these expressions be written for Informix."""
    written("informix", {Value: _value, Now: _now, StdDev: _spread, Variance: _spread, DurationExpression: _duration})
    written("informix", {ConcatPair: concatenated, Ceil: _ceil, Ln: _ln})
    written("informix", dict.fromkeys((HasKeyLookup, JSONExact, JSONIContains, KeyTransform), _inside))
