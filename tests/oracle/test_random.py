"""Random programs through headrace and through an independent driver: each statement by a way chosen at random.

``make test`` plays a fixed number of them, the same ones each time, ``make test-long`` others each night.
By hand, for hours and with others:

    HEADRACE_ORACLE_PROGRAMS=5000 HEADRACE_ORACLE_SEED=100000 .venv/bin/python -m pytest tests/oracle -k random

A program that fails is made shorter, and printed as the steps that ``test_found.py`` takes.
"""

from __future__ import annotations

from typing import Any

import pytest

from long import NIGHT

from . import ifx_making, my_making, pg_making
from .program import PROGRAMS, SEED, random_program

PROGRAMS_IN_MAKE_TEST = {"15": 50, "18": 30, "mariadb": 16, "mysql": 12, "informix": 25}
PROGRAMS_AT_NIGHT = {"15": 1500, "18": 1000, "mariadb": 500, "mysql": 400, "informix": 800}
MAKERS = {"15": pg_making.make, "18": pg_making.make, "mariadb": my_making.make, "mysql": my_making.make}
pytestmark = pytest.mark.timeout(0 if PROGRAMS or NIGHT else 300)


@pytest.mark.parametrize("name", PROGRAMS_IN_MAKE_TEST)
def test_every_way_gives_what_the_oracle_gives(name: str, request: pytest.FixtureRequest) -> None:
    databases: Any = request.getfixturevalue(f"databases{name}" if name.isdigit() else f"databases_{name}")
    programs = PROGRAMS or (PROGRAMS_AT_NIGHT if NIGHT else PROGRAMS_IN_MAKE_TEST)[name]
    for seed in range(SEED, SEED + programs):
        random_program(databases.twin, MAKERS.get(name, ifx_making.make), seed)
