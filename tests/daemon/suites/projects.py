"""How the suite of each project is run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..conftest import ROOT
from .outcomes import Outcomes, of_go, of_junit, of_lines
from .ways import DATABASE, DIRECT, ONE, PASSWORD_OF_TEST, RAILS_DATABASES, Way

HERE = Path(__file__).parent
TEST_SECONDS = 60
PACKAGE_SECONDS = 240
DJANGO_TESTS = [
    "backends",
    "transactions",
    "transaction_hooks",
    "select_for_update",
    "get_or_create",
    "bulk_create",
    "queries",
    "introspection",
    "inspectdb",
    "schema",
    "migrations",
    "postgres_tests",
    "async",
]


@dataclass
class Job:
    """A suite to be run."""

    source: Path
    python: str
    arguments: list[str]
    log: Path


def environment(**more: str) -> dict[str, str]:
    """That of this process, without what would change where a client connects to."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")} | more


def run(command: list[str], job: Job, folder: Path, **variables: str) -> str:
    """Runs a suite, whose tests may fail; returns what it prints."""
    with job.log.open("w") as log:
        subprocess.run(command, cwd=folder, env=environment(**variables), stdout=log, stderr=subprocess.STDOUT)
    return job.log.read_text(errors="replace")


def run_pytest(job: Job, folder: Path, arguments: list[str], **variables: str) -> Outcomes:
    """Runs a suite by pytest, always in the same order."""
    with tempfile.TemporaryDirectory() as made:
        file = Path(made) / "outcomes.xml"
        limits = [
            "--continue-on-collection-errors",
            "-o",
            f"cache_dir={made}/cache",
            f"--timeout={TEST_SECONDS}",
            f"--junitxml={file}",
        ]
        printed = run([job.python, "-m", "pytest", "-q", *limits, *arguments], job, folder, **variables)
        if not file.exists():
            raise SystemExit(f"pytest has not run:\n{printed[-3000:]}")
        return of_junit(file)


def psycopg(job: Job, way: Way) -> Outcomes:
    """psycopg 3: its tests but those of the pool's timing, which no server changes."""
    way.psql("create extension hstore")
    dsn = f"host=127.0.0.1 port={way.port} user=postgres password={way.server.password} dbname={DATABASE}"
    arguments = [
        "-p",
        "no:randomly",
        "-p",
        "no:cov",
        "-m",
        "not slow and not mypy",
        *(job.arguments or ["tests", "--ignore=tests/pool"]),
    ]
    return run_pytest(job, job.source, arguments, PSYCOPG_TEST_DSN=dsn)


def asyncpg(job: Job, way: Way) -> Outcomes:
    """asyncpg: its tests make users, which a Unix socket lets in. They are copied, as the checkout is not built."""
    with tempfile.TemporaryDirectory() as made:
        shutil.copytree(job.source / "tests", Path(made) / "tests")
        where = {
            "PGHOST": str(way.folder),
            "PGPORT": str(way.socket_port),
            "PGUSER": "postgres",
            # Tests of its pool name this database.
            "PGDATABASE": "postgres",
        }
        arguments = job.arguments or ["tests"]
        arguments += ["--ignore=tests/test__sourcecode.py", "--ignore=tests/test__environment.py"]
        return run_pytest(job, Path(made), arguments, **where)


def pgx(job: Job, way: Way) -> Outcomes:
    """pgx: all packages, one after the other."""
    for name in ("hstore", "ltree"):
        way.psql(f"create extension {name}")
    way.psql(
        "create domain uint64 as numeric(20,0)",
        """create user " tricky, ' } "" \\ test user " superuser password 'secret'""",
    )
    tcp = f"host=127.0.0.1 port={way.port} user=postgres password={way.server.password} dbname={DATABASE}"
    socket = f"host={way.folder} port={way.socket_port} user=postgres dbname={DATABASE}"
    names = {
        "DATABASE": tcp,
        "TCP_CONN_STRING": tcp,
        "SCRAM_PASSWORD_CONN_STRING": tcp,
        "UNIX_SOCKET_CONN_STRING": socket,
    }
    variables = {f"PGX_TEST_{name}": value for name, value in names.items()}
    command = ["go", "test", "-json", "-count=1", "-p=1", f"-timeout={PACKAGE_SECONDS}s", *(job.arguments or ["./..."])]
    return of_go(run(command, job, job.source, **variables).splitlines())


def pgjdbc(job: Job, way: Way) -> Outcomes:
    """pgjdbc: the tests of the driver on the published jar. They are compiled by javac: its own build needs Gradle."""
    way.psql(
        "create extension hstore",
        f"create user test password '{PASSWORD_OF_TEST}'",
        f"alter database {DATABASE} owner to test",
        "create database test_2 owner test",
    )
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        shutil.copy(Path(__file__).with_name("pgjdbc.xml"), folder / "pom.xml")
        libraries = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={folder / 'lib'}"]
        subprocess.run(libraries, cwd=folder, check=True)
        tests = job.source / "pgjdbc" / "src" / "test"
        sources = [file for root in (tests, job.source / "testkit" / "src" / "main") for file in root.rglob("*.java")]
        compiler = ["javac", "-nowarn", "-parameters", "-encoding", "UTF-8", "-cp", f"{folder / 'lib'}/*"]
        subprocess.run([*compiler, "-d", folder / "classes", *sources], check=True)
        settings = {
            "test.url.PGHOST": "127.0.0.1",
            "test.url.PGPORT": str(way.port),
            "test.url.PGDBNAME": DATABASE,
            "user": "test",
            "password": PASSWORD_OF_TEST,
            "privilegedUser": "postgres",
            "privilegedPassword": way.server.password,
            "junit.jupiter.execution.timeout.default": f"{TEST_SECONDS} s",
            "junit.jupiter.extensions.autodetection.enabled": "true",
        }
        command = [
            "java",
            *(f"-D{name}={value}" for name, value in settings.items()),
            "-cp",
            os.pathsep.join([f"{folder / 'classes'}", f"{tests / 'resources'}", f"{folder / 'lib'}/*"]),
            "org.junit.platform.console.ConsoleLauncher",
            "execute",
            "--details=tree",
            "--disable-ansi-colors",
            f"--reports-dir={folder / 'reports'}",
            # Copies until its connection is ended by the process id that its driver was told: without end, if that is
            # the daemon's.
            r"--exclude-methodname=.*CopyTest[.#]lockReleaseOnCancelFailure",
            *(job.arguments or [f"--scan-class-path={folder / 'classes'}"]),
        ]
        run(command, job, job.source / "pgjdbc")
        return of_junit(folder / "reports" / "TEST-junit-jupiter.xml")


def node_postgres(job: Job, way: Way) -> Outcomes:
    """node-postgres: the tests of pg that need a server, of pg-pool and of pg-cursor. The packages that they need are
    in ``packages/node_modules``."""
    packages = job.source / "packages"
    where = {
        "PGHOST": "127.0.0.1",
        "PGPORT": str(way.port),
        "PGUSER": "postgres",
        "PGPASSWORD": way.server.password,
        "PGDATABASE": DATABASE,
        "SCRAM_TEST_PGUSER": "postgres",
        "SCRAM_TEST_PGPASSWORD": way.server.password,
        "SUITES_SOURCE": str(job.source),
    }
    files = job.arguments or [
        str(file) for file in sorted((packages / "pg" / "test" / "integration").rglob("*-tests.js"))
    ]
    found: Outcomes = {}
    for file in files:
        command = ["timeout", str(TEST_SECONDS), "node", "-r", str(HERE / "node_suite.js"), file]
        lines = run(command, job, packages / "pg", **where).splitlines()
        found |= of_lines(json.loads(line)["suites"] for line in lines if line.startswith('{"suites"'))
    for name in () if job.arguments else ("pg-pool", "pg-cursor"):
        with tempfile.TemporaryDirectory() as made:
            results = Path(made) / "outcomes.xml"
            options = ["--reporter", "xunit", "--reporter-option", f"output={results}", "--exit"]
            run(
                ["node", str(packages / "node_modules" / "mocha" / "bin" / "mocha"), *options],
                job,
                packages / name,
                **where,
            )
            found |= {f"{name}.{test}": outcome for test, outcome in of_junit(results).items()}
    return found


def django(job: Job, way: Way) -> Outcomes:
    """Django: its tests of databases. Their databases are kept: a pool that is there does not let them be dropped."""
    with tempfile.TemporaryDirectory() as made:
        results = Path(made) / "outcomes.xml"
        where = {
            "SUITES_DATABASE": DATABASE,
            "SUITES_PASSWORD": way.server.password,
            "SUITES_PORT": str(way.port),
            "SUITES_OUTCOMES": str(results),
            "PYTHONPATH": os.pathsep.join([str(HERE), str(job.source)]),
        }
        command = [job.python, "runtests.py", "--settings=django_settings", "--parallel=1", "--keepdb", "--noinput"]
        printed = run([*command, *(job.arguments or DJANGO_TESTS)], job, job.source / "tests", **where)
        if not results.exists():
            raise SystemExit(f"Django's tests have not run:\n{printed[-3000:]}")
        return of_junit(results)


def rails(job: Job, way: Way) -> Outcomes:
    """Rails: the tests of ActiveRecord, on its PostgreSQL adapter."""
    way.psql(*(f"create database {name}" for name in RAILS_DATABASES))
    folder = job.source / "activerecord"
    common = (
        f"host: 127.0.0.1, port: {way.port}, username: postgres, password: '{way.server.password}', "
        "min_messages: warning"
    )
    more = {"arunit": "", "arunit_without_prepared_statements": ", prepared_statements: false", "arunit2": ""}
    configuration = "".join(f"    {name}: {{{common}{word}}}\n" for name, word in more.items())
    with tempfile.TemporaryDirectory() as made:
        results, settings = Path(made) / "outcomes", Path(made) / "config.yml"
        settings.write_text(f"default_connection: postgresql\nconnections:\n  postgresql:\n{configuration}")
        where = {
            "ARCONN": "postgresql",
            "ARCONFIG": str(settings),
            "SUITES_OUTCOMES": str(results),
            # Rails' own tasks for tests set these.
            "PGHOST": "127.0.0.1",
            "PGPORT": str(way.port),
            "PGUSER": "postgres",
            "PGPASSWORD": way.server.password,
        }
        paths = [f"-I{job.source / name / 'lib'}" for name in ("activesupport", "activemodel", "activerecord")]
        tests = job.arguments or [
            str(file) for file in sorted((folder / "test" / "cases" / "adapters" / "postgresql").rglob("*_test.rb"))
        ]
        loader = [
            "-r",
            str(HERE / "rails_outcomes.rb"),
            "-e",
            "ARGV.shift(ARGV.index('--')).each { |file| require file }",
        ]
        run(["ruby", *paths, "-Itest", *loader, *tests, "--", "--seed", "1"], job, folder, **where)
        return of_lines(json.loads(line) for line in results.read_text().splitlines())


def sqlalchemy(job: Job, way: Way) -> Outcomes:
    """SQLAlchemy: its dialect suite, on our dialect. No connection is kept between tests: with one server connection
    nobody else could have it after a test that pins it."""
    way.psql(
        *(f"create schema {name}" for name in ("test_schema", "test_schema_2")),
        *(f"create extension {name}" for name in ("hstore", "citext")),
        "create collation if not exists \"en_US\" (locale = 'C.UTF-8')",
    )
    url = f"postgresql+headrace://postgres@/{DATABASE}?host={way.folder}&port={way.socket_port}"
    plugins = ["-p", "no:asyncio", "-p", "no:logging", "-p", "sqlalchemy_plugin", "-p", "no_pool_plugin"]
    arguments = [*plugins, "--dburi", url, "--maxfail", "10000", *(job.arguments or ["test/dialect/test_suite.py"])]
    where = os.pathsep.join([str(ROOT / "tests" / "dialects"), str(Path(__file__).parent), *sys.path])
    return run_pytest(job, job.source, arguments, PYTHONPATH=where)


PROJECTS: dict[str, Callable[[Job, Way], Outcomes]] = {
    "psycopg": psycopg,
    "asyncpg": asyncpg,
    "pgx": pgx,
    "pgjdbc": pgjdbc,
    "node-postgres": node_postgres,
    "django": django,
    "rails": rails,
    "sqlalchemy": sqlalchemy,
}
USUAL_WAYS = (DIRECT, "session", "transaction")
WAYS_OF = {"sqlalchemy": (DIRECT, ONE)}
"""The ways that a suite is run, where they are others than the usual."""
