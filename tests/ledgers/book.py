"""What a program was told of its transactions, and what the tables then say."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

ACCOUNTS = 5
START = 1000
"""What each account has in the beginning."""
TABLES = ("journal", "accounts")


class Told(Enum):
    """What the program has recorded of a transaction."""

    STORED = "acknowledged"
    REFUSED = "refused"
    """It failed before its end was requested, or by an error of the server."""
    UNKNOWN = "unknown"


@dataclass
class Unit:
    """A transaction: the rows ``(number, part)`` of the journal, the first of which may move money."""

    number: int
    way: str
    parts: int = 1
    told: Told = Told.UNKNOWN
    error: str = ""
    movement: tuple[int, int, int] = (0, 0, 0)
    """From an account to another, and how much."""


class Book:
    """All of them. Threads and tasks may write into it."""

    def __init__(self) -> None:
        self.units: dict[int, Unit] = {}
        self._lock = threading.Lock()

    def new(self, way: str, parts: int) -> Unit:
        """A transaction that begins."""
        with self._lock:
            unit = Unit(len(self.units) + 1, way, parts)
            self.units[unit.number] = unit
        return unit

    def counts(self) -> Counter[str]:
        """How many there are, by what was told."""
        return Counter(unit.told.value for unit in self.units.values())

    def faults(self, admin: Any) -> Iterator[str]:
        """What is not as it was told."""
        journal = admin.fetch("select number, part, source, target, amount from journal")
        stored = Counter((number, part) for number, part, *_ in journal)
        for unit in self.units.values():
            found = [stored.pop((unit.number, part), 0) for part in range(unit.parts)]
            said = f"{unit.way} {unit.number}, {unit.told.value} {unit.error}: rows {found}"
            if max(found) > 1:
                yield f"doubled: {said}"
            if unit.told is Told.STORED and min(found) < 1:
                yield f"MISSING: {said}"
            if unit.told is Told.REFUSED and max(found):
                yield f"stored though refused: {said}"
            if min(found) == 0 < max(found):
                yield f"partly stored: {said}"
        if stored:
            yield f"nobody's: {sorted(stored)[:5]}"
        balances = Counter(dict.fromkeys(range(1, ACCOUNTS + 1), START))
        for _, _, source, target, amount in journal:
            balances[source] -= amount
            balances[target] += amount
        del balances[0]
        if (now := dict(admin.fetch("select id, balance from accounts"))) != balances:
            yield f"the accounts have {now}, and the journal says {dict(balances)}"
            halves = {(account, now.get(account, 0) - wanted) for account, wanted in balances.items()}
            for unit in self.units.values():
                source, target, amount = unit.movement
                if unit.told is not Told.STORED and halves & {(source, -amount), (target, amount)}:
                    yield f"    may be of {unit.way} {unit.number}, {unit.told.value}, {unit.movement}: {unit.error}"


def make_tables(admin: Any, mark: str) -> None:
    """An empty journal, and the accounts."""
    for name in TABLES:
        admin.execute(f"drop table if exists {name}")
    admin.execute("create table journal (number int, part int, source int, target int, amount int)")
    admin.execute("create table accounts (id int primary key, balance int)")
    rows = [(account, START) for account in range(1, ACCOUNTS + 1)]
    admin.executemany(f"insert into accounts values ({mark}, {mark})", rows)
