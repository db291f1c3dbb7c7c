"""Cancel requests: how a database is made to end a statement. Each shell executes them in its own way of waiting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from .._native import Wire
from ..errors import ConnectionClosed, Error, OperationalError


class SessionRequest:
    """A cancel request that another session with the server sends.

    Args:
        wire: the class of the engine's connection of that session.
        options: its options.
        send: queues the request on it, and returns its ticket.
        by_close: true if the server answers by closing the connection.
        ask: queues a question on that session, for ``check``; None where nothing is to be checked.
        check: is given that session and its answer, None if the server has refused it, before the request is sent:
            raises OperationalError where the session is with another server than what is to be cancelled.
    """

    def __init__(
        self,
        wire: Callable[[dict[str, Any], Any], Wire],
        options: dict[str, Any],
        send: Callable[[Any], Any],
        *,
        by_close: bool = False,
        ask: Callable[[Any], Any] | None = None,
        check: Callable[[Any, Any], None] | None = None,
    ) -> None:
        self.options = options
        self.ask = ask
        self.doubtful = False
        """True once the request may have been sent, until the server has answered: it may end a later statement."""
        self._wire = wire
        self._send = send
        self._by_close = by_close
        self.check = check

    def open(self, loop: Any) -> Wire:
        """Makes the engine's connection of that session, for a loop; None for a blocking one."""
        return self._wire(self.options, loop)

    def send(self, wire: Wire) -> Any:
        """Queues the request on its open session; returns its ticket."""
        self.doubtful = True
        return self._send(wire)

    def answered(self) -> None:
        """The ticket has its result."""
        self.doubtful = False

    def failed(self, error: Error, wire: Wire) -> bool:
        """The request, or the opening of its session, has ended with an error. Returns true if that is the answer."""
        if self._by_close:
            is_answer = isinstance(error, ConnectionClosed)
            self.doubtful = self.doubtful and not is_answer
            return is_answer
        # What the server has refused ends nothing.
        self.doubtful = self.doubtful and wire.closed
        return False


class MessageRequest:
    """A cancel request that is one message, on a TCP connection of its own.

    Args:
        address: host and port.
        message: the bytes to send.
        answer_bytes: the length of the answer.
        check: raises OperationalError for an answer that refuses the request.
    """

    def __init__(
        self, address: tuple[str, int], message: bytes, answer_bytes: int, check: Callable[[bytes], None]
    ) -> None:
        self.address = address
        self.message = message
        self.answer_bytes = answer_bytes
        self.doubtful = False
        """True once the message was sent, until the answer has come: it may end a later statement."""
        self._check = check

    def sent(self) -> None:
        """The message was sent."""
        self.doubtful = True

    def answered(self, answer: bytes) -> None:
        """The server has answered, or has closed the connection before the end of its answer.

        Raises OperationalError for that, and where it has refused the request.
        """
        if len(answer) < self.answer_bytes:
            raise OperationalError("the server closed the connection before it had answered the cancel request")
        self.doubtful = False
        self._check(answer)


class UrgentRequest:
    """A cancel request that is sent on the connection itself, beside its stream.

    Args:
        send: sends it, and returns the seconds after which to try again if it cannot be sent yet, else None.
    """

    def __init__(self, send: Callable[[], float | None]) -> None:
        self.send = send


CancelRequest: TypeAlias = SessionRequest | MessageRequest | UrgentRequest
