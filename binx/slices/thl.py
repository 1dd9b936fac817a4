"""``extract --format thl``: transactions in the format of Tungsten Replicator's ``thl list``.

The format follows ``THLManagerCtrl`` (``printHeader``, ``printReplDBMSEvent``, ``printRowChangeData``,
``formatColumn``) in Tungsten Replicator's open source code; the fields are described in its manual, "THL
Format". A binary log lacks the names of the replication service and of the source host; docs/thl.md lists
what is written instead.

A transaction larger than a fragment is split between statements and rows events, like Tungsten's extractor
does; only its last fragment is marked as such. A fragment's text is held, on disk if it is long, until it is
known whether the fragment is the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC
from functools import cache
from tempfile import SpooledTemporaryFile

from binx.event.format import Flavour
from binx.event.payload import TransactionPayload
from binx.event.query_event import ExecuteLoadQuery, LoadBlock, Query
from binx.event.replication import Incident
from binx.event.rows_events import RowsFlag, RowsHeader
from binx.event.session_variables import session_options
from binx.event.statement import Intvar, IntvarType, Rand, UserVar, XaPrepare
from binx.kernels.render.transactions import Spelling
from binx.log.binlog_file import BinlogFile
from binx.log.selection.times import in_zone
from binx.log.transaction_events import RawEvent
from binx.rows.batches import ChangeBatch
from binx.rows.change_groups import BatchImages, ChangeGroup
from binx.rows.ddl.catalog import Catalog
from binx.rows.ddl.tokens import identifier
from binx.slices.changes import ordered_changes, reading_in_pieces
from binx.slices.event_rows import EventRows, events_with_rows
from binx.slices.items import Begin
from binx.slices.rendering import Changes, Part, Parts, changes_of, columns
from binx.slices.search import Selected
from binx.source.wording import encoded
from binx.sql.values import ColumnTexts, Spelled, ThlValues
from binx.storage.output import Sink

FRAGMENT_BYTES = 1_000_000
"""Default bytes of events at which a fragment ends; Tungsten's ``transaction_frag_size``."""

_MEMORY = 8 * 1024 * 1024
"""Bytes of a fragment's text that are kept in memory, enough for most fragments."""

_CHUNK = 1024 * 1024
_POSITION_DIGITS = 16
_CONTROL = frozenset({"BEGIN", "COMMIT", "ROLLBACK"})
_CHARSETS = {
    "utf8mb4": "UTF-8",
    "utf8mb3": "UTF-8",
    "utf8": "UTF-8",
    "latin1": "ISO8859_1",
    "ascii": "US-ASCII",
}
"""Java's names of client character sets."""


def write_thl(
    selected: Iterable[Selected],
    output: Sink,
    catalog: Catalog,
    *,
    fragment_bytes: int = FRAGMENT_BYTES,
) -> list[str]:
    """Write transactions.

    Returns:
        Warnings about unknown names and types.

    Raises:
        DamagedError, UnsupportedError: a transaction cannot be read.
        OutputError: the output cannot be written.
    """
    reading = reading_in_pieces(catalog, raw_text=True, undone=True, keeps=True)
    items = ordered_changes(selected, reading, _rows)
    for item in items:
        if isinstance(item, Begin):
            transaction = _ThlTransaction(item, output, fragment_bytes)
            for raw, rows in events_with_rows(item, items, reading):
                transaction.take(raw, rows)
            transaction.end()
    return reading.warnings


_EVENT_CLASS = "com.continuent.tungsten.replicator.event.ReplDBMSEvent"
"""Tungsten's event class, written in every transaction."""

_VALUES = ThlValues()


def _rows(changes: ChangeBatch, _: BinlogFile) -> list[Changes]:
    """Render the row changes of a batch; the changes of a rows event follow its heading."""
    images = BatchImages(changes)
    values = cache(lambda index: _VALUES.column(images, index))
    return changes_of(images, lambda group: _row(images, values, group))


def _row(images: BatchImages, values: ColumnTexts, group: ChangeGroup) -> Parts:
    table = images.changes.table
    heading = f" - ACTION = {group.operation.upper()}\n - SCHEMA = {table.db}\n - TABLE = {table.name}\n"
    yield Part(encoded(heading), Spelled(Spelling.SPELL_EVENT))
    yield Part(b" - ROW# = ", Spelled(Spelling.SPELL_ORDINAL, close=b"\n"))
    for prefix, side in (("COL", group.after), ("KEY", group.before)):
        for index in side.columns if side is not None else ():
            lead = f"  - {prefix}({index + 1}: {images.columns[index].source_name}) = "
            yield from columns(encoded(lead), values(index), side.rows if side is not None else None)
            yield b"\n"


class _ThlTransaction:
    def __init__(self, begin: Begin, output: Sink, fragment_bytes: int) -> None:
        self._facts = begin.facts
        self._output = output
        self._limit = fragment_bytes
        self._fragment = 0
        self._text = SpooledTemporaryFile(_MEMORY)  # noqa: SIM115
        self._size = 0
        self._sql = 0
        self._schema: str | None = None
        self._schemas = {table["db"] for table in begin.facts["tables"] or ()}
        self._in_rows = False
        self._position = begin.facts["start"]
        self._mariadb = begin.table.format.flavour is Flavour.MARIADB

    def take(self, raw: RawEvent, rows: EventRows) -> None:
        header, event = raw.header, raw.event
        if self._size >= self._limit and self._text.tell() and not self._in_rows and self._is_data(event):
            self._write(last=False)
        if raw.inner is None:
            self._position = header.end
        if not isinstance(event, TransactionPayload):
            self._size += header.size
        if isinstance(event, RowsHeader):
            self._rows(event, rows)
        elif isinstance(event, ExecuteLoadQuery):
            self._statement(event.query)
        elif isinstance(event, Query):
            if event.text not in _CONTROL:
                self._statement(event)
        elif isinstance(event, LoadBlock):
            self._line(f"- DATA FILE #{event.file_id} / size : {len(event.data)}")
        elif isinstance(event, Incident):
            self._line(f"# INCIDENT {event.name}: {' '.join(event.message.split())}")
        else:
            text = self._setting(event)
            if text is not None:
                self._numbered(text)

    def _setting(self, event: object) -> str | None:
        """Return an event that sets a variable for a statement, or prepares an XA transaction, as SQL."""
        if isinstance(event, Intvar):
            name = "INSERT_ID" if event.type == IntvarType.INSERT_ID else "LAST_INSERT_ID"
            return f"SET {name} = {event.value}"
        if isinstance(event, Rand):
            return f"SET RAND_SEED1 = {event.seed1}, RAND_SEED2 = {event.seed2}"
        if isinstance(event, UserVar):
            return f"SET @{identifier(event.name)} := {event.literal(mariadb=self._mariadb)}"
        if isinstance(event, XaPrepare) and not event.one_phase:
            return f"XA PREPARE {event.xid}"
        return None

    def end(self) -> None:
        self._position = self._facts["end"]
        self._write(last=True)
        self._text.close()

    def _is_data(self, event: object) -> bool:
        """Whether an event is one that a fragment can start with."""
        return isinstance(event, RowsHeader | LoadBlock | Intvar | Rand | UserVar) or (
            isinstance(event, Query) and event.text not in _CONTROL
        )

    def _statement(self, query: Query) -> None:
        self._line(f"- OPTIONS = [{', '.join(_options(query))}]")
        self._schemas.add(query.database)
        if query.database != self._schema:
            self._line(f"- SCHEMA = {query.database}")
            self._schema = query.database
        self._numbered(query.text)

    def _rows(self, event: RowsHeader, rows: EventRows) -> None:
        """Write a rows event; all rows events of a statement form one SQL entry."""
        if not rows.count:
            return
        if not self._in_rows:
            self._numbered(None)
            self._schema = None
        self._in_rows = not event.flags & RowsFlag.STATEMENT_END and self._size < self._limit
        for chunk in rows.text():
            self._text.write(chunk)

    def _numbered(self, text: str | None) -> None:
        self._line(f"- SQL({self._sql}) =" if text is None else f"- SQL({self._sql}) = {text}")
        self._sql += 1

    def _line(self, text: str) -> None:
        self._text.write(encoded(text) + b"\n")

    def _write(self, *, last: bool) -> None:
        empty = self._fragment == 0 and not self._text.tell()
        lines = [*self._head(last), *(["## Empty event ##"] if empty else [])]
        self._output.write(encoded("\n".join(lines) + "\n"))
        self._text.seek(0)
        while chunk := self._text.read(_CHUNK):
            self._output.write(chunk)
        self._text.seek(0)
        self._text.truncate()
        self._fragment += 1
        self._size = 0
        self._sql = 0
        self._schema = None

    def _head(self, last: bool) -> Iterator[str]:
        facts = self._facts
        thread = "" if facts["thread_id"] is None else f";{facts['thread_id']}"
        yield f"SEQ# = {facts['seqno']} / FRAG# = {self._fragment}{' (last frag)' if last else ''}"
        yield f"- TIME = {_java_time(facts['commit_timestamp'])}"
        yield f"- EPOCH# = {facts['epoch']}"
        yield f"- EVENTID = {facts['file']}:{self._position:0{_POSITION_DIGITS}d}{thread}"
        yield f"- SOURCEID = {facts['server_id']}"
        yield f"- METADATA = [{';'.join(self._metadata())}]"
        yield f"- TYPE = {_EVENT_CLASS}"

    def _metadata(self) -> Iterator[str]:
        facts = self._facts
        yield f"mysql_server_id={facts['server_id']}"
        yield "dbms_type=mysql"
        yield "tz_aware=true"
        if facts["gtid"] is not None:
            yield f"gtid={facts['gtid']}"
        if facts["xid"] is not None:
            yield f"xid={facts['xid']}"
        if facts["kind"] == "rollback":
            yield "rollback"
        if facts["kind"] == "ddl":
            yield "unsafe_for_block_commit"
        yield f"shard={'#UNKNOWN' if len(self._schemas) != 1 else next(iter(self._schemas))}"


def _options(query: Query) -> Iterator[str]:
    """Yield session options in the form of Tungsten's extractor: numbers as logged, names quoted."""
    status = query.status
    options = session_options(query)
    charset = query.charset.name
    yield f"##charset = {_CHARSETS.get(charset, charset)}"
    for name in ("autocommit", "sql_auto_is_null", "foreign_key_checks", "unique_checks"):
        if name in options:
            yield f"{name} = {options[name]}"
    if status.auto_increment_increment is not None:
        yield f"auto_increment_increment = {status.auto_increment_increment}"
        yield f"auto_increment_offset = {status.auto_increment_offset}"
    if "sql_mode" in options:
        yield f"sql_mode = '{options['sql_mode']}'"
    for name, value in (
        ("character_set_client", status.character_set_client),
        ("collation_connection", status.collation_connection),
        ("collation_server", status.collation_server),
    ):
        if value is not None:
            yield f"{name} = {value}"
    if status.time_zone is not None:
        yield f"time_zone = '{status.time_zone}'"
    if status.lc_time_names is not None:
        yield f"lc_time_names = {status.lc_time_names}"
    if status.collation_database is not None:
        yield f"collation_database = {status.collation_database}"


def _java_time(moment: int) -> str:
    """Format a time in UTC like Java's Timestamp, with at least one fractional digit.

    A time beyond the calendar, from a damaged file, is formatted as a number of µs since 1970.
    """
    try:
        utc = in_zone(moment, UTC)
    except OverflowError:
        return f"@{moment}"
    fraction = f"{utc.microsecond:06d}".rstrip("0") or "0"
    return f"{utc:%Y-%m-%d %H:%M:%S}.{fraction}"
