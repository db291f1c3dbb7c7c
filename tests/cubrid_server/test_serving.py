"""The options of the test server, with pycubrid as the client."""

from __future__ import annotations

import ssl
import sys
from typing import Any

import pytest

from headrace.testing import cubrid

if sys.version_info >= (3, 11):
    import pycubrid

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="pycubrid needs Python 3.11")


def value(connection: Any, sql: str) -> Any:
    """The only value of a query."""
    cursor = connection.cursor()
    cursor.execute(sql)
    return cursor.fetchone()[0]


def test_tls_is_served_on_a_port_of_its_own_and_its_certificate_is_verified() -> None:
    with cubrid(tls=True) as server:
        assert server.tls_port is not None
        parameters = {**server.parameters(), "port": server.tls_port}
        trusting = ssl.create_default_context(cafile=server.authority)
        connection = pycubrid.connect(**parameters, ssl=trusting)
        assert value(connection, "SELECT 1") == 1
        connection.close()
        with pytest.raises(pycubrid.Error):
            pycubrid.connect(**parameters, ssl=True)
        with pytest.raises(pycubrid.Error):
            pycubrid.connect(**parameters)


def test_texts_travel_in_the_code_set_of_the_database() -> None:
    with cubrid(charset="euckr") as server:
        connection = pycubrid.connect(**server.parameters(), charset="euc-kr")
        assert value(connection, "SELECT '한글' || 'x'") == "한글x"
        connection.close()


def test_a_fault_begins_after_the_login() -> None:
    with cubrid(faults=["cut=0"]) as server, pytest.raises(pycubrid.Error):
        pycubrid.connect(**server.parameters()).cursor().execute("SELECT 1")


def test_another_user_and_a_wrong_password_are_refused() -> None:
    with cubrid(user="app", password="secret") as server:
        connection = pycubrid.connect(**server.parameters())
        assert value(connection, "SELECT CURRENT_USER") == "APP"
        connection.close()
        for wrong in ({"password": "x"}, {"user": "nobody"}, {"database": "nodb"}):
            with pytest.raises(pycubrid.DatabaseError):
                pycubrid.connect(**{**server.parameters(), **wrong})


def test_sixty_connections_share_three_cas() -> None:
    with cubrid(cas=3) as server:
        connections = [pycubrid.connect(**server.parameters(), autocommit=True) for _ in range(60)]
        # Each has lost its CAS to a later one, and comes back.
        assert [value(connection, "SELECT 5") for connection in connections] == [5] * 60
        for connection in connections:
            connection.close()
