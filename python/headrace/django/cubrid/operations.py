"""SQL as CUBRID has it."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

import re
from typing import Any, ClassVar, Final

from django import conf
from django.db.backends.utils import split_tzname_delta

from ...cubrid.catalog import LARGEST_LIMIT, LONGEST_NAME, MOST_WHENS
from ..flushing import flushed
from ..operations import ZonelessOperations

_MILLISECOND: Final = 1_000
_SECOND: Final = 1_000_000
_DAY: Final = 86_400 * _SECOND
"""In microseconds."""
_UNIT: Final = re.compile(r"[A-Z_]+")
_ZONE: Final = re.compile(r"[\w/:+-]+")
_FORMATS: Final = {
    "year": "%Y-01-01",
    "month": "%Y-%m-01",
    "day": "%Y-%m-%d",
    "hour": "%Y-%m-%d %H:00:00",
    "minute": "%Y-%m-%d %H:%i:00",
    "second": "%Y-%m-%d %H:%i:%s",
}
_TIME_FORMATS: Final = {"hour": "%H:00:00", "minute": "%H:%i:00", "second": "%H:%i:%s"}
_TEXTS: Final = {"DateField": "YYYY-MM-DD", "DateTimeField": "YYYY-MM-DD HH24:MI:SS", "TimeField": "HH24:MI:SS"}
_FUNCTIONS: Final = {
    "week_day": "DAYOFWEEK({})",
    "iso_week_day": "WEEKDAY({}) + 1",
    "quarter": "QUARTER({})",
    # The week and the year of its Thursday. WEEK(…, 3) has 53 for a first week that begins in December.
    "week": "(DAYOFYEAR(ADDDATE({0}, 3 - WEEKDAY({0}))) + 6) DIV 7",
    "iso_year": "YEAR(ADDDATE({0}, 3 - WEEKDAY({0})))",
}


def _named(tzname: str) -> str:
    """A zone's name or distance from UTC, as the server has them."""
    name, sign, offset = split_tzname_delta(tzname)
    zone = f"{sign}{offset}" if offset else name
    if not _ZONE.fullmatch(zone):
        raise ValueError(f"Invalid time zone name: {zone}")
    return zone


class DatabaseOperations(ZonelessOperations):
    """What the ORM asks."""

    compiler_module = "headrace.django.cubrid.compiler"
    microseconds = _MILLISECOND
    cast_char_field_without_max_length = "VARCHAR"
    cast_data_types: ClassVar[dict[str, str]] = {
        "AutoField": "INTEGER",
        "BigAutoField": "BIGINT",
        "SmallAutoField": "SMALLINT",
        "TextField": "VARCHAR",
    }

    def max_name_length(self) -> int:
        """Returns the bytes of the longest name."""
        return LONGEST_NAME

    def no_limit_value(self) -> int:
        """Returns a limit that is none, for an offset."""
        return LARGEST_LIMIT

    def last_insert_id(self, cursor: Any, table_name: str, pk_name: str) -> Any:
        """Returns the number that was generated."""
        return cursor.lastrowid

    def random_function_sql(self) -> str:
        """Returns a number from 0 to 1."""
        return "DRANDOM()"

    def bulk_batch_size(self, fields: Any, objs: Any) -> int:
        """Returns how many rows are written at a time. Those of bulk_update(), with the key twice, are a CASE."""
        is_update = len(fields) > 1 and fields[0] is fields[1]
        return min(len(objs), MOST_WHENS) if is_update else len(objs)

    def bulk_insert_sql(self, fields: Any, placeholder_rows: Any) -> str:
        """Returns the rows of an INSERT."""
        return "VALUES " + ", ".join(f"({', '.join(row)})" for row in placeholder_rows)

    def lookup_cast(self, lookup_type: str, internal_type: str | None = None) -> str:
        """Returns how the left side of a lookup is written. Dates and times are texts as in ISO 8601 for a pattern."""
        ignores_case = lookup_type in ("iexact", "icontains", "istartswith", "iendswith")
        is_pattern = ignores_case or lookup_type in ("contains", "startswith", "endswith", "regex", "iregex")
        text = f"TO_CHAR(%s, '{_TEXTS[internal_type]}')" if is_pattern and internal_type in _TEXTS else "%s"
        return f"UPPER({text})" if ignores_case else text

    def prep_for_iexact_query(self, x: Any) -> str:
        """Returns the text: it is compared, and no pattern."""
        return str(x)

    def regex_lookup(self, lookup_type: str) -> str:
        """Returns the operator. Without BINARY upper and lower case are one."""
        return "%s REGEXP BINARY %s" if lookup_type == "regex" else "%s REGEXP %s"

    def combine_expression(self, connector: str, sub_expressions: list[str]) -> str:
        """Returns an expression of two."""
        left_right = ", ".join(sub_expressions)
        if connector == "^":
            return f"POWER({left_right})"
        if connector == "%%":
            return f"MOD({left_right})"
        return super().combine_expression("^" if connector == "#" else connector, sub_expressions)  # type: ignore[no-any-return]

    # times

    def _in_zone(self, sql: str, tzname: str | None) -> str:
        if not (tzname and conf.settings.USE_TZ) or self.connection.timezone_name == tzname:
            return sql
        return f"NEW_TIME({sql}, '{self.own_zone()}', '{_named(tzname)}')"

    def own_zone(self) -> str:
        """Returns the zone in which times are stored."""
        return _named(self.connection.timezone_name)

    def date_extract_sql(self, lookup_type: str, sql: str, params: Any) -> tuple[str, Any]:
        """Returns a part of a date."""
        if lookup_type in _FUNCTIONS:
            text = _FUNCTIONS[lookup_type]
            return text.format(sql), tuple(params) * (2 if "{0}" in text else 1)
        unit = lookup_type.upper()
        if not _UNIT.fullmatch(unit):
            raise ValueError(f"Invalid lookup type: {lookup_type!r}")
        return f"EXTRACT({unit} FROM {sql})", params

    def datetime_extract_sql(self, lookup_type: str, sql: str, params: Any, tzname: str | None) -> tuple[str, Any]:
        """Returns a part of a time."""
        return self.date_extract_sql(lookup_type, self._in_zone(sql, tzname), params)

    def date_trunc_sql(self, lookup_type: str, sql: str, params: Any, tzname: str | None = None) -> tuple[str, Any]:
        """Returns the first day of a year, month, quarter or week."""
        sql, params = self._in_zone(sql, tzname), tuple(params)
        if lookup_type == "quarter":
            month = f"ADD_MONTHS({sql}, -MOD(MONTH({sql}) - 1, 3))"
            return f"CAST(DATE_FORMAT({month}, %s) AS DATE)", (*params, *params, _FORMATS["month"])
        if lookup_type == "week":
            return f"SUBDATE(CAST({sql} AS DATE), WEEKDAY({sql}))", (*params, *params)
        if lookup_type in ("year", "month"):
            return f"CAST(DATE_FORMAT({sql}, %s) AS DATE)", (*params, _FORMATS[lookup_type])
        return f"CAST({sql} AS DATE)", params

    def datetime_trunc_sql(self, lookup_type: str, sql: str, params: Any, tzname: str | None) -> tuple[str, Any]:
        """Returns the beginning of a unit of time."""
        if lookup_type in ("quarter", "week"):
            text, params = self.date_trunc_sql(lookup_type, sql, params, tzname)
            return f"CAST({text} AS DATETIME)", params
        sql = self._in_zone(sql, tzname)
        if lookup_type not in _FORMATS:
            return sql, params
        return f"CAST(DATE_FORMAT({sql}, %s) AS DATETIME)", (*params, _FORMATS[lookup_type])

    def datetime_cast_date_sql(self, sql: str, params: Any, tzname: str | None) -> tuple[str, Any]:
        """Returns the day."""
        return f"CAST({self._in_zone(sql, tzname)} AS DATE)", params

    def datetime_cast_time_sql(self, sql: str, params: Any, tzname: str | None) -> tuple[str, Any]:
        """Returns the time of day."""
        return f"CAST({self._in_zone(sql, tzname)} AS TIME)", params

    def time_trunc_sql(self, lookup_type: str, sql: str, params: Any, tzname: str | None = None) -> tuple[str, Any]:
        """Returns the beginning of an hour, minute or second."""
        sql = self._in_zone(sql, tzname)
        if lookup_type not in _TIME_FORMATS:
            return f"CAST({sql} AS TIME)", params
        return f"CAST(TIME_FORMAT({sql}, %s) AS TIME)", (*params, _TIME_FORMATS[lookup_type])

    def subtract_temporals(self, internal_type: str, lhs: Any, rhs: Any) -> tuple[str, Any]:
        """Returns microseconds: the difference of two DATETIMEs is in milliseconds, of days or times in theirs."""
        unit = {"DateField": _DAY, "TimeField": _SECOND}.get(internal_type, _MILLISECOND)
        return f"CAST({lhs[0]} - {rhs[0]} AS BIGINT) * {unit}", (*lhs[1], *rhs[1])

    # tables

    def sql_flush(
        self, style: Any, tables: Any, *, reset_sequences: bool = False, allow_cascade: bool = False
    ) -> list[str]:
        """Returns what empties tables."""
        sql = flushed(self.connection, tables)
        if reset_sequences:
            with self.connection.cursor() as cursor:
                found = [one for table in tables for one in self.connection.introspection.get_sequences(cursor, table)]
            sql += self.sequence_reset_by_name_sql(style, found)
        return sql

    def sequence_reset_sql(self, style: Any, model_list: Any) -> list[str]:
        """Returns what has AUTO_INCREMENT go on after the largest number that there is now."""
        sql = []
        for model in model_list:
            key = model._meta.auto_field
            if key is not None and not model._meta.proxy and model._meta.managed:
                sql.append(self.next_number_sql(model._meta.db_table, key.column))
        return sql

    def next_number_sql(self, table: str, column: str) -> str:
        """Returns what has AUTO_INCREMENT go on after the largest number of a column."""
        name = self.quote_name(table)
        with self.connection.cursor() as cursor:
            cursor.execute(f"SELECT COALESCE(MAX({self.quote_name(column)}), 0) + 1 FROM {name}")
            return f"ALTER TABLE {name} AUTO_INCREMENT = {cursor.fetchone()[0]}"

    def sequence_reset_by_name_sql(self, style: Any, sequences: Any) -> list[str]:
        """Returns what has AUTO_INCREMENT begin again."""
        return [f"ALTER TABLE {self.quote_name(one['table'])} AUTO_INCREMENT = 1" for one in sequences]
