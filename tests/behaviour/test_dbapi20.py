"""The DB-API 2.0 compliance suite (PyPI ``dbapi-compliance``, public domain), every test of it."""

from __future__ import annotations

from typing import Any

import dbapi20
import pytest

import headrace.postgres


class TestDatabaseAPI20(dbapi20.DatabaseAPI20Test):
    driver = headrace.postgres
    lower_func = "lower"

    @pytest.fixture(autouse=True)
    def _database(self, url: str) -> None:
        type(self).connect_args = (url,)
        type(self).connect_kw_args: dict[str, Any] = {"strict_close": True}

    def test_nextset(self) -> None:
        con = self._connect()
        try:
            cur = con.cursor()
            self.executeDDL1(cur)
            for sql in self._populate():
                cur.execute(sql)
            cur = con.executescript(f"select name from {self.table_prefix}booze; select 42")
            rows = cur.fetchall()
            assert len(rows) == len(self.samples)
            assert cur.nextset()
            assert cur.fetchall() == [(42,)]
            assert cur.nextset() is None
        finally:
            con.close()

    def test_setoutputsize(self) -> None:
        con = self._connect()
        try:
            cur = con.cursor()
            cur.setoutputsize(1000)
            cur.setoutputsize(2000, 0)
            cur.execute("select repeat('x', 5000)")
            assert len(cur.fetchone()[0]) == 5000
        finally:
            con.close()
