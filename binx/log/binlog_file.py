"""An open binary log file: its format, and what a scan or an index of it yields."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from binx.errors import BinxError, DamagedError, EncryptedError, NotABinlogError, UnsupportedError
from binx.event.format import (
    MAGIC_SIZE,
    Flavour,
    FormatDescription,
    Magic,
    parse_format,
    read_magic,
    verify_format_checksum,
)
from binx.event.header import HEADER_SIZE, EventFlag, EventType, event_size, parse_header
from binx.kernels.transactions.table import TransactionTable
from binx.kernels.walk.scan import Level
from binx.log.scanning import Ending, Resumption, Totals
from binx.log.succession import IndexEntry, LogFacts
from binx.source import READ_BYTES, PlainFile, Source, open_source
from binx.source.byte_source import BorrowedHead
from binx.source.foreign import HEAD_SIZE
from binx.source.log_names import is_beside_dump, number_of
from binx.source.remote import is_uri

if TYPE_CHECKING:
    from binx.source.keyring import ReplicationKeys

FORMAT_FROM = "BINX_FORMAT_FROM"
"""Environment variable: a log whose first event replaces a damaged one."""

_TYPE_OFFSET = 4


class BinlogFile:
    """A binary log or relay log of MySQL or MariaDB.

    Use it as a context manager; it keeps the file open.
    """

    def __init__(self, source: Source) -> None:
        """Read the file's first event."""
        self.source = source
        self.is_plain = isinstance(source, PlainFile)
        """Whether its bytes are read from a local file as they are, also while that is watched."""
        self.own_size = source.size
        """Size of the file itself, even if its last transaction continues in the next relay logs."""
        self.resumption: Resumption | None = None
        self.listed: IndexEntry | None = None
        """Its entry in a server's index, if it was named by one."""
        self.copies: list[str] = []
        """Logs that are left out, as they are copies of this one or of its beginning."""
        self.successor: LogFacts | None = None
        """What the next log of its chain says of itself, if they were ordered together."""
        self.head_error: BinxError | None = None
        """The error of the first event, if that of another log replaces it."""
        self.find_index: Callable[[], StoredScan | None] | None = None
        """Opens the file's index if there is a valid one; set if index files may be used."""
        self.keys: ReplicationKeys | None = None
        """The keys that it was opened with, for its index; None for those in the environment."""
        try:
            if read_magic(source.window(0, HEAD_SIZE)) is Magic.ENCRYPTED:
                raise EncryptedError("the log is still encrypted after decryption")
            head = source.window(MAGIC_SIZE, MAGIC_SIZE + READ_BYTES)
            self.format: FormatDescription = parse_format(head, MAGIC_SIZE, origin=MAGIC_SIZE)
            self.first_position: int = MAGIC_SIZE + parse_header(head, MAGIC_SIZE, origin=MAGIC_SIZE).size
            self._refuse_encryption(head)
            if not self.format.header_timestamp:
                # A Galera node that sends its state to another one begins a log without a time.
                begun = _first_time(head[self.first_position - MAGIC_SIZE :])
                self.format = self.format._replace(header_timestamp=begun)
        except BinxError as error:
            raise error.at(path=source.path) from error.__cause__

    def _refuse_encryption(self, head: memoryview) -> None:
        """Refuse a file whose rest MariaDB or Percona Server encrypted; it would look like garbage."""
        following = head[self.first_position - MAGIC_SIZE :]
        if len(following) < HEADER_SIZE:
            return
        number = following[_TYPE_OFFSET]
        if number in (EventType.PERCONA_START_ENCRYPTION, EventType.MARIADB_START_ENCRYPTION):
            maria = self.format.flavour is Flavour.MARIADB
            server, reader = ("MariaDB", "mariadb-binlog") if maria else ("Percona Server", "mysqlbinlog")
            raise EncryptedError(
                f"the rest of the file is encrypted by {server} (encrypt_binlog=ON), which binx does"
                f" not support; let the server decrypt it: {reader} --read-from-remote-server",
                offset=self.first_position,
                event="START_ENCRYPTION",
            )

    @classmethod
    def open(cls, path: str, keys: ReplicationKeys | None = None) -> Self:
        """Open a file by its path; ``-`` is standard input.

        Args:
            keys: for encrypted logs; None uses those in the environment.
        """
        source = _opened(path, keys)
        neighbour = os.environ.get(FORMAT_FROM)
        try:
            file = cls(source)
            if neighbour:
                verify_format_checksum(source.window(MAGIC_SIZE, file.first_position), file.format)
        except (NotABinlogError, DamagedError) as error:
            if not neighbour or source.size <= MAGIC_SIZE:
                source.close()
                raise
            file = cls.inside(BorrowedHead(source, _head_of(neighbour, keys)))
            file.head_error = error
        except BinxError:
            source.close()
            raise
        file.keys = keys
        return file

    @classmethod
    def inside(cls, source: Source) -> Self:
        """Open the log in an open source; if it is not a log, the source is closed."""
        try:
            return cls(source)
        except BinxError:
            source.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and its index."""
        index: StoredScan | None = self.__dict__.get("index")
        if index is not None:
            index.close()
        self.source.close()

    @cached_property
    def index(self) -> StoredScan | None:
        """The file's index, opened on first use; None if indexes are off or none is valid."""
        return None if self.find_index is None else self.find_index()

    @property
    def path(self) -> str:
        """The path as the user gave it."""
        return self.source.path

    @property
    def name(self) -> str:
        """The binary log's name, such as ``mysql-bin.000042``."""
        return self.source.name

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.source.size

    @property
    def is_relay_log(self) -> bool:
        """Whether a replica wrote it from the events it received."""
        head = self.source.window(MAGIC_SIZE, MAGIC_SIZE + HEADER_SIZE)
        return bool(parse_header(head, 0).flags & EventFlag.RELAY_LOG)

    @property
    def file_number(self) -> int:
        """The numeric suffix of the name, which orders the files of a chain; 0 without one."""
        return number_of(self.name)

    @property
    def identity(self) -> str:
        """Eight hex digits that distinguish files of the same name from different servers or starts."""
        return self.format.identity()

    def commit_version(self, start: int) -> int:
        """The SCN of the transaction that begins at ``start``: file number << 32 | start.

        Raises:
            UnsupportedError: the offset does not fit 32 bits; no server writes such a file.
        """
        if start >> 32:
            raise UnsupportedError(
                "a transaction begins after the first 4 GiB, which a commit version cannot represent;"
                " servers start a new file after at most 1 GiB and one transaction",
                path=self.path,
                offset=start,
            )
        return self.file_number << 32 | start

    def events_window(self, position: int, stop: int) -> memoryview:
        """Return bytes from an event on: many events, or one whole larger event; none after ``stop``.

        For a compressed payload larger than the read buffer, only the first bytes: see
        :mod:`binx.log.transaction_events`.
        """
        window = self.source.window(position, min(stop, position + READ_BYTES))
        if len(window) == READ_BYTES:
            size = event_size(window)
            if size > READ_BYTES and window[_TYPE_OFFSET] != EventType.TRANSACTION_PAYLOAD:
                del window
                return self.source.window(position, min(stop, position + size))
        return window


class TransactionScan(Protocol):
    """Yields a file's transactions, in tables: a scan, or the file's index.

    Attributes:
        file: the file.
        level: how much is known of the transactions.
        ending: how the file ends; known after the iteration.
        unfinished: bytes after the last whole transaction.
    """

    file: BinlogFile
    level: Level
    ending: Ending | None
    unfinished: int

    def __iter__(self) -> Iterator[TransactionTable]:
        """Yield tables of transactions, in the file's order."""
        ...

    @property
    def position(self) -> int:
        """Offset in the log that the iteration has reached."""
        ...

    @property
    def accounted(self) -> int:
        """Offset after the last whole transaction, or after the last event between transactions."""
        ...

    @property
    def table_count(self) -> int:
        """Number of tables that the log changes."""
        ...

    def totals(self) -> Totals:
        """Events and bytes by type."""
        ...

    def table_name(self, number: int) -> tuple[str, str]:
        """Return database and table of a table number in the table counts."""
        ...

    def table_maps(self) -> Iterator[tuple[int, bytes]]:
        """Yield each distinct table map: its table's number, its bytes after table id and flags."""
        ...

    @property
    def unmapped_events(self) -> int:
        """Rows events without a table map, up to here; see :func:`binx.event.rows_events.unmapped_rows`."""
        ...

    def uncounted_tables(self) -> list[tuple[str, str]]:
        """Return the tables whose rows are not counted because a column's type is unknown."""
        ...


class StoredScan(TransactionScan, Protocol):
    """Transactions in a file of their own, which stays open."""

    def close(self) -> None:
        """Close it."""
        ...


def _first_time(events: memoryview) -> int:
    """Return the first timestamp of events that is not 0; 0 if there is none."""
    while len(events) >= HEADER_SIZE:
        if time := int.from_bytes(events[:_TYPE_OFFSET], "little"):
            return time
        events = events[max(event_size(events), HEADER_SIZE) :]
    return 0


def _opened(path: str, keys: ReplicationKeys | None) -> Source:
    """Open a log with all its parts, if it is one of MySQL Shell's dumps."""
    source = open_source(path, keys)
    if path == "-" or not (is_uri(path) or is_beside_dump(path)):
        return source
    from binx.log.shell_dump import continued

    return continued(source, path, open_source)


def _head_of(path: str, keys: ReplicationKeys | None) -> bytes:
    """Return the magic and the first event of a log."""
    with BinlogFile.inside(open_source(path, keys)) as file:
        return bytes(file.source.window(0, file.first_position))


def open_files(paths: list[str], keys: ReplicationKeys | None = None) -> list[BinlogFile]:
    """Open several files; if one cannot be opened, all are closed."""
    files: list[BinlogFile] = []
    try:
        for path in paths:
            files.append(BinlogFile.open(path, keys))
            report_step(
                path, f"opened, {files[-1].size:,} bytes, written by {files[-1].format.server_version}"
            )
    except BinxError:
        for file in files:
            file.close()
        raise
    return files


_listeners: list[Callable[[str], None]] = []


def set_step_listener(listener: Callable[[str], None] | None) -> None:
    """Set the listener for progress steps; None for nobody."""
    _listeners[:] = [] if listener is None else [listener]


def report_step(path: str, step: str) -> None:
    """Report a step."""
    for listener in _listeners:
        listener(f"{path}: {step}")
