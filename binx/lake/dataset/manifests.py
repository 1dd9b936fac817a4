"""Read the manifests that ``binx to-parquet`` wrote into data sets.

Only files listed in a manifest exist. A load lists all manifests and opens those that no load has read.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from binx.dataset.manifest import CONTRACT
from binx.errors import AbsentError, BinxError
from binx.event.gtid.sets import GtidSet
from binx.lake.dataset.files import NOT_UNDERSTOOD, ChangesFile
from binx.lake.dataset.spans import Span
from binx.lake.place import LakeStore, ListedFile
from binx.lake.table_name import TableName, filter_of
from binx.log.backup_position import BackupPosition
from binx.log.selection.times import parse_time
from binx.rows.ddl.catalog import Catalog
from binx.source.log_names import base_of, number_of
from binx.storage.store import MANIFESTS

_PATTERNS = {"databases", "tables"}
_NEVER = "9999-12-31"


@dataclass(frozen=True, slots=True)
class ManifestSource:
    """The binary log that was exported; ``base`` is its name without the number.

    ``time`` is when the log was created (s since 1970).
    """

    name: str
    identity: str
    base: str
    number: int
    bytes: int
    server_id: int
    time: int


@dataclass(frozen=True, slots=True)
class SelectedPart:
    """What an export with a selection has of a log, and the log's size in bytes at that time.

    ``databases`` and ``tables`` are patterns. The export lacks row images of the tables in ``lacking``, and
    ``statements`` statements, each of which may concern any of its tables.
    """

    log_bytes: int
    databases: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    lacking: tuple[TableName, ...] = ()
    statements: int = 0

    @classmethod
    def from_manifest(cls, document: Mapping[str, Any]) -> SelectedPart | None:
        """Parse the selection from an export's manifest; None if it has no selection."""
        request = document.get("request", {})
        selection = request.get("selection") or {}
        by_rows = request.get("where") is not None
        if not selection and not by_rows:
            return None
        size = int(document["source"]["bytes"])
        databases, tables = tuple(selection.get("databases", ())), tuple(selection.get("tables", ()))
        if set(selection) <= _PATTERNS and not by_rows:
            return cls(size, databases, tables)
        takes = filter_of(databases, tables).takes
        lacking = tuple(
            TableName(entry["db"], entry["table"])
            for entry in document.get("conservation", ())
            if entry.get("filtered") and takes(entry["db"], entry["table"])
        )
        return cls(size, databases, tables, lacking, document.get("statements_left_out", 0))

    def lacks(self, table: TableName) -> str:
        """Return a phrase about what the export lacks of a table; empty for nothing."""
        if not filter_of(self.databases, self.tables).takes(*table):
            return "exported without this table"
        if self.statements or table in self.lacking:
            return "exported without some of its row changes, or without statements that may be about it"
        return ""


class ExportLoss(NamedTuple):
    """What an export lost of a log, in a sentence; ``table`` is None if it may be of any."""

    table: TableName | None
    text: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """An export of a binary log, or a base.

    Attributes:
        changes: the files of row changes, not assigned to a chain yet.
        others: by kind, the names of files of transactions and statements.
        schemas: the names of schema records, by table and version.
        hashes: the hashes of all files, by name.
        count: the number of transactions, ``span`` their first and last commit version.
        whole: whether it has every transaction of its span.
        knew_tables: whether tables were known where its log begins, from logs before it or a dump.
        gtids: the GTIDs of its transactions; ``left_out`` those that the log has besides, ``before`` those of
            earlier logs.
        next: the next log according to its last event, with that event's time; no name after STOP.
        wrong: why rows of tables cannot be loaded.
        unlogged: the tables whose changes foreign keys may have followed without logging it, and whether
            rows of them were deleted.
        typed: the tables with JSON documents whose text does not tell the SQL types of their values.
        base: the base's position, None for a log.
        until: the last commit time, in µs; of a base, when it was written.
    """

    place: LakeStore
    listed: ListedFile
    source: ManifestSource
    first_commit: str
    changes: tuple[ChangesFile, ...]
    others: Mapping[str, list[str]]
    schemas: Mapping[tuple[TableName, str], str]
    hashes: Mapping[str, str]
    losses: tuple[ExportLoss, ...]
    count: int
    span: Span | None
    whole: bool
    knew_tables: bool
    selected: SelectedPart | None
    flavour: str
    server_version: str
    gtids: GtidSet
    left_out: GtidSet
    before: GtidSet
    next: tuple[str, int] | None
    wrong: Mapping[TableName, str]
    unlogged: Mapping[TableName, bool]
    typed: frozenset[TableName]
    base: BackupPosition | None
    until: int

    def transactions(self, *columns: str) -> pa.Table:
        """Return the commit versions of its transactions, in order, with these columns."""
        names = ["commit_version", *columns]
        parts = [self.place.table(path, names) for path in self.others["transactions"]]
        return pa.concat_tables(parts).sort_by("commit_version")


_ARCHIVED = (".zst", ".zst.age")


def is_data_set(path: str) -> bool:
    """Whether a path is a folder or a URI with manifests of exports; an archive of logs has others."""
    if "://" not in path and not Path(path).is_dir():
        return False
    place = LakeStore(path)
    return bool(place.files(MANIFESTS)) and not any(file.path.endswith(_ARCHIVED) for file in place.files(""))


def list_manifests(place: LakeStore) -> list[ListedFile]:
    """List the manifests of a data set."""
    listed = [file for file in place.files(MANIFESTS) if file.path.endswith(".json")]
    if not listed:
        raise AbsentError(
            f"has no {MANIFESTS}/*.json: expected the folder written by `binx to-parquet -o` (a killed export"
            " leaves no manifest; run it again)",
            path=place.uri,
        )
    return listed


def read_manifests(place: LakeStore, listed: Sequence[ListedFile]) -> Iterator[Manifest]:
    """Open manifests, many at a time; skip those removed in the meantime."""
    contents = place.read_all(file.path for file in listed)
    for file, content in zip(listed, contents, strict=True):
        if content is not None:
            yield _parse(place, file, content)


def _parse(place: LakeStore, listed: ListedFile, content: bytes) -> Manifest:
    path = place.shown(listed.path)
    try:
        document = CONTRACT.migrated(json.loads(content), path)
        by_rows = document.get("request", {}).get("where") is not None
        changes: list[ChangesFile] = []
        others: dict[str, list[str]] = defaultdict(list)
        schemas: dict[tuple[TableName, str], str] = {}
        hashes, count = {}, 0
        for entry in document["files"]:
            name, kind = str(entry["path"]), str(entry["kind"])
            if name.startswith("/") or ".." in name.split("/"):
                raise ValueError(f"path {name!r} leads out of the data set")
            hashes[name] = str(entry.get("sha256", "") if kind == "schema" else entry["sha256"])
            if kind == "changes":
                changes.append(_changes(place, entry, by_rows))
            elif kind == "schema":
                version = name.rpartition("/")[2].removesuffix(".json")
                schemas[TableName(entry["db"], entry["table"]), version] = name
            elif entry.get("rows") or kind == "transactions":
                others[kind].append(name)
                count += int(entry.get("rows") or 0) if kind == "transactions" else 0
        first, last = document.get("first_commit_version"), document.get("last_commit_version")
        selected = SelectedPart.from_manifest(document)
        end, base = document.get("behind") or {}, document.get("base")
        unlogged = {
            TableName(entry["db"], entry["table"]): entry["deletes"] > 0
            for entry in document.get("tables", ())
            if entry.get("cascades_unlogged")
        }
        next_name, ended = end.get("next"), end.get("ended")
        return Manifest(
            place=place,
            listed=listed,
            source=_source(document["source"]),
            first_commit=document.get("first_commit_timestamp") or "",
            changes=tuple(changes),
            others=others,
            schemas=schemas,
            hashes=hashes,
            losses=tuple(_losses(document)),
            count=count,
            span=None if first is None or last is None else (int(first), int(last)),
            whole=selected is None and not document.get("losses"),
            knew_tables=document.get("request", {}).get("known_tables")
            not in (None, Catalog().fingerprint()),
            selected=selected,
            flavour=str(document["source"].get("flavour") or "mysql"),
            server_version=str(document["source"].get("server_version") or ""),
            gtids=GtidSet.parse(str(document.get("gtid_set") or "")),
            left_out=GtidSet.parse(str(document.get("gtids_left_out") or "")),
            before=GtidSet.parse(str(end.get("gtids_before") or "")),
            next=None if ended is None else (str(next_name or ""), int(ended)),
            wrong=dict(_wrong_sums(document, changes)),
            unlogged=unlogged,
            typed=frozenset(
                TableName(entry["db"], entry["table"])
                for entry in document.get("tables", ())
                if entry.get("typed_documents")
            ),
            base=None if base is None else _position(base),
            until=parse_time((base or {}).get("written") or document.get("last_commit_timestamp") or _NEVER),
        )
    except NOT_UNDERSTOOD as error:
        raise BinxError(
            f"is not a manifest of binx: {type(error).__name__} {error}; export that binary log again",
            path=path,
        ) from error


def _source(entry: Mapping[str, Any]) -> ManifestSource:
    name = str(entry["name"])
    number = entry.get("file_number")
    return ManifestSource(
        name=name,
        identity=str(entry["identity"]),
        base=base_of(name),
        number=number_of(name) if number is None else int(number),
        bytes=int(entry["bytes"]),
        server_id=int(entry["server_id"]),
        time=int(entry.get("header_timestamp") or entry.get("create_timestamp") or 0),
    )


def _position(base: Mapping[str, Any]) -> BackupPosition:
    return BackupPosition(str(base["file"]), int(base["position"]), GtidSet.parse(str(base["gtids"])))


def _changes(place: LakeStore, entry: Mapping[str, Any], by_rows: bool) -> ChangesFile:
    return ChangesFile(
        identity=str(entry["sha256"]),
        table=TableName(entry["db"], entry["table"]),
        version=str(entry.get("schema_version") or ""),
        chain="",
        root=place.uri,
        path=str(entry["path"]),
        rows=int(entry.get("rows") or 0),
        bytes=int(entry.get("bytes") or 0),
        first=int(entry.get("first_commit_version") or 0),
        last=int(entry.get("last_commit_version") or 0),
        partial=bool(entry.get("partial_rows", True)),
        by_rows=by_rows,
    )


def _losses(document: Mapping[str, Any]) -> Iterator[ExportLoss]:
    """Yield the losses; sentences about a table begin with its name."""
    tables = [TableName(entry["db"], entry["table"]) for entry in document.get("conservation", ())]
    for entry in document.get("losses", ()):
        text = entry if isinstance(entry, str) else json.dumps(entry, sort_keys=True, ensure_ascii=False)
        yield ExportLoss(next((table for table in tables if text.startswith(f"{table}: ")), None), text)


def _wrong_sums(document: Mapping[str, Any], files: Sequence[ChangesFile]) -> Iterator[tuple[TableName, str]]:
    """Yield tables whose counts do not add up: images in log = rows in Parquet + filtered + undecodable."""
    listed: Counter[TableName] = Counter()
    for file in files:
        listed[file.table] += file.rows
    for entry in document.get("conservation", ()):
        table = TableName(entry["db"], entry["table"])
        accounted = entry["written"] + entry.get("filtered", 0) + entry.get("undecodable", 0)
        if entry["images"] != accounted or entry["written"] != listed[table]:
            yield (
                table,
                f"{document['source']['name']} does not add up: {entry['images']} row images in the log,"
                f" {accounted} accounted for, {entry['written']} reported as written, {listed[table]} in its"
                " files; export that binary log again",
            )
