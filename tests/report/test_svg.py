from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from contextbias.report.figures import Mark, bar_chart, interval_chart, scatter_chart, span
from contextbias.report.svg import to_svg

SVG = "{http://www.w3.org/2000/svg}"
MARKS = [
    Mark("People", "CF", "people", 0.4, 0.3, 0.5),
    Mark("People", "CA-U", "people", 0.2, None, None),
    Mark("Overall", "CF", "all", 0.6, 0.5, 0.7),
]


def drawn(**changes: object) -> ET.Element:
    chart = interval_chart(MARKS, axis="Bias Intensity", domain=(0, 1))
    names = {"ident": "f1", "title": "A <title>", "description": "What is shown"} | changes
    return ET.fromstring(to_svg(chart, **names))  # type: ignore[arg-type]


def texts(root: ET.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def test_a_chart_is_one_named_image_to_a_screen_reader() -> None:
    root = drawn()

    assert root.get("role") == "img"
    names = (root.get("aria-labelledby") or "").split()
    assert [root.find(f".//*[@id='{name}']").text for name in names] == [  # type: ignore[union-attr]
        "A <title>",
        "What is shown",
    ]
    inner = [element for element in root.iter() if element is not root]
    assert not [e for e in inner if e.get("role") or any(k.startswith("aria") for k in e.attrib)]


def test_colours_follow_the_page() -> None:
    colours = {
        value
        for element in drawn().iter()
        for name in ("fill", "stroke")
        if (value := element.get(name)) not in (None, "none", "transparent")
    }

    assert colours == {"var(--people)", "var(--all)", "var(--ink)", "var(--muted)", "var(--grid)"}


def test_rows_stand_under_their_heading_in_the_order_given() -> None:
    shown = [text for text in texts(drawn()) if text in {"People", "Overall", "CF", "CA-U"}]

    assert shown == ["People", "CF", "CA-U", "Overall", "CF"]


def test_an_interval_is_drawn_only_where_there_is_one() -> None:
    with_interval = [e for e in drawn().iter(f"{SVG}line") if e.get("stroke-width") == "2"]

    assert len(with_interval) == 2


def test_a_bar_in_a_name_does_not_break_the_rows() -> None:
    chart = interval_chart([Mark("G", "a|b", "scene", 0.1, None, None)], axis="x", domain=(0, 1))

    assert "a¦b" in to_svg(chart, ident="x", title="t", description="d")


@pytest.mark.parametrize(
    "chart",
    [
        bar_chart(MARKS, axis="share"),
        scatter_chart([{"x": 0.1, "y": 0.2, "cohort": "scene"}], across="planted", up="read"),
        interval_chart(MARKS, axis="difference", domain=(-1, 1), zero=True),
    ],
)
def test_every_kind_of_chart_can_be_drawn(chart: dict[str, object]) -> None:
    root = ET.fromstring(to_svg(chart, ident="x", title="t", description="d"))

    assert len(list(root.iter(f"{SVG}path"))) >= 1


def test_an_axis_holds_zero_and_every_interval() -> None:
    low, high = span(
        [Mark("", "a", "scene", 0.2, 0.1, 0.4), Mark("", "b", "scene", 0.3, None, None)]
    )

    # 0 to .4, and 6% of that width on either side.
    assert (low, high) == pytest.approx((-0.024, 0.424))
