"""Arrow data for engines with fewer types."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from headrace._plain_arrow import as_plain, plain_type
from headrace.errors import NotSupportedError

KEY = uuid.UUID(int=7)
LONG = Decimal("9" * 50)
KINDS: list[tuple[pa.DataType, pa.DataType, Any, Any]] = [
    (pa.int32(), pa.int32(), 7, 7),
    (pa.list_(pa.string()), pa.list_(pa.string()), ["a", None], ["a", None]),
    (pa.timestamp("us", "UTC"), pa.timestamp("us", "UTC"), dt.datetime(2024, 1, 1), None),
    (pa.decimal128(38, 2), pa.decimal128(38, 2), Decimal("1.25"), Decimal("1.25")),
    (pa.uint8(), pa.int16(), 255, 255),
    (pa.uint16(), pa.int32(), 65_535, 65_535),
    (pa.uint32(), pa.int64(), 2**32 - 1, 2**32 - 1),
    (pa.uint64(), pa.decimal128(20, 0), 2**64 - 1, Decimal(2**64 - 1)),
    (pa.decimal256(50, 0), pa.string(), LONG, str(LONG)),
    (pa.time64("us"), pa.string(), dt.time(12, 30, 0, 5), "12:30:00.000005"),
    (pa.uuid(), pa.string(), KEY.bytes, str(KEY)),
    (pa.json_(), pa.string(), '{"a": 1}', '{"a": 1}'),
    (pa.dictionary(pa.int8(), pa.string()), pa.string(), "red", "red"),
]
"""A type, the one that takes its place, and a value in both; None if it is the same."""


@pytest.mark.parametrize(("kind", "plain", "value", "shown"), KINDS, ids=lambda each: str(each)[:30])
def test_value_is_in_the_type_that_engines_have(kind: pa.DataType, plain: pa.DataType, value: Any, shown: Any) -> None:
    field = pa.field("c", kind)
    assert plain_type(field) == plain
    if isinstance(kind, pa.BaseExtensionType):
        column = pa.ExtensionArray.from_storage(kind, pa.array([value, None], kind.storage_type))
    else:
        column = pa.array([value, None], kind)
    batch = pa.RecordBatch.from_arrays([column], schema=pa.schema([field]))
    found = as_plain(batch, pa.schema([pa.field("c", plain)]))
    assert found.schema.field("c").type == plain
    expected = column.to_pylist() if shown is None else [shown, None]
    assert found.column(0).to_pylist() == expected


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.uuid()), pa.struct([("t", pa.time64("us"))]), pa.list_(pa.list_(pa.uint8()))]
)
def test_type_inside_of_another_that_engines_do_not_have_is_an_error(kind: pa.DataType) -> None:
    with pytest.raises(NotSupportedError, match="the column 'c'"):
        plain_type(pa.field("c", kind))
