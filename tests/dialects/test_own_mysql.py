"""SQLAlchemy's own tests on ``mariadb+headrace``, ``mysql+headrace`` and headrace's MySQLdb, with mysqlclient's counts
as the mark."""

from __future__ import annotations

import pytest

from headrace.testing import MysqldServer

from .own import NEW, OLD, SAMPLE, Counts, Part, on_mysqld, run, run_parts

NOT_OURS = {"asks mysqlclient for bytes (use_unicode=0)": [r"DialectTest::test_special_encodings\[\w+\]"]}
"""Tests that are left out, by the reason."""


def suite(whole: Counts, sample: Counts) -> Part:
    """The tests that every dialect has."""
    return Part("test/dialect/test_suite.py", whole, sample)


def of_mysql(whole: Counts, sample: Counts) -> Part:
    """The tests of MySQL."""
    return Part("test/dialect/mysql", whole, sample, NOT_OURS)


ON_MYSQL = [suite(Counts(1653, 92), Counts(72, 4)), of_mysql(Counts(690, 8), Counts(33, 2))]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("database", "driver", "version", "parts"),
    [
        (
            "mariadb",
            "headrace",
            NEW,
            [suite(Counts(1753, 77), Counts(86, 1)), of_mysql(Counts(684, 24), Counts(33, 2))],
        ),
        (
            "mariadb",
            "headrace",
            OLD,
            [suite(Counts(1543, 64), Counts(84, 1)), of_mysql(Counts(644, 24), Counts(33, 2))],
        ),
        ("mariadb", "mysqldb", NEW, [suite(Counts(1753, 77), Counts(86, 1))]),
        ("mysql", "headrace", NEW, ON_MYSQL),
        ("mysql", "headrace_async", NEW, ON_MYSQL),
    ],
)
def test_dialect_suite_and_tests_of_mysql(
    request: pytest.FixtureRequest, database: str, driver: str, version: str, parts: list[Part]
) -> None:
    more = "facade_plugin" if driver == "mysqldb" else ""
    with on_mysqld(request.getfixturevalue(f"{database}_server"), driver) as url:
        run_parts(url, version, *parts, more=more)


@pytest.mark.parametrize("database", ["mariadb", *([] if SAMPLE else ["mysql"])])
def test_cancelled_tasks_leave_engines_usable(database: str, request: pytest.FixtureRequest) -> None:
    server: MysqldServer = request.getfixturevalue(f"{database}_server")
    with on_mysqld(server, "headrace_async") as url:
        assert run(url, NEW, "test/ext/asyncio/test_cancellation.py", of=0) == Counts(13, 4)
