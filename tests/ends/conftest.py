"""The places where sessions die, each for a module."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from servers import database, names

from .runs import Place


@pytest.fixture(scope="module", params=names())
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """Each database."""
    made = Place(database(request, request.param))
    yield made
    made.close()


@pytest.fixture(scope="module", params=["blocking", "asyncio"])
def loop(request: pytest.FixtureRequest) -> Iterator[asyncio.AbstractEventLoop | None]:
    """The loop of the asyncio shell; None for the blocking one."""
    if request.param == "blocking":
        yield None
        return
    made = asyncio.new_event_loop()
    yield made
    made.run_until_complete(made.shutdown_asyncgens())
    made.close()
