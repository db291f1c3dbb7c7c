"""What a task has open on a connection that its own statements would have to wait for."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Final

from .._core import Opened
from ..errors import InterfaceError

_OPENED: Final[ContextVar[tuple[Opened, ...]]] = ContextVar("headrace_opened", default=())


def gate_of(opened: Opened, message: str) -> Callable[[], None]:
    """What refuses statements of the task that runs now until ``opened`` has ended. Tasks that it makes from here on
    inherit that: whoever waited for one of them would wait for himself."""
    _OPENED.set((*(other for other in _OPENED.get() if not other.ended), opened))

    def gate() -> None:
        if not opened.ended and opened in _OPENED.get():
            raise InterfaceError(message)

    return gate
