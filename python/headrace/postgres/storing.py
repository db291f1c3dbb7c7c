"""Large objects of a connection to PostgreSQL, blocking."""

# Made by tools/async_to_sync.py of aio/postgres/storing.py: edit that file, and run the tool.

from __future__ import annotations

import os
from typing import IO, TypeVar

from .._shared.arguments import checked_buffer
from .._shared.connection import BlockingConnection
from .._shared.limits import until
from .connection_base import PostgresBase
from .core import ConnectionCore
from .largeobject import LargeObject
from .lobs import LobMode, creating, opened_file, opening, unlinking

R = TypeVar("R")


class Storing(PostgresBase[R], BlockingConnection[R]):
    """A connection that stores large objects."""

    _core: ConnectionCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def open_lob(self, oid: int, mode: LobMode = "rb", *, timeout: float | None = None) -> LargeObject:
        """Opens a large object as a binary file. It has to be used in the transaction in which it was opened.

        Args:
            oid: of the object.
            mode: ``rb`` to read, ``r+b`` to read and write, ``wb`` to truncate and write.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The open large object. One that is opened to read shows the object as it was then.

        Raises:
            ProgrammingError: it is not an oid, there is no such mode, or no transaction is open and none is begun by
                statements (autocommit).
            UndefinedObject: there is no such object.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return LargeObject(self, self._run(opening(self._core, oid, mode), timeout))

    def create_lob(self, oid: int | None = None, *, timeout: float | None = None) -> LargeObject:
        """Creates a large object, open for reading and writing.

        The server does not remove an object that no row refers to: ``unlink_lob()`` does, or ``vacuumlo``.

        Args:
            oid: of the object; None for one that the server chooses.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The open large object, whose ``oid`` a row may store.

        Raises:
            ProgrammingError: it is not an oid, or no transaction is open and none is begun by statements (autocommit).
            UniqueViolation: there is an object with this oid.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return LargeObject(self, self._run(creating(self._core, oid), timeout))

    def unlink_lob(self, oid: int, *, timeout: float | None = None) -> None:
        """Removes a large object, with its content.

        Args:
            oid: of the object.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            ProgrammingError: it is not an oid.
            UndefinedObject: there is no such object.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        self._run(unlinking(self._core, oid), timeout)

    def import_lob(
        self, source: str | os.PathLike[str] | IO[bytes], oid: int | None = None, *, timeout: float | None = None
    ) -> int:
        """Creates a large object from a file of this machine: all of it, or none. With autocommit it is a transaction
        of its own.

        Args:
            source: path of the file, or an open binary file, which is read to its end.
            oid: of the object; None for one that the server chooses.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The oid.

        Raises:
            OSError: the file cannot be read.
            UniqueViolation: there is an object with this oid.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        limit = until(timeout)
        with opened_file(source, "rb") as file, self._whole_batch(timeout):
            state = self._run(creating(self._core, oid), limit)
            while block := checked_buffer(file.read(state.block_bytes)):
                self._run(state.writing(block), limit)
            self._run(state.closing(), limit)
            return state.oid

    def export_lob(self, oid: int, target: str | os.PathLike[str] | IO[bytes], *, timeout: float | None = None) -> int:
        """Writes the content of a large object into a file of this machine. With autocommit it is a transaction of its
        own.

        Args:
            oid: of the object.
            target: path of the file, which is created or replaced, or an open binary file.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The number of bytes.

        Raises:
            OSError: the file cannot be written.
            UndefinedObject: there is no such object; no file is created then.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        limit = until(timeout)
        written = 0
        with self._whole_batch(timeout):
            state = self._run(opening(self._core, oid, "rb"), limit)
            with opened_file(target, "wb") as file:
                while block := self._run(state.reading(state.block_bytes), limit):
                    file.write(block)
                    written += len(block)
            self._run(state.closing(), limit)
        return written
