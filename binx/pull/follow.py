"""Run a pull: check the server, resume where the mirror ends, reconnect after failures."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from time import monotonic, time
from typing import Any
from zlib import crc32

from binx.errors import (
    AbsentError,
    BinxError,
    ConnectionLostError,
    DamagedError,
    ExitCode,
    OutputError,
    RefusedError,
    ServerError,
    UsageError,
)
from binx.event.format import MAGIC_SIZE
from binx.event.gtid.sets import GtidSet
from binx.pull.connection_parameters import Login
from binx.pull.mirror import DiskFullError, NewestLog, read_tail
from binx.pull.pull_state import LOCK, PulledChain, PullState, now_text, read_state
from binx.pull.server import LogPosition, Server
from binx.pull.transfer import SILENT_PERIODS, Progress, Transfer, first_log
from binx.source.log_names import number_of
from binx.source.wording import counted
from binx.storage.locking import hold_lock
from binx.storage.output_errors import output_errors

_SHORTEST_SILENCE = 1.0
_FIRST_DELAY, _LONGEST_DELAY = 0.2, 30.0
_SAME_DAMAGE = 3
"""Give up after receiving the same damaged event this many times: it is damaged on the server."""

_TRIES = 8
"""Maximum number of consecutive attempts to reconnect, for a pull that does not follow the server."""

_STATUS_SECONDS = 1.0
_LAG_SECONDS = 10.0
_FATAL_DUMP = 1236
_REACHED = ("file", "position", "gtid", "commit_timestamp", "acknowledged")
"""What a status says of how far a pull got."""
_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class PullRequest:
    """Parameters of a pull.

    Attributes:
        folder: destination of the logs.
        log: the first log of a new chain; None: the server's oldest, or the one that ``gtids`` implies.
        gtids: transactions that need not be pulled: a new chain begins with the first that is not among them.
        continues: whether ``gtids`` are those of the previous chain.
        new_chain: whether to begin a chain even if there is one.
        follow: whether to wait for new events; else the pull ends at the server's current position.
        semi_sync: whether the server waits for acknowledgements.
        interval: whether files are synced to disk only once a second instead of after each transaction.
        server_id: the replica's server id; None: a number derived from the machine and the folder.
        heartbeat: interval in seconds at which an idle server sends heartbeats.
        archive: an archive for the closed logs.
        parquet: a data set for their row changes.
    """

    login: Login
    folder: Path
    log: str | None = None
    gtids: GtidSet | None = None
    continues: bool = False
    new_chain: bool = False
    follow: bool = False
    semi_sync: bool = False
    interval: bool = False
    server_id: int | None = None
    heartbeat: float = 10.0
    archive: str | None = None
    parquet: str | None = None

    def check(self) -> None:
        """Raise UsageError if options contradict each other."""
        if self.interval and self.semi_sync:
            raise UsageError("--semi-sync needs each transaction on the disk; leave out --sync interval")
        if self.parquet is not None and self.archive is None:
            raise UsageError("--parquet requires --archive, which Parquet is made from")


class _Archiving:
    """Runs ``binx archive`` in a separate process, one at a time.

    Acknowledgements to the server are thus independent of the time and memory that archiving takes.
    """

    def __init__(self, request: PullRequest, tell: Callable[[str], None]) -> None:
        # In the standalone folder the executable is binx itself.
        program = [sys.executable] if getattr(sys, "frozen", False) else [sys.executable, "-m", "binx"]
        self._command = [*program, "archive", "--quiet", "--to", str(request.archive)]
        self._command += [] if request.parquet is None else ["--parquet", request.parquet]
        self._tell = tell
        self._folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._seen = 0
        self.failures = 0

    def start(self, folder: Path) -> None:
        """Archive the logs in a folder from now on, once those of the previous folder are archived."""
        if folder != self._folder:
            if self._folder is not None:
                self.finish()
            self._folder = folder
            self._begin()

    def poll(self, closed: int) -> None:
        """Start a run if logs were closed since the last one."""
        if self._process is not None and self._process.poll() is not None:
            self._join()
        if self._process is None and closed > self._seen:
            self._seen = closed
            self._begin()

    def finish(self) -> None:
        """Archive the rest, and wait for it."""
        self._join()
        self._begin()
        self._join()

    def terminate(self) -> None:
        """Terminate the current run; the next one resumes it."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None

    def _begin(self) -> None:
        command = [*self._command, str(self._folder)]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def _join(self) -> None:
        status = ExitCode.DONE if self._process is None else self._process.wait()
        self._process = None
        if status != ExitCode.DONE:
            self.failures += 1
            self._tell(f"binx archive ended with status {status}; it is tried again with the next closed log")


@dataclass(slots=True)
class Pull:
    """A pull of a server's logs.

    Attributes:
        tell: called with a sentence for each event of interest.
        show: called about twice a second while the server is followed.
        stop: when set, ends the pull after a transaction.
        progress: progress of the pull.
        lag_bytes: bytes of the server's logs not pulled yet; None if unknown.
        lag_seconds: seconds since the commit of the last pulled transaction; 0 if nothing is missing.
        has_connected: whether a server has been found that has the logs; nothing is pulled before.
    """

    request: PullRequest
    tell: Callable[[str], None]
    show: Callable[[Pull], None] = lambda pull: None
    stop: Event = field(default_factory=Event)
    progress: Progress = field(default_factory=Progress)
    lag_bytes: int | None = None
    lag_seconds: float | None = None
    has_connected: bool = False
    _state: PullState = field(default_factory=PullState)
    _until: LogPosition | None = None
    _control: Server | None = None
    _archiving: _Archiving | None = None
    _previous: NewestLog | None = None
    _damage: tuple[str, int] = ("", 0)
    _lag_time: float = 0.0
    _status_time: float = 0.0
    _begun: float = field(default_factory=monotonic)

    def run(self) -> bool:
        """Pull until the requested end, or until stopped; return whether all went well.

        Raises:
            RefusedError: the server's logs do not continue the mirror.
        """
        folder = self.request.folder
        with output_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        with hold_lock(folder / LOCK, str(folder)):
            self._state = read_state(folder) or PullState()
            if self.request.archive is not None:
                self._archiving = _Archiving(self.request, self.tell)
            try:
                self._work()
                if self._archiving is not None and not self.stop.is_set():
                    self._archiving.finish()
                self._note_status(None)
            except BinxError as error:
                self._note_status(str(error))
                raise
            finally:
                if self._archiving is not None:
                    self._archiving.terminate()
            return self._archiving is None or not self._archiving.failures

    def _work(self) -> None:
        """Connect, and reconnect whenever the connection ends."""
        failures = 0
        while not self.stop.is_set():
            before = self.progress.log_position
            try:
                self._transfer()
                return
            except (ConnectionLostError, DamagedError, DiskFullError) as error:
                failures = 0 if self.progress.log_position > before else failures + 1
                if not self._may_retry(error, failures):
                    raise
                delay = min(_FIRST_DELAY * 2**failures, _LONGEST_DELAY) * random.uniform(0.5, 1)
                self.tell(f"{error}; trying again in {delay:.1f} s")
                self._note_status(str(error))
                self.progress.reconnects += 1
                self.stop.wait(delay)
            finally:
                if self._control is not None:
                    self._control.close()
                    self._control = None

    def _may_retry(self, error: BinxError, failures: int) -> bool:
        """Whether to try again after an error."""
        if not self.has_connected:
            return False
        if isinstance(error, DamagedError):
            event = f"{error.path} {error.offset}"
            self._damage = event, self._damage[1] + 1 if self._damage[0] == event else 1
            return self._damage[1] < _SAME_DAMAGE
        return self.request.follow or (failures < _TRIES and not isinstance(error, DiskFullError))

    def _transfer(self) -> None:
        """Connect once, and receive the server's events."""
        request, progress = self.request, self.progress
        self._control = control = Server(request.login)
        if request.semi_sync:
            control.require_semi_sync()
        if self._until is None and not request.follow:
            self._until = control.end()
        chain, tail = self._chain_of(control)
        folder = request.folder / chain.folder
        if self._archiving is not None:
            self._archiving.start(folder)
        if not self.has_connected:
            start = (
                f"the beginning of {chain.first_file}" if tail is None else f"{tail.log}, position {tail.end}"
            )
            tls = ", TLS" if control.is_encrypted else ""
            server = f"{control.facts.flavour.value} {control.facts.version}"
            self.tell(f"{control.name}: {server}{tls}, from {start}")
        self.has_connected = True
        log, position = chain.first_file, MAGIC_SIZE
        if tail is not None:
            log, position = tail.log, tail.start
            progress.log, progress.position, progress.last = tail.log, tail.end, tail.last
        transfer: Transfer | None = None
        with closing(Server(request.login)) as sender:
            try:
                sender.register(self._server_id, request.heartbeat, semi_sync=request.semi_sync)
                sender.dump(log, position, self._server_id)
                transfer = Transfer(
                    sender,
                    folder,
                    tail,
                    chain.first_file,
                    self._until,
                    progress,
                    silence=max(request.heartbeat * SILENT_PERIODS, _SHORTEST_SILENCE),
                    semi_sync=request.semi_sync,
                    interval=request.interval,
                    previous=self._previous,
                    report_missing=self._note_missing,
                    is_stopped=self.stop.is_set,
                    tick=self._tick,
                )
                transfer.run()
            except ServerError as error:
                resumed = tail is not None and not (transfer is not None and transfer.has_compared)
                raise explained(error, log, resumed=resumed) from error.__cause__

    def _chain_of(self, server: Server) -> tuple[PulledChain, NewestLog | None]:
        """Return the chain to pull and its newest log; a new chain if requested."""
        request, chains = self.request, self._state.chains
        if chains and (self.has_connected or not request.new_chain):
            chain = chains[-1]
            if chain.is_of(server.facts):
                try:
                    return chain, read_tail(request.folder / chain.folder)
                except DamagedError as error:
                    raise RefusedError(
                        f"{error.message}; a log that was pulled is damaged now: remove it and those after"
                        " it, and they are pulled again",
                        path=error.path,
                        offset=error.offset,
                    ) from error
            if not request.continues:
                raise chain.refuse(server.facts, server.name)
        chain = PulledChain.of(server.facts, len(chains), self._first_log(server))
        with output_errors(request.folder):
            (request.folder / chain.folder).mkdir(exist_ok=True)
        self._previous = read_tail(request.folder / chains[-1].folder) if chains else None
        chains.append(chain)
        self._state.write(request.folder)
        return chain, read_tail(request.folder / chain.folder)

    def _first_log(self, server: Server) -> str:
        """Return the first log of a new chain."""
        request, names = self.request, [name for name, _ in server.logs()]
        gtids = request.gtids
        if request.continues and self._state.chains:
            tail = read_tail(request.folder / self._state.chains[-1].folder)
            if tail is not None and tail.is_set_back:
                raise RefusedError(
                    "expected GTIDs whose numbers ascend, found that a session has set them back"
                    " (gtid_seq_no): they do not tell the new server where these logs end; give its log to"
                    " begin with: --new-chain --from LOG",
                    path=tail.log,
                )
            gtids = GtidSet() if tail is None else tail.gtids
        if gtids:
            with closing(Server(request.login)) as probe:
                try:
                    probe.register(self._server_id, request.heartbeat, semi_sync=False)
                    probe.dump_after(gtids, self._server_id)
                    return first_log(probe, _LONGEST_DELAY)
                except ServerError as error:
                    raise explained(error, "the GTIDs") from error.__cause__
        if request.log is not None and request.log not in names:
            raise AbsentError(
                f"expected the log {request.log}, found {names[0]} to {names[-1]}", path=server.name
            )
        return request.log or names[0]

    @property
    def _server_id(self) -> int:
        """The replica's server id: as given, or derived from machine and folder."""
        if self.request.server_id is not None:
            return self.request.server_id
        name = f"{socket.gethostname()}:{self.request.folder.resolve()}".encode("utf-8", "surrogateescape")
        return 1 << 31 | crc32(name) >> 1

    def _tick(self) -> None:
        now = monotonic()
        if self._archiving is not None:
            self._archiving.poll(self.progress.closed)
        if now - self._lag_time > _LAG_SECONDS:
            self._lag_time = now
            self._query_lag()
        if now - self._status_time > _STATUS_SECONDS:
            self._status_time = now
            self._note_status(None)
        self.show(self)

    def _note_missing(self, gtids: GtidSet) -> None:
        """Note the GTIDs before a new chain that are in no chain."""
        self._state.chains[-1] = replace(self._state.chains[-1], missing_gtids=str(gtids))
        self.tell(
            f"{counted(gtids.count, 'GTID')} in no chain, as the server no longer has their logs: {gtids}"
        )

    def _query_lag(self) -> None:
        """Query the server's position for the lag."""
        self.lag_bytes = self.lag_seconds = None
        if self._control is None:
            return
        with suppress(BinxError):
            log_number, last = number_of(self.progress.log), self.progress.last
            total = sum(size for name, size in self._control.logs() if number_of(name) >= log_number)
            self.lag_bytes = max(total - self.progress.position, 0)
            if not self.lag_bytes:
                self.lag_seconds = 0.0
            elif last is not None:
                self.lag_seconds = max(time() - last.committed / _MICROSECONDS, 0)

    def _note_status(self, error: str | None) -> None:
        """Write the status file; a full disk is ignored.

        Before a server is reached, how far an earlier pull got is kept.
        """
        progress, last, acknowledged = self.progress, self.progress.last, self.progress.acknowledged
        status: dict[str, Any] = {
            "server": self.request.login.server,
            "file": progress.log,
            "position": progress.position,
            "gtid": None if last is None else last.gtid,
            "commit_timestamp": None if last is None else last.committed,
            "lag_seconds": self.lag_seconds,
            "lag_bytes": self.lag_bytes,
            "received_bytes": progress.bytes,
            "seconds": round(monotonic() - self._begun, 1),
            "closed_logs": progress.closed,
            "reconnects": progress.reconnects,
            "semi_sync": self.request.semi_sync,
            "acknowledged": None
            if acknowledged is None
            else {"file": acknowledged.log, "position": acknowledged.position},
            "archive_failures": 0 if self._archiving is None else self._archiving.failures,
            "updated": now_text(),
            "error": error,
        }
        if not self.has_connected:
            status |= {name: value for name, value in self._state.status.items() if name in _REACHED}
        self._state.status = status
        with suppress(OutputError):
            self._state.write(self.request.folder)


def explained(error: ServerError, log: str, *, resumed: bool = False) -> BinxError:
    """Convert a server's rejection of a dump to an error about the mirror.

    Args:
        log: the requested log.
        resumed: whether an already pulled transaction was requested, and has not been sent.
    """
    if error.number != _FATAL_DUMP:
        return error
    text = error.message.lower()
    if "could not find first log" in text or "purged" in text or "could not find gtid state" in text:
        return AbsentError(
            f"{error.message}; it does not have {log} any more: begin again with --new-chain, and keep logs"
            " longer on the server",
            path=error.path,
        )
    if "impossible position" in text or "> file size" in text:
        why = f"{log} is longer here than there: it has lost transactions, or was reset:"
    elif resumed:
        # On the server, the start of our last transaction is inside an event, or is unreadable.
        why = f"{log} is another one there than here, as after a reset, or damaged there:"
    else:
        return error
    return RefusedError(f"{error.message}; {why} begin again with --new-chain", path=error.path)
