"""The launchers as a user's own tests use them: each server's ``url`` is all that ``connect`` needs."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

import headrace
import headrace.testing
from headrace.testing import MySQLInstallation, ServerUnavailable
from headrace_lab.mysql import installation

LAUNCHERS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "postgres": headrace.testing.postgres,
    "mariadb": headrace.testing.mariadb,
    "mysql": lambda: headrace.testing.mysql(installation=installation()),
    "informix": headrace.testing.informix,
    "cubrid": headrace.testing.cubrid,
}
MARK = {"informix": "?", "cubrid": "?"}


@pytest.fixture(scope="module", params=LAUNCHERS)
def started(request: pytest.FixtureRequest) -> Iterator[tuple[str, Any]]:
    """A server of each kind, and its launcher's name."""
    with LAUNCHERS[request.param]() as server:
        yield request.param, server


def test_a_url_is_all_that_connect_needs(started: tuple[str, Any]) -> None:
    name, server = started
    with headrace.connect(server.url) as conn:
        conn.execute("create table t (n int)")
        conn.executemany(f"insert into t values ({MARK.get(name, '%s')})", [(1,), (2,)])
        assert conn.fetchval("select sum(n) from t") == 3


def test_two_servers_at_once_share_nothing_and_one_is_gone_after_its_block(started: tuple[str, Any]) -> None:
    name, one = started
    with LAUNCHERS[name]() as two:
        assert one.url != two.url
        for server in (one, two):
            with headrace.connect(server.url, autocommit=True) as conn:
                conn.execute("create table of_both (n int)")
    with pytest.raises(headrace.OperationalError):
        headrace.connect(two.url)


def test_a_url_has_the_login_and_the_locale_of_its_server() -> None:
    running = headrace.testing.informix(locale="en_US.utf8", user="jo/e", password="a@b:c")
    with running as server, headrace.connect(server.url, autocommit=True) as conn:
        conn.execute("create table t (name varchar(20))")
        conn.execute("insert into t values (?)", ("λόγος",))
        assert conn.fetchval("select name from t") == "λόγος"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("mariadb", "apt-get install mariadb-server"),
        ("mysql", "apt-get install mysql-server-core"),
    ],
)
def test_a_missing_program_is_named_with_the_command_that_installs_it(
    name: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda *args, **keywords: None)
    start = getattr(headrace.testing, name)
    with pytest.raises(ServerUnavailable, match=hint), start():
        pass


def test_a_missing_informix_test_server_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("HEADRACE_SIMULATE_INFORMIX", raising=False)
    monkeypatch.setattr("shutil.which", lambda *args, **keywords: None)
    with pytest.raises(ServerUnavailable, match="pip install headrace-simulator-informix"), headrace.testing.informix():
        pass


def test_mariadbs_mysqld_is_not_taken_for_mysqls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "mysqld"
    program.write_text("#!/bin/sh\necho mysqld Ver 10.11.6-MariaDB\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(ServerUnavailable, match="is MariaDB's"):
        MySQLInstallation.found()


FIXTURE = """
import headrace, headrace.testing, pytest

@pytest.fixture(scope="session")
def url():
    with headrace.testing.postgres() as server:
        yield server.url

@pytest.mark.parametrize("n", [1, 2])
def test_of_a_user(url, n):
    with headrace.connect(url) as conn:
        assert conn.fetchval("select %s::int", n) == n
"""


def test_a_launcher_is_a_fixture_of_pytest(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(FIXTURE)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "test_mine.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "2 passed" in done.stdout, done.stdout + done.stderr
