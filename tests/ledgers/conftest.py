"""The servers of the ledgers, and the shells."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from company.shells import SHELLS
from headrace_lab.differences import DIFFERENCES
from servers import database

from .servers import Restarting, own_server
from .work import Work

SECONDS = 5.0
"""Of each ledger. `python -m ledgers` runs one for as long as one likes."""


@pytest.fixture(params=["threads", "tasks"])
def shell(request: pytest.FixtureRequest) -> str:
    """Blocking connections, then those on asyncio."""
    return str(request.param)


@pytest.fixture(scope="module")
def own(request: pytest.FixtureRequest) -> Iterator[tuple[str, list[str], Restarting]]:
    """A server of the module's own, which is killed and started again, and a place for its present URL."""
    name = request.module.DATABASE
    with own_server(name) as (url, server):
        yield name, [url], server


@pytest.fixture
def faults_of_restarted(own: tuple[str, list[str], Restarting], shell: str) -> list[str]:
    """The faults of a ledger on that server."""
    name, urls, server = own
    work = _work(name, urls[-1], shell, server)
    faults = _faults(work)
    urls.append(work.direct(work.way.target))
    return faults


@pytest.fixture
def faults_of_shared(request: pytest.FixtureRequest, shell: str) -> list[str]:
    """Those of a ledger on the server of all tests, which cannot be reached for a moment."""
    name = request.module.DATABASE
    return _faults(_work(name, database(request, name).url, shell, None))


def _work(name: str, url: str, shell: str, server: Restarting | None) -> Work:
    what = DIFFERENCES[name]
    return Work(url, what.mark, what.driver, SHELLS[shell](), random.randrange(1_000_000), server)


def _faults(work: Work) -> list[str]:
    """Runs it. The seed is part of what is wrong, and something has happened if nothing is."""
    faults = work.run(SECONDS, every=SECONDS)
    assert work.trouble is not None
    assert work.book.counts()["acknowledged"] > 100, work.errors
    assert work.trouble.counts["fail_over"], work.trouble.counts
    return [f"--seed {work.seed}: {fault}" for fault in faults]
