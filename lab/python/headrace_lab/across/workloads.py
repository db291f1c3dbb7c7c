"""What is done: the workloads of cubrid-benchmark, one statement at a time, in one transaction each.

Two things differ from there. Keys are given by us: there a counter gives them that the emptying of the table does not
set back, so that from the second round on no select, update or delete finds a row. And only what a workload is named
after is timed, not the filling of the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..digest import digest_rows

ROWS: Final = 10_000
ROUNDS: Final = 5
CHANGED: Final = 10
"""Of so many rows one is updated or deleted."""
ADDED: Final = 100_000
"""What an update adds to an amount."""

Row = tuple[Any, ...]
Work = Callable[["Client"], list[Row]]


class Client:
    """A connection, and the table that it works on."""

    def __init__(self, conn: Any, table: str, mark: str, rows: int) -> None:
        self.conn = conn
        self.cursor = conn.cursor()
        self.table = table
        self.mark = mark
        self.rows = rows

    def empty(self) -> None:
        """Empties the table."""
        self.cursor.execute(f"DELETE FROM {self.table}")
        self.conn.commit()

    def fill(self) -> None:
        """Fills it, in any way."""
        self.empty()
        self.cursor.executemany(self._insert(), [row(n) for n in numbers(self.rows)])
        self.conn.commit()

    def _insert(self) -> str:
        return f"INSERT INTO {self.table} (id, name, amount) VALUES ({', '.join([self.mark] * 3)})"

    def state(self) -> list[int]:
        """What the table holds: rows, and the sums of keys and amounts."""
        self.cursor.execute(f"SELECT COUNT(*), SUM(id), SUM(amount) FROM {self.table}")
        found = [int(value or 0) for value in self.cursor.fetchone()]
        self.conn.commit()
        return found


def insert_sequential(client: Client) -> list[Row]:
    """Every row by a statement of its own."""
    cursor, statement = client.cursor, client._insert()
    for n in numbers(client.rows):
        cursor.execute(statement, row(n))
    client.conn.commit()
    return []


def select_by_pk(client: Client) -> list[Row]:
    """Every row by its key."""
    cursor, statement = client.cursor, f"SELECT id, name, amount FROM {client.table} WHERE id = {client.mark}"
    found: list[Row] = []
    for n in numbers(client.rows):
        cursor.execute(statement, (n,))
        found.append(cursor.fetchone())
    client.conn.commit()
    return found


def select_full_scan(client: Client) -> list[Row]:
    """All rows at once."""
    client.cursor.execute(f"SELECT id, name, amount FROM {client.table}")
    found = list(client.cursor.fetchall())
    client.conn.commit()
    return found


def update_indexed(client: Client) -> list[Row]:
    """A tenth of the rows by their keys."""
    cursor, mark = client.cursor, client.mark
    statement = f"UPDATE {client.table} SET amount = {mark} WHERE id = {mark}"
    for n in numbers(client.rows // CHANGED):
        cursor.execute(statement, (n + ADDED, n))
    client.conn.commit()
    return []


def delete_sequential(client: Client) -> list[Row]:
    """A tenth of the rows by their keys."""
    cursor, statement = client.cursor, f"DELETE FROM {client.table} WHERE id = {client.mark}"
    for n in numbers(client.rows // CHANGED):
        cursor.execute(statement, (n,))
    client.conn.commit()
    return []


WORKLOADS: Final[dict[str, Work]] = {
    work.__name__: work
    for work in (insert_sequential, select_by_pk, select_full_scan, update_indexed, delete_sequential)
}


def what(name: str, rows: int) -> str:
    """A workload in words."""
    few = f"{rows // CHANGED:,}"
    return {
        "insert_sequential": f"{rows:,} rows inserted one by one",
        "select_by_pk": f"{rows:,} rows selected one by one by their keys",
        "select_full_scan": f"{rows:,} rows selected at once",
        "update_indexed": f"{few} rows updated one by one by their keys",
        "delete_sequential": f"{few} rows deleted one by one by their keys",
    }[name]


def statements(name: str, rows: int) -> int:
    """How many statements a workload is."""
    return (
        1 if name == "select_full_scan" else rows if name in ("insert_sequential", "select_by_pk") else rows // CHANGED
    )


def prepare(name: str, client: Client) -> None:
    """What comes before the clock runs."""
    if name == "insert_sequential":
        client.empty()
    else:
        client.fill()


def row(n: int) -> Row:
    """Row n, counted from 1."""
    return (n, f"name_{n:05d}", n)


def numbers(rows: int) -> range:
    """The keys of so many rows."""
    return range(1, rows + 1)


def expected(name: str, rows: int) -> dict[str, Any]:
    """The right result of a round: the digest of the rows selected, and what the table holds after it."""
    changed = numbers(rows // CHANGED)
    amounts = sum(numbers(rows))
    keys = amounts
    count = rows
    if name == "update_indexed":
        amounts += ADDED * len(changed)
    elif name == "delete_sequential":
        keys, amounts, count = keys - sum(changed), amounts - sum(changed), rows - len(changed)
    selected = [row(n) for n in numbers(rows)] if name.startswith("select") else []
    return {"digest": digest_rows(selected), "state": [count, keys, amounts]}
