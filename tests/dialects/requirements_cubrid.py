"""What SQLAlchemy's tests may ask of CUBRID, by its manual, https://www.cubrid.org/manual/en/11.3/sql/."""

from __future__ import annotations

from typing import ClassVar

from declared import Declared, No

_NO_CHECKS = No("CHECK is read and ignored", "schema/table_stmt.html, Constraint definition")
_NO_GENERATED = No("no column is computed from others", "schema/table_stmt.html, Column definition")
_NO_REGEXP = No("REGEXP and REGEXP_LIKE are no operator of the dialect yet", "function/regex_fn.html")
_NO_TEMPORARY = No("there are no temporary tables", "schema/table_stmt.html, CREATE TABLE")
_NO_TIES = No("LIMIT takes numbers of rows", "query/select.html, LIMIT clause")
_MILLISECONDS = No("DATETIME has milliseconds, TIME seconds", "datatype.html, Date/Time types")
_NO_RESTRICT = No("RESTRICT is what every key does that says nothing", "schema/table_stmt.html, FOREIGN KEY")
_NO_RETURNING = No("WITH begins SELECT, and INSERT ... SELECT", "query/cte.html")
_NO_NAMES = No("names are in lower case, and of letters, digits, _ and #", "identifier.html")


class Requirements(Declared):
    YES: ClassVar[tuple[str, ...]] = (
        "autocommit",
        "comment_reflection",
        "ctes",
        "date_historic",
        "datetime_historic",
        "except_",
        "foreign_key_constraint_name_reflection",
        "foreign_key_constraint_option_reflection_ondelete",
        "foreign_key_constraint_option_reflection_onupdate",
        "fk_constraint_option_reflection_ondelete_noaction",
        "intersect",
        "isolation_level",
        "nullsordering",
        "precision_numerics_many_significant_digits",
        "precision_numerics_retains_significant_digits",
        "reflects_pk_names",
        "savepoints",
        "server_defaults",
        "skip_autocommit_rollback",
        "supports_bitwise_and",
        "supports_bitwise_not",
        "supports_bitwise_or",
        "supports_bitwise_shift",
        "supports_bitwise_xor",
        "table_value_constructor",
        "unicode_ddl",
        "unique_constraints_reflect_as_index",
        "unique_index_reflect_as_unique_constraints",
        "views",
        "window_functions",
    )
    NO: ClassVar[dict[str, No]] = {
        "array_type": No("collections are SET, MULTISET and LIST, of which none is an array", "datatype.html"),
        "check_constraint_reflection": _NO_CHECKS,
        "inline_check_constraint_reflection": _NO_CHECKS,
        "datetime_microseconds": _MILLISECONDS,
        "time_microseconds": _MILLISECONDS,
        "timestamp_microseconds": _MILLISECONDS,
        "temporary_tables": _NO_TEMPORARY,
        "temp_table_reflection": _NO_TEMPORARY,
        "has_temp_table": _NO_TEMPORARY,
        "temp_table_names": _NO_TEMPORARY,
        "on_update_cascade": No("ON UPDATE CASCADE is refused", "schema/table_stmt.html, FOREIGN KEY"),
        "infinity_floats": No("infinity is no value", "datatype.html, Numeric types"),
        "denormalized_names": _NO_NAMES,
        "schemas": No("a schema is the name of a user", "user_schema.html"),
    }
