"""What is fuzzed: each target takes any bytes, and raises nothing but the errors that binx documents.

A target that finds a contradiction raises AssertionError.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import cast

from binx.errors import BinxError, UsageError
from binx.event.format import FormatDescription
from binx.event.gtid.previous import encode_previous_gtids, parse_previous_gtids
from binx.event.gtid.sets import GtidSet
from binx.event.header import HEADER_SIZE, EventFlag, EventHeader, EventType
from binx.event.mariadb import parse_mariadb_gtid_list
from binx.kernels.crc32 import checksum
from binx.kernels.json.documents import applied, diff_to_text, to_text
from binx.kernels.transactions.table import COLUMN_NAMES, COUNT_COLUMNS, IndexedTables
from binx.kernels.walk.scan import Level
from binx.lake.dataset.files import NOT_UNDERSTOOD, read_version
from binx.lake.dataset.manifests import read_manifests
from binx.lake.place import LakeStore, ListedFile
from binx.lake.state.output_folder import Output
from binx.log.binlog_file import BinlogFile
from binx.log.index.index_file import IndexFile, decode_facts
from binx.log.scan import Scan
from binx.log.scanning import OnDamage
from binx.log.transaction_events import raw_events
from binx.rows.batches import ChangeBatch
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder, DecoderOptions
from binx.source.byte_source import READ_BYTES, Source
from binx.source.encrypted import parse_header
from binx.source.opening import decompressed
from binx.stats.event_list import EventListing
from binx.where.condition import Condition
from tests.fuzz.targets_files import archive_manifest, archived, data_set, keyring
from tests.fuzz.targets_logs import scans, slices, texts
from tests.log.searching import Bytes

Target = Callable[[bytes], None]

MOST_BYTES = 64 << 20
"""How much of a compressed source is looked at."""


def events(data: bytes) -> None:
    """A log's events: found at every level, salvaged, listed, and parsed one by one."""
    for level in Level:
        with suppress(BinxError):
            _read(data, level)
    with suppress(BinxError):
        file = BinlogFile(Bytes(data))
        listing = EventListing([file], inner=True, verify=False, as_json=True)
        for lines in listing.lines():
            for line in lines.splitlines():
                json.loads(line)
    with suppress(BinxError):
        scan = Scan(BinlogFile(Bytes(data)), Level.LEVEL_TABLES, verify=False, on_damage=OnDamage.SALVAGE)
        covered = scan.file.first_position
        for table in scan:
            for index in range(len(table)):
                assert covered <= table.value("start", index) < table.value("end", index) <= len(data)
                covered = table.value("end", index)


def _read(data: bytes, level: Level) -> None:
    file = BinlogFile(Bytes(data))
    for table in Scan(file, level, verify=False):
        for index in range(min(len(table), 100)):
            table.gtid(index)
            if level is Level.LEVEL_EVENTS:
                with suppress(BinxError):
                    start, end = table.value("start", index), table.value("end", index)
                    for _ in raw_events(file, start, end, table.format):
                        pass


def rows(data: bytes) -> None:
    """A log's rows: decoded to Arrow, valid in all its parts."""
    file = BinlogFile(Bytes(data))
    decoder = ChangeDecoder(file, Catalog(), options=DecoderOptions(row_group_rows=64))
    for table in Scan(file, Level.LEVEL_TABLES, verify=False):
        for item in decoder.decode(table, bytearray(b"\1" * len(table))):
            _check(item)
    for item in decoder.finish():
        _check(item)


def _check(item: object) -> None:
    if isinstance(item, ChangeBatch):
        item.batch.validate(full=True)


def json_document(data: bytes) -> None:
    """A binary JSON document: its text is JSON."""
    json.loads(to_text(data))


def json_changes(data: bytes) -> None:
    """Changes of a JSON column, printed and applied to a document; two bytes tell where one ends."""
    split = 2 + int.from_bytes(data[:2], "little")
    document, changes = data[2:split], data[split:]
    with suppress(BinxError):
        json.loads(diff_to_text(changes))
    text = applied(document, changes)
    if text is not None:
        json.loads(text)


def gtid_text(data: bytes) -> None:
    """A GTID set as text: what is printed reads as the same set."""
    found = GtidSet.parse(data.decode("utf-8", "surrogateescape"))
    assert GtidSet.parse(str(found)) == found
    assert found - found == GtidSet()
    assert found | found == found & found == found


_DESCRIPTION = cast(FormatDescription, SimpleNamespace(checksum_size=0, post_header_length=lambda *_: 0))


def _header(number: EventType, size: int) -> EventHeader:
    return EventHeader(
        timestamp=0,
        type=number,
        server_id=1,
        size=HEADER_SIZE + size,
        next_position=0,
        flags=EventFlag(0),
        position=4,
    )


def gtid_binary(data: bytes) -> None:
    """PREVIOUS_GTIDS and MariaDB's GTID_LIST: what is written of a set reads as the same set."""
    body = memoryview(data)
    with suppress(BinxError):
        parse_mariadb_gtid_list(body, _header(EventType.MARIADB_GTID_LIST, len(data)), _DESCRIPTION)
    found = parse_previous_gtids(body, _header(EventType.PREVIOUS_GTIDS, len(data)), _DESCRIPTION)
    written = memoryview(encode_previous_gtids(found.gtids))
    again = parse_previous_gtids(written, _header(EventType.PREVIOUS_GTIDS, len(written)), _DESCRIPTION)
    assert again == found


def ddl(data: bytes) -> None:
    """Statements, one after another, and as a dump. What is not understood is no error."""
    text = data.decode("utf-8", "backslashreplace")
    catalog = Catalog()
    for statement in text.split("\x1e"):
        catalog.apply(statement, "shop")
    for table in catalog:
        assert table.name
    Catalog().load_dump(text)


class _Folder(LakeStore):
    """A place in memory where every file has one content."""

    def __init__(self, content: bytes) -> None:
        super().__init__("/memory")
        self._content = content

    def read(self, path: str) -> bytes:
        return self._content


def manifest(data: bytes) -> None:
    """A manifest, a schema record, and a load's state."""
    folder = _Folder(data)
    with suppress(BinxError):
        for one in read_manifests(folder, [ListedFile("one.json", 1, 1)]):
            for path in one.hashes:
                assert not path.startswith("/")
                assert ".." not in path.split("/")
    with suppress(BinxError):
        Output(folder)
    try:
        read_version("1", data)
    except NOT_UNDERSTOOD as error:
        raise BinxError("no schema record") from error


_LOG: list[bytes] = []


def _log() -> BinlogFile:
    from tests.fuzz.seeds import INDEXED

    if not _LOG:
        _LOG.append(INDEXED.read_bytes())
    return BinlogFile(Bytes(_LOG[0]))


def index_file(data: bytes) -> None:
    """An index file of a log; its facts and numbers also by themselves, as checksums would stop most."""
    with suppress(BinxError):
        index = IndexFile(Bytes(data), _log())
        for table in index:
            table.gtids()
    with suppress(BinxError):
        _, _, told = data.decode("utf-8", "replace").partition(" ")
        decode_facts(f"{checksum(told.encode()):08x} {told}")
    size = len(COLUMN_NAMES) + COUNT_COLUMNS
    numbers = memoryview(data[: len(data) // (8 * size) * 8 * size]).cast("q")
    columns = [numbers[place::size].tobytes() for place in range(size)]
    split = [memoryview(column).cast("q") for column in columns]
    with suppress(BinxError):
        made = IndexedTables([b"\1" * 16], 64).table(
            split[:-COUNT_COLUMNS], split[-COUNT_COLUMNS:], 4, 1 << 24
        )
        for place in range(len(made)):
            made.gtid(place)


def compressed(data: bytes) -> None:
    """A file that may be zstd or gzip: its windows, forwards and at random."""
    source: Source = decompressed(Bytes(data))
    try:
        end = min(source.size, MOST_BYTES)
        for start in range(0, end, READ_BYTES):
            expected = min(READ_BYTES, source.size - start)
            assert len(source.window(start, start + READ_BYTES)) == expected
        source.window(source.size // 2, source.size // 2 + 100)
    finally:
        source.close()


def encryption(data: bytes) -> None:
    """The header of an encrypted log."""
    parse_header(data, "memory")


def where(data: bytes) -> None:
    """A condition on rows."""
    Condition(data.decode("utf-8", "replace"))


TARGETS: dict[str, Target] = {
    one.__name__: one
    for one in (
        events,
        rows,
        json_document,
        json_changes,
        gtid_text,
        gtid_binary,
        ddl,
        manifest,
        index_file,
        compressed,
        encryption,
        where,
        scans,
        slices,
        texts,
        data_set,
        archived,
        archive_manifest,
        keyring,
    )
}

LOGS = ("events", "rows", "scans", "slices", "texts", "data_set")
"""Those of them that take a binary log."""

DOCUMENTED = (BinxError, UsageError)
"""What a target may raise."""


def tried(target: Target, data: bytes) -> None:
    """Run a target; an error that is documented is no finding."""
    with suppress(*DOCUMENTED):
        target(data)
