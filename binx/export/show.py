"""Transactions event by event, with the rows of rows events: what ``show`` shows.

The events come from the file as they stand, the rows from the decoder; both in the log's order, so that each
rows event takes the next rows. Memory is bounded whatever the size of a transaction.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from binx.errors import DamagedError
from binx.event import FormatDescription
from binx.event.format import Flavour
from binx.event.header import HEADER_SIZE, EventFlag, EventHeader, EventType
from binx.event.plain import plain_rows_event
from binx.event.rows import RowsHeader
from binx.event.table_map import TableMap, parse_table_map
from binx.export.changes import Begin, End, RowTexts, Selected, WholeTexts, ordered_changes
from binx.export.event_fields import event_fields
from binx.export.json_lines import JsonRows
from binx.export.json_values import json_values
from binx.export.readable import ReadableRows
from binx.export.search import Search
from binx.kernels.rowcount import RowCounter
from binx.kernels.scan import Level
from binx.log.chain import FileEnds
from binx.log.events import RawEvent, raw_events
from binx.log.selection import Selection
from binx.rows.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from binx.rows.schema import Provenance
from binx.rows.statements import Statement

_TYPE_OFFSET = 4
_ROWS_POST_HEADER = 8
_PAGES = 16
"""Tables of transactions that are kept, at most, to be decoded without a look at the files before."""


class ShownTransaction(NamedTuple):
    """A transaction whose events follow.

    Attributes:
        facts: a row of the data set's ``transactions``; times in µs since 1970.
        description: the format description that rules its events.
    """

    facts: dict[str, Any]
    description: FormatDescription


class ShownRows:
    """The row changes of one event, to be taken before the next event.

    Args:
        texts: their texts, each in chunks.
        read: makes a row change of its text.
    """

    def __init__(
        self, texts: Iterator[Iterator[bytes]], read: Callable[[Iterable[bytes]], dict[str, Any]]
    ) -> None:
        self._texts = texts
        self._read = read

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Each as ``db``, ``table``, ``type``, ``row``, ``before``, ``after``, ``json_diff``.

        Values are as JSON of :mod:`binx.export.json_lines` has them. For people bytes are ``{"hex": …}``, and
        values of 1 MiB and more a :class:`~binx.export.readable.LongValue`, to be looked at before the next
        row is taken.
        """
        return (self._read(text) for text in self._texts)

    def texts(self) -> Iterator[Iterator[bytes]]:
        """Each as a JSON object, in chunks that are to be taken before the next row."""
        return self._texts


class ShownEvent(NamedTuple):
    """An event of the transaction that came last.

    Attributes:
        raw: its header and bytes.
        fields: what it says, by name.
        row_count: how many row changes it holds; None where it is no rows event.
        rows: those.
    """

    raw: RawEvent
    fields: dict[str, Any]
    row_count: int | None
    rows: ShownRows


class Showing:
    """Selected transactions event by event.

    Args:
        chain: the files in their order, with their ends read.
        selection: which transactions.
        catalog: tables known beforehand.
        readable: give bytes as ``{"hex": …}``, which people can tell from text, and long values as
            :class:`~binx.export.readable.LongValue`; else as ``extract --format json`` does.
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
        readable_rows = ReadableRows()
        self._read = readable_rows.document if readable else _document
        self._render = JsonRows(
            lines=False, values=readable_rows.values if readable else json_values, numbered=numbered
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
            self._selected(),
            self._catalog,
            self._render,
            raw_text=True,
            undone=True,
            decoders=self._decoders,
        )
        for item in items:
            if isinstance(item, Begin):
                yield from _Transaction(item, items, self._read).shown()

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

    def __init__(
        self,
        begin: Begin,
        items: Iterator[Begin | RowTexts | WholeTexts | Statement | End],
        read: Callable[[Iterable[bytes]], dict[str, Any]],
    ) -> None:
        self._begin = begin
        self._items = items
        self._read = read
        self._texts: Iterator[Iterator[bytes]] = iter(())
        self._ended = False
        self._counter = RowCounter()
        self._description: FormatDescription = begin.table.format

    def shown(self) -> Iterator[ShownTransaction | ShownEvent]:
        facts = self._begin.facts
        yield ShownTransaction(facts, self._description)
        for raw in raw_events(self._begin.file, facts["start"], facts["end"], self._description):
            fields = event_fields(raw.event, self._description)
            count = self._count(raw)
            texts = self._rows(count or 0, raw)
            yield ShownEvent(raw, fields, count, ShownRows(texts, self._read))
            for _ in texts:
                pass
        if self._next_row() is not None:
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

    def _rows(self, count: int, raw: RawEvent) -> Iterator[Iterator[bytes]]:
        for _ in range(count):
            text = self._next_row()
            if text is None:
                raise DamagedError(
                    f"expected {count} rows in the event, found fewer",
                    path=self._begin.file.path,
                    offset=raw.header.position,
                    event=raw.header.name,
                )
            yield text

    def _next_row(self) -> Iterator[bytes] | None:
        """The text of the transaction's next row."""
        while not self._ended:
            text = next(self._texts, None)
            if text is not None:
                return text
            item = next(self._items, None)
            if isinstance(item, RowTexts):
                self._texts = item.each()
            elif not isinstance(item, Statement):
                self._ended = True
        return None


def _document(text: Iterable[bytes]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(b"".join(text))
    return document


__all__ = ["Showing", "ShownEvent", "ShownRows", "ShownTransaction"]
