"""Charts: what is drawn is where it belongs."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headrace_lab.iibench import plots
from headrace_lab.iibench.plots import Curve, chart

finite = st.floats(0, 1e9, allow_nan=False)


def points(svg: str) -> list[list[tuple[float, float]]]:
    found = re.findall(r"points='([^']*)'", svg)
    return [[(float(x), float(y)) for x, y in (p.split(",") for p in line.split())] for line in found]


def picture(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg[: svg.index("</svg>") + len("</svg>")])


def test_more_is_higher_and_later_is_further_right() -> None:
    ((one, two, three),) = points(chart([Curve("a", [0, 1, 2], [0, 50, 100])], "seconds", "rows/s"))
    assert one[0] == plots.LEFT
    assert one[1] == plots.HEIGHT - plots.BOTTOM
    assert one[0] < two[0] < three[0]
    assert one[1] > two[1] > three[1]
    assert two[1] - three[1] == pytest.approx(one[1] - two[1], abs=0.11)


def test_a_tenth_is_a_step_down_where_the_axis_is_logarithmic() -> None:
    ((one, two, three),) = points(chart([Curve("a", [0, 1, 2], [0.1, 1, 10])], "seconds", "ms", logarithmic=True))
    assert one[1] - two[1] == pytest.approx(two[1] - three[1], abs=0.11)


def test_rounds_of_a_run_have_one_colour_and_one_key() -> None:
    svg = chart([Curve("a & b", [0, 1], [1, 2]), Curve("c", [0, 1], [2, 3]), Curve("a & b", [0, 1], [3, 4])], "s", "")
    colours = re.findall(r"stroke='([^']*)'", svg)
    assert colours[0] == colours[2] != colours[1]
    assert svg.count("<span>") == 2
    assert "a &amp; b" in svg


@given(st.lists(st.lists(finite, max_size=5), max_size=4), st.booleans())
@example([[5e-324]], True)
@example([[5e-324]], False)
def test_whatever_was_measured_gives_a_picture_with_all_of_it_inside(values: list[list[float]], log: bool) -> None:
    svg = chart([Curve(str(n), range(len(ys)), ys) for n, ys in enumerate(values)], "s", "ms", logarithmic=log)
    picture(svg)
    for line in points(svg):
        for x, y in line:
            assert 0 <= x <= plots.WIDTH
            assert 0 <= y <= plots.HEIGHT
    assert svg.count("<polyline") + svg.count("<circle") == sum(1 for ys in values if ys)
    assert len(re.findall("<line", svg)) <= 3 * plots.TICKS
