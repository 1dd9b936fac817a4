"""Transactions event by event, with the rows of rows events: what ``show`` shows.

The events come from the file as they stand, the rows from the decoder; both in the log's order, so that each
rows event takes the next rows. Memory is bounded whatever the size of a transaction.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from binx.event.charset import DEFAULT_CHARSET, Charset
from binx.event.charset import charset as charset_of_name
from binx.event.format import Flavour, FormatDescription
from binx.event.table_map import parse_kept_map
from binx.inspect.event_fields import event_fields
from binx.kernels.render.row_changes import Spelling
from binx.kernels.walk.scan import Level
from binx.log.chain.ends import FileEnds
from binx.log.events import RawEvent
from binx.log.scanning import OnDamage
from binx.log.selection.selection import Selection
from binx.rows.columns.types import Kind, LogicalType
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from binx.rows.following import decoder_warnings
from binx.slices.changes import Begin, Selected, ordered_changes
from binx.slices.event_rows import EventRows, events_with_rows
from binx.slices.json_lines import JsonRows
from binx.slices.json_values import NULL, json_values, plain_json
from binx.slices.pieces import Spelled
from binx.slices.search import Search
from binx.slices.texts import LONG_BYTES, LongText, chunks_of, is_long, value_of

_PAGES = 16
"""Tables of transactions that are kept, at most, to be decoded without a look at the files before."""


class ShownTransaction(NamedTuple):
    """A transaction whose events follow."""

    facts: dict[str, Any]
    description: FormatDescription


class ShownRows:
    """The row changes of one event, to be taken before the next event."""

    def __init__(self, rows: EventRows, read: Callable[[Iterable[bytes]], dict[str, Any]]) -> None:
        self._rows = rows
        self._read = read

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Each as ``db``, ``table``, ``type``, ``row``, ``before``, ``after``, ``json_diff``.

        Values are as JSON of :mod:`binx.slices.json_lines` has them. For people bytes are ``{"hex": …}``, and
        values of 1 MiB and more a :class:`~binx.inspect.show.LongValue`, to be looked at before the next
        row is taken.
        """
        return (self._read(text) for text in self._rows.texts())

    @property
    def count(self) -> int | None:
        """How many they are; None where the event is no rows event."""
        return self._rows.count

    def text(self, most: int | None = None) -> Iterator[bytes]:
        """All of them, or at most so many: JSON objects with commas between."""
        return self._rows.text(most)


class ShownEvent:
    """An event of the transaction that came last."""

    def __init__(self, raw: RawEvent, description: FormatDescription, rows: ShownRows) -> None:
        self.raw = raw
        self.rows = rows
        self._description = description

    @property
    def fields(self) -> dict[str, Any]:
        """What it says, by name."""
        return event_fields(self.raw.event, self._description)

    @property
    def row_count(self) -> int | None:
        """How many row changes it holds; None where it is no rows event."""
        return self.rows.count


class Showing:
    """Selected transactions event by event.

    Args:
        readable: give bytes as ``{"hex": …}``, which people can tell from text, and long values as
            :class:`~binx.inspect.show.LongValue`; else as ``extract --format json`` does.
        on_damage: what is done where a log is damaged; salvage leaves out what cannot be decoded, too.
    """

    def __init__(
        self,
        chain: Sequence[FileEnds],
        selection: Selection,
        *,
        catalog: Catalog | None = None,
        readable: bool = False,
        verify: bool = True,
        on_damage: OnDamage = OnDamage.STOP,
    ) -> None:
        self._chain = chain
        self._catalog = Catalog() if catalog is None else catalog.copy()
        self._verify = verify
        self._on_damage = on_damage
        self._search = self._new_search(selection)
        readable_rows = ReadableRows()
        self._read = readable_rows.document if readable else _document
        self._render = JsonRows(
            lines=False, values=readable_rows.values if readable else json_values, between=not readable
        )
        self._decoders: list[ChangeDecoder] = []

    def _new_search(self, selection: Selection) -> Search:
        search = Search(self._chain, selection, verify=self._verify, on_damage=self._on_damage)
        search.leave_out_undecodable(self._catalog, intact=True)
        return search

    @property
    def search(self) -> Search:
        """What was found and what is missing."""
        return self._search

    @property
    def warnings(self) -> list[str]:
        """What is not known of names and types, in sentences; whole when the iteration is over."""
        return decoder_warnings(self._decoders)

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
                description = item.table.format
                yield ShownTransaction(item.facts, description)
                for raw, rows in events_with_rows(item, items, self._decoders):
                    yield ShownEvent(raw, description, ShownRows(rows, self._read))

    def _selected(self) -> Iterator[Selected]:
        """The transactions to show; files are passed over where nothing in them is needed for names."""
        selection = self._search.selector.selection
        if selection.gtids is not None and selection.limit is None:
            found = self._named_by_themselves()
            if found is not None:
                yield from found
                return
            self._search = self._new_search(selection)
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
                if len(found) > _PAGES or not _names_columns(found[-1]):
                    return None
        return found


def _names_columns(selected: Selected) -> bool:
    """Whether the log itself names the columns of all tables."""
    maps = (parse_kept_map(body, selected.table.format) for _, body in selected.scan.table_maps())
    return all(column.name is not None for table_map in maps for column in table_map.columns)


def _document(text: Iterable[bytes]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(b"".join(text))
    return document


_BYTES_OPEN, _BYTES_CLOSE = b'{"hex": "', b'"}'
_DOCUMENT_OPEN, _DOCUMENT_CLOSE = b'{"document": ', b"}"

LONG_KINDS = frozenset({Kind.TEXT, Kind.BINARY, Kind.JSON})
"""Kinds of columns that can have long values."""


class LongValue:
    """A value of 1 MiB or more, in the memory of its column."""

    def __init__(self, array: pa.Array, row: int, charset: Charset | None) -> None:
        self._array = array
        self._row = row
        self._charset = charset
        self._memory = value_of(array, row)
        self.size = len(self._memory)
        self.is_text = charset is not None

    def text(self) -> Iterator[str]:
        """The value as text, in pieces."""
        if self._charset is None:
            return (chunk.hex() for chunk in chunks_of(self._array, self._row))
        return LongText(self._array, self._charset).text(self._row)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LongValue) and self._memory == other._memory

    __hash__ = None  # type: ignore[assignment]


class ReadableRows:
    """Spells rows for people, and reads what was spelled.

    Bytes are ``{"hex": …}`` and documents ``{"document": …}`` with their text, so that they are told from
    text and from each other.
    """

    def __init__(self) -> None:
        # No file can hold it, so no document of a row is taken for a long value.
        self._key = f"long-{secrets.token_hex(16)}"
        self._long: dict[int, LongValue] = {}

    def values(self, array: pa.Array, logical: LogicalType) -> tuple[Spelled, ...]:
        """How a column is spelled."""
        if logical.kind in LONG_KINDS and is_long(array):
            return (self._with_long(array, logical),)
        if logical.kind is Kind.JSON:
            return (Spelled(Spelling.SPELL_JSON, array, _DOCUMENT_OPEN, _DOCUMENT_CLOSE, NULL),)
        if logical.kind is Kind.BINARY:
            return (Spelled(Spelling.SPELL_HEXADECIMAL, array, _BYTES_OPEN, _BYTES_CLOSE, NULL),)
        return json_values(array, logical)

    def document(self, text: Iterable[bytes]) -> dict[str, Any]:
        """A row change, given as text: its long values are each a :class:`LongValue`."""
        self._long.clear()
        document: dict[str, Any] = json.loads(b"".join(text), object_hook=self._found)
        return document

    def _found(self, document: dict[str, Any]) -> Any:
        return self._long[document[self._key]] if self._key in document else document

    def _with_long(self, array: pa.Array, logical: LogicalType) -> Spelled:
        """A column of which some values are long."""
        charset = charset_of(array, logical)

        def spelled(row: int) -> Iterator[bytes]:
            value = value_of(array, row)
            if len(value) >= LONG_BYTES:
                number = len(self._long)
                self._long[number] = LongValue(array, row, charset)
                yield f'{{"{self._key}": {number}}}'.encode()
            elif charset is None:
                yield b"%b%b%b" % (_BYTES_OPEN, value.hex().encode(), _BYTES_CLOSE)
            elif logical.kind is Kind.JSON:
                text = plain_json(charset.decode(value)).encode()
                yield b"%b%b%b" % (_DOCUMENT_OPEN, text, _DOCUMENT_CLOSE)
            else:
                yield plain_json(charset.decode(value)).encode()

        return Spelled(Spelling.SPELL_ASKED, array, null=NULL, ask=spelled)


_UTF8 = charset_of_name(DEFAULT_CHARSET)


def charset_of(array: pa.Array, logical: LogicalType) -> Charset | None:
    """The character set of a column's text as it is in memory; None for bytes."""
    if logical.kind is Kind.BINARY:
        return None
    own = None if logical.charset is None else charset_of_name(logical.charset)
    return own if own is not None and pa.types.is_binary(array.type) else _UTF8
