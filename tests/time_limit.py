"""asyncio.timeout, which Python 3.10 does not have."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


@asynccontextmanager
async def time_limit(seconds: float) -> AsyncIterator[None]:
    """Cancels what is in the block when the time is over, and raises TimeoutError then."""
    task = asyncio.current_task()
    assert task is not None
    timer = asyncio.get_running_loop().call_later(seconds, task.cancel)
    started = asyncio.get_running_loop().time()
    try:
        yield
    except asyncio.CancelledError:
        if asyncio.get_running_loop().time() - started < seconds:
            raise
        raise TimeoutError(f"not done after {seconds} seconds") from None
    finally:
        timer.cancel()
