"""A pull from its beginning to its end: whose logs, from where, and on again behind whatever breaks it."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
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
from binx.pull.login import Login
from binx.pull.mirror import DiskFullError, Tail, read_tail
from binx.pull.server import LogPlace, Server
from binx.pull.state import LOCK, Chain, PullState, now_text, read_state
from binx.pull.transfer import SILENT_PERIODS, Progress, Transfer, first_log
from binx.source.names import number_of
from binx.storage.output import output_errors
from binx.storage.store import hold_lock

_SHORTEST_SILENCE = 1.0
_FIRST_DELAY, _LONGEST_DELAY = 0.2, 30.0
_SAME_DAMAGE = 3
"""So often the same event must arrive damaged until it is believed that the server has it so."""

_TRIES = 8
"""So often in a row a pull that is to end tries to connect again."""

_STATUS_SECONDS = 1.0
_LAG_SECONDS = 10.0
_FATAL_DUMP = 1236
_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class PullRequest:
    """What is asked of a pull.

    Attributes:
        folder: where the logs go.
        log: the log that a new chain begins with; None: the server's oldest, or the one that ``gtids`` says.
        gtids: transactions that need not be pulled: a new chain begins with the first that is none of these.
        continues: these are the ones that the chain before has.
        new_chain: whether a chain is to begin, though there is one already.
        follow: whether to wait for what the server will write; else it ends where the server is now.
        semi_sync: whether the server waits for acknowledgements.
        interval: whether files are brought to the disk once a second only, not with each transaction.
        server_id: what the server knows the pull by; None: a number made of the machine and the folder.
        heartbeat: seconds after which a server that has nothing to send shows that it is there.
        archive: an archive that takes the closed logs.
        parquet: a data set that takes their row changes.
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
        """Raise UsageError where it contradicts itself."""
        if self.interval and self.semi_sync:
            raise UsageError("--semi-sync needs each transaction on the disk; leave out --sync interval")
        if self.parquet is not None and self.archive is None:
            raise UsageError("--parquet requires --archive, which Parquet is made from")


class _Archiving:
    """Runs of ``binx archive`` in a process of its own, never two at once.

    So the server gets its acknowledgements, whatever archiving takes of time or memory.
    """

    def __init__(self, request: PullRequest, tell: Callable[[str], None]) -> None:
        # In the standalone folder the program is binx itself.
        program = [sys.executable] if getattr(sys, "frozen", False) else [sys.executable, "-m", "binx"]
        self._command = [*program, "archive", "--quiet", "--to", str(request.archive)]
        self._command += [] if request.parquet is None else ["--parquet", request.parquet]
        self._tell = tell
        self._folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._seen = 0
        self.failures = 0

    def start(self, folder: Path) -> None:
        """Archive the logs in a folder from now on, once those of another folder are archived."""
        if folder != self._folder:
            if self._folder is not None:
                self.finish()
            self._folder = folder
            self._begin()

    def tend(self, closed: int) -> None:
        """Begin a run where logs were closed since the last one."""
        if self._process is not None and self._process.poll() is not None:
            self._join()
        if self._process is None and closed > self._seen:
            self._seen = closed
            self._begin()

    def finish(self) -> None:
        """Archive what is left, and wait for that."""
        self._join()
        self._begin()
        self._join()

    def terminate(self) -> None:
        """End a run that is under way; the next one goes on where it was."""
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
    """A pull.

    Attributes:
        tell: is told of what happens, a sentence at a time.
        show: is called about twice a second while the server is followed.
        stop: ends the pull behind a transaction when it is set.
        progress: how far it has come.
        lag_bytes: how many bytes of the server's logs are not here; None where that is not known.
        lag_seconds: since the last transaction here was committed; 0 where nothing is missing.
    """

    request: PullRequest
    tell: Callable[[str], None]
    show: Callable[[Pull], None] = lambda pull: None
    stop: Event = field(default_factory=Event)
    progress: Progress = field(default_factory=Progress)
    lag_bytes: int | None = None
    lag_seconds: float | None = None
    _state: PullState = field(default_factory=PullState)
    _until: LogPlace | None = None
    _control: Server | None = None
    _archiving: _Archiving | None = None
    _connected: bool = False
    _damage: tuple[str, int] = ("", 0)
    _asked: float = 0.0
    _told: float = 0.0
    _begun: float = field(default_factory=monotonic)

    def run(self) -> bool:
        """Pull until the end that was asked for, or until stopped; whether all went well.

        Raises:
            RefusedError: its logs do not continue what is here.
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
        """Connect, and again where the connection ends."""
        failures = 0
        while not self.stop.is_set():
            before = self.progress.place
            try:
                self._transfer()
                return
            except (ConnectionLostError, DamagedError, DiskFullError) as error:
                failures = 0 if self.progress.place > before else failures + 1
                if not self._goes_on(error, failures):
                    raise
                delay = min(_FIRST_DELAY * 2**failures, _LONGEST_DELAY) * random.uniform(0.5, 1)
                self.tell(f"{error}; trying again in {delay:.1f} s")
                self._note_status(str(error))
                self.progress.lost += 1
                self.stop.wait(delay)
            finally:
                if self._control is not None:
                    self._control.close()
                    self._control = None

    def _goes_on(self, error: BinxError, failures: int) -> bool:
        """Whether to try again after an error."""
        if not self._connected:
            return False
        if isinstance(error, DamagedError):
            place = f"{error.path} {error.offset}"
            self._damage = place, self._damage[1] + 1 if self._damage[0] == place else 1
            return self._damage[1] < _SAME_DAMAGE
        return self.request.follow or (failures < _TRIES and not isinstance(error, DiskFullError))

    def _transfer(self) -> None:
        """Connect once, and take what the server sends."""
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
        if not self._connected:
            place = f"the beginning of {chain.first}" if tail is None else f"{tail.log}, position {tail.end}"
            tls = ", TLS" if control.is_encrypted else ""
            server = f"{control.facts.flavour.value} {control.facts.version}"
            self.tell(f"{control.name}: {server}{tls}, from {place}")
        self._connected = True
        log, position = chain.first, MAGIC_SIZE
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
                    chain.first,
                    self._until,
                    progress,
                    silence=max(request.heartbeat * SILENT_PERIODS, _SHORTEST_SILENCE),
                    semi_sync=request.semi_sync,
                    interval=request.interval,
                    is_stopped=self.stop.is_set,
                    tick=self._tick,
                )
                transfer.run()
            except ServerError as error:
                resumed = tail is not None and not (transfer is not None and transfer.has_compared)
                raise explained(error, log, resumed=resumed) from error.__cause__

    def _chain_of(self, server: Server) -> tuple[Chain, Tail | None]:
        """The chain that is pulled, and its newest log; a new one where one is wanted."""
        request, chains = self.request, self._state.chains
        if chains and (self._connected or not request.new_chain):
            chain = chains[-1]
            if chain.is_of(server.facts):
                try:
                    return chain, read_tail(request.folder / chain.folder)
                except DamagedError as error:
                    raise RefusedError(
                        f"{error.message}; a log that was pulled is damaged now: remove it and those behind"
                        " it, and they are pulled again",
                        path=error.path,
                        offset=error.offset,
                    ) from error
            if not request.continues:
                raise chain.refuse(server.facts, server.name)
        chain = Chain.of(server.facts, len(chains), self._first_log(server))
        with output_errors(request.folder):
            (request.folder / chain.folder).mkdir(exist_ok=True)
        chains.append(chain)
        self._state.write(request.folder)
        return chain, read_tail(request.folder / chain.folder)

    def _first_log(self, server: Server) -> str:
        """The log that a new chain begins with."""
        request, names = self.request, [name for name, _ in server.logs()]
        gtids = request.gtids
        if request.continues and self._state.chains:
            tail = read_tail(request.folder / self._state.chains[-1].folder)
            gtids = GtidSet() if tail is None else tail.gtids
        if gtids:
            with closing(Server(request.login)) as asked:
                try:
                    asked.register(self._server_id, request.heartbeat, semi_sync=False)
                    asked.dump_behind(gtids, self._server_id)
                    return first_log(asked, _LONGEST_DELAY)
                except ServerError as error:
                    raise explained(error, "the GTIDs") from error.__cause__
        if request.log is not None and request.log not in names:
            raise AbsentError(
                f"expected the log {request.log}, found {names[0]} to {names[-1]}", path=server.name
            )
        return request.log or names[0]

    @property
    def _server_id(self) -> int:
        """What the server knows this pull by: another number for each machine and folder."""
        if self.request.server_id is not None:
            return self.request.server_id
        name = f"{socket.gethostname()}:{self.request.folder.resolve()}".encode("utf-8", "surrogateescape")
        return 1 << 31 | crc32(name) >> 1

    def _tick(self) -> None:
        """What is done now and then."""
        now = monotonic()
        if self._archiving is not None:
            self._archiving.tend(self.progress.closed)
        if now - self._asked > _LAG_SECONDS:
            self._asked = now
            self._ask_lag()
        if now - self._told > _STATUS_SECONDS:
            self._told = now
            self._note_status(None)
        self.show(self)

    def _ask_lag(self) -> None:
        """Ask the server how far it is."""
        self.lag_bytes = self.lag_seconds = None
        if self._control is None:
            return
        with suppress(BinxError):
            here, last = number_of(self.progress.log), self.progress.last
            ahead = sum(size for name, size in self._control.logs() if number_of(name) >= here)
            self.lag_bytes = max(ahead - self.progress.position, 0)
            if not self.lag_bytes:
                self.lag_seconds = 0.0
            elif last is not None:
                self.lag_seconds = max(time() - last.committed / _MICROSECONDS, 0)

    def _note_status(self, error: str | None) -> None:
        """Write down how far the pull has come; that there is no room for it is no reason to end."""
        progress, last, told = self.progress, self.progress.last, self.progress.acknowledged
        status: dict[str, Any] = {
            "server": self.request.login.server,
            "log": progress.log,
            "position": progress.position,
            "gtid": None if last is None else last.gtid,
            "committed": None if last is None else last.committed,
            "lag_seconds": self.lag_seconds,
            "lag_bytes": self.lag_bytes,
            "received_bytes": progress.bytes,
            "seconds": round(monotonic() - self._begun, 1),
            "closed_logs": progress.closed,
            "reconnects": progress.lost,
            "semi_sync": self.request.semi_sync,
            "acknowledged": None if told is None else {"log": told.log, "position": told.position},
            "archive_failures": 0 if self._archiving is None else self._archiving.failures,
            "updated": now_text(),
            "error": error,
        }
        self._state.status = status
        if self._state.chains:
            with suppress(OutputError):
                self._state.write(self.request.folder)


def explained(error: ServerError, log: str, *, resumed: bool = False) -> BinxError:
    """What a server's refusal of a dump means for a mirror.

    Args:
        log: the log that was asked for.
        resumed: whether it was asked for a transaction that is here, and has not sent it.
    """
    if error.number != _FATAL_DUMP:
        return error
    text = error.message.lower()
    if "could not find first log" in text or "purged" in text or "could not find gtid state" in text:
        return AbsentError(
            f"{error.message}; it does not have {log} any more: begin anew with --new-chain, and keep logs"
            " longer on the server",
            path=error.path,
        )
    if "impossible position" in text or "> file size" in text:
        why = f"{log} is longer here than there: it has lost transactions, or was reset:"
    elif resumed:
        # Where the last transaction begins here there is the middle of an event, or nothing that can be read.
        why = f"{log} is another one there than here, as after a reset, or damaged there:"
    else:
        return error
    return RefusedError(f"{error.message}; {why} begin anew with --new-chain", path=error.path)
