"""The ADBC driver behind a pooler that has no prepared statements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import adbc_driver_manager
import pyarrow
import pytest
from tests.company.pooler import pgbouncer, system_pgbouncer

from adbc_driver_headrace import dbapi
from headrace.testing import PostgresServer


@pytest.fixture(scope="module")
def pooler(server: PostgresServer) -> Iterator[str]:
    """A PgBouncer with two server connections."""
    with pgbouncer(system_pgbouncer(), server, more="", size=2) as address:
        query = dict(parse_qsl(urlsplit(address).query))
        yield f"postgresql://postgres@:{query['port']}/postgres?host={query['host']}"


def connect(pooler: str, prepared: str) -> Any:
    """A connection that begins transactions."""
    return dbapi.connect(pooler, db_kwargs={"headrace.prepared": prepared})


def used_twice(pooler: str, prepared: str) -> list[Any]:
    """What two clients get, each of which executes a statement of its own in each of two transactions, the second on
    the other's server connection."""
    found: list[Any] = []
    with connect(pooler, prepared) as one, connect(pooler, prepared) as two:
        clients = [(one, 1000), (two, 2000)]
        for order in (clients, clients[::-1], clients):
            for conn, base in order:
                with conn.cursor() as cursor:
                    cursor.execute("select 1")
                    for number in range(2):
                        cursor.execute(f"select $1::int + {base}", (number,))
                        found.append(cursor.fetchone() == (base + number,))
            for conn, _ in clients:
                conn.commit()
    return found


def test_statements_without_names_are_executed_on_any_server_connection(pooler: str) -> None:
    assert used_twice(pooler, "0") == [True] * 12


def test_named_ones_are_refused_and_never_those_of_others(pooler: str) -> None:
    with pytest.raises(adbc_driver_manager.ProgrammingError, match="set prepared=0") as caught:
        used_twice(pooler, "1")
    assert caught.value.sqlstate == "26000"


def test_a_batch_and_an_ingestion_need_no_names(pooler: str) -> None:
    with connect(pooler, "off") as conn, conn.cursor() as cursor:
        table = pyarrow.table({"id": list(range(100))})
        cursor.adbc_ingest("adbc_pooled", table, mode="replace")
        cursor.executemany("insert into adbc_pooled values ($1)", [(number,) for number in range(100, 110)])
        cursor.execute("select count(*), sum(id) from adbc_pooled where id < $1", (200,))
        assert cursor.fetchone() == (110, sum(range(110)))
        conn.commit()


def test_another_value_is_refused(pooler: str) -> None:
    with pytest.raises(adbc_driver_manager.Error, match="prepared is neither 1 nor 0"):
        connect(pooler, "perhaps")
