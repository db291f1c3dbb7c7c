"""The databases that random programs run on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.testing import PostgresServer
from headrace.testing import informix as start_informix
from served import Served

from . import informix, mysql, postgres


@pytest.fixture(scope="session")
def databases15(tls_server: PostgresServer) -> Iterator[postgres.Databases]:
    """Debian's PostgreSQL, which has citext, hstore and ltree."""
    made = postgres.Databases(tls_server.url, "oracle")
    yield made
    made.close()


@pytest.fixture(scope="session")
def databases18(server: PostgresServer) -> Iterator[postgres.Databases]:
    """The embedded PostgreSQL."""
    made = postgres.Databases(server.url, "oracle")
    yield made
    made.close()


def _mysql(served: Served) -> Iterator[mysql.Databases]:
    made = mysql.Databases(served.url("test"), served.where, served.is_mariadb)
    yield made
    made.close()


@pytest.fixture(scope="session")
def databases_mariadb(mariadb_served: Served) -> Iterator[mysql.Databases]:
    """MariaDB."""
    yield from _mysql(mariadb_served)


@pytest.fixture(scope="session")
def databases_mysql(mysql_served: Served) -> Iterator[mysql.Databases]:
    """MySQL."""
    yield from _mysql(mysql_served)


@pytest.fixture(scope="session")
def databases_informix() -> Iterator[informix.Databases]:
    """Two of Informix's test servers."""
    with start_informix() as one, start_informix() as two:
        made = informix.Databases((one, two))
        yield made
        made.close()
