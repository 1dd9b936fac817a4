"""PARTIAL_ROW_DATA: the pieces of a rows event that was too large for one (MariaDB 12.3, MDEV-32570).

The pieces of a rows event follow one another. Each has its number from 1, how many there are, and flags; the
first also has the size of the whole. What follows in all of them, one after another, is the rows event with
its header; with ``log_bin_compress`` it is a compressed one (MDEV-40768).

Source: MariaDB's sql/log_event.h (``Partial_rows_log_event``), and its documentation of the replication
protocol, which gives the two numbers in the other order. Neither says whether the whole has a checksum of its
own: four bytes at its end that are one are taken for one.
"""

from __future__ import annotations

import mmap
from typing import IO, NamedTuple

from binx.errors import DamagedError, OutputError, UnsupportedError
from binx.event.format import CHECKSUM_SIZE, FormatDescription
from binx.event.header import HEADER, HEADER_SIZE, EventHeader, event_name, parse_header
from binx.event.reader import body_reader
from binx.event.rows_events import PLAIN_TYPES, ROWS_TYPES, plain_rows_event
from binx.kernels.crc32 import checksum
from binx.kernels.walk.scan import unexpected_piece

_POST_HEADER = 9
_HAS_SIZE = 1
_LARGEST = 0xFFFFFFFF
"""The size of an event is a number of 32 bits in its header."""
_IN_MEMORY = 16 * 1024 * 1024
"""Bytes of a rows event that are kept in memory; those of a larger one are in a temporary file."""


class PartialRows(NamedTuple):
    """A piece of a rows event.

    Attributes:
        piece: its number, from 1.
        pieces: how many there are.
        size: bytes of the whole, if this is the first piece.
        data: its part of the rows event.
    """

    piece: int
    pieces: int
    size: int | None
    data: memoryview


def parse_partial_rows(body: memoryview, header: EventHeader, description: FormatDescription) -> PartialRows:
    """Read PARTIAL_ROW_DATA."""
    reader = body_reader(body, header)
    fixed = reader.slice(description.post_header_length(header.type, _POST_HEADER))
    piece, pieces, flags = fixed.u32(), fixed.u32(), fixed.u8()
    size = reader.u64() if flags & _HAS_SIZE else None
    return PartialRows(piece, pieces, size, reader.rest())


class JoinedRows(NamedTuple):
    """A rows event whose pieces are joined.

    Attributes:
        header: its header, with the position of the last piece.
        data: header and body, without checksum.
    """

    header: EventHeader
    data: memoryview

    @property
    def body(self) -> memoryview:
        """The event without its header."""
        return self.data[HEADER_SIZE:]

    def plain(self, description: FormatDescription) -> memoryview:
        """Return header and body, decompressed if MariaDB compressed them."""
        if self.header.type not in PLAIN_TYPES:
            return self.data
        return memoryview(plain_rows_event(self.body, self.header, description))


class RowsPieces:
    """Joins the pieces of one rows event after another; memory does not grow with them."""

    def __init__(self) -> None:
        self._piece = 0
        self._pieces = 0
        self._wanted: int | None = None
        self._size = 0
        self._file: IO[bytes] | None = None

    def take(
        self, body: memoryview, header: EventHeader, description: FormatDescription
    ) -> JoinedRows | None:
        """Take the next piece; return the rows event after its last piece, else None.

        Raises:
            DamagedError: it is not the next piece, or the whole has another size or is no rows event.
            UnsupportedError: the whole is larger than an event can be.
            OutputError: the temporary folder has no space.
        """
        part = parse_partial_rows(body, header, description)
        if part.piece == 1:
            self._reset(part)
        if part.piece != self._piece + 1 or not part.piece <= part.pieces == self._pieces:
            raise unexpected_piece(
                self._piece + 1, self._pieces, part.piece, part.pieces, header.type, header.position
            )
        self._piece, self._size = part.piece, self._size + len(part.data)
        is_last = part.piece == part.pieces
        if self._wanted is not None and (
            self._size > self._wanted or (is_last and self._size != self._wanted)
        ):
            raise _damaged(
                f"expected a rows event of {self._wanted:,} bytes", f"{self._size:,} bytes", header
            )
        if self._size > _LARGEST:
            raise UnsupportedError(
                f"expected a rows event of at most {_LARGEST:,} bytes in pieces, found {self._size:,}",
                offset=header.position,
                event=header.name,
            )
        assert self._file is not None
        try:
            self._file.write(part.data)
            return self._whole(header, description) if is_last else None
        except OSError as error:
            import tempfile

            raise OutputError(
                f"the temporary folder {tempfile.gettempdir()} cannot hold a rows event of more than"
                f" {self._size:,} bytes: {error.strerror}; set TMPDIR to another folder"
            ) from error

    def _reset(self, first: PartialRows) -> None:
        self._piece, self._pieces, self._wanted, self._size = 0, first.pieces, first.size, 0
        # Needed seldom, and long to import.
        import tempfile

        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY, prefix="binx-")  # noqa: SIM115

    def _whole(self, last: EventHeader, description: FormatDescription) -> JoinedRows:
        file, self._file = self._file, None
        assert file is not None
        self._piece = self._pieces = 0
        file.flush()
        if self._size > _IN_MEMORY:
            data = memoryview(mmap.mmap(file.fileno(), self._size, access=mmap.ACCESS_COPY))
        else:
            file.seek(0)
            data = memoryview(bytearray(file.read()))
        if self._size < HEADER_SIZE or data[4] not in ROWS_TYPES:
            found = f"{self._size} bytes" if self._size < HEADER_SIZE else event_name(data[4])
            raise _damaged("expected a rows event in the pieces that end here", found, last)
        if description.checksum_size and self._size >= HEADER_SIZE + CHECKSUM_SIZE:
            stored = int.from_bytes(data[-CHECKSUM_SIZE:], "little")
            if checksum(data[:-CHECKSUM_SIZE], 0) == stored:
                data = data[:-CHECKSUM_SIZE]
        header = parse_header(data, last.position, origin=last.position)
        HEADER.pack_into(
            data,
            0,
            *(header.timestamp, header.type, header.server_id),
            *(len(data), header.next_position, header.flags),
        )
        return JoinedRows(header._replace(size=len(data)), data)


def _damaged(expected: str, found: str, header: EventHeader) -> DamagedError:
    return DamagedError(f"{expected}, found {found}", offset=header.position, event=header.name)
