"""The tables of figures for terminals, pipes and the HTML page: their columns, and how values are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, tzinfo
from typing import Any, NamedTuple

from binx.log.selection.moments import format_in_zone, zone_name
from binx.stats.dimensions import MEASURES, Breakdown
from binx.stats.figures import Bucket, Histogram, Statistics
from binx.stats.text import (
    bytes_text,
    number_text,
    period_text,
    safe_text,
    second_text,
    short_transaction,
    tables_text,
    transaction_duration_text,
)
from binx.stats.transaction import moment_json

NUMBERS, TIMES, TEXTS, BARS = "number", "time", "name", "meter"
"""Kinds of columns: numbers are flush right, bars are drawn."""

_HISTOGRAM_BARS = 24
_SECOND = 1_000_000
_MINUTE_CHARACTERS = len("2026-11-21T09:49")
_STATEMENT = 200
_BAR = "\N{FULL BLOCK}"
_BAR_PARTS = ("", *map(chr, range(0x258F, 0x2588, -1)))


class Form(NamedTuple):
    """How a sort of values is written.

    Attributes:
        people: on a wide terminal and on the page.
        programs: in a pipe.
        short: on a narrow terminal.
        kind: of the column.
    """

    people: Callable[[Any], str]
    programs: Callable[[Any], str]
    short: Callable[[Any], str]
    kind: str = NUMBERS

    @property
    def is_number(self) -> bool:
        """Whether a column of them is flush right."""
        return self.kind == NUMBERS


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        title: its head.
        form: how its values are written.
        value: the attribute of a record, or what gives its value; by default what the title says.
        spare: how early it is left out where the terminal is narrow, the highest first; 0 for never.
        cut: whether its texts are cut off where that is not enough.
    """

    title: str
    form: Form
    value: str | Callable[[Any], Any] = ""
    spare: int = 0
    cut: bool = False

    def of(self, record: Any) -> Any:
        """Its value of a record."""
        if callable(self.value):
            return self.value(record)
        return getattr(record, self.value or self.title.lower())


class Section(NamedTuple):
    """A table with its title; None is a value that is not known."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]


class Bar(NamedTuple):
    """A value as part of the largest of its column."""

    value: int
    largest: int


def bar_text(bar: Bar, width: int) -> str:
    """A bar of block characters, in eighths of a column; at least one eighth where there is something."""
    if bar.largest <= 0 or bar.value <= 0:
        return ""
    eighths = max(1, round(bar.value * width * 8 / bar.largest))
    return _BAR * (eighths // 8) + _BAR_PARTS[eighths % 8]


def _form(write: Callable[[Any], str], kind: str = NUMBERS) -> Form:
    return Form(write, write, write, kind)


def bar_form(width: int) -> Form:
    """Bars of so many columns in a terminal."""
    return _form(lambda bar: bar_text(bar, width), BARS)


def time_form(zone: tzinfo) -> Form:
    """How moments are written by a zone's clock; in a pipe as RFC 3339 has it."""

    def programs(moment: int) -> str:
        try:
            return str(moment_json(moment)) if zone is UTC else format_in_zone(moment, zone)
        except OverflowError:
            return str(moment)

    def people(moment: int) -> str:
        return second_text(moment, zone)

    return Form(people, programs, people, TIMES)


TEXT = _form(safe_text, TEXTS)
NUMBER = Form(number_text, str, number_text)
PLAIN = _form(str)
BYTES = Form(bytes_text, str, bytes_text)
DURATION = Form(transaction_duration_text, str, transaction_duration_text)
SHARE = Form("{:.1%}".format, "{:.4f}".format, "{:.1%}".format)
TIMES_USUAL = _form("{:.1f}".format)
RATIO = Form("{:.2f}".format, "{:.4f}".format, "{:.2f}".format)
TRANSACTION = Form(safe_text, safe_text, short_transaction, TEXTS)
_MINUTE = Form(
    lambda text: text[:_MINUTE_CHARACTERS].replace("T", " "),
    str,
    lambda text: text[:_MINUTE_CHARACTERS].replace("T", " "),
    TIMES,
)

_TRANSACTIONS = Column("Transactions", NUMBER)
_SIZE = Column("Bytes", BYTES)
_ROWS = Column("Row changes", NUMBER, "rows")
_SERVER = Column("Server id", TEXT, lambda one: str(one.server_id))
_CHANGES = (
    Column("Inserts", NUMBER, spare=2),
    Column("Updates", NUMBER, spare=3),
    Column("Deletes", NUMBER, spare=4),
)
_TOTAL = (
    Column("Files", NUMBER, lambda figures: len(figures.files)),
    _SIZE,
    _TRANSACTIONS,
    Column("Events", NUMBER, spare=3),
    _ROWS,
    Column("Statements", NUMBER, spare=2),
    Column("Compressed", SHARE, lambda one: _share(one.compression.bytes, one.selected_bytes), spare=4),
    Column("Ratio", RATIO, lambda figures: figures.compression.ratio, spare=5),
    Column("Checksums", SHARE, lambda figures: _share(figures.checksummed_bytes, figures.bytes), spare=1),
)
_GROUP_HEADS = {
    "db": "Database",
    "server_id": "Server id",
    "thread_id": "Connection",
    "from_bytes": "From",
    "below_bytes": "Below",
}
_GROUP_FORMS = {
    "server_id": PLAIN,
    "thread_id": PLAIN,
    "from_bytes": BYTES,
    "below_bytes": BYTES,
    "minute": _MINUTE,
    "hour": _MINUTE,
    "day": _MINUTE,
}


def total(figures: Statistics) -> Section:
    """The figures of all logs together."""
    return _section("Total", [figures], _TOTAL)


def sections(figures: Statistics, top: int, zone: tzinfo) -> Iterator[Section]:
    """The other tables, of at most ``top`` rows where there may be many; those without any are left out."""
    for section in _sections(figures, top, zone):
        if section.rows:
            yield section


def _sections(figures: Statistics, top: int, zone: tzinfo) -> Iterator[Section]:
    clock, zoned = time_form(zone), f"({zone_name(zone)})"
    tables, databases = figures.tables or (), figures.databases or ()
    ends = (
        Column(f"First {zoned}", clock, lambda file: _commit_second(file.first), spare=2),
        Column(f"Last {zoned}", clock, lambda file: _commit_second(file.last), spare=3),
    )
    files = (Column("File", TEXT, "name", cut=True), _SIZE, _TRANSACTIONS._replace(spare=1), *ends)
    yield _section("Files", figures.files, (*files, Column("End", TEXT, "ending")))
    table = Column("Table", TEXT, lambda one: f"{one.db}.{one.table}", cut=True)
    yield _section("Tables", tables, (table, _SIZE, *_CHANGES, _share_of(tables)), top, len(tables))
    database = (Column("Database", TEXT, "db", cut=True), Column("Tables", NUMBER, spare=5))
    columns: tuple[Column, ...] = (*database, _SIZE, *_CHANGES, _share_of(databases))
    yield _section("Databases", databases, columns, top, len(databases))
    kind = Column("Kind", TEXT)
    yield _section("Kinds of transactions", figures.kinds, (kind, _TRANSACTIONS, _SIZE, _ROWS))
    listed = (
        Column("Transaction", TRANSACTION),
        _SIZE,
        Column("Rows", NUMBER),
        Column("Duration", DURATION, "duration_seconds"),
        Column(f"Committed {zoned}", clock, _commit_second, spare=2),
        Column("Tables", TEXT, lambda one: tables_text(one.tables), spare=1, cut=True),
    )
    yield _section("Largest transactions", figures.largest, listed)
    yield _section("Longest transactions", figures.longest, listed)
    if figures.histogram is not None:
        yield _histogram(figures.histogram, zone)
    begin = Column(f"From {zoned}", clock, "start")
    columns = (
        begin,
        Column("Until", clock, "end", spare=1),
        _TRANSACTIONS,
        _SIZE,
        Column("Times usual", TIMES_USUAL, "times_usual"),
    )
    yield _section("Bursts", figures.bursts, columns, top, len(figures.bursts))
    bounds = (Column("From", BYTES, "from_bytes"), Column("Below", BYTES, "below_bytes"))
    sizes = [one for one in figures.sizes if one.transactions]
    yield _section("Sizes of transactions", sizes, (*bounds, _TRANSACTIONS, _SIZE))
    sums = (_TRANSACTIONS, _SIZE, _ROWS)
    yield _section("Servers", figures.servers, (_SERVER, *sums), top, len(figures.servers))
    connection = Column("Connection", TEXT, lambda one: str(one.thread_id))
    yield _section("Connections that wrote the most", figures.threads, (_SERVER, connection, *sums), top)
    types = figures.event_types or ()
    compressed = Column("Compressed", NUMBER, "compressed_events")
    columns = (Column("Event", TEXT, "type"), Column("Events", NUMBER), _SIZE, compressed)
    yield _section("Events", types, columns, top, len(types))
    columns = (
        Column(f"Committed {zoned}", clock, _commit_second),
        Column("Database", TEXT, "db", spare=1),
        Column("Statement", TEXT, lambda one: " ".join(one.sql.split())[:_STATEMENT], cut=True),
    )
    yield _section("DDL", figures.ddl_statements or (), columns, top, figures.ddl)


def _section(
    title: str,
    records: Sequence[Any],
    columns: Sequence[Column],
    top: int | None = None,
    existing: int | None = None,
) -> Section:
    """The first records as a table, whose title says how many of the existing ones these are."""
    rows = [[column.of(one) for column in columns] for one in records[:top]]
    if existing is not None and existing != len(rows):
        title += f" ({len(rows):,} of {existing:,})"
    return Section(title, columns, rows)


def _histogram(histogram: Histogram, zone: tzinfo) -> Section:
    """At most two dozen bars: neighbouring spans are put together."""
    together = -(-len(histogram.buckets) // _HISTOGRAM_BARS)
    spans = []
    for place in range(0, len(histogram.buckets), together):
        group = histogram.buckets[place : place + together]
        counts = sum(one.transactions for one in group), sum(one.bytes for one in group)
        spans.append(Bucket(group[0].start, *counts, None))
    largest = max(one.bytes for one in spans)
    columns = (
        Column(f"From ({zone_name(zone)})", time_form(zone), "start"),
        _TRANSACTIONS,
        _SIZE,
        Column("", bar_form(30), lambda one: Bar(one.bytes, largest), spare=1, cut=True),
    )
    return _section(f"Over time, each {period_text(histogram.bucket_seconds * together)}", spans, columns)


def breakdown_section(breakdown: Breakdown, top: int | None, zone: tzinfo) -> Section:
    """The groups with most bytes, without columns of changes that have none in any of them."""
    groups = breakdown.largest(top)
    whole = sum(group.bytes for group in breakdown.groups)
    largest = max((group.bytes for group in groups), default=0)
    changes = (
        Column("Inserts", NUMBER, spare=7),
        Column("Updates", NUMBER, spare=6),
        Column("Deletes", NUMBER, spare=5),
    )
    columns = (
        *(_key_column(name, place, zone) for place, name in enumerate(breakdown.columns) if name != "digest"),
        _TRANSACTIONS._replace(spare=2),
        *(Column(name.capitalize(), NUMBER) for name in breakdown.measures[len(MEASURES) :]),
        _SIZE,
        Column("Share", SHARE, lambda group: _share(group.bytes, whole), spare=3),
        *(column for column in changes if any(column.of(group) for group in groups)),
        Column("", bar_form(20), lambda group: Bar(group.bytes, largest), spare=8),
    )
    return _section(f"By {' and '.join(breakdown.by)}", groups, columns, None, len(breakdown.groups))


def _key_column(name: str, place: int, zone: tzinfo) -> Column:
    """The column of one of the keys of groups."""
    form = _GROUP_FORMS.get(name, TEXT)
    head = _GROUP_HEADS.get(name, name.capitalize()) + (f" ({zone_name(zone)})" if form is _MINUTE else "")
    spare = 4 if name == "below_bytes" else 0
    return Column(head, form, lambda group: group.keys[place], spare, cut=form is TEXT)


def _share_of(records: Sequence[Any]) -> Column:
    whole = sum(one.bytes for one in records)
    return Column("Share", SHARE, lambda one: _share(one.bytes, whole), spare=1)


def _share(part: int, whole: int) -> float | None:
    """The part of a whole; None of nothing."""
    return part / whole if whole else None


def _commit_second(one: Any) -> int | None:
    """When it was committed, in whole seconds; None where there is none."""
    return None if one is None else one.commit_timestamp - one.commit_timestamp % _SECOND
