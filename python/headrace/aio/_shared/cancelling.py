"""How a connection sends a cancel request."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

from ... import defaults
from ..._shared.cancel_requests import MessageRequest, SessionRequest, UrgentRequest
from ..._shared.limits import Until
from ...errors import ConnectionTimeout, Error, OperationalError
from .opening import exchange, open_wire, password_of
from .waiting import LoopWaiting

R = TypeVar("R")


class LoopCancelling(LoopWaiting[R]):
    """A connection whose statements can be cancelled."""

    async def _send_cancel(self, seconds: float) -> float | None:
        core, limit = self._core, Until(seconds)
        if core.wire.is_cancel_early():
            return defaults.CANCEL_SOON
        request = core.cancel_request(await password_of(core.cancel_password()))
        if request is None:
            return None
        if isinstance(request, UrgentRequest):
            # What was written in this turn of the loop, uvloop sends at its end.  # asyncio only
            await asyncio.sleep(0)  # asyncio only
            return request.send()
        try:
            if isinstance(request, MessageRequest):
                await exchange(request)  # blocking: exchange(request, limit)
            else:
                await self._request(request, limit)
        except (TimeoutError, ConnectionTimeout):
            raise OperationalError(f"the cancel request was not answered within {seconds} s") from None
        except OSError as error:
            raise OperationalError(f"the cancel request was not answered: {error}") from None
        finally:
            if request.doubtful:
                core.end_in_doubt()
        return None

    async def _request(self, request: SessionRequest, limit: Until) -> None:
        wire = request.open(asyncio.get_running_loop())  # blocking: wire = request.open(None)
        try:
            await open_wire(wire, request.options, limit.left())  # blocking: open_wire(wire, limit.left())
            await self._check(request, wire, limit)
            ticket: Any = request.send(wire)
            await ticket  # blocking: wire.wait(ticket, limit.left())
            request.answered()
        except Error as error:
            if not request.failed(error, wire):
                raise
        finally:
            wire.close()

    async def _check(self, request: SessionRequest, wire: Any, limit: Until) -> None:
        if request.ask is None or request.check is None:
            return
        answer: Any = None
        try:
            ticket: Any = request.ask(wire)
            answer = await ticket  # blocking: answer = wire.wait(ticket, limit.left())
        except Error:
            if wire.closed:
                raise
        request.check(wire, answer)
