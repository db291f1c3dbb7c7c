"""SQLAlchemy's own tests, from its source distribution, on a server of the run."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import headrace
import headrace.mysql
from headrace.testing import MysqldServer, PostgresServer
from long import NIGHT
from sdist import source_of

NEW, OLD = "2.1.9", "2.0.58"
"""The releases whose tests run; each brings its own SQLAlchemy."""
HERE = Path(__file__).parent
SAMPLE = 0 if NIGHT or "HEADRACE_DIALECTS" in os.environ else 10
"""One class of so many runs in ``make test``; 0 in ``make test-dialects`` and ``make test-long``: all of them."""
COLLATIONS = {"mariadb": " collate utf8mb4_general_ci", "mysql": ""}
"""Of the databases: a literal has the server's own collation, and MySQL's tests compare some with columns."""
_PASSWORD = "tiger"


@dataclass(frozen=True)
class Counts:
    """What a run has come to."""

    passed: int
    skipped: int

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.passed + other.passed, self.skipped + other.skipped)


@dataclass(frozen=True)
class Part:
    """A file or folder of tests, and what they come to."""

    path: str
    whole: Counts
    """All of them."""
    sample: Counts | None
    """Those of ``make test``; None where it has none of them."""
    without: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """Tests that are left out, by the reason."""

    @property
    def counts(self) -> Counts | None:
        """What a run must come to."""
        return self.sample if SAMPLE else self.whole


def run_parts(url: str, version: str, *parts: Part, more: str = "", requirements: str = "") -> None:
    """Runs the tests of several parts in one process, and checks what they come to."""
    of_run = [(part, counts) for part in parts if (counts := part.counts) is not None]
    without = {reason: names for part, _ in of_run for reason, names in part.without.items()}
    found = run(url, version, *(part.path for part, _ in of_run), without=without, more=more, requirements=requirements)
    wanted = sum((counts for _, counts in of_run), Counts(0, 0))
    assert found == wanted, f"{found}, and not {wanted}"


def run(
    url: str,
    version: str,
    *tests: str,
    without: Mapping[str, Sequence[str]] | None = None,
    more: str = "",
    of: int = SAMPLE,
    requirements: str = "",
) -> Counts:
    """Runs SQLAlchemy's tests on a database of their own, ``without`` some, by the reason. ``more`` is a plugin.

    ``requirements`` is the class, ``module:Class``, of what a database is asked for that SQLAlchemy does not know.

    Raises AssertionError where one of them fails. ``of`` is the share of the classes that run: one of so many.
    """
    plugin = "dialect_plugin" if requirements else "sqlalchemy_plugin"
    left_out = [name for names in (without or {}).values() for name in names]
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-p", "no:warnings", "-p", "no:logging", "-p", "no:cacheprovider",
            "-p", "no:asyncio", "-p", plugin, "--tb", "short", "--maxfail", "50", "--dburi", url,
            *(["-p", more] if more else []), *tests,
        ],
        cwd=source_of("sqlalchemy", version),
        env={
            **os.environ,
            # What comes after it is the tree that is tested, where that is not the installed one.
            "PYTHONPATH": os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH")))),
            "HEADRACE_DESELECT": "\n".join(left_out),
            "HEADRACE_SAMPLE": str(of),
            "HEADRACE_REQUIREMENTS": requirements,
        },
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    found = {word: int(number) for number, word in re.findall(r"(\d+) (passed|skipped)", done.stdout.splitlines()[-1])}
    return Counts(found.get("passed", 0), found.get("skipped", 0))


@contextlib.contextmanager
def on_postgres(server: PostgresServer, driver: str) -> Iterator[str]:
    """The URL of a database as the tests want it: with two schemas, hstore and citext."""
    with headrace.connect(server.url, autocommit=True) as admin:
        admin.execute("drop database if exists sqlalchemy_tests with (force)")
        admin.execute("create database sqlalchemy_tests")
    try:
        with headrace.connect(server.url, dbname="sqlalchemy_tests", autocommit=True) as admin:
            for schema in ("test_schema", "test_schema_2"):
                admin.execute(f"create schema {schema}")
            for extension in ("hstore", "citext"):
                admin.execute(f"create extension {extension}")
            # Where the system has no such locale, the database has no such collation.
            admin.execute("create collation if not exists \"en_US\" (locale = 'C.UTF-8')")
        # The server asks for no password, but the tests take the URL apart.
        yield f"postgresql+{driver}://{server.user}:{_PASSWORD}@{server.host}:{server.port}/sqlalchemy_tests"
    finally:
        with headrace.connect(server.url, autocommit=True) as admin:
            admin.execute("drop database sqlalchemy_tests with (force)")


@contextlib.contextmanager
def on_mysqld(server: MysqldServer, driver: str) -> Iterator[str]:
    """The URL of a database as the tests want it: with two others beside it."""
    databases = ("sqlalchemy_tests", "test_schema", "test_schema_2")
    collation = COLLATIONS[server.scheme]
    with headrace.mysql.connect(server.url, autocommit=True) as admin:
        # A test that fails may leave a transaction open, for which the DROP TABLE of its end would wait a day.
        admin.execute("set global lock_wait_timeout = 20")
        for name in databases:
            admin.execute(f"drop database if exists {name}")
            admin.execute(f"create database {name} character set utf8mb4{collation}")
    try:
        where = f"{server.host}:{server.port}"
        yield f"{server.scheme}+{driver}://tester:{_PASSWORD}@{where}/sqlalchemy_tests?charset=utf8mb4"
    finally:
        with headrace.mysql.connect(server.url, autocommit=True) as admin:
            for name in databases:
                admin.execute(f"drop database {name}")
