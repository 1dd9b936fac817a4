"""Transactions event by event, with the rows of rows events: what ``show`` shows.

The events come from the file as they stand, the rows from the decoder; both in the log's order, so that each
rows event takes the next rows. Memory is bounded whatever the size of a transaction.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import DamagedError
from binx.event import FormatDescription
from binx.event.format import Flavour
from binx.event.header import HEADER_SIZE, EventFlag, EventHeader, EventType
from binx.event.plain import plain_rows_event
from binx.event.rows import RowsHeader
from binx.event.table_map import TableMap, parse_table_map
from binx.export.changes import Begin, End, RowTexts, Selected, ordered_changes
from binx.export.event_fields import event_fields
from binx.export.json_lines import JsonRows
from binx.export.json_values import NULL, json_values
from binx.export.search import Search
from binx.export.texts import constant, hexadecimal, joined
from binx.kernels.rowcount import RowCounter
from binx.kernels.scan import Level
from binx.log.chain import FileEnds
from binx.log.events import RawEvent, raw_events
from binx.log.selection import Selection
from binx.rows.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from binx.rows.schema import Provenance
from binx.rows.statements import Statement
from binx.rows.types import Kind, LogicalType

_COPIED = 256 * 1024
_TYPE_OFFSET = 4
_ROWS_POST_HEADER = 8
_PAGES = 16
"""Tables of transactions that are kept, at most, to be decoded without a look at the files before."""

_ROW_NAMES = ("db", "table", "type", "row", "before", "after", "json_diff")


class ShownTransaction(NamedTuple):
    """A transaction whose events follow.

    Attributes:
        facts: a row of the data set's ``transactions``; times in µs since 1970.
        description: the format description that rules its events.
    """

    facts: dict[str, Any]
    description: FormatDescription


class ShownEvent(NamedTuple):
    """An event of the transaction that came last.

    Attributes:
        raw: its header and bytes.
        fields: what it says, by name.
        row_count: how many row changes it holds; None where it is no rows event.
        rows: those, to be taken before the next event: ``db``, ``table``, ``type``, ``row``, ``before``,
            ``after``, ``json_diff``, as JSON of :mod:`binx.export.json_lines` has them.
    """

    raw: RawEvent
    fields: dict[str, Any]
    row_count: int | None
    rows: Iterator[dict[str, Any]]


class Showing:
    """Selected transactions event by event.

    Args:
        chain: the files in their order, with their ends read.
        selection: which transactions.
        catalog: tables known beforehand.
        readable: give bytes as ``{"hex": …}``, which people can tell from text; else in base64.
        numbered: call columns ``3: name`` and not ``name``.
        verify: whether checksums are compared.
        search: a search that has not begun, in place of one for the selection; all files up to the last
            transaction that is wanted are then read, so that numbers in the chain are known.
    """

    def __init__(
        self,
        chain: Sequence[FileEnds],
        selection: Selection,
        *,
        catalog: Catalog | None = None,
        readable: bool = False,
        numbered: bool = False,
        verify: bool = True,
        search: Search | None = None,
    ) -> None:
        self._chain = chain
        self._catalog = Catalog() if catalog is None else catalog.copy()
        self._counted = search is not None
        self._search = search or Search(chain, selection, verify=verify)
        self._verify = verify
        self._render = JsonRows(
            lines=True, values=readable_values if readable else json_values, numbered=numbered
        )
        self._decoders: list[ChangeDecoder] = []

    @property
    def search(self) -> Search:
        """What was found and what is missing."""
        return self._search

    @property
    def warnings(self) -> list[str]:
        """What is not known of names and types, in sentences; whole when the iteration is over."""
        unnamed = {
            f"{table.db}.{table.name}": None
            for decoder in self._decoders
            for table in decoder.tables
            if any(column.provenance.name is Provenance.NONE for column in table.resolved.columns)
        }
        sentences = [warning for decoder in self._decoders for warning in decoder.report.warnings]
        if unnamed:
            sentences.append(
                f"the logs do not tell the names of the columns of {', '.join(unnamed)}; --schema can"
            )
        return list(dict.fromkeys(sentences))

    def __iter__(self) -> Iterator[ShownTransaction | ShownEvent]:
        """The transactions, each before its events.

        Raises:
            DamagedError, UnsupportedError: a transaction cannot be read.
        """
        items = ordered_changes(
            self._selected(), self._catalog, self._render, undone=True, decoders=self._decoders
        )
        for item in items:
            if isinstance(item, Begin):
                yield from _Transaction(item, items).shown()

    def _selected(self) -> Iterator[Selected]:
        """The transactions to show; files are passed over where nothing in them is needed for names."""
        selection = self._search.selector.selection
        if not self._counted and selection.gtids is not None and selection.limit is None:
            found = self._named_by_themselves()
            if found is not None:
                yield from found
                return
            self._search = Search(self._chain, selection, verify=self._verify)
        yield from self._search.selected()

    def _named_by_themselves(self) -> list[Selected] | None:
        """The few transactions that are wanted, if the log itself names all columns; else None.

        Where it does not, DDL before may, and all files up to the last wanted transaction must be read.
        """
        found: list[Selected] = []
        for scan, table, mask in self._search.walk(Level.LEVEL_TABLES):
            if scan.file.format.flavour is not Flavour.MYSQL:
                return None
            if mask.count(1):
                found.append(Selected(scan, table, mask))
                if len(found) > _PAGES or not all(_names_columns(one) for one in _map_bodies(found[-1])):
                    return None
        return found


def _map_bodies(selected: Selected) -> Iterator[TableMap]:
    description = selected.table.format
    wide = description.post_header_length(EventType.TABLE_MAP, 8) != 6
    for _, body in selected.scan.table_maps():
        whole = memoryview(bytes(8 if wide else 6) + body)
        header = EventHeader(0, EventType.TABLE_MAP, 0, HEADER_SIZE + len(whole), 0, EventFlag(0), 0)
        yield parse_table_map(whole, header, description)


def _names_columns(table_map: TableMap) -> bool:
    return all(column.name is not None for column in table_map.columns)


class _Transaction:
    """The events of one transaction, and the rows that the decoder gives of it."""

    def __init__(self, begin: Begin, items: Iterator[Begin | RowTexts | Statement | End]) -> None:
        self._begin = begin
        self._items = items
        self._lines: Iterator[bytes] = iter(())
        self._ended = False
        self._counter = RowCounter()
        self._description: FormatDescription = begin.table.format

    def shown(self) -> Iterator[ShownTransaction | ShownEvent]:
        facts = self._begin.facts
        yield ShownTransaction(facts, self._description)
        for raw in raw_events(self._begin.file, facts["start"], facts["end"], self._description):
            fields = event_fields(raw.event, self._description)
            count = self._count(raw)
            rows = self._rows(count or 0, raw)
            yield ShownEvent(raw, fields, count, rows)
            for _ in rows:
                pass
        if self._next_line() is not None:
            raise DamagedError(
                "expected no more rows in the transaction than its events hold, found some",
                path=self._begin.file.path,
                offset=facts["start"],
            )

    def _count(self, raw: RawEvent) -> int | None:
        """How many row changes an event holds."""
        description, header = self._description, raw.header
        position = header.position + HEADER_SIZE
        if isinstance(raw.event, TableMap):
            wide = description.post_header_length(EventType.TABLE_MAP, 8) != 6
            self._counter.see(raw.body, 6 if wide else 4, position)
        if not isinstance(raw.event, RowsHeader):
            return None
        body, number = raw.body, header.type
        if raw.event.compressed:
            plain = plain_rows_event(raw.data, header, description)
            body, number = memoryview(plain)[HEADER_SIZE:], plain[_TYPE_OFFSET]
        length = description.post_header_length(EventType(number), _ROWS_POST_HEADER)
        return self._counter.count(body, number, length, position)

    def _rows(self, count: int, raw: RawEvent) -> Iterator[dict[str, Any]]:
        for _ in range(count):
            line = self._next_line()
            if line is None:
                raise DamagedError(
                    f"expected {count} rows in the event, found fewer",
                    path=self._begin.file.path,
                    offset=raw.header.position,
                    event=raw.header.name,
                )
            document = json.loads(line)
            yield {name: document[name] for name in _ROW_NAMES if name in document}

    def _next_line(self) -> bytes | None:
        """The next row of the transaction."""
        while not self._ended:
            line = next(self._lines, None)
            if line == b"":
                continue
            if line is not None:
                return line
            item = next(self._items, None)
            if isinstance(item, RowTexts):
                self._lines = _lines_of(item.text)
            elif not isinstance(item, Statement):
                self._ended = True
        return None


def _lines_of(text: memoryview) -> Iterator[bytes]:
    """The lines of a text, of which no more than a part is copied at a time."""
    begun: list[bytes] = []
    for start in range(0, len(text), _COPIED):
        first, *others = bytes(text[start : start + _COPIED]).split(b"\n")
        begun.append(first)
        if others:
            yield b"".join(begun)
            *whole, last = others
            yield from whole
            begun = [last]
    yield b"".join(begun)


def readable_values(array: pa.Array, logical: LogicalType) -> pa.Array:
    """JSON in which bytes are told from text."""
    if logical.kind is not Kind.BINARY:
        return json_values(array, logical)
    texts = joined(constant('{"hex": "'), hexadecimal(pc.fill_null(array, b"")), constant('"}'))
    return pc.if_else(array.is_valid(), texts, NULL)


__all__ = ["Showing", "ShownEvent", "ShownTransaction"]
