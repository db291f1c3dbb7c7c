"""What every connection has that never waits, blocking or asyncio."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Generic, TypeVar

from .. import errors
from ..rows import RowFactory
from ..types import TransactionStatus
from .arguments import checked_dumpers, checked_json
from .core import Core, timings
from .cursor_base import CursorBase
from .flows import PendingRequest
from .lease import NO_CORE
from .loading import NOTHING, checked_loaders

R = TypeVar("R")
Self = TypeVar("Self", bound="ConnectionBase[Any]")

SET_HERE: Final = ("row_factory", "_json", "_dumpers", "_core.loaders")
"""What a program sets on a connection of any database, and is not sent to the server."""


class ConnectionBase(Generic[R]):
    """A connection, as far as it has nothing to wait for."""

    # Several objects may share the dict: what a pool lends is not the connection that it keeps.
    __slots__ = ("__dict__", "__weakref__", "_core", "_cursor_type", "_kept_by_pool")

    Warning = errors.Warning
    Error = errors.Error
    InterfaceError = errors.InterfaceError
    DatabaseError = errors.DatabaseError
    DataError = errors.DataError
    OperationalError = errors.OperationalError
    IntegrityError = errors.IntegrityError
    InternalError = errors.InternalError
    ProgrammingError = errors.ProgrammingError
    NotSupportedError = errors.NotSupportedError

    _core: Core
    _cursor_class: ClassVar[type[CursorBase[Any]]]
    """The class of its cursors."""
    _cursor_type: type[CursorBase[Any]]
    """The same, in a slot: CPython 3.11 looks an attribute of a class up anew for each statement."""
    _set_here: ClassVar[operator.attrgetter[tuple[Any, ...]]] = operator.attrgetter(*SET_HERE)
    """All of that."""

    def __init__(self, core: Core, row_factory: RowFactory[R]) -> None:
        self._core = core
        self._cursor_type = self._cursor_class
        self._kept_by_pool: Any = None
        """The connection for which a pool has lent this one."""
        self.row_factory: RowFactory[R] = row_factory
        self._json: tuple[Any, Any] = (None, None)
        """What :meth:`register_json` has registered."""
        self._dumpers: dict[type, Callable[[Any], bytes | str]] = {}
        """What :meth:`register_dumpers` has registered."""
        self._opened: tuple[Any, ...] | None = None
        self._kept: tuple[Any, ...] = (None,)

    def _lend(self: Self) -> Self:
        """Returns another object for the same session, for one borrower of a pool."""
        lent: Self = object.__new__(type(self))
        lent._core = self._core
        lent._cursor_type = self._cursor_type
        lent._kept_by_pool = self
        lent.__dict__ = self.__dict__
        return lent

    def _end_lease(self) -> None:
        """Makes what :meth:`_lend` has returned, and its cursors, raise errors from now on."""
        if self._kept_by_pool is not None:
            self._core = NO_CORE
            # The row factory is not that of the next borrower.
            self.__dict__ = self.__dict__.copy()

    @abstractmethod
    def _abandon(self, ticket: PendingRequest[Any], /) -> None:
        """Gets the connection back in step after a request whose result is not needed any more."""

    @property
    def autocommit(self) -> bool:
        """True if every statement is a transaction of its own. It can be changed between transactions only."""
        return self._core.autocommits()

    @property
    def closed(self) -> bool:
        """True if the connection is closed, by either side."""
        return self._core.wire.closed

    @property
    def broken(self) -> bool:
        """True if the connection is closed or was lost."""
        return self._core.wire.closed

    @property
    def lost(self) -> bool:
        """True if the session was ended with a transaction open, and not by ``close()``: its changes are lost. False
        again once ``commit()``, or another end of the transaction, has raised that. Used by pools."""
        return self._core.is_lost()

    @property
    def needs_reset(self) -> bool:
        """True if ``reset()`` would do anything outside of a transaction: close a cursor that is open, or set back what
        was set on the connection. Used by pools."""
        core = self._core
        if core.altered or core.is_left_open() or self.row_factory is not self._kept[0]:
            return True
        return core.registered and self._set_here(self) != self._kept

    @property
    def streaming(self) -> bool:
        """True while a stream is open that nothing but the end of the session ends. Used by pools."""
        return self._core.is_streaming()

    @property
    def _reset_modes(self) -> tuple[str, ...]:
        """The resets that the database has. Used by pools."""
        return self._core.reset_modes

    def _set_again(self, kept: tuple[Any, ...]) -> None:
        """Sets that to what ``_set_here`` returned before."""
        self.row_factory, json, dumpers, loaders = kept
        if json is not self._json:
            self._core.wire.set_json(*json)
            self._json = json
        if dumpers is not self._dumpers:
            self._core.wire.set_dumpers(dumpers)
            self._dumpers = dumpers
        self._core.set_loaders(loaders)

    def _remember(self) -> None:
        """What is set on the connection now is what a reset sets back: called when it was opened, and when a pool has
        set it up. ``discard`` sets back what it was at the first call."""
        self._core.remember()
        self._core.registered = False
        self._kept = self._set_here(self)
        self._opened = self._opened or self._kept

    def _set_back(self, mode: str) -> None:
        """Sets back what is set on this object, after a reset of the session."""
        if mode == "discard" and self._opened is not None:
            self._kept = self._opened
        self._set_again(self._kept)
        self._core.registered = False

    def register_json(
        self, loads: Callable[[str], Any] | None = None, dumps: Callable[[Any], str | bytes] | None = None
    ) -> None:
        """Registers what reads and writes JSON on this connection, such as ``orjson.loads`` and ``orjson.dumps``.

        Args:
            loads: makes an object of the text of a JSON value; None for :func:`json.loads`.
            dumps: makes text or its UTF-8 of an object, but for a :class:`headrace.types.Json` with a function of its
                own; None for :func:`json.dumps`.
        """
        json = checked_json(loads, "loads"), checked_json(dumps, "dumps")
        self._core.registered = True
        self._core.wire.set_json(*json)
        self._json = json

    def register_dumpers(self, dumpers: Mapping[type, Callable[[Any], bytes | str]]) -> None:
        """Registers what converts parameters of classes of the program's own, for this connection. A later dumper of a
        class takes the place of the earlier one.

        Args:
            dumpers: by class, functions that convert a value to str, which the server takes as text, or bytes.
        """
        made = {**self._dumpers, **checked_dumpers(dumpers)}
        self._core.registered = True
        self._core.wire.set_dumpers(made)
        self._dumpers = made

    def register_loaders(self, loaders: Mapping[str | int, Callable[[Any], Any] | None]) -> None:
        """Registers what makes objects of the values of columns of some types, in the rows of this connection. A later
        loader of a type takes the place of the earlier one.

        Args:
            loaders: by type, functions that take a value as headrace reads it, and return what stands in the row in its
                place; None removes the one of a type. They are not called for NULL. A type is its name in
                ``cursor.description``, with or without precision and scale (``"decimal"``, ``"numeric(10,2)"``), or
                the number there.
        """
        core = self._core
        core.registered = True
        core.set_loaders((core.loaders or NOTHING).with_others(checked_loaders(loaders)))

    @property
    def transaction_status(self) -> TransactionStatus:
        """The state of the transaction, without a round trip."""
        return self._core.status()

    def timings(self) -> dict[str, dict[str, int]]:
        """Returns the counters of calls and time, which ``enable_timing`` turns on.

        May be called by any thread.

        Returns:
            For ``connect``, ``execute``, ``fetch``, ``commit`` and ``close``, a dict with ``count`` and ``ns``
            (nanoseconds).
        """
        return timings(self._core.wire)

    def reset_timings(self) -> None:
        """Sets the counters of :meth:`timings` to zero. May be called by any thread."""
        self._core.wire.reset_counters()

    def check_alive(self) -> bool:
        """Checks an idle connection, without a round trip.

        Returns:
            False if the socket has ended or failed, or has unexpected data.
        """
        return self._core.wire.is_alive()

    def _ends_itself(self) -> bool:
        """Returns true if leaving the block neither commits nor rolls back."""
        return False

    def __repr__(self) -> str:
        state = "closed" if self.closed else self.transaction_status.name.lower()
        return f"<{type(self).__module__}.{type(self).__name__} {self._core.where()} [{state}]>"
