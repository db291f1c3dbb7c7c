"""What the settings of a URI do to connections of the ADBC driver; the names are those of ``crates/drivers``."""

from __future__ import annotations

from typing import Any

import adbc_driver_manager
import pytest

from adbc_driver_headrace import dbapi
from headrace.testing import PostgresServer


def refusal(url: str, **options: str) -> str:
    """The message of the error that a connection begins with."""
    with pytest.raises(adbc_driver_manager.Error) as caught:
        dbapi.connect(url, db_kwargs={f"headrace.{name}": value for name, value in options.items()})
    return str(caught.value)


def value(url: str, query: str, **options: str) -> Any:
    """The only value of a query on a connection of its own."""
    prefixed = {f"headrace.{name}": text for name, text in options.items()}
    with dbapi.connect(url, db_kwargs=prefixed, autocommit=True) as conn, conn.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchone()[0]  # type: ignore[index]


@pytest.fixture
def url(server: PostgresServer) -> str:
    """A server that can be written to."""
    return server.url


READ_ONLY = {"options": "-c default_transaction_read_only=on"}


@pytest.mark.parametrize(
    ("role", "found"),
    [("any", True), ("read-write", True), ("primary", True), ("prefer-standby", True), ("read-only", False),
     ("standby", False)],
)  # fmt: skip
def test_a_server_has_the_role_that_was_asked_for(url: str, role: str, found: bool) -> None:
    if found:
        assert value(url, "select 1", target_session_attrs=role) == 1
    else:
        assert f"is not {role}, as target_session_attrs asks" in refusal(url, target_session_attrs=role)


def test_a_session_that_only_reads_is_told_from_one_that_writes(url: str) -> None:
    assert value(url, "select 1", target_session_attrs="read-only", **READ_ONLY) == 1
    assert "is not read-write" in refusal(url, target_session_attrs="read-write", **READ_ONLY)


def test_settings_of_every_driver_pass(url: str) -> None:
    passing = {
        "keepalives": "1",
        "keepalives_idle": "30",
        "keepalives_interval": "5",
        "keepalives_count": "3",
        "tcp_user_timeout": "30000",
        "load_balance_hosts": "random",
        "client_encoding": "UTF8",
        "fallback_application_name": "nightly",
        "timeout": "20",
    }
    assert value(url, "select current_setting('application_name')", **passing) == "nightly"


def test_what_the_driver_lacks_is_named(url: str) -> None:
    assert "batch_strategy is a setting of headrace for Python" in refusal(url, batch_strategy="copy")
    assert "did you mean 'keepalives'?" in refusal(url, keepalive="1")
    assert "keepalives_count is not a whole number" in refusal(url, keepalives_count="1.5")
    assert "text travels as utf8mb4" in refusal("mysql://h/d?charset=latin1")
    assert "is not one of utf-8, euc-kr, iso-8859-1" in refusal("cubrid://127.0.0.1:1/d?charset=klingon")
