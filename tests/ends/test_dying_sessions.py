"""The session ends anywhere in anything that ends with a promise: an end without an error means that all is stored."""

from __future__ import annotations

import asyncio

from .cases import CASES
from .runs import Place, kinds_of, run_everywhere


def test_an_end_without_an_error_means_stored(place: Place, loop: asyncio.AbstractEventLoop | None) -> None:
    found = [
        f"{name}, {fault}"
        for kind in kinds_of(place, loop)
        for name, (case, drivers) in CASES.items()
        if not drivers or place.db.kind in drivers
        for fault in run_everywhere(place, case, kind, loop)
    ]
    assert found == []
