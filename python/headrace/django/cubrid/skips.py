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
