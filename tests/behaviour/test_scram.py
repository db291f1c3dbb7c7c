"""A server that does not prove that it has the password is not the server (RFC 5802, section 5)."""

from __future__ import annotations

import asyncio
import base64
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import headrace
import headrace.aio


def message(tag: bytes, body: bytes) -> bytes:
    return tag + (len(body) + 4).to_bytes(4, "big") + body


def authentication(code: int, body: bytes = b"") -> bytes:
    return message(b"R", code.to_bytes(4, "big") + body)


READY = message(b"Z", b"I")
OK = authentication(0) + READY
OFFER = authentication(10, b"SCRAM-SHA-256\0\0")


def read(connection: socket.socket, tagged: bool = True) -> bytes:
    """The body of a client's message."""
    head = b""
    while len(head) < 4 + tagged:
        head += connection.recv(4 + tagged - len(head)) or _gone()
    rest = int.from_bytes(head[-4:], "big") - 4
    body = b""
    while len(body) < rest:
        body += connection.recv(rest - len(body)) or _gone()
    return body


def _gone() -> bytes:
    raise ConnectionError("the client has gone")


def first_of_server(body: bytes) -> bytes:
    """An answer to the client's first message, with its nonce."""
    nonce = body.rpartition(b"r=")[2]
    return b"r=" + nonce + b"server,s=" + base64.b64encode(b"salt" * 4) + b",i=4096"


def no_exchange(connection: socket.socket) -> None:
    connection.sendall(OFFER)
    read(connection)
    connection.sendall(OK)


def no_final(connection: socket.socket) -> None:
    connection.sendall(OFFER)
    connection.sendall(authentication(11, first_of_server(read(connection))))
    read(connection)
    connection.sendall(OK)


def wrong_signature(connection: socket.socket) -> None:
    connection.sendall(OFFER)
    connection.sendall(authentication(11, first_of_server(read(connection))))
    read(connection)
    connection.sendall(authentication(12, b"v=" + base64.b64encode(b"\0" * 32)) + OK)


def anothers_nonce(connection: socket.socket) -> None:
    connection.sendall(OFFER)
    read(connection)
    connection.sendall(authentication(11, first_of_server(b"r=anothers")))
    read(connection)
    connection.sendall(OK)


@contextmanager
def serving(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """The port of a server for one client."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        try:
            connection, _ = listener.accept()
            with connection:
                read(connection, tagged=False)
                answer(connection)
                while connection.recv(4096):
                    pass
        except OSError:
            return

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.close()
        thread.join()


LIES = [no_exchange, no_final, wrong_signature, anothers_nonce]


def keywords(port: int) -> dict[str, Any]:
    return {
        "host": "127.0.0.1", "port": port, "user": "me", "password": "secret", "dbname": "app", "sslmode": "disable",
        "connect_timeout": 20,
    }  # fmt: skip


@pytest.mark.parametrize("answer", LIES)
def test_a_server_without_proof_is_refused(answer: Any) -> None:
    with serving(answer) as port, pytest.raises(headrace.OperationalError) as caught:
        headrace.connect(**keywords(port))
    assert not isinstance(caught.value, TimeoutError)
    assert "timeout" not in str(caught.value)


@pytest.mark.parametrize("answer", LIES)
def test_a_server_without_proof_is_refused_on_a_loop(answer: Any) -> None:
    async def connect(port: int) -> None:
        await headrace.aio.connect(**keywords(port))

    with serving(answer) as port, pytest.raises(headrace.OperationalError) as caught:
        asyncio.run(connect(port))
    assert "timeout" not in str(caught.value)
