"""Arrow record batches in bounded memory, asyncio."""

from __future__ import annotations

# blocking: import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from types import TracebackType
from typing import Any, TypeVar

from ..._native import ArrowBatch, ArrowSink
from ...errors import ProgrammingError

Self = TypeVar("Self", bound="AsyncArrowStream")


class AsyncArrowStream(AsyncIterator[ArrowBatch]):
    """The Arrow record batches of a query, while they are received.

    It begins with the first batch. Close it if it is not read to its end, or use it as a context manager.
    """

    def __init__(self, batches: AsyncGenerator[ArrowBatch], sink: ArrowSink) -> None:
        self._batches = batches
        self._sink = sink
        self._cut: Exception | None = None
        """Why there is no further batch, though the last one was not read."""
        self._is_over = False
        # blocking: self._first: ArrowBatch | None = None
        # blocking: self._is_taken = False

    def __aiter__(self: Self) -> Self:
        return self

    async def __anext__(self) -> ArrowBatch:
        # blocking: if (first := self._first) is not None:
        # blocking:     self._first = None
        # blocking:     return first
        # A reader that is asked again after an error must not look complete.
        if self._cut is not None:
            raise self._cut
        try:
            batch = await anext(self._batches)
        except StopAsyncIteration:
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
            await self._batches.aclose()
            raise self._cut
        return batch

    async def aclose(self) -> None:
        """Ends the stream, and cancels what the server has not sent yet. Does nothing after its end.

        If another task waits for a batch, the stream ends when that has come, and the wait with ProgrammingError.
        """
        # blocking: self._first = None
        if not self._is_over and self._cut is None:
            self._cut = ProgrammingError("the stream was closed before it was read to its end")
        if not getattr(self._batches, "ag_running", False):  # asyncio only
            await self._batches.aclose()
        # blocking: with contextlib.suppress(ValueError):
        # blocking:     # Not while another thread reads.
        # blocking:     self._batches.close()

    async def __aenter__(self: Self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    # blocking: def _begin(self) -> None:
    # blocking:     """Executes the statement, unless that was done: its columns are then known."""
    # blocking:     if not self._sink.described and self._first is None:
    # blocking:         self._first = next(self, None)

    @property
    def column_names(self) -> list[str]:
        """The names of the columns.

        Raises ProgrammingError before they are known: with the first batch.
        """
        # blocking: self._begin()
        return self._sink.column_names

    def __arrow_c_schema__(self) -> Any:
        """The schema, as a capsule of an ``ArrowSchema``.

        Raises ProgrammingError before it is known: with the first batch.
        """
        # blocking: self._begin()
        return self._sink.__arrow_c_schema__()

    # blocking: def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
    # blocking:     """The batches that were not read yet, as a capsule of an ``ArrowArrayStream``. They are read while
    # blocking:     they come, so the capsule can be taken once.
    # blocking:     """
    # blocking:     if self._is_taken:
    # blocking:         raise ProgrammingError("the batches of a stream can be taken once: fetch_arrow() keeps them")
    # blocking:     if self._cut is not None:
    # blocking:         raise self._cut
    # blocking:     self._begin()
    # blocking:     self._is_taken = True
    # blocking:     return self._sink.stream(self)
