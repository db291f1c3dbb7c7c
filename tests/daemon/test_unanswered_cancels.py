"""A cancel request that the daemon has sent, and that the server did not answer in time, meets no later statement."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from headrace.testing import PostgresServer
from holding import HoldsCancels
from served import Served

from .conftest import config
from .front.conftest import PORT, running


def connect(folder: Path, name: str) -> psycopg.Connection:
    return psycopg.connect(host=str(folder), port=PORT, dbname=name, user="anyone", autocommit=True)


@pytest.mark.slow
def test_a_session_ends_whose_kill_query_was_not_answered(program: Path, mariadb_served: Served) -> None:
    port = mariadb_served.server.port
    with HoldsCancels(port, b"KILL QUERY") as proxy:
        url = mariadb_served.url("test").replace(str(port), str(proxy.port)) + "?ssl_mode=DISABLED"
        text = f"[databases.held]\nurl = {json.dumps(url)}\npool_size = 1\n"
        with running(program, text) as folder, ThreadPoolExecutor() as pool:
            with connect(folder, "held") as client:
                runs = pool.submit(client.execute, "select sleep(30)")
                while not proxy.came.wait(0.1):
                    client.cancel()
                with pytest.raises(psycopg.OperationalError, match="cancel request was sent that was not answered"):
                    runs.result()
            with connect(folder, "held") as client:
                assert client.execute("select 7").fetchone() == (7,)


@pytest.mark.slow
def test_a_session_is_not_lent_again_whose_cancel_request_was_not_answered(
    program: Path, server: PostgresServer
) -> None:
    with HoldsCancels(server.port, (80877102).to_bytes(4, "big")) as proxy:
        text = config(server, postgresql="").replace(f"{server.port}", f"{proxy.port}")
        with running(program, text) as folder, ThreadPoolExecutor() as pool:
            with connect(folder, "postgresql") as client:
                runs = pool.submit(client.execute, "select pg_backend_pid(), pg_sleep(1)")
                while not proxy.came.wait(0.1):
                    client.cancel()
                first = runs.result().fetchone()
            with connect(folder, "postgresql") as client:
                assert client.execute("select pg_backend_pid(), ''").fetchone() != first
