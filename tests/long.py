"""How much the tests try: little in ``make test``, much in ``make test-long``, which a workflow runs every night.

``HEADRACE_LONG=20261127`` makes a run a long one, and is the number that its random choices begin with: another night
tries something else, and the same number the same again (``make test-long SEED=20261127``).
"""

from __future__ import annotations

import os
from pathlib import Path

LONGEST = (
    "company/test_hangs.py",
    "databases/test_race.py",
    "lab/test_race.py",
    "dialects/test_own_postgres.py",
    "dialects/test_own_mysql.py",
    "robustness/test_replay.py",
    "lab/iibench/test_workload.py",
    "lab/iibench/test_faults.py",
    "lab/test_daemon.py",
    "oracle/test_random.py",
    "robustness/test_faults.py",
    "databases/test_mysqldb.py",
    "databases/test_arrow_in.py",
    "mysql/test_locks_of_failed.py",
    "behaviour/test_abandoned.py",
    "mysql/test_connecting.py",
    "daemon/test_cut.py",
    "ends/test_dying_sessions.py",
    "testing/test_urls.py",
    "values/test_matrix.py",
    "values/test_arrow_matrix.py",
)
"""The files that take longest. One process runs a file: begun last it would run alone at the end."""
_LONGEST_PATHS = {Path(__file__).parent / name for name in LONGEST}
NIGHT = int(os.environ.get("HEADRACE_LONG", "0"))
"""The number of a long run; 0 in all others."""
FACTOR = 20
"""How many times as much a long run tries."""
FIRST_SEED = NIGHT * 100_000
"""The first of the seeds of a run, of which each test counts upwards: those of two nights do not meet."""


def times(few: int) -> int:
    """Returns how often something is tried: ``few`` times, or many times in a long run."""
    return few * FACTOR if NIGHT else few


def every(step: int) -> int:
    """Returns the distance from one case to the next, of many that lie close together: 1 in a long run."""
    return 1 if NIGHT else step


def load_profile() -> None:
    """Makes tests of properties try more examples in a long run, and takes each example's limit in time from all of
    them: beside a busy build one may take seconds."""
    from hypothesis import settings

    few = settings().max_examples
    settings.register_profile("headrace", deadline=None, max_examples=times(few), print_blob=True)
    settings.load_profile("headrace")


def is_long(path: Path) -> bool:
    """Returns true for a file that is begun before all others."""
    return path in _LONGEST_PATHS
