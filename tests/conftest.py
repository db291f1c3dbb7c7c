"""One server of each kind for the whole run; a database of its own for each test module."""

from __future__ import annotations

import asyncio
import gc
import importlib
import itertools
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

import headrace
import headrace.informix
import headrace.mysql
from durations import Durations
from headrace.testing import (
    InformixServer,
    MysqldServer,
    PostgresServer,
    ServerUnavailable,
    informix,
    mariadb,
    postgres,
)
from headrace_lab.mysql import start_mysql
from live import URL, cleaned, cubrid_url, live_server
from long import is_long, load_profile
from own_database import own_database
from served import SETTINGS, Served, served
from servers import Database, database, names

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Shells start what runs in the background so, and Python then handles no Ctrl-C, which tests need.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What races builds optimised programs, which take minutes: here they are those that other tests use.
os.environ.setdefault("HEADRACE_PROGRAMS", "debug")

load_profile()
_numbers = itertools.count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of these tests."""
    text = "show the N files and the N fixtures that took longest (0 for all), and when each process ended"
    parser.addoption("--durations-by-file", type=int, metavar="N", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Measures files and fixtures, if asked to."""
    if (most := config.getoption("--durations-by-file")) is not None:
        config.pluginmanager.register(Durations(most))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begins with the files that take longest."""
    items.sort(key=lambda item: not is_long(item.path))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Any:
    """Collecting makes half a million objects that stay: the collector would visit them again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Takes them out of the collector's sight: each of the many collections that tests ask for would visit them."""
    gc.collect()
    gc.freeze()


_missing: set[str] = set()
"""What is not on this machine, where that may be: see :func:`_skip_missing`."""


def _skip_missing() -> Any:
    """Skips what needs a server that is not there, if `make quick` runs the tests. In all other runs it is an error."""
    try:
        return (yield)
    except ServerUnavailable as error:
        if not os.environ.get("HEADRACE_SKIP_MISSING") or os.environ.get("CI"):
            raise
        _missing.add(str(error).partition("\n")[0])
        pytest.skip(str(error))


# A fixture's error is kept, and comes again without the fixture's hook: the whole setup of a test is looked at.
pytest_runtest_setup = pytest.hookimpl(wrapper=True)(_skip_missing)
pytest_runtest_call = pytest.hookimpl(wrapper=True)(_skip_missing)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hands what was missing to the process that reports."""
    if output := getattr(session.config, "workeroutput", None):
        output["missing"] = sorted(_missing)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Takes what was missing in one of several processes."""
    _missing.update(getattr(node, "workeroutput", {}).get("missing", ()))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says in one line what was skipped for want of a server, and what `make quick` waits for that should be marked."""
    if _missing:
        terminalreporter.write_line(f"skipped, since it is missing here: {'; '.join(sorted(_missing))}")
    if os.environ.get("HEADRACE_SKIP_MISSING"):
        passed = terminalreporter.stats.get("passed", [])
        unmarked = [test for test in passed if test.duration > 1 and "slow" not in test.keywords]
        for test in sorted(unmarked, key=lambda test: -test.duration)[:10]:
            terminalreporter.write_line(f"not marked slow: {test.nodeid} took {test.duration:.1f} s")


@pytest.fixture(autouse=True)
def _no_callbacks_of_the_collector() -> None:
    """Hypothesis times the collector by a callback, for good. Python can only print an interrupt that comes within one:
    to a test that waits for it it is lost."""
    gc.callbacks.clear()


@pytest.fixture(scope="session")
def adbc_dbapi() -> Any:
    """The ADBC driver's module, for tests of a database's own folder: `make quick` does not build the driver."""
    try:
        return importlib.import_module("adbc_driver_headrace.dbapi")
    except ImportError as error:
        raise ServerUnavailable(f"the ADBC driver is not built, which `make build` does: {error}") from error


SMALL_LOG = {"max_wal_size": "128MB", "min_wal_size": "32MB"}
"""Nobody recovers from the log of a test's server: each would keep a gigabyte of it."""


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    """The embedded PostgreSQL 18, without TLS."""
    with postgres(settings=SMALL_LOG) as running:
        yield running


@pytest.fixture(scope="session")
def tls_server() -> Iterator[PostgresServer]:
    """Debian's PostgreSQL with TLS, and users for every authentication method."""
    hba = [
        "host all scram_user 127.0.0.1/32 scram-sha-256",
        "host all md5_user 127.0.0.1/32 md5",
        "host all password_user 127.0.0.1/32 password",
        "hostssl all cert_user 127.0.0.1/32 cert",
        "hostnossl all tls_only 127.0.0.1/32 reject",
        "hostssl all plain_only 127.0.0.1/32 reject",
        "host all all 127.0.0.1/32 trust",
        "local all all trust",
    ]
    with postgres(tls=True, hba=hba, settings=SMALL_LOG) as running:
        with headrace.connect(running.url, autocommit=True) as connection:
            connection.execute("set password_encryption = 'md5'")
            connection.execute("create role md5_user login password 'secret'")
            connection.execute("set password_encryption = 'scram-sha-256'")
            for name in ("scram_user", "password_user"):
                connection.execute(f"create role {name} login password 'secret'")
            for name in ("cert_user", "tls_only", "plain_only"):
                connection.execute(f"create role {name} login")
        yield running


@pytest.fixture(scope="session")
def mariadb_served() -> Iterator[Served]:
    """MariaDB from the system's packages, without TLS."""
    with mariadb() as running:
        yield served("mariadb", running)


@pytest.fixture(scope="session")
def mysql_served() -> Iterator[Served]:
    """Genuine MySQL of the newest version, with the certificate that it makes for itself."""
    with start_mysql(settings=SETTINGS, tls=True) as running:
        yield served("mysql", running)


@pytest.fixture(scope="session")
def mariadb_server(mariadb_served: Served) -> MysqldServer:
    """MariaDB, for what has nothing to say to it in its own way."""
    return mariadb_served.server


@pytest.fixture(scope="session")
def mysql_server(mysql_served: Served) -> MysqldServer:
    """The same of MySQL."""
    return mysql_served.server


@pytest.fixture(scope="session")
def informix_server() -> Iterator[InformixServer]:
    """The project's own test server: what holds here is not proven for a genuine one. Or one that is, where
    HEADRACE_INFORMIX_URL names it."""
    with cleaned(live_server()) if URL else informix() as running:
        with headrace.informix.connect(**running.parameters(), autocommit=True) as admin:
            admin.execute("drop table if exists numbers")
            admin.execute("create table numbers (n int primary key)")
            admin.executemany("insert into numbers values (?)", [(n,) for n in range(1000)])
        yield running


@pytest.fixture(scope="session")
def cubrid_served() -> Iterator[str]:
    """The URL of CUBRID's test server, or of a genuine one."""
    with cubrid_url() as url:
        yield url


@pytest.fixture(params=names())
def any_db(request: pytest.FixtureRequest) -> Database:
    """Each database, for what all do alike."""
    return database(request, request.param)


@pytest.fixture
def berlin() -> Iterator[None]:
    """The local zone of this process, which is not that of the sessions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Europe/Berlin")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture(scope="module")
def url(server: PostgresServer) -> Iterator[str]:
    """A database of the module's own."""
    with own_database(server, f"test_{next(_numbers)}") as its:
        yield its


@pytest.fixture
def conn(url: str) -> Iterator[headrace.Connection[Any]]:
    """A blocking connection, closed (and rolled back) afterwards."""
    connection = headrace.connect(url)
    yield connection
    connection.close()


@pytest.fixture
async def aconn(url: str) -> Any:
    """An asyncio connection, closed afterwards."""
    connection = await headrace.aio.connect(url)
    yield connection
    await connection.close()
    await asyncio.sleep(0)
