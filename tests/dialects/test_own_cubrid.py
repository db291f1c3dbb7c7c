"""SQLAlchemy's own tests of every dialect on ``cubrid+headrace``, on the test server.

They were run on a genuine one, too.
"""

from __future__ import annotations

import pytest

from headrace.testing import cubrid

from .own import NEW, OLD, Counts, Part, run_parts

REQUIREMENTS = "requirements_cubrid:Requirements"
WITHOUT = {
    "a name is in lower case, in quotes or not (CUBRID manual, sql/identifier.html)": [
        r"ComponentReflectionTest::test_get_\w+_quoted_name\[(UQ_|IX_|FK_|PK_|mixedCase).*\]",
        r"NameDenormalizeTest::test_cols_driver_cols\[(not_)?use_driver_cols-(driver_sql|text_cols|text_star)\]",
        r"NameDenormalizeTest::test_cols_driver_cols\[use_driver_cols-core_select\]",
        r"UnicodeSchemaTest::test_reflect",
    ],
    "a name has no brackets (CUBRID manual, sql/identifier.html)": [
        r"BizarroCharacterTest::test_(fk_ref|reflect_comments)\[.*\[brack.*\]",
        r"DifficultParametersTest::test_round_trip_same_named_column\[\[BracketsAndCase\]\]",
    ],
    "CUBRID's broker takes a ? within a name for a parameter": [
        r"DifficultParametersTest::test_round_trip_same_named_column\[q\?marks\]",
    ],
    "analytic functions have no frames (CUBRID manual, sql/function/analysis_fn.html)": [
        r"WindowFunctionTest::test_window_rows_between.*",
    ],
    "the driver reads JSON": [r"JSONTest::test_round_trip_custom_json"],
    "expects another database's words for a default": [
        r"ComponentReflectionTestExtra::test_server_defaults\[DateTime-.*\]",
    ],
}
"""Tests that are left out, by the reason."""
SINCE_NEW = "NameDenormalizeTest"
"""A class that the older release does not have."""
WITHOUT_OLD = {reason: [name for name in names if not name.startswith(SINCE_NEW)] for reason, names in WITHOUT.items()}


@pytest.mark.timeout(1800)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("driver", "version", "whole", "sample", "without"),
    [
        ("headrace", NEW, Counts(1078, 647), Counts(70, 10), WITHOUT),
        ("headrace_async", NEW, Counts(1078, 647), None, WITHOUT),
        ("headrace", OLD, Counts(881, 628), None, WITHOUT_OLD),
    ],
)
def test_dialect_suite(
    driver: str, version: str, whole: Counts, sample: Counts | None, without: dict[str, list[str]]
) -> None:
    part = Part("test/dialect/test_suite.py", whole, sample, without)
    if part.counts is None:
        pytest.skip("make test-dialects runs it")
    # The tests begin with the removal of all tables: they have a server of their own.
    with cubrid() as server:
        where = f"{server.user}:{server.password}@{server.host}:{server.port}/{server.database}"
        run_parts(f"cubrid+{driver}://{where}", version, part, requirements=REQUIREMENTS)
