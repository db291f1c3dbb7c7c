"""A pipeline whose session ends: the end of its block, and sync(), raise for statements whose
errors nobody has read."""

from __future__ import annotations

import asyncio

from .pipelines import cases
from .runs import Cut, CutNoticed, Place, run_once


def test_a_pipeline_without_an_error_is_stored(place: Place, loop: asyncio.AbstractEventLoop | None) -> None:
    found = [
        f"{kind.name}, {name}: {fault}"
        for kind in ((Cut,) if loop is None else (Cut, CutNoticed))
        for name, case in cases(place.db.kind)
        for fault in run_once(place, case, kind(0), loop)
    ]
    assert found == []
