"""Sends objects that raise, lie, change or contain themselves, by each way that a value can go, and prints what came of
each: ``python hostile_objects.py URL MARK``. Then it sends random ones, within each other and within usual ones, by
random ways: ``python hostile_objects.py URL MARK SEED ROUNDS``. It is a process of its own: its end is the worst that
can come of one."""

from __future__ import annotations

import datetime
import decimal
import enum
import random
import resource
import sys
from collections.abc import Callable, Iterator
from typing import Any

import headrace
from headrace import sql
from headrace.django.postgresql.literals import mogrify

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


class Stream:
    """Says that it has Arrow data, and has what it was given, or raises it."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        if isinstance(self.given, BaseException):
            raise self.given
        return self.given

    __arrow_c_array__ = __arrow_c_stream__


class Changing:
    """Another value each time that it is looked at."""

    def __init__(self) -> None:
        self.looks = 0

    def _look(self) -> int:
        self.looks += 1
        return self.looks

    def __len__(self) -> int:
        return self._look()

    def __getitem__(self, at: Any) -> Any:
        if self._look() > 50:
            raise IndexError
        return self if self.looks % 3 else self.looks

    def __iter__(self) -> Iterator[Any]:
        return iter([self._look()] * (self.looks % 4))

    def __str__(self) -> str:
        return "x" * self._look()

    def __float__(self) -> float:
        return float(self._look())

    def __index__(self) -> int:
        return self._look() << 70 * (self.looks % 2)

    def __eq__(self, other: object) -> bool:
        return self._look() % 2 == 0

    def __hash__(self) -> int:
        return self._look()

    def keys(self) -> Any:
        """Those of a mapping."""
        return [self._look(), "a"]


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
        "changing": Changing(),
        "stream_of_none": Stream(None),
        "stream_of_itself": Stream(itself),
        "stream_that_raises": Stream(Own()),
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
    query = f"select n, v from hostile where n = {mark}"
    yield "in", lambda value: conn.execute(f"select 1 from hostile where n in ({mark})", (value,))
    # Each begins its request in another way.
    yield "fetchval", lambda value: conn.fetchval(query, value)
    yield "fetch_arrow", lambda value: conn.fetch_arrow(query, value)
    yield "stream", lambda value: list(conn.stream(query, (value,)))
    yield "stream_arrow", lambda value: list(conn.stream_arrow(query, value))
    yield "fetchmany", lambda value: conn.fetchmany(query, [(1,), (value,)])
    yield "fetchmany of rows", lambda value: conn.fetchmany(query, value)
    yield "callproc", lambda value: conn.cursor().callproc("hostile", value)
    yield "pipeline", lambda value: _pipeline(conn, query, value)
    literal = sql.SQL("insert into hostile (n) values ({})")
    yield "literal", lambda value: conn.execute(literal.format(sql.Literal(value)))
    yield "row", lambda value: conn.execute(f"insert into hostile (n) values ({mark})", value)
    yield "rows", lambda value: conn.executemany(f"insert into hostile (n) values ({mark})", value)
    if mark == "$1":
        yield "literal of Django", lambda value: conn.execute(mogrify("insert into hostile (n) values (%s)", (value,)))
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
    elif hasattr(conn, "execute_batch"):
        insert = f"insert into hostile (n) values ({mark})"
        yield "generated_keys", lambda value: conn.generated_keys(insert, (value,))
        yield "execute_batch", lambda value: conn.execute_batch([value])
        yield "execute_batch of texts", conn.execute_batch
    elif hasattr(conn, "load_rows"):
        for column in columns:
            yield f"load_rows {column}", lambda value, c=column: conn.load_rows("hostile", [(value,)], columns=[c])
        yield "load_rows of rows", lambda value: conn.load_rows("hostile", value, columns=["v", "n"])


def _pipeline(conn: Any, query: str, value: Any) -> None:
    """The value in the middle of what is sent at once, whose rest is executed."""
    with conn.pipeline():
        before = conn.execute(query, (1,))
        try:
            conn.execute(query, (value,))
        finally:
            after = conn.execute(query, (1,))
            before.fetchall()
            after.fetchall()


def _write_row(conn: Any, value: Any) -> None:
    cursor = conn.cursor()
    with cursor.copy("copy hostile (v) from stdin") as copy:
        copy.write_row((value,))


def composed(choice: random.Random, within: dict[str, Any], depth: int = 0) -> Any:
    """A random value: an object, a usual value, or some of them within another one."""
    kind = choice.random()
    if kind < 0.3 or depth > 5:
        return choice.choice(list(within.values()))
    if kind < 0.5:
        return choice.choice(USUAL)
    inner = [composed(choice, within, depth + 1) for _ in range(choice.randrange(4))]
    makers: list[Callable[[], Any]] = [
        lambda: inner,
        lambda: tuple(inner),
        lambda: Emptied(inner),
        lambda: {f"{n}": item for n, item in enumerate(inner)},
        lambda: dict.fromkeys(["x", "y"], inner),
        lambda: (item for item in inner),
        lambda: headrace.types.Range(*inner[:2]),
        lambda: headrace.types.Multirange([headrace.types.Range(item, None) for item in inner]),
        lambda: headrace.types.Json(inner),
        lambda: headrace.types.Point(*inner[:2]),
        lambda: headrace.types.Polygon(tuple(inner)),
        lambda: headrace.types.Path(inner),  # type: ignore[arg-type]
        lambda: headrace.types.Interval(*inner[:3]),
        lambda: headrace.types.Opaque("varnchar", b"x"),
        lambda: enum.Enum("Made", {"VALUE": inner[0]}).VALUE,  # type: ignore[attr-defined]
        lambda: Text(inner),
    ]
    try:
        return choice.choice(makers)()
    except Exception:
        return inner


USUAL = [None, True, 0, -1, 2**63, 1.5, float("nan"), "", "text", "[1]", "{1}", b"", b"\xff", decimal.Decimal("NaN"),
         datetime.date(1, 1, 1), datetime.datetime(9999, 12, 31), datetime.time(1), datetime.timedelta(-1)]  # fmt: skip


def send_random(conns: list[Any], mark: str, seed: int, rounds: int) -> None:
    """Sends random values by random ways, on one of the connections after the other."""
    choice = random.Random(seed)
    sending = [(conn, way, send) for conn in conns for way, send in ways(conn, mark)]
    for number in range(rounds):
        if number % 200 == 0:
            within = dict(objects())
        conn, way, send = choice.choice(sending)
        value = composed(choice, within)
        print(f"{number} {way}: {type(value).__name__}", end=" ", flush=True)
        try:
            send(value)
            outcome = "done"
        except ALLOWED as error:
            outcome = type(error).__name__
        print(outcome, flush=True)
        if conn.closed:
            print("the connection is closed", flush=True)
            sys.exit(1)
        if number % 10 == 0 and conn.fetchval("select count(*) from hostile") < 0:
            sys.exit(1)


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
    url, mark, *numbers = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    loading = {"local_infile": True} if url.startswith(("mysql", "mariadb")) else {}
    conn: Any = headrace.connect(url, autocommit=True, **loading)
    conn.execute("drop table if exists hostile")
    if mark == "$1":
        conn.executescript("drop type if exists hostile_pair; create type hostile_pair as (x int, y text)")
    more = POSTGRESQL if mark == "$1" else ""
    conn.execute(f"create table hostile (n int, f float, v varchar(100), d date{more})")
    if numbers:
        # In text too, where there is the choice.
        texts = (
            [headrace.connect(url, autocommit=True, prepared=False)]
            if mark != "?" or hasattr(conn, "load_rows")
            else []
        )
        send_random([conn, *texts], mark, *map(int, numbers))
        print("ended", flush=True)
        return
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
