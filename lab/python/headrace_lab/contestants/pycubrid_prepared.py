"""pycubrid's batches with ``prepared=True``: EXECUTE_ARRAY of an INSERT of one row."""

from __future__ import annotations

from ..workloads import WORKLOADS, WRITERS
from . import pycubrid_sync


class Contestant(pycubrid_sync.Contestant):
    options = "its blocking interface; executemany(prepared=True)"
    skips = dict.fromkeys(WORKLOADS.keys() - WRITERS, "only batches are prepared; this is pycubrid's time")
    batches = "EXECUTE_ARRAY, a row each"
    batch = {"prepared": True}
