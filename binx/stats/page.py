"""Render figures as one self-contained HTML page: no scripts, no other files, no network.

It is well-formed as HTML and as XML, and no text from a log can become markup.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, tzinfo
from typing import Any

from binx.log.selection.moments import zone_name
from binx.source.wording import counted, listed, shortened
from binx.stats.gather import incomplete
from binx.stats.sections import BARS, Record, Section, breakdown_section, sections, share
from binx.stats.text import (
    bytes_text,
    duration_text,
    moment_of,
    period_text,
    safe_text,
    second_text,
)
from binx.version import __version__

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_NAMES_SHOWN = 3
_CHARACTERS = 400
_WIDTH, _HEIGHT = 1040, 170
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 22, 22
_LABELS = 6
_DAY = 86_400
_METER = 1_000
_LEAST = 1.0


def html_page(figures: Record, *, top: int = 10, zone: tzinfo = UTC) -> str:
    """Return a page with all figures; the same figures give the same page."""
    names = [file["file"] for file in figures["files"]]
    files = ", ".join(names) or "none"
    if len(names) > _NAMES_SHOWN:
        files = f"{names[0]} to {names[-1]}, {len(names):,} files"
    title = f"Binary logs: {files}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("title", title),
        element("style", Markup(STYLE)),
    )
    body = element(
        "body",
        element("h1", title),
        *(element("p", text, class_="soft") for text in _about(figures, zone)),
        element("div", *_tiles(figures), class_="tiles"),
        _warnings(figures),
        *_tables(figures, top, zone),
        element("footer", f"binx {__version__}; times are those of {zone_name(zone)}"),
    )
    page = element("html", head, body, lang="en", xmlns="http://www.w3.org/1999/xhtml")
    return f"<!DOCTYPE html>\n{page}\n"


def _about(figures: Record, zone: tzinfo) -> Iterator[str]:
    servers = dict.fromkeys(
        f"{file['flavour']} {file['server_version']}, server id {file['server_id']}"
        for file in figures["files"]
    )
    yield listed(servers, _NAMES_SHOWN, separator="; ")
    if figures["first"] is not None:
        first, last = (
            second_text(moment_of(figures[name]["commit_timestamp"]), zone) for name in ("first", "last")
        )
        yield f"From {first} to {last} ({zone_name(zone)})"
    if figures["selection"]:
        chosen = "; ".join(f"{name}: {value}" for name, value in figures["selection"].items())
        yield f"Only transactions with {chosen}"
    if figures["quick"]:
        yield "Quick overview: rows, tables and event types were not read."


def _tiles(figures: Record) -> Iterator[Markup]:
    texts = [
        (bytes_text(figures["bytes"]), f"in {counted(len(figures['files']), 'file')}"),
        (f"{figures['transactions']:,}", "transactions"),
    ]
    if figures["tables"] is not None:
        tables = counted(len(figures["tables"]), "table")
        texts.append((f"{figures['rows']:,}", f"row changes in {tables}"))
    if figures["first"] is not None:
        first, last = (moment_of(figures[name]["commit_timestamp"]) for name in ("first", "last"))
        texts.append((duration_text(max(last - first, 0)), "from first to last commit"))
        texts.append((bytes_text(figures["largest"][0]["bytes"]), "largest transaction"))
    compressed = share(figures["compression"]["bytes"], figures["selected_bytes"])
    checksummed = share(figures["checksummed_bytes"], figures["bytes"])
    for ratio, label in ((compressed, "in compressed transactions"), (checksummed, "with checksums")):
        if ratio is not None:
            texts.append((f"{ratio:.1%}", label))
    for value, label in texts:
        yield element("div", element("b", value), element("span", label), class_="tile")


def _warnings(figures: Record) -> Markup:
    texts = [warning["message"] for warning in figures["warnings"]]
    texts += [
        f"too many {what} to count them all; those with the most bytes were kept"
        for what in incomplete(figures)
    ]
    if not texts:
        return Markup()
    items = element("ul", *(element("li", text) for text in texts))
    return element("section", element("h2", "Warnings"), items, class_="warnings")


def _tables(figures: Record, top: int, zone: tzinfo) -> Iterator[Markup]:
    """Yield the charts, and the same tables as on a terminal."""
    if figures["breakdown"] is not None:
        yield _table(breakdown_section(figures["breakdown"], top, zone))
    if figures["histogram"] is not None:
        title = element("h2", f"Over time ({zone_name(zone)})")
        key = element("span", element("i", class_="burst"), "bursts: over four times the usual bytes")
        legend = element("p", key, class_="legend") if figures["bursts"] else None
        charts = time_charts(figures["histogram"], figures["bursts"], zone)
        yield element("section", title, legend, *charts)
    # The first table repeats the tiles.
    _, *others = sections(figures, top, zone)
    yield from map(_table, others)


def _table(section: Section) -> Markup:
    """Render a table; sizes have a bar next to them."""
    titles = [column.title for column in section.columns]
    has_bars = any(column.form.kind == BARS for column in section.columns)
    sizes = titles.index("Bytes") if "Bytes" in titles and len(section.rows) > 1 and not has_bars else None
    largest = 0 if sizes is None else max(row[sizes] for row in section.rows)

    def cells(row: Sequence[Any]) -> Iterator[Markup]:
        for index, (column, value) in enumerate(zip(section.columns, row, strict=True)):
            if column.form.kind == BARS:
                shown: Child = meter(value.value, value.largest)
            else:
                shown = "–" if value is None else shortened(column.form.people(value), _CHARACTERS)
            yield element("td", shown, class_=column.form.kind)
            if index == sizes:
                yield element("td", meter(value, largest), class_=BARS)

    heads = []
    for index, column in enumerate(section.columns):
        heads.append(element("th", column.title, class_=column.form.kind))
        heads += [element("th", class_=BARS)] if index == sizes else []
    table = element(
        "table",
        element("thead", element("tr", *heads)),
        element("tbody", *(element("tr", *cells(row)) for row in section.rows)),
    )
    return element("section", element("h2", section.title), table)


def meter(value: int, largest: int) -> Markup:
    """Render a bar, scaled to the largest value of its column."""
    width = value / largest * _METER if largest else 0.0
    return element(
        "svg",
        element("rect", class_="track", width=_METER, height=12, rx=3),
        element("rect", class_="bytes", width=max(width, _LEAST) if value else 0, height=12, rx=3),
        viewBox=f"0 0 {_METER} 12",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def time_charts(histogram: Record, bursts: Sequence[Record], zone: tzinfo) -> Iterator[Markup]:
    """Render bytes and transactions over time, with bursts highlighted."""
    spans = [(moment_of(burst["since"]), moment_of(burst["until"])) for burst in bursts]
    for name, text_of, step_of in (
        ("bytes", bytes_text, _byte_step),
        ("transactions", "{:,}".format, _number_step),
    ):
        yield _time_chart(name, text_of, step_of, histogram, spans, zone)


def _time_chart(
    name: str,
    text_of: Callable[[int], str],
    step_of: Callable[[int], int],
    histogram: Record,
    bursts: Sequence[tuple[int, int]],
    zone: tzinfo,
) -> Markup:
    buckets, title = histogram["buckets"], name.capitalize()
    most = max(bucket[name] for bucket in buckets)
    step = step_of(most)
    top = -(-most // step) * step
    plot_height = _HEIGHT - _TOP - _BOTTOM
    bar_width = (_WIDTH - _LEFT - _RIGHT) / len(buckets)
    span = period_text(histogram["bucket_seconds"])
    parts = [element("text", f"{title}, each {span}", class_="title", x=0, y=12)]
    for level in range(0, top + 1, step):
        y = _TOP + plot_height - plot_height * level / top
        parts.append(element("line", class_="grid", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y))
        parts.append(element("text", text_of(level), x=_LEFT - 8, y=y + 4, text_anchor="end"))
    for index, bucket in enumerate(buckets):
        value, start = bucket[name], moment_of(bucket["since"])
        if not value:
            continue
        height = max(plot_height * value / top, _LEAST)
        bar = element(
            "rect",
            class_="burst" if any(first <= start < end for first, end in bursts) else "bytes",
            x=_LEFT + bar_width * index,
            y=_TOP + plot_height - height,
            width=max(bar_width - min(1.0, bar_width / 4), 0.5),
            height=height,
        )
        tip = element("title", f"{second_text(start, zone)}: {text_of(value)}")
        parts.append(element("g", tip, bar))
    parts += _time_labels(histogram, bar_width, zone)
    size = f"0 0 {_WIDTH} {_HEIGHT}"
    return element("svg", *parts, class_="chart", viewBox=size, role="img", aria_label=f"{title} over time")


def _time_labels(histogram: Record, bar_width: float, zone: tzinfo) -> list[Markup]:
    """Render a few times below the bars: dates for long spans, else times of day."""
    buckets = histogram["buckets"]
    count = len(buckets)
    step = max(-(-count // _LABELS), 1)
    seconds = count * histogram["bucket_seconds"]
    labels = []
    for index in range(0, count, step):
        text = second_text(moment_of(buckets[index]["since"]), zone)
        if seconds > 60 * _DAY:
            text = text[:10]
        elif seconds > _DAY:
            text = text[5:16]
        elif index:
            text = text[11:]
        x = _LEFT + bar_width * index
        labels.append(
            element("line", class_="grid", x1=x, x2=x, y1=_HEIGHT - _BOTTOM, y2=_HEIGHT - _BOTTOM + 4)
        )
        labels.append(element("text", text, x=x, y=_HEIGHT - 5))
    return labels


def _number_step(largest: int) -> int:
    """Return a round step, two to five of which make up the largest."""
    unit = 1
    while unit * 10 <= largest:
        unit *= 10
    for factor in (1, 2, 5, 10):
        step = max(unit * factor // 5, 1)
        if largest <= 4 * step:
            return step
    return unit * 5


def _byte_step(largest: int) -> int:
    """Return the same in binary units."""
    unit = 1
    while unit * 1024 <= largest:
        unit *= 1024
    return _number_step(-(-largest // unit)) * unit


_VOID = frozenset({"meta", "rect", "line", "col"})


class Markup(str):
    """Text that is already markup; all other texts are escaped."""

    __slots__ = ()


Child = str | int | None
"""Content of an element: markup, text, a number, or nothing."""


def escaped(child: Child) -> Markup:
    """Convert a child to markup; invisible characters, and those invalid in XML, become visible escapes."""
    if isinstance(child, Markup):
        return child
    return Markup("" if child is None else html.escape(safe_text(str(child))))


def element(name: str, /, *children: Child, **attributes: str | int | float | None) -> Markup:
    """Render an element.

    Args:
        attributes: by name, with ``_`` for a hyphen and at the end of Python keywords (``class_``); None
            omits an attribute.
    """
    head = name + "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{head}/>")
    return Markup(f"<{head}>{''.join(map(escaped, children))}</{name}>")


def _number(value: str | int | float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


STYLE = """
:root { color-scheme: light; --page: #f9f9f7; --card: #ffffff; --ink: #16150f; --soft: #5c5b55;
  --line: #e3e2dc; --bytes: #2a78d6; --burst: #d95926; --note: #fdf4dc; --edge: #d99a00; --track: #efeee9; }
@media screen and (prefers-color-scheme: dark) { :root { color-scheme: dark; --page: #111110; --card: #1b1b19;
  --ink: #f3f2ec; --soft: #b0aea5; --line: #33322e; --bytes: #3987e5; --burst: #e2703f; --note: #2a2415;
  --edge: #c98500; --track: #292825; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1120px; padding: 28px 24px 40px; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 26px; line-height: 1.2; margin: 0 0 4px; }
h2 { font-size: 17px; margin: 0 0 12px; }
p { margin: 0 0 8px; }
.soft { color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(128px, 1fr)); gap: 12px;
  margin: 20px 0; }
.tile, section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
.tile { padding: 12px 14px; }
.tile b { display: block; font-size: 22px; line-height: 1.25; font-weight: 600; }
.tile span { color: var(--soft); font-size: 13px; }
section { padding: 16px 18px; margin: 0 0 16px; overflow-x: auto; }
section.warnings { background: var(--note); border-color: var(--edge); }
.warnings ul { margin: 0; padding-left: 20px; }
.warnings li { margin: 0 0 4px; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { text-align: left; font-weight: 500; color: var(--soft); border-bottom: 1px solid var(--line);
  padding: 3px 12px 5px 0; white-space: nowrap; }
td { padding: 4px 12px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tr:last-child td { border-bottom: 0; }
th:last-child, td:last-child { padding-right: 0; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.time { white-space: nowrap; font-variant-numeric: tabular-nums; }
.name { overflow-wrap: anywhere; min-width: 9em; }
.meter { width: 22%; min-width: 110px; }
.meter svg { display: block; width: 100%; height: 12px; margin-top: 5px; }
.legend { display: flex; gap: 16px; font-size: 13px; color: var(--soft); margin: 0 0 8px; }
.legend i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 6px; }
.chart { display: block; width: 100%; min-width: 640px; height: auto; margin-bottom: 6px; }
.chart text { font-size: 11px; fill: var(--soft); }
.chart .title { font-size: 12px; fill: var(--ink); }
.grid { stroke: var(--line); stroke-width: 1; }
.bytes { fill: var(--bytes); } .burst { fill: var(--burst); background: var(--burst); }
.track { fill: var(--track); }
footer { color: var(--soft); font-size: 13px; margin-top: 20px; }
@media (max-width: 760px) { body { padding: 16px 12px; } }
@media print { @page { margin: 14mm 12mm; } body { max-width: none; padding: 0; font-size: 11px;
    --page: #ffffff; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; } table { font-size: 10px; }
  h1 { font-size: 20px; } h2 { font-size: 13px; break-after: avoid; } .tile b { font-size: 16px; }
  tr, .tile, .chart { break-inside: avoid; } thead { display: table-header-group; }
  section { overflow: visible; padding: 10px 12px; margin-bottom: 10px; } .chart { min-width: 0; }
  .tiles { grid-template-columns: repeat(4, 1fr); gap: 8px; margin: 12px 0; }
  .tile span, .legend, footer { font-size: 10px; } .meter { min-width: 80px; }
  .meter svg { height: 9px; margin-top: 3px; } }
"""
"""Without ``<`` and ``&``, so that it is valid in HTML and in XML."""
