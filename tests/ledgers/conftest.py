"""The servers of the ledgers, and the shells."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from company.shells import SHELLS
from long import times
from servers import Database, database

from .servers import Restarting, own_server
from .work import Work

SECONDS = float(times(4))
"""Of each ledger. `python -m ledgers` runs one for as long as one likes."""
BETWEEN_FAILOVERS = 4.0
"""Seconds."""
PLACES = ("driver", "daemon")
"""What the programs go through. `python -m ledgers DATABASE --place sqlalchemy` (facade, pgbouncer) goes through
others."""


@pytest.fixture(params=["threads", "tasks"])
def shell(request: pytest.FixtureRequest) -> str:
    """Blocking connections, then those on asyncio."""
    return str(request.param)


@pytest.fixture(scope="module")
def own(request: pytest.FixtureRequest) -> Iterator[tuple[Database, Restarting | None]]:
    """A server of the module's own, which is killed and started again."""
    with own_server(request.module.DATABASE) as made:
        yield made


@pytest.fixture
def faults_of_restarted(own: tuple[Database, Restarting | None], shell: str) -> list[str]:
    """The faults of a ledger on that server, which then has another port."""
    db, server = own
    work = Work(db, SHELLS[shell](), random.randrange(1_000_000), server, places=PLACES)
    faults = _faults(work)
    db.url = work.direct(work.way.target)
    return faults


@pytest.fixture
def faults_of_shared(request: pytest.FixtureRequest, shell: str) -> list[str]:
    """Those of a ledger on the server of all tests, which cannot be reached for a moment."""
    db = database(request, request.module.DATABASE)
    return _faults(Work(db, SHELLS[shell](), random.randrange(1_000_000), None, places=PLACES))


def _faults(work: Work) -> list[str]:
    """Runs it. The seed is part of what is wrong, and something has happened if nothing is."""
    faults = work.run(SECONDS, every=BETWEEN_FAILOVERS)
    assert work.trouble is not None
    assert work.book.counts()["acknowledged"] > 100, work.errors
    assert work.trouble.counts["fail_over"], work.trouble.counts
    assert all(work.done[place.name] for place in work.places), work.done
    return [f"--seed {work.seed}: {fault}" for fault in faults]
