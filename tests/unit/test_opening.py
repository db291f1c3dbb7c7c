"""What ``connect_timeout`` bounds besides the server itself, on both shells."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import headrace
import headrace.aio.postgres.opening
import headrace.postgres.opening
from headrace import errors
from headrace._shared.databases import DATABASES
from headrace.postgres.attempts import Check
from headrace.postgres.settings import connect_options

SECONDS = 0.2
SOON = 5.0
"""Seconds in which a limit of SECONDS is seen on a busy machine."""


@pytest.fixture
def nameless(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A system that does not find out what a name means."""
    over = threading.Event()

    def slow(*_: Any, **__: Any) -> Any:
        over.wait(4 * SOON)
        raise OSError("no answer")

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    yield
    over.set()


def connected(shell: str, url: str) -> Any:
    if shell == "blocking":
        return headrace.connect(url, connect_timeout=SECONDS)
    return asyncio.run(headrace.aio.connect(url, connect_timeout=SECONDS))


@pytest.mark.usefixtures("nameless")
@pytest.mark.parametrize("database", [row.schemes[0] for row in DATABASES])
@pytest.mark.parametrize("shell", ["blocking", "asyncio"])
def test_resolving_a_name_ends_with_connect_timeout(shell: str, database: str) -> None:
    url = f"{database}://u:p@db.example:9/d" + ("?server=s" if database == "informix" else "")
    started = time.monotonic()
    with pytest.raises(errors.OperationalError, match=f"connect_timeout={SECONDS}"):
        connected(shell, url)
    assert time.monotonic() - started < SOON


@pytest.mark.usefixtures("nameless")
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("shell", ["blocking", "asyncio"])
def test_an_address_is_not_resolved(shell: str, address: str) -> None:
    with socket.socket() as taken:
        # Nobody listens on a port that is bound.
        taken.bind(("127.0.0.1", 0))
        host = f"[{address}]" if ":" in address else address
        with pytest.raises(errors.OperationalError, match="connection to") as failed:
            connected(shell, f"postgresql://u@{host}:{taken.getsockname()[1]}/d?sslmode=disable")
    assert "connect_timeout" not in str(failed.value)


@pytest.mark.parametrize("shell", ["blocking", "asyncio"])
def test_a_server_that_does_not_say_what_it_is_ends_with_connect_timeout(shell: str) -> None:
    options = connect_options(f"postgresql://u@127.0.0.1/d?connect_timeout={SECONDS}", {})

    def overdue(*_: Any) -> Any:
        raise TimeoutError

    async def check() -> None:
        wire = SimpleNamespace(script=lambda _: asyncio.get_running_loop().create_future())
        await headrace.aio.postgres.opening._step(Check(), options, SimpleNamespace(wire=wire))

    with pytest.raises(errors.ConnectionTimeout):
        if shell == "asyncio":
            asyncio.run(asyncio.wait_for(check(), SOON))
        else:
            wire = SimpleNamespace(script=lambda _: None, wait=overdue)
            headrace.postgres.opening._step(Check(), options, SimpleNamespace(wire=wire))
