"""SQL as Informix has it."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

from typing import Any, ClassVar, Final

from django.db import NotSupportedError
from django.db.backends.base.operations import BaseDatabaseOperations

from ...informix.catalog import LONGEST_NAME
from ..flushing import flushed
from ..operations import ZonelessOperations

_HUNDRED_THOUSANDTH: Final = 10
"""Microseconds of the finest unit, FRACTION(5)."""
_WHOLE: Final = "YEAR TO FRACTION(5)"
_MONDAY: Final = "MOD(WEEKDAY({0}) + 6, 7)"
"""Days after Monday."""
_FUNCTIONS: Final = {
    "year": "YEAR({0})",
    "month": "MONTH({0})",
    "day": "DAY({0})",
    "week_day": "WEEKDAY({0}) + 1",
    "iso_week_day": f"{_MONDAY} + 1",
    "quarter": "TRUNC((MONTH({0}) + 2) / 3)",
    # The year and week of the week's Thursday.
    "iso_year": f"YEAR(DATE({{0}}) + (3 - {_MONDAY}))",
    "week": (f"TRUNC((DATE({{0}}) + (3 - {_MONDAY}) - MDY(1, 1, YEAR(DATE({{0}}) + (3 - {_MONDAY})))) / 7) + 1"),
    "hour": "CAST(CAST(EXTEND({0}, HOUR TO HOUR) AS CHAR(2)) AS INTEGER)",
    "minute": "CAST(CAST(EXTEND({0}, MINUTE TO MINUTE) AS CHAR(2)) AS INTEGER)",
    "second": "CAST(CAST(EXTEND({0}, SECOND TO SECOND) AS CHAR(2)) AS INTEGER)",
}
_DAY: Final = 86_400_000_000
"""Microseconds of a day."""
_CLOCK: Final = (
    f"({_FUNCTIONS['hour']} * 3600 + {_FUNCTIONS['minute']} * 60"
    " + CAST(CAST(EXTEND({0}, SECOND TO FRACTION(5)) AS CHAR(8)) AS DECIMAL(7, 5))) * 1000000"
)
"""Microseconds of a time of day."""
_DAYS: Final = {
    "year": "MDY(1, 1, YEAR({0}))",
    "month": "MDY(MONTH({0}), 1, YEAR({0}))",
    "quarter": "MDY(3 * TRUNC((MONTH({0}) + 2) / 3) - 2, 1, YEAR({0}))",
    "week": f"DATE({{0}}) - {_MONDAY}",
    "day": "DATE({0})",
}


class DatabaseOperations(ZonelessOperations):
    """What the ORM asks."""

    compiler_module = "headrace.django.informix.compiler"
    microseconds = _HUNDRED_THOUSANDTH
    integer_field_ranges: ClassVar[dict[str, tuple[int, int]]] = {
        # The smallest number of each type is NULL.
        **BaseDatabaseOperations.integer_field_ranges,
        "SmallIntegerField": (-32767, 32767),
        "IntegerField": (-2147483647, 2147483647),
        "BigIntegerField": (-9223372036854775807, 9223372036854775807),
        "SmallAutoField": (-2147483647, 2147483647),
        "AutoField": (-2147483647, 2147483647),
        "BigAutoField": (-9223372036854775807, 9223372036854775807),
    }
    set_operators: ClassVar[dict[str, str]] = {**BaseDatabaseOperations.set_operators, "difference": "MINUS"}
    cast_char_field_without_max_length = "LVARCHAR"
    cast_data_types: ClassVar[dict[str, str]] = {
        "AutoField": "INTEGER",
        "BigAutoField": "BIGINT",
        "SmallAutoField": "INTEGER",
        "SmallIntegerField": "SMALLINT",
        "TextField": "LVARCHAR",
    }

    def max_name_length(self) -> int:
        """Returns the bytes of the longest name."""
        return LONGEST_NAME

    def no_limit_value(self) -> None:
        """Returns none: SKIP needs no limit beside it."""
        return

    def limit_offset_sql(self, low_mark: Any, high_mark: Any) -> str:
        """Returns nothing: SKIP and FIRST are after SELECT, where the compiler writes them."""
        return ""

    def last_insert_id(self, cursor: Any, table_name: str, pk_name: str) -> Any:
        """Returns the number that was generated."""
        return cursor.lastrowid

    def pk_default_value(self) -> str:
        """Returns what has a SERIAL generate its number."""
        return "0"

    def validate_autopk_value(self, value: Any) -> Any:
        """Raises ValueError for a zero, which would be generated."""
        if value == 0:
            raise ValueError("The database backend does not accept 0 as a value for AutoField.")
        return value

    def lookup_cast(self, lookup_type: str, internal_type: str | None = None) -> str:
        """Returns how the left side of a lookup is written."""
        return "UPPER(%s)" if lookup_type in ("iexact", "icontains", "istartswith", "iendswith") else "%s"

    def prep_for_iexact_query(self, x: Any) -> str:
        """Returns the text: it is compared, and no pattern."""
        return str(x)

    def regex_lookup(self, lookup_type: str) -> str:
        """Raises NotSupportedError: regular expressions are an extension of the server."""
        raise NotSupportedError("Informix has no regular expressions but those of an extension.")

    def combine_expression(self, connector: str, sub_expressions: list[str]) -> str:
        """Returns an expression of two."""
        names = {"^": "POW", "%%": "MOD", "&": "BITAND", "|": "BITOR", "#": "BITXOR"}
        if connector in names:
            return f"{names[connector]}({', '.join(sub_expressions)})"
        if connector in ("<<", ">>"):
            raise NotSupportedError("Informix does not shift bits.")
        return super().combine_expression(connector, sub_expressions)  # type: ignore[no-any-return]

    # savepoints, whose names have no quotes

    def savepoint_create_sql(self, sid: str) -> str:
        """Returns what sets a savepoint."""
        return f"SAVEPOINT {sid}"

    def savepoint_commit_sql(self, sid: str) -> str:
        """Returns what releases it."""
        return f"RELEASE SAVEPOINT {sid}"

    def savepoint_rollback_sql(self, sid: str) -> str:
        """Returns what goes back to it."""
        return f"ROLLBACK TO SAVEPOINT {sid}"

    # times

    def _repeated(self, text: str, sql: str, params: Any) -> tuple[str, Any]:
        return text.format(sql), tuple(params) * text.count("{0}")

    def _no_zones(self, tzname: str | None) -> None:
        if tzname and tzname != self.connection.timezone_name:
            raise NotSupportedError("Informix knows no time zones: set TIME_ZONE of the database.")

    def date_extract_sql(self, lookup_type: str, sql: str, params: Any) -> tuple[str, Any]:
        """Returns a part of a date."""
        if lookup_type not in _FUNCTIONS:
            raise ValueError(f"Invalid lookup type: {lookup_type!r}")
        return self._repeated(_FUNCTIONS[lookup_type], sql, params)

    def datetime_extract_sql(self, lookup_type: str, sql: str, params: Any, tzname: str | None) -> tuple[str, Any]:
        """Returns a part of a time."""
        self._no_zones(tzname)
        return self.date_extract_sql(lookup_type, sql, params)

    def date_trunc_sql(self, lookup_type: str, sql: str, params: Any, tzname: str | None = None) -> tuple[str, Any]:
        """Returns the first day of a year, month, quarter or week."""
        self._no_zones(tzname)
        return self._repeated(_DAYS[lookup_type], sql, params)

    def datetime_trunc_sql(self, lookup_type: str, sql: str, params: Any, tzname: str | None) -> tuple[str, Any]:
        """Returns the beginning of a unit of time."""
        self._no_zones(tzname)
        if lookup_type in _DAYS:
            text, params = self._repeated(_DAYS[lookup_type], sql, params)
            return f"EXTEND({text}, {_WHOLE})", params
        return f"EXTEND(EXTEND({sql}, YEAR TO {lookup_type.upper()}), {_WHOLE})", params

    def datetime_cast_date_sql(self, sql: str, params: Any, tzname: str | None) -> tuple[str, Any]:
        """Returns the day."""
        self._no_zones(tzname)
        return f"DATE({sql})", params

    def datetime_cast_time_sql(self, sql: str, params: Any, tzname: str | None) -> tuple[str, Any]:
        """Returns the time of day."""
        self._no_zones(tzname)
        return f"EXTEND({sql}, HOUR TO FRACTION(5))", params

    def time_trunc_sql(self, lookup_type: str, sql: str, params: Any, tzname: str | None = None) -> tuple[str, Any]:
        """Returns the beginning of an hour, minute or second."""
        return f"EXTEND(EXTEND({sql}, HOUR TO {lookup_type.upper()}), HOUR TO FRACTION(5))", params

    def subtract_temporals(self, internal_type: str, lhs: Any, rhs: Any) -> tuple[str, Any]:
        """Returns microseconds: the days between, and the difference of the times of day. An INTERVAL is no number, and
        one in seconds ends after 31 years."""
        (first, given), (second, others) = lhs, rhs
        if internal_type == "DateField":
            return f"CAST({first} - {second} AS BIGINT) * {_DAY}", (*given, *others)
        clocks = f"{_CLOCK.format(first)} - {_CLOCK.format(second)}"
        values = (*given * _CLOCK.count("{0}"), *others * _CLOCK.count("{0}"))
        if internal_type == "TimeField":
            return f"CAST({clocks} AS BIGINT)", values
        days = f"CAST(DATE({first}) - DATE({second}) AS BIGINT) * {_DAY}"
        return f"CAST({days} + {clocks} AS BIGINT)", (*given, *others, *values)

    # tables

    def sql_flush(
        self, style: Any, tables: Any, *, reset_sequences: bool = False, allow_cascade: bool = False
    ) -> list[str]:
        """Returns what empties tables."""
        return flushed(self.connection, tables)
