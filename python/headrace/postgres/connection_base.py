"""What a connection to PostgreSQL has that never waits, blocking or asyncio."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from .._shared.connection_base import ConnectionBase
from ..rows import RowFactory
from ..types import Notice, Xid
from .adapters import Adapters
from .core import ConnectionCore

R = TypeVar("R")


class PostgresBase(ConnectionBase[R]):
    """A connection to PostgreSQL, as far as it has nothing to wait for."""

    _core: ConnectionCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, core: ConnectionCore, row_factory: RowFactory[R]) -> None:
        super().__init__(core, row_factory)
        self._adapters = Adapters(core.wire)
        # Not a reference of its own: a connection that nobody holds closes at once, not when cycles are collected.
        me = weakref.ref(self)

        def abandon(ticket: Any) -> None:
            connection = me()
            if connection is not None:
                connection._abandon(ticket)

        core.abandon = abandon

    def xid(self, format_id: int, global_transaction_id: str, branch_qualifier: str) -> Xid:
        """A transaction id for two-phase commit."""
        return Xid(format_id, global_transaction_id, branch_qualifier)

    def add_notice_handler(self, handler: Callable[[Notice], None]) -> None:
        """Calls ``handler`` with every notice and warning of the server."""
        self._core.notice_handlers.append(handler)

    def remove_notice_handler(self, handler: Callable[[Notice], None]) -> None:
        """The inverse of :meth:`add_notice_handler`."""
        self._core.notice_handlers.remove(handler)

    @property
    def parameters(self) -> Mapping[str, str]:
        """The server's parameters as last reported (``server_version``, ``TimeZone``, ...)."""
        return self._core.wire.parameters()

    @property
    def server_version(self) -> int:
        """The server's version as a number: 180004 for 18.4."""
        return server_version(self.parameters.get("server_version", ""))

    @property
    def backend_pid(self) -> int:
        """The process id of the server's end."""
        return self._core.wire.process_id

    def register_adapters(
        self,
        loaders: Mapping[int, Callable[[bytes], Any]] | None = None,
        dumpers: Mapping[type, Callable[[Any], bytes | str]] | None = None,
        *,
        binary: Iterable[int] = (),
    ) -> None:
        """Registers loaders by type oid, which get the value's bytes (text format, or binary for the oids in
        ``binary``), and dumpers by class, which give str (text format) or bytes (binary format)."""
        self._adapters.add(loaders, dumpers, binary)

    def _ends_itself(self) -> bool:
        return self._core.tpc is not None


def server_version(text: str) -> int:
    """``18.4 (Debian 18.4-1)`` as 180004, ``9.6.24`` as 90624."""
    parts = [int(p) if p.isdigit() else 0 for p in text.split(" ")[0].split(".")]
    if not parts or not parts[0]:
        return 0
    if parts[0] >= 10:
        return parts[0] * 10000 + (parts[1] if len(parts) > 1 else 0)
    minor, patch = [*parts[1:3], 0, 0][:2]
    return parts[0] * 10000 + minor * 100 + patch
