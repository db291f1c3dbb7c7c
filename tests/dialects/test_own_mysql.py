"""SQLAlchemy's own tests on ``mariadb+headrace``, ``mysql+headrace`` and headrace's MySQLdb, with mysqlclient's counts
as the mark."""

from __future__ import annotations

import pytest

from headrace.testing import MysqldServer

from .own import NEW, OLD, SAMPLE, Counts, mark, on_mysqld, run

NOT_OURS = {"asks mysqlclient for bytes (use_unicode=0)": [r"DialectTest::test_special_encodings\[\w+\]"]}
"""Tests that are left out, by the reason."""


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("database", "driver", "version", "marks"),
    [
        ("mariadb", "headrace", NEW, (Counts(1753, 77), Counts(86, 1))),
        ("mariadb", "headrace", OLD, (Counts(1543, 64), Counts(84, 1))),
        ("mariadb", "mysqldb", NEW, (Counts(1753, 77), Counts(86, 1))),
        ("mysql", "headrace", NEW, (Counts(1653, 92), Counts(72, 4))),
        ("mysql", "headrace_async", NEW, (Counts(1653, 92), Counts(72, 4))),
    ],
)
def test_dialect_suite(
    request: pytest.FixtureRequest, database: str, driver: str, version: str, marks: tuple[Counts, Counts]
) -> None:
    more = "facade_plugin" if driver == "mysqldb" else ""
    with on_mysqld(request.getfixturevalue(f"{database}_server"), driver) as url:
        assert run(url, version, "test/dialect/test_suite.py", more=more) == mark(*marks)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("database", "driver", "version", "marks"),
    [
        ("mariadb", "headrace", NEW, (Counts(684, 24), Counts(33, 2))),
        ("mariadb", "headrace", OLD, (Counts(644, 24), Counts(33, 2))),
        ("mysql", "headrace", NEW, (Counts(690, 8), Counts(33, 2))),
        ("mysql", "headrace_async", NEW, (Counts(690, 8), Counts(33, 2))),
    ],
)
def test_tests_of_mysql(
    request: pytest.FixtureRequest, database: str, driver: str, version: str, marks: tuple[Counts, Counts]
) -> None:
    with on_mysqld(request.getfixturevalue(f"{database}_server"), driver) as url:
        assert run(url, version, "test/dialect/mysql", without=NOT_OURS) == mark(*marks)


@pytest.mark.parametrize("database", ["mariadb", *([] if SAMPLE else ["mysql"])])
def test_cancelled_tasks_leave_engines_usable(database: str, request: pytest.FixtureRequest) -> None:
    server: MysqldServer = request.getfixturevalue(f"{database}_server")
    with on_mysqld(server, "headrace_async") as url:
        assert run(url, NEW, "test/ext/asyncio/test_cancellation.py", of=0) == Counts(13, 4)
