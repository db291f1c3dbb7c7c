"""Arrow data in the types that engines with fewer types have: what they lack becomes text, or a wider number."""

# pyright: basic, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow

from .errors import NotSupportedError

_DIGITS: Final = 38
"""Digits of a decimal number that engines such as Spark have."""


def plain_type(field: Any) -> Any:
    """Returns the type of a column in such an engine.

    Args:
        field: the ``pyarrow.Field``.

    Returns:
        Its own type, or ``string`` for UUIDs, JSON, times of day, intervals and longer decimal numbers, or a wider
        number for one without a sign.

    Raises:
        NotSupportedError: values of other types are inside of it, such as in a list of UUIDs.
    """
    kind = field.type
    types: Any = pyarrow.types
    if isinstance(kind, pyarrow.BaseExtensionType) or types.is_time(kind) or types.is_interval(kind):
        return pyarrow.string()
    if types.is_dictionary(kind):
        return kind.value_type
    if types.is_decimal(kind) and kind.precision > _DIGITS:
        return pyarrow.string()
    if types.is_unsigned_integer(kind):
        return {8: pyarrow.int16(), 16: pyarrow.int32(), 32: pyarrow.int64()}.get(
            kind.bit_width, pyarrow.decimal128(20, 0)
        )
    for inner in _inside(kind):
        if plain_type(inner) != inner.type:
            raise NotSupportedError(
                f"the column {field.name!r} is {kind}, and {inner.type} inside of it has no equivalent: leave it out "
                "with columns=, or use a query that casts it"
            )
    return kind


def _inside(kind: Any) -> Iterator[Any]:
    """The fields inside of a type, the innermost first."""
    for number in range(kind.num_fields):
        yield from _inside(kind.field(number).type)
        yield kind.field(number)


def as_plain(batch: Any, wanted: Any) -> Any:
    """Returns a record batch in the types of a schema that :func:`plain_type` made.

    Args:
        batch: the ``pyarrow.RecordBatch``.
        wanted: the ``pyarrow.Schema``, with the same columns in the same order.

    Raises:
        ArrowInvalid: a value does not fit, such as a fraction of a microsecond.
    """
    columns = [_as(column, field.type) for column, field in zip(batch.columns, wanted, strict=True)]
    return pyarrow.RecordBatch.from_arrays(columns, schema=wanted)


def _as(column: Any, kind: Any) -> Any:
    if column.type == kind:
        return column
    types: Any = pyarrow.types
    if types.is_string(kind) and not (types.is_dictionary(column.type) or types.is_large_string(column.type)):
        if isinstance(column.type, pyarrow.JsonType):
            return column.storage.cast(kind)
        return pyarrow.array([None if value is None else str(value) for value in column.to_pylist()], kind)
    return column.cast(kind)
