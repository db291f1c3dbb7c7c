"""How a connection sends a cancel request."""

# Made by tools/async_to_sync.py of aio/_shared/cancelling.py: edit that file, and run the tool.

from __future__ import annotations

from typing import Any, TypeVar

from .. import defaults
from ..errors import ConnectionTimeout, Error, OperationalError
from .cancel_requests import MessageRequest, SessionRequest, UrgentRequest
from .limits import Until
from .opening import exchange, open_wire, password_of
from .waiting import BlockingWaiting

R = TypeVar("R")


class BlockingCancelling(BlockingWaiting[R]):
    """A connection whose statements can be cancelled."""

    def _send_cancel(self, seconds: float) -> float | None:
        core, limit = self._core, Until(seconds)
        if core.wire.is_cancel_early():
            return defaults.CANCEL_SOON
        request = core.cancel_request(password_of(core.cancel_password()))
        if request is None:
            return None
        if isinstance(request, UrgentRequest):
            return request.send()
        try:
            if isinstance(request, MessageRequest):
                exchange(request, limit)
            else:
                self._request(request, limit)
        except (TimeoutError, ConnectionTimeout):
            raise OperationalError(f"the cancel request was not answered within {seconds} s") from None
        except OSError as error:
            raise OperationalError(f"the cancel request was not answered: {error}") from None
        finally:
            if request.doubtful:
                core.end_in_doubt()
        return None

    def _request(self, request: SessionRequest, limit: Until) -> None:
        wire = request.open(None)
        try:
            open_wire(wire, limit.left())
            self._check(request, wire, limit)
            ticket: Any = request.send(wire)
            wire.wait(ticket, limit.left())
            request.answered()
        except Error as error:
            if not request.failed(error, wire):
                raise
        finally:
            wire.close()

    def _check(self, request: SessionRequest, wire: Any, limit: Until) -> None:
        if request.ask is None or request.check is None:
            return
        answer: Any = None
        try:
            ticket: Any = request.ask(wire)
            answer = wire.wait(ticket, limit.left())
        except Error:
            if wire.closed:
                raise
        request.check(wire, answer)
