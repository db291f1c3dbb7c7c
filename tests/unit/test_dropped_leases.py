"""What tells a pool that nobody has any more what it lent: each version of Python counts references otherwise."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from headrace._shared.lease import dropped

HAS_THE_LOCK = getattr(sys, "_is_gil_enabled", lambda: True)()


class Lent:
    pass


def test_what_is_held_by_one_name_is_not_dropped() -> None:
    entry = SimpleNamespace(connection=object(), lent=Lent())
    held = entry.lent
    assert not dropped([entry])
    assert held is entry.lent


@pytest.mark.skipif(not HAS_THE_LOCK, reason="references are not counted there")
def test_what_nobody_holds_is_dropped() -> None:
    entry = SimpleNamespace(connection=object(), lent=Lent())
    held = entry.lent
    del held
    assert dropped([entry]) == [entry]


def test_what_is_held_by_a_frame_that_waits_is_not_dropped() -> None:
    entry = SimpleNamespace(connection=object(), lent=Lent())

    def borrower(lent: Lent) -> Iterator[Lent]:
        yield Lent()
        yield lent

    waits = borrower(entry.lent)
    next(waits)
    assert not dropped([entry])


def test_nothing_and_a_connection_itself_are_never_dropped() -> None:
    connection = Lent()
    assert not dropped([SimpleNamespace(connection=connection, lent=None)])
    assert not dropped([SimpleNamespace(connection=connection, lent=connection)])
