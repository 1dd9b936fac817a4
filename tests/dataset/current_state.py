"""What tests ask of data sets and slices: the rows that changes lead to, and a slice's transactions.

A second, plain reading of the data set: it knows Parquet and the rules of the data set's columns, and
nothing of the code that wrote them.
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from binx.event.gtid.mysql_events import Gtid
from binx.event.header import EventHeader, EventType, parse_header
from binx.event.parsers import parse_event
from binx.kernels.transactions.table import TransactionTable
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.scan import Scan
from binx.slices.binlog import write_binlog
from binx.slices.search import Selected
from binx.slices.slice_writer import SliceReport
from testdata.compare import as_integers
from tests.conftest import TESTDATA

Row = dict[str, Any]
Key = tuple[Any, ...]

ORDER = {"delete": 0, "update_preimage": 0, "update_postimage": 1, "insert": 1}


def listed_files(folder: Path, kind: str) -> Iterator[dict[str, Any]]:
    """The entries of a kind in all manifests."""
    for path in sorted((folder / "_manifest").glob("*.json")):
        for entry in json.loads(path.read_text("utf-8"))["files"]:
            if entry["kind"] == kind:
                yield entry


def absent_values(folder: Path, entry: dict[str, Any]) -> dict[str, str | None]:
    """What the schema record of a file says that columns hold which an inserted row's image lacks."""
    version = pq.read_schema(folder / entry["path"]).metadata[b"binx.schema_version"].decode()
    for schema in listed_files(folder, "schema"):
        if (schema["db"], schema["table"]) == (entry["db"], entry["table"]) and version in schema["path"]:
            columns = json.loads((folder / schema["path"]).read_text("utf-8"))["columns"]
            told = {column["name"]: column["absent"] for column in columns if column["absent"] is not None}
            return {
                name: absent["misfit"] if absent["value"] is None else absent["value"]
                for name, absent in told.items()
            }
    raise AssertionError(f"no schema record {version}")


def changes(folder: Path, db: str, table: str) -> list[tuple[Row, list[str], dict[str, str | None]]]:
    """All row images of a table in order, each with its columns and what they hold where they are absent."""
    images: list[tuple[Row, list[str], dict[str, str | None]]] = []
    for entry in listed_files(folder, "changes"):
        if (entry["db"], entry["table"]) == (db, table):
            content = pq.read_table(folder / entry["path"], partitioning=None)
            columns = [name for name in content.column_names if not name.startswith("_")]
            plain = content.set_column(0, "_change_type", content.column(0).cast(pa.string()))
            rows = to_rows(plain)
            absent = absent_values(folder, entry)
            images += [(row, columns, absent) for row in rows]
    images.sort(
        key=lambda image: (image[0]["_commit_version"], image[0]["_row"], ORDER[image[0]["_change_type"]])
    )
    return images


def to_rows(content: pa.Table) -> list[Row]:
    """Rows as Python values; times stay integers of microseconds, which Python's types cannot all hold."""
    fields = [as_integers(content.column(name)) for name in content.column_names]
    rows: list[Row] = pa.table(fields, names=content.column_names).to_pylist()
    return rows


def undone(folder: Path) -> set[str]:
    """Transactions that were prepared and rolled back later."""
    prepared: dict[str, str] = {}
    rolled_back: set[str] = set()
    statements = [
        row
        for entry in listed_files(folder, "statements")
        for row in pq.read_table(folder / entry["path"])
        .select(["commit_version", "transaction", "sql"])
        .to_pylist()
    ]
    for row in sorted(statements, key=lambda row: row["commit_version"]):
        if row["sql"].startswith("XA PREPARE "):
            prepared[row["sql"].removeprefix("XA PREPARE ")] = row["transaction"]
        elif row["sql"].startswith("XA ROLLBACK "):
            rolled_back.add(prepared.get(row["sql"].removeprefix("XA ROLLBACK "), ""))
    return rolled_back


def plain(value: Any) -> Any:
    """Spatial and vector values as the bytes that the server stores."""
    if isinstance(value, dict):
        return int(value["srid"]).to_bytes(4, "little") + value["wkb"]
    if isinstance(value, list):
        return pa.array(value, pa.float32()).buffers()[1].to_pybytes()[: 4 * len(value)]
    return value


def current_state(folder: Path, db: str, table: str, key: list[str]) -> list[Row]:
    """The rows that are left, as the last image of each has them; misfits as their text."""
    state: dict[Key, Row] = {}
    rolled_back = undone(folder)
    for row, columns, absent in changes(folder, db, table):
        if row["_transaction"] in rolled_back:
            continue
        misfits = dict(row.get("_misfits") or [])
        present = row["_present"]
        texts = {
            name: misfits.get(name, plain(row[name]))
            for place, name in enumerate(columns)
            if present is None or present[place // 8] >> (place % 8) & 1
        }
        if row["_change_type"] in ("delete", "update_preimage"):
            moved = state.pop(tuple(texts[name] for name in key), {})
        else:
            before = moved if row["_change_type"] == "update_postimage" else absent
            merged = {name: texts.get(name, before.get(name)) for name in columns}
            state[tuple(merged[name] for name in key)] = merged
    return list(state.values())


MYSQL, MARIADB = TESTDATA / "mysql-9.7", TESTDATA / "mariadb-10.11"
SHOPS = [sorted((folder / "shop").glob("mysql-bin.0*")) for folder in (MYSQL, MARIADB)]
SMALL = sorted(path for folder in (MYSQL, MARIADB) for path in (folder / "small").glob("*.binlog"))

Wanted = Callable[[TransactionTable, int], bool]


def every(table: TransactionTable, index: int) -> bool:
    return True


def each_third(table: TransactionTable, index: int) -> bool:
    return index % 3 == 1


def runs_of(files: Iterable[BinlogFile], wanted: Wanted) -> Iterator[Selected]:
    for file in files:
        scan = Scan(file)
        for table in scan:
            yield Selected(scan, table, bytearray(wanted(table, i) for i in range(len(table))))


def slice_of(
    paths: Sequence[Path], wanted: Wanted = every, *, verbatim: bool = False, verify: bool = True
) -> tuple[bytes, SliceReport]:
    out = io.BytesIO()
    with ExitStack() as stack:
        files = [stack.enter_context(BinlogFile.open(str(path))) for path in paths]
        report = write_binlog(runs_of(files, wanted), out, verbatim=verbatim, verify=verify)
    return out.getvalue(), report


def transactions_of(path: Path, level: Level = Level.LEVEL_EVENTS) -> list[tuple[int, int, str | None, int]]:
    """Start, end, GTID and flags of each transaction, after a scan that verifies all checksums it meets."""
    with BinlogFile.open(str(path)) as file:
        return [
            (table.value("start", i), table.value("end", i), table.gtid(i), table.value("flags", i))
            for table in Scan(file, level)
            for i in range(len(table))
        ]


def events_of(log: bytes, checksum: int = 4) -> list[tuple[EventHeader, bytes]]:
    """Headers and bodies of all events, checksums compared with zlib's."""
    at, found = 4, []
    while at < len(log):
        header = parse_header(log, at)
        size = checksum if header.type != EventType.FORMAT_DESCRIPTION else 4
        whole = log[at : header.end]
        assert len(whole) == header.size
        if size:
            assert zlib.crc32(whole[:-4]) == int.from_bytes(whole[-4:], "little")
        found.append((header, whole[19 : len(whole) - size]))
        at = header.end
    return found


def gtids_of(path: Path) -> list[Gtid]:
    """MySQL's GTID events of a file."""
    found = []
    with BinlogFile.open(str(path)) as file:
        size = file.format.checksum_size
        for header, body in events_of(path.read_bytes(), size):
            if header.type in (EventType.GTID, EventType.ANONYMOUS_GTID, EventType.GTID_TAGGED):
                event = parse_event(memoryview(body), header, file.format)
                assert isinstance(event, Gtid)
                found.append(event)
    return found


def contiguous(first: int, last: int) -> Wanted:
    return lambda table, index: first <= index <= last
