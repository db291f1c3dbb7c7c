"""Which functions of the package that are written in Python are called."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import headrace

PACKAGE = headrace.__file__.removesuffix("__init__.py")


class Frames:
    """Counts the calls of the package's functions that are written in Python."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __enter__(self) -> Frames:
        self._before = sys.gettrace()
        sys.settrace(self._see)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _see(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            self.names.append(frame.f_code.co_name)
