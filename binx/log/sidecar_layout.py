"""The bytes of an index file's lookup section: what stands where, written and read.

An index file is a Parquet file with a section of its own between the last column chunk and the footer, where
Parquet readers never look: blocks of packed records (:mod:`binx.kernels.stored`), a directory that lists
them, and a tail of fixed size that ends where the footer begins, so that it is found from the file's end.
Blocks, directory and tail each have a CRC32. All integers are little-endian. ``docs/index-file.md`` is the
description for other programs.

What is read here is judged by nothing but these checks: a file that fails one is no index file.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, NamedTuple

from binx.errors import DamagedError
from binx.kernels.crc32 import checksum
from binx.kernels.stored import COUNTS_MAXIMUM, RECORDS_MAXIMUM

MAGIC = b"binxidx\n"
PARQUET_MAGIC = b"PAR1"
"""What a Parquet file begins and ends with."""

VERSION = 1

TAIL_SIZE = 48
"""Bytes of the tail."""

FOOTER_END_SIZE = 8
"""Bytes at the end of a Parquet file that tell where its footer begins: the footer's size, ``PAR1``."""

DIRECTORY_MAXIMUM = 256 * 1024 * 1024
"""Bytes of a directory, at most."""

_TAIL = struct.Struct("<8sIIQQI")
_FOOTER_END = struct.Struct("<I4s")
_U16, _U32, _U64, _CRC = struct.Struct("<H"), struct.Struct("<I"), struct.Struct("<Q"), struct.Struct("<I")
_FACTS = struct.Struct("<QQBIII")
_CONTROL = struct.Struct("<BQI")
_TOTAL = struct.Struct("<BQQQ")
_BLOCK = struct.Struct("<QIIIIIQQqqBqqqqqqQ")
_RUN = struct.Struct("<IQQ")
_SUM = struct.Struct("<IQQQ")
_FILTER = struct.Struct("<IQQIB")

_HAS_XIDS, _HAS_THREADS = 1, 2


class LogFacts(NamedTuple):
    """What an index file says of the log that it was made of.

    Attributes:
        size: the log's bytes.
        covered: offset behind the last whole transaction.
        ending: how the log ends: 0 closed, 1 in use, 2 open.
        head: CRC32 of the magic and the first event.
        tail_bytes: how many of the log's last bytes the next one is of.
        tail: CRC32 of these.
    """

    size: int
    covered: int
    ending: int
    head: int
    tail_bytes: int
    tail: int


class KeyFilter(NamedTuple):
    """A Bloom filter over the primary keys that a block's transactions changed in one table.

    Attributes:
        table: the table's number.
        keys: how many distinct keys it was made for, at most.
        offset: of its bits in the index file.
        size: bytes of its bits.
        crc: CRC32 of these.
        hashes: bits set for each key.
    """

    table: int
    keys: int
    offset: int
    size: int
    crc: int
    hashes: int = 0


class Block(NamedTuple):
    """Where some transactions that follow each other are kept, and what can be said of them all.

    Attributes:
        offset: of the block in the index file.
        size: its bytes.
        crc: CRC32 of these.
        records: transactions.
        counts: per-table counts.
        format: number of the format description that rules them.
        start: offset in the log of the first transaction.
        end: offset behind the last.
        times: the earliest and the latest commit time, µs since 1970.
        xids: the least and the largest engine number, signed; None without any.
        threads: the same of connections.
        servers: the least and the largest server id.
        largest: bytes of the largest transaction.
        gtids: per source's number an interval that holds all its GTIDs here, or several.
        tables: per table's number the rows inserted, updated, deleted.
        statements: transactions with statements as text.
        keys: Bloom filters, for tables whose keys are known.
    """

    offset: int
    size: int
    crc: int
    records: int
    counts: int
    format: int
    start: int
    end: int
    times: tuple[int, int]
    xids: tuple[int, int] | None
    threads: tuple[int, int] | None
    servers: tuple[int, int]
    largest: int
    gtids: tuple[tuple[int, int, int], ...]
    tables: tuple[tuple[int, int, int, int], ...]
    statements: int
    keys: tuple[KeyFilter, ...] = ()


class Directory(NamedTuple):
    """All that an index file tells of a log but the transactions themselves.

    Attributes:
        log: see :class:`LogFacts`.
        sources: keys of the GTIDs' sources, by number.
        tables: database and name of each table, as logged, by number.
        maps: each distinct table map: its table's number, its bytes behind table id and flags.
        formats: where the format descriptions stand that rule the blocks.
        controls: type, position and size of the events about the log itself.
        totals: per event type: type, events, bytes, events within compressed payloads.
        blocks: the blocks in the order of the log.
        keys: the names of the key's columns of each table that has filters, by the table's number; None
            where no filters were made.
    """

    log: LogFacts
    sources: tuple[bytes, ...]
    tables: tuple[tuple[bytes, bytes], ...]
    maps: tuple[tuple[int, bytes], ...]
    formats: tuple[int, ...]
    controls: tuple[tuple[int, int, int], ...]
    totals: tuple[tuple[int, int, int, int], ...]
    blocks: tuple[Block, ...] = ()
    keys: dict[int, tuple[str, ...]] | None = None


def encode_tail(offset: int, directory: bytes) -> bytes:
    """The last bytes of a section.

    Args:
        offset: of the directory in the index file.
        directory: its bytes.
    """
    tail = _TAIL.pack(MAGIC, VERSION, 0, offset, len(directory), checksum(directory))
    tail = tail.ljust(TAIL_SIZE - _CRC.size, b"\0")
    return tail + _CRC.pack(checksum(tail))


def tail_offset(end: bytes, file_size: int) -> int:
    """Where a section's tail begins.

    Args:
        end: the last bytes of the index file.
        file_size: its bytes.

    Raises:
        DamagedError: it is no Parquet file, or one without room for a section.
    """
    if len(end) != FOOTER_END_SIZE or end[4:] != PARQUET_MAGIC:
        raise DamagedError("expected an index file, found one that does not end as Parquet does")
    offset: int = file_size - FOOTER_END_SIZE - _FOOTER_END.unpack(end)[0] - TAIL_SIZE
    if offset < 0:
        raise DamagedError("expected an index file, found a footer that is larger than the file")
    return offset


def decode_tail(tail: bytes) -> tuple[int, int, int]:
    """Offset, size and CRC32 of the directory.

    Raises:
        DamagedError: this is no tail of a section, or one of another version.
    """
    if len(tail) != TAIL_SIZE or tail[: len(MAGIC)] != MAGIC:
        raise DamagedError("expected an index file, found Parquet without binx's section")
    if _CRC.unpack_from(tail, TAIL_SIZE - _CRC.size)[0] != checksum(tail[: -_CRC.size]):
        raise DamagedError("the checksum of the section's tail is not that of its bytes")
    _, version, _, offset, size, crc = _TAIL.unpack_from(tail)
    if version != VERSION:
        raise DamagedError(f"expected version {VERSION}, found version {version}, which another binx wrote")
    if size > DIRECTORY_MAXIMUM:
        raise DamagedError(f"expected a directory of at most {DIRECTORY_MAXIMUM} bytes, found {size}")
    return offset, size, crc


def encode_directory(directory: Directory) -> bytes:
    """A directory's bytes."""
    log = directory.log
    out = bytearray(_FACTS.pack(log.size, log.covered, log.ending, log.head, log.tail_bytes, log.tail))
    out += _U32.pack(len(directory.sources))
    for key in directory.sources:
        out += _U16.pack(len(key)) + key
    out += _U32.pack(len(directory.tables))
    for db, table in directory.tables:
        out += _U16.pack(len(db)) + db + _U16.pack(len(table)) + table
    out += _U32.pack(len(directory.maps))
    for number, body in directory.maps:
        out += _U32.pack(number) + _U32.pack(len(body)) + body
    _append(out, _U64, ((position,) for position in directory.formats))
    _append(out, _CONTROL, directory.controls)
    _append(out, _TOTAL, directory.totals)
    out += bytes([directory.keys is not None])
    out += _U32.pack(len(directory.keys or {}))
    for number, columns in sorted((directory.keys or {}).items()):
        out += _U32.pack(number) + _U32.pack(len(columns))
        for column in columns:
            name = column.encode("utf-8", "surrogatepass")
            out += _U16.pack(len(name)) + name
    out += _U32.pack(len(directory.blocks))
    for block in directory.blocks:
        flags = (_HAS_XIDS if block.xids else 0) | (_HAS_THREADS if block.threads else 0)
        out += _BLOCK.pack(
            *(block.offset, block.size, block.crc, block.records, block.counts, block.format),
            *(block.start, block.end, *block.times, flags, *(block.xids or (0, 0))),
            *(*(block.threads or (0, 0)), *block.servers, block.largest),
        )
        out += _U32.pack(block.statements)
        _append(out, _RUN, block.gtids)
        _append(out, _SUM, block.tables)
        out += _U32.pack(len(block.keys))
        for one in block.keys:
            out += _FILTER.pack(one.table, one.keys, one.offset, one.size, one.hashes) + _CRC.pack(one.crc)
    return bytes(out)


def _append(out: bytearray, layout: struct.Struct, rows: Iterable[tuple[int, ...]]) -> None:
    packed = [layout.pack(*row) for row in rows]
    out += _U32.pack(len(packed)) + b"".join(packed)


def decode_directory(data: bytes) -> Directory:
    """A directory out of its bytes.

    Raises:
        DamagedError: they are none.
    """
    try:
        return _DirectoryReader(data).directory()
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise DamagedError(f"expected a directory, found bytes that are none ({error})") from None


class _DirectoryReader:
    """Takes a directory apart; every count is met by as many bytes before it is believed."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def directory(self) -> Directory:
        log = LogFacts(*self._take(_FACTS))
        sources = tuple(self._text(_U16) for _ in range(self._count(_U16.size)))
        tables = tuple((self._text(_U16), self._text(_U16)) for _ in range(self._count(2 * _U16.size)))
        maps = tuple((self._take(_U32)[0], self._text(_U32)) for _ in range(self._count(2 * _U32.size)))
        formats = tuple(position for (position,) in self._rows(_U64))
        controls = self._rows(_CONTROL)
        totals = self._rows(_TOTAL)
        has_keys = self._bytes(1) != b"\0"
        keys = dict(self._key() for _ in range(self._count(2 * _U32.size)))
        blocks = tuple(self._block() for _ in range(self._count(_BLOCK.size)))
        directory = Directory(
            *(log, sources, tables, maps, formats, controls, totals, blocks),
            keys=keys if has_keys else None,
        )
        if self._position != len(self._data):
            raise DamagedError("expected the directory's end, found more bytes")
        _check(directory)
        return directory

    def _block(self) -> Block:
        values = self._take(_BLOCK)
        offset, size, crc, records, counts, number, start, end, earliest, latest, flags = values[:11]
        first_xid, last_xid, first_thread, last_thread, first_server, last_server, largest = values[11:]
        (statements,) = self._take(_U32)
        return Block(
            offset=offset,
            size=size,
            crc=crc,
            records=records,
            counts=counts,
            format=number,
            start=start,
            end=end,
            times=(earliest, latest),
            xids=(first_xid, last_xid) if flags & _HAS_XIDS else None,
            threads=(first_thread, last_thread) if flags & _HAS_THREADS else None,
            servers=(first_server, last_server),
            largest=largest,
            gtids=self._rows(_RUN),
            tables=self._rows(_SUM),
            statements=statements,
            keys=tuple(self._filter() for _ in range(self._count(_FILTER.size + _CRC.size))),
        )

    def _key(self) -> tuple[int, tuple[str, ...]]:
        number: int = self._take(_U32)[0]
        names = [self._text(_U16) for _ in range(self._count(_U16.size))]
        return number, tuple(name.decode("utf-8", "surrogatepass") for name in names)

    def _filter(self) -> KeyFilter:
        table, keys, offset, size, hashes = self._take(_FILTER)
        (crc,) = self._take(_CRC)
        return KeyFilter(table, keys, offset, size, crc, hashes)

    def _take(self, layout: struct.Struct) -> tuple[Any, ...]:
        values = layout.unpack_from(self._data, self._position)
        self._position += layout.size
        return values

    def _bytes(self, size: int) -> bytes:
        if size > len(self._data) - self._position:
            raise IndexError("it is cut")
        self._position += size
        return self._data[self._position - size : self._position]

    def _text(self, width: struct.Struct) -> bytes:
        return self._bytes(self._take(width)[0])

    def _count(self, least: int) -> int:
        count: int = self._take(_U32)[0]
        if count * least > len(self._data) - self._position:
            raise IndexError("it is cut")
        return count

    def _rows(self, layout: struct.Struct) -> tuple[Any, ...]:
        count = self._count(layout.size)
        return tuple(layout.iter_unpack(self._bytes(count * layout.size)))


def _check(directory: Directory) -> None:
    """What blocks refer to must be there, and they must follow each other."""
    before = 0
    tables, sources = len(directory.tables), len(directory.sources)
    for block in directory.blocks:
        fits = (
            before <= block.start < block.end <= directory.log.covered <= directory.log.size
            and block.format < len(directory.formats)
            and 0 < block.records <= RECORDS_MAXIMUM
            and block.counts <= COUNTS_MAXIMUM
            and all(source < sources for source, _, _ in block.gtids)
            and all(number < tables for number, *_ in block.tables)
            and all(one.table < tables for one in block.keys)
        )
        if not fits:
            raise DamagedError("expected blocks in the order of the log, found others")
        before = block.end
    numbers = [*(number for number, _ in directory.maps), *(directory.keys or {})]
    if directory.log.ending > 2 or not all(number < tables for number in numbers):
        raise DamagedError("expected the facts of a log, found others")


__all__ = [
    "DIRECTORY_MAXIMUM",
    "FOOTER_END_SIZE",
    "MAGIC",
    "PARQUET_MAGIC",
    "TAIL_SIZE",
    "VERSION",
    "Block",
    "Directory",
    "KeyFilter",
    "LogFacts",
    "decode_directory",
    "decode_tail",
    "encode_directory",
    "encode_tail",
    "tail_offset",
]
