"""Which transactions and ``transaction()`` blocks of a connection are open, and how they end."""

from __future__ import annotations

import contextlib
import itertools
import threading
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, get_args

from .. import defaults
from .._native import Wire
from ..errors import DatabaseError, Error, InterfaceError, NotSupportedError, ProgrammingError
from ..types import TransactionStatus
from .arguments import checked_text
from .ends import Ends
from .flows import Begun, Flow, each
from .modes import IsolationLevel, ResetMode

LOST = (
    "the transaction() block of another task or thread, in which this block was entered, has ended before it. What this"
    " block did until then was committed or rolled back with the outer block; later statements were not part of it. Use"
    " a connection for each task or thread."
)
"""The error at the end of such a block."""

Modes = tuple[str | None, bool | None, bool | None]
"""The modes of a transaction: its isolation level, whether it only reads, whether it is deferrable."""


class PredictedTransaction(NamedTuple):
    """The transaction after all requests so far."""

    open: bool
    settled: bool
    """True if it is certain."""

    @property
    def may_be_open(self) -> bool:
        """True if what comes next may be in it."""
        return self.open or not self.settled


@dataclass(eq=False)
class Block:
    """A ``transaction()`` block."""

    resets: int = 0
    """How often the session had been reset when it was entered."""
    state: Any = None
    """What :meth:`Transactions.leave_transaction` needs."""
    begins: bool = False
    """True if it has a transaction of its own, from the time when that is about to be queued."""
    counted: bool = False
    """True if it is open, from the time when its beginning is about to be queued."""
    lost: bool = False
    """A block that it was in has ended before it."""
    modes: Modes | None = None
    """Those of its transaction; None for the session's."""


class Transactions(Ends, ABC):
    """The transactions of a connection, and its blocks of ``transaction()``: the half of :class:`.core.Core` that
    decides which of them are open."""

    __slots__ = (
        "_nesting",
        "_order",
        "autocommit",
        "begins",
        "blocks",
        "crossed",
        "depth",
        "number",
        "numbers",
        "overdue",
        "resets",
        "unfinished",
        "within",
    )

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self._closed_here = self._told = False
        self.autocommit = False
        self.begins = True
        """A statement begins a transaction, unless one is open."""
        self.depth = 0
        """Blocks of ``transaction()`` that are open."""
        self.blocks: list[Block] = []
        """These blocks, and those that are being entered, from the outermost inwards."""
        self.number = 0
        """The number of the outermost of them, for the engine; 0 for none."""
        self.unfinished: set[Block] = set()
        """All blocks whose task or thread has not come to their end, be they lost or not."""
        self.crossed = False
        """One of them has ended before one inside of it, or was ending when another was entered."""
        self.within = False
        """A transaction that no block began was open when the first of them was entered."""
        # The engine's lock is never taken under it: the thread that holds that may run an iterator that begins a block.
        # Within it the collector may end a generator that was abandoned in a block: the same thread then comes here
        # again.
        self._nesting = threading.RLock()
        # Taken by :meth:`ordered` only, and before the two.
        self._order = threading.RLock()
        self.overdue: set[Block] = set()
        """Blocks that have waited too long for a moment in which it is settled whether a transaction is open."""
        self.resets = 0
        """How often the session was reset: a block from before is not there any more."""
        self.numbers = itertools.count(1)
        """For names that nothing else has: savepoints, portals."""

    reset_modes: ClassVar[tuple[ResetMode, ...]]
    """The resets that the database has."""
    attributes: ClassVar[tuple[str, ...]]
    """What is set on a connection, and set back by each of them."""
    opened: Mapping[str, Any] | None = None
    """These attributes as they were when the session had been opened."""
    kept: Mapping[str, Any]
    """As they were when a pool had set the session up."""
    altered = False
    """One of them may be another than the one that is kept."""

    @abstractmethod
    def settle(self) -> Any:
        """Queues a round trip that is over when all that was asked for before is answered."""

    @abstractmethod
    def reset(self, mode: str) -> Flow[None]:
        """Back to a fresh state: ``none``, ``rollback`` or ``discard``."""

    def status(self) -> TransactionStatus:
        """Where the connection stands. A block of ``transaction()`` counts from its beginning."""
        status = self.wire.status()
        return TransactionStatus.INTRANS if self.depth and status is TransactionStatus.IDLE else status

    def in_transaction(self) -> bool:
        """Returns true if a transaction block is open, be it that nothing was sent in it yet."""
        return not self.wire.closed and (self.depth > 0 or self.wire.in_transaction())

    def predicted_transaction(self) -> PredictedTransaction:
        """Returns true if a transaction is open once all that was asked for is done, and whether that is settled: it is
        a guess if it depends on a reply."""
        if self.wire.closed:
            # A block is entered in vain. It is one in the transaction that was lost, which is not its own to report.
            return PredictedTransaction(open=self.is_lost(), settled=True)
        ahead = self.wire.transaction_ahead()
        return PredictedTransaction(
            open=self.wire.in_transaction() if ahead is None else ahead, settled=self.depth > 0 or ahead is not None
        )

    def set_mode(self, name: str, value: Any) -> None:
        """Sets autocommit or a transaction mode; only between transactions."""
        self.check_lost()
        if self.in_transaction():
            raise ProgrammingError(f"{name} cannot be changed inside a transaction; commit or roll back first")
        setattr(self, name, value)
        self.altered = True
        self.refresh_begin()

    def fails_with_statement(self) -> bool:
        """Returns true if a transaction has failed once a statement of it has, and the server refuses to commit it."""
        return False

    def fails_with_group(self) -> bool:
        """Returns true if a batch that fails changes nothing."""
        return True

    def begin_transaction(self) -> Flow[None]:
        """Begins a transaction, where none is open."""
        yield from each(self.wire.verb("begin", begin=self.modes()))

    def autocommits(self) -> bool:
        """Returns true if every statement is a transaction of its own."""
        return self.autocommit

    def begin_session(self, autocommit: bool) -> None:
        """Sets autocommit of a new session, which is not sent to the server."""
        self.autocommit = autocommit
        self.refresh_begin()

    def set_autocommit(self, value: bool) -> Flow[None]:
        """Changes autocommit; only between transactions."""
        self.set_mode("autocommit", value)
        yield from ()

    def check_end(self, rollback: bool) -> None:
        """Raises where commit() or rollback() cannot be called."""
        if self.is_lost():
            raise self.loss()
        if self.depth:
            word = "rollback" if rollback else "commit"
            raise ProgrammingError(f"{word}() cannot be called inside a transaction() block")
        if self.wire.closed:
            raise self.why_closed()

    def is_begun(self) -> bool:
        """Returns true if a transaction is open, or may be by what has been asked for."""
        return self.wire.queued() > 0 or self.wire.in_transaction()

    def end(self, rollback: bool) -> Flow[None]:
        """Ends the open transaction, where there is one."""
        while self.overdue and not self.wire.closed:
            # Tasks that begin and end transactions without a pause would keep a block waiting for ever.
            yield self.settle()
        with self.ordered():
            self.check_end(rollback)
            if not self.is_begun():
                return
            tickets = self.wire.verb("rollback" if rollback else "commit")
        self.check_ended(rollback, (yield from self.told(tickets)))

    def told(self, tickets: Sequence[Any]) -> Flow[list[Any]]:
        """Waits for the end of a transaction: the error is that the session was lost, if it was."""
        try:
            return (yield from each(tickets))
        except Error:
            self.note_told()
            raise

    def check_ended(self, rollback: bool, answers: Sequence[Any]) -> None:
        """Raises where the server has answered the end of a transaction with another end than was asked for."""
        return

    def check_enter(self) -> None:
        """Raises where no block can begin."""
        return

    begin_travels = True
    """BEGIN is sent with the first statement of a transaction."""

    def savepoint_begins(self, outer: bool, open: bool) -> bool:
        """Returns true if a block's savepoint begins a transaction first: of the ``outer`` block; a transaction is
        ``open``."""
        return outer

    def modes(self) -> Modes:
        """The modes of a transaction that begins."""
        return None, None, None

    title: ClassVar[str]
    """The database, in the texts of errors."""
    isolation_levels: ClassVar[tuple[IsolationLevel, ...]] = get_args(IsolationLevel)
    """The isolation levels that one transaction may have."""
    block_modes: ClassVar[tuple[str, ...]] = ("isolation", "read_only")
    """What ``transaction()`` takes of isolation, read_only and deferrable."""

    def modes_of(self, isolation: str | None, read_only: bool | None, deferrable: bool | None) -> Modes | None:
        """The modes of a block's own transaction, those of the session where it has none; None for all of them.

        Raises NotSupportedError for what the database does not have, ProgrammingError for what is no isolation level.
        """
        if isolation is None and read_only is None and deferrable is None:
            return None
        given = {"isolation": isolation, "read_only": read_only, "deferrable": deferrable}
        for name, value in given.items():
            if name != "isolation" and not isinstance(value, bool | None):
                raise TypeError(f"{name} is bool or None, not {type(value).__name__}")
            if value is not None and name not in self.block_modes:
                has = " and ".join(self.block_modes)
                raise NotSupportedError(f"transaction({name}=...) is not possible on {self.title}, which has {has}")
        level = None if isolation is None else " ".join(str(isolation).replace("_", " ").lower().split())
        if level is not None and level not in self.isolation_levels:
            error = NotSupportedError if level in get_args(IsolationLevel) else ProgrammingError
            raise error(
                f"isolation={isolation!r} is not one of those that {self.title} has: {', '.join(self.isolation_levels)}"
            )
        session = self.modes()
        return (
            session[0] if level is None else level,
            session[1] if read_only is None else read_only,
            session[2] if deferrable is None else deferrable,
        )

    def begin_with(self, modes: Modes) -> Flow[None]:
        """Begins a transaction with modes of its own."""
        yield from each(self.wire.verb("begin", begin=modes))

    def enter_transaction(self, block: Block, savepoint: str | None, open: bool) -> Flow[tuple[str | None, bool]]:
        """Begins a block where a transaction is ``open`` or none is; returns its savepoint, None for none, and whether
        it has a transaction of its own."""
        self.check_enter()
        if savepoint is not None:
            checked_text(savepoint, "savepoint_name")
        if block.modes is not None and (open or self.depth):
            raise ProgrammingError(
                "transaction() with isolation, read_only or deferrable begins a transaction, and one is open: inside of"
                " it a block is a savepoint, which has none of them"
            )
        # Counted before anything is waited for: a block that another task begins meanwhile is inside of this one, and
        # its own transaction would end this one's.
        outer = self.count(block, not open)
        name = None if outer and savepoint is None else savepoint or f"headrace_{next(self.numbers)}"
        block.begins = outer
        if block.modes is not None:
            yield from self.begin_with(block.modes)
            if name is not None:
                yield from each(self.wire.verb("savepoint", name))
        elif name is not None:
            begin = self.modes() if self.savepoint_begins(outer, open) else None
            yield from each(self.wire.verb("savepoint", name, begin=begin))
        elif not self.begin_travels:
            yield from self.begin_transaction()
        return name, outer

    def has_savepoint(self, rollback: bool) -> bool:
        """Returns true if the savepoint of an inner block can still be there: a deadlock, or a statement that commits
        by itself, may have ended the transaction. A RELEASE after a deadlock is refused by the engine, so that the
        block fails."""
        return not (rollback and self.wire.last_status() is TransactionStatus.INERROR)

    def leave_transaction(self, state: tuple[str | None, bool], rollback: bool) -> Flow[None]:
        """Ends a block, which is counted no more."""
        savepoint, outer = state
        if self.wire.closed:
            if rollback:
                if outer:
                    # As the program has set it.
                    self.note_told()
                return
            # It ended after the last statement: nothing was committed.
            raise self.loss(is_all=outer)
        if outer:
            yield from self.end_block(rollback)
        elif savepoint is not None and self.has_savepoint(rollback):
            yield from each(self.wire.verb("rollback_to" if rollback else "release", savepoint))

    def end_block(self, rollback: bool) -> Flow[None]:
        """Ends the transaction of a block, also if the task is cancelled: later statements would become part of one
        that stayed open."""
        if rollback and self.wire.closed:
            return
        if self.has_block():
            answers = yield from self.told(self.wire.verb("rollback" if rollback else "commit", owed=True))
            self.check_ended(rollback, answers)

    def has_block(self) -> bool:
        """Returns true if the end of a block has anything to end."""
        return True

    def refresh_begin(self) -> None:
        """Blocks are open, or none are any more, or a mode has changed: the engine looks again when a statement is
        queued."""
        self.begins = not self.autocommit or self.depth > 0
        self.wire.set_begins(self.begins)

    def _recount(self) -> None:
        self.depth = sum(block.counted for block in self.blocks)
        if self.depth and not self.number:
            # From now on a transaction that the server ends is one of a block, which fails with it.
            self.number = next(self.numbers)
            self.wire.set_block(self.number)
        self.refresh_begin()

    def _close_blocks(self) -> None:
        """The end of a block was queued. If no other is open, what comes next is not part of one."""
        with self._nesting:
            if not self.depth:
                self.number = 0
                self.wire.set_block(0)

    @contextlib.contextmanager
    def ordered(self) -> Generator[None]:
        """Makes one of two: deciding what a block needs, and queueing that. Otherwise what another thread decides by
        the first could be queued before the second: a savepoint before the START TRANSACTION that it is to be in.
        Nothing is waited for within."""
        # Raises where this thread has the engine's lock, in a batch's iterator: waiting here it would keep it from the
        # one that is within.
        self.wire.in_transaction()
        with self._order:
            yield

    def end_in_doubt(self) -> None:
        """Closes the connection: a cancel request was sent, and it is not known whether the server has read it. One
        that is still on its way would hit whatever statement runs when it comes."""
        if not self.wire.closed:
            self.wire.give_up(
                "the connection was closed: a cancel request was sent that was not answered, and could come late and "
                "hit another statement"
            )

    def count(self, block: Block, idle: bool) -> bool:
        """Notes that a block is open from now on, and whether it is the first: if the connection is ``idle``."""
        with self._nesting:
            first = idle and not self.depth
            block.counted = True
            self._recount()
            return first

    def uncount(self, block: Block, *, with_inner: bool) -> None:
        """A block is open no more; ``with_inner`` those of other tasks or threads that are inside of it are lost with
        it: their changes would be in a transaction that is never ended."""
        with self._nesting:
            # A reset may have ended it already.
            if block in self.blocks:
                at = self.blocks.index(block)
                inner = self.blocks[at + 1 :] if with_inner else []
                del self.blocks[at : at + 1 + len(inner)]
                for other in inner:
                    other.lost = self.crossed = True
            # Also where it is gone already: an interrupt may have come before it was counted.
            self._recount()

    def enter(self, block: Block, savepoint: str | None) -> Flow[None]:
        """Begins a block that was made for it, and that :meth:`leave` ends."""
        try:
            round_trips = 0
            while True:
                with self.ordered():
                    open, settled = self.predicted_transaction()
                    if settled:
                        self.register(block, open)
                        flow = Begun(self.enter_transaction(block, savepoint, open))
                        break
                if round_trips == defaults.BLOCK_ROUND_TRIPS:
                    self.overdue.add(block)
                round_trips += 1
                # A statement of any task or thread is in flight that may begin or end a transaction: a savepoint after
                # its COMMIT would be in none, and a transaction of the block's own would end another's.
                yield self.settle()
            self.overdue.discard(block)
            block.state = yield from flow.rest()
        except BaseException as error:
            self.overdue.discard(block)
            self.uncount(block, with_inner=block.begins)
            try:
                # An interrupt may have come before or after what begins its transaction was queued; a beginning that
                # was answered by an error may have taken effect all the same.
                begun = isinstance(error, DatabaseError) or self.predicted_transaction().may_be_open
                if block.begins and block.resets == self.resets and begun:
                    yield from self.end_block(True)
            finally:
                self._close_blocks()
                if block in self.unfinished:
                    yield from self.finish(block, isinstance(error, Error))
            raise
        if block.lost and block.resets == self.resets:
            yield from self.finish(block)
            raise InterfaceError(LOST)

    def register(self, block: Block, open: bool) -> None:
        """Notes a block that is being entered, where a transaction is ``open``, or none."""
        with self._nesting:
            if not self.unfinished:
                self.crossed, self.within = False, open
            elif not self.blocks:
                # The one around it is ending: requests that are sent from now on are after its COMMIT, though it is not
                # answered.
                self.crossed = True
            block.resets = self.resets
            self.unfinished.add(block)
            self.blocks.append(block)

    def finish(self, block: Block, ends: bool = True) -> Flow[None]:
        """Notes that a task or thread is done with its block. Ends the transaction where all blocks in it have ended,
        and none of them was there to do it.

        A block that is entered while the one around it ends may be a savepoint in a transaction that is never ended: in
        autocommit all later changes would be lost with the connection. It is committed: its savepoint has rolled back
        what had to be, and changes in a lost block are not part of a block. Where its task is cancelled before that was
        sent, it is rolled back: left open, it would take all that comes later with it.
        """
        try:
            if not (ends and self.crossed and self.autocommit):
                return
            tickets: list[Any] = []
            rollback = False
            # A block that is entered meanwhile is inside of what was left, and ends it.
            with self.ordered():
                status = self.wire.last_status()
                taken = self.within or self.blocks or self.depth or self.wire.closed
                if status is not TransactionStatus.IDLE and not taken and self.has_block():
                    rollback = status is TransactionStatus.INERROR
                    tickets = self.wire.verb("rollback" if rollback else "commit", owed=True)
            if tickets:
                self.check_ended(rollback, (yield from each(tickets)))
        finally:
            self.unfinished.discard(block)

    def leave(self, block: Block, rollback: bool) -> Flow[None]:
        """Ends a block, unless a reset has ended it: the session may have another user then."""
        if block.resets != self.resets:
            return
        queued: Begun[None] | None = None
        """The block's end, once no interrupt can come before its first request is in the queue."""
        try:
            with self.ordered():
                self.uncount(block, with_inner=True)
                # Checked after that: no other thread can end it any more.
                # An interrupted beginning may have no state.
                state = block.state or (None, block.begins)
                flow = None if block.lost else Begun(self.leave_transaction(state, rollback))
                self._close_blocks()
            queued = flow
            if queued is not None:
                yield from queued.rest()
        except BaseException as error:
            try:
                if queued is None or queued.is_interrupted():
                    yield from self.undo(block, interrupted=not isinstance(error, Error))
            finally:
                yield from self.finish(block, isinstance(error, Error))
            raise
        yield from self.finish(block)
        if queued is None:
            raise InterfaceError(LOST)

    def undo(self, block: Block, *, interrupted: bool) -> Flow[None]:
        """A block whose end could not be queued is open no more. One that was ``interrupted`` before that is rolled
        back: what is executed next would be in its transaction."""
        with self.ordered():
            self.uncount(block, with_inner=True)
            mine = block.begins and not block.lost and not self.blocks
            ends = interrupted and mine and self.predicted_transaction().may_be_open
            flow = Begun(self.end_block(True)) if ends else None
            self._close_blocks()
        if flow is not None:
            yield from flow.rest()

    def forget_blocks(self) -> None:
        """No block is open any more."""
        with self._nesting:
            self.blocks.clear()
            self._recount()
            self._close_blocks()

    def remember(self) -> None:
        """The attributes as they are now are those that a reset sets back; those at the first call the ones that
        ``discard`` does."""
        self.kept = {name: getattr(self, name) for name in self.attributes}
        self.opened = self.opened or self.kept
        self.altered = False

    def change(self, name: str, value: Any) -> Flow[None]:
        """Changes an attribute, on the server too."""
        self.set_mode(name, value)
        yield from ()

    def is_set(self, name: str, value: Any) -> bool:
        """Returns true if an attribute has this value."""
        return bool(getattr(self, name) == value)

    def is_streaming(self) -> bool:
        """Returns true while a stream is open that a reset cannot end."""
        return False

    def is_left_open(self) -> bool:
        """Returns true if something is open, outside of any transaction, that would see what the next user does."""
        return False

    def renew(self, mode: str) -> Flow[None]:
        """Back to a fresh state; the blocks that are open end with it, also those that others begin meanwhile."""
        if mode not in self.reset_modes:
            raise ProgrammingError(f"reset={mode!r} is not one of {', '.join(self.reset_modes)}")
        yield from self.reset(mode)
        self.resets += 1
        self.forget_blocks()
        self.unfinished.clear()
        wanted = (self.opened if mode == "discard" else self.kept) or {}
        for name, value in wanted.items():
            if not self.is_set(name, value):
                yield from self.change(name, value)
        self.kept = wanted
        self.altered = False
