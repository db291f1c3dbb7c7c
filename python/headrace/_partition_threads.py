"""Several streams of Arrow record batches, read by threads, in the order of the streams."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence

from . import defaults
from ._native import ArrowBatch
from ._shared.partition import PartitionStream


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
