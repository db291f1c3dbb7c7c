"""Batches that are executed by two strategies of PostgreSQL's, which have to come to the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def assert_alike(found: Sequence[tuple[Any, ...]], about: Any) -> None:
    """Compares what a batch has come to, pipelined and by the other strategy: the number of rows, or the error, its
    SQLSTATE and its row; and then the tables."""
    (pipelined, *tables), (other, *others) = found
    assert tables == others, about
    if pipelined != other:
        # A value that cannot be sent is named at once where nothing was sent before it. Here some rows were.
        assert pipelined[1] is None, (pipelined, other, about)
        assert other[2] < pipelined[2], (pipelined, other, about)
