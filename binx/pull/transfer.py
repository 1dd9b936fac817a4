"""The work of one connection: receive a server's log, check it, write it, sync it, acknowledge it.

In this order: an event is written only after it was checked (of an event larger than the memory for it, the
written part is truncated again if the check fails); only whole transactions that are on disk are
acknowledged. However a transfer ends, the log on disk ends after its last whole transaction.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from binx.errors import BinxError, ConnectionLostError, DamagedError, RefusedError, ServerError
from binx.event.format import MAGIC_SIZE, Flavour, parse_format, verify_format_checksum
from binx.event.gtid.sets import GtidSet
from binx.event.header import EventType
from binx.log.succession import gtid_differences
from binx.pull.checks import LastTransaction, LogChecks
from binx.pull.mirror import LogFile, NewestLog, has_same_format
from binx.pull.packets import HEARTBEATS, DumpPackets, SpecialEvent
from binx.pull.server import LogPosition, Server
from binx.source.log_names import is_named_next, next_name

SILENT_PERIODS = 3
"""Heartbeats that a server may miss before the connection counts as lost."""

_SYNCHRONIZE_SECONDS = 1.0
_SYNCHRONIZE_BYTES = 64 << 20
_WAIT_SECONDS = 0.5
_ROTATE_FIXED = 8
_LOG_NAME = re.compile(r"[^/\x00-\x1f\x7f.][^/\x00-\x1f\x7f]*\.\d{1,10}")


@dataclass(slots=True)
class Progress:
    """Progress of a pull; everything listed here is on disk.

    Attributes:
        log: the log being written.
        position: offset after all that is whole in it.
        bytes: bytes received since the pull began.
        acknowledged: the last position acknowledged to the server.
        closed: number of logs closed since then.
        reconnects: number of reconnects.
    """

    log: str = ""
    position: int = 0
    last: LastTransaction | None = None
    bytes: int = 0
    acknowledged: LogPosition | None = None
    closed: int = 0
    reconnects: int = 0

    @property
    def log_position(self) -> LogPosition:
        """Log and position."""
        return LogPosition.of(self.log, self.position)


class Transfer:
    """A requested dump, until it ends.

    Args:
        server: the sender.
        folder: destination of the logs.
        tail: the newest existing log.
        previous: without one, the newest log of the chain before, with which the first log is compared.
        report_missing: gets the GTIDs that the first log lists and the chain before it lacks.
        first: without one, the log to begin with.
        until: where to end; None: never.
        progress: updated during the transfer.
        silence: seconds without a packet after which the connection counts as lost.
        semi_sync: whether the server requests acknowledgements.
        interval: whether to sync files to disk only once a second.
        is_stopped: whether to end now.
        tick: called about twice a second, and after a sync.
    """

    def __init__(
        self,
        server: Server,
        folder: Path,
        tail: NewestLog | None,
        first: str,
        until: LogPosition | None,
        progress: Progress,
        *,
        silence: float,
        semi_sync: bool = False,
        interval: bool = False,
        previous: NewestLog | None = None,
        report_missing: Callable[[GtidSet], None] = lambda gtids: None,
        is_stopped: Callable[[], bool] = lambda: False,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        self._server = server
        self._folder = folder
        self._tail = tail
        self._until = until
        self._progress = progress
        self._silence = silence
        self._interval = interval
        self._is_stopped = is_stopped
        self._tick = tick
        self._arrivals = DumpPackets(server.socket, server.name, semi_sync=semi_sync)
        self._file: LogFile | None = None
        self._checks: LogChecks | None = None
        self._whole_end = 0
        self._listed = GtidSet() if tail is None else tail.listed
        self._content = GtidSet() if tail is None else tail.content
        self._previous = previous if tail is None else None
        self._report_missing = report_missing
        self._is_linked = tail is None and previous is None
        self._log = ""
        self._expected = first if tail is None else tail.log
        self._synchronized = self._heard = monotonic()
        self._unsynced = 0

    def run(self) -> None:
        """Work until the planned end, or until stopped."""
        try:
            while not self._is_stopped() and not self._is_reached():
                if self._arrivals.receive():
                    self._take()
                    if self._is_due():
                        self._synchronize()
                else:
                    self._synchronize()
                    self._wait()
        except BinxError as error:
            if isinstance(error, DamagedError) and self._checks is not None:
                raise error.at(path=self._checks.log, offset=self._checks.position) from error.__cause__
            raise
        finally:
            self._end()

    def _is_reached(self) -> bool:
        until, checks = self._until, self._checks
        if until is None or checks is None or self._is_comparing:
            return False
        return LogPosition.of(checks.log, checks.whole_end) >= until

    def _take(self) -> None:
        self._heard = monotonic()
        has_more = True
        while has_more:
            unpacked = self._arrivals.unpack()
            before = len(self._arrivals.window)
            self._take_events()
            if isinstance(unpacked, SpecialEvent):
                self._take_special(unpacked)
                continue
            has_more = unpacked
            if has_more and len(self._arrivals.window) == before:
                raise DamagedError("expected whole events, found one that does not end")

    def _take_events(self) -> None:
        """Check and write the available events."""
        arrivals, checks, file = self._arrivals, self._checks, self._file
        if not len(arrivals.window):
            return
        if checks is None or file is None:
            raise DamagedError("expected a format description first, found another event")
        while window := arrivals.window:
            position = checks.reached
            count = checks.take(window)
            if not count:
                return
            self._check_link()
            file.put(position, window[:count])
            self._whole_end = checks.whole_end
            self._unsynced += count
            arrivals.take(count)

    def _check_link(self) -> None:
        """Compare a new log with those before it, once it lists their GTIDs."""
        checks, file = self._checks, self._file
        if self._is_linked or checks is None or checks.listed is None or file is None or self._is_comparing:
            return
        self._is_linked = True
        if self._previous is not None:
            previous, self._previous = self._previous, None
            missing, _ = gtid_differences(previous.listed, previous.content, checks.listed)
            if missing:
                self._report_missing(missing)
            return
        try:
            checks.follow(self._listed, self._content)
        except RefusedError:
            # Created only now: the next run would take an existing file for verified.
            file.path.unlink(missing_ok=True)
            raise

    def _take_special(self, event: SpecialEvent) -> None:
        header = event.header
        if header.type == EventType.FORMAT_DESCRIPTION:
            self._take_format(event.data)
            return
        checks = self._checks
        checksums = self._server.facts.checksums if checks is None else checks.description.checksum_size > 0
        body = event.body(checksums=checksums)
        if header.type == EventType.ROTATE:
            self._take_rotate(_named_log(body))
        elif header.type in HEARTBEATS and self._is_comparing:
            raise self._shorter_error()

    def _take_rotate(self, name: str) -> None:
        """Process a ROTATE, with which a server announces the next log."""
        checks, file = self._checks, self._file
        if _LOG_NAME.fullmatch(name) is None:
            raise DamagedError(f"expected the name of a log, found {name!r}")
        if checks is None or file is None:
            if name != self._expected:
                raise RefusedError(f"expected the log {self._expected}, found that the server sends {name}")
            self._log = name
            return
        if name == checks.log:
            return
        if self._is_comparing:
            raise self._shorter_error()
        if checks.whole_end != checks.position or len(self._arrivals.window):
            raise DamagedError("expected a log to end after a transaction, found one that is not whole")
        if not is_named_next(next_name(checks.log), checks.log, name):
            raise RefusedError(f"expected {next_name(checks.log)} after {checks.log}, found {name}")
        self._close_log()
        self._log = name

    def _take_format(self, event: bytes) -> None:
        """Process a log's first event, which is sent even if a later position was requested."""
        description = parse_format(event, MAGIC_SIZE, origin=MAGIC_SIZE)
        verify_format_checksum(event, description)
        tail = self._tail
        if not self._log or (self._file is not None and self._checks is not None):
            raise DamagedError("expected the name of a log before its first event, found none")
        path = self._folder / self._log
        if tail is not None and self._log == tail.log:
            if not has_same_format(tail.format_event, event):
                raise RefusedError(
                    "expected the log that is here, found another one of the same name; the server's logs"
                    " were reset, or it is another server: begin again with --new-chain",
                    path=str(path),
                )
            self._file, self._whole_end = LogFile(path, tail.end), 0
            self._checks = LogChecks(self._log, tail.description, tail.start)
            self._is_linked = tail.is_linked
            return
        self._file, self._whole_end = LogFile.begin(path, event), MAGIC_SIZE + len(event)
        self._checks = LogChecks(self._log, description, self._whole_end)
        self._progress.log, self._progress.position = self._log, self._whole_end

    @property
    def has_compared(self) -> bool:
        """Whether the server has sent everything that existed already."""
        return self._file is not None and not self._is_comparing

    @property
    def _is_comparing(self) -> bool:
        """Whether arriving bytes exist already."""
        return (
            self._file is not None and self._checks is not None and self._checks.position < self._file.stored
        )

    def _shorter_error(self) -> RefusedError:
        checks = self._checks
        return RefusedError(
            "expected the server's log to have all that is here, found it to end before; it has lost"
            " transactions, or was restored: begin again with --new-chain",
            path=None if checks is None else checks.log,
            offset=None if checks is None else checks.position,
        )

    def _close_log(self) -> None:
        """Close a log: sync it, and keep what the next one must continue."""
        checks, file = self._checks, self._file
        if checks is None or file is None:
            return
        if checks.listed is None:
            self._content |= checks.gtids()
        else:
            self._listed, self._content = checks.listed, checks.gtids()
        self._is_linked = False
        # MySQL clears the in-use mark after a crash when it restarts; MariaDB leaves it.
        if checks.is_closed or checks.description.flavour is Flavour.MYSQL:
            file.finish()
        file.synchronize()
        file.close()
        self._synchronize()
        self._file = self._checks = None
        self._progress.closed += 1

    def _is_due(self) -> bool:
        """Whether written events should be synced although more are waiting."""
        is_late = monotonic() - self._synchronized > _SYNCHRONIZE_SECONDS
        return self._arrivals.wants_acknowledgement or is_late or self._unsynced > _SYNCHRONIZE_BYTES

    def _synchronize(self) -> None:
        """Sync what was written, and acknowledge it."""
        checks, file, progress = self._checks, self._file, self._progress
        if checks is None or file is None or self._is_comparing:
            return
        is_wanted = self._arrivals.wants_acknowledgement
        waits = self._interval and monotonic() - self._synchronized < _SYNCHRONIZE_SECONDS
        if file.is_dirty and (is_wanted or not waits):
            file.synchronize()
            self._synchronized, self._unsynced = monotonic(), 0
        if not file.is_dirty:
            progress.log, progress.position = checks.log, checks.whole_end
            progress.last = checks.last or progress.last
            if is_wanted:
                self._arrivals.acknowledge(checks.log, checks.whole_end)
                progress.acknowledged = LogPosition.of(checks.log, checks.whole_end)
        progress.bytes += self._arrivals.bytes
        self._arrivals.bytes = 0
        self._tick()

    def _wait(self) -> None:
        """Wait for the server, up to the allowed silence."""
        if monotonic() - self._heard > self._silence:
            raise ConnectionLostError(
                f"the server sent nothing for {self._silence:g} s, not even a heartbeat",
                server=self._server.name,
            )
        self._arrivals.wait(min(_WAIT_SECONDS, self._silence))

    def _end(self) -> None:
        """Truncate the log after its last whole transaction."""
        checks, file = self._checks, self._file
        if checks is None or file is None:
            return
        try:
            if self._whole_end >= file.stored and file.path.exists():
                file.cut(self._whole_end)
                file.synchronize()
                self._progress.log, self._progress.position = checks.log, self._whole_end
        finally:
            file.close()


def _named_log(rotate: memoryview) -> str:
    """Return the name in the body of a ROTATE event."""
    return bytes(rotate[_ROTATE_FIXED:]).decode("utf-8", "surrogateescape")


def first_log(server: Server, silence: float) -> str:
    """Return the log with which the server begins a dump that was already requested."""
    arrivals = DumpPackets(server.socket, server.name, semi_sync=False)
    begun = monotonic()
    while monotonic() - begun < silence:
        if not arrivals.receive():
            arrivals.wait(_WAIT_SECONDS)
            continue
        event = arrivals.unpack()
        if isinstance(event, SpecialEvent) and event.header.type == EventType.ROTATE:
            name = _named_log(event.body(checksums=server.facts.checksums))
            if _LOG_NAME.fullmatch(name):
                return name
    raise ServerError("the server did not say which log has the first transaction", server=server.name)
