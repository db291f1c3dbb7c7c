"""Sends objects that raise, lie, change or contain themselves, by each way that a value can go, and prints what came of
each: ``python hostile_objects.py URL MARK``. It is a process of its own: its end is the worst that can come of one."""

from __future__ import annotations

import datetime
import decimal
import enum
import resource
import sys
from collections.abc import Callable, Iterator
from typing import Any

import headrace

DEEP = 50_000
MEMORY_BYTES = 4 * 1024**3
"""Of addresses: what takes all memory is an error here, and not the end of another process."""


class Own(Exception):
    """What the objects raise."""


class Raises:
    """Raises whatever it is asked for."""

    def _raise(self, *_: Any) -> Any:
        raise Own

    __str__ = __repr__ = __iter__ = __float__ = __index__ = __int__ = __eq__ = __len__ = __bool__ = _raise  # type: ignore[assignment]
    __hash__ = __getitem__ = __buffer__ = _raise  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        raise Own


class Endless:
    """Asks itself for ever."""

    def __str__(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return repr(self)

    def __float__(self) -> float:
        return float(self)

    def __index__(self) -> int:
        return int(self)

    def __iter__(self) -> Iterator[Any]:
        return iter(self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self, name + "_")


class ItsOwnItem:
    """A sequence of itself."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, at: int) -> Any:
        if at > 1:
            raise IndexError
        return self


class Liar:
    """Says that it is of another class."""

    def __init__(self, claimed: type) -> None:
        self.claimed = claimed

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # type: ignore[override]
        return self.claimed


class Float(float):
    def __str__(self) -> str:
        return "no number"

    def __float__(self) -> float:
        raise Own

    __repr__ = __str__


class Int(int):
    def __str__(self) -> str:
        return "no number"

    def __index__(self) -> int:
        raise Own

    __repr__ = __str__


class Text(str):
    def __str__(self) -> str:
        raise Own

    def __len__(self) -> int:
        return 2**40

    def __iter__(self) -> Iterator[str]:
        raise Own


class Decimal(decimal.Decimal):
    def __str__(self) -> str:
        return "no number"

    def __bool__(self) -> bool:
        raise Own


class Moment(datetime.datetime):
    @property
    def year(self) -> int:  # type: ignore[override]
        return 10**20

    def utcoffset(self) -> Any:
        return "an hour"


class Zone(datetime.tzinfo):
    def utcoffset(self, _: Any) -> Any:
        raise Own


class Emptied(list[Any]):
    """Loses its items while it is read."""

    def __getitem__(self, at: Any) -> Any:
        self.clear()
        return super().__getitem__(at)

    def __iter__(self) -> Iterator[Any]:
        self.clear()
        return super().__iter__()


class Clearing:
    """Empties the list that it is in."""

    def __init__(self, into: list[Any]) -> None:
        self.into = into

    def __str__(self) -> str:
        self.into.clear()
        return "1"

    def __float__(self) -> float:
        self.into.clear()
        return 1.0


class Member(enum.Enum):
    ITSELF = 1
    OTHER = 2
    RAISES = 3


Member.ITSELF._value_ = Member.ITSELF
Member.OTHER._value_ = [Member.OTHER, [Member.ITSELF]]
Member.RAISES._value_ = Raises()


def nested(make: Callable[[Any], Any], depth: int = DEEP) -> Any:
    """A value inside of another that many times."""
    value: Any = 1
    for _ in range(depth):
        value = make(value)
    return value


def objects() -> Iterator[tuple[str, Any]]:
    """Each object, with its name."""
    itself: list[Any] = []
    itself.append(itself)
    twice: list[Any] = []
    twice += [twice, twice]
    behind: list[Any] = [1]
    behind += [behind, behind]
    beside: list[Any] = [[1]]
    beside += [beside] * 50
    in_tuple: tuple[list[Any]] = ([],)
    in_tuple[0].append(in_tuple)
    in_dict: dict[str, Any] = {}
    in_dict["a"] = in_dict
    shared: Any = 1
    for _ in range(31):
        shared = (shared, shared, [shared])
    yield from {
        "itself": itself,
        "twice": twice,
        "behind": behind,
        "beside": beside,
        "in_tuple": in_tuple,
        "in_dict": in_dict,
        "deep_list": nested(lambda value: [value]),
        "deep_tuple": nested(lambda value: (value,)),
        "deep_dict": nested(lambda value: {"a": value}),
        "deep_quotes": nested(lambda value: ('"', value), 40),
        "raises": Raises(),
        "endless": Endless(),
        "its_own_item": ItsOwnItem(),
        "float": Float(1.5),
        "int": Int(15),
        "text": Text("text"),
        "decimal": Decimal("1.5"),
        "moment": Moment(2020, 1, 1),
        "zone": datetime.datetime(2020, 1, 1, tzinfo=Zone()),
        "time_zone": datetime.time(1, 2, tzinfo=Zone()),
        "member_itself": Member.ITSELF,
        "member_other": Member.OTHER,
        "member_raises": Member.RAISES,
        "emptied": Emptied([1, 2, 3]),
        "surrogate": "\ud800",
        "huge": 10**5000,
        "huge_float": decimal.Decimal("1E+999999999"),
        "tiny_float": decimal.Decimal("1E-999999999"),
        "class": int,
        "generator": (n for n in range(3)),
        "memory": memoryview(bytearray(range(64)))[::2],
        "released": _released(),
    }.items()
    for claimed in (int, float, str, bytes, list, tuple, dict, datetime.datetime, decimal.Decimal, enum.Enum):
        yield f"liar_{claimed.__name__}", Liar(claimed)
    cleared: list[Any] = []
    cleared += [Clearing(cleared), 2, 3]
    yield "cleared", cleared


def _released() -> memoryview:
    memory = memoryview(b"bytes")
    memory.release()
    return memory


def ways(conn: Any, mark: str) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """How a value can go into each column of a table."""
    columns = ("n", "f", "v", "d")
    for column in columns:
        insert = f"insert into hostile ({column}) values ({mark})"
        yield f"execute {column}", lambda value, sql=insert: conn.execute(sql, (value,))
        yield f"executemany {column}", lambda value, sql=insert: conn.executemany(sql, [(None,), (value,)])
        yield f"list {column}", lambda value, sql=insert: conn.execute(sql, ([value, value],))
    yield "in", lambda value: conn.execute(f"select 1 from hostile where n in ({mark})", (value,))
    yield "row", lambda value: conn.execute(f"insert into hostile (n) values ({mark})", value)
    yield "rows", lambda value: conn.executemany(f"insert into hostile (n) values ({mark})", value)
    if mark == "$1":
        for column in (*columns, "p", "g", "a", "j", "c", "r"):
            insert = f"insert into hostile ({column}) values (%s)"
            yield f"%s {column}", lambda value, sql=insert: conn.execute(sql, (value,))
            insert = f"insert into hostile ({column}) values ($1)"
            yield f"$1 {column}", lambda value, sql=insert: conn.execute(sql, (value,))
            for form in ("binary", "text"):
                yield (
                    f"copy_in {column} as {form}",
                    lambda value, c=column, f=form: conn.copy_in("hostile", [(value,)], columns=[c], format=f),
                )
        ranges = headrace.types.Range
        yield "write_row", lambda value: _write_row(conn, value)
        yield "range", lambda value: conn.execute("insert into hostile (r) values (%s)", (ranges(value, None),))
        yield "unknown", lambda value: conn.execute("select %s", (value,))
        yield "json", lambda value: conn.execute("insert into hostile (j) values (%s)", (headrace.types.Json(value),))
    elif hasattr(conn, "load_rows"):
        yield "load_rows", lambda value: conn.load_rows("hostile", [(value,)], columns=["v"])


def _write_row(conn: Any, value: Any) -> None:
    cursor = conn.cursor()
    with cursor.copy("copy hostile (v) from stdin") as copy:
        copy.write_row((value,))


POSTGRESQL = ", p point, g polygon, a int[], j jsonb, c hostile_pair, r int4range"
ALLOWED = (
    headrace.Error,
    Own,
    TypeError,
    ValueError,
    RecursionError,
    OverflowError,
    AttributeError,
    IndexError,
    BufferError,
)
"""What may come of a value: headrace's errors, or what the object or Python raises."""


def main() -> None:
    url, mark = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    conn: Any = headrace.connect(url, autocommit=True)
    conn.execute("drop table if exists hostile")
    if mark == "$1":
        conn.executescript("drop type if exists hostile_pair; create type hostile_pair as (x int, y text)")
    more = POSTGRESQL if mark == "$1" else ""
    conn.execute(f"create table hostile (n int, f float, v varchar(100), d date{more})")
    for way, send in ways(conn, mark):
        for name, value in objects():
            print(f"{way}: {name}", end=" ", flush=True)
            try:
                send(value)
                outcome = "done"
            except ALLOWED as error:
                outcome = type(error).__name__
            if conn.closed:
                print("the connection is closed", flush=True)
                sys.exit(1)
            if conn.fetchval("select count(*) from hostile") < 0:
                sys.exit(1)
            print(outcome, flush=True)
    conn.execute("drop table hostile")
    print("ended", flush=True)


if __name__ == "__main__":
    main()
