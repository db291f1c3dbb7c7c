"""Reports: the same figures in the terminal, in Markdown and on the page, readable where they are read."""

from __future__ import annotations

import base64
import gzip
import html.parser
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from headrace_lab import cli, overview, page, readme, report, service
from headrace_lab.contestants import rival, takes_part
from headrace_lab.differences import DIFFERENCES
from headrace_lab.workloads import WORKLOADS


def row(contestant: str, median: float | None, **more: Any) -> dict[str, Any]:
    plain = {
        "database": "postgresql", "workload": "fetch", "size": 10_000, "contestant": contestant, "cores": "idle",
        "rounds": 15, "digest": "rows:1", "rows_reached_caller": True, "peak_rss_bytes": 40_000_000,
        "disqualified": None, "error": None, "median_s": median, "iqr_s": 0.0001, "client_cpu_s": 0.002,
        "server_cpu_s": 0.0, "ratio_to_floor": None if median is None else median / 0.001,
        "ratio_ci": [0.9, 1.2], "p50_s": None, "p99_s": None, "rival": None, "ratio_to_rival": None,
        "ratio_to_rival_ci": None,
    }  # fmt: skip
    return plain | more


@pytest.fixture
def result() -> dict[str, Any]:
    server = {"server_version": "18.0", "fsync": "off", "ssl": "off", "shared_buffers": "256MB"}
    environment = {"server": server, "python": "3.11", "cpu": "a CPU", "cores": 2, "system": "Linux", "time": "now"}
    rows = [
        row("pg8000", None, error="not offered: <it has no such thing>"),
        row("liar", 0.0005, disqualified="another result"),
        row("psycopg", 0.003, rival="headrace", ratio_to_rival=1.5, ratio_to_rival_ci=[1.4, 1.6]),
        row("asyncpg", 0.002, rival="headrace-async", ratio_to_rival=1.0, ratio_to_rival_ci=[0.9, 1.1]),
        row("headrace", 0.002),
        row("floor", 0.001, rows_reached_caller=False),
    ]
    return {"schema_version": 3, "environment": environment, "results": rows, "contestants": {}, "full": True}


def test_the_floor_is_on_top_and_what_does_not_count_at_the_end(result: dict[str, Any]) -> None:
    ((title, rows),) = report.groups(result)
    assert title == "fetch 10,000: rows of int, varchar(64), int, float8, date"
    assert rows[0]["contestant"] == "floor"
    assert {r["contestant"] for r in rows[-2:]} == {"pg8000", "liar"}


def test_a_race_fails_where_ours_do(result: dict[str, Any]) -> None:
    assert report.failed(result) == []
    result["results"].append(row("headrace-async", None, error="not offered: no such thing"))
    assert report.failed(result) == []
    wrong = [row("headrace-async", 0.1, disqualified="another result"), row("headrace", None, error="it hung")]
    result["results"] += wrong
    assert report.failed(result) == wrong


@pytest.mark.parametrize("width", [80, 100, 180])
def test_the_terminal_table_fits(result: dict[str, Any], width: int, capsys: pytest.CaptureFixture[str]) -> None:
    report.terminal(result, width)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= width
    assert "…" not in out, "nothing may be cut off"
    for word in ("psycopg", "3 ms", "3.00", "1.50x headrace", "=1.00x", "headrace-async"):
        assert word in out, word
    assert ("not shown" in out.lower()) == (width < report.MEDIUM)
    assert "1.00x" not in out.split("liar")[1].split("\n")[0]


def test_markdown_has_every_column(result: dict[str, Any]) -> None:
    text = report.markdown(result)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in lines}) == 1
    assert "count only" in text
    assert "disqualified: another result" in text


class Tags(html.parser.HTMLParser):
    """Counts tags, and collects what the page would load."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = 0
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.rows += tag == "tr"
        self.loaded += [f"{tag} {v}" for k, v in attrs if k in ("src", "href") and v]


def test_the_page_needs_nothing_but_itself(result: dict[str, Any]) -> None:
    text = page.page(result)
    tags = Tags()
    tags.feed(text)
    assert [what for what in tags.loaded if not what.startswith("a data:application/gzip;base64,")] == []
    assert tags.rows == 2 + 1 + len(result["results"]), "the overview, with a line for the workload, and its details"
    assert "&lt;it has no such thing&gt;" in text
    assert 'name="viewport"' in text or "name='viewport'" in text
    assert "1.50x headrace" in text


@pytest.mark.parametrize("database", DIFFERENCES)
def test_the_page_of_a_whole_race_is_small(database: str, result: dict[str, Any]) -> None:
    """All rows of its plan: every figure is there, and none is like another one."""
    plan = cli.plan_of(cli.parser().parse_args(["race", "--full", "--database", database]))
    rng = random.Random(1)

    def seconds() -> float:
        return float(10 ** rng.uniform(-5, 0))

    result["results"] = [
        row(
            name,
            seconds(),
            workload=workload,
            size=size,
            cores=kind,
            rival=rival(name),
            peak_rss_bytes=rng.randrange(10**8),
        )
        | {key: seconds() for key in ("iqr_s", "client_cpu_s", "server_cpu_s")}
        | {key: seconds() for key in ("p50_s", "p99_s") if WORKLOADS[workload].one_query}
        | {key: rng.uniform(0.5, 9) for key in ("ratio_to_floor", "cpu_ratio_to_floor", "ratio_to_rival")}
        | {key: [rng.uniform(0.5, 9), rng.uniform(0.5, 9)] for key in ("ratio_ci", "ratio_to_rival_ci")}
        for workload, size in plan.workloads
        for kind in (("shared", "idle", "awake") if WORKLOADS[workload].one_query else ("idle",))
        for name in plan.contestants
        if takes_part(name, workload)
    ]
    assert len(result["results"]) > 100
    size_of_page = len(page.page(result).encode())
    assert size_of_page < 165_000


def test_the_data_of_the_page_is_the_report(result: dict[str, Any]) -> None:
    found = re.search(r"data:application/gzip;base64,([^']*)", page.page(result))
    assert found is not None
    data = json.loads(gzip.decompress(base64.b64decode(found[1])))
    columns = data.pop("results")
    assert [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)] == result[
        "results"
    ]
    assert data == {key: value for key, value in result.items() if key != "results"}


def test_the_page_says_where_and_how_it_was_raced(result: dict[str, Any]) -> None:
    result["contestants"] = {"psycopg": {"version": "3.3.9", "options": {}}}
    result["environment"] |= {"load_start": 1.25, "load_end": 2.0, "load_warning": "The machine was busy."}
    text = page.page(result)
    environment = result["environment"]
    for visible in ("psycopg 3.3.9", "1.25 at the start", "The machine was busy.", "Rounds", environment["cpu"]):
        assert visible in text, visible
    assert environment["server"]["server_version"] in text
    assert environment["time"] in text


def test_the_page_of_a_race_without_the_floor_does_not_name_it(result: dict[str, Any]) -> None:
    result["results"] = [each for each in result["results"] if each["contestant"] != "floor"]
    for each in result["results"]:
        each |= dict.fromkeys(("ratio_to_floor", "ratio_ci", "cpu_ratio_to_floor"))
    body = page.page(result).partition("</style>")[2]
    shown = re.sub(r"class='[^']*'|href='[^']*'", "", body)
    assert "floor" not in shown


def test_the_overview_has_a_ratio_of_wall_time_and_of_cpu_for_each_contestant(result: dict[str, Any]) -> None:
    for r in result["results"]:
        if r["contestant"] == "psycopg":
            r["client_cpu_s"] = 0.012
    made = overview.overview(result)
    assert made.contestants == ["headrace", "liar", "asyncpg", "psycopg", "pg8000"], "the fastest others first"
    (line,) = made.lines
    assert line.label == "fetch 10,000"
    assert line.floor == "1 ms · 2 ms"
    cells = dict(zip(made.contestants, line.ratios, strict=True))
    assert cells["psycopg"] == overview.Ratio(3.0, 6.0)
    assert cells["headrace"] == overview.Ratio(2.0, 1.0)
    assert cells["headrace"].shades == (2, 0)
    assert [cells[name].wall for name in ("liar", "pg8000")] == [None, None]
    assert cells["liar"].problem == "disqualified: another result"


def test_a_line_without_a_floor_has_ratios_to_the_least(result: dict[str, Any]) -> None:
    for r in result["results"]:
        if r["contestant"] == "floor":
            r["error"] = "not offered: no dialect"
        r["ratio_to_floor"] = r["cpu_ratio_to_floor"] = None
        r["client_cpu_s"] = 0.006 if r["contestant"] == "psycopg" else 0.002
    made = overview.overview(result)
    (line,) = made.lines
    cells = dict(zip(made.contestants, line.ratios, strict=True))
    assert (line.floor, cells["headrace"]) == ("least 2 ms · 2 ms", overview.Ratio(1.0, 1.0))
    assert cells["psycopg"] == overview.Ratio(1.5, 3.0)
    assert "to the <i>least</i> of all contestants" in page.page(result)


@pytest.mark.parametrize(
    ("intervals", "verdict"),
    [
        ([[1.4, 1.6], [1.1, 1.2]], "faster than all others"),
        ([[1.4, 1.6]], "faster than one"),
        ([[1.4, 1.6], [0.9, 1.2]], "no difference shown to two"),
        ([[0.7, 0.9], [0.9, 1.2]], "slower than one"),
        ([], "-"),
    ],
)
def test_a_verdict_names_who_headrace_is_not_faster_than(intervals: list[list[float]], verdict: str) -> None:
    names = ("one", "two")
    rows = [row(name, 0.003, ratio_to_rival_ci=interval) for name, interval in zip(names, intervals, strict=False)]
    assert overview.verdict_of([row("headrace", 0.002), *rows]) == verdict


def test_a_report_of_before_has_the_cpus_ratio_too(result: dict[str, Any]) -> None:
    assert "cpu_ratio_to_floor" not in result["results"][0]
    assert "| 1.00 |" in report.markdown(result)


def test_a_baseline_is_compared_by_the_ratio_to_the_floor(result: dict[str, Any]) -> None:
    before = json.loads(json.dumps(result))
    assert report.compare(result, before, 0.25) == []
    for r in before["results"]:
        r["median_s"] = 1000.0  # another machine
        if r["ratio_to_floor"]:
            r["ratio_to_floor"] /= 1.5
    (worse,) = report.compare(result, before, 0.25)
    assert "headrace" in worse
    assert "2.00 of the floor, 1.33" in worse
    assert report.compare(result, before, 0.6) == []
    before["results"] = [r | {"workload": "stream"} for r in before["results"]]
    with pytest.raises(ValueError, match="in common"):
        report.compare(result, before, 0.25)


@pytest.mark.parametrize("how", ["error", "disqualified"])
def test_what_fails_is_worse_than_any_baseline(result: dict[str, Any], how: str) -> None:
    """Its line has no ratio, or one that does not count, and must not go missing."""
    before = json.loads(json.dumps(result))
    ours = next(r for r in result["results"] if r["contestant"] == "headrace" and r["ratio_to_floor"])
    ours[how] = "it went wrong"
    (worse,) = report.compare(result, before, 0.25)
    assert "headrace" in worse
    assert "it went wrong" in worse


OTHERS = [name for name in readme.OVERVIEW_DATABASES if name != "postgresql"]


def marked(name: str) -> str:
    begin, end = readme.marks(name)
    return f"{begin}\nold\n{end}\n"


def emptied(name: str) -> str:
    begin, end = readme.marks(name)
    return f"{begin}\n\n{end}\n"


def test_figures_are_written_between_the_marks_only(result: dict[str, Any], tmp_path: Path) -> None:
    results, page, target = tmp_path / "r.json", tmp_path / "race.md", tmp_path / "README.md"
    results.write_text(json.dumps(result))
    others = "".join(marked(name) + emptied(name + readme.CPU) for name in OTHERS)
    others = others.replace(
        "old", "| | floor | headrace |\n|---|---|---|\n| fetch 10,000 rows × 5 | 1 ms | 2 ms (2.00) |"
    )
    page.write_text(f"before\n{marked('postgresql')}{marked('postgresql-cpu')}{others}after\n")
    target.write_text(f"# Name\n{marked(readme.OVERVIEW)}{marked(readme.OVERVIEW + readme.CPU)}more\n")
    assert readme.main([str(results), str(page), str(target)]) == 0
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "2 ms (2.00)" in text
    text = target.read_text()
    assert text.startswith("# Name\n")
    assert text.endswith("more\n")
    assert "| PostgreSQL |" in text
    target.write_text("no marks\n")
    before = page.read_text()
    assert readme.main([str(results), str(page), str(target)]) == 2
    assert (page.read_text(), target.read_text()) == (before, "no marks\n")


def test_figures_of_arrow_have_a_table_of_their_own(result: dict[str, Any], tmp_path: Path) -> None:
    """And those of other workloads, which were not raced, stay."""
    names = ("floor", "headrace", "adbc")
    result["results"] = [row(name, 0.001 * (i + 1), workload="arrow", size=1_000) for i, name in enumerate(names)]
    results, page, target = tmp_path / "r.json", tmp_path / "race.md", tmp_path / "README.md"
    results.write_text(json.dumps(result))
    table = marked("postgresql").replace("old", "| | floor |\n|---|---|\n| fetch 10,000 rows × 5 | 1 ms (1.00) |")
    others = "".join(table.replace("postgresql", name) for name in readme.OVERVIEW_DATABASES if name != "postgresql")
    cpu = "".join(emptied(name + readme.CPU) for name in readme.OVERVIEW_DATABASES)
    arrow = "postgresql" + readme.ARROW
    page.write_text(f"{table}{others}{cpu}{marked(arrow)}{marked(arrow + readme.CPU)}")
    target.write_text(f"{marked(readme.OVERVIEW)}{marked(readme.OVERVIEW + readme.CPU)}")
    assert readme.main([str(results), str(page), str(target)]) == 0
    text = page.read_text()
    assert table in text
    assert "| 1,000 rows × 5 | 1 ms | 2 ms (2.00) | - | 3 ms (3.00) |" in text
    assert text.count("| 1,000 rows × 5 |") == 2


def test_overview_names_the_fastest_other_driver() -> None:
    table = (
        "| | floor | headrace | headrace-async | psycopg | pg8000 |\n|---|---:|---:|---:|---:|---:|\n"
        "| fetch 100,000 rows × 5 | 1 ms | 1.2 ms (1.20) | 1 ms (1.00) | 3 ms (3.00) | 1.1 ms (1.10) |\n"
        "| connect and close | 1 ms | 2 ms (2.00) | - | - | - |"
    )
    page = "".join(marked(name).replace("old", table) for name in readme.OVERVIEW_DATABASES)
    lines = readme.overview(page).splitlines()
    assert "| fetch 100,000 rows × 5 |" + " **1.20**, pg8000 1.10 |" * 5 in lines
    assert "| connect and close |" + " - |" * 5 in lines


def test_overview_of_the_readme_is_that_of_the_page() -> None:
    root = Path(__file__).resolve().parents[2]
    page, text = ((root / name).read_text(encoding="utf-8") for name in ("docs/race/index.md", "README.md"))
    begin, end = readme.marks(readme.OVERVIEW)
    assert f"{begin}\n{readme.overview(page)}\n{end}" in text
    begin, end = readme.marks(readme.OVERVIEW + readme.CPU)
    assert f"{begin}\n{readme.cpu_overview(page)}\n{end}" in text
    for name, picture in readme.pictures(page).items():
        assert (root / "docs/race" / name).read_text(encoding="utf-8") == picture
        assert page.index(name) < page.index("## Results") < page.index("## Rules")


def test_client_cpu_is_shown_for_each_row_with_its_ratio_to_the_floor(result: dict[str, Any]) -> None:
    costs = {"floor": 0.001, "headrace": 0.002, "psycopg": 0.005, "pg8000": 0.1}
    result["results"] = [row(name, 0.01, client_cpu_s=cost) for name, cost in costs.items()]
    result["results"].append(row("asyncpg-uvloop", 0.01, client_cpu_s=0.0, disqualified="another result"))
    table = readme.cpu_table(result)
    assert "| fetch 10,000 rows × 5 | 100 ns | 200 ns (2.00) | - | 500 ns (5.00) | - | - | 10 µs (100.00) |" in table
    page = marked("postgresql-cpu").replace("old", table.replace("fetch 10,000 rows", "fetch 100,000 rows"))
    page += emptied("postgresql") + "".join(marked(name).replace("old", table) for name in OTHERS)
    page += "".join(emptied(name + readme.CPU) for name in OTHERS)
    assert readme.cpu_overview(page).splitlines()[4:] == [
        "| fetch 100,000 rows × 5 | **200 ns (2.00)**, psycopg 500 ns (5.00) | - | - | - | - |"
    ]


def test_readme_says_nothing_of_client_cpu_before_it_was_measured() -> None:
    page = "".join(emptied(name) + emptied(name + readme.CPU) for name in readme.OVERVIEW_DATABASES)
    assert readme.cpu_overview(page) == ""
    assert readme.overview(page).startswith("| |  |"), "a database without a table has no column"


def test_figures_of_a_web_service_have_a_table_of_their_own(result: dict[str, Any], tmp_path: Path) -> None:
    def of(name: str, contestant: str, median: float, **more: Any) -> dict[str, Any]:
        sizes = {workload: size for workload, size, _, _ in service.COLUMNS}
        return row(contestant, median, workload=name, size=sizes[name], p50_s=0.004, p99_s=0.007, **more)

    result["results"] = [
        of("pool_load", "asyncpg-uvloop", 0.0001),
        of("pool_load", "headrace-uvloop", 0.00005),
        of("pool_load", "floor", 0.00002),
        of("pool_threads", "headrace", 0.00007),
        of("beside_bulk", "headrace-uvloop", 0.02, longest_s=0.009),
        of("beside_bulk", "liar", 0.01, longest_s=0.009, disqualified="another result"),
    ]
    results, page, target = tmp_path / "r.json", tmp_path / "race.md", tmp_path / "README.md"
    results.write_text(json.dumps(result))
    every = "".join(emptied(name) + emptied(name + readme.CPU) for name in OTHERS)
    page.write_text(f"{marked('postgresql')}{marked('postgresql-cpu')}{marked('postgresql-service')}{every}")
    target.write_text(f"{marked(readme.OVERVIEW)}{marked(readme.OVERVIEW + readme.CPU)}")
    assert readme.main([str(results), str(page), str(target)]) == 0
    lines = page.read_text().splitlines()
    assert "| floor | 20 µs | 4 ms | 7 ms | - | - | - | - | - | - | - |" in lines
    assert "| headrace-uvloop | 50 µs (0.05) | 4 ms | 7 ms | - | - | - | 4 ms | 7 ms | 9 ms | 20 ms |" in lines
    assert not any(line.startswith("| liar") for line in lines)


def test_readme_has_the_pools_of_a_race_of_a_web_service_alone(result: dict[str, Any], tmp_path: Path) -> None:
    """The usual table keeps its rows; pools of drivers that are in no other table are in the README's."""
    result["results"] = [
        row(name, median, workload="pool_load", size=100, p50_s=0.004, p99_s=0.007)
        for name, median in (("psycopg-uvloop", 0.0001), ("headrace-uvloop", 0.00005), ("floor", 0.00002))
    ]
    results, page, target = tmp_path / "r.json", tmp_path / "race.md", tmp_path / "README.md"
    results.write_text(json.dumps(result))
    usual = "| | floor | headrace |\n|---|---:|---:|\n| connect and close | 1 ms | 2 ms (2.00) |"
    others = "".join(emptied(name) + emptied(name + readme.CPU) for name in OTHERS)
    table = marked("postgresql").replace("old", usual)
    page.write_text(f"{table}{emptied('postgresql-cpu')}{marked('postgresql-service')}{others}")
    target.write_text(f"{marked(readme.OVERVIEW)}{marked(readme.OVERVIEW + readme.CPU)}")
    assert readme.main([str(results), str(page), str(target)]) == 0
    assert usual in page.read_text()
    assert "| 100 tasks on a pool of 10, asyncio | **0.05**, psycopg-uvloop 0.10 |" in target.read_text().splitlines()


def test_client_cpu_of_a_pool_is_that_of_a_query(result: dict[str, Any]) -> None:
    result["results"] = [
        row(name, 0.01, workload="pool_load", size=100, client_cpu_s=0.00004) for name in ("floor", "headrace-uvloop")
    ]
    assert "| 100 tasks on a pool of 10, asyncio | 40 µs | - | 40 µs (1.00) |" in readme.cpu_table(result)
    ((_, (floor, _)),) = report.groups(result)
    assert report.cells(floor)[report.HEADINGS.index("per row")] == "40 µs"
