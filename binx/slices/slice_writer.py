"""Write the transactions of a slice plan as a binary log; see :mod:`binx.slices.binlog`."""

from __future__ import annotations

import zlib
from typing import NamedTuple

from binx.errors import BinxError, ChecksumError, DamagedError, RefusedError, TruncatedError
from binx.event.format import CHECKSUM_SIZE, MAGIC, Flavour, FormatDescription, parse_format
from binx.event.gtid.previous import encode_previous_gtids
from binx.event.gtid.sets import GtidSet
from binx.event.header import HEADER, HEADER_SIZE, EventFlag, EventHeader, EventType, parse_header
from binx.kernels.copy.rewrite import Pause, Rewriter, measure
from binx.log.binlog_file import BinlogFile
from binx.slices.slice_plan import FileRanges, Range, SlicePlan
from binx.source import READ_BYTES
from binx.storage.output import Sink

BUFFER_BYTES = 512 * 1024
"""Bytes collected before a write. For larger writes ext4 allocates larger pieces of memory, which take
longer to get.
"""

_SMALL_RUN = 64 * 1024
"""Verbatim ranges below this size are buffered, so that scattered transactions need few writes."""

_FLAGS_OFFSET = 17
_FLAGS_SIZE = 2
_OF_THE_SOURCE_FILE = EventFlag.IN_USE | EventFlag.ARTIFICIAL | EventFlag.RELAY_LOG
# MariaDB pads an empty list to six bytes, so that a server without GTIDs can be sent another event of
# the same size in its place (sql/log_event.h, Gtid_list_log_event::get_data_size).
_EMPTY_GTID_LIST = bytes(6)
_LENGTHS_SINCE = (8, 0, 2)
_LARGEST_GTID_EVENT = 64 * 1024


class SliceReport(NamedTuple):
    """The contents of a slice.

    Attributes:
        events: number of events, including those of the header; a verbatim slice's header counts as 0.
        renumbered: transactions whose logical clock was made serial; 0 if it was kept or there is none.
    """

    transactions: int
    events: int
    bytes: int
    renumbered: int


class SliceWriter:
    """Writes a slice plan."""

    buffer_bytes = BUFFER_BYTES

    def __init__(
        self,
        plan: SlicePlan,
        output: Sink,
        *,
        verbatim: bool,
        verify: bool,
    ) -> None:
        self._plan = plan
        self._output = output
        self._verbatim = verbatim
        self._verify = verify
        self._serial = not verbatim and not plan.contiguous
        self._written_directly = 0
        self._checksum_size = plan.description.checksum_size
        self._rewriter = Rewriter(self.buffer_bytes, self._checksum_size, verbatim, self._serial, verify)

    def write(self) -> SliceReport:
        """Write the slice."""
        plan, rewriter = self._plan, self._rewriter
        rewriter.put_bytes(MAGIC)
        self._write_head(plan.files[0].file, plan.description)
        for ranges in plan.files:
            description = ranges.description
            rewriter.begin_source(description.checksum_size, description.flavour is Flavour.MARIADB)
            try:
                self._copy_ranges(ranges)
            except BinxError as error:
                raise error.at(path=ranges.file.path) from error.__cause__
        self._drain()
        size = rewriter.written + self._written_directly
        return SliceReport(plan.transactions, rewriter.events, size, rewriter.renumbered)

    def _drain(self) -> None:
        self._output.write(self._rewriter.pending())
        self._rewriter.clear()

    def put_event(self, event: bytes | bytearray, option: str, advice: str) -> None:
        """Write a rewritten event, which must fit into the buffer.

        Raises:
            RefusedError: it is too large for the option that requires rewriting.
        """
        size = len(event) + self._checksum_size
        if size > self.buffer_bytes:
            raise RefusedError(
                f"an event of {size:,} bytes is too large for {option}, which takes up to"
                f" {self.buffer_bytes:,}; {advice}"
            )
        if size > self.buffer_bytes - len(self._rewriter.pending()):
            self._drain()
        self._rewriter.put_event(event, self._checksum_size)

    def _pass_on(self, data: memoryview) -> None:
        if len(data) < _SMALL_RUN:
            if len(data) > self.buffer_bytes - len(self._rewriter.pending()):
                self._drain()
            self._rewriter.put_bytes(data)
            return
        self._drain()
        self._output.write(data)
        self._written_directly += len(data)

    def _write_head(self, file: BinlogFile, description: FormatDescription) -> None:
        window = file.events_window(description.position, file.size)
        header = parse_header(window, description.position, origin=description.position)
        event = bytes(window[: header.size])
        if self._verbatim:
            self._rewriter.put_bytes(event)
            return
        size = CHECKSUM_SIZE if description.has_checksum_field else 0
        content = bytearray(event[: len(event) - size])
        flags = header.flags & ~_OF_THE_SOURCE_FILE
        content[_FLAGS_OFFSET : _FLAGS_OFFSET + _FLAGS_SIZE] = flags.to_bytes(_FLAGS_SIZE, "little")
        self._rewriter.put_event(content, size)
        type_count = len(description.post_header_lengths)
        if description.flavour is Flavour.MYSQL and type_count >= EventType.PREVIOUS_GTIDS:
            body = encode_previous_gtids(GtidSet())
            self._put_new(header, EventType.PREVIOUS_GTIDS, EventFlag.IGNORABLE, body)
        elif description.flavour is Flavour.MARIADB and type_count >= EventType.MARIADB_GTID_LIST:
            self._put_new(header, EventType.MARIADB_GTID_LIST, EventFlag(0), _EMPTY_GTID_LIST)

    def _put_new(self, like: EventHeader, number: EventType, flags: EventFlag, body: bytes) -> None:
        """Write a new event with the timestamp and server ID of another."""
        head = HEADER.pack(like.timestamp, number, like.server_id, 0, 0, flags)
        self._rewriter.put_event(head + body, self._checksum_size)

    def _copy_ranges(self, ranges: FileRanges) -> None:
        """Copy all ranges of a file; memory holds one window of it and the buffer."""
        source, end = ranges.file.source, ranges.end
        window, origin = source.window(0, 0), 0
        for span in ranges:
            self._rewriter.seek(span.start)
            while not self._copy_range(ranges, span, window, origin):
                position = self._rewriter.position
                if position == origin:
                    raise TruncatedError("the file shrank: expected events, found its end", offset=position)
                source.release(origin, origin + len(window))
                window, origin = source.window(position, min(end, position + READ_BYTES)), position

    def _copy_range(self, ranges: FileRanges, span: Range, window: memoryview, origin: int) -> bool:
        """Copy the part of a range within a window; return whether the range is complete."""
        rewriter = self._rewriter
        hold = span.apart and not self._verbatim
        if not origin <= rewriter.position < origin + len(window):
            return False
        while True:
            begin = rewriter.position - origin
            pause = rewriter.feed(window, origin, span.end, hold)
            if self._verbatim:
                self._pass_on(window[begin : rewriter.position - origin])
            if pause == Pause.PAUSE_FULL:
                self._drain()
            elif pause == Pause.PAUSE_GTID:
                self._write_gtid(ranges, span)
            elif pause == Pause.PAUSE_CONTROL:
                self._leave_out(ranges, span)
            else:
                return pause == Pause.PAUSE_DONE

    def _write_gtid(self, ranges: FileRanges, span: Range) -> None:
        """Rewrite the GTID event at the rewriter's position, for a new length or logical clock."""
        # Imported here: a single transaction keeps both and does not need it.
        from binx.event.gtid.encode import Clock, rewrite_gtid

        rewriter, description = self._rewriter, ranges.description
        header, event = _event_at(ranges.file, rewriter.position, span.end)
        if header.size > _LARGEST_GTID_EVENT:
            raise DamagedError(
                f"expected a GTID event, found one of {header.size} bytes", offset=header.position
            )
        content = event[: header.size - description.checksum_size]
        if self._verify and description.checksum_size:
            compare_checksums(header, zlib.crc32(content), event[len(content) :])
        following = self._size_behind(ranges, header.end, span.end)
        number = rewriter.next_sequence_number() if self._serial else 0
        body = rewrite_gtid(
            memoryview(content)[HEADER_SIZE:],
            header,
            clock=Clock(number - 1, number) if self._serial else None,
            following=following,
            checksum_size=self._checksum_size,
        )
        self._drain()
        rewriter.put_event(content[:HEADER_SIZE] + body, self._checksum_size)
        rewriter.seek(header.end)

    def _size_behind(self, ranges: FileRanges, position: int, stop: int) -> int:
        """Return the output size of a transaction's events after its GTID event."""
        source, checksum_size, size = ranges.file.source, ranges.description.checksum_size, 0
        while position < stop:
            origin = position
            window = source.window(origin, min(stop, origin + READ_BYTES))
            position, events, content = measure(window, origin, origin, stop, checksum_size)
            if position == origin:
                raise DamagedError("expected an event header, found the transaction's end", offset=position)
            size += content + events * self._checksum_size
        return size

    def _leave_out(self, ranges: FileRanges, span: Range) -> None:
        """Skip an event about the source file within a transaction, as in relay logs."""
        rewriter, description = self._rewriter, ranges.description
        header, event = _event_at(ranges.file, rewriter.position, span.end)
        lengths = description.flavour is Flavour.MYSQL and description.version >= _LENGTHS_SINCE
        if lengths and not span.apart:
            raise DamagedError(
                "expected only events of the transaction within the length that its GTID event tells,"
                f" found {header.name}",
                offset=header.position,
                event=header.name,
            )
        if header.type == EventType.FORMAT_DESCRIPTION:
            inner = parse_format(event, header.position, origin=header.position)
            if (inner.post_header_lengths, inner.checksum) != (
                description.post_header_lengths,
                description.checksum,
            ):
                raise RefusedError(
                    "the format changes within the transaction, which is not possible in one binary log",
                    offset=header.position,
                    event=header.name,
                )
        rewriter.seek(header.end)


def _event_at(file: BinlogFile, position: int, stop: int) -> tuple[EventHeader, bytes]:
    """Return an event's header and first bytes, all of them if its size is usual."""
    window = file.source.window(position, min(stop, position + _LARGEST_GTID_EVENT))
    header = parse_header(window, position, origin=position)
    return header, bytes(window[: header.size])


def compare_checksums(header: EventHeader, computed: int, stored: bytes) -> None:
    """Raise ChecksumError if a checksum differs from the stored one."""
    expected = int.from_bytes(stored, "little")
    if computed != expected:
        raise ChecksumError(
            f"expected the stored checksum {expected:#010x}, found {computed:#010x}: the bytes were"
            " changed or overwritten",
            offset=header.position,
            event=header.name,
        )
