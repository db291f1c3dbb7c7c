"""Threads, or tasks, that use one connection, or a pool, with all methods at random: each gets its own answers, loses
nothing, and gets no error or cancellation but its own; at the end connections are idle and in step.

``HEADRACE_COMPANY_OPERATIONS=2000`` is for each worker, ``HEADRACE_COMPANY_SEED`` begins elsewhere,
``HEADRACE_COMPANY_WITHOUT="streams_left_early pipelines"`` leaves operations out. A failure names its seed, which
chooses the operations; what meets what is up to the scheduler.
"""

from __future__ import annotations

import pytest

from .meeting import on_a_pool, on_one_connection
from .places import Place
from .shells import Shell


def test_workers_on_one_connection(place: Place, shell: Shell) -> None:
    on_one_connection(place, shell, 6)


@pytest.mark.parametrize("autocommit", [True, False], ids=["autocommit", "implicit"])
def test_workers_on_a_pool(place: Place, shell: Shell, autocommit: bool) -> None:
    on_a_pool(place, shell, 6, 3, autocommit)
