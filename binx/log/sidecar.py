"""Index files: what a scan of a log has found, kept beside it, and used only while it is true of the log.

``mysql-bin.000042.binx`` stands beside ``mysql-bin.000042``, or with the identity of the log in its name in a
folder of index files. It is believed where the log's size, its first event and its last 64 KiB are those that
it was made of; everything else is an error, whose message says what is wrong, and the log is read instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from binx.errors import BinxError, DamagedError, SourceError, StaleError
from binx.event.format import FormatDescription, parse_format
from binx.kernels.crc32 import checksum
from binx.kernels.stored import StoredTables
from binx.kernels.transactions import TransactionTable
from binx.log.sidecar_layout import (
    FOOTER_END_SIZE,
    TAIL_SIZE,
    Block,
    Directory,
    LogFacts,
    decode_directory,
    decode_tail,
    tail_offset,
)
from binx.source import Source, open_source

if TYPE_CHECKING:
    from binx.log.file import BinlogFile

SUFFIX = ".binx"
"""What an index file's name ends in."""

TAIL_BYTES = 64 * 1024
"""How much of a log's end its index file knows by a hash."""


@dataclass(frozen=True, slots=True)
class IndexUse:
    """Whether and where index files are looked for.

    Attributes:
        folder: a folder of index files; None for the logs' own folders.
        warn: told of an index file that is there and cannot be used.
    """

    folder: str | None = None
    warn: Callable[[BinxError], None] | None = None


def sidecar_path(file: BinlogFile, folder: str | None = None) -> str:
    """Where the index file of a log stands.

    Args:
        file: the log.
        folder: a folder of index files, where several logs of one name may have theirs; None for beside the
            log.
    """
    if folder is None:
        return str(Path(file.path).parent / f"{file.name}{SUFFIX}")
    return str(Path(folder) / f"{file.name}.{file.identity}{SUFFIX}")


def log_facts(file: BinlogFile, covered: int, ending: int) -> LogFacts:
    """What an index file says of its log.

    Raises:
        SourceError: the log cannot be read.
    """
    tail_bytes = min(file.size, TAIL_BYTES)
    return LogFacts(
        size=file.size,
        covered=covered,
        ending=ending,
        head=_digest(file.source, 0, file.first_position),
        tail_bytes=tail_bytes,
        tail=_digest(file.source, file.size - tail_bytes, file.size),
    )


def _digest(source: Source, start: int, stop: int) -> bytes:
    import hashlib

    return hashlib.sha256(source.window(start, stop)).digest()


class Sidecar:
    """An open index file that is true of its log.

    Attributes:
        path: where it is.
        directory: what it tells of the log.
        size: its bytes.
    """

    def __init__(
        self,
        source: Source,
        directory: Directory,
        formats: tuple[FormatDescription, ...],
        warn: Callable[[BinxError], None] | None = None,
    ) -> None:
        self.path = source.path
        self.directory = directory
        self.size = source.size
        self._source = source
        self._warn = warn
        self._formats = formats
        self._tables = StoredTables(list(directory.sources), len(directory.tables))

    @classmethod
    def open(cls, path: str, file: BinlogFile, warn: Callable[[BinxError], None] | None = None) -> Sidecar:
        """Open the index file of a log.

        Args:
            path: where the index file is.
            file: the log.
            warn: told of damage that is found later.

        Raises:
            SourceError: it is not there, or cannot be read.
            DamagedError: it is no whole index file.
            StaleError: it was made of another log, or of this one when it was not as it is now.
        """
        source = open_source(path)
        try:
            return cls.read_from(source, file, warn)
        except BinxError:
            source.close()
            raise

    @classmethod
    def read_from(
        cls, source: Source, file: BinlogFile, warn: Callable[[BinxError], None] | None = None
    ) -> Sidecar:
        """The same for an index file whose bytes are open already."""
        try:
            directory = _read_directory(source)
            _compare(directory.log, file)
            return cls(source, directory, _formats(directory, file), warn)
        except BinxError as error:
            raise error.at(path=source.path) from error.__cause__

    @property
    def transactions(self) -> int:
        """How many the log has."""
        return sum(block.records for block in self.directory.blocks)

    def holds(self, blocks: Iterable[Block]) -> bool:
        """Whether blocks are as they were written; damage is told to whoever listens."""
        try:
            for block in blocks:
                self.read(block.offset, block.size, block.crc)
        except BinxError as error:
            if self._warn is not None:
                self._warn(_as_told(error, self.path))
            return False
        return True

    def table(self, block: Block) -> TransactionTable:
        """The transactions of a block.

        Raises:
            DamagedError: its bytes are not those that were written.
        """
        data = self.read(block.offset, block.size, block.crc)
        try:
            table = self._tables.unpack(
                data, block.records, block.counts, block.start, block.end, block.offset
            )
        except DamagedError as error:
            raise error.at(path=self.path) from None
        table.format = self._formats[block.format]
        return table

    def read(self, offset: int, size: int, crc: int) -> memoryview:
        """Some bytes whose CRC32 is known.

        Raises:
            DamagedError: they are others.
        """
        data = self._source.window(offset, offset + size)
        if len(data) != size or checksum(data) != crc:
            raise DamagedError("the checksum is not that of the bytes", path=self.path, offset=offset)
        return data

    def close(self) -> None:
        """Give the file back."""
        self._source.close()


def _read_directory(source: Source) -> Directory:
    end = source.window(max(source.size - FOOTER_END_SIZE, 0), source.size)
    place = tail_offset(bytes(end), source.size)
    offset, size, crc = decode_tail(bytes(source.window(place, place + TAIL_SIZE)))
    data = bytes(source.window(offset, offset + size))
    if len(data) != size or checksum(data) != crc:
        raise DamagedError("the checksum of the directory is not that of its bytes")
    return decode_directory(data)


def _compare(facts: LogFacts, file: BinlogFile) -> None:
    """Refuse what was made of another log."""
    if facts.size != file.size:
        raise StaleError(
            f"it was made when the log had {facts.size:,} bytes, and it has {file.size:,} now;"
            " make it anew with binx index"
        )
    if facts != log_facts(file, facts.covered, facts.ending):
        raise StaleError("it was made of another log of that name; make it anew with binx index")


def _formats(directory: Directory, file: BinlogFile) -> tuple[FormatDescription, ...]:
    """The format descriptions that rule the blocks; each is where the index says, or that is not true."""
    formats = []
    for position in directory.formats:
        if position == file.format.position:
            formats.append(file.format)
            continue
        if not 0 < position < file.size:
            raise DamagedError("expected the place of a format description in the log, found another")
        formats.append(parse_format(file.events_window(position, file.size), position, origin=position))
    return tuple(formats)


class SidecarState(Enum):
    """What can be said of a log's index file."""

    TRUE = "true"
    """It is whole, and true of the log."""
    ABSENT = "absent"
    STALE = "stale"
    """It was made of another log, or of this one when it was not as it is now."""
    DAMAGED = "damaged"
    """It cannot be read, or its bytes are not those that were written."""


def examine_sidecar(file: BinlogFile, path: str) -> tuple[SidecarState, str | None]:
    """What state a log's index file is in, and why it cannot be used; all of its section is read.

    Args:
        file: the log.
        path: where its index file would be.
    """
    if not Path(path).exists():
        return SidecarState.ABSENT, None
    try:
        sidecar = Sidecar.open(path, file)
        try:
            for block in sidecar.directory.blocks:
                sidecar.table(block)
        finally:
            sidecar.close()
    except StaleError as error:
        return SidecarState.STALE, error.message
    except BinxError as error:
        return SidecarState.DAMAGED, error.message
    return SidecarState.TRUE, None


def attach_sidecars(files: Iterable[BinlogFile], use: IndexUse) -> None:
    """Open the index files of logs, where there are any that are true.

    What cannot be used is told, and left aside. Logs from standard input have none.
    """
    for file in files:
        path = sidecar_path(file, use.folder)
        if file.path == "-" or not Path(path).exists():
            continue
        try:
            file.sidecar = Sidecar.open(path, file, use.warn)
        except (BinxError, MemoryError) as error:
            if use.warn is not None:
                use.warn(_as_told(error, path))


def _as_told(error: BinxError | MemoryError, path: str) -> BinxError:
    reason = error.message if isinstance(error, BinxError) else "the memory does not suffice for it"
    return SourceError(f"the index file is not used: {reason}", path=path)


__all__ = [
    "SUFFIX",
    "IndexUse",
    "Sidecar",
    "SidecarState",
    "attach_sidecars",
    "examine_sidecar",
    "log_facts",
    "sidecar_path",
]
