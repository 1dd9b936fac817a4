"""Transactions event by event, with the rows of rows events: what ``show`` shows.

The events come from the file as they stand, the rows from the decoder; both in the log's order, so that each
rows event takes the next rows. Memory is bounded whatever the size of a transaction.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from binx.event.format import Flavour, FormatDescription
from binx.event.table_map import parse_kept_map
from binx.inspect.event_fields import event_fields
from binx.kernels.walk.scan import Level
from binx.log.chain.ends import FileEnds
from binx.log.events import RawEvent
from binx.log.scanning import OnDamage
from binx.log.selection.selection import Selection
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from binx.rows.following import decoder_warnings
from binx.slices.changes import Begin, ordered_changes
from binx.slices.event_rows import EventRows, events_with_rows
from binx.slices.json_lines import JsonRows
from binx.slices.search import Search, Selected
from binx.slices.values import ReadableValues

_PAGES = 16
"""Tables of transactions that are kept, at most, to be decoded without a look at the files before."""


class ShownTransaction(NamedTuple):
    """A transaction whose events follow."""

    facts: dict[str, Any]
    description: FormatDescription


class ShownEvent:
    """An event of the transaction that came last."""

    def __init__(self, raw: RawEvent, description: FormatDescription, rows: EventRows) -> None:
        self.raw = raw
        self._rows = rows
        self._description = description

    @property
    def fields(self) -> dict[str, Any]:
        """What it says, by name."""
        return event_fields(self.raw.event, self._description)

    @property
    def row_count(self) -> int | None:
        """How many row changes it holds; None where it is no rows event."""
        return self._rows.count

    @property
    def rows(self) -> Iterator[dict[str, Any]]:
        """The row changes, to be taken before the next event.

        Each has ``db``, ``table``, ``type``, ``row``, ``before``, ``after``, ``json_diff``, with values as
        JSON of :mod:`binx.slices.values` has them, for people as
        :class:`~binx.slices.values.ReadableValues`.
        """
        return map(document, self._rows.texts())

    def rows_text(self, most: int | None = None) -> Iterator[bytes]:
        """All row changes, or at most so many, as JSON objects with commas between."""
        return self._rows.text(most)


def document(text: Iterable[bytes]) -> dict[str, Any]:
    """A row change, read from its JSON."""
    read: dict[str, Any] = json.loads(b"".join(text))
    return read


class Showing:
    """Selected transactions event by event.

    Args:
        readable: write values for people; else as ``extract --format json`` does.
        on_damage: what is done where a log is damaged; salvage leaves out what cannot be decoded, too.

    Attributes:
        search: what was found and what is missing.
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
        self.search = self._new_search(selection)
        values = ReadableValues() if readable else None
        self._render = JsonRows(lines=False, values=values, between=not readable)
        self._decoders: list[ChangeDecoder] = []

    def _new_search(self, selection: Selection) -> Search:
        search = Search(self._chain, selection, verify=self._verify, on_damage=self._on_damage)
        search.leave_out_undecodable(self._catalog, intact=True)
        return search

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
                    yield ShownEvent(raw, description, rows)

    def _selected(self) -> Iterator[Selected]:
        """The transactions to show; files are passed over where nothing in them is needed for names."""
        selection = self.search.selector.selection
        if selection.gtids is not None and selection.limit is None:
            found = self._named_by_themselves()
            if found is not None:
                yield from found
                return
            self.search = self._new_search(selection)
        yield from self.search.selected()

    def _named_by_themselves(self) -> list[Selected] | None:
        """The few transactions that are wanted, if the log itself names all columns; else None.

        Where it does not, DDL before may, and all files up to the last wanted transaction must be read.
        """
        found: list[Selected] = []
        for scan, table, mask in self.search.walk(Level.LEVEL_TABLES):
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
