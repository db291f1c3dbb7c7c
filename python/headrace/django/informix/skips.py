"""Django's own tests that do not apply to Informix, by the reason."""

from __future__ import annotations

from typing import Final

SKIPS: Final[dict[str, tuple[str, ...]]] = {
    "DATETIME has five digits of a fraction.": (
        "basic.tests.ModelRefreshTests.test_refresh_unsaved",
        "basic.tests.ModelRefreshTests.test_refresh_with_related",
        "expressions.tests.FTimeDeltaTests.test_time_subtraction",
        "queries.tests.Queries4Tests.test_filter_reverse_non_integer_pk",
    ),
    "A parameter in the list of a query has no type.": (
        "backends.tests.EscapingChecks.test_parameter_escaping",
        "backends.tests.EscapingChecksDebug.test_parameter_escaping",
        "expressions.tests.BasicExpressionsTests.test_annotate_values_filter",
        "queries.tests.Queries1Tests.test_tickets_1878_2939",
    ),
    "There is no generator of random numbers, but a package of the server's.": (
        "aggregation.tests.AggregateTestCase.test_aggregation_random_ordering",
    ),
    "There are no GREATEST and no PI.": (
        "aggregation.tests.AggregateTestCase.test_aggregation_default_using_decimal_from_database",
        "aggregation.tests.AggregateTestCase.test_expression_on_aggregation",
        "aggregation.tests.AggregateTestCase.test_group_by_nested_expression_with_params",
    ),
    "CURRENT_TIMESTAMP, of a text in the test, is CURRENT.": (
        "aggregation.tests.AggregateTestCase.test_coalesced_empty_result_set",
    ),
    "A column that is selected twice is not in GROUP BY by the number of one of them.": (
        "aggregation.tests.AggregateTestCase.test_annotate_over_annotate",
        "expressions.tests.BasicExpressionsTests.test_subquery_filter_by_aggregate",
    ),
    "A limit inside of a statement is that of a derived table.": (
        "aggregation.tests.AggregateTestCase.test_aggregation_subquery_annotation",
    ),
    "SKIP and FIRST are after SELECT, where the test does not look for them.": (
        "queries.test_qs_combinators.QuerySetSetOperationTests.test_exists_union",
    ),
    "JSON documents have no functions, and are not compared.": (
        "expressions.tests.BasicExpressionsTests.test_update_jsonfield_case_when_key_is_null",
        "queries.test_bulk_update.BulkUpdateTests.test_json_field",
        "schema.tests.SchemaTests.test_check_constraint_exact_jsonfield",
        "schema.tests.SchemaTests.test_db_default_output_field_resolving",
    ),
    "The test server gives two constraints one name that ALTER TABLE adds to columns.": (
        "schema.tests.SchemaTests.test_add_field_o2o_nullable",
        "schema.tests.SchemaTests.test_indexes",
    ),
    "The test server keeps the text of a condition when its column is renamed.": (
        "schema.tests.SchemaTests.test_rename_field_with_check_to_truncated_name",
    ),
    "A BYTE has no default.": ("migrations.test_operations.OperationTests.test_add_binaryfield",),
    "Bits are not shifted.": (
        "expressions.tests.ExpressionOperatorTests.test_lefthand_bitwise_left_shift_operator",
        "expressions.tests.ExpressionOperatorTests.test_lefthand_bitwise_right_shift_operator",
    ),
    "A unique constraint admits one NULL.": (
        "queries.test_qs_combinators.QuerySetSetOperationTests.test_union_slice_index",
    ),
    "A span of time is a number of microseconds, which is added to no DATETIME.": (
        "expressions.tests.FTimeDeltaTests.test_date_comparison",
        "expressions.tests.FTimeDeltaTests.test_date_minus_duration",
        "expressions.tests.FTimeDeltaTests.test_date_subtraction",
        "expressions.tests.FTimeDeltaTests.test_datetime_subtraction",
        "expressions.tests.FTimeDeltaTests.test_datetime_subtraction_microseconds",
        "expressions.tests.FTimeDeltaTests.test_datetime_and_duration_field_addition_with_annotate_and_no_output_field",
        "expressions.tests.FTimeDeltaTests.test_datetime_and_durationfield_addition_with_filter",
        "expressions.tests.FTimeDeltaTests.test_delta_add",
        "expressions.tests.FTimeDeltaTests.test_delta_subtract",
        "expressions.tests.FTimeDeltaTests.test_delta_update",
        "expressions.tests.FTimeDeltaTests.test_duration_with_datetime",
        "expressions.tests.FTimeDeltaTests.test_duration_with_datetime_microseconds",
        "expressions.tests.FTimeDeltaTests.test_durationfield_add",
        "expressions.tests.FTimeDeltaTests.test_exclude",
        "expressions.tests.FTimeDeltaTests.test_mixed_comparisons1",
        "expressions.tests.FTimeDeltaTests.test_mixed_comparisons2",
        "expressions.tests.FTimeDeltaTests.test_multiple_query_compilation",
        "expressions.tests.FTimeDeltaTests.test_negative_timedelta_update",
        "expressions.tests.FTimeDeltaTests.test_query_clone",
    ),
}
