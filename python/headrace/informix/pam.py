"""The questions that a server asks at login where PAM is in charge (``s=4,pam_serv=...`` in its sqlhosts)."""

from __future__ import annotations

from typing import Any

from .._native import InformixWire
from ..errors import OperationalError, ProgrammingError
from .settings import ConnectOptions


class Dialogue:
    """Answers the questions of one login."""

    def __init__(self, wire: InformixWire, options: ConnectOptions) -> None:
        self._wire = wire
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
        """Sends an answer."""
        if not isinstance(text, str):
            raise ProgrammingError(f"the function pam must return a str, not {type(text).__name__}")
        if "\0" in text or len(text.encode()) > 65_535:
            raise ProgrammingError("an answer to PAM has a NUL character, or is longer than 65535 bytes")
        self._wire.respond(text)
