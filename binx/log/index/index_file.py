"""Index files: the result of scanning a log, stored as Parquet next to it and used only while it matches.

``mysql-bin.000042.binx`` is next to ``mysql-bin.000042``, or in a folder of index files with the log's
identity in its name. It is valid if the log's size, first event and last 64 KiB are those it was made from;
anything else is an error whose message gives the reason, and the log is read instead.
"""

from __future__ import annotations

import io
import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from binx.errors import BinxError, DamagedError, StaleError, UnsupportedError
from binx.event.format import FormatDescription, parse_format
from binx.kernels.crc32 import checksum
from binx.kernels.rows.layouts import unknown_column
from binx.kernels.transactions.table import COLUMN_NAMES, IndexedTables, TransactionTable
from binx.kernels.walk.scan import Level
from binx.log.index.transactions import index_schema
from binx.log.scanning import ENDINGS, KIND_NAMES, Ending, Totals, decoded_name
from binx.source import PlainFile, Source
from binx.source.byte_source import SourceReader
from binx.source.opening import decrypted
from binx.source.remote import RemoteFile, is_uri

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from binx.log.binlog_file import BinlogFile

VERSION = 1
"""Version of this layout."""

FACTS_KEY = b"binx.index"
"""Key in the Parquet file's metadata for the facts about the log."""

CRC_KEY = b"binx.crc32"
"""Key for the CRC32 of the whole file in hex, computed with zeros in its own place."""

NO_CRC = b"00000000"

TAIL_BYTES = 64 * 1024
"""Bytes at a log's end that its index file covers with a checksum."""

_BYTES = "latin-1"
"""Logged names are bytes in any character set; in JSON they are text, one character per byte."""
_READ_BYTES = 16 * 1024 * 1024
_PARQUET_END = 8
"""The length of the footer, and the magic."""
_STRING_OF_EIGHT = b"\x18\x08"
"""Precedes a text of eight bytes in Thrift's compact protocol."""
_MICROSECONDS = 1_000_000


class IndexFacts(NamedTuple):
    """What an index file records about its log.

    Attributes:
        covered: offset after the last whole transaction.
        ending: how the log ends, an index into ``ENDINGS``.
        head: CRC32 of the magic and the first event.
        tail_bytes: number of bytes at the log's end that ``tail`` covers.
        tail: CRC32 of these.
        sources: keys of the GTIDs' sources, by number.
        tables: database and name of each table, as logged, by number.
        maps: each distinct table map: its table's number, its bytes after table id and flags.
        formats: offsets in the log of the transactions' format descriptions.
        totals: per event type: type, events, bytes, events within compressed payloads.
        groups: per row group: number of rows, number of their format description.
    """

    size: int
    covered: int
    ending: int
    head: int
    tail_bytes: int
    tail: int
    sources: tuple[bytes, ...]
    tables: tuple[tuple[bytes, bytes], ...]
    maps: tuple[tuple[int, bytes], ...]
    formats: tuple[int, ...]
    totals: tuple[tuple[int, int, int, int], ...]
    groups: tuple[tuple[int, int], ...]


def encode_facts(facts: IndexFacts) -> str:
    """Return the facts as JSON, preceded by its CRC32."""
    document = facts._asdict() | {
        "version": VERSION,
        "sources": [key.hex() for key in facts.sources],
        "tables": [[name.decode(_BYTES) for name in names] for names in facts.tables],
        "maps": [[number, b64encode(body).decode()] for number, body in facts.maps],
    }
    text = json.dumps(document, separators=(",", ":"))
    return f"{checksum(text.encode()):08x} {text}"


def decode_facts(text: str) -> IndexFacts:
    """Return the facts that :func:`encode_facts` wrote."""
    crc, _, encoded = text.partition(" ")
    if crc != f"{checksum(encoded.encode()):08x}":
        raise DamagedError("the checksum of what it says of its log is wrong")
    try:
        document: dict[str, Any] = json.loads(encoded)
        if document.pop("version") != VERSION:
            raise DamagedError("it was written by another version of binx; write it again with binx index")
        document |= {
            "sources": tuple(map(bytes.fromhex, document["sources"])),
            "tables": tuple((db.encode(_BYTES), name.encode(_BYTES)) for db, name in document["tables"]),
            "maps": tuple((int(number), b64decode(body)) for number, body in document["maps"]),
            "formats": tuple(map(int, document["formats"])),
        }
        for name in ("totals", "groups"):
            document[name] = tuple(tuple(map(int, item)) for item in document[name])
        return IndexFacts(**document)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise DamagedError(
            "expected what binx writes of a log, found something else; write it again with binx index"
        ) from error


def with_crc(footer: bytes, crc: bytes = NO_CRC) -> tuple[bytes, bytes]:
    """Return a footer with another CRC32 of the file, and the one it had.

    Raises:
        DamagedError: the footer has no CRC32.
    """
    before, key, after = footer.rpartition(CRC_KEY + _STRING_OF_EIGHT)
    if not key:
        raise DamagedError("expected the checksum of an index file, found none")
    return before + key + crc + after[len(crc) :], after[: len(crc)]


def log_checksums(file: BinlogFile) -> tuple[int, int, int]:
    """Return what identifies a log: CRC32 of the start, number of bytes at the end, CRC32 of these."""
    tail_bytes = min(file.size, TAIL_BYTES)
    return (
        checksum(file.source.window(0, file.first_position)),
        tail_bytes,
        checksum(file.source.window(file.size - tail_bytes, file.size)),
    )


class IndexFile:
    """An open index file that matches its log; it yields what a scan at ``LEVEL_TABLES`` yields.

    Attributes:
        unfinished: bytes after the last whole transaction.
        accounted: offset after that, or after the last event between transactions.
        position: offset in the log that the iteration has reached.
    """

    level = Level.LEVEL_TABLES

    def __init__(self, source: Source, file: BinlogFile) -> None:
        """Parse the bytes of an index file.

        Raises:
            StaleError: it was made from another log, or this log has changed since.
        """
        self.path = source.path
        self.size = source.size
        self.file = file
        self._source = source
        try:
            # Arrow's threads must not hold Python objects: a process that ends meanwhile would abort.
            self._parquet = pq.ParquetFile(
                pa.PythonFile(io.BufferedReader(SourceReader(source)), mode="r"), pre_buffer=False
            )
        except (OSError, ValueError, pa.ArrowException) as error:
            raise DamagedError(f"expected an index file, found no Parquet: {error}", path=self.path) from None
        try:
            facts = (self._parquet.metadata.metadata or {}).get(FACTS_KEY)
            if facts is None:
                raise DamagedError("expected an index file, found Parquet that binx index did not write")
            self.facts = decode_facts(facts.decode("utf-8", "replace"))
            self._compare()
            self._formats = self._read_formats()
        except BinxError as error:
            raise error.at(path=self.path) from error.__cause__
        self.ending: Ending | None = ENDINGS[self.facts.ending]
        self.accounted = self.facts.covered
        self.unfinished = self.facts.size - self.facts.covered
        self.position = file.first_position

    @classmethod
    def open(cls, path: str, file: BinlogFile) -> IndexFile | None:
        """Open a log's index file; return None if there is none."""
        stored: Source | None
        stored = RemoteFile.find(path) if is_uri(path) else PlainFile.find(path)
        if stored is None:
            return None
        source = decrypted(stored, file.keys)
        try:
            return cls(source, file)
        except BinxError:
            source.close()
            raise

    def check(self) -> None:
        """Compare all bytes with their checksum.

        Raises:
            DamagedError: the checksum does not match.
        """
        crc, end = 0, max(self.size - self._parquet.metadata.serialized_size - _PARQUET_END, 0)
        for start in range(0, end, _READ_BYTES):
            crc = checksum(self._source.window(start, min(end, start + _READ_BYTES)), crc)
        try:
            footer, stored = with_crc(bytes(self._source.window(end, self.size)))
        except DamagedError as error:
            raise error.at(path=self.path) from None
        if stored != b"%08x" % checksum(footer, crc):
            raise DamagedError("the checksum is wrong", path=self.path)

    @property
    def transactions(self) -> int:
        """Number of transactions in the log."""
        return sum(rows for rows, _ in self.facts.groups)

    def totals(self) -> Totals:
        """Events and bytes by type, for the whole log."""
        totals = self.facts.totals
        return Totals(
            {number: events for number, events, _, _ in totals if events},
            {number: size for number, events, size, _ in totals if events},
            {number: inner for number, _, _, inner in totals if inner},
        )

    def table_name(self, number: int) -> tuple[str, str]:
        """Return database and table of a table number in the table counts."""
        return decoded_name(self.facts.tables[number])

    @property
    def table_count(self) -> int:
        """Number of tables that the log changes."""
        return len(self.facts.tables)

    @property
    def unmapped_events(self) -> int:
        """Rows events without a table map are not in an index."""
        return 0

    def uncounted_tables(self) -> list[tuple[str, str]]:
        """Return the tables whose rows are not counted because a column's type is unknown."""
        maps = self.facts.maps
        numbers = dict.fromkeys(number for number, body in maps if number >= 0 and _has_unknown(body))
        return [self.table_name(number) for number in numbers]

    def table_maps(self) -> Iterator[tuple[int, bytes]]:
        """Yield each distinct table map: its table's number, its bytes after table id and flags."""
        return iter(self.facts.maps)

    def __iter__(self) -> Iterator[TransactionTable]:
        """Yield tables of transactions, one per row group, in the log's order."""
        tables = IndexedTables(list(self.facts.sources), len(self.facts.tables))
        first, size = self.file.first_position, self.facts.size
        self.position = first
        for number, (rows, format_number) in enumerate(self.facts.groups):
            try:
                table = tables.table(*self._columns(number, rows), first, size)
            except DamagedError as error:
                raise error.at(path=self.path) from None
            table.format = self._formats[format_number]
            self._reach(table.value("end", len(table) - 1))
            yield table
        self._reach(self.file.size)

    def close(self) -> None:
        """Close the file."""
        self._parquet.close(force=True)
        self._source.close()

    def _reach(self, position: int) -> None:
        """Report progress to the log's source."""
        self.file.source.release(self.position, position)
        self.position = position

    def _compare(self) -> None:
        """Raise StaleError if the file was made from another log."""
        facts, file = self.facts, self.file
        if facts.size != file.size:
            raise StaleError(
                f"it was made when the log had {facts.size:,} bytes; the log now has {file.size:,};"
                " update it with binx index"
            )
        if (facts.head, facts.tail_bytes, facts.tail) != log_checksums(file):
            raise StaleError("it was made from another log of that name; update it with binx index")

    def _read_formats(self) -> list[FormatDescription]:
        """Read the format descriptions of the transactions at the offsets in the index file."""
        file = self.file
        formats = []
        for position in self.facts.formats:
            if position == file.format.position:
                formats.append(file.format)
                continue
            if not 0 < position < file.size:
                raise DamagedError("the format description is not where the index file says")
            formats.append(parse_format(file.events_window(position, file.size), position, origin=position))
        if any(not 0 <= number < len(formats) for _, number in self.facts.groups):
            raise DamagedError("the format description of some transactions is missing")
        return formats

    def _columns(self, number: int, count: int) -> tuple[list[Buffer], list[Buffer]]:
        """Return the numbers of a row group's records and of their table counts."""
        try:
            rows = self._parquet.read_row_group(number, use_threads=False).combine_chunks()
        except (OSError, ValueError, pa.ArrowException) as error:
            raise DamagedError(f"row group {number} cannot be read: {error}") from None
        if not rows.schema.equals(index_schema(records=True)) or rows.num_rows != count:
            raise DamagedError(f"expected {count} transactions in row group {number}, found other rows")
        columns = {name: rows.column(name).combine_chunks() for name in rows.column_names}
        for name in ("commit_timestamp", "original_commit_timestamp", "begin_timestamp"):
            columns[name] = columns[name].view(pa.int64())
        second = pa.scalar(_MICROSECONDS, pa.int64())
        numbers, changes = columns["table_numbers"], columns["tables"].flatten()
        records = columns | {
            "begin_timestamp": pc.divide(columns["begin_timestamp"], second),
            "xid": columns["xid"].view(pa.int64()),
            "number": columns["gtid_number"].view(pa.int64()),
            "source": columns["gtid_source"],
            "kind": pc.index_in(columns["kind"], pa.array(KIND_NAMES, pa.string())),
            "counts": pc.list_value_length(numbers),
        }
        counts = [
            numbers.flatten(),
            *(changes.field(name) for name in ("inserts", "updates", "deletes")),
            columns["table_bytes"].flatten(),
        ]
        return [_numbers(records[name]) for name in COLUMN_NAMES], list(map(_numbers, counts))


def _has_unknown(body: bytes) -> bool:
    """Return whether a column of a table map has an unknown type."""
    try:
        return unknown_column(body) is not None
    except (DamagedError, UnsupportedError):
        return False  # Its rows could be counted.


def _numbers(column: pa.Array) -> Buffer:
    """Return a column's numbers as 64-bit integers; null is 0."""
    # A copy without offset: its buffer begins with the first value.
    numbers = pa.concat_arrays([column.cast(pa.int64()), pa.nulls(0, pa.int64())])
    if numbers.null_count:
        numbers = numbers.fill_null(pa.scalar(0, pa.int64()))
    data = numbers.buffers()[1]
    return memoryview(b"" if data is None else data).cast("B")[: 8 * len(numbers)].cast("q")
