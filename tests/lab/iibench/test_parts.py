"""What needs no server: options, steps, schedules, verdicts, histograms, counters."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace_lab._iibench import Histogram
from headrace_lab.iibench import measure
from headrace_lab.iibench.counters import Counters
from headrace_lab.iibench.measure import Recorder
from headrace_lab.iibench.options import LEAST, LEFT_OUT, BenchmarkOptions, OptionError, parse
from headrace_lab.iibench.schedule import Schedule
from headrace_lab.iibench.steps import plan
from headrace_lab.iibench.verdict import Verdict
from headrace_lab.iibench.verify import Share, verify

THEIRS = """
max_rows rows_per_commit max_seconds inserts_per_second initial_size warmup max_table_rows delete_per_insert
resync_get_min print_get_min data_length_min data_length_max data_random_pct cashregisters products customers max_price
seed query_threads rows_per_query query_pk_only no_inserts htap_transaction_seconds use_prepared_query
use_prepared_insert setup num_secondary_indexes secondary_at_start secondary_at_end num_partitions rows_per_partition
secs_per_report my_id dbms db_host db_name table_name db_user db_password db_config_file db_socket mysql_use_socket
dbopt engine engine_options unique_checks bulk_load mongo_w mongo_r mongo_j mongo_trx name_cash name_cust
name_ts name_price name_prod name_data
""".split()  # noqa: SIM905


def test_every_option_of_iibench_py_is_here_or_has_a_reason_not_to_be() -> None:
    ours = set(BenchmarkOptions.__dataclass_fields__)
    assert not ours & set(LEFT_OUT)
    assert [name for name in THEIRS if name not in ours and name not in LEFT_OUT] == []


def test_the_defaults_are_those_of_iibench_py() -> None:
    o = BenchmarkOptions()
    assert (o.max_rows, o.rows_per_commit, o.seed) == (10_000, 1_000, 3221223452)
    assert (o.cashregisters, o.products, o.customers, o.max_price) == (1_000, 10_000, 100_000, 500)
    assert (o.data_length_min, o.data_length_max, o.data_random_pct) == (10, 10, 50)
    assert (o.num_secondary_indexes, o.rows_per_query, o.table_name) == (3, 10, "purchases_index")


def test_a_command_line_says_what_the_options_hold() -> None:
    assert parse([]) == BenchmarkOptions()
    given = parse(["--max-rows", "500", "--rows-per-commit", "5", "--delete-per-insert", "--client", "inline,pregen"])
    assert given == BenchmarkOptions(max_rows=500, rows_per_commit=5, delete_per_insert=True, client="inline,pregen")
    assert BenchmarkOptions.from_json(given.to_json()) == given


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"rows_per_commit": 0}, "--rows-per-commit must be at least 1"),
        ({"max_rows": 0}, "would never end"),
        ({"max_rows": 0, "max_seconds": 1, "client": "pregen"}, "has to know how many"),
        ({"max_rows": 1001}, "not a multiple"),
        ({"max_rows": 10**9, "client": "pregen"}, "beforehand"),
        ({"client": "fast"}, "unknown --client 'fast'"),
        ({"insert_with": "prayer"}, "unknown --insert-with"),
        ({"step": "l.i9"}, "unknown --step"),
        ({"no_inserts": True}, "--no-inserts needs"),
        ({"no_inserts": True, "query_threads": 1, "max_seconds": 1, "delete_per_insert": True}, "deletes as much"),
        ({"secondary_at_start": True, "secondary_at_end": True}, "exclude each other"),
        ({"rows_per_partition": 2}, "goes with --num-partitions"),
        ({"num_partitions": 2, "max_rows": 0, "max_seconds": 1}, "needs --rows-per-partition"),
        ({"max_seconds": math.nan}, "--max-seconds must be a number, not nan"),
        ({"inserts_per_second": math.inf}, "--inserts-per-second must be a number"),
        ({"seed": 1 << 64}, "--seed must be 0 to 18446744073709551615"),
        ({"max_price": 10**11}, "--max-price must be 0 to"),
        ({"warmup": 2, "max_seconds": 2}, "nothing would count"),
        ({"label": "a/b"}, "cannot be the name of a file"),
        ({"url": "x://", "server_setting": ("a=b",)}, "not for --url"),
        ({"step": "l.i0", "rows_per_commit": 5}, "--rows-per-commit does not go with --step"),
        ({"cells": "5/3", "num_secondary_indexes": 1}, "--num-secondary-indexes does not go with --cells"),
        ({"load_rows": 5}, "--load-rows is for --step"),
        ({"cell_rows": 5}, "--cell-rows is for --cells"),
        ({"step": "all", "secondary_at_start": True}, "that the step l.x builds"),
        ({"query_threads": 1}, "--secondary-at-start makes them"),
        ({"query_threads": 1, "num_secondary_indexes": 0}, "--query-pk-only asks by key"),
        ({"insert_with": "prepared", "rows_per_commit": 20_000, "max_rows": 20_000}, "at most 10922 rows"),
        ({"num_secondary_indexes": 4}, "must be one of 0, 1, 2, 3"),
        ({"customers": 0}, "customers must be 1 to"),
        ({"data_length_max": 5000}, "length of data"),
        ({"table_name": "a; drop table b"}, "not a plain name"),
        ({"generator": "python", "insert_with": "copy"}, "makes text only"),
        ({"server_setting": ("fsync",)}, "NAME=VALUE"),
    ],
)
def test_options_that_make_no_sense_are_refused(wrong: dict[str, Any], problem: str) -> None:
    with pytest.raises(OptionError, match=problem):
        BenchmarkOptions(**wrong)


def test_every_number_has_a_least_value() -> None:
    numbers = {
        n
        for n, f in BenchmarkOptions.__dataclass_fields__.items()
        if isinstance(f.default, (int, float)) and f.default is not True
    }
    booleans = {n for n, f in BenchmarkOptions.__dataclass_fields__.items() if isinstance(f.default, bool)}
    by_choice = {"num_secondary_indexes", "unique_checks", "bulk_load"}
    by_generator = {n for n in numbers if n.startswith(("data_", "cash", "products", "customers", "max_price"))}
    assert numbers - booleans - by_choice - by_generator - set(LEAST) == set()


def test_steps_by_name_are_those_of_iibench() -> None:
    steps = {
        s.name: s for s in plan(BenchmarkOptions(step="all", load_rows=1_000_000, more_rows=100_000, step_seconds=9))
    }
    assert list(steps) == ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qr500", "qr1000", "qp100", "qp500", "qp1000"]
    assert (steps["l.i0"].rows, steps["l.i0"].rows_per_commit, steps["l.i0"].deletes) == (1_000_000, 100, False)
    assert (steps["l.x"].rows, steps["l.x"].indexes_before) == (100, True)
    assert (steps["l.i1"].rows, steps["l.i1"].rows_per_commit, steps["l.i1"].deletes) == (80_000, 50, True)
    assert (steps["l.i2"].rows, steps["l.i2"].rows_per_commit, steps["l.i2"].settle) == (20_000, 5, 61.1)
    assert (steps["qr500"].rate, steps["qr500"].rows_per_commit, steps["qr500"].point_queries) == (500, 50, False)
    assert (steps["qp1000"].rate, steps["qp1000"].seconds, steps["qp1000"].point_queries) == (1000, 9, True)
    assert all(steps[q].queriers == 1 and steps[q].deletes for q in steps if q.startswith("q"))


def test_the_rows_of_a_table_are_divided_among_its_clients() -> None:
    steps = plan(BenchmarkOptions(step="l.i0,l.i1", load_rows=1_000_000, more_rows=100_000, clients=4, tables=2))
    assert [(s.name, s.rows) for s in steps] == [("l.i0", 500_000), ("l.i1", 40_000)]


# schedule


def test_blocks_are_due_at_an_even_pace_whatever_happens_to_those_before() -> None:
    schedule = Schedule(rate=500, rows=50, start=1_000)
    assert [schedule.due(n) for n in range(3)] == [1_000, 100_001_000, 200_001_000]
    assert schedule.due_by(999) == 0
    assert schedule.due_by(1_000) == 1
    assert schedule.due_by(200_000_999) == 2
    assert schedule.due_by(200_001_000) == 3
    assert not Schedule(0, 50, 0).open


@given(st.floats(0.5, 1e6), st.integers(1, 1000), st.integers(0, 2**62), st.integers(0, 10**12))
def test_what_was_due_until_a_moment_is_counted_exactly(rate: float, rows: int, start: int, later: int) -> None:
    schedule = Schedule(rate, rows, start)
    count = schedule.due_by(start + later)
    assert count >= 1
    assert schedule.due(count - 1) <= start + later < schedule.due(count)


# verdict


@pytest.mark.parametrize(
    ("due", "done", "says"),
    [
        (1000, 1000, "sustained"),
        (1000, 990, "sustained"),
        (1000, 989, "not sustained by 1.1%"),
        (500, 461, "not sustained by 7.8%"),
        (1000, 0, "not sustained by 100.0%"),
        (0, 0, "sustained"),
    ],
)
def test_a_rate_was_sustained_or_not_and_by_how_much(due: int, done: int, says: str) -> None:
    verdict = Verdict(due, done)
    assert str(verdict) == says
    assert verdict.sustained == (says == "sustained")


# histograms


def test_percentiles_are_within_a_thousandth() -> None:
    histogram = Histogram()
    for n in range(1, 10_001):
        histogram.record(n * 1_000)
    assert len(histogram) == 10_000
    for percent in (1.0, 50.0, 99.0, 99.9, 100.0):
        assert histogram.percentile(percent) == pytest.approx(percent * 100_000, rel=0.001)
    assert histogram.max() == pytest.approx(10_000_000, rel=0.001)
    assert histogram.mean() == pytest.approx(5_000_500, rel=0.001)


@given(st.lists(st.integers(-10, 2**45), max_size=50), st.lists(st.integers(0, 2**45), max_size=50))
def test_histograms_of_many_processes_add_up(a: list[int], b: list[int]) -> None:
    one, two, both, merged = Histogram(), Histogram(), Histogram(), Histogram()
    for histogram, values in ((one, a), (two, b), (both, a + b)):
        for value in values:
            histogram.record(value)
    merged.add(one.buckets())
    merged.add(two.buckets())
    assert merged.buckets() == both.buckets()
    assert len(merged) == len(a) + len(b)
    merged.clear()
    assert (len(merged), merged.max(), merged.percentile(99), merged.buckets()) == (0, 0, 0, [])


# counters


def test_counters_hold_64_bits_and_are_shared(tmp_path: Path) -> None:
    """Fault 8 of iibench.py: keys and counts beyond 2^31."""
    path = str(tmp_path / "counters")
    writer, reader = Counters(path, 3), Counters(path, 3)
    writer.set_inserted(2, 2**40)
    writer.set_deleted(0, 2**41)
    writer.set_lowest(1, 2**62)
    assert (reader.inserted(2), reader.deleted(0), reader.lowest(1), reader.inserted(0)) == (2**40, 2**41, 2**62, 0)
    assert not reader.stopped
    writer.stop()
    assert reader.stopped
    reader.close()
    writer.close()


# what a process notes


def test_an_operation_belongs_to_the_second_in_which_it_ends_and_none_is_lost() -> None:
    told: list[dict[str, Any]] = []
    recorder = Recorder(0, told.append)
    recorder.start_at(10**9)
    ends = [1.1, 1.9, 2.0, 2.5, 6.0, 6.1]
    for end in ends:
        recorder.note("insert", 50, round(end * 1e9) - 2_000, round(end * 1e9) - 1_000, round(end * 1e9))
    recorder.retried("insert", "40001")
    recorder.finish()
    seconds = {t["interval"]["second"]: t["interval"]["kinds"]["insert"] for t in told}
    assert {n: (k["operations"], k["rows"]) for n, k in seconds.items()} == {0: (2, 100), 1: (2, 100), 5: (2, 100)}
    assert seconds[5]["retries"] == {"40001": 1}
    assert [value for value, _ in seconds[0]["response"]] == pytest.approx([2_000], rel=0.001)
    assert [value for value, _ in seconds[0]["service"]] == pytest.approx([1_000], rel=0.001)


# the proof


def test_an_empty_table_is_found_out_not_stumbled_over() -> None:
    empty = (0, None, None, None, None, None, None, None, None, None, None)
    proof = verify(BenchmarkOptions(), {"t": [Share(0, inserted=10)]}, {"t": empty}, {"t": empty})
    assert not proof.right
    assert "t: rows: expected 10, found 0" in proof.to_json()["wrong"]


def test_what_is_made_for_several_blocks_at_once_falls_to_each_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0]
    monkeypatch.setattr(measure.time, "perf_counter_ns", lambda: now[0])
    monkeypatch.setattr(measure.time, "thread_time_ns", lambda: now[0] // 2)
    stages = measure.Stages()

    def make(at: int) -> list[int]:
        now[0] += 4_000
        return [at] * 4

    made = stages.shared(make)
    for block in [*made(1), *made(5)][:6]:
        mark = stages.begin()
        stages.share("generate")
        now[0] += block
        mark("send")
    assert stages.to_json() == {
        "operations": 6,
        "wall": {"generate": 6_000.0, "send": 14},
        "cpu": {"generate": 3_000.0, "send": pytest.approx(7, abs=6)},
    }
