"""Passwords that clients are asked for: the server has the last word on them, also where the pool has a session."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace
from headrace.testing import PostgresServer, postgres

from .conftest import START_SECONDS, started

LIFETIME = 0.2
"""Seconds that a session is used, in place of a minute."""


@pytest.fixture(scope="module")
def guarded() -> Iterator[PostgresServer]:
    with postgres(hba=["host all guarded 127.0.0.1/32 scram-sha-256"]) as server:
        with headrace.connect(server.url, autocommit=True) as admin:
            admin.execute("create role guarded login password 'before'")
        yield server


@pytest.mark.parametrize(
    ("change", "undo"),
    [
        ("password 'after'", "password 'before'"),
        ("nologin", "login"),
        ("valid until '2020-01-01'", "valid until 'infinity'"),
    ],
)
def test_a_password_that_is_good_no_more_lets_nobody_in_for_longer_than_a_session_lives(
    program: Path, folder: Path, guarded: PostgresServer, change: str, undo: str
) -> None:
    """CVE-2025-2291: VALID UNTIL does not count for who logs in to the pooler."""
    text = f'[databases.asks]\nhost = "127.0.0.1"\nport = {guarded.port}\ndbname = "postgres"\nask_password = true\n'
    with started(program, folder, f"{text}server_lifetime = {LIFETIME}\n", guarded) as daemon:
        where = daemon.where("asks", user="guarded", password="before")
        with headrace.connect(**where) as conn:
            assert conn.fetchval("select 1") == 1
        with headrace.connect(guarded.url, autocommit=True) as admin:
            admin.execute(f"alter role guarded {change}")
            changed = time.monotonic()
            try:
                with pytest.raises(headrace.OperationalError, match=r"28P01|28000|authentication|not permitted"):
                    while time.monotonic() - changed < START_SECONDS:
                        # A client that comes again and again does not keep the session alive.
                        headrace.connect(**where).close()
                # Far below the minute of the default, and with room for a busy machine.
                assert time.monotonic() - changed < 50 * LIFETIME
            finally:
                admin.execute(f"alter role guarded {undo}")
