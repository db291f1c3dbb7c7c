"""The DB-API 2.0 compliance suite (PyPI ``dbapi-compliance``, public domain), on each database."""

from __future__ import annotations

from typing import Any

import dbapi20
import pytest

import headrace.cubrid
import headrace.informix
import headrace.mysql
import headrace.testing
from headrace import errors
from live import CUBRID_URL
from served import fresh


class TestMariaDB(dbapi20.DatabaseAPI20Test):
    """On MariaDB."""

    driver = headrace.mysql
    lower_func = "to_lower"
    server = "mariadb_served"

    @pytest.fixture(autouse=True)
    def _database(self, request: pytest.FixtureRequest) -> None:
        url = request.getfixturevalue(self.server).url("test")
        type(self).connect_args = (url,)
        type(self).connect_kw_args: dict[str, Any] = {"strict_close": True, "multi_statements": True}
        with headrace.mysql.connect(url, autocommit=True) as admin:
            fresh(admin, "procedure to_lower(t text) select lower(t)")

    def test_nextset(self) -> None:
        with self._connect() as con:
            cur = con.executescript("select 1 union select 2; select 42")
            assert cur.fetchall() == [(1,), (2,)]
            assert cur.nextset()
            assert cur.fetchall() == [(42,)]
            assert cur.nextset() is None

    def test_setoutputsize(self) -> None:
        with self._connect() as con:
            cur = con.cursor()
            cur.setoutputsize(1000)
            cur.setoutputsize(2000, 0)
            cur.execute("select repeat('x', 5000)")
            assert len(cur.fetchone()[0]) == 5000


class TestMySql(TestMariaDB):
    """On MySQL."""

    server = "mysql_served"


class TestInformix(dbapi20.DatabaseAPI20Test):
    """On the Informix test server."""

    driver = headrace.informix
    lower_func = "to_lower"

    @pytest.fixture(autouse=True)
    def _database(self, informix_server: headrace.testing.InformixServer) -> None:
        type(self).connect_args = ()
        type(self).connect_kw_args: dict[str, Any] = {**informix_server.parameters(), "strict_close": True}
        with headrace.informix.connect(**informix_server.parameters(), autocommit=True) as admin:
            if not admin.fetchval("select count(*) from sysprocedures where procname = 'to_lower'"):
                admin.execute(
                    "create function to_lower(t varchar(40)) returning varchar(40); return lower(t); end function"
                )

    def test_nextset(self) -> None:
        with self._connect() as con:
            cur = con.execute("select first 1 n from numbers order by n")
            assert cur.fetchall() == [(0,)]
            # A statement of Informix has one result.
            assert cur.nextset() is None

    def test_setoutputsize(self) -> None:
        with self._connect() as con:
            cur = con.cursor()
            cur.setoutputsize(1000)
            cur.setoutputsize(2000, 0)
            cur.execute("select n from numbers where n = 5")
            assert cur.fetchone() == (5,)


class TestCubrid(dbapi20.DatabaseAPI20Test):
    """On a genuine CUBRID."""

    driver = headrace.cubrid

    @pytest.fixture(autouse=True)
    def _database(self, cubrid_served: str) -> None:
        type(self).connect_args = (cubrid_served,)
        type(self).connect_kw_args: dict[str, Any] = {"strict_close": True}

    def test_callproc(self) -> None:
        # A stored procedure of CUBRID is one in Java, which the server has to be configured for.
        with self._connect() as con, pytest.raises(errors.DatabaseError):
            con.cursor().callproc("no_such_procedure", ("FOO",))

    def test_nextset(self) -> None:
        with self._connect() as con:
            cur = con.execute("select n from numbers order by n limit 1")
            assert cur.fetchall() == [(0,)]
            # A statement of CUBRID has one result.
            assert cur.nextset() is None

    def test_setoutputsize(self) -> None:
        with self._connect() as con:
            cur = con.cursor()
            cur.setoutputsize(1000)
            cur.setoutputsize(2000, 0)
            cur.execute("select repeat('x', 5000)")
            assert len(cur.fetchone()[0]) == 5000


if not CUBRID_URL:
    # There is no test server for it yet.
    del TestCubrid
