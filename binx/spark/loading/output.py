"""The loader's output folder: what is committed, and how a load becomes part of it, whole or not at all.

::

    OUT/
      _state.json                                        the pointer: replaced last, it is the commit
      _loads/<n>.json                                    what load n took: manifests, files, rows
      <db>/<table>/history/commit_date=<day>/load=<n>/   row images, never touched again
      <db>/<table>/_current/v=<n>/                       the state as of load n; the last two are kept
      <db>/<table>/current -> _current/v=<n>             where the file system has links

A load is written to ``_staging/``. Then ``_pending.json`` names what will be moved, it is moved, and
``_state.json`` is replaced. A run that was killed before that is taken back by the next one from what
``_pending.json`` names; one that was killed after it is tidied up. Readers who want the committed state of a
file system without links find its folder in ``_state.json``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .chains import Chains
from .manifests import SchemaRecord, TableName
from .outcome import LoadError
from .plan import Taken
from .storage import Storage

CONTRACT = 1
STAGING = "_staging"
LOCK = "_lock"
_STATE = "_state.json"
_PENDING = "_pending.json"
_LOADS = "_loads"


@dataclass(frozen=True, slots=True)
class KnownSchema:
    """A schema record and the chain in which it was in force."""

    chain: str
    record: SchemaRecord


@dataclass(slots=True)
class TableState:
    """What is committed of one table.

    ``current`` and ``previous`` are the loads whose snapshots are kept, ``segments`` and ``era`` (table and
    schema version) what the current one was made from, ``high`` the last change in it (chain and SCN).
    """

    name: TableName
    folder: str
    key: list[str] = field(default_factory=list)
    snapshots: dict[str, list[int]] = field(default_factory=dict)
    segments: list[list[Any]] = field(default_factory=list)
    era: list[Any] = field(default_factory=list)
    high: list[Any] = field(default_factory=list)
    schemas: dict[str, KnownSchema] = field(default_factory=dict)
    partial: bool = False
    misfits: bool = False
    apart: list[str] = field(default_factory=list)

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> TableState:
        """What :meth:`to_json` wrote."""
        return cls(
            name=TableName(entry["db"], entry["table"]),
            folder=entry["folder"],
            key=entry["key"],
            snapshots=entry["snapshots"],
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
        )

    def to_json(self) -> dict[str, Any]:
        """For the state; ``paths`` are for readers."""
        return {
            "db": self.name.db,
            "table": self.name.table,
            "folder": self.folder,
            "paths": {kind: snapshot(self.folder, kind, loads[0]) for kind, loads in self.snapshots.items()},
            "key": self.key,
            "snapshots": self.snapshots,
            "segments": self.segments,
            "era": self.era,
            "high": self.high,
            "schemas": [{"chain": known.chain, **known.record.to_json()} for known in self.schemas.values()],
            "partial": self.partial,
            "misfits": self.misfits,
            "apart": self.apart,
        }


@dataclass(frozen=True, slots=True)
class TakenFile:
    """A file of row changes that a load took."""

    table: TableName
    path: str
    chain: str
    version: str
    sha256: str
    rows: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class LoadedPart:
    """What a load wrote to a table's history: the columns, as Spark's JSON, and where versions have theirs."""

    table: TableName
    rows: int
    schema: str
    columns: dict[str, tuple[str, ...]]
    stored: dict[str, dict[str, str]]


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
            "files": [
                [
                    *file.table,
                    file.path,
                    file.chain,
                    file.version,
                    file.sha256,
                    file.rows,
                    file.first,
                    file.last,
                ]
                for file in self.files
            ],
            "parts": [
                {
                    "db": part.table.db,
                    "table": part.table.table,
                    "rows": part.rows,
                    "schema": part.schema,
                    "columns": part.columns,
                    "stored": part.stored,
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
            files=[TakenFile(TableName(db, table), *rest) for db, table, *rest in document["files"]],
            parts=[
                LoadedPart(
                    TableName(part["db"], part["table"]),
                    part["rows"],
                    part["schema"],
                    {version: tuple(names) for version, names in part["columns"].items()},
                    part["stored"],
                )
                for part in document["parts"]
            ],
        )


@dataclass(slots=True)
class State:
    """All that is committed.

    ``statements`` are those that change tables as a whole: chain, SCN, ordinal, transaction, default
    database, text.
    """

    version: int = 0
    order: list[str] = field(default_factory=list)
    chains: Chains = field(default_factory=Chains)
    statements: list[list[Any]] = field(default_factory=list)
    tables: dict[TableName, TableState] = field(default_factory=dict)

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
        }


def snapshot(folder: str, kind: str, load: int) -> str:
    """The folder of a table's state (``current``, ``scd2``) as of a load."""
    return f"{folder}/_{kind}/v={load}"


def staged(path: str) -> str:
    """Where a folder is written before the commit."""
    return f"{STAGING}/{path}"


class Output:
    """The output folder, held by this run's lock."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.state = self._read_state()
        self._recover()
        self.loads = [self._read_load(number) for number in range(1, self.state.version + 1)]

    def _read_state(self) -> State:
        if not self.storage.exists(_STATE):
            return State()
        place = self.storage.target(_STATE)
        try:
            document = json.loads(self.storage.read(_STATE))
            if document["contract"] != CONTRACT:
                raise LoadError(
                    f"{place} was written by another version of the loader: load into a new folder"
                )
            return State.from_json(document)
        except (KeyError, TypeError, ValueError) as error:
            raise LoadError(f"{place} cannot be understood ({error}): load into a new folder") from error

    def _read_load(self, number: int) -> LoadRecord:
        path = f"{_LOADS}/{number}.json"
        try:
            return LoadRecord.from_json(json.loads(self.storage.read(path)))
        except (KeyError, TypeError, ValueError) as error:
            place = self.storage.target(path)
            raise LoadError(f"{place} cannot be understood ({error}): load into a new folder") from error

    def _recover(self) -> None:
        """Take back what a killed run began to publish, or finish what it had committed."""
        if self.storage.exists(_PENDING):
            pending = json.loads(self.storage.read(_PENDING))
            if pending["load"] > self.state.version:
                for _, destination in pending["moves"]:
                    self.storage.remove(destination)
                self.storage.remove(f"{_LOADS}/{pending['load']}.json")
            else:
                self._show(pending["tables"])
            self.storage.remove(_PENDING)
        self.storage.remove(STAGING)

    def taken(self) -> Mapping[TableName, list[Taken]]:
        """The files that earlier loads took, by table."""
        found: dict[TableName, list[Taken]] = {}
        for load in self.loads:
            for file in load.files:
                found.setdefault(file.table, []).append(Taken(file.chain, file.sha256, file.first, file.last))
        return found

    def commit(self, state: State, record: LoadRecord, moves: Iterable[tuple[str, str]]) -> None:
        """Publish a load: all of it, or after a kill nothing.

        Args:
            state: what is committed from now on.
            record: what the load took.
            moves: staged folders and where they belong.
        """
        listed = list(moves)
        renewed = [
            table.folder
            for table in state.tables.values()
            for loads in table.snapshots.values()
            if loads[0] == state.version
        ]
        pending = {"load": state.version, "moves": listed, "tables": renewed}
        self.storage.replace(_PENDING, json.dumps(pending).encode())
        for source, destination in listed:
            self.storage.move(source, destination)
        self.storage.replace(f"{_LOADS}/{state.version}.json", json.dumps(record.to_json()).encode())
        self.storage.replace(_STATE, json.dumps(state.to_json(), ensure_ascii=False, indent=1).encode())
        self.state = state
        self._show(renewed)
        self.storage.remove(_PENDING)
        self.storage.remove(STAGING)

    def _show(self, folders: Iterable[str]) -> None:
        """Let ``current`` lead to the committed snapshots, and remove those that are no longer kept."""
        shown = set(folders)
        for table in self.state.tables.values():
            if table.folder not in shown:
                continue
            for kind, loads in table.snapshots.items():
                self.storage.link(f"{table.folder}/{kind}", f"_{kind}/v={loads[0]}")
                kept = {f"v={load}" for load in loads}
                for name in self.storage.names(f"{table.folder}/_{kind}"):
                    if name not in kept:
                        self.storage.remove(f"{table.folder}/_{kind}/{name}")
