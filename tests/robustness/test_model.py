"""A connection against a model of what its table must hold: any order of statements, batches, pipelines, streams,
blocks and timeouts, and after each of them the rows are those of the model."""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from headrace import errors
from headrace.types import TransactionStatus
from long import NIGHT, times
from servers import Database

KEYS = st.integers(1, 8)
BATCHES = st.lists(st.tuples(KEYS, st.integers(0, 99)), max_size=6)
Rows = dict[int, int]


class Block(NamedTuple):
    """An open ``transaction()`` block, and the rows before it."""

    context: Any
    before: Rows
    outermost: bool


def new_rows(rows: Rows, batch: list[tuple[int, int]]) -> tuple[Rows, int | None]:
    """The rows after a batch, or the index of the first that has a key twice."""
    after = dict(rows)
    for i, (key, value) in enumerate(batch):
        if key in after:
            return rows, i
        after[key] = value
    return after, None


class Undo(Exception):
    """Ends a block so that it is undone."""


class Machine(RuleBasedStateMachine):
    """One connection, and what its table should hold."""

    target: Database

    def __init__(self) -> None:
        super().__init__()
        self.conn = self.target.connect()
        self.other = self.target.connect(autocommit=True)
        self.other.execute("delete from model")
        self.rows: Rows = {}
        self.committed: Rows = {}
        self.blocks: list[Block] = []

    def teardown(self) -> None:
        self.conn.close()
        self.other.close()

    def sql(self, text: str) -> str:
        """With the parameters as this database writes them."""
        return text.replace("%s", self.target.mark)

    def failed(self) -> None:
        """After an error: PostgreSQL does nothing more before a rollback, the others have undone one statement."""
        if self.conn.transaction_status is TransactionStatus.INERROR:
            if self.blocks:
                self.leave(undo=True)
            else:
                self.rollback()

    @rule(key=KEYS, value=st.integers(0, 99))
    def insert(self, key: int, value: int) -> None:
        if key in self.rows:
            with pytest.raises(errors.IntegrityError):
                self.conn.execute(self.sql("insert into model values (%s, %s)"), (key, value))
            self.failed()
        else:
            assert self.conn.execute(self.sql("insert into model values (%s, %s)"), (key, value)).rowcount == 1
            self.rows[key] = value

    @rule(key=KEYS)
    def delete(self, key: int) -> None:
        assert self.conn.execute(self.sql("delete from model where k = %s"), (key,)).rowcount == (key in self.rows)
        self.rows.pop(key, None)

    @rule(batch=BATCHES)
    def batch(self, batch: list[tuple[int, int]]) -> None:
        after, bad = new_rows(self.rows, batch)
        if bad is None:
            self.conn.executemany(self.sql("insert into model values (%s, %s)"), batch)
            self.rows = after
        else:
            with pytest.raises(errors.IntegrityError) as caught:
                self.conn.executemany(self.sql("insert into model values (%s, %s)"), batch)
            assert caught.value.row == bad
            self.failed()

    @rule(shift=st.integers(1, 9), keys=st.lists(KEYS, max_size=5))
    def batch_of_updates(self, shift: int, keys: list[int]) -> None:
        self.conn.executemany(self.sql("update model set v = v + %s where k = %s"), [(shift, key) for key in keys])
        for key in keys:
            if key in self.rows:
                self.rows[key] += shift

    @rule(batch=st.lists(st.tuples(KEYS, st.integers(0, 99)), max_size=5, unique_by=lambda row: row[0]))
    def pipeline(self, batch: list[tuple[int, int]]) -> None:
        batch = [row for row in batch if row[0] not in self.rows]
        with self.conn.pipeline():
            counts = []
            for row in batch:
                self.conn.execute(self.sql("insert into model values (%s, %s)"), row)
                counts.append(self.conn.execute("select count(*) from model"))
        assert [cursor.fetchone()[0] for cursor in counts] == [len(self.rows) + 1 + i for i in range(len(batch))]
        self.rows.update(batch)

    @rule(keys=st.lists(KEYS, max_size=40))
    def pipeline_of_queries(self, keys: list[int]) -> None:
        with self.conn.pipeline():
            asked = [self.conn.execute(self.sql("select k, v from model where k >= %s"), (key,)) for key in keys]
            counted = self.conn.execute("select count(*) from model")
        for key, cursor in zip(keys, asked, strict=True):
            assert sorted(cursor.fetchall()) == sorted(row for row in self.rows.items() if row[0] >= key)
        assert counted.fetchone() == (len(self.rows),)

    @rule(stop=st.integers(0, 9))
    def part_of_a_stream(self, stop: int) -> None:
        with contextlib.closing(
            self.conn.stream("select k, v from model order by k", **self.target.differences.streamed(2))
        ) as stream:
            got = [row for _, row in zip(range(stop), stream, strict=False)]
        assert got == sorted(self.rows.items())[:stop]

    @rule()
    def an_error(self) -> None:
        with pytest.raises(errors.Error):
            self.conn.execute("select nothing from nowhere")
        self.failed()

    @precondition(lambda self: len(self.blocks) < 4)
    @rule()
    def enter(self) -> None:
        outermost = self.conn.transaction_status is TransactionStatus.IDLE
        if outermost:
            self.rows = dict(self.committed)
        context = self.conn.transaction()
        context.__enter__()
        self.blocks.append(Block(context, dict(self.rows), outermost))

    @precondition(lambda self: self.blocks)
    @rule(undo=st.booleans())
    def leave(self, undo: bool) -> None:
        block = self.blocks.pop()
        if undo:
            with contextlib.suppress(Undo):
                block.context.__exit__(Undo, Undo(), None)
            self.rows = block.before
        else:
            block.context.__exit__(None, None, None)
        if block.outermost:
            self.committed = dict(self.rows)

    @precondition(lambda self: not self.blocks)
    @rule()
    def commit(self) -> None:
        self.conn.commit()
        self.committed = dict(self.rows)

    @precondition(lambda self: not self.blocks)
    @rule()
    def rollback(self) -> None:
        self.conn.rollback()
        self.rows = dict(self.committed)

    @rule()
    def too_slow(self) -> None:
        with pytest.raises(TimeoutError):
            self.conn.execute(self.target.differences.slow, timeout=0.02)
        assert not self.conn.closed
        self.failed()

    @invariant()
    def rows_are_those_of_the_model(self) -> None:
        assert self.conn.fetch("select k, v from model order by k") == sorted(self.rows.items())


def test_any_order_of_things(target: Database) -> None:
    with target.connect(autocommit=True) as conn:
        conn.execute("create table model (k int primary key, v int)")
    try:
        machine = type("Machine", (Machine,), {"target": target})
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=times(20),
                stateful_step_count=30,
                deadline=None,
                derandomize=not NIGHT,
                suppress_health_check=list(HealthCheck),
            ),
        )
    finally:
        with target.connect(autocommit=True) as conn:
            conn.execute("drop table model")
