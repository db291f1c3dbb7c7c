"""A server that names another one in its place: the session begins again there, on the same connection."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import headrace.aio.informix
import headrace.informix
from accepting import Accepting
from headrace import errors
from headrace.testing import InformixServer, informix
from headrace.testing._certificates import Certificates, make_certificates

from .relay import Relay

QUESTION = "select tabname from systables where tabid = 1"

Manager = Callable[[str, int], dict[str, Any]]
Shell = Callable[..., Any]


def blocking(**given: Any) -> Any:
    with headrace.informix.connect(**given) as conn:
        return conn.fetchval(QUESTION)


def looping(**given: Any) -> Any:
    async def ask() -> Any:
        async with await headrace.aio.informix.connect(**given) as conn:
            return await conn.fetchval(QUESTION)

    return asyncio.run(ask())


SHELLS = [blocking, looping]
shells = pytest.mark.parametrize("shell", SHELLS)


@pytest.fixture
def manager(ifx: InformixServer) -> Iterator[Manager]:
    """Starts a server that names ``ifx`` at a host and port in its place; returns the settings to connect with."""
    with ExitStack() as running:

        def start(host: str, port: int) -> dict[str, Any]:
            redirects = [f"manager={ifx.server}@{host}:{port}"]
            started = running.enter_context(informix(server="manager", redirects=redirects))
            return {**ifx.parameters(), "server": "manager", "port": started.port}

        yield start


def knows(monkeypatch: pytest.MonkeyPatch, name: str, *addresses: str) -> None:
    """Has a host of this name."""
    ask = socket.getaddrinfo

    def answer(host: Any, port: Any, *more: Any, **also: Any) -> Any:
        if (host.decode() if isinstance(host, bytes) else host) != name:
            return ask(host, port, *more, **also)
        return [found for address in addresses for found in ask(address, port, *more, **also)]

    monkeypatch.setattr(socket, "getaddrinfo", answer)


class Silent(Accepting):
    """Takes connections and sends nothing; calls ``came`` for each, and counts those that were closed."""

    def __init__(self, came: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self.came = came
        self.left = threading.Semaphore(0)
        self.listen()

    def serve(self, client: socket.socket) -> None:
        client.recv(1)
        self.came()
        while client.recv(65536):
            pass
        self.left.release()


@shells
def test_redirection_is_followed(ifx: InformixServer, manager: Manager, shell: Shell) -> None:
    assert shell(**manager(ifx.host, ifx.port)) == "systables"


@shells
def test_redirection_over_several_servers_is_followed(ifx: InformixServer, manager: Manager, shell: Shell) -> None:
    with informix(server="second", redirects=[f"second={ifx.server}@{ifx.host}:{ifx.port}"]) as second:
        redirects = [f"manager=second@{second.host}:{second.port}"]
        with informix(server="manager", redirects=redirects) as first:
            assert shell(**{**ifx.parameters(), "server": "manager", "port": first.port}) == "systables"


@shells
def test_redirection_in_a_circle_ends(shell: Shell) -> None:
    with (
        informix(server="b", redirects=["b"]) as server,
        pytest.raises(errors.OperationalError, match="redirects more than 8 times"),
    ):
        shell(**server.parameters())


@shells
def test_addresses_of_the_other_server_are_tried_in_turn(
    ifx: InformixServer, manager: Manager, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    knows(monkeypatch, "other.example", "127.0.0.9", ifx.host)
    assert shell(**manager("other.example", ifx.port)) == "systables"


@shells
def test_timeout_is_named_if_an_address_of_the_other_server_does_not_answer(
    manager: Manager, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    knows(monkeypatch, "other.example", "127.0.0.1", "127.0.0.9")
    with ExitStack() as open_sockets:
        full = open_sockets.enter_context(socket.socket())
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        # The queue of a listener that never accepts takes a few; those after them wait for the handshake.
        for _ in range(4):
            filler = open_sockets.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        with pytest.raises(errors.ConnectionTimeout, match=r"connect_timeout=0\.7 s"):
            shell(**manager("other.example", full.getsockname()[1]), connect_timeout=0.7)


@shells
def test_other_server_that_is_not_there_is_named(manager: Manager, shell: Shell) -> None:
    with Silent() as silent:
        port = silent.port
    with pytest.raises(errors.OperationalError, match=rf"connection to 127\.0\.0\.1:{port} failed"):
        shell(**manager("127.0.0.1", port))


@shells
def test_other_server_without_an_address_is_named(manager: Manager, shell: Shell) -> None:
    with pytest.raises(errors.OperationalError, match=r"host 'nowhere\.invalid' is unknown"):
        shell(**manager("nowhere.invalid", 9088))


@shells
def test_limit_of_time_counts_for_all_servers_together(manager: Manager, shell: Shell) -> None:
    with Silent() as silent:
        with pytest.raises(errors.ConnectionTimeout, match=r"connect_timeout=0\.7 s"):
            shell(**manager("127.0.0.1", silent.port), connect_timeout=0.7)
        assert silent.left.acquire(timeout=10), "the connection to the other server was left open"


def test_interrupt_ends_connecting_to_the_other_server(manager: Manager) -> None:
    with Silent(lambda: os.kill(os.getpid(), signal.SIGINT)) as silent:
        with pytest.raises(KeyboardInterrupt):
            blocking(**manager("127.0.0.1", silent.port))
        assert silent.left.acquire(timeout=10), "the connection to the other server was left open"


async def test_cancelled_task_ends_connecting_to_the_other_server(manager: Manager) -> None:
    loop, came = asyncio.get_running_loop(), asyncio.Event()
    with Silent(lambda: loop.call_soon_threadsafe(came.set)) as silent:  # type: ignore[arg-type]
        task = asyncio.create_task(headrace.aio.informix.connect(**manager("127.0.0.1", silent.port)))
        await came.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(silent.left.acquire, timeout=10), "the connection was left open"


def test_statement_on_the_other_server_can_be_interrupted(ifx: InformixServer, manager: Manager, slow: str) -> None:
    with headrace.informix.connect(**manager(ifx.host, ifx.port)) as conn:
        with pytest.raises(TimeoutError):
            conn.cursor().execute(slow, timeout=0.2)
        conn.rollback()
        assert conn.fetchval(QUESTION) == "systables"


def blue(question: str, shown: bool) -> str:
    return "blue"


@shells
def test_questions_of_the_other_server_are_answered(shell: Shell) -> None:
    with informix(pam={"colour? ": "blue"}) as asking:
        redirects = [f"manager={asking.server}@{asking.host}:{asking.port}"]
        with informix(server="manager", redirects=redirects) as first:
            given = {**asking.parameters(), "server": "manager", "port": first.port}
            assert shell(**given, pam=blue) == "systables"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("tls"), client_name="informix")


@shells
@pytest.mark.parametrize(("name", "refused"), [("localhost", False), ("other.example", True)])
def test_certificate_has_to_name_the_other_server(
    ifx: InformixServer,
    shell: Shell,
    certificates: Certificates,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    refused: bool,
) -> None:
    if refused:
        knows(monkeypatch, name, "127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server_cert, certificates.server_key)
    with Relay(ifx.host, ifx.port, tls=context) as there:
        redirects = [f"manager={ifx.server}@{name}:{there.port}"]
        with (
            informix(server="manager", redirects=redirects) as first,
            Relay(first.host, first.port, tls=context) as here,
        ):
            given = {**ifx.parameters(), "server": "manager", "port": here.port, "sslrootcert": str(certificates.ca)}
            if refused:
                with pytest.raises(errors.OperationalError, match="certificate"):
                    shell(**given, sslmode="verify-full")
            else:
                assert shell(**given, sslmode="verify-full") == "systables"


@shells
def test_tls_that_is_not_possible_is_an_error_at_once(ifx: InformixServer, shell: Shell) -> None:
    given: dict[str, Any] = {**ifx.parameters(), "sslmode": "verify-full", "sslrootcert": "/nowhere/ca.pem"}
    with pytest.raises(errors.OperationalError, match=r"/nowhere/ca\.pem"):
        shell(**given, connect_timeout=5)
