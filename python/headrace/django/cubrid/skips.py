"""Django's own tests that do not apply to CUBRID, by the reason."""

from __future__ import annotations

from typing import Final

SKIPS: Final[dict[str, tuple[str, ...]]] = {
    "DATETIME has milliseconds.": (
        "basic.tests.ModelRefreshTests.test_refresh_unsaved",
        "basic.tests.ModelRefreshTests.test_refresh_with_related",
        "basic.tests.ModelTest.test_microsecond_precision",
        "expressions.tests.FTimeDeltaTests.test_duration_with_datetime_microseconds",
        "expressions.tests.FTimeDeltaTests.test_negative_timedelta_update",
        "queries.tests.Queries4Tests.test_filter_reverse_non_integer_pk",
    ),
    "A null within a JSON document is extracted as NULL.": (
        "expressions.tests.BasicExpressionsTests.test_update_jsonfield_case_when_key_is_null",
    ),
    "An outer join is an inner one where a subquery in WHERE names a column of its right side.": (
        "queries.tests.ManyToManyExcludeTest.test_exclude_many_to_many",
    ),
    "A foreign key refers to a primary key.": ("schema.tests.SchemaTests.test_rename_referenced_field",),
    "AUTO_INCREMENT cannot be taken from a column.": (
        "schema.tests.SchemaTests.test_alter_auto_field_to_char_field",
        "schema.tests.SchemaTests.test_alter_auto_field_to_integer_field",
        "schema.tests.SchemaTests.test_autofield_to_o2o",
        "migrations.test_executor.ExecutorTests.test_alter_id_type_with_fk",
        "migrations.test_operations.OperationTests.test_alter_field_pk_fk",
    ),
    # That is error -272. After an error of a statement that was deferred to the end of a schema editor, Django does not
    # leave its atomic(): its test closes the connection within it, which is not opened again.
    "The same columns have one index.": (
        "migrations.test_operations.OperationTests.test_alter_index_together_remove_with_unique_together",
        "migrations.test_operations.OperationTests.test_rename_index_unnamed_index_with_unique_index",
    ),
    "Names are lower case.": ("migrations.test_operations.OperationTests.test_rename_field_case",),
    "A column of a foreign key cannot be changed.": ("schema.tests.SchemaTests.test_alter_db_comment_foreign_key",),
    "JSON has no default.": ("schema.tests.SchemaTests.test_db_default_output_field_resolving",),
    "The sign of a number is a bit like others to >>.": (
        "expressions.tests.ExpressionOperatorTests.test_lefthand_bitwise_right_shift_operator",
    ),
    "A foreign key is checked at once, and cannot be disabled.": (
        "backends.base.test_creation.TestDeserializeDbFromString.test_circular_reference",
        "backends.base.test_creation.TestDeserializeDbFromString.test_circular_reference_with_natural_key",
        "backends.base.test_creation.TestDeserializeDbFromString.test_self_reference",
        "backends.tests.FkConstraintsTests.test_check_constraints",
        "backends.tests.FkConstraintsTests.test_check_constraints_sql_keywords",
        "backends.tests.FkConstraintsTests.test_disable_constraint_checks_context_manager",
        "backends.tests.FkConstraintsTests.test_disable_constraint_checks_manually",
    ),
}
