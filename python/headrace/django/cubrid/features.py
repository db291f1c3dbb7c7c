"""What CUBRID has, and Django's tests that it cannot pass."""

# pyright: basic, reportMissingTypeStubs=false
# Django has no types: its own code is inferred, and what it assigns in other methods is not found.

from __future__ import annotations

from typing import Any

from django.db import InterfaceError
from django.db.backends.base.features import BaseDatabaseFeatures
from django.utils.functional import cached_property

from .skips import SKIPS


class DatabaseFeatures(BaseDatabaseFeatures):
    """By the CUBRID manual, https://www.cubrid.org/manual/en/11.3/sql/."""

    minimum_database_version = (10, 2)
    # A condition needs a table: this one has one row.
    bare_select_suffix = " FROM db_root"
    closed_cursor_error_class = InterfaceError
    has_select_for_update = True
    supports_select_for_update_with_limit = False
    # A key is checked at once, in the order in which rows are written.
    supports_forward_references = False
    can_rollback_ddl = True
    has_case_insensitive_like = False
    ignores_table_name_case = True
    supports_timezones = False
    has_zoneinfo_database = False
    # Now() is in the zone of Django's connection.
    test_now_utc_template = "NEW_TIME(CURRENT_DATETIME, SESSIONTIMEZONE, 'UTC')"
    order_by_nulls_first = True
    can_create_inline_fk = False
    # Its index is a part of a foreign key, and not shown as another one.
    indexes_foreign_keys = False
    supports_column_check_constraints = False
    supports_table_check_constraints = False
    can_introspect_check_constraints = False
    requires_literal_defaults = True
    supports_expression_defaults = False
    supports_default_keyword_in_bulk_insert = True
    supports_boolean_expr_in_select_clause = False
    supports_comparing_boolean_expr = False
    supports_partial_indexes = False
    supports_expression_indexes = False
    supports_collation_on_charfield = False
    supports_collation_on_textfield = False
    supports_comments = True
    supports_comments_inline = True
    supports_ignore_conflicts = False
    supports_over_clause = True
    supports_json_field_contains = False
    supports_index_on_text_field = True
    time_cast_precision = 3
    can_introspect_materialized_views = False
    introspected_field_types = {
        **BaseDatabaseFeatures.introspected_field_types,
        "BooleanField": "SmallIntegerField",
        "DurationField": "BigIntegerField",
        "GenericIPAddressField": "CharField",
        "PositiveBigIntegerField": "BigIntegerField",
        "PositiveIntegerField": "IntegerField",
        "PositiveSmallIntegerField": "SmallIntegerField",
    }

    @cached_property
    def supports_transactions(self) -> bool:
        """True: there are no tables without."""
        return True

    @cached_property
    def django_test_skips(self) -> Any:
        """Tests of Django's own suite that do not apply, by the reason."""
        return {reason: set(tests) for reason, tests in SKIPS.items()}
