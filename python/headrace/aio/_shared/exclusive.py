"""What a task has open on a connection that its own statements would have to wait for."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

from ..._shared.core import ExclusiveUse
from ...errors import InterfaceError

_USES: Final[ContextVar[tuple[ExclusiveUse, ...]]] = ContextVar("headrace_exclusive_uses", default=())


class TaskExclusiveGuard:
    """Refuses statements of the task that made it until ``opened`` has ended, and of those that have gone on with that
    since: they would wait for themselves. Tasks that these make from then on inherit it: a task that waits for one of
    them would wait for itself. For :meth:`Wire.occupy`."""

    def __init__(self, opened: ExclusiveUse, message: str) -> None:
        self._opened = opened
        self._message = message
        self.pass_on()

    def __call__(self) -> None:
        if not self._opened.ended and self._opened in _USES.get():
            raise InterfaceError(self._message)

    def pass_on(self) -> None:
        """The task that runs now goes on with what is open."""
        known = _USES.get()
        if self._opened not in known and not self._opened.ended:
            _USES.set((*(other for other in known if not other.ended), self._opened))
