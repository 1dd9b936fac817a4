"""Inputs to begin with: the test data, and the corpus of foreign logs where it is at hand."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import zstandard

from binx.archive.archiving import ArchiveRun
from binx.archive.report import ArchiveRequest
from binx.dataset.parquet import to_parquet
from binx.errors import BinxError
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.index.index_file import IndexFile, encode_facts
from binx.log.index.writer import write_index
from binx.log.scan import Scan
from binx.storage.seekable import write_seekable
from tests.conftest import CORPUS, TESTDATA
from tests.log.searching import Bytes
from tests.rows.ddl.cases import CASES

_KERNELS = Path(__file__).resolve().parent.parent / "kernels"
INDEXED = TESTDATA / "mysql-9.7" / "small" / "tagged_gtids.binlog"
"""The log whose index file is fuzzed."""

_LARGEST_FILE = 64 * 1024
_LARGEST_LOG = 8 * 1024
_LARGEST_STATEMENTS = 2 * 1024
_LARGEST_OTHER = 16 * 1024


def largest(target: str) -> int:
    """Bytes that an input of a target has at most: what large ones show small ones do, many times sooner."""
    return {_logs: _LARGEST_LOG, _statements: _LARGEST_STATEMENTS}.get(SEEDS[target], _LARGEST_OTHER)


def _logs() -> Iterator[bytes]:
    places = [*sorted(TESTDATA.glob("*/small/*.binlog")), *sorted((CORPUS / "files").glob("*.binlog"))]
    for path in places:
        data = path.read_bytes()
        if len(data) <= _LARGEST_LOG:
            yield data
        elif len(data) <= _LARGEST_FILE:
            yield from _parts(data)


def _parts(data: bytes) -> Iterator[bytes]:
    """A large log as several with the same head; transactions that are large themselves are left out."""
    with suppress(BinxError):
        file = BinlogFile(Bytes(data))
        head = part = data[: file.first_position]
        for table in Scan(file, Level.LEVEL_TABLES, verify=False):
            for index in range(len(table)):
                transaction = data[table.value("start", index) : table.value("end", index)]
                if len(part) + len(transaction) > _LARGEST_LOG:
                    yield part
                    part = head
                if len(head) + len(transaction) <= _LARGEST_LOG:
                    part += transaction
        yield part


def _json_documents() -> Iterator[bytes]:
    for line in (_KERNELS / "json" / "documents.tsv").read_text("utf-8").split("\n"):
        if not line:
            continue
        yield bytes.fromhex(line.split("\t")[0])


def _json_changes() -> Iterator[bytes]:
    for line in (_KERNELS / "json" / "diffs.tsv").read_text("utf-8").split("\n"):
        if not line:
            continue
        document, changes, *_ = (bytes.fromhex(part) for part in line.split("\t")[:2])
        yield len(document).to_bytes(2, "little") + document + changes


def _gtid_texts() -> Iterator[bytes]:
    uuid = b"bf1c133d-e590-11f1-8de0-02fc00000001"
    yield from (
        uuid + b":1-5:7, " + uuid + b":tag:1-3",
        b"0-1-100..200,1-2-3",
        b"",
        uuid + b":1-9223372036854775806",
    )


def _gtid_bodies() -> Iterator[bytes]:
    uuid = bytes.fromhex("bf1c133de59011f18de002fc00000001")
    number = (1).to_bytes(8, "little")
    yield number + uuid + number + number + (9).to_bytes(8, "little")
    yield bytes(8)
    yield b"\1" + bytes(6) + b"\1" + uuid + b"\6tag" + number + number + (9).to_bytes(8, "little")
    yield b"\1\0\0\0" + bytes(4) + b"\1\0\0\0" + number


def _statements() -> Iterator[bytes]:
    part = b""
    for statement in (case.sql.encode() for case in CASES):
        yield statement
        if len(part) + len(statement) >= _LARGEST_STATEMENTS:
            yield part
            part = b""
        part += b"\x1e" + statement
    yield part
    for path in sorted(TESTDATA.glob("*/small/*.sql")):
        yield path.read_bytes()


def _manifests() -> Iterator[bytes]:
    with tempfile.TemporaryDirectory() as folder, BinlogFile.open(str(INDEXED)) as file:
        list(to_parquet([file], Path(folder)))
        for path in sorted(Path(folder).rglob("*.json")):
            yield json.dumps(json.loads(path.read_text("utf-8"))).encode()


def _index_files() -> Iterator[bytes]:
    with tempfile.TemporaryDirectory() as folder, BinlogFile.open(str(INDEXED)) as file:
        target = Path(folder) / "one.binx"
        write_index(file, str(target))
        yield target.read_bytes()
        index = IndexFile.open(str(target), file)
        assert index is not None
        with closing(index):
            yield encode_facts(index.facts).encode()


def _compressed() -> Iterator[bytes]:
    data = INDEXED.read_bytes()
    yield gzip.compress(data, mtime=0)
    yield gzip.compress(data[:500], mtime=0) + gzip.compress(data[500:], mtime=0)
    yield zstandard.compress(data)
    yield zstandard.ZstdCompressor(write_content_size=False).compress(data)
    yield from _seekable()
    yield zstandard.compress(data[:500]) + b"\x50\x2a\x4d\x18\4\0\0\0abcd" + zstandard.compress(data[500:])


def _seekable() -> Iterator[bytes]:
    for cuts in ((), (150, 400), range(10, INDEXED.stat().st_size, 10)):
        with BinlogFile.open(str(INDEXED)) as file:
            output = io.BytesIO()
            write_seekable(file.source, cuts, output, frame_bytes=1)
            yield output.getvalue()


def _archived() -> Iterator[bytes]:
    yield bytes([3, 0, 77, 200]) + INDEXED.read_bytes()[:3_000]
    yield bytes(100)


def _archive_manifests() -> Iterator[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        list(ArchiveRun(ArchiveRequest(str(INDEXED.parent.parent / "shop"), folder)))
        for path in sorted(Path(folder, "_manifest").iterdir()):
            yield path.read_bytes()


def _keyrings() -> Iterator[bytes]:
    for path in sorted((TESTDATA / "mysql-9.7" / "encrypted").glob("*keyring*")):
        yield path.read_bytes()
    name, hidden = b"MySQLReplicationKey_1", bytes(3)
    entry = struct.pack("<5Q", 72, len(name), 3, 0, 3) + name + b"AES" + hidden
    entries = entry.ljust(72, b"\0")
    yield b"Keyring file version:1.0" + entries + b"EOF"
    yield b"Keyring file version:2.0" + entries + b"EOF" + hashlib.sha256(entries).digest()


def _encryption() -> Iterator[bytes]:
    yield from (
        path.read_bytes()[:512]
        for path in sorted((TESTDATA / "mysql-9.7" / "encrypted").glob("mysql-bin.0*"))
    )


def _conditions() -> Iterator[bytes]:
    yield from (
        b"id = 7 AND name LIKE 'a%'",
        b"before.price <> after.price OR NOT (x IS NULL)",
        b"t IN (1, 2.5, 'x', x'00ff') AND d BETWEEN '2020-01-01' AND '2021-01-01'",
        b"a REGEXP '^[a-z]+$' AND b <=> NULL",
        b"shop.orders.total >= -12.50",
    )


SEEDS: dict[str, Callable[[], Iterator[bytes]]] = {
    "events": _logs,
    "rows": _logs,
    "json_document": _json_documents,
    "json_changes": _json_changes,
    "gtid_text": _gtid_texts,
    "gtid_binary": _gtid_bodies,
    "ddl": _statements,
    "manifest": _manifests,
    "index_file": _index_files,
    "compressed": _compressed,
    "encryption": _encryption,
    "where": _conditions,
    "scans": _logs,
    "slices": _logs,
    "texts": _logs,
    "data_set": _logs,
    "archived": _archived,
    "archive_manifest": _archive_manifests,
    "keyring": _keyrings,
}
