"""What ``stats --by`` shows: a line a group, with a bar."""

from __future__ import annotations

from datetime import tzinfo
from typing import Any

from binx.cli.figures import share, title_of
from binx.cli.sections import BYTES, NUMBER, SHARE, TEXT, Column, Form, Section, bar
from binx.log.selection.zones import zone_name
from binx.stats.dimensions import Breakdown, Group

_BAR_WIDTH = 20
_MINUTES = 16
_PLAIN = Form(str, str, str)
_TIME = Form(
    lambda text: text[:_MINUTES].replace("T", " "),
    str,
    lambda text: text[:_MINUTES].replace("T", " "),
    right=False,
)
_FORMS = {
    "server_id": _PLAIN,
    "thread_id": _PLAIN,
    "from_bytes": BYTES,
    "below_bytes": BYTES,
    "minute": _TIME,
    "hour": _TIME,
    "day": _TIME,
}
_HEADS = {
    "db": "Database",
    "server_id": "Server id",
    "thread_id": "Connection",
    "from_bytes": "From",
    "below_bytes": "Below",
}
_TIMES = frozenset({"minute", "hour", "day"})


_MEASURES = ("Inserts", "Updates", "Deletes")


def breakdown_section(breakdown: Breakdown, top: int | None, zone: tzinfo) -> Section:
    """The groups with most bytes, without columns that have nothing in any of them."""
    groups = breakdown.largest(top)
    columns = [
        *(_key_column(name, zone) for name in breakdown.columns),
        Column("Transactions", NUMBER, spare=2),
        Column("Bytes", BYTES),
        Column("Share", SHARE, spare=3),
        Column("Inserts", NUMBER, spare=7),
        Column("Updates", NUMBER, spare=6),
        Column("Deletes", NUMBER, spare=5),
        Column("", TEXT, spare=8),
    ]
    whole = sum(group.bytes for group in breakdown.groups)
    largest = max((group.bytes for group in groups), default=0)
    rows = [_row(group, whole, largest) for group in groups]
    title = title_of(f"By {' and '.join(breakdown.by)}", len(rows), len(breakdown.groups))
    kept = [
        place
        for place, column in enumerate(columns)
        if column.title not in _MEASURES or any(row[place] for row in rows)
    ]
    return Section(
        title, [columns[place] for place in kept], [[row[place] for place in kept] for row in rows]
    )


def _key_column(name: str, zone: tzinfo) -> Column:
    head = _HEADS.get(name, name.capitalize())
    if name in _TIMES:
        head = f"{head} ({zone_name(zone)})"
    form = _FORMS.get(name, TEXT)
    return Column(head, form, spare=4 if name == "below_bytes" else 0, cut=form is TEXT)


def _row(group: Group, whole: int, largest: int) -> tuple[Any, ...]:
    return (
        *group.keys,
        group.transactions,
        group.bytes,
        share(group.bytes, whole),
        group.inserts,
        group.updates,
        group.deletes,
        bar(group.bytes, largest, _BAR_WIDTH),
    )
