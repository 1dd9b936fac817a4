"""The page of figures: parsed by readers of HTML and XML, and fed with names that would be markup."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.log.file import BinlogFile
from binx.log.selection.moments import moment_json
from binx.log.selection.selection import Selection
from binx.stats.dimensions import Dimension
from binx.stats.gather import gather
from binx.stats.page import Markup, element, escaped, html_page, meter, time_charts
from binx.stats.sums import bursts
from binx.stats.text import bytes_text
from tests.conftest import SHOPS
from tests.stats.logs import Statement, log_of

Figures = dict[str, Any]
XHTML = "{http://www.w3.org/1999/xhtml}"
TAGS = {
    "html", "head", "meta", "title", "style", "body", "h1", "h2", "small", "p", "div", "b", "span", "section",
    "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "code", "svg", "g", "rect", "line", "text", "i",
    "footer",
}  # fmt: skip
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "]]><style>",
    "&lt;&#x00;",
    "a\0b\x1b[31m",
    "\u202egnp.exe",
    "\udc80",
    "</title></style></svg>",
]


class Reader(HTMLParser):
    """What a browser would see: the elements, their attributes, and the text outside of the style."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self._style = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self._style = tag == "style"

    def handle_endtag(self, tag: str) -> None:
        self._style = False

    def handle_data(self, data: str) -> None:
        if not self._style:
            self.text += f"{data}\n"


def figures_of(paths: Sequence[Path], **settings: object) -> Figures:
    files = [BinlogFile.open(str(path)) for path in paths]
    try:
        return gather(files, **settings)  # type: ignore[arg-type]
    finally:
        for file in files:
            file.close()


@pytest.fixture(scope="module")
def shop() -> Figures:
    return figures_of(SHOPS["mysql-9.7"], by=[Dimension.HOUR, Dimension.TABLE])


def test_a_page_is_well_formed_and_takes_nothing_from_elsewhere(shop: Figures) -> None:
    page = html_page(shop)
    root = ElementTree.fromstring(page)
    assert root.tag == f"{XHTML}html"
    reader = Reader(page)
    assert set(reader.tags) <= TAGS
    assert not [name for name, _ in reader.attributes if name in ("src", "href", "srcset", "data", "action")]
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    assert re.findall(r"[a-z]+://[^\"\s]*", page) == ["http://www.w3.org/1999/xhtml"]
    assert "url(" not in page
    assert "@import" not in page


def test_a_page_forbids_scripts_and_requests_to_its_browser(shop: Figures) -> None:
    policies = [
        value
        for name, value in Reader(html_page(shop)).attributes
        if name == "content" and "default" in value
    ]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_a_page_has_the_figures(shop: Figures) -> None:
    text = Reader(html_page(shop)).text
    assert f"{shop['transactions']:,}" in text
    for table in shop["tables"][:10]:
        assert f"{table['db']}.{table['table']}" in text
        assert bytes_text(table["bytes"]) in text
    for one in shop["largest"]:
        assert one["transaction"] in text
    for finding in shop["warnings"]:
        assert finding["message"] in text
    for title in ("By hour and table", "Over time", "Databases", "Kinds", "Sizes", "Servers", "DDL", "Files"):
        assert title in text


def test_a_page_shows_as_many_rows_as_are_wanted(shop: Figures) -> None:
    assert "2 of 13" in Reader(html_page(shop, top=2)).text
    text = Reader(html_page(shop, top=50)).text
    assert len(shop["tables"]) == 13
    assert all(f"{table['db']}.{table['table']}" in text for table in shop["tables"])
    assert " of 13" not in text


def test_the_same_figures_give_the_same_page(shop: Figures) -> None:
    assert html_page(shop) == html_page(shop)


def test_times_are_those_of_the_zone(shop: Figures) -> None:
    text = Reader(html_page(shop, zone=ZoneInfo("Asia/Tokyo"))).text
    assert "(Asia/Tokyo)" in text
    assert "2026-11-21 18:48:52" in text


def test_a_quick_look_and_a_selection_are_told() -> None:
    paths = SHOPS["mariadb-10.11"]
    text = Reader(html_page(figures_of(paths, quick=True))).text
    assert "Quick overview" in text
    assert "Databases" not in text
    text = Reader(html_page(figures_of(paths, selection=Selection(tables=("shop.*",))))).text
    assert "Only transactions with table: ['shop.*']" in text


def test_logs_without_transactions_give_a_page() -> None:
    with log_of([]) as file:
        page = html_page(gather([file]))
    ElementTree.fromstring(page)
    assert "Over time" not in page


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_becomes_markup(shop: Figures, name: str) -> None:
    made = shop | {
        "tables": [one | {"db": name, "table": name} for one in shop["tables"]],
        "databases": [one | {"db": name} for one in shop["databases"]],
        "files": [file | {"name": name, "server_version": name} for file in shop["files"]],
        "ddl_statements": [one | {"db": name, "sql": name} for one in shop["ddl_statements"]],
        "selection": {"tables": [name]},
    }
    page = html_page(made)
    ElementTree.fromstring(page)
    plain, hostile = Reader(html_page(shop)), Reader(page)
    assert set(hostile.tags) <= set(plain.tags)
    assert {key for key, _ in hostile.attributes} == {key for key, _ in plain.attributes}
    assert page.encode("utf-8")


def test_a_statement_of_a_real_log_stays_text() -> None:
    sql = "DROP TABLE `<script>alert(1)</script>`"
    with log_of([Statement(sql=sql, db="<b>&")]) as file:
        reader = Reader(html_page(gather([file], verify=False)))
    assert sql in reader.text
    assert "<b>&" in reader.text
    assert "script" not in reader.tags


@given(st.text())
def test_any_text_is_one_text_node_of_an_element(text: str) -> None:
    node = ElementTree.fromstring(element("p", text, title=text))
    assert len(node) == 0
    assert escaped(escaped(text)) == escaped(text)


def test_markup_is_not_escaped_again() -> None:
    assert element("p", Markup("<b>1</b>"), 2, None, "<") == "<p><b>1</b>2&lt;</p>"
    assert element("rect", class_="a", aria_label='"', x=1.50, y=None) == (
        '<rect class="a" aria-label="&quot;" x="1.5"/>'
    )


def chart_of(sizes: Sequence[int]) -> tuple[Figures, list[float]]:
    buckets = [
        {"since": moment_json(place * 60_000_000), "transactions": int(size > 0), "bytes": size}
        for place, size in enumerate(sizes)
    ]
    histogram = {"bucket_seconds": 60, "buckets": buckets}
    svg = ElementTree.fromstring(next(time_charts(histogram, bursts(histogram), UTC)))
    return histogram, [float(rect.get("height") or 0) for rect in svg.iter("rect")]


@given(st.lists(st.integers(0, 2**45), min_size=1, max_size=240).filter(any))
def test_bars_are_as_high_as_their_values(sizes: list[int]) -> None:
    _, heights = chart_of(sizes)
    values = [size for size in sizes if size]
    assert len(heights) == len(values)
    assert max(heights) <= 126
    highest = max(values)
    for height, value in zip(heights, values, strict=True):
        assert height == pytest.approx(max(max(heights) * value / highest, 1), abs=0.02)


def test_bursts_have_a_colour_of_their_own() -> None:
    histogram, _ = chart_of([10, 12, 9, 11, 10, 200, 300, 10, 12])
    (burst,) = bursts(histogram)
    assert burst == {
        "since": "1970-01-01T00:05:00Z",
        "until": "1970-01-01T00:07:00Z",
        "transactions": 2,
        "bytes": 500,
        "times_usual": 22.7,
    }
    assert "".join(time_charts(histogram, [burst], UTC)).count('class="burst"') == 4


@pytest.mark.parametrize("sizes", [[], [1, 1, 1, 900], [10] * 20, [10, 39] * 6])
def test_what_is_usual_is_no_burst(sizes: list[int]) -> None:
    assert bursts(chart_of(sizes)[0] if sizes else None) == []


def test_a_meter_shows_even_little() -> None:
    widths = [
        float(rect.get("width") or 0) for rect in ElementTree.fromstring(meter(1, 1_000_000)).iter("rect")
    ]
    assert widths == [1000, 1]
    assert 'width="0"' in meter(0, 0)
