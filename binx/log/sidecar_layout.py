"""An index file's lookup section: what it tells, and where it stands.

An index file is a Parquet file with a section of its own between the last column chunk and the footer, where
Parquet readers never look: blocks of packed records (:mod:`binx.kernels.stored`), a directory that lists
them, and a tail of fixed size that ends where the footer begins, so that it is found from the file's end.
Blocks, directory and tail each have a CRC32. All integers are little-endian. ``docs/index-file.md`` is the
description for other programs.

What is read is judged by nothing but these checks: a file that fails one is no index file. The directory's
bytes are those of :mod:`binx.log.sidecar_directory`.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from binx.errors import DamagedError
from binx.kernels.crc32 import checksum

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
_CRC = struct.Struct("<I")


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
        statements: transactions with statements as text, and steps of XA transactions.
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
        raise DamagedError("expected an index file, found a Parquet file without binx's section")
    if _CRC.unpack_from(tail, TAIL_SIZE - _CRC.size)[0] != checksum(tail[: -_CRC.size]):
        raise DamagedError("the checksum at the end of the section is wrong")
    _, version, _, offset, size, crc = _TAIL.unpack_from(tail)
    if version != VERSION:
        raise DamagedError(
            f"expected version {VERSION}, found version {version}, written by another version of binx"
        )
    if size > DIRECTORY_MAXIMUM:
        raise DamagedError(f"expected a directory of at most {DIRECTORY_MAXIMUM} bytes, found {size}")
    return offset, size, crc


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
    "decode_tail",
    "encode_tail",
    "tail_offset",
]
