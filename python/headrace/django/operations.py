"""What the SQL of Informix and CUBRID has in common: there is no type of conditions, and none of times with a zone."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Mapping
from typing import Any

from django import conf
from django.db.backends.base.operations import BaseDatabaseOperations
from django.db.models import Exists, ExpressionWrapper, Lookup
from django.db.models.sql.where import WhereNode
from django.utils import timezone


class ZonelessOperations(BaseDatabaseOperations):
    """Values and conditions."""

    microseconds = 1
    """Microseconds of the finest unit of time."""

    def quote_name(self, name: str) -> str:
        """Returns a name in quotes."""
        return name if name.startswith('"') and name.endswith('"') else f'"{name}"'

    def conditional_expression_supported_in_where_clause(self, expression: Any) -> bool:
        """Returns true for a condition; what is a value is compared with a true one."""
        if isinstance(expression, (Exists, Lookup, WhereNode)):
            return True
        if isinstance(expression, ExpressionWrapper) and expression.conditional:
            return self.conditional_expression_supported_in_where_clause(expression.expression)
        return False

    def last_executed_query(self, cursor: Any, sql: Any, params: Any) -> str:
        """Returns a statement with its values, to be read: it was not sent so."""
        sql, params = getattr(cursor, "executed", None) or (sql, params)
        text = str(sql)
        if not params:
            return text % () if params is not None and "%" in text else text
        quote = self.connection.schema_editor().quote_value
        if isinstance(params, Mapping):
            shown: Any = {name: quote(value) for name, value in params.items()}
        else:
            shown = tuple(quote(value) for value in params)
        written: str = text % shown
        return written

    # values

    def adapt_datefield_value(self, value: Any) -> Any:
        """Returns the date."""
        return value

    def adapt_datetimefield_value(self, value: Any) -> Any:
        """Returns the time in the connection's zone, without one."""
        if value is None or hasattr(value, "resolve_expression"):
            return value
        if timezone.is_aware(value):
            if not conf.settings.USE_TZ:
                name = self.connection.display_name
                raise ValueError(f"{name} backend does not support timezone-aware datetimes when USE_TZ is False.")
            value = timezone.make_naive(value, self.connection.timezone)
        return self._in_units(value)

    def adapt_timefield_value(self, value: Any) -> Any:
        """Returns the time of day."""
        if value is None or hasattr(value, "resolve_expression"):
            return value
        if timezone.is_aware(value):
            raise ValueError(f"{self.connection.display_name} backend does not support timezone-aware times.")
        return self._in_units(value)

    def _in_units(self, value: datetime.datetime | datetime.time) -> Any:
        return value.replace(microsecond=value.microsecond // self.microseconds * self.microseconds)

    def convert_durationfield_value(self, value: Any, expression: Any, connection: Any) -> Any:
        """Returns a span of time, of its microseconds: a product with a fraction is one."""
        return value if value is None else datetime.timedelta(microseconds=round(value))

    def get_db_converters(self, expression: Any) -> list[Any]:
        """Returns what makes a field's values of those that the driver returns."""
        converters: list[Any] = super().get_db_converters(expression)
        kind = expression.output_field.get_internal_type()
        if kind == "BooleanField":
            converters.append(_boolean)
        elif kind == "DateTimeField" and conf.settings.USE_TZ:
            converters.append(_aware)
        elif kind == "UUIDField":
            converters.append(_uuid)
        elif kind == "DecimalField":
            converters.append(_decimal)
        return converters


def _boolean(value: Any, expression: Any, connection: Any) -> Any:
    return bool(value) if value in (0, 1) else value


def _aware(value: Any, expression: Any, connection: Any) -> Any:
    return value if value is None else timezone.make_aware(value, connection.timezone)


def _decimal(value: Any, expression: Any, connection: Any) -> Any:
    # The average of NUMERICs is a DOUBLE: Django would have all digits of its binary fraction.
    return decimal.Decimal(repr(value)) if isinstance(value, float) else value


def _uuid(value: Any, expression: Any, connection: Any) -> Any:
    return value if value is None else uuid.UUID(value.strip())
