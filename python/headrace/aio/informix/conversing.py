"""The questions of a server at login, asyncio.

An asyncio connection waits for the function ``pam`` and for the session as one piece of work that is cancelled when its
time is up; a blocking one waits for the session alone, as nothing ends a function: these are two sources.
"""

from __future__ import annotations

import inspect

from ..._native import InformixWire
from ..._shared.opening import left, overdue
from ...informix.pam import Dialogue
from ...informix.settings import ConnectOptions
from .._shared.opening import await_session
from .._shared.within import within, within_here


async def converse(wire: InformixWire, options: ConnectOptions, deadline: float | None) -> None:
    """Answers what the server asks before it lets the session begin. The connection is closed when this fails. The
    function ``pam`` may be asynchronous."""
    dialogue = Dialogue(wire, options, deadline)

    async def talk() -> None:
        while (answer := dialogue.question()) is not None:
            dialogue.answer(await answer if inspect.isawaitable(answer) else answer)
            await await_session(wire)

    try:
        # In a task of its own where a function of the program may keep a cancellation to itself.
        limited = within_here if options.pam is None else within
        await limited(left(deadline), talk())
    except TimeoutError:
        wire.close()
        raise overdue(options.connect_timeout) from None
    except BaseException:
        wire.close()
        raise
