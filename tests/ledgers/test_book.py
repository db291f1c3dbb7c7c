"""The book finds what a ledger is to find."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from .book import ACCOUNTS, START, Book, Told

UNTOUCHED = dict.fromkeys(range(1, ACCOUNTS + 1), START)
MOVED = {**UNTOUCHED, 1: START - 3, 2: START + 3}


class Stored:
    """An administrator's connection to tables with this content."""

    def __init__(self, journal: list[tuple[int, ...]], balances: dict[int, int]) -> None:
        self.journal = journal
        self.balances = balances

    def fetch(self, sql: str) -> list[Any]:
        return self.journal if "journal" in sql else list(self.balances.items())


CASES: dict[str, tuple[Told, int, list[tuple[int, ...]], dict[int, int], str]] = {
    "stored": (Told.STORED, 1, [(1, 0, 1, 2, 3)], MOVED, ""),
    "unknown and stored": (Told.UNKNOWN, 1, [(1, 0, 1, 2, 3)], MOVED, ""),
    "unknown and not stored": (Told.UNKNOWN, 2, [], UNTOUCHED, ""),
    "refused": (Told.REFUSED, 1, [], UNTOUCHED, ""),
    "missing": (Told.STORED, 1, [], UNTOUCHED, "MISSING"),
    "doubled": (Told.UNKNOWN, 1, [(1, 0, 0, 0, 0)] * 2, UNTOUCHED, "doubled"),
    "refused and stored": (Told.REFUSED, 1, [(1, 0, 0, 0, 0)], UNTOUCHED, "stored though refused"),
    "in part": (Told.UNKNOWN, 2, [(1, 1, 0, 0, 0)], UNTOUCHED, "partly stored"),
    "nobody's": (Told.STORED, 1, [(1, 0, 0, 0, 0), (2, 0, 0, 0, 0)], UNTOUCHED, "nobody's"),
    "money without a journal": (Told.UNKNOWN, 1, [], MOVED, "the accounts have"),
    "a journal without money": (Told.STORED, 1, [(1, 0, 1, 2, 3)], UNTOUCHED, "the accounts have"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_book_says_what_is_wrong(case: str) -> None:
    told, parts, journal, balances, wanted = CASES[case]
    book = Book()
    book.new("way", parts).told = told
    found = list(book.faults(Stored(journal, balances)))
    assert book.counts() == Counter({told.value: 1})
    assert len(found) == bool(wanted)
    assert all(fault.startswith(wanted) for fault in found)
