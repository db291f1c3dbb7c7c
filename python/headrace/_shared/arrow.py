"""Results as Arrow record batches."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from .._native import ArrowResult, Result
from ..errors import ProgrammingError

Numeric: TypeAlias = Literal["decimal", "string", "float64"]
"""The Arrow type of exact numbers whose type has no precision."""


def arrow_rows(result: Result | list[Result]) -> ArrowResult:
    """The rows of a request; of one with several results those of the first that has rows.

    Raises ProgrammingError if it returned none.
    """
    for one in [result] if isinstance(result, Result) else result:
        rows: Any = one.rows
        if isinstance(rows, ArrowResult):
            return rows
    raise ProgrammingError("the statement returned no rows")
