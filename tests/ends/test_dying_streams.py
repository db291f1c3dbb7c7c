"""The session ends before any message of a stream with a transaction of its own, direct and through headraced: an end
without an error means that all is stored."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

import pytest

from ledgers.daemon import Daemon
from long import every
from servers import database

from .messages import KILLED_AFTER, MESSAGES, MessageWay
from .runs import AtMessage, Place, run_everywhere
from .streams import STREAMS

STEP = every(2)
TRIED = MESSAGES if STEP == 1 else (KILLED_AFTER,)
"""In a short run the place at which a client notices a reply together with the end."""
KINDS = [type("AtMessage", (AtMessage,), {"name": where, "where": where}) for where in TRIED]


class Direct(Place):
    """The server itself."""

    def make_way(self, port: int) -> MessageWay:
        return MessageWay(port)


@pytest.fixture(scope="module", params=["direct", "headraced"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """The server, and the server through the daemon."""
    made = Direct(database(request, "postgresql"))
    with contextlib.ExitStack() as stack:
        stack.callback(made.close)
        if request.param == "headraced":
            daemon = Daemon(made.url)
            stack.enter_context(daemon.running())
            made.url = daemon.url
        yield made


@pytest.mark.slow
def test_a_stream_that_ends_without_an_error_is_stored(place: Place, loop: asyncio.AbstractEventLoop | None) -> None:
    found = [
        f"{name}, {fault}"
        for name, case in list(STREAMS.items())[::STEP]
        for kind in KINDS
        for fault in run_everywhere(place, case, kind, loop)
    ]
    assert found == []
