"""Raises an exception at each place of the package's Python code where a handler of signals may run."""

from __future__ import annotations

import dis
import os
import sys
from types import FrameType
from typing import Any

import headrace

PACKAGE = os.path.dirname(headrace.__file__)

LOOKING = frozenset(
    number
    for name, number in dis.opmap.items()
    if name in ("CALL", "CALL_KW", "RESUME", "JUMP_BACKWARD", "JUMP_ABSOLUTE")
    or name.startswith(("CALL_FUNC", "CALL_M"))
)
"""The instructions after which CPython looks whether a signal has come ("eval breaker" in its bytecodes.c)."""
AFTER_YIELD_FROM = 2
"""The argument of RESUME from which on it does not."""


class Interrupt:
    """Used as a context manager, which raises once, at the place of this number; ``raised`` says that it has."""

    def __init__(self, at: int, error: type[BaseException] = KeyboardInterrupt) -> None:
        self.left = at
        self.error = error
        self.raised = False
        self.where = ""
        """The place, for messages."""
        self._last: dict[FrameType, int] = {}

    def __enter__(self) -> Interrupt:
        self._before = sys.gettrace()
        sys.settrace(self._look)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)
        self._last.clear()

    def _look(self, frame: FrameType, event: str, _: Any) -> Any:
        if self.raised or not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes = True
        return self._step

    def _step(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "return":
            self._last.pop(frame, None)
        elif event == "opcode" and not self.raised:
            at = self._last.get(frame)
            self._last[frame] = frame.f_lasti
            if at is not None and _looks(frame.f_code.co_code, at):
                self.left -= 1
                if self.left < 0:
                    self.raised = True
                    self.where = f"{os.path.relpath(frame.f_code.co_filename, PACKAGE)}:{frame.f_lineno}"
                    self._last.clear()
                    raise self.error
        return self._step


def _looks(code: bytes, at: int) -> bool:
    is_resume = dis.opname[code[at]] == "RESUME"
    return code[at] in LOOKING and not (is_resume and code[at + 1] & 3 >= AFTER_YIELD_FROM)
