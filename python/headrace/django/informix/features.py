"""What Informix has, and Django's tests that it cannot pass."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

from typing import Any

from django.db import InterfaceError
from django.db.backends.base.features import BaseDatabaseFeatures
from django.utils.functional import cached_property

from ...informix.catalog import ONE_ROW
from .skips import SKIPS


class DatabaseFeatures(BaseDatabaseFeatures):
    """By IBM's Guide to SQL: Syntax."""

    minimum_database_version = (12, 10)
    bare_select_suffix = f" FROM {ONE_ROW}"
    closed_cursor_error_class = InterfaceError
    allow_sliced_subqueries_with_in = True
    allows_auto_pk_0 = False
    allows_group_by_lob = False
    can_create_inline_fk = False
    can_defer_constraint_checks = True
    can_release_savepoints = True
    can_rollback_ddl = True
    has_bulk_insert = False
    has_select_for_update = True
    supports_select_for_update_with_limit = False
    has_zoneinfo_database = False
    implied_column_null = True
    indexes_foreign_keys = False
    order_by_nulls_first = True
    related_fields_match_type = True
    requires_casted_case_in_updates = True
    requires_literal_defaults = True
    supports_boolean_expr_in_select_clause = False
    supports_collation_on_charfield = False
    supports_collation_on_textfield = False
    supports_comparing_boolean_expr = False
    supports_default_keyword_in_bulk_insert = False
    supports_default_keyword_in_insert = False
    supports_expression_defaults = False
    supports_expression_indexes = False
    supports_ignore_conflicts = False
    supports_index_on_text_field = False
    has_json_object_function = False
    supports_json_field_contains = False
    supports_primitives_in_json_field = False
    supports_nullable_unique_constraints = False
    supports_over_clause = True
    supports_parentheses_in_compound = False
    supports_partial_indexes = False
    supports_partially_nullable_unique_constraints = False
    supports_regex_backreferencing = False
    supports_sequence_reset = False
    supports_subqueries_in_group_by = False
    supports_timezones = False
    supports_temporal_subtraction = True
    supports_tuple_lookups = False
    test_now_utc_template = "CURRENT YEAR TO FRACTION(5)"
    time_cast_precision = 5
    introspected_field_types = {
        **BaseDatabaseFeatures.introspected_field_types,
        "DurationField": "BigIntegerField",
        "GenericIPAddressField": "CharField",
        "PositiveBigIntegerField": "BigIntegerField",
        "PositiveIntegerField": "IntegerField",
        "PositiveSmallIntegerField": "SmallIntegerField",
        "SmallAutoField": "AutoField",
    }

    @cached_property
    def supports_transactions(self) -> bool:
        """True if the database has a log."""
        self.connection.ensure_connection()
        return bool(self.connection.connection.logging != "none")

    @cached_property
    def django_test_skips(self) -> Any:
        """Tests of Django's own suite that do not apply, by the reason."""
        return {reason: set(tests) for reason, tests in SKIPS.items()}
