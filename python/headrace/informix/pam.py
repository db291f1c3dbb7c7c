"""The questions that a server asks at login where PAM is in charge (``s=4,pam_serv=...`` in its sqlhosts)."""

from __future__ import annotations

from typing import Any

from .._native import InformixWire
from .._shared.opening import left
from ..errors import OperationalError, ProgrammingError
from .settings import ConnectOptions


class Dialogue:
    """Answers the questions of one login."""

    def __init__(self, wire: InformixWire, options: ConnectOptions, deadline: float | None) -> None:
        """``deadline`` is the time (``time.monotonic()``) at which the session has to be there."""
        self._wire = wire
        self._deadline = deadline
        self._pam = options.pam
        self._password = options.password

    def question(self) -> Any:
        """The answer to the question that waits, or what has to be awaited for it; None where there is no question.

        Raises OperationalError for a question without an answer.
        """
        asked = self._wire.challenge()
        if asked is None:
            return None
        text, shown = asked
        if self._pam is not None:
            return self._pam(text, shown)
        password, self._password = self._password, None
        if shown or password is None:
            raise OperationalError(f"the server asks {text!r} (PAM): give connect() a function pam that answers it")
        return password

    def answer(self, text: Any) -> None:
        """Sends an answer.

        Raises ProgrammingError for what is not one, and TimeoutError if the function took longer than there was: a
        server that replies at once would be asked on otherwise, whatever the time is.
        """
        if left(self._deadline) == 0:
            raise TimeoutError
        if not isinstance(text, str):
            raise ProgrammingError(f"the function pam must return a str, not {type(text).__name__}")
        if "\0" in text or len(text.encode()) > 65_535:
            raise ProgrammingError("an answer to PAM has a NUL character, or is longer than 65535 bytes")
        self._wire.respond(text)
