"""Row factories."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import weakref
from dataclasses import InitVar, dataclass, field
from typing import Any

import attrs
import pydantic
import pytest

from headrace._native import as_records
from headrace.errors import ProgrammingError
from headrace.rows import (
    Record,
    args_row,
    class_row,
    dict_row,
    kwargs_row,
    namedtuple_row,
    record_row,
    scalar_row,
    tuple_row,
)


def test_tuples_stay_the_same_object() -> None:
    row = (1, 2)
    assert tuple_row(("a", "b"))(row) is row


def test_dicts() -> None:
    assert dict_row(("a", "b"))((1, 2)) == {"a": 1, "b": 2}
    assert dict_row(("a", "a"))((1, 2)) == {"a": 2}


@pytest.mark.parametrize(
    ("names", "fields"),
    [
        (("id", "name"), ("id", "name")),
        (("?column?",), ("f_column_",)),
        (("1st", "_x"), ("f1st", "f_x")),
        (("a b", "ä"), ("a_b", "ä")),
        (("class", "id", "id"), ("_0", "id", "_2")),
        (("",), ("_0",)),
        (("a²",), ("_0",)),
        ((), ()),
    ],
)
def test_named_tuples(names: tuple[str, ...], fields: tuple[str, ...]) -> None:
    row = namedtuple_row(names)(tuple(range(len(names))))
    assert row._fields == fields
    assert row == tuple(range(len(names)))
    again = pickle.loads(pickle.dumps(row))
    assert (type(again), again) == (type(row), row)


def test_scalars() -> None:
    assert scalar_row(("a", "b"))((1, 2)) == 1
    with pytest.raises(ProgrammingError, match="column"):
        scalar_row(())


def test_functions() -> None:
    assert args_row(complex)(("r", "i"))((1, 2)) == 1 + 2j
    assert kwargs_row(complex)(("imag", "real"))((1, 2)) == 2 + 1j


@dataclass
class User:
    """As most are."""

    id: int
    name: str = "nobody"
    made: str = field(default="x", init=False)


@dataclass
class Derived:
    """With a parameter that is not a field."""

    id: int
    key: InitVar[int]
    sum: int = field(init=False)

    def __post_init__(self, key: int) -> None:
        self.sum = self.id + key


class Plain:
    """No dataclass at all."""

    def __init__(self, id: int, *, name: str = "nobody") -> None:
        self.id, self.name = id, name


class Anything:
    """Takes every column."""

    def __init__(self, id: int, **more: Any) -> None:
        self.id, self.more = id, more


def test_classes() -> None:
    assert class_row(User)(("name", "id"))(("ada", 1)) == User(1, "ada")
    assert class_row(User)(("id",))((1,)) == User(1)
    assert class_row(Derived)(("id", "key"))((1, 2)).sum == 3
    assert class_row(Plain)(("name", "id"))(("ada", 1)).name == "ada"
    assert class_row(Anything)(("id", "x"))((1, 2)).more == {"x": 2}
    assert class_row(dict)(("id", "x"))((1, 2)) == {"id": 1, "x": 2}  # its constructor has no signature


@pytest.mark.parametrize(
    ("cls", "names", "problem"),
    [
        (User, ("id", "nmae"), "unknown nmae"),
        (User, ("name",), "missing id"),
        (User, ("x", "y"), "unknown x, y; missing id"),
        (User, ("id", "made"), "unknown made"),
        (User, ("id", "id"), "twice id"),
        (User, (), "missing id"),
        (Derived, ("id",), "missing key"),
        (Plain, ("id", "x"), "unknown x"),
        (Anything, ("x",), "missing id"),
    ],
)
def test_columns_that_do_not_fit_are_named(cls: type[Any], names: tuple[str, ...], problem: str) -> None:
    with pytest.raises(ProgrammingError) as caught:
        class_row(cls)(names)
    assert str(caught.value) == f"the columns do not fit {cls.__name__}: {problem}"


def test_attrs_classes() -> None:
    kind = attrs.make_class("Kind", {"id": attrs.field(), "_private": attrs.field(default=0)})
    assert class_row(kind)(("id", "private"))((1, 2))._private == 2
    with pytest.raises(ProgrammingError, match="unknown _private"):
        class_row(kind)(("id", "_private"))


def test_pydantic_models() -> None:
    model = pydantic.create_model("Model", id=(int, ...), name=(str, pydantic.Field("x", alias="fullName")))
    row = class_row(model)(("id", "fullName"))(("1", "ada"))
    assert (row.id, row.name) == (1, "ada")
    with pytest.raises(ProgrammingError, match="unknown name"):
        class_row(model)(("id", "name"))
    with pytest.raises(pydantic.ValidationError, match="id"):
        class_row(model)(("fullName",))(("ada",))
    lenient = pydantic.create_model("Lenient", __config__={"extra": "ignore"}, id=(int, ...))
    assert class_row(lenient)(("id", "x"))((1, 2)).id == 1
    by_name = pydantic.create_model(
        "ByName", __config__={"populate_by_name": True}, id=(int, pydantic.Field(alias="key"))
    )
    assert class_row(by_name)(("id",))((1,)).id == class_row(by_name)(("key",))((1,)).id == 1
    choices = pydantic.create_model(
        "Choices", id=(int, pydantic.Field(validation_alias=pydantic.AliasChoices("a", "b")))
    )
    assert class_row(choices)(("b",))((1,)).id == 1


NAMES = ("id", "count", "class", "a b", "id2", "_x")


def records(*rows: tuple[Any, ...], names: tuple[str, ...] = NAMES) -> list[Any]:
    """Rows that are records."""
    made = list(rows)
    record_row(names).many(made)  # type: ignore[attr-defined]
    return made


def test_a_record_is_a_tuple_with_names() -> None:
    values = (1, 2, 3, 4, 5, 6)
    (row,) = records(tuple(range(1, 7)))
    assert isinstance(row, Record)
    assert (row, hash(row), len(row)) == (values, hash(values), 6)
    assert [row[name] for name in NAMES] == list(row) == [row[at] for at in range(6)]
    assert (row[-1], row[1:3], row.id, row.id2) == (6, (2, 3), 1, 5)
    # What tuples have stays theirs.
    assert row.count(2) == 1
    assert (row.keys(), row.values(), dict(row)) == (NAMES, values, dict(zip(NAMES, values, strict=True)))
    assert (row.get("id"), row.get("nope"), row.get("nope", 0)) == (1, None, 0)
    for missing in ("nope", ""):
        with pytest.raises(KeyError):
            row[missing]
    with pytest.raises(IndexError):
        row[6]
    with pytest.raises(AttributeError):
        _ = row.nope
    assert repr(records((1, None), names=("a", "b c"))[0]) == "Record(a=1, b c=None)"


def test_records_are_copied_and_pickled_and_freed() -> None:
    class Value:
        pass

    value = Value()
    freed = weakref.ref(value)
    made = records((value, [1]), names=("a", "b"))
    made[0]["b"].append(made[0])
    del value, made
    gc.collect()
    assert freed() is None
    (row,) = records((1, [2]), names=("a", "b"))
    for again in (pickle.loads(pickle.dumps(row)), copy.copy(row), copy.deepcopy(row)):
        assert (again, again["b"], type(again).__name__) == (row, [2], "Record")


def test_tuples_of_others_are_not_changed() -> None:
    kept = tuple(map(int, "12"))
    rows = [kept, tuple(map(int, "34")), ()]
    make: Any = record_row(("a", "b"))
    make.many(rows)
    assert type(kept) is tuple
    assert [type(row).__name__ for row in rows] == ["Record"] * 3
    assert (rows[0]["a"], rows[1]["b"]) == (1, 4)
    with pytest.raises(IndexError):
        rows[2]["a"]
    before = list(rows)
    make.many(rows)
    assert all(one is other for one, other in zip(before, rows, strict=True))
    assert make(rows[0]) is rows[0]
    assert make((5, 6))["a"] == 5


def test_of_columns_with_one_name_the_last_has_it() -> None:
    (row,) = records((1, 2, 3), names=("a", "b", "a"))
    assert (row["a"], row.a, row) == (3, 3, (1, 2, 3))


def test_only_classes_of_records_are_taken() -> None:
    for wrong in (tuple, list, type("Own", (Record,), {}), type("Slots", (tuple,), {"__slots__": ()})):
        with pytest.raises(TypeError):
            as_records([(1,)], wrong)


def test_memory_of_records_is_that_of_tuples_again() -> None:
    class Value:
        pass

    kinds = {type(row) for row in records((1,), names=("a",))}
    (kind,) = kinds
    slotted = type("Slotted", (kind,), {"__slots__": ()})
    ended: list[int] = []
    finalised = type("Finalised", (kind,), {"__del__": lambda row: ended.append(len(row))})
    gc.collect()
    before = [sys.getrefcount(each) for each in (kind, slotted, finalised)]
    for length in range(30):
        value, held = Value(), Value()
        freed = [weakref.ref(value), weakref.ref(held)]
        rows: list[Any] = [*records((value,) * length or (value,), names=("a",)), kind(()), kind((value,) * length)]
        rows += [slotted((value,)), finalised((value,)), finalised(())]
        rows[-1].held = held
        del value, held, rows
        # CPython keeps the memory of tuples, by their length.
        assert [len(row) for row in [(n,) * length for n in range(100)]] == [length] * 100
        assert [each() for each in freed] == [None, None]
    assert len(ended) == 60
    gc.collect()
    assert [sys.getrefcount(each) for each in (kind, slotted, finalised)] == before


def test_records_that_are_nested_deeply_are_freed() -> None:
    row: Any = ()
    for _ in range(200_000):
        (row,) = records((row,), names=("a",))
    del row
