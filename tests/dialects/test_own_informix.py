"""SQLAlchemy's own tests of every dialect on ``informix+headrace``: on the test server, as no genuine one was there."""

from __future__ import annotations

import pytest

from headrace.testing import informix

from .own import NEW, OLD, Counts, Part, run_parts

REQUIREMENTS = "requirements_informix:Requirements"
WITHOUT = {
    "a DECIMAL has 32 digits (IBM Informix Guide to SQL: Reference, DECIMAL data type)": [
        r"TrueDivTest::test_truediv_divisor\[numeric_(38_digit|tiny)_divisor-.*\]",
    ],
    "expects that a dialect has no options of tables, but they are there": [
        r"ComponentReflectionTest::test_(multi_)?get_table_options\[False-.*\]",
        r"QuotedNameArgumentTest::test_get_table_options\[.*\]",
    ],
    "FOR UPDATE needs a table (IBM Informix Guide to SQL: Syntax, FOR UPDATE clause)": [
        r"ServerSideCursorsTest::test_ss_cursor_status\[for_update_(expr|string)\]",
    ],
    "expects another database's words for a default": [
        r"ComponentReflectionTestExtra::test_server_defaults\[(Boolean|DateTime)-.*\]",
    ],
    "CREATE TABLE ... AS SELECT is not on the test server": [r"TableViaSelectTest::test_without_metadata\[plain\d\]"],
}
"""Tests that are left out, by the reason."""
# There such a table is not asked for.
WITHOUT_OLD = {reason: names for reason, names in WITHOUT.items() if "CREATE TABLE" not in reason}


@pytest.mark.timeout(1800)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("driver", "version", "whole", "sample", "without"),
    [
        ("headrace", NEW, Counts(846, 620), Counts(70, 10), WITHOUT),
        ("headrace_async", NEW, Counts(846, 620), None, WITHOUT),
        ("headrace", OLD, Counts(823, 592), None, WITHOUT_OLD),
    ],
)
def test_dialect_suite(
    driver: str, version: str, whole: Counts, sample: Counts | None, without: dict[str, list[str]]
) -> None:
    part = Part("test/dialect/test_suite.py", whole, sample, without)
    if part.counts is None:
        pytest.skip("make test-dialects runs it")
    # The tests begin with the removal of all tables: they have a server of their own.
    with informix(locale="en_US.utf8") as server:
        where = f"{server.user}:{server.password}@{server.host}:{server.port}/{server.database}"
        url = f"informix+{driver}://{where}?server={server.server}&DB_LOCALE=en_US.utf8&lock_wait=5"
        run_parts(url, version, part, requirements=REQUIREMENTS)
