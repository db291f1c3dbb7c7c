"""SQLAlchemy's own tests on ``postgresql+headrace``, with psycopg's counts as the mark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.testing import PostgresServer, postgres

from .own import NEW, OLD, Counts, on_postgres, run


@pytest.fixture(scope="module")
def complete() -> Iterator[PostgresServer]:
    """A server with its extensions, which the embedded one does not have, and prepared transactions."""
    trusting = ["host all all 127.0.0.1/32 trust"]
    with postgres(tls=True, hba=trusting, settings={"max_prepared_transactions": 10}) as running:
        yield running


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("driver", "version", "mark"),
    [
        ("headrace", NEW, Counts(1883, 10)),
        ("headrace_async", NEW, Counts(1883, 10)),
        ("headrace", OLD, Counts(1577, 93)),
    ],
)
def test_dialect_suite(complete: PostgresServer, driver: str, version: str, mark: Counts) -> None:
    with on_postgres(complete, driver) as url:
        assert run(url, version, "test/dialect/test_suite.py") == mark


def test_cancelled_tasks_leave_engines_usable(complete: PostgresServer) -> None:
    with on_postgres(complete, "headrace_async") as url:
        assert run(url, NEW, "test/ext/asyncio/test_cancellation.py").passed == 17
