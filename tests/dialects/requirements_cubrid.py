"""What SQLAlchemy's tests may ask of CUBRID, by its manual, https://www.cubrid.org/manual/en/11.3/sql/."""

from __future__ import annotations

from typing import ClassVar

from declared import Declared, No

_NO_CHECKS = No("CHECK is read and ignored", "schema/table_stmt.html, Constraint definition")
_NO_FRAMES = No("analytic functions have PARTITION BY and ORDER BY, and no frames", "function/analysis_fn.html")
_NO_GENERATED = No("no column is computed from others", "schema/table_stmt.html, Column definition")
_NO_MATERIALIZED = No("views have no rows of their own", "schema/view_stmt.html, CREATE VIEW")
_NO_TEMPORARY = No("there are no temporary tables", "schema/table_stmt.html, CREATE TABLE")
_NO_TIES = No("LIMIT takes numbers of rows", "query/select.html, LIMIT clause")
_NO_FETCH = No("there is LIMIT, and no FETCH", "query/select.html, LIMIT clause")
_MILLISECONDS = No("DATETIME has milliseconds, TIME seconds", "datatype.html, Date/Time types")
_NO_RESTRICT = No(
    "RESTRICT, and NO ACTION with it, is what every key does that says nothing", "schema/table_stmt.html, FOREIGN KEY"
)
_NO_CHANGES_IN_CTES = No("a common table expression is a query", "query/cte.html")
_NO_IDENTITY = No(
    "AUTO_INCREMENT has a start and a step, and no other option", "schema/table_stmt.html, AUTO_INCREMENT"
)


class Requirements(Declared):
    YES: ClassVar[tuple[str, ...]] = (
        "autocommit",
        "comment_reflection",
        "comment_reflection_full_unicode",
        "create_or_replace_view",
        "create_table_as",
        "ctes",
        "ctes_with_update_delete",
        "ctes_with_values",
        "date_historic",
        "datetime_historic",
        "datetime_literals",
        "datetime_timezone",
        "datetime_timezone_historic",
        "delete_from",
        "except_",
        "fk_constraint_option_reflection_ondelete_noaction",
        "foreign_key_constraint_name_reflection",
        "foreign_key_constraint_option_reflection_ondelete",
        "foreign_key_constraint_option_reflection_onupdate",
        "intersect",
        "isolation_level",
        "json_type",
        "nullsordering",
        "percent_schema_names",
        "precision_numerics_many_significant_digits",
        "precision_numerics_retains_significant_digits",
        "reflects_pk_names",
        "regexp_match",
        "regexp_replace",
        "savepoints",
        "server_defaults",
        "skip_autocommit_rollback",
        "supports_bitwise_and",
        "supports_bitwise_not",
        "supports_bitwise_or",
        "supports_bitwise_shift",
        "supports_bitwise_xor",
        "table_ddl_if_exists",
        "table_value_constructor",
        "tuple_in",
        "unicode_ddl",
        "unique_constraints_reflect_as_index",
        "unique_index_reflect_as_unique_constraints",
        "update_from",
        "views",
        "window_functions",
    )
    NO: ClassVar[dict[str, No]] = {
        "array_type": No("collections are SET, MULTISET and LIST, of which none is an array", "datatype.html"),
        "boolean_col_expressions": No("there is no type of conditions", "datatype.html"),
        "check_constraint_reflection": _NO_CHECKS,
        "inline_check_constraint_reflection": _NO_CHECKS,
        "computed_columns": _NO_GENERATED,
        "computed_columns_default_persisted": _NO_GENERATED,
        "computed_columns_reflect_persisted": _NO_GENERATED,
        "computed_columns_stored": _NO_GENERATED,
        "computed_columns_virtual": _NO_GENERATED,
        "constraint_comment_reflection": No("tables, columns and indexes have comments", "schema/table_stmt.html"),
        "ctes_on_dml": _NO_CHANGES_IN_CTES,
        "datetime_interval": No("there is no type of spans of time", "datatype.html, Date/Time types"),
        "datetime_microseconds": _MILLISECONDS,
        "time_microseconds": _MILLISECONDS,
        "timestamp_microseconds": _MILLISECONDS,
        "deferrable_fks": No("a key is checked at once", "schema/table_stmt.html, FOREIGN KEY"),
        "expression_server_defaults": No("a default is a literal or one of some functions", "schema/table_stmt.html"),
        "fetch_expression": _NO_FETCH,
        "fetch_first": _NO_FETCH,
        "fetch_no_order_by": _NO_FETCH,
        "fetch_offset_with_options": _NO_TIES,
        "fetch_percent": _NO_TIES,
        "fetch_ties": _NO_TIES,
        "fk_constraint_option_reflection_ondelete_restrict": _NO_RESTRICT,
        "fk_constraint_option_reflection_onupdate_restrict": _NO_RESTRICT,
        "has_temp_table": _NO_TEMPORARY,
        "temp_table_comment_reflection": _NO_TEMPORARY,
        "temp_table_names": _NO_TEMPORARY,
        "temp_table_reflection": _NO_TEMPORARY,
        "temporary_tables": _NO_TEMPORARY,
        "temporary_views": _NO_TEMPORARY,
        "create_temp_table_as": _NO_TEMPORARY,
        "identity_columns": _NO_IDENTITY,
        "identity_columns_standard": _NO_IDENTITY,
        "index_ddl_if_exists": No("CREATE INDEX has no IF NOT EXISTS", "schema/index_stmt.html, CREATE INDEX"),
        "index_reflects_included_columns": No("an index has no INCLUDE", "schema/index_stmt.html, CREATE INDEX"),
        "infinity_floats": No("infinity is no value", "datatype.html, Numeric types"),
        "materialized_views": _NO_MATERIALIZED,
        "materialized_views_reflect_pk": _NO_MATERIALIZED,
        "on_update_cascade": No("ON UPDATE CASCADE is refused", "schema/table_stmt.html, FOREIGN KEY"),
        "schema_create_delete": No("a schema is the name of a user", "user_schema.html"),
        "supports_distinct_on": No("DISTINCT is of whole rows", "query/select.html"),
        "time_timezone": No("a TIME has no zone", "datatype.html, Date/Time types"),
        "two_phase_transactions": No("XA is a protocol of its own, no statement", "transaction.html"),
        "uuid_data_type": No("no such type", "datatype.html"),
        "window_range": _NO_FRAMES,
        "window_range_non_numeric": _NO_FRAMES,
        "window_range_numeric": _NO_FRAMES,
    }
    SERVER: ClassVar[dict[str, str]] = {
        "schemas": "everything belongs to one owner",
    }
    DIALECT: ClassVar[dict[str, str]] = {
        "column_collation_reflection": "COLLATE of columns is not reflected",
        "indexes_with_expressions": "an index of a function is not reflected",
        "nvarchar_types": "NCHAR VARYING takes no text as a parameter",
        "reflect_indexes_with_expressions": "an index of a function is not reflected",
    }
    BESIDE: ClassVar[dict[str, str]] = {
        "aggregate_order_by": "not asked by these tests",
        "async_dialect": "of the run, not of the database",
        "cross_schema_fk_reflection": "needs schemas",
        "dbapi_lastrowid": "it is requested, and on asyncio no attribute of a cursor",
        "default_schema_name_switch": "needs schemas",
        "emulated_lastrowid": "not asked by these tests",
        "emulated_lastrowid_even_with_sequences": "not asked by these tests",
        "float_or_double_precision_behaves_generically": "of the types of MySQL",
        "foreign_keys_reflect_as_index": "indexes of keys are not shown",
        "implicit_default_schema": "needs schemas",
        "indexes_check_column_order": "of the order of columns that PostgreSQL reports",
        "json_deserializer_binary": "of drivers that give JSON as bytes",
        "legacy_unconditional_json_extract": "of MySQL and SQLite",
        "mod_operator_as_percent_sign": "MOD() is a function",
        "non_updating_cascade": "of MySQL's foreign keys",
        "order_by_label_with_expression": "not asked by these tests",
        "precision_numerics_enotation_small": "not asked by these tests",
        "reflect_indexes_with_ascdesc_as_expression": "of Oracle",
        "reflect_table_options": "expects the options of MySQL",
        "reflect_tables_no_columns": "a table has columns",
        "repeated_column_foreign_keys": "of keys that name a column twice",
        "repeated_remote_col_foreign_keys": "of keys that name a column twice",
    }
