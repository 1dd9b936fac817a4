"""The bytes of an index file's directory, written and read; see :mod:`binx.log.sidecar_layout`."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

from binx.errors import DamagedError
from binx.kernels.stored import COUNTS_MAXIMUM, RECORDS_MAXIMUM
from binx.log.sidecar_layout import Block, Directory, KeyFilter, LogFacts

_U16, _U32, _U64, _CRC = struct.Struct("<H"), struct.Struct("<I"), struct.Struct("<Q"), struct.Struct("<I")
_FACTS = struct.Struct("<QQBIII")
_CONTROL = struct.Struct("<BQI")
_TOTAL = struct.Struct("<BQQQ")
_BLOCK = struct.Struct("<QIIIIIQQqqBqqqqqqQ")
_RUN = struct.Struct("<IQQ")
_SUM = struct.Struct("<IQQQ")
_FILTER = struct.Struct("<IQQIB")

_HAS_XIDS, _HAS_THREADS = 1, 2


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
        raise DamagedError(f"the directory cannot be read ({error})") from None


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
            raise DamagedError("unexpected bytes after the directory")
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
            raise IndexError("it is truncated")
        self._position += size
        return self._data[self._position - size : self._position]

    def _text(self, width: struct.Struct) -> bytes:
        return self._bytes(self._take(width)[0])

    def _count(self, least: int) -> int:
        count: int = self._take(_U32)[0]
        if count * least > len(self._data) - self._position:
            raise IndexError("it is truncated")
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


__all__ = ["decode_directory", "encode_directory"]
