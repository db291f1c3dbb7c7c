"""SQLAlchemy's own tests on ``postgresql+headrace``, with psycopg's counts as the mark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pytest

from headrace.testing import PostgresServer, postgres

from .own import NEW, OLD, Counts, Part, on_postgres, run, run_parts

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


def suite(whole: Counts, sample: Counts) -> Part:
    """The tests that every dialect has."""
    return Part("test/dialect/test_suite.py", whole, sample)


def of_postgresql(whole: Counts, sample: Counts | None, without: Mapping[str, Sequence[str]] = NOT_OURS) -> Part:
    """The tests of PostgreSQL."""
    return Part("test/dialect/postgresql", whole, sample, without)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("driver", "version", "parts"),
    [
        (
            "headrace",
            NEW,
            [suite(Counts(1883, 10), Counts(97, 0)), of_postgresql(Counts(10149, 15), Counts(1652, 6))],
        ),
        (
            "headrace_async",
            NEW,
            [
                suite(Counts(1883, 10), Counts(97, 0)),
                of_postgresql(Counts(10149, 14), None, NOT_OURS | NOT_OURS_ON_ASYNCIO),
            ],
        ),
        ("headrace", OLD, [suite(Counts(1577, 93), Counts(95, 0)), of_postgresql(Counts(9821, 11), None)]),
    ],
)
def test_dialect_suite_and_tests_of_postgresql(
    complete: PostgresServer, driver: str, version: str, parts: list[Part]
) -> None:
    with on_postgres(complete, driver) as url:
        run_parts(url, version, *parts)


@pytest.mark.slow
def test_asyncpgs_dialect_runs_on_the_facade(complete: PostgresServer) -> None:
    with on_postgres(complete, "asyncpg") as url:
        suite_of_every_dialect = "test/dialect/test_suite.py"
        found = run(url, NEW, suite_of_every_dialect, more="asyncpg_facade_plugin", of=10)
    # asyncpg's own count.
    assert found == Counts(97, 0)


def test_cancelled_tasks_leave_engines_usable(complete: PostgresServer) -> None:
    with on_postgres(complete, "headrace_async") as url:
        assert run(url, NEW, "test/ext/asyncio/test_cancellation.py", of=0).passed == 17
