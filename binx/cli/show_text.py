"""Transactions event by event for people: names and values, what an update changed, bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import tzinfo
from itertools import islice
from typing import TYPE_CHECKING, Any

from binx.cli.layout import UNKNOWN
from binx.inspect.event_fields import hex_lines
from binx.log.selection.moments import zone_name
from binx.source.wording import counted, encoded
from binx.stats.text import (
    ELLIPSIS,
    bytes_text,
    fit_difference,
    fit_text,
    number_text,
    pad_text,
    safe_text,
    text_width,
    time_text,
    wrap_text,
)

if TYPE_CHECKING:
    from binx.inspect.show import ShownEvent, ShownTransaction
    from binx.log.events import RawEvent

INDENT = " " * 14
"""Stands before lines below an event."""
_CHANGED = f"{INDENT[:-2]}*   "
"""Stands before the name of a column that an update changed."""
_OPERATIONS = {"insert": "INSERT INTO", "update": "UPDATE", "delete": "DELETE FROM"}
_NAME_MOST = 32

_LONG = ("sql", "options", "columns")
"""Fields that have lines of their own."""
PLACE_WIDTH = 12
"""Columns that an event's offset takes."""

_USUAL = ("sql_is_text", "has_metadata", "version")
"""Fields that say little to people."""
_MICROSECONDS = 1_000_000
BOLD, _FAINT, _OLD, _NEW, _END = "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[0m"


class ShowText:
    """Lines of transactions and events.

    Args:
        width: what lines are cut to; None in a pipe, where nothing is cut.
        colour: whether changes stand out in colours.
        zone: the time zone of moments.
        with_bytes: dump every event in hexadecimal.
        most_rows: how many rows of each transaction are shown; None for all.
    """

    def __init__(
        self,
        *,
        width: int | None,
        colour: bool,
        zone: tzinfo,
        with_bytes: bool = False,
        most_rows: int | None = None,
    ) -> None:
        self._width = width
        self._colour = colour
        self.zone = zone
        self.begun = False
        self._with_bytes = with_bytes
        self._most_rows = most_rows
        self._rows = 0
        self._arrow = " \N{RIGHTWARDS ARROW} " if width is not None else " -> "
        self._checksum_size = 0

    def transaction(self, shown: ShownTransaction) -> Iterator[str]:
        """What a transaction is, before its events."""
        facts = shown.facts
        self._checksum_size = shown.description.checksum_size
        yield from self.left_out()
        if self.begun:
            yield ""
        self.begun = True
        yield self.cut(f"transaction {safe_text(facts['transaction'])}", BOLD)
        times = f"{self._time(facts['commit_timestamp'])} ({zone_name(self.zone)})"
        original = facts["original_commit_timestamp"]
        if original not in (None, facts["commit_timestamp"]):
            times += f", on its first server {self._time(original)}"
        place = f"{safe_text(facts['file'])} {facts['start']}-{facts['end']}"
        size = self._size(facts["end"] - facts["start"])
        if facts["uncompressed_bytes"]:
            size += f", {self._size(facts['uncompressed_bytes'])} without compression"
        yield self.cut(f"  committed  {times}")
        yield self.cut(f"  place      {place}, {size}")
        about = [f"server {facts['server_id']}"]
        about += [
            f"{name} {facts[key]}"
            for name, key in (("thread", "thread_id"), ("xid", "xid"))
            if facts[key] is not None
        ]
        yield self.cut(f"  made by    {', '.join(about)}; {facts['kind']}")

    def head(self, shown: ShownTransaction) -> Iterator[bytes]:
        """What a transaction is, before its events, in chunks."""
        return map(_line, self.transaction(shown))

    def chunks(self, shown: ShownEvent) -> Iterator[bytes]:
        """An event, what it says, its bytes and its rows."""
        lines = self.event(shown.raw, shown.fields)
        yield encoded("".join(f"{line}\n" for line in lines))
        yield from self.rows(shown)

    def event(self, raw: RawEvent, said: Mapping[str, Any]) -> Iterator[str]:
        """An event, what it says, its bytes."""
        header, fields, inner = raw.header, dict(said), raw.inner
        place = f"{header.position}" if inner is None else f"+{inner}"
        summary = self._summary(fields)
        mark = "" if inner is None else "  "
        head = f"{place:>{PLACE_WIDTH}}  {mark}{header.name}{summary and '  '}"
        first, *more = self._wrapped(summary, head)
        yield self.cut(first, _FAINT, upto=PLACE_WIDTH)
        for text in more:
            yield self.cut(text)
        for text in self._long(fields):
            yield self.cut(text)
        if self._with_bytes:
            size = self._checksum_size if inner is None else 0
            for line in hex_lines(header, raw.data, size):
                yield self.cut(f"{INDENT}{line}")

    def _summary(self, fields: dict[str, Any]) -> str:
        """The short fields on one line."""
        parts = []
        if "table" in fields:
            parts.append(safe_text(f"{fields.pop('db')}.{fields.pop('table')}"))
        for name, value in fields.items():
            if name in _LONG or name in _USUAL or value in ([], "", None, False):
                continue
            parts.append(name if value is True else f"{name}={_scalar(value)}")
        return " ".join(parts)

    def _long(self, fields: Mapping[str, Any]) -> Iterator[str]:
        """Fields that have lines of their own."""
        if fields.get("options"):
            texts = [f"{name}={_scalar(value)}" for name, value in fields["options"].items()]
            yield from self._wrapped("session: " + ", ".join(texts), INDENT)
        if fields.get("columns"):
            yield from self._wrapped("columns: " + ", ".join(map(safe_text, fields["columns"])), INDENT)
        if "sql" in fields:
            yield from self._statement(fields["sql"])

    def _statement(self, sql: str) -> Iterator[str]:
        for line in sql.split("\n"):
            yield f"{INDENT}{safe_text(line)}"

    def statement(self, sql: str) -> Iterator[str]:
        """A statement's text, line by line."""
        return map(self.cut, self._statement(sql))

    def _wrapped(self, text: str, head: str) -> list[str]:
        """A text behind a head, in as many lines as it takes; GTIDs and dates are not parted."""
        if self._width is None:
            return [head + text]
        return wrap_text(text, self._width, head, f"{INDENT}  ")

    def rows(self, shown: ShownEvent) -> Iterator[bytes]:
        """The event's rows, line by line."""
        if shown.row_count is None:
            return
        room = None if self._most_rows is None else max(self._most_rows - self._rows, 0)
        for row in islice(shown.rows, room):
            table = f"{safe_text(row['db'])}.{safe_text(row['table'])}"
            yield _line(self.cut(f"{INDENT}{_OPERATIONS[row['type']]} {table}", BOLD))
            yield from map(_line, self.values(row))
        self._rows += shown.row_count

    def left_out(self) -> Iterator[str]:
        """How many rows of the transaction that has ended are not shown."""
        hidden = 0 if self._most_rows is None else self._rows - self._most_rows
        if hidden > 0:
            yield self.cut(f"{INDENT}{counted(hidden, 'more row')} in this transaction")
        self._rows = 0

    def end(self) -> Iterator[bytes]:
        """What follows the last transaction."""
        return map(_line, self.left_out())

    def values(self, row: dict[str, Any]) -> Iterator[str]:
        """A row change column by column, what it changed marked."""
        before, after = row.get("before"), row.get("after")
        names = list(dict.fromkeys([*(before or ()), *(after or ())]))
        for name, shown in _padded(names).items():
            if before is None or after is None:
                yield self.cut(f"{INDENT}  {shown}  {value_text((after or before or {})[name])}")
            elif name not in after:
                yield self.cut(f"{INDENT}  {shown}  {value_text(before[name])}", _FAINT)
            elif name not in before:
                yield self._got(shown, value_text(after[name]))
            elif before[name] == after[name]:
                yield self.cut(f"{INDENT}  {shown}  {value_text(after[name])}", _FAINT)
            else:
                yield from self._change(shown, value_text(before[name]), value_text(after[name]))
        for name, operations in (row.get("json_diff") or {}).items():
            yield self._got(
                safe_text(name), safe_text(f"changed by {json.dumps(operations, ensure_ascii=False)}")
            )

    def _got(self, name: str, new: str) -> str:
        """A column of which the log does not tell what it was before."""
        head, arrow = _CHANGED + name + "  ", self._arrow.lstrip()
        if self._width is not None:
            new = fit_text(new, max(self._width - text_width(head + arrow), 1))
        return f"{self._coloured(head, BOLD)}{arrow}{self._coloured(new, _NEW)}"

    def _change(self, name: str, old: str, new: str) -> Iterator[str]:
        """A column that an update changed: on one line where both values have room, else below each other.

        Values that are too long for a line of their own are cut so that the first difference shows.
        """
        head, arrow = _CHANGED + name + "  ", self._arrow
        below = self._width is not None and text_width(head + old + arrow + new) > self._width
        if below:
            arrow = self._arrow.lstrip()
            room = max((self._width or 0) - text_width(head + arrow), 1)
            old, new = fit_difference(old, new, room)
        head, old, new = self._coloured(head, BOLD), self._coloured(old, _OLD), self._coloured(new, _NEW)
        if not below:
            yield f"{head}{old}{arrow}{new}"
            return
        indent = " " * (len(_CHANGED) + text_width(name) + 2)
        yield f"{head}{' ' * len(arrow)}{old}"
        yield f"{indent}{arrow}{new}"

    def _coloured(self, text: str, colour: str) -> str:
        return f"{colour}{text}{_END}" if self._colour else text

    def _time(self, moment: int) -> str:
        return time_text(moment, self.zone)

    def _size(self, size: int) -> str:
        return f"{number_text(size)} bytes" if self._width is None else bytes_text(size)

    def cut(self, text: str, colour: str = "", upto: int | None = None) -> str:
        """A line that fits, in a colour up to some place."""
        fitted = text if self._width is None else fit_text(text, self._width)
        if not self._colour or not colour:
            return fitted
        place = len(fitted) if upto is None else upto
        return f"{colour}{fitted[:place]}{_END}{fitted[place:]}"


def value_text(value: Any) -> str:
    """A value of a column: bytes as 0x…, text in quotes, all else as JSON has it; the start of a long one."""
    if value is None:
        return "NULL"
    if isinstance(value, dict) and "start" in value:
        opening = '"' if value["is_text"] else "0x"
        return f"{opening}{safe_text(value['start'])}{ELLIPSIS} ({number_text(value['bytes'])} bytes)"
    if isinstance(value, dict) and list(value) == ["hex"]:
        return f"0x{value['hex']}"
    if isinstance(value, dict) and list(value) == ["document"]:
        return safe_text(value["document"])
    return safe_text(json.dumps(value, ensure_ascii=False))


def _padded(names: Sequence[str]) -> dict[str, str]:
    """Names as they stand below each other."""
    size = min(max([text_width(safe_text(name)) for name in names], default=0), _NAME_MOST)
    return {name: pad_text(safe_text(name), size) for name in names}


def _line(text: str) -> bytes:
    return encoded(f"{text}\n")


def _scalar(value: Any) -> str:
    """A field's value, in quotes where it would not be one word."""
    if isinstance(value, list):
        return ",".join(map(_scalar, value)) or UNKNOWN
    text = safe_text(str(value))
    return text if text and " " not in text else f"'{text}'"
