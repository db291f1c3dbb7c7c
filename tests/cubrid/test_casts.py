"""What servers make of parameters whose type no column decides."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from live import CUBRID_URL

AWARE = datetime.datetime(2024, 2, 29, 13, 45, 59, 123000, tzinfo=datetime.timezone.utc)
NAIVE = AWARE.replace(tzinfo=None)


@pytest.mark.parametrize("kind", ["timestampltz", "datetimeltz", "timestamptz", "datetimetz"])
def test_instants_are_cast_to_types_with_a_time_zone(conn: Any, kind: str) -> None:
    expected = AWARE if kind.startswith("datetime") else AWARE.replace(microsecond=0)
    assert conn.fetchval(f"select cast(? as {kind})", AWARE) == expected


@pytest.mark.parametrize("kind", ["timestampltz", "datetimeltz", "timestamptz", "datetimetz"])
def test_local_times_are_those_of_the_session(conn: Any, kind: str) -> None:
    conn.execute("set time zone 'Asia/Seoul'")
    expected = AWARE - datetime.timedelta(hours=9)
    expected = expected if kind.startswith("datetime") else expected.replace(microsecond=0)
    assert conn.fetchval(f"select cast(? as {kind})", NAIVE) == expected


def test_session_variables_go_with_parameters(conn: Any) -> None:
    if CUBRID_URL:
        conn.execute("set @v = ?", (5,))
    else:
        # The test server takes no parameters there.
        conn.execute("set @v = 5")
    assert conn.fetchval("select @v + ?", 1) == 6


@pytest.mark.parametrize("size", [0, 1, 81_907, 81_908, 81_909, 163_816, 400_000])
def test_large_objects_are_longer_than_one_read(conn: Any, size: int) -> None:
    data = (bytes(range(256)) * 1600)[:size]
    text = ("가나다" * 50_000)[: size // 3]
    conn.execute("drop table if exists hr_lob")
    conn.execute("create table hr_lob (b blob, c clob)")
    conn.execute("insert into hr_lob values (?, ?)", (conn.store_lob(data), conn.store_lob(text)))
    blob, clob = conn.fetchrow("select b, c from hr_lob")
    assert conn.read_lob(blob) == data
    assert conn.read_lob(clob) == text
    conn.rollback()
