"""COPY of rows, bytes and files, blocking."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import IO, Any, TypeVar

from .. import defaults, errors
from .._native import Transfer
from .._shared.connection import BlockingConnection
from .connection_base import PostgresBase
from .core import ConnectionCore

R = TypeVar("R")
T = TypeVar("T")


class Copying(PostgresBase[R], BlockingConnection[R]):
    """A connection that copies."""

    _core: ConnectionCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def copy_in(
        self,
        table: str | Sequence[str],
        source: Iterable[Sequence[Any]] | bytes | IO[bytes] | IO[str],
        *,
        columns: Sequence[str] | None = None,
        format: str = "binary",
        timeout: float | None = None,
    ) -> int:
        """Copies rows, bytes or a file into a table, in blocks, and gives the number of rows.

        Rows travel in the binary format. Bytes and files must be in ``format``: ``binary``, ``text`` or ``csv``.
        """
        from .copy import copy_in

        return copy_in(self, table, source, columns, format, timeout)

    def copy_out(
        self,
        source: str | Sequence[str],
        *,
        columns: Sequence[str] | None = None,
        format: str = "binary",
        to: IO[bytes] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Copies a table or a query out: rows for ``binary``, blocks of bytes for ``text`` and ``csv``. With ``to``
        the bytes are written there, and the number of rows is returned."""
        from .copy import copy_out

        return copy_out(self, source, columns, format, to, timeout)

    def _abandon_copy(self, ticket: Any, reason: str) -> None:
        """Ends a COPY: with ``reason`` as the client's failure where the server reads, by cancelling it otherwise."""
        wire = self._core.wire
        if wire.closed or wire.copy_state(ticket) != Transfer.STREAMING:
            return self._abandon(ticket)
        try:
            wire.copy_end(ticket, reason)
            with contextlib.suppress(errors.DatabaseError):
                wire.wait(ticket, defaults.CANCEL_TIMEOUT)
        except BaseException:
            # Out of step, or a second interrupt: only a closed connection is safe now.
            wire.close()
