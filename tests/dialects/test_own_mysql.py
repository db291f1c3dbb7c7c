"""SQLAlchemy's own tests on ``mariadb+headrace`` and ``mysql+headrace``."""

from __future__ import annotations

import pytest

from headrace.testing import MysqldServer

from .own import NEW, OLD, Counts, on_mysqld, run


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("driver", "version", "mark"),
    [
        ("headrace", NEW, Counts(1738, 77)),
        ("headrace", OLD, Counts(1528, 64)),
    ],
)
def test_dialect_suite_on_mariadb(mariadb_server: MysqldServer, driver: str, version: str, mark: Counts) -> None:
    with on_mysqld(mariadb_server, driver) as url:
        assert run(url, version, "test/dialect/test_suite.py") == mark


@pytest.mark.parametrize("database", ["mariadb", "mysql"])
def test_cancelled_tasks_leave_engines_usable(database: str, request: pytest.FixtureRequest) -> None:
    server: MysqldServer = request.getfixturevalue(f"{database}_server")
    with on_mysqld(server, "headrace_async") as url:
        assert run(url, NEW, "test/ext/asyncio/test_cancellation.py") == Counts(13, 4)
