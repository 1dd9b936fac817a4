"""One binary log file, opened: its format, and scans over its transactions."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

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
from binx.kernels.walk.scan import Level
from binx.log.scan import Resumption, Scan
from binx.log.scanning import OnDamage
from binx.source import READ_BYTES, PlainFile, Source, open_source
from binx.source.base import BorrowedHead
from binx.source.names import number_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from binx.log.chain.ends import FileEnds
    from binx.log.index.file import IndexFile
    from binx.log.scanning import TransactionScan
    from binx.source.keyring import Keys

FORMAT_FROM = "BINX_FORMAT_FROM"
"""Names a log whose first event stands in for a damaged one."""

_TYPE_OFFSET = 4


class Listed(NamedTuple):
    """A place in a server's index."""

    index_path: str
    place: int


class BinlogFile:
    """A binary log or relay log of MySQL or MariaDB.

    Use it as a context manager; it holds the file open and mapped.
    """

    def __init__(self, source: Source) -> None:
        """Read the file's first event."""
        self.source = source
        self.own_size = source.size
        """Bytes of the file itself, also where its last transaction goes on in the next relay logs."""
        self.resumption: Resumption | None = None
        self.listed: Listed | None = None
        """Where in a server's index it stands, if it was named by that."""
        self.followed_by: FileEnds | None = None
        """The next log of its chain, if it was ordered together with that."""
        self.head_error: BinxError | None = None
        """What is wrong with the first event, where that of another log stands in for it."""
        self.find_index: Callable[[], IndexFile | None] | None = None
        """Opens the file's index where that is there and true; set where index files may be used."""
        self._is_plain = isinstance(source, PlainFile)
        self.keys: Keys | None = None
        """The keys that it was opened with, for its index; None for those that the environment names."""
        try:
            if read_magic(source.window(0, MAGIC_SIZE)) is Magic.ENCRYPTED:
                raise EncryptedError("the log is still encrypted after decryption")
            head = source.window(MAGIC_SIZE, MAGIC_SIZE + READ_BYTES)
            self.format: FormatDescription = parse_format(head, MAGIC_SIZE, origin=MAGIC_SIZE)
            self.first_position: int = MAGIC_SIZE + parse_header(head, MAGIC_SIZE, origin=MAGIC_SIZE).size
            self._refuse_encryption(head)
        except BinxError as error:
            raise error.at(path=source.path) from error.__cause__

    def _refuse_encryption(self, head: memoryview) -> None:
        """Tell what the rest of a file is that MariaDB or Percona Server encrypted: it looks like garbage."""
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
    def open(cls, path: str, keys: Keys | None = None) -> Self:
        """Open a file by its path; ``-`` is standard input.

        Args:
            keys: for encrypted logs; None: those that the environment names.
        """
        source = open_source(path, keys)
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
        """The log in a source that is open already; where it is none, the source is closed."""
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
        """Give the file back, and its index."""
        index: IndexFile | None = self.__dict__.get("index")
        if index is not None:
            index.close()
        self.source.close()

    @cached_property
    def index(self) -> IndexFile | None:
        """The file's index, opened when first asked for; None where none may be used, or none is true."""
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
        """Bytes."""
        return self.source.size

    @property
    def is_relay_log(self) -> bool:
        """Whether a replica wrote it from what it received."""
        head = self.source.window(MAGIC_SIZE, MAGIC_SIZE + HEADER_SIZE)
        return bool(parse_header(head, 0).flags & EventFlag.RELAY_LOG)

    @property
    def file_number(self) -> int:
        """The numeric suffix of the name, which orders the files of a chain; 0 where there is none."""
        return number_of(self.name)

    @property
    def identity(self) -> str:
        """Eight hex digits that tell apart files of the same name from different servers or starts."""
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
        """Bytes from an event on: of many events, or of all of one that is larger; none behind ``stop``.

        Of a compressed payload that is larger than what is read at once they are the first: see
        :mod:`binx.log.events`.
        """
        window = self.source.window(position, min(stop, position + READ_BYTES))
        if len(window) == READ_BYTES:
            size = event_size(window)
            if size > READ_BYTES and window[_TYPE_OFFSET] != EventType.TRANSACTION_PAYLOAD:
                del window
                return self.source.window(position, min(stop, position + size))
        return window

    def scan(
        self,
        level: Level = Level.LEVEL_INDEX,
        *,
        verify: bool = True,
        on_damage: OnDamage = OnDamage.STOP,
        gtids: dict[bytes, bytes] | None = None,
    ) -> Scan:
        """Find the transactions; see :class:`~binx.log.scan.Scan`."""
        return Scan(self, level, verify=verify, on_damage=on_damage, gtids=gtids)

    def transactions(
        self,
        level: Level = Level.LEVEL_INDEX,
        *,
        verify: bool = True,
        gtids: dict[bytes, bytes] | None = None,
    ) -> TransactionScan:
        """Find the transactions by the shortest way: the file's index where it has one, else a scan.

        A plain file is searched for GTIDs faster than its index is read.

        Args:
            level: how much must be known of them; an index knows all.
            gtids: a scan may leave out what has none of these, see :class:`~binx.log.scan.Scan`.
        """
        is_faster = self._is_plain and gtids is not None
        if not is_faster and self.index is not None:
            return self.index
        return self.scan(level, verify=verify, gtids=gtids)


def _head_of(path: str, keys: Keys | None) -> bytes:
    """The magic and the first event of a log."""
    with BinlogFile.inside(open_source(path, keys)) as file:
        return bytes(file.source.window(0, file.first_position))


def open_files(paths: list[str], keys: Keys | None = None) -> list[BinlogFile]:
    """Open several files; where one cannot be opened, none stays open."""
    files: list[BinlogFile] = []
    try:
        for path in paths:
            files.append(BinlogFile.open(path, keys))
            tell(path, f"opened, {files[-1].size:,} bytes, written by {files[-1].format.server_version}")
    except BinxError:
        for file in files:
            file.close()
        raise
    return files


_listeners: list[Callable[[str], None]] = []


def listen(listener: Callable[[str], None] | None) -> None:
    """Set who is told of the steps from now on; None for nobody."""
    _listeners[:] = [] if listener is None else [listener]


def tell(path: str, step: str) -> None:
    """Tell of a step."""
    for listener in _listeners:
        listener(f"{path}: {step}")
