"""What exports say they hold: the manifests of the data sets that ``binx to-parquet`` wrote.

Only what a manifest lists exists. A load lists all manifests and opens those that no load has read.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa

from binx.dataset.manifest import CONTRACT
from binx.errors import AbsentError, BinxError, UnsupportedError
from binx.event.gtid.sets import GtidSet
from binx.log.selection.table_filter import TableFilter
from binx.spark.lake.bases import Base
from binx.spark.lake.model import FileColumn, Span, TableName, Value, Version
from binx.spark.lake.place import Listed, Place
from binx.storage.store import MANIFESTS

# What Python makes of JSON of another shape, of numbers like Infinity, and of brackets nested too deeply.
NOT_UNDERSTOOD = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
_CASCADES_LOGGED_SINCE = (9, 6)
_FILE_NUMBER = re.compile(r"^(?P<base>.*?)\.?(?P<number>\d+)$")
_PATTERNS = {"databases", "tables"}
_filter = lru_cache(TableFilter)


@dataclass(frozen=True, slots=True)
class Source:
    """The binary log that an export was made from; ``base`` is its name without the number.

    ``time`` is when it was begun (s since 1970), ``logs_cascades`` whether its server logs what foreign keys
    do to rows by themselves.
    """

    name: str
    identity: str
    base: str
    number: int
    bytes: int
    server_id: int
    time: int
    logs_cascades: bool


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file that a manifest lists; ``first`` and ``last`` are the commit versions that it holds.

    ``partial`` is False where the manifest says that all row images have all columns.
    """

    place: Place
    path: str
    kind: str
    table: TableName | None
    schema_version: str
    rows: int
    bytes: int
    sha256: str
    first: int
    last: int
    partial: bool

    @property
    def shown(self) -> str:
        """What messages call it."""
        return self.place.shown(self.path)


@dataclass(frozen=True, slots=True)
class Selected:
    """What an export with a selection takes of a log that had so many bytes then.

    ``databases`` and ``tables`` are patterns. Of the tables in ``lacking`` it lacks row images, and it lacks
    ``statements``, of which any may be about any of its tables.
    """

    log_bytes: int
    databases: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    lacking: tuple[TableName, ...] = ()
    statements: int = 0

    @classmethod
    def from_manifest(cls, document: Mapping[str, Any]) -> Selected | None:
        """What the manifest of an export says; None where all was asked for."""
        request = document.get("request", {})
        asked = request.get("selection") or {}
        by_rows = request.get("where") is not None
        if not asked and not by_rows:
            return None
        size = int(document["source"]["bytes"])
        databases, tables = tuple(asked.get("databases", ())), tuple(asked.get("tables", ()))
        if set(asked) <= _PATTERNS and not by_rows:
            return cls(size, databases, tables)
        takes = _filter(databases, tables).takes
        lacking = tuple(
            TableName(entry["db"], entry["table"])
            for entry in document.get("conservation", ())
            if entry.get("filtered") and takes(entry["db"], entry["table"])
        )
        return cls(size, databases, tables, lacking, document.get("statements_left_out", 0))

    def lacks(self, table: TableName) -> str:
        """What it lacks of a table; empty for nothing."""
        if not _filter(self.databases, self.tables).takes(*table):
            return "exported without this table"
        if self.statements or table in self.lacking:
            return "exported without some of its row changes, or without statements that may be about it"
        return ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """One export of one binary log, or a base.

    Attributes:
        span: that of the transactions in it, None where there are none.
        whole: whether it has every transaction of its span.
        by_rows: whether it was made with a condition on rows.
        gtids: those in it; ``before`` those before it.
        next: the log that its end names, with the time of that.
        wrong: why rows of tables cannot be taken.
        deleted: the tables of which it has deletions.
        base: where a base stands, None for a log.
    """

    place: Place
    listed: Listed
    source: Source
    first_commit: str
    files: tuple[DataFile, ...]
    losses: tuple[str, ...]
    span: Span | None
    whole: bool
    by_rows: bool
    selected: Selected | None
    flavour: str
    gtids: GtidSet
    before: GtidSet
    next: tuple[str, int] | None
    wrong: Mapping[TableName, str]
    deleted: frozenset[TableName]
    base: Base | None = None

    def of_kind(self, kind: str) -> Iterator[DataFile]:
        """Its files of one kind: ``changes``, ``transactions``, ``statements`` or ``schema``."""
        return (file for file in self.files if file.kind == kind)

    def transactions(self, *columns: str) -> pa.Table:
        """The commit versions of its transactions, in order, and columns beside them."""
        parts = [
            file.place.table(file.path, ["commit_version", *columns]) for file in self.of_kind("transactions")
        ]
        return pa.concat_tables(parts).sort_by("commit_version")


def list_manifests(place: Place) -> list[Listed]:
    """The manifests of a data set."""
    found = [file for file in place.files(MANIFESTS) if file.path.endswith(".json")]
    if not found:
        raise AbsentError(
            f"has no {MANIFESTS}/*.json: expected the folder written by `binx to-parquet -o` (a killed export"
            " leaves no manifest; run it again)",
            path=place.uri,
        )
    return found


def read_manifests(place: Place, listed: Sequence[Listed]) -> Iterator[Manifest]:
    """Open manifests, many at a time; one that was removed meanwhile is left out."""
    contents = place.read_all(file.path for file in listed)
    for file, content in zip(listed, contents, strict=True):
        if content is not None:
            yield _parse(place, file, content)


def _parse(place: Place, listed: Listed, content: bytes) -> Manifest:
    path = place.shown(listed.path)
    try:
        document = json.loads(content)
        if document["contract"] != CONTRACT:
            raise UnsupportedError(
                f"has contract version {document['contract']}, this loader supports {CONTRACT}: use the"
                " loader of the binx version that wrote it",
                path=path,
            )
        files = tuple(_file(place, entry) for entry in document["files"])
        first, last = document.get("first_commit_version"), document.get("last_commit_version")
        selected = Selected.from_manifest(document)
        behind, base = document.get("behind") or {}, document.get("base")
        next_name, ended = behind.get("next"), behind.get("ended")
        return Manifest(
            place=place,
            listed=listed,
            source=_source(document["source"]),
            first_commit=document.get("first_commit_timestamp") or "",
            files=files,
            losses=tuple(_loss(entry) for entry in document.get("losses", ())),
            span=None if first is None or last is None else (int(first), int(last)),
            whole=selected is None and not document.get("losses"),
            by_rows=document.get("request", {}).get("where") is not None,
            selected=selected,
            flavour=str(document["source"].get("flavour") or "mysql"),
            gtids=GtidSet.parse(str(document.get("gtid_set") or "")),
            before=GtidSet.parse(str(behind.get("gtids_before") or "")),
            next=None if next_name is None or ended is None else (str(next_name), int(ended)),
            wrong=dict(_wrong_sums(document, files)),
            deleted=frozenset(
                TableName(entry["db"], entry["table"])
                for entry in document.get("tables", ())
                if entry.get("deletes")
            ),
            base=None if base is None else Base(str(base["file"]), int(base["position"]), str(base["gtids"])),
        )
    except NOT_UNDERSTOOD as error:
        raise BinxError(
            f"is not a manifest of binx: {type(error).__name__} {error}; export that binary log again",
            path=path,
        ) from error


def _source(entry: Mapping[str, Any]) -> Source:
    name = str(entry["name"])
    found = _FILE_NUMBER.match(name)
    number = entry.get("file_number")
    version = re.match(r"(\d+)\.(\d+)", str(entry.get("server_version") or ""))
    return Source(
        name=name,
        identity=str(entry["identity"]),
        base=found["base"] if found else name,
        number=int(number if number is not None else (found["number"] if found else 0)),
        bytes=int(entry["bytes"]),
        server_id=int(entry["server_id"]),
        time=int(entry.get("header_timestamp") or entry.get("create_timestamp") or 0),
        logs_cascades=entry.get("flavour") == "mysql"
        and version is not None
        and (int(version[1]), int(version[2])) >= _CASCADES_LOGGED_SINCE,
    )


def _file(place: Place, entry: Mapping[str, Any]) -> DataFile:
    path = str(entry["path"])
    if path.startswith("/") or ".." in path.split("/"):
        raise ValueError(f"path {path!r} leads out of the data set")
    table = TableName(entry["db"], entry["table"]) if entry.get("table") is not None else None
    if entry["kind"] == "changes" and table is None:
        raise ValueError(f"{path} names no table")
    return DataFile(
        place=place,
        path=path,
        kind=entry["kind"],
        table=table,
        schema_version=str(entry.get("schema_version") or ""),
        rows=int(entry.get("rows") or 0),
        bytes=int(entry.get("bytes") or 0),
        sha256=str(entry["sha256"] if entry["kind"] != "schema" else entry.get("sha256", "")),
        first=int(entry.get("first_commit_version") or 0),
        last=int(entry.get("last_commit_version") or 0),
        partial=bool(entry.get("partial_rows", True)),
    )


def _loss(entry: object) -> str:
    return entry if isinstance(entry, str) else json.dumps(entry, sort_keys=True, ensure_ascii=False)


def _wrong_sums(document: Mapping[str, Any], files: Sequence[DataFile]) -> Iterator[tuple[TableName, str]]:
    """The tables whose sums do not hold: row images in the log = rows in Parquet + filtered + undecodable."""
    listed: Counter[TableName] = Counter()
    for file in files:
        if file.table is not None and file.kind == "changes":
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


def read_version(name: str, content: bytes | None) -> Version:
    """A schema record from its JSON; raises one of :data:`NOT_UNDERSTOOD` where it is none."""
    document: Mapping[str, Any] = json.loads(content or b"null")

    def value(column: Mapping[str, Any], fact: str) -> Value | None:
        found = column.get(fact)
        return None if found is None else Value(found["value"], found["misfit"])

    columns = (
        FileColumn(
            name=str(column["name"]),
            source_name=str(column.get("source_name") or column["name"]),
            arrow_type=str(column["arrow_type"]),
            mysql_type=str(column.get("mysql_type") or ""),
            charset=str(column.get("charset") or ""),
            absent=value(column, "absent"),
            added=value(column, "added"),
            generated=str(column.get("generated") or ""),
        )
        for column in document["columns"]
    )
    key = tuple(document.get("primary_key") or ())
    return Version(name, tuple(columns), key, int(document.get("valid_from") or 0))


def wrong_hashes(files: Sequence[DataFile]) -> dict[TableName | None, str]:
    """Compare files with the hashes in their manifests, a few at a time; what is wrong, by table."""

    def problem(file: DataFile) -> str | None:
        place = file.place
        try:
            with place.filesystem.open_input_stream(place.inside(file.path), compression=None) as stream:
                found = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            return f"{file.shown} cannot be read: {error}"
        if found == file.sha256:
            return None
        return (
            f"{file.shown} has the hash {found}, its manifest says {file.sha256}: the file was changed after"
            " the export; export that binary log again"
        )

    with ThreadPoolExecutor(4) as pool:
        told = zip(files, pool.map(problem, files), strict=True)
        return {file.table: text for file, text in told if text is not None}
