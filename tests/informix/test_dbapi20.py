"""The DB-API 2.0 compliance suite (PyPI ``dbapi-compliance``, public domain), every test of it."""

from __future__ import annotations

from typing import Any

import dbapi20
import pytest

import headrace.informix
from headrace.testing import InformixServer


class TestDatabaseAPI20(dbapi20.DatabaseAPI20Test):
    driver = headrace.informix
    lower_func = "dbapi20_lower"

    @pytest.fixture(autouse=True)
    def _database(self, ifx: InformixServer) -> None:
        type(self).connect_kw_args: dict[str, Any] = {**ifx.parameters(), "strict_close": True}
        with headrace.informix.connect(**ifx.parameters(), autocommit=True) as conn:
            for table in ("booze", "barflys"):
                conn.execute(f"drop table if exists {self.table_prefix}{table}")

    def test_callproc(self) -> None:
        con = self._connect()
        try:
            cur = con.cursor()
            cur.execute(
                "create function dbapi20_lower(a varchar(20)) returning varchar(20); return lower(a); end function"
            )
        finally:
            con.commit()
            con.close()
        super().test_callproc()

    def test_nextset(self) -> None:
        con = self._connect()
        try:
            cur = con.cursor()
            self.executeDDL1(cur)
            for sql in self._populate():
                cur.execute(sql)
            cur.execute(f"select name from {self.table_prefix}booze")
            assert len(cur.fetchall()) == len(self.samples)
            # A statement of Informix has one result at most.
            assert cur.nextset() is None
        finally:
            con.close()

    def test_setoutputsize(self) -> None:
        con = self._connect()
        try:
            cur = con.cursor()
            cur.setoutputsize(1000)
            cur.setoutputsize(2000, 0)
            cur.execute(f"create table {self.table_prefix}booze (name lvarchar(6000))")
            cur.execute(f"insert into {self.table_prefix}booze values (?)", ("x" * 5000,))
            cur.execute(f"select name from {self.table_prefix}booze")
            assert len(cur.fetchone()[0]) == 5000
        finally:
            con.close()
