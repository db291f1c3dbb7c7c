"""Streams of the record batches of partitions: each on a connection of its own, several read by threads, in order."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Any

from . import defaults, errors
from ._native import ArrowBatch, ArrowSink
from ._shared.arrow_stream import ArrowStream
from ._shared.connection import BlockingConnection


class PartitionStream(ArrowStream):
    """The Arrow record batches of a partition, while they are received, on a connection of their own.

    The connection is closed at the end of the stream. Close it if it is not read to its end, or use it as a context
    manager.
    """

    def __init__(self, connection: BlockingConnection[Any], batches: Generator[ArrowBatch], sink: ArrowSink) -> None:
        super().__init__(batches, sink)
        self._connection = connection

    def __next__(self) -> ArrowBatch:
        try:
            return super().__next__()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        try:
            super()._begin()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the stream and closes its connection. Does nothing after its end."""
        try:
            super().close()
        except errors.Error:
            # The connection ends anyway.
            pass
        finally:
            self._connection.close()

    def abort(self, timeout: float) -> None:
        """Cancels the statement and closes the connection, from any thread, also while another one waits for a batch:
        that raises QueryCanceled or ConnectionClosed then. A server that only computes does not see that a connection
        was closed.

        Args:
            timeout: seconds for the cancel request.
        """
        with contextlib.suppress(errors.Error):
            self._connection.cancel(timeout=timeout)
        self._connection.close()


class _Ahead:
    """The batches of one stream that were read and not taken."""

    def __init__(self) -> None:
        self.batches: deque[ArrowBatch] = deque()
        self.ended = False
        self.error: BaseException | None = None

    def has_something(self) -> bool:
        """Returns true if a batch can be taken, or none will come."""
        return bool(self.batches) or self.ended


class _Reading:
    """The threads and what they have read.

    A thread takes the next stream that none has taken, so the stream whose batches are taken is always one of those
    that are read.
    """

    def __init__(self, streams: Sequence[Callable[[], PartitionStream]], threads: int) -> None:
        self._streams = streams
        self._ahead = [_Ahead() for _ in streams]
        self._changed = threading.Condition()
        self._next = 0
        self._open: set[PartitionStream] = set()
        self._stopped = False
        self._threads = [
            threading.Thread(target=self._run, name=f"headrace-partitions-{number}", daemon=True)
            for number in range(min(threads, len(streams)))
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Ends all threads and waits for them. What one waits for is cancelled, and its connection closed."""
        deadline = time.monotonic() + defaults.CANCEL_TIMEOUT
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
            for stream in self._open:
                stream.abort(max(0.0, deadline - time.monotonic()))
        for thread in self._threads:
            thread.join()

    def batches(self) -> Generator[ArrowBatch]:
        for ahead in self._ahead:
            while True:
                with self._changed:
                    self._changed.wait_for(ahead.has_something)
                    if not ahead.batches:
                        break
                    batch = ahead.batches.popleft()
                    self._changed.notify_all()
                yield batch
            if ahead.error is not None:
                raise ahead.error

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._stopped or self._next == len(self._streams):
                    return
                number = self._next
                self._next += 1
            ahead = self._ahead[number]
            try:
                self._read(self._streams[number], ahead)
            except BaseException as error:
                ahead.error = error
            with self._changed:
                ahead.ended = True
                self._changed.notify_all()

    def _read(self, opened: Callable[[], PartitionStream], ahead: _Ahead) -> None:
        with opened() as stream:
            with self._changed:
                if self._stopped:
                    return
                self._open.add(stream)
            try:
                for batch in stream:
                    with self._changed:
                        self._changed.wait_for(lambda: self._stopped or len(ahead.batches) < defaults.PARTITION_BATCHES)
                        if self._stopped:
                            return
                        ahead.batches.append(batch)
                        self._changed.notify_all()
            finally:
                with self._changed:
                    self._open.discard(stream)


def in_order(streams: Sequence[Callable[[], PartitionStream]], threads: int) -> Generator[ArrowBatch]:
    """The batches of all streams, one stream after the other, while so many of them are read."""
    reading = _Reading(streams, threads)
    reading.start()
    try:
        yield from reading.batches()
    finally:
        reading.stop()
