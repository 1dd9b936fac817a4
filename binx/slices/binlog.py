"""Slices: whole transactions of one or more files, written as a binary log.

A slice consists of the magic number, the source's FORMAT_DESCRIPTION with IN_USE cleared, an empty
PREVIOUS_GTIDS (MySQL) or GTID_LIST (MariaDB) if the source's server has that event, and the transactions.
Everything that depends on an event's file is rewritten: ``log_pos``, the checksum, and

* the logical clock of MySQL's GTID events, unless the slice is one contiguous run of one file. A replica's
  parallel applier expects ``sequence_number`` to increase within a file and ``last_committed`` to be less
  than it (MySQL's sql/rpl_mta_submode.cc, ``Mts_submode_logical_clock::schedule_next_event``). The clock is
  made serial: each transaction waits for the previous one, which is correct whatever was left out between
  them.
* the transaction length in MySQL's GTID events (WL#7319), if the transaction's size changes.

Events that describe only the source file (a relay log's ROTATE and second FORMAT_DESCRIPTION, checkpoints)
are left out.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from binx.errors import DamagedError, RefusedError
from binx.event.header import HEADER_SIZE, EventHeader, EventType, parse_header
from binx.kernels.copy.rewrite import measure
from binx.log.file import BinlogFile
from binx.slices.renaming import RENAMED, SAME_NAMES, DatabaseNames, EventRenamer
from binx.slices.search import Selected
from binx.slices.slice_plan import FileRanges, Range, SlicePlan, plan_slice
from binx.slices.slice_writer import SliceReport, SliceWriter, compare_checksums
from binx.source import READ_BYTES
from binx.storage.output import Sink

_GTIDS = frozenset({EventType.GTID, EventType.ANONYMOUS_GTID, EventType.GTID_TAGGED})


def write_binlog(
    runs: Iterable[Selected],
    output: Sink,
    *,
    verbatim: bool = False,
    verify: bool = True,
    databases: DatabaseNames = SAME_NAMES,
) -> SliceReport:
    """Write transactions as a binary log.

    All runs are read before the first byte is written; their files must stay open until the end.

    Args:
        verbatim: copy magic, FORMAT_DESCRIPTION and transactions byte by byte; positions, checksums and
            logical clock stay those of the source.
        verify: verify the checksum of every event that is copied.
        databases: new names of databases; with these, compressed transactions are written uncompressed.

    Raises:
        AbsentError: the runs have no transactions.
        RefusedError: the formats of the transactions cannot be mixed in one file.
        DamagedError: a transaction violates its format, or a checksum differs.
        OutputError: the output cannot be written.
    """
    plan = plan_slice(runs, verbatim=verbatim)
    if databases:
        return RenamingWriter(plan, output, databases, verify=verify).write()
    return SliceWriter(plan, output, verbatim=verbatim, verify=verify).write()


class RenamingWriter(SliceWriter):
    """Writes a slice plan with renamed databases.

    Events that name a database are rewritten, and compressed transactions are written uncompressed; the rest
    is copied.
    """

    buffer_bytes = 64 * 1024 * 1024

    def __init__(self, plan: SlicePlan, output: Sink, databases: DatabaseNames, *, verify: bool) -> None:
        super().__init__(plan, output, verbatim=False, verify=verify)
        self._databases = databases
        self._copied_to = 0

    def _copy_ranges(self, ranges: FileRanges) -> None:
        self._copied_to = 0
        super()._copy_ranges(ranges)

    def _copy_range(self, ranges: FileRanges, span: Range, window: memoryview, origin: int) -> bool:
        rewriter, renamer = self._rewriter, EventRenamer(self._databases, ranges.file, ranges.description)
        while True:
            # A copied event may continue in the next window.
            if rewriter.position < self._copied_to:
                rest = Range(rewriter.position, self._copied_to, 0, apart=True)
                if not super()._copy_range(ranges, rest, window, origin):
                    return False
            if rewriter.position >= span.end:
                return True
            header = _header_at(ranges.file, rewriter.position, span.end)
            if header.type in _GTIDS:
                self._write_gtid(ranges, span)
            elif header.type in RENAMED:
                self._check(ranges, header)
                for event in renamer.events(header):
                    try:
                        self.put_event(
                            event, "--rewrite-db", "leave out the transaction, or use --format sql"
                        )
                    except RefusedError as error:
                        raise error.at(offset=header.position, event=header.name) from None
                rewriter.seek(header.end)
            else:
                self._copied_to = header.end

    def _check(self, ranges: FileRanges, header: EventHeader) -> None:
        """Verify the checksum of an event that is rewritten."""
        size = ranges.description.checksum_size
        if not self._verify or not size:
            return
        source, computed = ranges.file.source, 0
        for begin in range(header.position, header.end - size, READ_BYTES):
            computed = zlib.crc32(source.window(begin, min(begin + READ_BYTES, header.end - size)), computed)
        compare_checksums(header, computed, bytes(source.window(header.end - size, header.end)))

    def _size_behind(self, ranges: FileRanges, position: int, stop: int) -> int:
        """Return the output size of the events after a GTID event, up to the next one."""
        renamer, size = EventRenamer(self._databases, ranges.file, ranges.description), 0
        while position < stop:
            header = _header_at(ranges.file, position, stop)
            if header.type in _GTIDS:
                break
            if header.type in RENAMED:
                for event in renamer.events(header, first_look=True):
                    size += len(event) + self._checksum_size
            else:
                window = ranges.file.source.window(position, position + HEADER_SIZE)
                _, events, content = measure(
                    window, position, position, header.end, ranges.description.checksum_size
                )
                size += content + events * self._checksum_size
            position = header.end
        return size


def _header_at(file: BinlogFile, position: int, stop: int) -> EventHeader:
    header = parse_header(
        file.source.window(position, min(stop, position + HEADER_SIZE)), position, origin=position
    )
    if header.end > stop:
        raise DamagedError(
            f"expected an event that ends within the transaction, found one of {header.size} bytes",
            offset=position,
        )
    return header
