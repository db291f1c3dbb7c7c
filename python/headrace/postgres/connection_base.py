"""What a connection to PostgreSQL has that never waits, blocking or asyncio."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from .._shared.arguments import checked_callable
from .._shared.connection_base import SET_HERE
from .._shared.two_phase_core import TwoPhaseBase
from ..rows import RowFactory
from ..types import Notice
from .adapters import Adapters
from .core import ConnectionCore

R = TypeVar("R")


class PostgresBase(TwoPhaseBase[R]):
    """A connection to PostgreSQL, as far as it has nothing to wait for."""

    _core: ConnectionCore  # pyright: ignore[reportIncompatibleVariableOverride]
    _set_here = operator.attrgetter(*SET_HERE, "_core.notice_handlers", "_core.adapters.state")

    def __init__(self, core: ConnectionCore, row_factory: RowFactory[R]) -> None:
        super().__init__(core, row_factory)
        # Not a reference of its own: a connection without references closes at once, not when cycles are collected.
        me = weakref.ref(self)

        def abandon(ticket: Any) -> None:
            connection = me()
            if connection is not None:
                connection._abandon(ticket)

        core.abandon = abandon

    @property
    def _adapters(self) -> Adapters:
        """To register something."""
        self._core.registered = True
        return self._core.adapters

    def add_notice_handler(self, handler: Callable[[Notice], None]) -> None:
        """Adds a function that is called with each notice and warning of the server, in the thread or task that
        receives it.

        Args:
            handler: called with a :class:`headrace.types.Notice`.
        """
        self._core.registered = True
        self._core.notice_handlers += (checked_callable(handler, "handler"),)

    def remove_notice_handler(self, handler: Callable[[Notice], None]) -> None:
        """Removes a function that :meth:`add_notice_handler` added.

        Args:
            handler: the function.

        Raises:
            ValueError: it was not added.
        """
        handlers = list(self._core.notice_handlers)
        if handler not in handlers:
            raise ValueError(f"{handler!r} is not one of the notice handlers")
        handlers.remove(handler)
        self._core.registered = True
        self._core.notice_handlers = tuple(handlers)

    @property
    def parameters(self) -> Mapping[str, str]:
        """The parameters of the server as last reported, such as ``server_version`` and ``TimeZone``."""
        return self._core.wire.parameters()

    @property
    def server_version(self) -> str:
        """The version of the server, as it reports it."""
        return self.parameters.get("server_version", "")

    @property
    def server_version_number(self) -> int:
        """The version of the server as a number: 180004 for 18.4."""
        return version_number(self.server_version)

    @property
    def backend_pid(self) -> int:
        """The process id of the server process."""
        return self._core.wire.process_id

    def register_adapters(
        self,
        loaders: Mapping[int, Callable[[bytes], Any]] | None = None,
        dumpers: Mapping[type, Callable[[Any], bytes | str]] | None = None,
        *,
        binary: Iterable[int] = (),
    ) -> None:
        """Registers conversions of single types, for this connection.

        Args:
            loaders: by type oid, functions that convert the bytes of a value (text form, or binary form for the oids in
                ``binary``).
            dumpers: by class, functions that convert a value to str (text form) or bytes (binary form).
            binary: oids whose loaders take the binary form.
        """
        self._adapters.add(loaders, dumpers, binary)

    def register_dumpers(self, dumpers: Mapping[type, Callable[[Any], bytes | str]]) -> None:
        """Registers what converts parameters of classes of the program's own, for this connection. A later dumper of a
        class takes the place of the earlier one.

        Args:
            dumpers: by class, functions that convert a value to str (text form) or bytes (binary form).
        """
        self._adapters.add(None, dumpers, ())

    def _set_again(self, kept: tuple[Any, ...]) -> None:
        *shared, self._core.notice_handlers, adapters = kept
        super()._set_again(tuple(shared))
        self._adapters.restore(adapters)


def version_number(text: str) -> int:
    """``18.4 (Debian 18.4-1)`` as 180004, ``9.6.24`` as 90624."""
    parts = [int(p) if p.isdigit() else 0 for p in text.split(" ")[0].split(".")]
    if not parts or not parts[0]:
        return 0
    if parts[0] >= 10:
        return parts[0] * 10000 + (parts[1] if len(parts) > 1 else 0)
    minor, patch = [*parts[1:3], 0, 0][:2]
    return parts[0] * 10000 + minor * 100 + patch
