"""Render figures as one self-contained HTML page: no scripts, no other files, no network.

It is well-formed as HTML and as XML, and no text from a log can become markup.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, tzinfo
from typing import Any

from binx.log.selection.times import zone_name
from binx.source.wording import counted, listed, shortened
from binx.stats.activity import ActivityFigures
from binx.stats.charts import (
    MARK,
    SERIES,
    Series,
    TimeAxis,
    heat_map,
    length_text,
    meter,
    stacked_chart,
    table_text,
)
from binx.stats.gather import incomplete
from binx.stats.markup import Child, Markup, element
from binx.stats.page_style import STYLE
from binx.stats.sections import BARS, Record, Section, breakdown_section, sections, share
from binx.stats.text import bytes_text, duration_text, moment_of, period_text, second_text
from binx.version import __version__

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_NAMES_SHOWN = 3
_CHARACTERS = 400
_HEAT_ROWS = 20
_OF_HISTOGRAM = "Over time"
_WITHOUT_TEXT = "(rows whose statement is not in the log)"
_LONG = 60
"""Texts of more characters get a wide column."""
_OPERATIONS = ("inserts", "updates", "deletes")


def html_page(
    figures: Record,
    *,
    activity: ActivityFigures | None = None,
    statements: Record | None = None,
    top: int = 10,
    zone: tzinfo = UTC,
) -> str:
    """Return a page with all figures; the same figures give the same page.

    Args:
        activity: what was done over time; None for a page without these charts.
        statements: the breakdown by statement, if it was made.
    """
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
        element("div", *_tiles(figures, zone), class_="tiles"),
        _warnings(figures),
        *_charts(figures, activity, zone),
        *_tables(figures, statements, top, zone),
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


def _tiles(figures: Record, zone: tzinfo) -> Iterator[Markup]:
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
        texts += _rates(figures, zone)
        texts.append((bytes_text(figures["largest"][0]["bytes"]), "largest transaction"))
    compressed = share(figures["compression"]["bytes"], figures["selected_bytes"])
    checksummed = share(figures["checksummed_bytes"], figures["bytes"])
    for ratio, label in ((compressed, "in compressed transactions"), (checksummed, "with checksums")):
        if ratio is not None:
            texts.append((f"{ratio:.1%}", label))
    for value, label in texts:
        yield element("div", element("b", value), element("span", label), class_="tile")


def _rates(figures: Record, zone: tzinfo) -> Iterator[tuple[str, str]]:
    """Yield the average rate, and the highest of an interval of the histogram."""
    histogram = figures["histogram"]
    if histogram is None or len(histogram["buckets"]) == 1:
        return
    buckets, seconds = histogram["buckets"], histogram["bucket_seconds"]
    yield f"{bytes_text(figures['selected_bytes'] // (len(buckets) * seconds))}/s", "average rate"
    peak = max(buckets, key=lambda bucket: bucket["bytes"])
    when = second_text(moment_of(peak["since"]), zone)
    yield f"{bytes_text(peak['bytes'] // seconds)}/s", f"peak, the {period_text(seconds)} at {when}"


def _warnings(figures: Record) -> Markup:
    items = [
        element("li", warning["message"], element("span", warning["action"], class_="action"))
        for warning in figures["warnings"]
    ]
    items += [
        element("li", f"too many {what} to count them all; those with the most bytes were kept")
        for what in incomplete(figures)
    ]
    if not items:
        return Markup()
    return element("section", element("h2", "Warnings"), element("ul", *items), class_="warnings")


def _charts(figures: Record, activity: ActivityFigures | None, zone: tzinfo) -> Iterator[Markup]:
    """Yield the charts over time: bytes by table, row changes by kind, transactions, and the heat map."""
    if activity is None:
        return
    axis = TimeAxis(activity.first, activity.length, len(activity.totals), zone)
    each = length_text(activity.length)
    ddl = figures["ddl_statements"] or ()
    charts = []
    if activity.tables:
        tables = _table_series(activity)
        title = f"Bytes of row changes by table, each {each}"
        marked = {"marks": ddl, "bursts": figures["bursts"]}
        charts += [stacked_chart(title, axis, tables, height=230, is_bytes=True, **marked)]
        charts.append(_legend(tables, has_ddl=bool(ddl), has_bursts=bool(figures["bursts"])))
        operations = [Series(name, f"s-{name}", _per_interval(activity, name)) for name in _OPERATIONS]
        charts += [stacked_chart(f"Row changes by kind, each {each}", axis, operations), _legend(operations)]
    else:
        sizes = [Series("bytes", "bytes", [size for _, size in activity.totals])]
        marked = {"marks": ddl, "bursts": figures["bursts"]}
        charts.append(stacked_chart(f"Bytes, each {each}", axis, sizes, is_bytes=True, **marked))
        charts.append(_legend([], has_ddl=bool(ddl), has_bursts=bool(figures["bursts"])))
    counts = [Series("transactions", "bytes", [count for count, _ in activity.totals])]
    charts.append(stacked_chart(f"Transactions, each {each}", axis, counts, height=140))
    yield element("section", element("h2", f"{_OF_HISTOGRAM} ({zone_name(zone)})"), *charts)
    if activity.tables:
        chart = heat_map(activity, _HEAT_ROWS, zone)
        existing = len(activity.tables)
        more = f" ({_HEAT_ROWS} of {existing:,})" if existing > _HEAT_ROWS else ""
        yield element("section", element("h2", f"When tables changed{more}"), chart)


def _table_series(activity: ActivityFigures) -> list[Series]:
    """Return the tables with most bytes, and the others as one."""
    count = len(activity.totals)
    values = [[0] * count for _ in range(min(len(activity.tables), SERIES + 1))]
    for (index, table), amount in activity.amounts.items():
        values[min(table, SERIES)][index] += amount.bytes
    names = [table_text(name) for name in activity.tables[:SERIES]]
    if len(values) > SERIES:
        others = activity.tables[SERIES:]
        names.append(table_text(others[0]) if len(others) == 1 else f"{len(others):,} other tables")
    return [
        Series(name, f"s-{number}" if number < SERIES else "s-other", sums)
        for number, (name, sums) in enumerate(zip(names, values, strict=True))
    ]


def _per_interval(activity: ActivityFigures, name: str) -> list[int]:
    sums = [0] * len(activity.totals)
    for (index, _), amount in activity.amounts.items():
        sums[index] += getattr(amount, name)
    return sums


def _legend(series: Sequence[Series], *, has_ddl: bool = False, has_bursts: bool = False) -> Markup:
    keys = [(one.colour, one.name) for one in series]
    keys += [("band", "bursts: over four times the usual bytes")] if has_bursts else []
    items = [element("span", element("i", class_=colour), name) for colour, name in keys]
    if has_ddl:
        mark = element("b", MARK, class_="ddl")
        items.append(element("span", mark, " DDL; point at it for its text"))
    return element("p", *items, class_="legend") if items else Markup()


def _tables(figures: Record, statements: Record | None, top: int, zone: tzinfo) -> Iterator[Markup]:
    """Yield the same tables as on a terminal, but for what the tiles and the charts show."""
    if figures["breakdown"] is not None:
        yield _table(breakdown_section(figures["breakdown"], top, zone))
    if statements is not None:
        if any(group["digest"] is not None for group in statements["groups"]):
            groups = [
                group if group["digest"] is not None else group | {"digest_text": _WITHOUT_TEXT}
                for group in statements["groups"]
            ]
            section = breakdown_section({**statements, "groups": groups}, top, zone)
            yield _table(section._replace(title="Statements that wrote the most"))
        else:
            hint = "The logs have no texts of statements: binlog_rows_query_log_events adds them."
            yield element("section", element("h2", "Statements"), element("p", hint, class_="soft"))
    elif not (figures["quick"] or (figures["breakdown"] and "statement" in figures["breakdown"]["by"])):
        hint = "Not read, because that takes long for large logs: add --by statement."
        yield element("section", element("h2", "Statements"), element("p", hint, class_="soft"))
    _, *others = sections(figures, top, zone)
    yield from (_table(section) for section in others if not section.title.startswith(_OF_HISTOGRAM))


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
            is_long = isinstance(shown, str) and not isinstance(shown, Markup) and len(shown) > _LONG
            yield element("td", shown, class_=f"{column.form.kind} long" if is_long else column.form.kind)
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
    return element("section", element("h2", section.title), element("div", table, class_="scroll"))
