"""The page's tables, one function each; those without rows are left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import NamedTuple

from binx.log.selection.zones import zone_name
from binx.source.wording import counted
from binx.stats.dimensions import Breakdown
from binx.stats.figures import Statistics
from binx.stats.page.charts import meter, mixture, time_charts
from binx.stats.page.markup import Child, Markup, element, joined
from binx.stats.text import (
    bytes_text,
    number_text,
    second_text,
    tables_text,
    transaction_duration_text,
)
from binx.stats.transaction import ListedTransaction

_MINUTES = 16
_STATEMENT = 400
_TABLES_SHOWN = 300


class _Head(NamedTuple):
    """A column: its title, and the class of its cells."""

    title: str
    kind: str = ""


_BYTES, _TRANSACTIONS, _ROWS = (
    _Head("Bytes", "number"),
    _Head("Transactions", "number"),
    _Head("Rows", "number"),
)
_METER = _Head("", "meter")
_CHANGES = (_Head("Inserts", "number"), _Head("Updates", "number"), _Head("Deletes", "number"))
_SORTS = {"insert": "inserts", "update": "updates", "delete": "deletes"}
_KEYS = {
    "db": _Head("Database", "name"),
    "table": _Head("Table", "name"),
    "server_id": _Head("Server id", "number"),
    "thread_id": _Head("Connection", "number"),
    "source": _Head("Source", "name"),
    "kind": _Head("Kind"),
    "from_bytes": _Head("From", "number"),
    "below_bytes": _Head("Below", "number"),
    "file": _Head("File", "name"),
    "minute": _Head("Minute", "time"),
    "hour": _Head("Hour", "time"),
    "day": _Head("Day", "time"),
}


def all_sections(figures: Statistics, top: int, zone: tzinfo) -> Iterator[Markup]:
    """All of them."""
    if figures.breakdown is not None:
        yield _breakdown(figures.breakdown, top, zone)
    yield _over_time(figures, top, zone)
    yield _tables(figures, top)
    yield _databases(figures, top)
    yield _transactions("Largest transactions", figures.largest, zone)
    yield _transactions("Longest transactions", figures.longest, zone)
    yield element("div", _kinds(figures), _sizes(figures), class_="pair")
    yield element("div", _servers(figures, top), _threads(figures, top), class_="pair")
    yield _events(figures, top)
    yield _ddl(figures, top, zone)
    yield _files(figures, zone)


def _section(title: str, content: Markup, *, shown: int | None = None, existing: int = 0) -> Markup:
    note = f" {shown:,} of {existing:,}" if shown is not None and shown != existing else None
    return element("section", element("h2", title, element("small", note) if note else None), content)


def _table(
    title: str,
    heads: Sequence[_Head],
    rows: Sequence[Sequence[Child]],
    existing: int | None = None,
    above: Markup | None = None,
) -> Markup:
    if not rows:
        return joined()
    head = element("tr", *(element("th", one.title, class_=one.kind or None) for one in heads))
    lines = [
        element(
            "tr",
            *(
                element("td", "–" if cell is None else cell, class_=one.kind or None)
                for one, cell in zip(heads, row, strict=True)
            ),
        )
        for row in rows
    ]
    table = element("table", element("thead", head), element("tbody", *lines))
    content = joined(above, table)
    return _section(title, content, shown=len(rows), existing=len(rows) if existing is None else existing)


def _over_time(figures: Statistics, top: int, zone: tzinfo) -> Markup:
    if figures.histogram is None:
        return joined()
    content = time_charts(figures.histogram, figures.bursts, zone)
    if figures.bursts:
        legend = _legend({"burst": "bursts: over four times the usual bytes"})
        lines = [
            element(
                "li",
                f"{second_text(one.start, zone)} to {second_text(one.end, zone)}: {bytes_text(one.bytes)} in"
                f" {counted(one.transactions, 'transaction')}, {one.times_usual:,} times the usual",
            )
            for one in figures.bursts[:top]
        ]
        content = joined(legend, content, element("ul", *lines))
    return _section(f"Over time ({zone_name(zone)})", content)


def _tables(figures: Statistics, top: int) -> Markup:
    heads = [
        _Head("Table", "name"),
        _BYTES,
        _Head("Share", "number"),
        _METER,
        *_CHANGES,
        _Head("Mix", "meter"),
    ]
    tables = figures.tables or ()
    whole, largest = sum(one.bytes for one in tables), tables[0].bytes if tables else 0
    rows = [
        (
            f"{one.db}.{one.table}",
            bytes_text(one.bytes),
            _share(one.bytes, whole),
            meter(one.bytes, largest),
            number_text(one.inserts),
            number_text(one.updates),
            number_text(one.deletes),
            mixture(one.inserts, one.updates, one.deletes),
        )
        for one in tables[:top]
    ]
    return _table("Tables by bytes of their row changes", heads, rows, len(tables), _legend(_SORTS))


def _databases(figures: Statistics, top: int) -> Markup:
    heads = [_Head("Database", "name"), _Head("Tables", "number"), _BYTES, _METER, *_CHANGES]
    databases = figures.databases or ()
    largest = databases[0].bytes if databases else 0
    rows = [
        (
            one.db,
            number_text(one.tables),
            bytes_text(one.bytes),
            meter(one.bytes, largest),
            number_text(one.inserts),
            number_text(one.updates),
            number_text(one.deletes),
        )
        for one in databases[:top]
    ]
    return _table("Databases", heads, rows, len(databases))


def _transactions(title: str, transactions: Sequence[ListedTransaction], zone: tzinfo) -> Markup:
    heads = [
        _Head("Transaction", "name"), _BYTES, _ROWS, _Head("Duration", "number"), _Head("Committed", "time"),
        _Head("Tables", "name"),
    ]  # fmt: skip
    rows = [
        (
            joined(element("code", one.transaction), f" in {one.file} at {one.start:,}"),
            bytes_text(one.bytes),
            _number(one.rows),
            transaction_duration_text(one.duration_seconds),
            second_text(one.commit_timestamp, zone),
            _shortened(tables_text(one.tables), _TABLES_SHOWN),
        )
        for one in transactions
    ]
    return _table(title, heads, rows)


def _kinds(figures: Statistics) -> Markup:
    heads = [_Head("Kind"), _TRANSACTIONS, _BYTES, _ROWS]
    rows = [
        (one.kind, number_text(one.transactions), bytes_text(one.bytes), _number(one.rows))
        for one in figures.kinds
    ]
    return _table("Kinds of transactions", heads, rows)


def _sizes(figures: Statistics) -> Markup:
    heads = [_Head("Size"), _TRANSACTIONS, _BYTES, _METER]
    sizes = [one for one in figures.sizes if one.transactions]
    largest = max((one.bytes for one in sizes), default=0)
    rows = [
        (
            f"{bytes_text(one.from_bytes)} to {bytes_text(one.below_bytes)}",
            number_text(one.transactions),
            bytes_text(one.bytes),
            meter(one.bytes, largest),
        )
        for one in sizes
    ]
    return _table("Sizes of transactions", heads, rows)


def _servers(figures: Statistics, top: int) -> Markup:
    heads = [_Head("Server id", "number"), _TRANSACTIONS, _BYTES, _ROWS]
    rows = [
        (str(one.server_id), number_text(one.transactions), bytes_text(one.bytes), _number(one.rows))
        for one in figures.servers[:top]
    ]
    return _table("Servers", heads, rows, len(figures.servers))


def _threads(figures: Statistics, top: int) -> Markup:
    heads = [_Head("Server id", "number"), _Head("Connection", "number"), _TRANSACTIONS, _BYTES, _ROWS]
    rows = [
        (
            str(one.server_id),
            str(one.thread_id),
            number_text(one.transactions),
            bytes_text(one.bytes),
            _number(one.rows),
        )
        for one in figures.threads[:top]
    ]
    return _table("Connections that wrote the most", heads, rows)


def _events(figures: Statistics, top: int) -> Markup:
    heads = [_Head("Event"), _Head("Events", "number"), _BYTES, _METER, _Head("In compressed", "number")]
    types = figures.event_types or ()
    largest = types[0].bytes if types else 0
    rows = [
        (
            one.type,
            number_text(one.events),
            bytes_text(one.bytes),
            meter(one.bytes, largest),
            number_text(one.compressed_events),
        )
        for one in types[:top]
    ]
    return _table("Events by type", heads, rows, len(types))


def _ddl(figures: Statistics, top: int, zone: tzinfo) -> Markup:
    heads = [_Head("Committed", "time"), _Head("Database"), _Head("Statement", "name")]
    rows = [
        (
            second_text(one.commit_timestamp, zone),
            one.db,
            element("code", _shortened(" ".join(one.sql.split()), _STATEMENT)),
        )
        for one in (figures.ddl_statements or ())[:top]
    ]
    return _table("DDL", heads, rows, figures.ddl)


def _files(figures: Statistics, zone: tzinfo) -> Markup:
    heads = [
        _Head("File", "name"), _BYTES, _TRANSACTIONS, _Head("First", "time"), _Head("Last", "time"),
        _Head("Checksums"), _Head("End"),
    ]  # fmt: skip
    rows = [
        (
            file.name,
            bytes_text(file.bytes),
            number_text(file.transactions),
            None if file.first is None else second_text(file.first.commit_timestamp, zone),
            None if file.last is None else second_text(file.last.commit_timestamp, zone),
            file.checksum,
            file.ending,
        )
        for file in figures.files
    ]
    return _table("Files", heads, rows)


def _breakdown(breakdown: Breakdown, top: int, zone: tzinfo) -> Markup:
    heads = [*(_KEYS[name] for name in breakdown.columns), _TRANSACTIONS, _BYTES, _METER, *_CHANGES]
    groups = breakdown.largest(top)
    largest = max((group.bytes for group in groups), default=0)
    rows = [
        (
            *(
                None if key is None else _key_text(name, key)
                for name, key in zip(breakdown.columns, group.keys, strict=True)
            ),
            number_text(group.transactions),
            bytes_text(group.bytes),
            meter(group.bytes, largest),
            _number(group.inserts),
            _number(group.updates),
            _number(group.deletes),
        )
        for group in groups
    ]
    return _table(f"By {' and '.join(breakdown.by)}", heads, rows, len(breakdown.groups))


def _key_text(name: str, key: str | int) -> str:
    if isinstance(key, int):
        return bytes_text(key) if name.endswith("_bytes") else str(key)
    return key[:_MINUTES].replace("T", " ") if _KEYS[name].kind == "time" else key


def _legend(names: Mapping[str, str]) -> Markup:
    """What the colours of the charts mean, by their classes."""
    keys = (element("span", element("i", class_=name), text) for name, text in names.items())
    return element("p", *keys, class_="legend")


def _number(number: int | None) -> str | None:
    return None if number is None else number_text(number)


def _share(part: int, whole: int) -> str | None:
    return f"{part / whole:.1%}" if whole else None


def _shortened(text: str, size: int) -> str:
    return text if len(text) <= size else f"{text[:size]}…"
