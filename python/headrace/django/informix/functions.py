"""Expressions that Informix writes otherwise: Django asks them for ``as_informix``."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

import datetime
import decimal
from typing import Any, Final

from django.db.models import StdDev, Value, Variance
from django.db.models.functions import Now

from ..expressions import written

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
        return f"CAST(NULL AS {declared or 'INTEGER'})", params
    if sql != "%s" or len(params) != 1:
        return sql, params
    for kind, name in _TYPES:
        if isinstance(params[0], kind):
            return f"CAST(%s AS {name})", params
    return sql, params


def _now(self: Any, compiler: Any, connection: Any) -> tuple[str, Any]:
    return self.as_sql(compiler, connection, template="CURRENT YEAR TO FRACTION(5)")  # type: ignore[no-any-return]


def _spread(self: Any, compiler: Any, connection: Any) -> tuple[str, Any]:
    """Informix' own aggregates, which are of a population."""
    name = "STDEV" if isinstance(self, StdDev) else "VARIANCE"
    return self.as_sql(compiler, connection, function=name)  # type: ignore[no-any-return]


def install() -> None:
    """Lets these expressions be written for Informix."""
    written("informix", {Value: _value, Now: _now, StdDev: _spread, Variance: _spread})
