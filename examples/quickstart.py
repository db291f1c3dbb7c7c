"""Connect, insert, select: the blocking API in one screen."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from decimal import Decimal

import headrace
from headrace.rows import class_row


@dataclass
class Book:
    """What a row becomes."""

    id: int
    title: str
    price: Decimal


def main(conninfo: str) -> None:
    """Everything happens in a temporary table."""
    with headrace.connect(conninfo) as conn:
        conn.execute("CREATE TEMP TABLE books (id int PRIMARY KEY, title text NOT NULL, price numeric(8,2))")

        conn.execute("INSERT INTO books VALUES (%s, %s, %s)", (1, "A Discipline of Programming", Decimal("64.50")))
        conn.executemany(
            "INSERT INTO books VALUES ($1, $2, $3)",
            [(2, "The Mythical Man-Month", Decimal("39.99")), (3, "Smalltalk-80", Decimal("25.00"))],
        )

        with conn.cursor(row_factory=class_row(Book)) as cursor:
            for book in cursor.execute("SELECT * FROM books WHERE price > %s ORDER BY id", (30,)):
                print(f"{book.title}: {book.price}")

        try:
            with conn.transaction():
                conn.execute("DELETE FROM books WHERE id = 2")
                conn.execute("INSERT INTO books VALUES (1, 'A duplicate', 0)")
        except headrace.errors.UniqueViolation as error:
            print(f"refused by {error.constraint_name}, and nothing of the block was kept")

        print(conn.fetchval("SELECT count(*) FROM books"), "books")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
