"""What closing a named cursor does to the transaction that is open by then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Connect = Callable[..., Any]


def test_closing_a_cursor_of_an_earlier_transaction_harms_no_later_one(connect: Connect) -> None:
    conn = connect()
    cursor = conn.cursor("earlier")
    cursor.execute("SELECT generate_series(1, 10)")
    assert cursor.fetchone() == (1,)
    conn.commit()
    assert conn.fetchval("SELECT 1") == 1
    cursor.close()
    assert conn.fetchval("SELECT 2") == 2
    conn.commit()


def test_closing_a_cursor_closes_it_on_the_server(connect: Connect) -> None:
    conn = connect()
    cursor = conn.cursor("closed")
    cursor.execute("SELECT 1")
    cursor.close()
    assert conn.fetchval("SELECT count(*) FROM pg_cursors WHERE name = 'closed'") == 0


def test_closing_a_held_cursor_begins_no_transaction(connect: Connect) -> None:
    conn = connect()
    cursor = conn.cursor("held", withhold=True)
    cursor.execute("SELECT 1")
    conn.commit()
    cursor.close()
    assert conn.transaction_status.name == "IDLE"
    assert conn.fetchval("SELECT count(*) FROM pg_cursors WHERE name = 'held'") == 0


def test_a_name_can_be_declared_again_in_the_next_transaction(connect: Connect) -> None:
    conn = connect()
    cursor = conn.cursor("again")
    for value in (1, 2):
        cursor.execute(f"SELECT {value}")
        assert cursor.fetchall() == [(value,)]
        conn.commit()


@pytest.mark.parametrize(
    "script",
    [
        "SELECT CASE WHEN true THEN 1 END; SELECT 'ROLLBACK; END' -- ; COMMIT",
        "DO $$ BEGIN PERFORM 1; END $$; SELECT 'SAVEPOINT; RELEASE'",
        "CREATE OR REPLACE FUNCTION pg_temp.one() RETURNS int BEGIN ATOMIC SELECT 1; END; SELECT 1",
    ],
)
def test_words_that_end_nothing_leave_cursors_open(connect: Connect, script: str) -> None:
    conn = connect()
    cursor = conn.cursor("open")
    cursor.execute("SELECT generate_series(1, 3)")
    conn.executescript(script)
    assert cursor.fetchall() == [(1,), (2,), (3,)]
