"""What is committed, as the output folder's own files keep it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .chains import Chains
from .manifests import SchemaRecord, TableName
from .plan import Event, Span

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

CONTRACT = 4
PARQUET, DELTA, ICEBERG = "parquet", "delta", "iceberg"
FORMATS = (PARQUET, DELTA, ICEBERG)
LOAD_FOLDER = "v={}"
"""The folder of one snapshot, by the load that made it."""


@dataclass(frozen=True, slots=True)
class KnownSchema:
    """A schema record and the chain in which it was in force."""

    chain: str
    record: SchemaRecord


@dataclass(frozen=True, slots=True)
class DeltaLog:
    """How far the log of a Delta table is: its last version, the table's id, its schema as Spark's JSON."""

    version: int
    table: str
    schema: str


@dataclass(slots=True)
class TableState:
    """What is committed of one table.

    ``snapshots`` are the loads whose snapshots are kept, by kind, the committed one first, ``shapes`` that
    one's schema as Spark's JSON. ``segments`` and ``era`` (table and schema version) are what the current one
    was made from, no segments where a load brought what it lacks; ``high`` is the last change in it (chain
    and SCN). ``format`` is that of the tables, ``logs`` are those of Delta's by kind, ``history`` included.
    ``begun`` tells whether the logs have its beginning.
    """

    name: TableName
    folder: str
    format: str = PARQUET
    key: list[str] = field(default_factory=list)
    snapshots: dict[str, list[int]] = field(default_factory=dict)
    shapes: dict[str, str] = field(default_factory=dict)
    segments: list[list[Any]] = field(default_factory=list)
    era: list[Any] = field(default_factory=list)
    high: list[Any] = field(default_factory=list)
    schemas: dict[str, KnownSchema] = field(default_factory=dict)
    partial: bool = False
    misfits: bool = False
    apart: list[str] = field(default_factory=list)
    logs: dict[str, DeltaLog] = field(default_factory=dict)
    begun: bool = True

    def root(self, kind: str) -> str:
        """The folder of all snapshots of a kind: a Delta table is that folder, others are one in it."""
        return f"{self.folder}/{kind}" if self.format == DELTA else f"{self.folder}/_{kind}"

    def snapshot(self, kind: str, load: int) -> str:
        """The folder of the state (``current``, ``scd2``) as of a load."""
        return f"{self.root(kind)}/{LOAD_FOLDER.format(load)}"

    def shape(self, kind: str) -> StructType:
        """The columns of the committed snapshot."""
        from pyspark.sql.types import StructType

        return StructType.fromJson(json.loads(self.shapes[kind]))

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> TableState:
        """What :meth:`to_json` wrote."""
        return cls(
            name=TableName(entry["db"], entry["table"]),
            folder=entry["folder"],
            format=entry.get("format", PARQUET),
            key=entry["key"],
            snapshots=entry["snapshots"],
            shapes=entry["shapes"],
            segments=entry["segments"],
            era=entry["era"],
            high=entry["high"],
            schemas={
                known["version"]: KnownSchema(known["chain"], SchemaRecord.parse(known, known["version"]))
                for known in entry["schemas"]
            },
            partial=entry["partial"],
            misfits=entry["misfits"],
            apart=entry["apart"],
            logs={kind: DeltaLog(*log) for kind, log in entry.get("logs", {}).items()},
            begun=entry.get("complete", "yes") == "yes",
        )

    def to_json(self) -> dict[str, Any]:
        """For the state; ``paths`` are for readers."""
        return {
            "db": self.name.db,
            "table": self.name.table,
            "folder": self.folder,
            "format": self.format,
            "paths": {
                kind: self.root(kind) if self.format == DELTA else self.snapshot(kind, loads[0])
                for kind, loads in self.snapshots.items()
            },
            "key": self.key,
            "snapshots": self.snapshots,
            "shapes": self.shapes,
            "segments": self.segments,
            "era": self.era,
            "high": self.high,
            "schemas": [{"chain": known.chain, **known.record.to_json()} for known in self.schemas.values()],
            "partial": self.partial,
            "misfits": self.misfits,
            "apart": self.apart,
            "complete": "yes" if self.begun else "partial",
            "logs": {kind: [log.version, log.table, log.schema] for kind, log in self.logs.items()},
        }


@dataclass(frozen=True, slots=True)
class TakenFile:
    """A file of row changes that a load took; ``cover`` is that of its manifest."""

    table: TableName
    path: str
    chain: str
    version: str
    sha256: str
    rows: int
    first: int
    last: int
    cover: Span | None = None

    @classmethod
    def from_json(cls, entry: Sequence[Any]) -> TakenFile:
        """What :meth:`to_json` wrote."""
        db, table, path, chain, version, sha256, rows, first, last, cover = entry
        span = None if cover is None else (cover[0], cover[1])
        return cls(TableName(db, table), path, chain, version, sha256, rows, first, last, span)

    def to_json(self) -> list[Any]:
        """For the load's record."""
        return [
            *self.table, self.path, self.chain, self.version, self.sha256,
            self.rows, self.first, self.last, self.cover,
        ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class LoadedPart:
    """What a load wrote to a table's history.

    ``schema`` is Spark's JSON; ``columns`` are those of each schema version as its files have them,
    ``stored`` where each of them stands. ``steady`` are columns of history that no update changed, taken
    together; none where that is not known.
    """

    table: TableName
    rows: int
    schema: str
    columns: dict[str, tuple[str, ...]]
    stored: dict[str, dict[str, str]]
    steady: list[str] = field(default_factory=list)


@dataclass(slots=True)
class LoadRecord:
    """What one load took and wrote; ``statements`` are files of statements, by chain and hash."""

    load: int
    manifests: list[dict[str, str]] = field(default_factory=list)
    statements: list[tuple[str, str]] = field(default_factory=list)
    files: list[TakenFile] = field(default_factory=list)
    parts: list[LoadedPart] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """What :meth:`from_json` reads."""
        return {
            "load": self.load,
            "manifests": self.manifests,
            "statements": self.statements,
            "files": [file.to_json() for file in self.files],
            "parts": [
                {
                    "db": part.table.db,
                    "table": part.table.table,
                    "rows": part.rows,
                    "schema": part.schema,
                    "columns": part.columns,
                    "stored": part.stored,
                    "steady": part.steady,
                }
                for part in self.parts
            ],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> LoadRecord:
        """What :meth:`to_json` wrote."""
        return cls(
            load=document["load"],
            manifests=document["manifests"],
            statements=[(chain, sha256) for chain, sha256 in document["statements"]],
            files=[TakenFile.from_json(entry) for entry in document["files"]],
            parts=[
                LoadedPart(
                    TableName(part["db"], part["table"]),
                    part["rows"],
                    part["schema"],
                    {version: tuple(names) for version, names in part["columns"].items()},
                    part["stored"],
                    part["steady"],
                )
                for part in document["parts"]
            ],
        )


@dataclass(slots=True)
class State:
    """All that is committed.

    ``statements`` are those that later loads need: chain, SCN, ordinal, transaction, time, default
    database, text. ``withheld`` are the XA transactions whose rows are in no state, and when
    they were prepared.
    """

    version: int = 0
    order: list[str] = field(default_factory=list)
    chains: Chains = field(default_factory=Chains)
    statements: list[list[Any]] = field(default_factory=list)
    tables: dict[TableName, TableState] = field(default_factory=dict)
    withheld: list[Event] = field(default_factory=list)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> State:
        """What :meth:`to_json` wrote."""
        tables = [TableState.from_json(entry) for entry in document["tables"]]
        return cls(
            version=document["version"],
            order=document["order"],
            chains=Chains.from_json(document["chains"]),
            statements=document["statements"],
            tables={table.name: table for table in tables},
            withheld=[(transaction, time) for transaction, time in document["withheld"]],
        )

    def to_json(self) -> dict[str, Any]:
        """The content of the pointer."""
        return {
            "contract": CONTRACT,
            "version": self.version,
            "order": self.order,
            "chains": self.chains.to_json(),
            "statements": self.statements,
            "tables": [table.to_json() for table in self.tables.values()],
            "withheld": self.withheld,
        }
