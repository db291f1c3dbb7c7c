"""Arrow record batches in bounded memory, blocking."""

# Made by tools/async_to_sync.py of aio/_shared/arrow_stream.py: edit that file, and run the tool.

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from types import TracebackType
from typing import Any, TypeVar

from .._native import ArrowBatch, ArrowSink
from ..errors import ProgrammingError

Self = TypeVar("Self", bound="ArrowStream")


class ArrowStream(Iterator[ArrowBatch]):
    """The Arrow record batches of a query, while they are received.

    It begins with the first batch. Close it if it is not read to its end, or use it as a context manager.
    """

    def __init__(self, batches: Generator[ArrowBatch], sink: ArrowSink) -> None:
        self._batches = batches
        self._sink = sink
        self._cut: Exception | None = None
        """Why there is no further batch, though the last one was not read."""
        self._is_over = False
        self._first: ArrowBatch | None = None
        self._is_taken = False

    def __iter__(self: Self) -> Self:
        return self

    def __next__(self) -> ArrowBatch:
        if (first := self._first) is not None:
            self._first = None
            return first
        # A reader that is asked again after an error must not look complete.
        if self._cut is not None:
            raise self._cut
        try:
            batch = next(self._batches)
        except StopIteration:
            self._is_over = True
            raise
        except BaseException as error:
            if isinstance(error, Exception):
                self._cut = error
            else:
                self._cut = ProgrammingError(f"the stream was ended by {type(error).__name__}")
            raise
        if self._cut is not None:
            # It was closed meanwhile, which left its end to the one who reads.
            self._batches.close()
            raise self._cut
        return batch

    def close(self) -> None:
        """Ends the stream, and cancels what the server has not sent yet. Does nothing after its end.

        If another thread waits for a batch, the stream ends when that has come, and the wait with ProgrammingError.
        """
        self._first = None
        if not self._is_over and self._cut is None:
            self._cut = ProgrammingError("the stream was closed before it was read to its end")
        with contextlib.suppress(ValueError):
            # Not while another thread reads.
            self._batches.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _begin(self) -> None:
        """Executes the statement, unless that was done: its columns are then known."""
        if not self._sink.described and self._first is None:
            self._first = next(self, None)

    @property
    def column_names(self) -> list[str]:
        """The names of the columns.

        Raises ProgrammingError before they are known: with the first batch.
        """
        self._begin()
        return self._sink.column_names

    def __arrow_c_schema__(self) -> Any:
        """The schema, as a capsule of an ``ArrowSchema``.

        Raises ProgrammingError before it is known: with the first batch.
        """
        self._begin()
        return self._sink.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The batches that were not read yet, as a capsule of an ``ArrowArrayStream``. They are read while
        they come, so the capsule can be taken once.
        """
        if self._is_taken:
            raise ProgrammingError("the batches of a stream can be taken once: fetch_arrow() keeps them")
        if self._cut is not None:
            raise self._cut
        self._begin()
        self._is_taken = True
        return self._sink.stream(self)
