"""The rehearsal of releases and kills, in short and on the test server: no statement runs twice, or not at all."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

import headrace.testing
from headrace.cubrid.settings import connect_options

from .rehearsal import rehearse

LOSSES = 60
CLIENTS = 10


@pytest.fixture(params=[1, 3], ids=["one process", "three processes"])
def few(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a server of fewer processes than clients."""
    with headrace.testing.cubrid(cas=request.param) as server:
        yield server.url


def test_releases(few: str) -> None:
    figures = rehearse(few, few, losses=LOSSES, clients=CLIENTS)
    assert figures.wrong == []
    # The outcome of a statement is unknown where another process has taken the session: none has crashed. In a
    # transaction that was not committed it is no other than of one that is refused.
    assert figures.executed == 0
    assert figures.releases >= LOSSES
    assert figures.statements > 0


def test_releases_and_kills(few: str) -> None:
    """Processes that end in the middle of a statement: it was executed, or it was not."""

    def kill(pid: int) -> None:
        with socket.create_connection(connect_options(few, {}).hosts[0]) as broker:
            broker.sendall(b"KILL" + pid.to_bytes(4, "big") + bytes(2))
            if int.from_bytes(broker.recv(4), "big"):
                raise ProcessLookupError

    figures = rehearse(few, few, losses=LOSSES, clients=CLIENTS, kill=kill, killed_percent=50)
    assert figures.wrong == []
    assert figures.kills > 0
