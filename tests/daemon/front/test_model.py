"""Random clients on two sessions of each database: each alone owns what it sees."""

from __future__ import annotations

import random
from typing import Any

import psycopg
import pytest

from waiting import gather

from .conftest import Front

CLIENTS, STEPS = 6, 40


class Model:
    """A client with a random program."""

    def __init__(self, front: Front, number: int, seed: int) -> None:
        self.front, self.number, self.chance = front, number, random.Random(f"{front.name}-{seed}-{number}")
        self.values: list[int] = []
        self.client = self.connected()

    def connected(self) -> psycopg.Connection[Any]:
        """A new connection."""
        self.name = f"client {self.number}"
        where = self.front.where(f"{self.front.name}_two", application_name=self.name)
        return psycopg.connect(**where, autocommit=True, prepare_threshold=1)

    def run(self) -> None:
        """The whole program."""
        for _ in range(STEPS):
            self.step()
            query = f"select {self.number}, count(*), max(n) from model{self.number} where n > %s"
            found = self.client.execute(query.encode(), (0,)).fetchone()
            assert found == (self.number, len(self.values), max(self.values, default=None)), found
            assert self.client.execute("show application_name").fetchone() == (self.name,)
        self.client.close()

    def insert(self) -> int:
        """A row with the next number."""
        value = max(self.values, default=0) + self.chance.randint(1, 9)
        self.client.execute(f"insert into model{self.number} values (%s)".encode(), (value,))
        return value

    def step(self) -> None:
        """One random step."""
        match self.chance.randrange(7):
            case 0:
                self.values.append(self.insert())
            case 1:
                with self.client.transaction():
                    first = self.insert()
                    with self.client.transaction(force_rollback=True):
                        self.client.execute(f"delete from model{self.number}".encode())
                self.values.append(first)
            case 2:
                with self.client.transaction(force_rollback=True):
                    self.insert()
            case 3:
                with pytest.raises(psycopg.errors.UndefinedTable):
                    self.client.execute(f"select {self.chance.randrange(5)} from nowhere".encode())
            case 4:
                self.name = f"client {self.number} {self.chance.random()}"
                self.client.execute(f"set application_name to '{self.name}'".encode())
            case 5:
                query, limits = f"select n from model{self.number} where n > %s order by n".encode(), range(0, 50, 5)
                with self.client.pipeline():
                    cursors = [self.client.execute(query, (limit,)) for limit in limits]
                    found = [cursor.fetchall() for cursor in cursors]
                assert found == [[(n,) for n in self.values if n > limit] for limit in limits]
            case _:
                self.client.execute("begin")
                self.insert()
                self.client.close()
                self.client = self.connected()


def test_each_random_client_owns_what_it_sees(front: Front) -> None:
    for number in range(CLIENTS):
        front.table(f"model{number}", "n int primary key")
    clients = [Model(front, number, 1) for number in range(CLIENTS)]
    gather(*(client.run for client in clients))
