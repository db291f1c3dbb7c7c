"""Money is moved in every way that there is, among kills, cancels, cuts and failovers, for as long as one likes.
Nothing acknowledged is missing afterwards, nothing is there twice, and nothing in part.

    cd tests && ../.venv/bin/python -m ledgers mariadb --seconds 3600

The seed determines what is done and what befalls it; who comes first, no seed determines.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import sys
import time

from company.shells import SHELLS
from daemon.conftest import built
from servers import DATABASES

from .places import PLACES
from .servers import own_server
from .ways import WAYS
from .work import Work


def main() -> int:
    """The long form."""
    parser = argparse.ArgumentParser(prog="ledgers", description=__doc__)
    parser.add_argument("database", choices=DATABASES)
    parser.add_argument("--shell", choices=list(SHELLS), action="append")
    parser.add_argument("--seconds", type=float, default=3600, help="of all rounds together")
    parser.add_argument("--round", type=float, default=30, help="seconds of one, after which the tables are compared")
    parser.add_argument("--every", type=float, default=10, help="seconds between failovers, about")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000), help="of the first round")
    parser.add_argument("--way", action="append", choices=list(WAYS), help="these only, in place of all")
    parser.add_argument("--place", action="append", choices=list(PLACES), help="what programs go through; all if none")
    parser.add_argument("--verbose", action="store_true", help="with an example of each class of errors")
    given = parser.parse_args()
    os.environ.setdefault("HEADRACE_PROGRAMS", "debug")
    # SQLAlchemy logs each connection that is lost.
    logging.getLogger("sqlalchemy").setLevel(logging.CRITICAL)
    built()
    shells = given.shell or ["threads", "tasks"]
    bad = 0
    with own_server(given.database) as (db, server):
        end, seed = time.monotonic() + given.seconds, given.seed
        while time.monotonic() < end:
            shell = shells[seed % len(shells)]
            work = Work(db, SHELLS[shell](), seed, server, given.place or (), given.way or ())
            faults = work.run(min(given.round, end - time.monotonic()), given.every)
            db.url = work.direct(work.way.target)
            assert work.trouble is not None
            print(f"--seed {seed} --shell {shell}:", dict(work.book.counts()), dict(work.trouble.counts), flush=True)
            print("   ", dict(work.done), flush=True)
            print("   ", dict(work.errors.most_common()), flush=True)
            if given.verbose:
                for example in work.examples.items():
                    print("       ", *example, flush=True)
            for fault in faults:
                print("   ", fault, flush=True)
            bad += len(faults)
            seed += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
