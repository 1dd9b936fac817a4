"""Show transactions event by event, with the rows of rows events, for ``show``.

Events are read from the file, rows come from the decoder; both are in log order, so each rows event takes the
next rows. Memory is bounded whatever the size of a transaction.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from binx.event.format import Flavour, FormatDescription
from binx.event.query_event import Query
from binx.event.table_map import TableMap, parse_map_body
from binx.inspect.event_fields import event_fields
from binx.kernels.walk.scan import Level
from binx.log.chain.chain import ChainLog
from binx.log.scanning import OnDamage
from binx.log.selection.selection import Selection
from binx.log.transaction_events import RawEvent
from binx.rows.columns.names import ResolvedTable
from binx.rows.columns.schema import ChangeKind
from binx.rows.ddl.catalog import Catalog
from binx.slices.changes import ordered_changes, reading_in_pieces
from binx.slices.event_rows import EventRows, events_with_rows
from binx.slices.items import Begin
from binx.slices.json_lines import JsonRows
from binx.slices.search import Search, Selected
from binx.sql.create_table import known_statement, statement_of_rows
from binx.sql.dialect import SqlDialect
from binx.sql.values import ReadableValues

_ROWS_PARSED = 256
"""Number of rows that are parsed together."""
_SEPARATOR = b", "

_PAGES = 16
"""Maximum number of transaction tables that are kept for decoding without reading earlier files."""


class ShownTransaction(NamedTuple):
    """A transaction whose events follow."""

    facts: dict[str, Any]
    description: FormatDescription


class TableThen(NamedTuple):
    """A table at the moment of an event.

    Attributes:
        create_table: the statement that makes it; None if the logs do not tell.
    """

    db: str
    table: str
    create_table: str | None


class ShownEvent:
    """An event of the current transaction.

    Args:
        table: returns a table, by database and name, as the transaction's rows of it were read.
    """

    def __init__(
        self,
        raw: RawEvent,
        description: FormatDescription,
        rows: EventRows,
        table: Callable[[str, str], ResolvedTable | None],
    ) -> None:
        self.raw = raw
        self._rows = rows
        self._description = description
        self._table = table

    @property
    def fields(self) -> dict[str, Any]:
        """Return the event's fields by name."""
        return event_fields(self.raw.event, self._description)

    @property
    def tables(self) -> list[TableThen]:
        """What the table of a table map was, if rows follow, or what a statement made of tables."""
        statements, event = self._rows.reach(), self.raw.event
        dialect = SqlDialect.of(self._description)
        if isinstance(event, TableMap):
            name = event.database, event.table
            found = self._table(*name)
            return [] if found is None else [TableThen(*name, statement_of_rows(found, dialect))]
        changes = statements.get(self.raw.header.position, []) if isinstance(event, Query) else []
        return [
            TableThen(change.db, change.table, known_statement(change.definition, dialect))
            for change in changes
            if change.table is not None and change.kind is not ChangeKind.DROPPED
        ]

    @property
    def row_count(self) -> int | None:
        """Number of row changes in the event; None if it is not a rows event."""
        return self._rows.count

    @property
    def rows(self) -> Iterator[dict[str, Any]]:
        """Return the row changes; take them before the next event.

        Each has ``db``, ``table``, ``type``, ``row``, ``before``, ``after``, ``json_diff``. Values are in the
        JSON form of :mod:`binx.sql.values`; for people in that of
        :class:`~binx.sql.values.ReadableValues`, and with ``key``, the names of the primary key's columns.
        """
        while text := b"".join(self._rows.text(_ROWS_PARSED)):
            yield from json.loads(b"[%b]" % text.removeprefix(_SEPARATOR))

    def rows_text(self, most: int | None = None) -> Iterator[bytes]:
        """Return all row changes, or at most ``most``, as JSON objects separated by commas."""
        return self._rows.text(most)


def document(text: Iterable[bytes]) -> dict[str, Any]:
    """Parse a row change's JSON."""
    row: dict[str, Any] = json.loads(b"".join(text))
    return row


class Showing:
    """Selected transactions event by event.

    Args:
        readable: write values for people; else as ``extract --format json`` does.
        definitions: whether events will be asked for their tables, whose statements are in earlier logs.
        on_damage: what to do if a log is damaged; salvage also leaves out what cannot be decoded.

    Attributes:
        search: the search, with what it found and what is missing.
    """

    def __init__(
        self,
        chain: Sequence[ChainLog],
        selection: Selection,
        *,
        catalog: Catalog | None = None,
        readable: bool = False,
        definitions: bool = False,
        verify: bool = True,
        on_damage: OnDamage = OnDamage.STOP,
    ) -> None:
        self._chain = chain
        self._catalog = Catalog() if catalog is None else catalog.copy()
        self._verify = verify
        self._definitions = definitions
        self._on_damage = on_damage
        self.search = self._new_search(selection)
        values = ReadableValues() if readable else None
        self._render = JsonRows(lines=False, values=values, between=True, keys=readable)
        self._reading = reading_in_pieces(self._catalog, raw_text=True, undone=True, keeps=True)

    def _new_search(self, selection: Selection) -> Search:
        search = Search(self._chain, selection, verify=self._verify, on_damage=self._on_damage)
        search.leave_out_undecodable(self._catalog, intact=True)
        return search

    @property
    def warnings(self) -> list[str]:
        """Warnings about unknown names and types; complete after the iteration."""
        return self._reading.warnings

    def __iter__(self) -> Iterator[ShownTransaction | ShownEvent]:
        """Yield each transaction, followed by its events.

        Raises:
            DamagedError, UnsupportedError: a transaction cannot be read.
        """
        items = ordered_changes(self._selected(), self._reading, self._render)
        for item in items:
            if isinstance(item, Begin):
                description = item.table.format
                table = partial(self._reading.of(item.file).resolved_at, item.version)
                yield ShownTransaction(item.facts, description)
                for raw, rows in events_with_rows(item, items, self._reading):
                    yield ShownEvent(raw, description, rows, table)

    def _selected(self) -> Iterator[Selected]:
        """Yield the transactions to show; skip files that are not needed for column names."""
        selection = self.search.selector.selection
        if selection.gtids is not None and selection.limit is None and not self._definitions:
            selected = self._named_by_themselves()
            if selected is not None:
                yield from selected
                return
            self.search = self._new_search(selection)
        yield from self.search.selected()

    def _named_by_themselves(self) -> list[Selected] | None:
        """Return the wanted transactions if they are few and the log itself names all columns, else None.

        Otherwise earlier DDL may name the columns, and all files up to the last wanted transaction must be
        read.
        """
        selected: list[Selected] = []
        for part in self.search.walk(Level.LEVEL_TABLES):
            if part.file.format.flavour is not Flavour.MYSQL:
                return None
            if part.mask.count(1):
                selected.append(part)
                if len(selected) > _PAGES or not _names_columns(part):
                    return None
        return selected


def _names_columns(selected: Selected) -> bool:
    """Whether the log itself names the columns of all tables."""
    maps = (parse_map_body(body, selected.table.format) for _, body in selected.scan.table_maps())
    return all(column.name is not None for table_map in maps for column in table_map.columns)
