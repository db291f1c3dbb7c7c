"""headrace.compat.mysqldb, tested with mysqlclient's own test suite and with Django's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import headrace.mysql
from headrace.testing import MysqldServer
from sdist import source_of

MYSQLCLIENT = "2.3.1"
DJANGO = "5.2.19"
HERE = Path(__file__).parent
# It reads rows off the socket while another thread looks; our use_result() has received them before it returns.
NOT_OURS = "tests/test_connection.py::test_result_concurrent_use_raises"
APPS = {
    "mariadb": "backends basic queries transactions model_fields lookup expressions aggregation select_for_update",
    "mysql": "backends basic transactions",
}
"""Django's tests by the server. MySQL takes its time for tables."""


def environment(**more: str) -> dict[str, str]:
    # What comes after it is the tree that is tested, where that is not the installed one.
    path = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path, **more}


@pytest.fixture(params=["mariadb", "mysql"])
def server(request: pytest.FixtureRequest) -> MysqldServer:
    """One after the other."""
    return request.getfixturevalue(f"{request.param}_server")  # type: ignore[no-any-return]


def test_mysqlclients_own_tests(server: MysqldServer) -> None:
    source = source_of("mysqlclient", MYSQLCLIENT)
    with headrace.mysql.connect(server.url, autocommit=True) as admin:
        admin.execute("create database if not exists mysqlclient_tests")
    connect = {
        "host": server.host, "port": server.port, "user": "tester", "password": "tiger",
        "database": "mysqlclient_tests", "charset": "utf8mb4",
    }  # fmt: skip
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-p", "facade_plugin", "-p", "no:cacheprovider", "tests",
            "-c", os.devnull, "--rootdir", ".", "--ignore", "tests/test_sqlalchemy.py", "--deselect", NOT_OURS,
        ],
        cwd=source,
        env=environment(MYSQLCLIENT_TESTS=str(source / "tests"), MYSQLCLIENT_CONNECT=json.dumps(connect)),
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "156 passed" in done.stdout


def test_djangos_own_tests(server: MysqldServer) -> None:
    source = source_of("django", DJANGO)
    where = {"HOST": server.host, "PORT": server.port, "USER": "tester", "PASSWORD": "tiger"}
    done = subprocess.run(
        [
            sys.executable, "runtests.py", "--settings=django_settings", "--parallel", "1", "--noinput",
            *APPS[server.scheme].split(),
        ],
        cwd=source / "tests",
        env=environment(DJANGO_SERVER=json.dumps(where)),
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-6000:]
    assert "\nOK" in done.stderr
