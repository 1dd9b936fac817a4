"""Index files: what a scan of a log has found, as Parquet beside it, used only while it is true of the log.

``mysql-bin.000042.binx`` stands beside ``mysql-bin.000042``, or with the identity of the log in its name in a
folder of index files. It is believed where the log's size, its first event and its last 64 KiB are those that
it was made of; everything else is an error, whose message says what is wrong, and the log is read instead.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from binx.errors import BinxError, DamagedError, SourceError, StaleError
from binx.event.format import FormatDescription, parse_format
from binx.kernels.crc32 import checksum
from binx.kernels.transactions.index_tables import COLUMN_NAMES, IndexedTables
from binx.kernels.transactions.table import TransactionTable
from binx.log.arrow import arrow_array, arrow_scalar
from binx.log.index.scan import IndexFacts, RowGroup, decode_facts, log_checksums, values_checksum
from binx.log.index.transactions import index_schema
from binx.log.scanning import KIND_NAMES
from binx.source import PlainFile, Source
from binx.source.opening import decrypted
from binx.source.remote import RemoteFile, is_uri

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from binx.log.file import BinlogFile

FACTS_KEY = b"binx.index"
"""The key in the Parquet file's metadata under which the facts about the log stand."""

_PIECE_BYTES = 16 * 1024 * 1024
_MICROSECONDS = 1_000_000


class IndexFile:
    """An open index file that is true of its log.

    Attributes:
        path: where it is.
        facts: what it says of the log.
        size: its bytes.
    """

    def __init__(self, source: Source, file: BinlogFile) -> None:
        """Take over the bytes of an index file.

        Args:
            source: its bytes; closed by :meth:`close`.
            file: the log.

        Raises:
            DamagedError: it is no whole index file.
            StaleError: it was made of another log, or of this one when it was not as it is now.
        """
        self.path = source.path
        self.size = source.size
        self._source = source
        try:
            self._parquet = pq.ParquetFile(pa.PythonFile(_SourceFile(source), mode="r"))
        except (OSError, ValueError, pa.ArrowException) as error:
            raise DamagedError(f"expected an index file, found no Parquet: {error}", path=self.path) from None
        try:
            facts = (self._parquet.metadata.metadata or {}).get(FACTS_KEY)
            if facts is None:
                raise DamagedError("expected an index file, found Parquet that binx index did not write")
            self.facts = decode_facts(facts.decode("utf-8", "replace"))
            self._compare(file)
            self._formats = _formats(self.facts, file)
        except BinxError as error:
            raise error.at(path=self.path) from error.__cause__
        self._first = file.first_position

    @classmethod
    def open(cls, path: str, file: BinlogFile) -> IndexFile | None:
        """The index file of a log; None where there is none.

        Args:
            path: where it would be.
            file: the log.

        Raises:
            SourceError: it cannot be read.
            DamagedError, StaleError: as the class does.
        """
        stored = RemoteFile.find(path) if is_uri(path) else _plain(path)
        if stored is None:
            return None
        source = decrypted(stored, file.keys)
        try:
            return cls(source, file)
        except BinxError:
            source.close()
            raise

    @property
    def transactions(self) -> int:
        """How many the log has."""
        return sum(group.rows for group in self.facts.groups)

    def check(self) -> None:
        """Compare the bytes before the footer with their checksum.

        Raises:
            DamagedError: they are not those that were written.
        """
        crc, end = 0, self.facts.data_bytes
        if end > self.size:
            raise DamagedError(f"expected {end} bytes of data, found {self.size}", path=self.path)
        for start in range(0, end, _PIECE_BYTES):
            crc = checksum(self._source.window(start, min(end, start + _PIECE_BYTES)), crc)
        if crc != self.facts.data:
            raise DamagedError("the checksum is wrong", path=self.path)

    def tables(self) -> Iterator[TransactionTable]:
        """The transactions, as a scan at ``LEVEL_TABLES`` gives them, a row group at a time.

        Raises:
            DamagedError: what stands there is nothing that a log can have.
        """
        made = IndexedTables(list(self.facts.sources), len(self.facts.tables))
        for number, group in enumerate(self.facts.groups):
            try:
                table = made.table(*self._columns(number, group), self._first, self.facts.size)
            except DamagedError as error:
                raise error.at(path=self.path) from None
            table.format = self._formats[group.format]
            yield table

    def close(self) -> None:
        """Give the file back."""
        self._parquet.close(force=True)
        self._source.close()

    def _compare(self, file: BinlogFile) -> None:
        """Refuse what was made of another log."""
        if self.facts.size != file.size:
            raise StaleError(
                f"it was made when the log had {self.facts.size:,} bytes; the log now has {file.size:,};"
                " update it with binx index"
            )
        if (self.facts.head, self.facts.tail_bytes, self.facts.tail) != log_checksums(file):
            raise StaleError("it was made from another log of that name; update it with binx index")

    def _columns(self, number: int, group: RowGroup) -> tuple[list[Buffer], list[Buffer]]:
        """The numbers of a row group's records, and of what these did to tables."""
        try:
            rows = self._parquet.read_row_group(number).combine_chunks()
        except (OSError, ValueError, pa.ArrowException) as error:
            raise DamagedError(f"row group {number} cannot be read: {error}") from None
        if not rows.schema.equals(index_schema(records=True)) or rows.num_rows != group.rows:
            raise DamagedError(f"expected {group.rows} transactions in row group {number}, found other rows")
        record = _record_columns(rows)
        columns, counts = [_numbers(record[name]) for name in COLUMN_NAMES], _counts(rows)
        if values_checksum([*columns, *counts]) != group.values:
            raise DamagedError(f"the checksum of row group {number} is wrong")
        return columns, counts


def _plain(path: str) -> PlainFile | None:
    try:
        return PlainFile.open(path)
    except SourceError:
        if not Path(path).exists():
            return None
        raise


def _record_columns(rows: pa.Table) -> dict[str, pa.Array]:
    """By the name of a record's field, its column."""
    columns = {name: rows.column(name).combine_chunks() for name in rows.column_names}
    for name in ("commit_timestamp", "original_commit_timestamp", "begin_timestamp"):
        columns[name] = columns[name].view(pa.int64())
    second = arrow_scalar(_MICROSECONDS, pa.int64())
    return columns | {
        "begin_timestamp": pc.divide(columns["begin_timestamp"], second),
        "xid": columns["xid"].view(pa.int64()),
        "number": columns["gtid_number"].view(pa.int64()),
        "source": columns["gtid_source"],
        "kind": pc.index_in(columns["kind"], arrow_array(KIND_NAMES, pa.string())),
        "counts": pc.list_value_length(columns["table_numbers"]),
    }


def _counts(rows: pa.Table) -> list[Buffer]:
    """Of all transactions' tables: numbers, inserts, updates, deletes, bytes of rows events."""
    changes = rows.column("tables").combine_chunks().flatten()
    return [
        _numbers(rows.column("table_numbers").combine_chunks().flatten()),
        *(_numbers(changes.field(name)) for name in ("inserts", "updates", "deletes")),
        _numbers(rows.column("table_bytes").combine_chunks().flatten()),
    ]


def _numbers(column: pa.Array) -> Buffer:
    """A column's numbers as 64-bit integers; null is 0."""
    # A copy without offset, whose buffer begins with the first value.
    whole = pa.concat_arrays([column.cast(pa.int64()), pa.nulls(0, pa.int64())])
    if whole.null_count:
        whole = whole.fill_null(arrow_scalar(0, pa.int64()))
    data = whole.buffers()[1]
    return memoryview(b"" if data is None else data).cast("B")[: 8 * len(whole)].cast("q")


def _formats(facts: IndexFacts, file: BinlogFile) -> tuple[FormatDescription, ...]:
    """The format descriptions that rule the transactions; each is where the index file says."""
    formats = []
    for position in facts.formats:
        if position == file.format.position:
            formats.append(file.format)
            continue
        if not 0 < position < file.size:
            raise DamagedError("the format description is not where the index file says")
        formats.append(parse_format(file.events_window(position, file.size), position, origin=position))
    if any(not 0 <= group.format < len(formats) for group in facts.groups):
        raise DamagedError("the format description of some transactions is not told")
    return tuple(formats)


class _SourceFile(io.RawIOBase):
    """A source as pyarrow reads files."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._source = source
        self._position = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """The offset of the next byte."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to an offset."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._source.size}[whence]
        self._position = base + offset
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Some bytes; fewer only at the end."""
        start = min(self._position, self._source.size)
        stop = self._source.size if size < 0 else min(start + size, self._source.size)
        self._position = stop
        return bytes(self._source.window(start, stop))
