"""The page of figures: parsed by readers of HTML and XML, and fed with names that would be markup."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, tzinfo
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.log.binlog_file import BinlogFile
from binx.log.selection.selection import Selection
from binx.log.selection.times import moment_json
from binx.stats import findings
from binx.stats.activity import INTERVALS_MAXIMUM, Activity, ActivityFigures, Amount
from binx.stats.charts import Series, TimeAxis, heat_map, meter, stacked_chart
from binx.stats.dimensions import STATEMENT_MEASURES, Dimension
from binx.stats.findings import ACTIONS
from binx.stats.gather import gather
from binx.stats.markup import Markup, element, escaped
from binx.stats.page import html_page
from binx.stats.page_sums import PageSums
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


def page_of(paths: Sequence[Path], *, quick: bool = False, zone: tzinfo = UTC, **settings: Any) -> str:
    """The page that the command writes."""
    with ExitStack() as stack:
        files = [stack.enter_context(BinlogFile.open(str(path))) for path in paths]
        sums = PageSums(files, (), zone, quick=quick)
        figures = gather(files, also=sums.takers, quick=quick, zone=zone, **settings)
        return html_page(figures, activity=sums.activity.figures(), statements=sums.statements, zone=zone)


@pytest.fixture(scope="module")
def shop() -> Figures:
    return figures_of(SHOPS["mysql-9.7"], by=[Dimension.HOUR, Dimension.TABLE])


@pytest.fixture(scope="module")
def whole() -> str:
    return page_of(SHOPS["mysql-9.7"])


@pytest.mark.parametrize("shown", ["figures", "with charts"])
def test_a_page_is_well_formed_and_takes_nothing_from_elsewhere(
    shop: Figures, whole: str, shown: str
) -> None:
    page = html_page(shop) if shown == "figures" else whole
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
        assert finding["action"] in text
    for title in ("By hour and table", "Databases", "Kinds", "Sizes", "Servers", "DDL", "Files"):
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


def test_a_quick_look_and_a_selection_are_named() -> None:
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
        "files": [file | {"file": name, "server_version": name} for file in shop["files"]],
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


def histogram_of(sizes: Sequence[int]) -> Figures:
    buckets = [
        {"since": moment_json(place * 60_000_000), "transactions": int(size > 0), "bytes": size}
        for place, size in enumerate(sizes)
    ]
    return {"bucket_seconds": 60, "buckets": buckets}


def bars_of(series: Sequence[Series], **more: Any) -> list[ElementTree.Element]:
    axis = TimeAxis(0, 60_000, len(series[0].values), UTC)
    svg = ElementTree.fromstring(stacked_chart("Bytes", axis, series, height=170, **more))
    return [rect for rect in svg.iter("rect") if rect.get("class") != "band"]


@given(st.lists(st.integers(0, 2**45), min_size=1, max_size=120).filter(any))
def test_bars_are_as_high_as_their_values(sizes: list[int]) -> None:
    heights = [float(bar.get("height") or 0) for bar in bars_of([Series("bytes", "bytes", sizes)])]
    values = [size for size in sizes if size]
    assert len(heights) == len(values)
    assert max(heights) <= 126
    highest = max(values)
    for height, value in zip(heights, values, strict=True):
        assert height == pytest.approx(max(max(heights) * value / highest, 1), abs=0.02)


def test_bars_of_one_time_stand_one_on_the_other() -> None:
    below, above = Series("a", "s-0", [30, 0, 5]), Series("b", "s-1", [10, 0, 20])
    bars = bars_of([below, above])
    assert [bar.get("class") for bar in bars] == ["s-0", "s-1"] * 2
    for first, second in zip(bars[::2], bars[1::2], strict=True):
        assert first.get("x") == second.get("x")
        top = float(second.get("y") or 0) + float(second.get("height") or 0)
        assert top == pytest.approx(float(first.get("y") or 0), abs=0.02)


def test_bursts_have_a_band_behind_them() -> None:
    sizes = [10, 12, 9, 11, 10, 200, 300, 10, 12]
    (burst,) = bursts(histogram_of(sizes))
    assert burst == {
        "since": "1970-01-01T00:05:00Z",
        "until": "1970-01-01T00:07:00Z",
        "transactions": 2,
        "bytes": 500,
        "times_usual": 22.7,
    }
    axis = TimeAxis(0, 60_000, len(sizes), UTC)
    chart = stacked_chart("Bytes", axis, [Series("bytes", "bytes", sizes)], bursts=[burst])
    (band,) = (rect for rect in ElementTree.fromstring(chart).iter("rect") if rect.get("class") == "band")
    assert float(band.get("x") or 0) == pytest.approx(axis.x(300_000), abs=0.01)
    assert float(band.get("width") or 0) == pytest.approx(2 * axis.bar, abs=0.01)


@pytest.mark.parametrize(
    ("length", "count", "zone", "expected"),
    [
        (50, 60, UTC, ["11-21 09:48:52.5", "09:48:53.0", "09:48:53.5"]),
        (1_000, 100, UTC, ["11-21 09:49:00", "09:49:15", "09:49:30"]),
        (60_000, 120, UTC, ["11-21 10:00", "10:15", "10:30"]),
        (3_600_000, 48, ZoneInfo("Europe/Berlin"), ["11-21 12:00", "18:00", "11-22 00:00"]),
        (3_600_000, 48, ZoneInfo("Asia/Kolkata"), ["11-21 18:00", "11-22 00:00", "06:00"]),
        (21_600_000, 100, UTC, ["2026-11-23", "2026-11-30", "2026-12-07"]),
        (10**10, 100, UTC, None),
    ],
)
def test_ticks_stand_at_round_times(
    length: int, count: int, zone: tzinfo, expected: list[str] | None
) -> None:
    axis = TimeAxis(1_795_254_532_150, length, count, zone)
    ticks = list(axis.ticks())
    assert 2 <= len(ticks) <= 9
    if expected is not None:
        assert [text for _, text in ticks][:3] == expected


def test_the_charts_show_what_the_figures_count(whole: str, shop: Figures) -> None:
    reader = Reader(whole)
    assert reader.tags.count("svg") > 4
    assert whole.count('class="ddl"') >= len({one["commit_timestamp"] for one in shop["ddl_statements"]}) / 2
    for one in shop["ddl_statements"][:4]:
        assert " ".join(one["sql"].split())[:40] in reader.text
    for title in (
        "by table, each 50 ms",
        "by kind, each 50 ms",
        "When tables changed",
        "average rate",
        "peak",
    ):
        assert title in reader.text
    assert "Over time, each" not in reader.text


def test_activity_over_time_adds_up_to_the_figures(shop: Figures) -> None:
    with ExitStack() as stack:
        files = [stack.enter_context(BinlogFile.open(str(path))) for path in SHOPS["mysql-9.7"]]
        activity = Activity()
        gather(files, also=[activity.take])
    found = activity.figures()
    assert found is not None
    assert sum(count for count, _ in found.totals) == shop["transactions"]
    assert sum(size for _, size in found.totals) == shop["selected_bytes"]
    assert sum(found.hours.values()) == sum(one["bytes"] for one in shop["tables"])
    for place, name in enumerate(found.tables):
        (one,) = (one for one in shop["tables"] if (one["db"], one["table"]) == name)
        amounts = [amount for (_, table), amount in found.amounts.items() if table == place]
        assert [sum(column) for column in zip(*amounts, strict=True)] == [
            one[column] for column in ("bytes", "inserts", "updates", "deletes")
        ]


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=60))
def test_intervals_are_few_and_lose_nothing(seconds: list[int]) -> None:
    with log_of(map(Statement, seconds)) as file:
        activity = Activity()
        gather([file], also=[activity.take], verify=False)
    found = activity.figures()
    assert found is not None
    assert len(found.totals) <= INTERVALS_MAXIMUM
    assert sum(count for count, _ in found.totals) == len(seconds)


def test_the_heat_map_of_more_than_two_days_is_by_the_hour_of_the_day() -> None:
    table = ("shop", "orders")
    long = ActivityFigures(3_600_000, 0, [(1, 9)] * 72, [table], {(5, 0): Amount(9)}, {(5, 0): 9})
    text = heat_map(long, 20, UTC)
    assert "hour of the day" in text
    assert "shop.orders, 05:00: 9 B" in text
    short = ActivityFigures(3_600_000, 0, [(1, 9)] * 24, [table], {(5, 0): Amount(9)}, {(5, 0): 9})
    assert "shop.orders, 1970-01-01 05:00:00: 9 B" in heat_map(short, 20, UTC)


def test_statements_are_shown_where_the_log_has_them(whole: str, shop: Figures) -> None:
    text = Reader(whole).text
    assert "Statements that wrote the most" in text
    assert "rows whose statement is not in the log" in text
    group = dict.fromkeys(("digest_text", "digest")) | dict.fromkeys(STATEMENT_MEASURES, 1)
    text = Reader(html_page(shop, statements={"by": ["statement"], "groups": [group], "complete": True})).text
    assert "binlog_rows_query_log_events adds them" in text


def test_every_warning_says_what_to_do() -> None:
    kinds = re.findall(r'yield (?:\(\s*)?"(\w+)"', inspect.getsource(findings))
    assert sorted(ACTIONS) == sorted(kinds)


def test_tables_and_charts_scroll_by_themselves(whole: str) -> None:
    root = ElementTree.fromstring(whole)
    wide = [node for node in root.iter() if node.tag == f"{XHTML}table" or node.get("class") == "chart"]
    scrolling = [node for node in root.iter() if node.get("class") == "scroll"]
    assert wide == [child for node in scrolling for child in node]


@pytest.mark.parametrize("sizes", [[], [1, 1, 1, 900], [10] * 20, [10, 39] * 6])
def test_what_is_usual_is_no_burst(sizes: list[int]) -> None:
    assert bursts(histogram_of(sizes) if sizes else None) == []


def test_a_meter_shows_even_little() -> None:
    widths = [
        float(rect.get("width") or 0) for rect in ElementTree.fromstring(meter(1, 1_000_000)).iter("rect")
    ]
    assert widths == [1000, 1]
    assert 'width="0"' in meter(0, 0)
