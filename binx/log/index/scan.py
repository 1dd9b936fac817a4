"""A log out of its index file, given as a scan of the log gives it.

What an index file says of its log as a whole stands as JSON in the Parquet file's metadata.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from binx.errors import DamagedError, UnsupportedError
from binx.kernels.crc32 import checksum
from binx.kernels.rows.layouts import unknown_column
from binx.kernels.transactions.table import TransactionTable
from binx.kernels.walk.scan import Level
from binx.log.scanning import ENDINGS, Ending, Totals, decoded_name

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from binx.log.file import BinlogFile
    from binx.log.index.file import IndexFile


class IndexScan:
    """What a scan at ``LEVEL_TABLES`` has found, out of an index file that is true of the log.

    Args:
        file: the log.
        index: its index file.

    Attributes:
        file: the log.
        level: ``LEVEL_TABLES``, which is what index files hold.
        ending: how the log ends.
        unfinished: bytes behind the last whole transaction.
        position: how far the iteration has come in the log.
    """

    def __init__(self, file: BinlogFile, index: IndexFile) -> None:
        self.file = file
        self.level = Level.LEVEL_TABLES
        self.position = file.first_position
        self._index = index
        self._facts = index.facts
        self.ending: Ending | None = ENDINGS[self._facts.ending]
        self.unfinished = self._facts.size - self._facts.covered

    @property
    def accounted(self) -> int:
        """Offset behind the last whole transaction, or the last event between transactions."""
        return self._facts.covered

    @property
    def control_events(self) -> list[tuple[int, int, int]]:
        """Type, position and size of the events about the file itself; not FORMAT_DESCRIPTION."""
        return list(self._facts.controls)

    def totals(self) -> Totals:
        """Events and bytes by type, of the whole log."""
        totals = self._facts.totals
        return Totals(
            {number: events for number, events, _, _ in totals if events},
            {number: size for number, events, size, _ in totals if events},
            {number: inner for number, _, _, inner in totals if inner},
        )

    def table_name(self, number: int) -> tuple[str, str]:
        """Database and table of a table number that the tables' counts speak of."""
        return decoded_name(self._facts.tables[number])

    @property
    def table_count(self) -> int:
        """How many tables the log changes."""
        return len(self._facts.tables)

    def uncounted_tables(self) -> list[tuple[str, str]]:
        """As :class:`~binx.log.scanning.TransactionScan` says."""
        maps = self._facts.maps
        numbers = dict.fromkeys(number for number, body in maps if number >= 0 and _has_unknown(body))
        return [self.table_name(number) for number in numbers]

    def table_maps(self) -> Iterator[tuple[int, bytes]]:
        """Each distinct table map of the log: its table's number, its bytes behind table id and flags."""
        return iter(self._facts.maps)

    def __iter__(self) -> Iterator[TransactionTable]:
        """Yield tables of transactions, in the log's order.

        Raises:
            DamagedError: the index file was changed by someone who knows its checksums.
        """
        for table in self._index.tables():
            self._reach(table.value("end", len(table) - 1))
            yield table
        self._reach(self.file.size)

    def _reach(self, position: int) -> None:
        """Tell whoever watches the log's source how far the work has come."""
        self.file.source.release(self.position, position)
        self.position = position


def _has_unknown(body: bytes) -> bool:
    """Whether a column of a table map has a type that binx does not know."""
    try:
        return unknown_column(body) is not None
    except (DamagedError, UnsupportedError):
        return False  # Its rows could be counted.


VERSION = 1
"""Of this layout."""

TAIL_BYTES = 64 * 1024
"""How much of a log's end its index file knows by a checksum."""

_BYTES = "latin-1"
"""Names as logged are bytes in any character set: as text of JSON, one character each."""


class RowGroup(NamedTuple):
    """Transactions that follow each other and are ruled by one format description.

    Attributes:
        rows: how many.
        format: number of the format description.
        start: offset in the log of the first.
        end: offset behind the last.
        values: CRC32 of all numbers that records are made of, see :func:`values_checksum`.
    """

    rows: int
    format: int
    start: int
    end: int
    values: int


class IndexFacts(NamedTuple):
    """What an index file says of the log that it was made of.

    Attributes:
        size: the log's bytes.
        covered: offset behind the last whole transaction.
        ending: how the log ends: 0 closed, 1 in use, 2 open.
        head: CRC32 of the magic and the first event.
        tail_bytes: how many of the log's last bytes the next one is of.
        tail: CRC32 of these.
        data_bytes: bytes of the index file before Parquet's footer.
        data: CRC32 of these.
        sources: keys of the GTIDs' sources, by number.
        tables: database and name of each table, as logged, by number.
        maps: each distinct table map: its table's number, its bytes behind table id and flags.
        formats: where in the log the format descriptions stand that rule the transactions.
        controls: type, position and size of the events about the log itself.
        totals: per event type: type, events, bytes, events within compressed payloads.
        groups: the row groups, in the order of the log.
    """

    size: int
    covered: int
    ending: int
    head: int
    tail_bytes: int
    tail: int
    data_bytes: int
    data: int
    sources: tuple[bytes, ...]
    tables: tuple[tuple[bytes, bytes], ...]
    maps: tuple[tuple[int, bytes], ...]
    formats: tuple[int, ...]
    controls: tuple[tuple[int, int, int], ...]
    totals: tuple[tuple[int, int, int, int], ...]
    groups: tuple[RowGroup, ...]


def values_checksum(columns: Iterable[Buffer]) -> int:
    """CRC32 of columns of 64-bit numbers, one behind the other."""
    crc = 0
    for column in columns:
        crc = checksum(memoryview(column).cast("B"), crc)
    return crc


def log_checksums(file: BinlogFile) -> tuple[int, int, int]:
    """What an index file knows its log by: CRC32 of the start, how many of the last bytes, CRC32 of these.

    Raises:
        SourceError: the log cannot be read.
    """
    tail_bytes = min(file.size, TAIL_BYTES)
    return (
        checksum(file.source.window(0, file.first_position)),
        tail_bytes,
        checksum(file.source.window(file.size - tail_bytes, file.size)),
    )


def encode_facts(facts: IndexFacts) -> str:
    """The facts as JSON, behind the CRC32 of it."""
    told = facts._asdict() | {
        "version": VERSION,
        "sources": [key.hex() for key in facts.sources],
        "tables": [[part.decode(_BYTES) for part in names] for names in facts.tables],
        "maps": [[number, b64encode(body).decode()] for number, body in facts.maps],
    }
    text = json.dumps(told, separators=(",", ":"))
    return f"{checksum(text.encode()):08x} {text}"


def decode_facts(text: str) -> IndexFacts:
    """The facts that :func:`encode_facts` wrote.

    Raises:
        DamagedError: these are others, or of another version of binx.
    """
    crc, _, told = text.partition(" ")
    if crc != f"{checksum(told.encode()):08x}":
        raise DamagedError("the checksum of what it says of its log is wrong")
    try:
        return _facts(json.loads(told))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise DamagedError(
            "expected what binx writes of a log, found something else; write it anew with binx index"
        ) from error


def _facts(told: dict[str, Any]) -> IndexFacts:
    if told.pop("version") != VERSION:
        raise DamagedError("it was written by another version of binx; write it anew with binx index")
    told |= {
        "sources": tuple(map(bytes.fromhex, told["sources"])),
        "tables": tuple((db.encode(_BYTES), name.encode(_BYTES)) for db, name in told["tables"]),
        "maps": tuple((int(number), b64decode(body)) for number, body in told["maps"]),
        "groups": tuple(RowGroup(*map(int, group)) for group in told["groups"]),
    }
    for name in ("formats", "controls", "totals"):
        told[name] = tuple(tuple(item) if isinstance(item, list) else int(item) for item in told[name])
    return IndexFacts(**told)
