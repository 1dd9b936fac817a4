"""Index files: what a scan of a log has found, kept beside it, and used only while it is true of the log.

``mysql-bin.000042.binx`` stands beside ``mysql-bin.000042``, or with the identity of the log in its name in a
folder of index files. It is believed where the log's size, its first event and its last 64 KiB are those that
it was made of; everything else is an error, whose message says what is wrong, and the log is read instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from binx.errors import BinxError, DamagedError, SourceError, StaleError
from binx.event.format import FormatDescription, parse_format
from binx.kernels.bloom import holds
from binx.kernels.crc32 import checksum
from binx.kernels.stored import StoredTables
from binx.kernels.transactions import TransactionTable
from binx.log.index_use import unused
from binx.log.scanning import decoded_name
from binx.log.sidecar_directory import decode_directory
from binx.log.sidecar_layout import (
    FOOTER_END_SIZE,
    TAIL_SIZE,
    Block,
    Directory,
    LogFacts,
    decode_tail,
    tail_offset,
)
from binx.source import PlainFile, Source
from binx.source.opening import decrypted
from binx.source.remote import RemoteFile, is_uri

if TYPE_CHECKING:
    from binx.log.file import BinlogFile

TAIL_BYTES = 64 * 1024
"""How much of a log's end its index file knows by a hash."""


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
        head=checksum(file.source.window(0, file.first_position)),
        tail_bytes=tail_bytes,
        tail=checksum(file.source.window(file.size - tail_bytes, file.size)),
    )


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
        found = cls.find(path, file, warn)
        if found is None:
            raise SourceError("cannot be opened: there is no such file", path=path)
        return found

    @classmethod
    def find(
        cls, path: str, file: BinlogFile, warn: Callable[[BinxError], None] | None = None
    ) -> Sidecar | None:
        """The same for an index file that need not be there; None where it is not.

        Raises:
            SourceError, DamagedError, StaleError: as :meth:`open`.
        """
        stored = RemoteFile.find(path) if is_uri(path) else PlainFile.open(path)
        if stored is None:
            return None
        source = decrypted(stored, file.keys)
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
                self._warn(unused(error, self.path))
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

    def may_contain(self, block: Block, db: str, table: str, key: Mapping[str, object]) -> bool:
        """Whether a block may have changed a row of a key: inserted, updated or deleted it, as rows.

        Of a key that it does not have it says so in one of 120 cases. What statements as text did is not
        known.

        Args:
            block: one of the directory's.
            db: the database.
            table: the table.
            key: the values of the primary key's columns, by name, as the row decoder gives them.

        Returns:
            False where it certainly has not; True also where there is no filter of the key.

        Raises:
            DamagedError: the filter's bytes are not those that were written.
        """
        number = self._number_of(db, table)
        if number is None or all(one != number for one, *_ in block.tables):
            return False
        columns = (self.directory.keys or {}).get(number, ())
        found = next((one for one in block.keys if one.table == number), None)
        if found is None or not columns or set(columns) != set(key):
            return True
        from binx.log.key_texts import key_texts

        texts = key_texts([key[column] for column in columns])
        if texts is None:
            return True
        return holds(self.read(found.offset, found.size, found.crc), found.hashes, texts)

    def _number_of(self, db: str, table: str) -> int | None:
        """A table's number; None where the log has no row of it."""
        for number, names in enumerate(self.directory.tables):
            if decoded_name(names) == (db, table):
                return number
        return None

    def read(self, offset: int, size: int, crc: int) -> memoryview:
        """Some bytes whose CRC32 is known.

        Raises:
            DamagedError: they are others.
        """
        data = self._source.window(offset, offset + size)
        if len(data) != size or checksum(data) != crc:
            raise DamagedError("the checksum is wrong", path=self.path, offset=offset)
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
        raise DamagedError("the checksum of the directory is wrong")
    return decode_directory(data)


def _compare(facts: LogFacts, file: BinlogFile) -> None:
    """Refuse what was made of another log."""
    if facts.size != file.size:
        raise StaleError(
            f"it was made when the log had {facts.size:,} bytes; the log now has {file.size:,}; update"
            " it with binx index"
        )
    if facts != log_facts(file, facts.covered, facts.ending):
        raise StaleError("it was made from another log of that name; update it with binx index")


def _formats(directory: Directory, file: BinlogFile) -> tuple[FormatDescription, ...]:
    """The format descriptions that rule the blocks; each is where the index says, or that is not true."""
    formats = []
    for position in directory.formats:
        if position == file.format.position:
            formats.append(file.format)
            continue
        if not 0 < position < file.size:
            raise DamagedError("the format description is not where the index file says")
        formats.append(parse_format(file.events_window(position, file.size), position, origin=position))
    return tuple(formats)


__all__ = ["Sidecar", "log_facts"]
