"""What exports say they hold: the manifests of one or more folders that ``binx to-parquet`` wrote.

Only what a manifest lists exists: a killed export leaves files behind that no manifest names. The
layout is that of the data set's contract, version 1.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .outcome import ExitCode, LoadError
from .storage import Storage, address_of

CONTRACT = 1
_FOLDER = "_manifest"
# What Python makes of JSON of another shape, of numbers like Infinity, and of brackets nested too deeply.
NOT_UNDERSTOOD = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
_CASCADES_LOGGED_SINCE = (9, 6)
_FILE_NUMBER = re.compile(r"^(?P<base>.*?)\.?(?P<number>\d+)$")


class TableName(NamedTuple):
    """A table by database and name, as the server spells them."""

    db: str
    table: str

    def __str__(self) -> str:
        return f"{self.db}.{self.table}"


@dataclass(frozen=True, slots=True)
class Source:
    """The binary log that an export was made from.

    ``base`` is its name without the number, ``time`` when it was begun (seconds since 1970),
    ``logs_cascades`` whether its server logs what foreign keys do to rows by themselves.
    """

    name: str
    identity: str
    base: str
    number: int
    server_id: int
    time: int
    logs_cascades: bool = False

    @property
    def key(self) -> str:
        """The name that tells it from all other binary logs."""
        return f"{self.name}.{self.identity}"


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file that a manifest lists; ``first`` and ``last`` are the SCNs that it holds.

    ``partial`` is False where the manifest says that all row images have all columns.
    """

    storage: Storage
    path: str
    kind: str
    table: TableName | None
    schema_version: str
    rows: int
    sha256: str
    first: int
    last: int
    bytes: int = 0
    partial: bool = True

    @property
    def address(self) -> str:
        """Where Spark reads it."""
        return address_of(self.storage, self.path)


@dataclass(frozen=True, slots=True)
class Manifest:
    """One export of one binary log.

    ``cover`` is the span of SCNs of which it has every transaction, None where it may lack some: those that
    its selection left out, or that damage took. Of the tables in ``deleted`` it has deletions.
    """

    name: str
    sha256: str
    source: Source
    first_commit: str
    files: tuple[DataFile, ...]
    losses: tuple[str, ...]
    cover: tuple[int, int] | None = None
    deleted: frozenset[TableName] = frozenset()

    def of_kind(self, kind: str) -> Iterator[DataFile]:
        """Its files of one kind: ``changes``, ``transactions``, ``statements`` or ``schema``."""
        return (file for file in self.files if file.kind == kind)


def read_manifests(storages: Sequence[Storage]) -> list[Manifest]:
    """All manifests of the given data sets, their sums checked; the same manifest twice counts once.

    Raises:
        LoadError: a folder holds no manifests, or one cannot be understood or contradicts itself.
    """
    manifests: dict[tuple[str, str], Manifest] = {}
    for storage in storages:
        names = [name for name in storage.names(_FOLDER) if name.endswith(".json")]
        if not names:
            raise LoadError(
                f"{storage.root} has no {_FOLDER}/*.json: expected the folder written by `binx"
                " to-parquet -o` (a killed export leaves no manifest; run it again)",
                ExitCode.ABSENT,
            )
        for name in names:
            manifest = _read(storage, f"{_FOLDER}/{name}")
            manifests.setdefault((manifest.source.key, manifest.sha256), manifest)
    return list(manifests.values())


def listed_rows(manifests: Iterable[Manifest]) -> int:
    """How many row images the manifests list."""
    return sum(file.rows for manifest in manifests for file in manifest.of_kind("changes"))


def _read(storage: Storage, path: str) -> Manifest:
    content = storage.read(path)
    place = storage.target(path)
    try:
        document = json.loads(content)
        contract = document["contract"]
        if contract != CONTRACT:
            raise LoadError(
                f"{place} has contract version {contract}, this loader supports {CONTRACT}: use the"
                " loader of the binx version that wrote it"
            )
        manifest = Manifest(
            name=path.rpartition("/")[2],
            sha256=hashlib.sha256(content).hexdigest(),
            source=_source(document["source"]),
            first_commit=document.get("first_commit_timestamp") or "",
            files=tuple(_file(storage, entry) for entry in document["files"]),
            losses=tuple(_loss(entry) for entry in document.get("losses", ())),
            cover=_cover(document),
            deleted=frozenset(
                TableName(entry["db"], entry["table"])
                for entry in document.get("tables", ())
                if entry.get("deletes")
            ),
        )
        _check_sums(place, document, manifest)
    except NOT_UNDERSTOOD as error:
        raise LoadError(
            f"{place} is not a manifest of binx: {type(error).__name__} {error}; export that binary log again"
        ) from error
    return manifest


def _source(entry: Mapping[str, Any]) -> Source:
    name = str(entry["name"])
    found = _FILE_NUMBER.match(name)
    number = entry.get("file_number")
    return Source(
        name=name,
        identity=str(entry["identity"]),
        base=found["base"] if found else name,
        number=int(number if number is not None else (found["number"] if found else 0)),
        server_id=int(entry["server_id"]),
        time=int(entry.get("header_timestamp") or entry.get("create_timestamp") or 0),
        logs_cascades=_logs_cascades(entry),
    )


def _logs_cascades(entry: Mapping[str, Any]) -> bool:
    numbers = re.match(r"(\d+)\.(\d+)", str(entry.get("server_version") or ""))
    if entry.get("flavour") != "mysql" or numbers is None:
        return False
    return (int(numbers[1]), int(numbers[2])) >= _CASCADES_LOGGED_SINCE


def _cover(document: Mapping[str, Any]) -> tuple[int, int] | None:
    first, last = document.get("first_commit_version"), document.get("last_commit_version")
    selection = document.get("request", {}).get("selection")
    if first is None or last is None or selection != {} or document.get("losses"):
        return None
    return int(first), int(last)


def _file(storage: Storage, entry: Mapping[str, Any]) -> DataFile:
    path = str(entry["path"])
    if path.startswith("/") or ".." in path.split("/"):
        raise ValueError(f"path {path!r} leads out of the data set")
    table = TableName(entry["db"], entry["table"]) if entry.get("table") is not None else None
    if entry["kind"] == "changes" and table is None:
        raise ValueError(f"{path} names no table")
    return DataFile(
        storage=storage,
        path=path,
        kind=entry["kind"],
        table=table,
        schema_version=str(entry.get("schema_version") or ""),
        rows=int(entry.get("rows") or 0),
        sha256=str(entry["sha256"] if entry["kind"] != "schema" else entry.get("sha256", "")),
        first=int(entry.get("first_commit_version") or 0),
        last=int(entry.get("last_commit_version") or 0),
        bytes=int(entry.get("bytes") or 0),
        partial=bool(entry.get("partial_rows", True)),
    )


def _loss(entry: object) -> str:
    return entry if isinstance(entry, str) else json.dumps(entry, sort_keys=True, ensure_ascii=False)


def _check_sums(place: str, document: Mapping[str, Any], manifest: Manifest) -> None:
    """Row images in the log = rows in Parquet + filtered + undecodable, for each table.

    Raises:
        LoadError: they are not, or the files' rows do not add up to what was written.
    """
    listed: Counter[TableName] = Counter()
    for file in manifest.of_kind("changes"):
        if file.table is not None:
            listed[file.table] += file.rows
    for entry in document.get("conservation", ()):
        table = TableName(entry["db"], entry["table"])
        accounted = entry["written"] + entry.get("filtered", 0) + entry.get("undecodable", 0)
        if entry["images"] != accounted or entry["written"] != listed[table]:
            raise LoadError(
                f"{place} does not add up for {table}: {entry['images']} row images in the log,"
                f" {accounted} accounted for, {entry['written']} reported as written, {listed[table]}"
                " in its files; export that binary log again"
            )


def check_hashes(files: Sequence[DataFile]) -> None:
    """Compare files with the hashes in their manifests, a few at a time.

    Raises:
        LoadError: a file is missing or its content is not what its manifest says.
    """
    with ThreadPoolExecutor(4) as pool:
        for file, found in zip(files, pool.map(lambda one: one.storage.sha256(one.path), files), strict=True):
            if found != file.sha256:
                raise LoadError(
                    f"{file.storage.target(file.path)} has the hash {found}, its manifest says "
                    f"{file.sha256}: the file was changed after the export; export that binary log again"
                )


class Absent(NamedTuple):
    """What a column holds that a row's image lacks; ``misfit`` where its type cannot hold it."""

    value: str | None
    misfit: str | None


@dataclass(frozen=True, slots=True)
class SchemaRecord:
    """One version of a table's columns, as the export recorded it; ``valid_from`` is an SCN.

    ``types`` are the columns' Arrow types as Arrow prints them, ``sql_types`` as SQL writes them, where that
    is known, by the columns' names in lower case. ``absent`` has the columns of which is known what they hold
    where an inserted row's image lacks them, ``added`` those that an ``ALTER TABLE`` added, and of which is
    known what rows have in them that were there.
    """

    version: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    primary_key: tuple[str, ...]
    valid_from: int
    ddl: str
    absent: Mapping[str, Absent] = field(default_factory=dict)
    added: Mapping[str, Absent] = field(default_factory=dict)
    sql_types: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, document: Mapping[str, Any], version: str) -> SchemaRecord:
        """From the JSON of ``schemas/<db>/<table>/<version>.json`` or of the loader's own state."""
        return cls(
            version=str(document.get("version") or version),
            columns=tuple(str(column["name"]) for column in document["columns"]),
            types=tuple(str(column["arrow_type"]) for column in document["columns"]),
            primary_key=tuple(document.get("primary_key") or ()),
            valid_from=int(document.get("valid_from") or 0),
            ddl=str(document.get("ddl") or ""),
            absent=_facts(document["columns"], "absent"),
            added=_facts(document["columns"], "added"),
            sql_types=document.get("sql_types") or _sql_types(document["columns"]),
        )

    def to_json(self) -> dict[str, Any]:
        """What :meth:`parse` reads."""
        return {
            "version": self.version,
            "columns": [
                {"name": name, "arrow_type": kind}
                | {
                    fact: known[name]._asdict()
                    for fact, known in (("absent", self.absent), ("added", self.added))
                    if name in known
                }
                for name, kind in zip(self.columns, self.types, strict=True)
            ],
            "primary_key": list(self.primary_key),
            "valid_from": self.valid_from,
            "ddl": self.ddl,
            "sql_types": dict(self.sql_types),
        }


def _sql_types(columns: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    known = ((column, column.get("mysql_type")) for column in columns)
    return {
        str(column.get("source_name") or column["name"]).lower(): str(kind) for column, kind in known if kind
    }


def _facts(columns: Sequence[Mapping[str, Any]], name: str) -> dict[str, Absent]:
    """What columns hold that an image lacks, of those of which it is known."""
    known = ((str(column["name"]), column.get(name)) for column in columns)
    return {name: Absent(fact["value"], fact["misfit"]) for name, fact in known if fact is not None}


def read_schema(file: DataFile) -> tuple[TableName, SchemaRecord]:
    """The schema record that a manifest lists, and the table that it is about.

    Raises:
        LoadError: it is not there or cannot be understood.
    """
    try:
        version = file.path.rpartition("/")[2].removesuffix(".json")
        document = json.loads(file.storage.read(file.path))
        return TableName(document["db"], document["table"]), SchemaRecord.parse(document, version)
    except NOT_UNDERSTOOD as error:
        place = file.storage.target(file.path)
        raise LoadError(f"{place} is not a schema record of binx: {type(error).__name__} {error}") from error
