"""SQLAlchemy's own tests on ``postgresql+headrace``, with psycopg's counts as the mark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.testing import PostgresServer, postgres

from .own import NEW, OLD, SAMPLE, Counts, mark, on_postgres, run

ALL = not SAMPLE
"""``make test-dialects``, ``make test-long``: also what takes too long for ``make test``."""
NOT_OURS = {
    "asks psycopg about itself, or for an option of its own": [
        r"MiscBackendTest::test_(client_encoding|initial_transaction_state_psycopg|psycopg_non_standard_err)",
        r"MiscBackendTest::test_psycopg_version",
        r"Psycopg3Test::test_(client_side_cursor|hstore_correctly_registered)",
        r"HStoreRoundTripTest::test_\w+_python",
    ],
    "expects parameters as %(name)s, or a percent sign that is doubled for them": [
        r"MatchTest::test_expression_pyformat",
        r"MiscBackendTest::test_notice_logging",
        r"OnConflictTest::test_on_conflict_do_update_multirow_returning_ordered",
    ],
    "works around arrays of enums that are text": [r"ArrayEnum::test_\w+\[.*_ArrayOfEnum.*\]"],
    "expects the failure of every driver, but works": [
        r"TableValuedRoundTripTest::test_render_derived_quoting_straight_json\[None-.*\]"
    ],
}
"""Tests that are left out, by the reason: 29 tests in each release."""
NOT_OURS_ON_ASYNCIO = {"gives psycopg a class of cursors of its own": [r"Psycopg3Test::test_async_client_side_cursor"]}
"""The same, of those that run with asyncio dialects only."""


@pytest.fixture(scope="module")
def complete() -> Iterator[PostgresServer]:
    """A server with its extensions, which the embedded one does not have, and prepared transactions."""
    trusting = ["host all all 127.0.0.1/32 trust"]
    with postgres(tls=True, hba=trusting, settings={"max_prepared_transactions": 10}) as running:
        yield running


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("driver", "version", "marks"),
    [
        ("headrace", NEW, (Counts(1883, 10), Counts(97, 0))),
        ("headrace_async", NEW, (Counts(1883, 10), Counts(97, 0))),
        ("headrace", OLD, (Counts(1577, 93), Counts(95, 0))),
    ],
)
def test_dialect_suite(complete: PostgresServer, driver: str, version: str, marks: tuple[Counts, Counts]) -> None:
    with on_postgres(complete, driver) as url:
        assert run(url, version, "test/dialect/test_suite.py") == mark(*marks)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("driver", "version", "marks"),
    [
        ("headrace", NEW, (Counts(10149, 15), Counts(1652, 6))),
        *(
            [
                ("headrace", OLD, (Counts(9821, 11), Counts(0, 0))),
                ("headrace_async", NEW, (Counts(10149, 14), Counts(0, 0))),
            ]
            if ALL
            else []
        ),
    ],
)
def test_tests_of_postgresql(complete: PostgresServer, driver: str, version: str, marks: tuple[Counts, Counts]) -> None:
    with on_postgres(complete, driver) as url:
        without = NOT_OURS | NOT_OURS_ON_ASYNCIO if driver == "headrace_async" else NOT_OURS
        assert run(url, version, "test/dialect/postgresql", without=without) == mark(*marks)


def test_cancelled_tasks_leave_engines_usable(complete: PostgresServer) -> None:
    with on_postgres(complete, "headrace_async") as url:
        assert run(url, NEW, "test/ext/asyncio/test_cancellation.py", of=0).passed == 17
