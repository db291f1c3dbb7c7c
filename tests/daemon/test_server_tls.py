"""TLS between the daemon and the server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.testing import PostgresServer, postgres

from .conftest import config, started


@pytest.fixture(scope="module")
def encrypted() -> Iterator[PostgresServer]:
    """A server that has TLS, and does not ask for it."""
    with postgres(tls=True) as server:
        yield server


@pytest.mark.parametrize(
    ("setting", "expected"),
    [("", True), ('sslmode = "disable"', False), ('sslmode = "prefer"', True), ('sslmode = "require"', True)],
)
def test_a_server_that_has_tls_is_spoken_to_by_it(
    program: Path, folder: Path, encrypted: PostgresServer, setting: str, expected: bool
) -> None:
    with started(program, folder, config(encrypted, app=setting), encrypted) as daemon, daemon.connect() as conn:
        assert conn.fetchval("select ssl from pg_stat_ssl where pid = pg_backend_pid()") is expected


def test_a_certificate_is_verified_where_that_is_asked_for(
    program: Path, folder: Path, encrypted: PostgresServer
) -> None:
    assert encrypted.ca_file is not None
    text = config(encrypted, app=f'sslmode = "verify-full"\nsslrootcert = "{encrypted.ca_file}"')
    text = text.replace('host = "127.0.0.1"', 'host = "localhost"')
    with started(program, folder, text, encrypted) as daemon, daemon.connect() as conn:
        assert conn.fetchval("select ssl from pg_stat_ssl where pid = pg_backend_pid()") is True
