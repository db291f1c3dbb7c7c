"""What becomes of a cancel request that the server refuses, or does not answer."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from headrace._shared import opening
from headrace._shared.cancel_requests import MessageRequest, SessionRequest
from headrace._shared.limits import Until
from headrace.aio._shared import opening as aio_opening
from headrace.cubrid.core import CANCEL_ANSWER_BYTES, check_cancelled
from headrace.errors import ConnectionClosed, OperationalError, QueryCanceled

MESSAGE = b"CANCEL"


@contextlib.contextmanager
def answering(answer: bytes) -> Iterator[MessageRequest]:
    """A request to a server that answers it so, and closes the connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                assert connection.recv(len(MESSAGE), socket.MSG_WAITALL) == MESSAGE
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield MessageRequest(server.getsockname(), MESSAGE, CANCEL_ANSWER_BYTES, check_cancelled)
        thread.join()


def exchange(shell: str, request: MessageRequest) -> None:
    if shell == "blocking":
        opening.exchange(request, Until(20))
    else:
        asyncio.run(asyncio.wait_for(aio_opening.exchange(request), 20))


@pytest.mark.parametrize("shell", ["blocking", "asyncio"])
def test_taken_message_leaves_no_doubt(shell: str) -> None:
    with answering(bytes(4)) as request:
        exchange(shell, request)
    assert not request.doubtful


@pytest.mark.parametrize("shell", ["blocking", "asyncio"])
@pytest.mark.parametrize("answer", [b"", b"\0\0"])
def test_message_without_answer_may_hit_a_later_statement(shell: str, answer: bytes) -> None:
    with answering(answer) as request, pytest.raises(OperationalError, match="before it had answered"):
        exchange(shell, request)
    assert request.doubtful


@pytest.mark.parametrize("shell", ["blocking", "asyncio"])
def test_refused_message_leaves_no_doubt(shell: str) -> None:
    with answering((-1000).to_bytes(4, "big", signed=True)) as request, pytest.raises(OperationalError, match="-1000"):
        exchange(shell, request)
    assert not request.doubtful


@pytest.mark.parametrize("shell", ["blocking", "asyncio"])
def test_message_to_nobody_was_not_sent(shell: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
    request = MessageRequest(address, MESSAGE, CANCEL_ANSWER_BYTES, check_cancelled)
    with pytest.raises(ConnectionRefusedError):
        exchange(shell, request)
    assert not request.doubtful


def test_interrupted_connect_leaves_no_socket_open(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[socket.socket] = []

    class Interrupted(socket.socket):
        def connect(self, _address: Any) -> None:
            begun.append(self)
            raise KeyboardInterrupt

    monkeypatch.setattr(socket, "socket", Interrupted)
    request = MessageRequest(("127.0.0.1", 1), MESSAGE, CANCEL_ANSWER_BYTES, check_cancelled)
    with pytest.raises(KeyboardInterrupt):
        opening.exchange(request, Until(20))
    assert [one.fileno() for one in begun] == [-1]


class CancelledSession:
    """An engine's connection, as far as a request looks at it."""

    def __init__(self, closed: bool) -> None:
        self.closed = closed


@pytest.mark.parametrize(
    ("by_close", "error", "closed", "is_answer", "doubtful"),
    [
        pytest.param(True, ConnectionClosed("x"), True, True, False, id="closing is the answer"),
        pytest.param(True, OperationalError("x"), True, False, True, id="another end is none"),
        pytest.param(False, QueryCanceled("x"), False, False, False, id="a refusal ends nothing"),
        pytest.param(False, ConnectionClosed("x"), True, False, True, id="a lost answer"),
    ],
)
def test_error_of_a_session_that_cancels(
    by_close: bool, error: Any, closed: bool, is_answer: bool, doubtful: bool
) -> None:
    request = SessionRequest(lambda *_: None, {}, lambda _: "ticket", by_close=by_close)  # type: ignore[arg-type, return-value]
    session: Any = CancelledSession(closed)
    assert not request.doubtful
    assert request.send(session) == "ticket"
    assert request.doubtful
    assert request.failed(error, session) == is_answer
    assert request.doubtful == doubtful
