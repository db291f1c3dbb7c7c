"""Arrow data whose buffers contradict each other is refused with a clear error, and leaves the connection usable."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow
import pytest

import headrace
from headrace import errors


@dataclass
class Broken:
    """A column whose buffer of places becomes a bad one when a table has been made of it: pyarrow checks tables."""

    array: pyarrow.Array
    places: bytearray = field(default_factory=bytearray)
    form: str = ""
    bad: tuple[int, ...] = ()

    def table(self) -> pyarrow.Table:
        numbers = pyarrow.array(range(len(self.array)))
        table = pyarrow.Table.from_arrays([numbers, self.array], names=["n", "broken"])
        if self.bad:
            struct.pack_into(f"<{len(self.bad)}{self.form}", self.places, 0, *self.bad)
        return table


def made(
    kind: pyarrow.DataType, rows: int, form: str, good: list[int], bad: tuple[int, ...], *after: Any, **more: Any
) -> Broken:
    places = bytearray(struct.pack(f"<{len(good)}{form}", *good))
    array = pyarrow.Array.from_buffers(kind, rows, [None, pyarrow.py_buffer(places), *after], **more)
    return Broken(array, places, form, bad)


def text(kind: pyarrow.DataType, form: str, *offsets: int) -> Broken:
    """Two texts at offsets into ten bytes."""
    return made(kind, 2, form, [0, 3, 6], offsets, pyarrow.py_buffer(b"abcdefghij"))


def lists(kind: pyarrow.DataType, form: str, *offsets: int) -> Broken:
    """Two lists of three numbers."""
    return made(kind, 2, form, [0, 1, 3], offsets, children=[pyarrow.array([1, 2, 3], pyarrow.int32())])


def views_of_lists(*offsets: int) -> Broken:
    sizes = pyarrow.py_buffer(struct.pack("<2i", 1, 2))
    numbers = pyarrow.array([1, 2, 3], pyarrow.int32())
    return made(pyarrow.list_view(pyarrow.int32()), 2, "i", [0, 1], offsets, sizes, children=[numbers])


def view(length: int, number: int, offset: int) -> Broken:
    """A text at a place of one buffer."""
    prefix = int.from_bytes(b"abcd", "little")
    data = pyarrow.py_buffer(b"abcdefghijklmnop")
    return made(pyarrow.string_view(), 1, "i", [14, prefix, 0, 0], (length, prefix, number, offset), data)


def dictionary(*keys: int) -> Broken:
    return Broken(pyarrow.DictionaryArray.from_arrays(pyarrow.array(keys, pyarrow.int8()), ["a", "b"], safe=False))


def runs(*ends: int) -> Broken:
    """Five rows in runs of two texts."""
    kind = pyarrow.run_end_encoded(pyarrow.int32(), pyarrow.string())
    places = bytearray(struct.pack("<2i", 3, 5))
    numbers = pyarrow.Array.from_buffers(pyarrow.int32(), 2, [None, pyarrow.py_buffer(places)])
    array = pyarrow.Array.from_buffers(kind, 5, [None], children=[numbers, pyarrow.array(["a", "b"])])
    return Broken(array, places, "i", ends)


INT32 = pyarrow.int32()
MALFORMED: dict[str, Callable[[], Broken]] = {
    "offsets that decrease": lambda: text(pyarrow.string(), "i", 0, 6, 4),
    "a negative offset": lambda: text(pyarrow.string(), "i", -2, 3, 6),
    "bytes whose offsets decrease": lambda: text(pyarrow.binary(), "i", 0, 6, 4),
    "large offsets that decrease": lambda: text(pyarrow.large_string(), "q", 0, 6, 4),
    "a list after the items": lambda: lists(pyarrow.list_(INT32), "i", 0, 2, 4),
    "a list that ends before it begins": lambda: lists(pyarrow.list_(INT32), "i", 0, 3, 2),
    "a large list after the items": lambda: lists(pyarrow.large_list(INT32), "q", 0, 2, 4),
    "a view of a list after the items": lambda: views_of_lists(0, 2),
    "a view after its buffer": lambda: view(14, 0, 5),
    "a view of another buffer": lambda: view(14, 1, 0),
    "a key after the dictionary": lambda: dictionary(0, 2),
    "a negative key": lambda: dictionary(0, -1),
    "runs that go back": lambda: runs(5, 4),
    "runs that end too early": lambda: runs(1, 3),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_malformed_columns_are_refused(url: str, what: str) -> None:
    table = MALFORMED[what]().table()
    with headrace.connect(url) as conn:
        conn.execute("create temporary table malformed (n int, broken text)")
        for load in (
            lambda: conn.executemany("insert into malformed values (%s, %s)", table),
            lambda: conn.copy_in("malformed", table),
        ):
            with pytest.raises(errors.InterfaceError, match="the Arrow data of column 'broken' is malformed: "):
                load()
            conn.rollback()
            conn.execute("create temporary table malformed (n int, broken text)")
        assert conn.fetchval("select count(*) from malformed") == 0


def test_parts_within_a_column_are_looked_at(url: str) -> None:
    inner = text(pyarrow.string(), "i", 0, 6, 4)
    inner.array = pyarrow.StructArray.from_arrays([inner.array], names=["inner"])
    table = inner.table()
    with headrace.connect(url) as conn, pytest.raises(errors.InterfaceError, match="column 'broken' is malformed"):
        conn.executemany("select %s, %s", table)


def test_places_of_nulls_may_be_anywhere(url: str) -> None:
    keys = pyarrow.array([0, 99, 1], pyarrow.int8(), mask=None)
    valid = pyarrow.py_buffer(bytes([0b101]))
    keys = pyarrow.Array.from_buffers(pyarrow.int8(), 3, [valid, keys.buffers()[1]])
    table = pyarrow.table({"key": pyarrow.DictionaryArray.from_arrays(keys, ["a", "b"], safe=False)})
    with headrace.connect(url) as conn:
        conn.execute("create temporary table malformed (key text)")
        conn.executemany("insert into malformed values (%s)", table)
        assert conn.fetch("select * from malformed") == [("a",), (None,), ("b",)]


class ArrowArray(ctypes.Structure):
    """The first fields of ``struct ArrowArray``."""

    _fields_ = (
        ("length", ctypes.c_int64),
        ("null_count", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
    )


class Incomplete:
    """A record batch that has fewer children than its schema has fields."""

    def __init__(self) -> None:
        self.batch = pyarrow.record_batch({"a": [1, 2], "b": [3, 4]})

    def __len__(self) -> int:
        return 2

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        schema, array = self.batch.__arrow_c_array__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        ArrowArray.from_address(pointer(array, b"arrow_array")).n_children = 1
        return schema, array


def test_batch_without_all_of_its_columns_is_refused(url: str) -> None:
    with headrace.connect(url) as conn:
        with pytest.raises(errors.InterfaceError, match="does not have the parts"):
            conn.executemany("select %s, %s", Incomplete())
        assert conn.fetchval("select 1") == 1
