"""Format transactions event by event for people: names and values, updated columns, bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import tzinfo
from functools import lru_cache
from itertools import islice
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

from binx.cli.layout import UNKNOWN, folded
from binx.inspect.event_fields import hex_lines
from binx.log.selection.times import zone_name
from binx.source.wording import counted, encoded
from binx.stats.text import ELLIPSIS, pad_text, safe_text, text_width, time_text

if TYPE_CHECKING:
    from binx.inspect.event_details import ShownEvent, ShownTransaction
    from binx.log.transaction_events import RawEvent

INDENT = " " * 14
"""Indentation of lines below an event."""
_CHANGED = f"{INDENT[:-2]}*   "
"""Precedes the name of an updated column."""
_OPERATIONS = {"insert": "INSERT INTO", "update": "UPDATE", "delete": "DELETE FROM"}
_NAME_MOST = 32
_LINES_WRITTEN = 1024
_JSON = json.JSONEncoder(ensure_ascii=False)

_LONG = ("sql", "options", "columns")
"""Fields shown on separate lines."""

PLACE_WIDTH = 12
"""Width of an event's offset."""

_USUAL = ("sql_is_text", "has_metadata", "version")
"""Fields of little interest to people."""
_MICROSECONDS = 1_000_000
BOLD, _FAINT, _OLD, _NEW, _END = "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[0m"


class ShowText:
    """Formats transactions and events as lines.

    Args:
        most_rows: number of rows shown per transaction; None for all.
        changed_only: whether to show only the key and the changed columns of updated rows.
        create_table: whether to show what tables were, once and again where that changed.
        width: the terminal's, where lines break at words, but not statements and values, which can be copied;
            None for lines of any length.
    """

    def __init__(
        self,
        *,
        colour: bool,
        zone: tzinfo,
        with_bytes: bool = False,
        most_rows: int | None = None,
        changed_only: bool = False,
        create_table: bool = False,
        width: int | None = None,
    ) -> None:
        self._colour = colour
        self._zone = zone
        self._begun = False
        self._with_bytes = with_bytes
        self._most_rows = most_rows
        self._changed_only = changed_only
        self._create_table = create_table
        self._tables: dict[tuple[str, str], str | None] = {}
        self._width = width
        self._rows = 0
        self._checksum_size = 0

    def begin(self, shown: ShownTransaction) -> Iterator[bytes]:
        """Yield a transaction's heading."""
        return (_line(part) for line in self._transaction(shown) for part in self.folded(line))

    def _transaction(self, shown: ShownTransaction) -> Iterator[str]:
        facts = shown.facts
        self._checksum_size = shown.description.checksum_size
        yield from self._left_out()
        if self._begun:
            yield ""
        self._begun = True
        yield self.coloured(f"transaction {safe_text(facts['transaction'])}", BOLD)
        times = f"{time_text(facts['commit_timestamp'], self._zone)} ({zone_name(self._zone)})"
        original = facts["original_commit_timestamp"]
        if original not in (None, facts["commit_timestamp"]):
            times += f", on its first server {time_text(original, self._zone)}"
        size = f"{facts['end'] - facts['start']:,} bytes"
        if facts["uncompressed_bytes"]:
            size += f", {facts['uncompressed_bytes']:,} bytes without compression"
        yield f"  committed  {times}"
        yield f"  place      {safe_text(facts['file'])} {facts['start']}-{facts['end']}, {size}"
        origin = [f"server {facts['server_id']}"]
        origin += [
            f"{name} {facts[key]}"
            for name, key in (("thread", "thread_id"), ("xid", "xid"))
            if facts[key] is not None
        ]
        yield f"  made by    {', '.join(origin)}; {facts['kind']}"

    def event(self, shown: ShownEvent) -> Iterator[bytes]:
        """Yield an event, its fields, its bytes and its rows."""
        lines = [*self._event(shown.raw, shown.fields)]
        for table in shown.tables if self._create_table else ():
            lines += self.definition(*table)
        yield encoded("".join(f"{line}\n" for line in lines))
        yield from self._row_lines(shown)

    def _event(self, raw: RawEvent, values: Mapping[str, Any]) -> Iterator[str]:
        header, fields, inner = raw.header, dict(values), raw.inner
        position = f"{header.position}" if inner is None else f"+{inner}"
        summary = self._summary(fields)
        text = f"  {'' if inner is None else '  '}{header.name}{summary and '  '}{summary}"
        yield from self.folded(self.coloured(f"{position:>{PLACE_WIDTH}}", _FAINT) + text, INDENT + "  ")
        if fields.get("options"):
            texts = [f"{name}={_scalar(value)}" for name, value in fields["options"].items()]
            yield from self.folded(f"{INDENT}session: {', '.join(texts)}")
        if fields.get("columns"):
            yield from self.folded(f"{INDENT}columns: {', '.join(map(safe_text, fields['columns']))}")
        if "sql" in fields:
            yield from self.statement(fields["sql"])
        if self._with_bytes:
            size = self._checksum_size if inner is None else 0
            yield from (f"{INDENT}{line}" for line in hex_lines(header, raw.data, size))

    def _summary(self, fields: dict[str, Any]) -> str:
        """Return the short fields on one line."""
        texts = []
        if "table" in fields:
            texts.append(safe_text(f"{fields.pop('db')}.{fields.pop('table')}"))
        for name, value in fields.items():
            if name in _LONG or name in _USUAL or value in ([], "", None, False):
                continue
            texts.append(name if value is True else f"{name}={_scalar(value)}")
        return " ".join(texts)

    def definition(self, db: str, table: str, sql: str | None) -> Iterator[str]:
        """Yield what a table was, if that is wanted and differs from what was shown last; None is unknown."""
        if not self._create_table or self._tables.get((db, table), "") == sql:
            return
        self._tables[db, table] = sql
        if sql is None:
            yield f"{INDENT}the logs do not tell what {safe_text(f'{db}.{table}')} was then"
            return
        yield self.coloured(f"{INDENT}{safe_text(f'{db}.{table}')} then:", BOLD)
        yield from (f"  {line}" for line in self.statement(sql))

    def statement(self, sql: str) -> Iterator[str]:
        """Yield a statement's text, line by line."""
        return (f"{INDENT}{safe_text(line)}" for line in sql.split("\n"))

    def _row_lines(self, shown: ShownEvent) -> Iterator[bytes]:
        """Yield the event's rows, line by line."""
        if shown.row_count is None:
            return
        room = None if self._most_rows is None else max(self._most_rows - self._rows, 0)
        lines: list[str] = []
        for row in islice(shown.rows, room):
            lines.append(self._heading(row["type"], row["db"], row["table"]))
            lines += self.values(row)
            if len(lines) > _LINES_WRITTEN:
                yield _lines(lines)
                lines = []
        yield _lines(lines)
        self._rows += shown.row_count

    # The rows of an event repeat it.
    @lru_cache(maxsize=256)  # noqa: B019 - one of these is made a process
    def _heading(self, operation: str, db: str, table: str) -> str:
        text = f"{INDENT}{_OPERATIONS[operation]} {safe_text(db)}.{safe_text(table)}"
        return self.coloured(text, BOLD)

    def _left_out(self) -> Iterator[str]:
        """Yield the number of rows of the last transaction that were not shown."""
        hidden = 0 if self._most_rows is None else self._rows - self._most_rows
        if hidden > 0:
            yield f"{INDENT}{counted(hidden, 'more row')} in this transaction"
        self._rows = 0

    def end(self) -> Iterator[bytes]:
        """Yield what follows the last transaction."""
        return map(_line, self._left_out())

    def values(self, row: dict[str, Any]) -> Iterator[str]:
        """Yield a row change column by column, with updated columns marked."""
        before, after = row.get("before"), row.get("after")
        if before is None or after is None:
            values = after or before or {}
            for padded, value in zip(_padded(tuple(values)), values.values(), strict=True):
                yield f"{INDENT}  {padded}  {value_text(value)}"
            return
        names = tuple(before if before.keys() == after.keys() else before | after)
        if self._changed_only:
            kept = set(row["key"])
            names = tuple(
                name for name in names if name in kept or (name in after and before.get(name) != after[name])
            )
        for name, padded in zip(names, _padded(names), strict=True):
            if name not in after:
                yield self.coloured(f"{INDENT}  {padded}  {value_text(before[name])}", _FAINT)
            elif name not in before:
                yield self._changed(padded, None, value_text(after[name]))
            elif before[name] == after[name]:
                yield self.coloured(f"{INDENT}  {padded}  {value_text(after[name])}", _FAINT)
            else:
                yield self._changed(padded, value_text(before[name]), value_text(after[name]))
        for name, operations in (row.get("json_diff") or {}).items():
            text = safe_text(f"changed by {json.dumps(operations, ensure_ascii=False)}")
            yield self._changed(safe_text(name), None, text)

    def _changed(self, name: str, old: str | None, new: str) -> str:
        """Return an updated column; the old value may not be logged."""
        was = "" if old is None else f"{self.coloured(old, _OLD)} "
        return f"{self.coloured(f'{_CHANGED}{name}  ', BOLD)}{was}-> {self.coloured(new, _NEW)}"

    def folded(self, line: str, indent: str | None = None) -> Iterator[str]:
        """Yield a line in parts that fit the terminal."""
        return iter([line]) if self._width is None else folded(line, self._width, indent)

    def coloured(self, text: str, colour: str) -> str:
        """Return a text in a colour, if colours are enabled."""
        return f"{colour}{text}{_END}" if self._colour else text


def value_text(value: Any) -> str:
    """Format a column's value: bytes as 0x…, text in quotes, all else as JSON; long values are truncated."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return safe_text(encode_basestring(value))
    if type(value) in (int, float):
        return repr(value)
    if isinstance(value, dict) and "start" in value:
        opening = '"' if value["is_text"] else "0x"
        return f"{opening}{safe_text(value['start'])}{ELLIPSIS} ({value['bytes']:,} bytes)"
    if isinstance(value, dict) and list(value) == ["hex"]:
        return f"0x{value['hex']}"
    if isinstance(value, dict) and list(value) == ["document"]:
        return safe_text(value["document"])
    return safe_text(_JSON.encode(value))


# The rows of a table repeat its names.
@lru_cache(maxsize=256)
def _padded(names: tuple[str, ...]) -> tuple[str, ...]:
    """Pad names to equal width."""
    size = min(max([text_width(safe_text(name)) for name in names], default=0), _NAME_MOST)
    return tuple(pad_text(safe_text(name), size) for name in names)


def _line(text: str) -> bytes:
    return encoded(f"{text}\n")


def _lines(texts: Sequence[str]) -> bytes:
    return encoded("\n".join([*texts, ""]))


def _scalar(value: Any) -> str:
    """Format a field's value, in quotes unless it is a single word."""
    if isinstance(value, list):
        return ",".join(map(_scalar, value)) or UNKNOWN
    text = safe_text(str(value))
    return text if text and " " not in text else f"'{text}'"
