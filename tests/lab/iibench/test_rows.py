"""The generator: known answers, and a second implementation that shares nothing with it."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace_lab._iibench import IibenchRows
from headrace_lab.iibench.options import BenchmarkOptions
from headrace_lab.iibench.producer import Source
from headrace_lab.iibench.reference import PythonRows, output
from long import times


def test_the_first_rows_of_a_seed_are_what_they_were() -> None:
    """Published results, and their checksums, stay comparable only while this holds."""
    rows = IibenchRows(42)
    assert rows.values("", 0, 2) == (
        "('2020-01-01 00:00:00',343,39478,9557,497,'aaaaal2uYQ'),('2020-01-01 00:00:00',67,43578,6769,193,'aaaaaiNdrJ')"
    )
    assert rows.tuples(1000, 1)[0][0] == dt.datetime(2020, 1, 1, 0, 0, 1)
    assert f"{rows.sums(0, 100_000)['checksum']:016x}" == CHECKSUM


CHECKSUM = "42aa5541087d442b"


def test_the_reference_has_the_published_outputs() -> None:
    assert [output(1234567, n) for n in range(3)] == [6457827717110365317, 3203168211198807973, 9817491932198370423]


SHAPES = st.fixed_dictionaries({
    "seed": st.integers(0, 2**64 - 1),
    "cashregisters": st.integers(1, 2**31 - 1),
    "customers": st.integers(1, 2**31 - 1),
    "products": st.integers(1, 10),
    "max_price": st.integers(1, 10),
    "data_length_min": st.integers(0, 20),
    "data_length_max": st.integers(20, 400),
    "data_random_pct": st.sampled_from([0, 1, 50, 99, 100]),
})  # fmt: skip


@settings(max_examples=times(30), deadline=None)
@given(SHAPES, st.integers(0, 100), st.integers(0, 2**47))
def test_both_implementations_make_the_same_rows(shape: dict[str, int], stream: int, first: int) -> None:
    options = BenchmarkOptions(**shape)
    native, python = options.rows(stream), PythonRows.__new__(PythonRows)
    python.options, python.key = options, output(options.seed, stream)
    python.noise = Noise(options.seed)  # type: ignore[assignment]
    rows = [python.row(k) for k in range(first, first + 3)]
    assert native.tuples(first, 3) == rows
    assert native.flat(first, 3) == [value for row in rows for value in row]
    text = [(str(time), *(str(v) for v in rest)) for time, *rest in rows]
    assert native.tabbed(first, 3).decode() == "".join("\t".join(row) + "\n" for row in text)
    assert native.values("x ", first, 3) == python.values("x ", first, 3)
    assert native.values_bytes(b"x ", first, 3).decode() == python.values("x ", first, 3)
    sums = native.sums(first, 3)
    assert [sums[name] for name in ("rows", "cash_register", "customer", "product", "price")] == [
        3, *(sum(row[n] for row in rows) for n in range(1, 5)),
    ]  # fmt: skip
    assert sums["data_bytes"] == sum(len(row[5]) for row in rows)
    assert sums["data_last"] == sum(ord(row[5][-1]) if row[5] else 0 for row in rows)


class Noise:
    """The random text, only as much of it as is asked for: all of it takes Python seconds."""

    def __init__(self, seed: int) -> None:
        self.key = output(seed, 1 << 63)

    def __getitem__(self, part: slice) -> str:
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        return "".join(alphabet[output(self.key, n // 10) >> 6 * (n % 10) & 63] for n in range(part.start, part.stop))


def test_rows_do_not_depend_on_where_they_are_made() -> None:
    """Neither on blocks, nor on threads, nor on what was made before."""
    whole = IibenchRows(7, 3).tabbed(0, 4_000)
    parts: list[bytes] = [b""] * 8
    rows = IibenchRows(7, 3)

    def work(n: int) -> None:
        parts[n] = rows.tabbed(n * 500, 500)

    threads = [threading.Thread(target=work, args=(n,)) for n in reversed(range(8))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert b"".join(parts) == whole


def test_numbers_beyond_32_bits() -> None:
    """Fault 8 of iibench.py, the generator's side."""
    first = 2**33 - 1
    assert IibenchRows(1).tuples(first, 2) == IibenchRows(1).tuples(first, 1) + IibenchRows(1).tuples(first + 1, 1)


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"customers": 0}, "customers"),
        ({"data_length_max": 4001}, "length of data"),
        ({"data_length_min": 11}, "length of data"),
        ({"data_random_percent": 101}, "random"),
        ({"stream": 2**20}, "stream"),
    ],
)
def test_rows_that_cannot_be_made_are_refused(wrong: dict[str, int], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        IibenchRows(1, **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("strategy", ["text", "copy", "executemany"])
@pytest.mark.parametrize(("count", "blocks"), [(5, 430), (5, 3), (1, 2_500), (50, 45), (100, 13), (1_000, 2)])
@pytest.mark.parametrize("binary", [False, True])
def test_small_blocks_made_together_are_those_made_one_by_one(
    strategy: str, count: int, blocks: int, binary: bool
) -> None:
    source = Source(BenchmarkOptions(), 3, strategy, "INSERT ", binary, 7, count, blocks)
    alone = list(source.one_by_one())
    assert len(alone) == blocks
    assert list(source.made_here()) == alone
    endless = dataclasses.replace(source, blocks=None)
    assert list(itertools.islice(endless.made_here(), blocks)) == alone
