"""Scan a file's events for its transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from binx.errors import BinxError, TruncatedError
from binx.event.format import MAGIC_SIZE, FormatDescription, parse_format, verify_format_checksum
from binx.event.gtid.sets import GtidSet
from binx.event.header import HEADER_SIZE, EventHeader, EventType, parse_header
from binx.event.payload import PayloadCache, errors_at_event, in_event, open_small_payloads, whole_events
from binx.kernels.transactions.table import TransactionTable
from binx.kernels.walk.scan import Level, Scanner, Stop
from binx.log.binlog_file import BinlogFile, TransactionScan
from binx.log.boundary import compiled
from binx.log.chain.ends import known_facts
from binx.log.damage import Damage, Salvage
from binx.log.identifiers import gtids_of
from binx.log.scanning import Ending, OnDamage, Resumption, Totals, decoded_name
from binx.log.stored_events import stored_payload, sums
from binx.log.tail import Tail
from binx.source import READ_BYTES, WINDOW_BYTES

if TYPE_CHECKING:
    from binx.event.partial_rows import RowsPieces

_COMPILED = compiled()
_NO_STOP = 2**63 - 1


class Scan:
    """One pass over a file that yields its transactions in tables of some ten thousands.

    Iterate it once. What was found before damage is yielded before the error is raised. A salvaging scan
    raises only errors about the format description, without which no event can be read, and continues after
    the damage. It reads every event, since a skipped one could be damaged, and treats ``LEVEL_INDEX`` as
    ``LEVEL_TABLES``.

    A scan at ``LEVEL_INDEX`` for GTIDs (as :func:`~binx.log.identifiers.kernel_intervals` returns them) omits
    most transactions that have none of them. Of these it reads only the beginning and the end. A scan at
    another level for ASCII texts marks the transactions whose statements have one of them, or may have.

    Attributes:
        level: how much is known of the transactions.
        ending: how the file ends; known after the iteration.
        unfinished: bytes after the last whole transaction of a file in use.
        payloads: keeps the events of compressed transactions for later readers; None keeps nothing.
        watch: called for each window before it is walked, with its offset and its bytes, which follow or
            overlap the previous ones, except for events larger than a window.
        step: bytes that are walked before a table is yielded.
    """

    def __init__(
        self,
        file: BinlogFile,
        level: Level = Level.LEVEL_INDEX,
        *,
        verify: bool = True,
        on_damage: OnDamage = OnDamage.STOP,
        gtids: dict[bytes, bytes] | None = None,
        span: Resumption | None = None,
        texts: Sequence[str] = (),
    ) -> None:
        salvages = on_damage is OnDamage.SALVAGE
        if salvages and level is Level.LEVEL_INDEX:
            level = Level.LEVEL_TABLES
        begin = span or file.resumption or Resumption(file.first_position, file.format)
        self.file = file
        self._scanner = Scanner(level, file.size, begin.position, _COMPILED, verify)
        self._names: list[tuple[str, str]] = []
        self.level = level
        self.ending: Ending | None = None
        self.unfinished = 0
        self.payloads: PayloadCache | None = None
        self.watch: Callable[[int, memoryview], None] | None = None
        self.step = WINDOW_BYTES
        self._scanner.set_format(begin.format.checksum_size, begin.format.post_header_lengths)
        if gtids is not None and not salvages:
            self._scanner.search(gtids)
        if texts and level is not Level.LEVEL_INDEX and all(map(str.isascii, texts)):
            self._scanner.search_texts([text.lower().encode() for text in texts])
        self._format = begin.format
        # Payloads up to this offset, of those that were not opened together, are decompressed one by one.
        self._alone = -1
        self._stop = _NO_STOP if begin.stop is None else begin.stop
        self._verify = verify
        self._salvage = _salvage(file, self._scanner) if salvages else None
        self._pieces: RowsPieces | None = None

    @property
    def scanner(self) -> Scanner:
        """The walk, with the headers' drift and whether there were GTIDs."""
        return self._scanner

    @property
    def position(self) -> int:
        """Offset of the next event: the scan's progress."""
        return self._scanner.position

    @property
    def accounted(self) -> int:
        """Offset after the last whole transaction, or after the last event between transactions."""
        begun: int | None = self._scanner.open_transaction
        return self._scanner.position if begun is None else begun

    @property
    def control_events(self) -> list[tuple[int, int, int]]:
        """Type, position and size of the events about the file itself; not FORMAT_DESCRIPTION."""
        return self._scanner.control_events

    def totals(self) -> Totals:
        """Events and bytes by type; at ``LEVEL_INDEX`` only some events are counted."""
        by_type = self._scanner.type_totals()
        first_size = self.file.first_position - MAGIC_SIZE
        fde = int(EventType.FORMAT_DESCRIPTION)
        events, size = by_type.get(fde, (0, 0))
        by_type[fde] = (events + 1, size + first_size)
        return Totals(
            {number: count for number, (count, _) in by_type.items()},
            {number: size for number, (_, size) in by_type.items()},
            self._scanner.inner_type_totals(),
        )

    def table_name(self, number: int) -> tuple[str, str]:
        """Return database and table of a table number in the table counts."""
        names, maps = self._names, self._scanner.maps
        while len(names) <= number:
            names.append(decoded_name(maps.name(len(names))))
        return names[number]

    def table_keys(self) -> tuple[tuple[bytes, bytes], ...]:
        """Database and table of every table number, as logged."""
        maps = self._scanner.maps
        return tuple(maps.name(number) for number in range(maps.tables))

    @property
    def table_count(self) -> int:
        """Number of tables."""
        return self._scanner.maps.tables

    def table_maps(self) -> Iterator[tuple[int, bytes]]:
        """Yield each distinct table map: its table's number, its bytes after table id and flags."""
        maps = self._scanner.maps
        for number in range(maps.count):
            yield maps.table_of(number), maps.body(number)

    def uncounted(self) -> dict[tuple[str, str], int]:
        """Number of rows events not counted, by (db, table), because a column's type is unknown."""
        counts = ((number, self._scanner.uncounted_events(number)) for number in range(self.table_count))
        return {self.table_name(number): count for number, count in counts if count}

    @property
    def unmapped_events(self) -> int:
        """Rows events without a table map, up to here; see :func:`binx.event.rows_events.unmapped_rows`."""
        return self._scanner.unmapped

    def uncounted_tables(self) -> list[tuple[str, str]]:
        """Return the tables whose rows are not counted because a column's type is unknown."""
        return list(self.uncounted())

    @property
    def damage(self) -> Sequence[Damage]:
        """Damaged ranges that a salvaging scan has skipped, in the file's order."""
        return () if self._salvage is None else self._salvage.damage

    @property
    def format(self) -> FormatDescription:
        """The format description in force."""
        return self._format

    def __iter__(self) -> Iterator[TransactionTable]:
        """Yield tables of transactions, in the file's order."""
        scanner, source = self._scanner, self.file.source
        if self.file.head_error is not None and self._salvage is None:
            raise self.file.head_error.at(path=self.file.path)
        self._check_format(source.window(MAGIC_SIZE, self.file.first_position))
        stop: int = Stop.STOP_LIMIT
        while stop not in (Stop.STOP_END, Stop.STOP_TRUNCATED):
            origin = scanner.position
            if origin >= self._stop:
                return
            error: BinxError | None = None
            try:
                stop = self._advance(min(origin + self.step, self._stop))
                if self._salvage is not None:
                    self._salvage.settle()
                if stop in (Stop.STOP_END, Stop.STOP_TRUNCATED):
                    self._judge_end()
            except BinxError as found:
                error = found
            if len(scanner.table):
                yield self._take_table()
            if error is not None:
                stop = self._pass_over(error)
            elif stop == Stop.STOP_FORMAT:
                try:
                    self._take_format()
                except BinxError as found:
                    stop = self._pass_over(found)
            else:
                source.release(origin, scanner.position)
        self._finish()

    def _pass_over(self, error: BinxError) -> int:
        """Continue after damage, or raise the error if not salvaging."""
        if self._salvage is None:
            raise error.at(path=self.file.path) from error.__cause__
        try:
            return Stop.STOP_LIMIT if self._salvage.recover(error, self._format) else Stop.STOP_END
        except BinxError as unreadable:
            raise unreadable.at(path=self.file.path) from unreadable.__cause__

    def _judge_end(self) -> None:
        """Distinguish a transaction that is still being written from damage."""
        scanner, file, accounted = self._scanner, self.file, self.accounted
        if scanner.is_seeking and scanner.position < file.size:
            # After damage, another event whose size is wrong.
            raise TruncatedError(
                "expected a whole event, found the end of the file inside it", offset=scanner.position
            )
        if scanner.is_seeking or accounted == file.size:
            return
        in_place = not scanner.misplaced or scanner.first_misplaced >= accounted
        drift = 0 if in_place else scanner.drift
        tail = Tail(file, accounted, drift, self._format, self._whole_gtids, verify=self._verify)
        error = tail.error()
        if error is not None:
            raise error

    def _whole_gtids(self) -> GtidSet:
        """Return the GTIDs of the whole transactions before the file's end, which another scan reads."""
        file = self.file
        span = Resumption(file.first_position, file.format, self.accounted)
        return gtids_of(Scan(file, verify=False, span=span))

    def _take_table(self) -> TransactionTable:
        """Return the transactions found since the last table; all have one format."""
        table = self._scanner.new_table()
        table.format = self._format
        if self._salvage is not None:
            self._salvage.take(table)
        return table

    def _advance(self, limit: int) -> int:
        """Walk up to ``limit``, window by window, and handle what needs Python."""
        scanner, size = self._scanner, self.file.size
        stop: int = Stop.STOP_LIMIT
        while stop == Stop.STOP_LIMIT and scanner.position < limit:
            origin = scanner.position
            stop = self._walk(self._window(origin), origin, limit)
            if stop == Stop.STOP_LIMIT and scanner.position == origin:
                # A plausible event larger than the read buffer.
                window = self.file.source.window(origin, min(origin + READ_BYTES, size))
                header = parse_header(window, origin, origin=origin)
                if self._salvage is not None:
                    self._salvage.check_large_event(header, self._format)
                if header.type == EventType.TRANSACTION_PAYLOAD:
                    self._vouch(header)
                else:
                    del window
                    window = self.file.events_window(origin, size)
                stop = self._walk(window, origin, limit)
        return stop

    def _window(self, origin: int) -> memoryview:
        """Return the bytes to walk next."""
        file = self.file
        window = file.source.window(origin, min(origin + READ_BYTES, file.size))
        if self.watch is not None:
            self.watch(origin, window)
        return window

    def _vouch(self, header: EventHeader) -> None:
        """Accept a large payload by its beginning."""
        verify = self._verify and self._format.checksum_size
        self._scanner.vouch(*(sums(self.file.source, header) if verify else (0, 0)))

    def _walk(self, window: memoryview, origin: int, limit: int) -> int:
        """Walk a window as far as possible."""
        scanner = self._scanner
        while True:
            try:
                stop: int = scanner.feed(window, origin, limit)
            except BinxError as error:
                if scanner.in_payload:
                    in_event(error, scanner.position)
                raise
            if stop == Stop.STOP_PAYLOAD:
                self._feed_payload(window, origin)
            elif stop == Stop.STOP_BEYOND:
                if scanner.position != origin:
                    return Stop.STOP_LIMIT
                scanner.feed_beyond(window, self.file.source.window(*scanner.beyond))
                if not origin <= scanner.position < origin + len(window):
                    return Stop.STOP_END if scanner.position >= self.file.size else Stop.STOP_LIMIT
            elif stop == Stop.STOP_COMPRESSED_ROWS:
                from binx.event.rows_events import plain_rows_event

                header = parse_header(window, scanner.position, origin=origin)
                start = scanner.position - origin
                end = start + header.size - self._format.checksum_size
                plain = plain_rows_event(window[start + HEADER_SIZE : end], header, self._format)
                with errors_at_event(header.position, header.name):
                    scanner.feed_replacement(plain, header.size)
            elif stop == Stop.STOP_PARTIAL_ROWS:
                self._pass_piece(window, origin)
            else:
                return stop

    def _pass_piece(self, window: memoryview, origin: int) -> None:
        """Pass a piece of a rows event, whose rows are counted after the last one."""
        from binx.event.partial_rows import RowsPieces

        scanner, description = self._scanner, self._format
        header = parse_header(window, scanner.position, origin=origin)
        start = scanner.position - origin
        body = window[start + HEADER_SIZE : start + header.size - description.checksum_size]
        if self._pieces is None:
            self._pieces = RowsPieces()
        joined = self._pieces.take(body, header, description)
        with errors_at_event(header.position, header.name):
            scanner.pass_piece(header.size, None if joined is None else joined.plain(description))

    def _check_format(self, event: memoryview) -> None:
        """Verify the checksum of the format description in force."""
        if self._verify:
            try:
                verify_format_checksum(event, self._format)
            except BinxError as error:
                raise error.at(path=self.file.path) from error.__cause__

    def _take_format(self) -> None:
        """Switch the format description; a relay log has the source's after its own."""
        scanner, source = self._scanner, self.file.source
        position = scanner.position
        window = self.file.events_window(position, source.size)
        try:
            self._format = parse_format(window, position, origin=position)
        except BinxError as error:
            raise error.at(path=source.path) from error.__cause__
        header = parse_header(window, position, origin=position)
        self._check_format(window[: header.size])
        scanner.set_format(self._format.checksum_size, self._format.post_header_lengths)
        scanner.skip(header.size, header.type)

    def _feed_payload(self, window: memoryview, origin: int) -> None:
        """Walk the contents of a compressed payload; small ones after it are decompressed with it."""
        scanner, position = self._scanner, self._scanner.position
        inner: Iterable[memoryview] = ()
        if position > self._alone:
            opened, self._alone = open_small_payloads(window, origin, position, self._format.checksum_size)
            if (events := opened.at(position)) is not None:
                scanner.open_payloads(opened)
                if self.payloads is not None:
                    self.payloads.add(opened)
                inner = (events,)
        if not inner:
            header = parse_header(window, position, origin=origin)
            payload = stored_payload(self.file.source, header, window, origin, self._format)
            inner = whole_events(payload) if self.payloads is None else self.payloads.first(payload)
        for events in inner:
            with errors_at_event(position):
                scanner.feed_inner(events)
        scanner.end_payload()

    def _finish(self) -> None:
        """Determine the file's ending."""
        scanner, file = self._scanner, self.file
        if self._salvage is not None:
            self._salvage.close(file.size)
            if self.damage:
                self._salvage.name_lost(known_facts(file).gtids_before or GtidSet())
        if self.damage and self.damage[-1].end == file.size:
            self.ending = Ending.DAMAGED
            return
        self.unfinished = file.size - self.accounted
        if file.format.in_use:
            self.ending = Ending.IN_USE
        else:
            last = scanner.control_events[-1] if scanner.control_events else (0, 0, 0)
            closing = (EventType.ROTATE, EventType.STOP)
            closed = last[0] in closing and last[1] + last[2] == file.size
            self.ending = Ending.CLOSED if closed else Ending.OPEN


def _salvage(file: BinlogFile, scanner: Scanner) -> Salvage:
    salvage = Salvage(file.source, scanner)
    if file.head_error is not None:
        salvage.take_head(file.first_position, file.head_error)
    return salvage


def find_transactions(
    file: BinlogFile,
    level: Level = Level.LEVEL_INDEX,
    *,
    verify: bool = True,
    gtids: dict[bytes, bytes] | None = None,
    texts: Sequence[str] = (),
) -> TransactionScan:
    """Find a file's transactions the fastest way: from its index if it has one, else with a scan.

    A plain file is searched for GTIDs faster than its index is read.

    Args:
        level: how much must be known of them; an index has everything.
        gtids: a scan may omit transactions with none of these, see :class:`Scan`.
        texts: the texts of statements to search, which an index does not have.
    """
    is_faster = (gtids is not None and file.is_plain) or texts
    if not is_faster and file.index is not None:
        return file.index
    return Scan(file, level, verify=verify, gtids=gtids, texts=texts)
