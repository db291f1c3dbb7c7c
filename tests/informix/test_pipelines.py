"""Pipelines of any statements against the same statements one by one: the same results, errors and rows."""

from __future__ import annotations

import random
from typing import Any, Literal, NamedTuple

import pytest

import headrace.informix
from headrace import errors, testing

SEEDS = 12


class Asked(NamedTuple):
    """A statement, or a batch."""

    sql: str
    params: Any
    batch: bool = False


def create(conn: Any) -> None:
    """Rows that come in one block and in several, values that are fetched one by one, a key."""
    conn.execute("create table few (k int, t text, b byte)")
    conn.execute("create table many (k int, v varchar(200))")
    conn.execute("create table keys (k int primary key)")
    conn.executemany("insert into few values (?, ?, ?)", [(n, "t" * (n * 37), b"\0" * n) for n in range(30)])
    conn.executemany("insert into many values (?, ?)", [(n, "v" * 150) for n in range(1000)])


def asked(chance: random.Random) -> list[Asked]:
    """One statement, as often as may be."""
    times = chance.choice([1, 1, 3, 6, 40])
    below = [(chance.randrange(30),) for _ in range(times)]
    from_row = [(chance.choice([0, 900, 999, 2000]),) for _ in range(times)]
    new = [(chance.randrange(10**6),) for _ in range(times)]
    return chance.choice(
        [
            [Asked("select k from few where k < ? order by k", row) for row in below],
            [Asked("select k, t, b from few where k < ? order by k", row) for row in below],
            [Asked("select k, v from many where k >= ? order by k", row) for row in from_row],
            [Asked("select 1 / (k - ?) from many order by k", row) for row in from_row],
            [Asked("select count(*) from keys where k > ?", row) for row in below],
            [Asked("insert into keys values (?)", row) for row in [*new, (7,)]],
            [Asked("update few set t = ? where k = ?", ("u" * row[0], row[0])) for row in below],
            [Asked("insert into keys values (?)", [*new, (7,), (7,)][:: chance.choice([1, 3])], batch=True)],
            [Asked("selec", None), Asked("select k from few where k = ?", ())],
            [Asked(chance.choice(["begin work", "commit work", "rollback work"]), None)],
            [Asked(f"create index i{new[0][0]} on keys (k desc)", None)],
        ]
    )


def outcome(cursor: Any) -> Any:
    """What came of a statement."""
    try:
        cursor.wait()
    except errors.Error as error:
        return repr(error)
    return cursor.fetchall() if cursor.description else cursor.rowcount


def ask(conn: Any, one: Asked) -> Any:
    """A cursor, or the error of one that was not sent."""
    cursor = conn.cursor()
    try:
        return cursor.executemany(one.sql, one.params) if one.batch else cursor.execute(one.sql, one.params)
    except errors.Error as error:
        return repr(error)


def done(conn: Any, program: list[Asked], pipelined: bool, other: Any) -> list[Any]:
    """The outcome of each statement; another session changes a table meanwhile."""
    if not pipelined:
        cursors = (ask(conn, one) for one in program)
        return [cursor if isinstance(cursor, str) else outcome(cursor) for cursor in cursors]
    with conn.pipeline() as pipeline:
        cursors = []
        for n, one in enumerate(program):
            cursors.append(ask(conn, one))
            if n % 50 == 20 and other is not None:
                pipeline.flush()
                try:
                    other.execute(f"alter table many add (x{n}_{len(program)} int)")
                except errors.LockNotAvailable:
                    continue
        return [cursor if isinstance(cursor, str) else outcome(cursor) for cursor in cursors]


@pytest.mark.parametrize("mode", ["logged", "ansi", "unlogged"])
@pytest.mark.slow
def test_a_pipeline_does_what_its_statements_do_one_by_one(mode: Literal["logged", "ansi", "unlogged"]) -> None:
    for seed in range(SEEDS):
        seen: list[list[Any]] = []
        for pipelined in (False, True):
            chance = random.Random(seed)
            settings: dict[str, Any] = {
                "autocommit": chance.random() < 0.7,
                "statement_cache_size": chance.choice([0, 1, 3, 100]),
            }
            with (
                testing.informix(mode=mode) as server,
                headrace.informix.connect(**server.parameters(), autocommit=True) as other,
                headrace.informix.connect(**server.parameters(), **settings) as conn,
            ):
                create(other)
                results: list[Any] = []
                for _ in range(2):
                    program = [one for _ in range(chance.randrange(1, 20)) for one in asked(chance)]
                    changed_by = other if settings["autocommit"] and mode == "logged" else None
                    results += zip(program, done(conn, program, pipelined, changed_by), strict=True)
                    if mode != "unlogged":
                        chance.choice([conn.commit, conn.rollback])()
                results += other.fetch("select k from keys order by k") + other.fetch("select k, t from few order by k")
            seen.append(results)
        for alone, together in zip(*seen, strict=True):
            assert together == alone, f"seed {seed}"
