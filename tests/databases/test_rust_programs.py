"""Programs in Rust, without Python, on the engine: the examples of ``crates/io`` against real servers."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from headrace.testing import InformixServer, PostgresServer, informix, mariadb, postgres
from served import Served, served

ROOT = Path(__file__).parents[2]
CONNECTIONS = 1000
FILES = 4096
"""Open files that a process with so many connections may need: Informix's test server has several for each."""


@pytest.fixture(scope="module")
def programs() -> Path:
    """The folder of the built examples."""
    assert shutil.which("cargo"), "the examples in Rust are built by cargo: install Rust by rustup (https://rustup.rs)"
    features = ["--package", "headrace-io", "--features", "tokio", "--examples"]
    subprocess.run(["cargo", "build", "--quiet", *features], cwd=ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "examples"


def run(program: Path, *arguments: str) -> str:
    """What it prints."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Statements(NamedTuple):
    """What the programs execute on a database."""

    greeting: str
    """A query with a text as parameter: the text, and 42."""
    slow: str
    """A statement that takes long."""
    double: str
    """A query with a number as parameter."""


STATEMENTS = {
    "postgresql": Statements("select $1 || ' from headrace', 6 * 7", "select pg_sleep(60)", "select $1::bigint * 2"),
    "mysql": Statements(
        "select concat(?, ' from headrace'), 6 * 7",
        "select count(*) from information_schema.columns a, information_schema.columns b, "
        "information_schema.columns c where a.table_name > concat(b.table_name, c.table_name)",
        "select ? * 2",
    ),
    "informix": Statements(
        "select ? || ' from headrace', 6 * 7 from systables where tabid = 1",
        "select count(*) from syscolumns a, syscolumns b, syscolumns c, syscolumns d "
        "where a.colno + b.colno + c.colno + d.colno = 7",
        "select ?::bigint * 2 from systables where tabid = 1",
    ),
    "cubrid": Statements(
        "select ? || ' from headrace', 6 * 7",
        "select count(*) from numbers a, numbers b, numbers c where a.n + b.n + c.n = 7",
        "select cast(? as bigint) * 2",
    ),
}


def session(program: Path, url: str) -> str:
    """What the example ``session`` prints."""
    statements = STATEMENTS[url.partition(":")[0]]
    return run(program, url, statements.greeting, statements.slow)


def to_postgresql(server: PostgresServer) -> str:
    return f"postgresql://postgres:secret@127.0.0.1:{server.port}/postgres"


def to_mysql(server: Served) -> str:
    where = server.where
    return f"mysql://{where['user']}:{where['password']}@127.0.0.1:{where['port']}/test"


def to_informix(server: InformixServer) -> str:
    login = f"{server.user}:{server.password}@{server.host}:{server.port}"
    return f"informix://{login}/{server.database}?server={server.server}"


def check(printed: str) -> None:
    """Two answers on their way at once, a statement cancelled and another one left to the session, and a connection
    that is as good as before."""
    texts = re.findall(r'Text\("(\w+) from headrace"\)', printed)
    assert texts == ["one", "two", "after"], printed
    assert len(re.findall(r'(?:Int\(|Decimal\(")42', printed)) == 3, printed
    assert re.search(r"^cancelled: Operational error: ", printed, re.MULTILINE), printed
    assert "\nleft: true\n" in printed
    assert printed.startswith("connected, process ")
    assert printed.endswith("closed\n")


def test_session_on_postgresql(programs: Path, server: PostgresServer) -> None:
    check(session(programs / "session", to_postgresql(server)))


def test_session_on_mariadb(programs: Path, mariadb_served: Served) -> None:
    check(session(programs / "session", to_mysql(mariadb_served)))


def test_session_on_mysql(programs: Path, mysql_served: Served) -> None:
    check(session(programs / "session", to_mysql(mysql_served)))


def test_session_on_cubrid(programs: Path, cubrid_served: str) -> None:
    check(session(programs / "session", cubrid_served))


def test_session_on_informix(programs: Path, informix_server: InformixServer) -> None:
    check(session(programs / "session", to_informix(informix_server)))


def test_session_on_informix_begins_again_where_a_server_redirects(
    programs: Path, informix_server: InformixServer
) -> None:
    there = f"manager={informix_server.server}@{informix_server.host}:{informix_server.port}"
    with informix(server="manager", redirects=[there]) as manager:
        check(session(programs / "session", to_informix(manager)))


@pytest.fixture(scope="module")
def many_files() -> Iterator[None]:
    """Lets what is started have many open files: the usual limit is 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = hard == resource.RLIM_INFINITY or hard >= FILES
    assert enough, f"{CONNECTIONS} connections need {FILES} open files, and the limit is {hard}: raise it by ulimit -Hn"
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft if soft == resource.RLIM_INFINITY else max(soft, FILES), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture(scope="module")
def crowded(many_files: None) -> Iterator[list[str]]:
    """A server of each kind that takes a third of a thousand connections."""
    most = CONNECTIONS // 3 + 20
    postgresql = postgres(settings={"max_connections": most, "shared_buffers": "16MB"})
    with postgresql as one, mariadb(settings={"max-connections": str(most)}) as two, informix() as three:
        urls = (to_postgresql(one), to_mysql(served("mariadb", two)), to_informix(three))
        yield [part for url in urls for part in (url, STATEMENTS[url.partition(":")[0]].double)]


def test_thousand_connections_of_three_protocols_in_one_thread(programs: Path, crowded: list[str]) -> None:
    printed = run(programs / "thousand", str(CONNECTIONS), *crowded)
    assert printed == f"{CONNECTIONS} connections in one thread, {CONNECTIONS * 3} right answers\n"
