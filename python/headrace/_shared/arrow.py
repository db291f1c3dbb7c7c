"""Results as Arrow record batches."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, Literal, TypeAlias

from .._native import ArrowResult, ArrowSink, Result
from ..errors import NotSupportedError, ProgrammingError
from .arguments import checked_count, checked_text

MOST: Final = 2**63 - 1
"""Rows or bytes that are as good as no limit."""
Numeric: TypeAlias = Literal["decimal", "string", "float64"]
"""The Arrow type of exact numbers whose type has no precision."""


def arrow_sink(numeric: Numeric, batch_rows: int, batch_bytes: int, fixed: bool = False) -> ArrowSink:
    """What makes record batches of the rows of a request.

    Raises TypeError or ProgrammingError for an argument that is not one.
    """
    rows, size = checked_count(batch_rows, "batch_rows"), checked_count(batch_bytes, "batch_bytes")
    return ArrowSink(checked_text(numeric, "numeric"), min(rows, MOST), min(size, MOST), fixed=fixed)


def arrow_result(outcome: Result | list[Result]) -> tuple[Result, ArrowResult | None]:
    """The result of a request and its rows; of one with several results the first that has rows."""
    results = [outcome] if isinstance(outcome, Result) else outcome
    for one in results:
        rows: object = one.rows
        # What the request was given to collect its rows.
        if isinstance(rows, ArrowSink):  # pyright: ignore[reportUnnecessaryIsInstance]
            return one, rows.result()
    return results[0], None


def arrow_rows(outcome: Result | list[Result]) -> ArrowResult:
    """The rows of a request.

    Raises ProgrammingError if it returned none.
    """
    rows = arrow_result(outcome)[1]
    if rows is None:
        raise ProgrammingError("the statement returned no rows")
    return rows


def _package(name: str, method: str, *others: str) -> Any:
    """A package that headrace itself does not need.

    Raises ModuleNotFoundError with what has to be installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        needed = " ".join([name, *others])
        raise ModuleNotFoundError(
            f"{method}() needs {name}, which is not installed: pip install {needed}", name=name
        ) from None


def table_maker(method: str) -> Callable[[Any], Any]:
    """Makes a pyarrow.Table. Its function ``table`` would import pandas, to see whether it is given a frame."""
    from_stream = _package("pyarrow", method).RecordBatchReader.from_stream
    return lambda result: from_stream(result).read_all()


def reader_maker(method: str) -> Callable[[Any], Any]:
    """Makes a pyarrow.RecordBatchReader."""
    return _package("pyarrow", method).RecordBatchReader.from_stream  # type: ignore[no-any-return]


def frame_maker(method: str) -> Callable[[Any], Any]:
    """Makes a pandas.DataFrame."""
    _package("pandas", method, "pyarrow")
    table = table_maker(method)
    return lambda result: table(result).to_pandas()


def polars_maker(method: str) -> Callable[[Any], Any]:
    """Makes a polars.DataFrame.

    It raises NotSupportedError for a column whose Arrow type polars does not have.
    """
    polars = _package("polars", method)

    def made(result: Any) -> Any:
        try:
            return polars.DataFrame(result)
        except polars.exceptions.PanicException as error:
            # Not an Exception: it would end a program that handles those.
            raise NotSupportedError(
                f"polars cannot take the {result!r}: {error}; cast the column in the query, to text if need be, "
                "or use fetch_arrow()"
            ) from error

    return made
