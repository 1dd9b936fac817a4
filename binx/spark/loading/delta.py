"""Delta Lake's transaction log over the Parquet files that a load writes.

The log is a folder of JSON files, a version each, that lists which files are added to a table and which are
taken from it (https://github.com/delta-io/delta/blob/master/PROTOCOL.md). It is written here as it is
specified, so neither the session nor its machine needs Delta's packages; Delta's readers need no Spark.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote, unquote
from uuid import uuid4

from pyspark.sql.types import DataType, DateType, StructField, StructType, TimestampNTZType

from .context import Load
from .images import COMMIT_DATE
from .manifests import TableName
from .outcome import LoadError
from .records import LOAD_FOLDER, DeltaLog, LoadedPart, TableState
from .storage import StoredFile

LOG = "_delta_log"
_HISTORY = "history"
_DATE = StructField(COMMIT_DATE, DateType())
_APPLICATION = "binx load"
_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
_REFUSED_CHARACTERS = " ,;{}()\n\t="
_PLAIN_PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 2}
_ZONELESS_PROTOCOL = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["timestampNtz"],
    # What version 2 of the protocol has for writers must be listed from version 7 on.
    "writerFeatures": ["appendOnly", "invariants", "timestampNtz"],
}


def log_path(root: str, version: int) -> str:
    """Where a version of the table whose folder is ``root`` stands."""
    return f"{root}/{LOG}/{version:020}.json"


def advance(
    former: DeltaLog | None,
    schema: StructType,
    *,
    load: int,
    added: Iterable[StoredFile],
    removed: Iterable[StoredFile] = (),
    partition: str | None = None,
) -> tuple[DeltaLog, bytes]:
    """The next version of a table, and the content of its file.

    Args:
        former: the version before; None for a new table.
        schema: the table's columns.
        load: the load that makes the version; readers find it as the transaction of the application.
        added: files that belong to the table from now on, with paths relative to its folder.
        removed: files that do no longer.
        partition: the column that folders of the files are named by.
    """
    shape = schema.json()
    log = DeltaLog(
        version=0 if former is None else former.version + 1,
        table=uuid4().hex if former is None else former.table,
        schema=shape,
    )
    now = time.time_ns() // 1_000_000
    actions: list[dict[str, Any]] = []
    protocol = _protocol(schema)
    if former is None or _protocol(StructType.fromJson(json.loads(former.schema))) != protocol:
        actions.append({"protocol": protocol})
    if former is None or former.schema != shape:
        metadata = {
            "id": log.table,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": shape,
            "partitionColumns": [] if partition is None else [partition],
            "configuration": {},
            "createdTime": now,
        }
        actions.append({"metaData": metadata})
    actions.append({"txn": {"appId": _APPLICATION, "version": load, "lastUpdated": now}})
    for file in removed:
        gone = {"path": _escaped(file.path), "deletionTimestamp": now, "dataChange": True}
        actions.append({"remove": gone})
    for file in added:
        new = {
            "path": _escaped(file.path),
            "partitionValues": {} if partition is None else _partition(file.path, partition),
            "size": file.bytes,
            "modificationTime": file.modified,
            "dataChange": True,
        }
        actions.append({"add": new})
    mode = "Append" if partition is not None else "Overwrite"
    said = {"timestamp": now, "operation": "WRITE", "operationParameters": {"mode": mode}}
    actions.append({"commitInfo": {**said, "engineInfo": _APPLICATION}})
    lines = [json.dumps(action, ensure_ascii=False, separators=(",", ":")) for action in actions]
    return log, ("\n".join(lines) + "\n").encode()


def _protocol(schema: StructType) -> Mapping[str, Any]:
    """What readers and writers must know for these types."""
    return _ZONELESS_PROTOCOL if _is_zoneless(schema) else _PLAIN_PROTOCOL


def _is_zoneless(schema: StructType) -> bool:
    return any(isinstance(field.dataType, TimestampNTZType) for field in schema.fields)


def _escaped(path: str) -> str:
    return quote(path, safe="/=")


def _partition(path: str, column: str) -> dict[str, str | None]:
    (value,) = [part[len(column) + 1 :] for part in path.split("/") if part.startswith(f"{column}=")]
    return {column: None if value == _NULL_PARTITION else unquote(value)}


def grown_schema(table: str, former: StructType | None, added: StructType) -> StructType:
    """The columns of a table to which rows with other columns are appended: new ones come last.

    Raises:
        LoadError: a column changed its type, and a Delta table has one type a column.
    """
    if former is None:
        return added
    types: dict[str, DataType] = {field.name.lower(): field.dataType for field in former.fields}
    for field in added.fields:
        known = types.get(field.name.lower())
        if known is not None and known != field.dataType:
            raise LoadError(
                f"{table}: {field.name} is {field.dataType.simpleString()} now and {known.simpleString()} in "
                "the Delta table of its history, which has one type a column: load everything into a new "
                "folder, where the types are united, or into Parquet"
            )
    new = [field for field in added.fields if field.name.lower() not in types]
    return StructType([*former.fields, *new])


def check_names(table: str, columns: Sequence[str]) -> None:
    """Whether Delta takes the columns' names.

    Raises:
        LoadError: it does not.
    """
    for name in columns:
        if any(character in name for character in _REFUSED_CHARACTERS):
            raise LoadError(
                f"{table}: Delta takes no space and none of ,;{{}}()= in a column's name, and there is "
                f"{name!r}: load into Parquet"
            )


def check_history(load: Load, table: TableName, rows: StructType) -> None:
    """Whether rows with these columns can become part of a table's history, before they are written.

    Raises:
        LoadError: a name or a type does not fit.
    """
    check_names(str(table), rows.names)
    _history_schema(load.tables[table], rows)


def _history_schema(state: TableState, rows: StructType) -> StructType:
    log = state.logs.get(_HISTORY)
    former = None if log is None else StructType.fromJson(json.loads(log.schema))
    return grown_schema(str(state.name), former, StructType([*rows.fields, _DATE]))


def stage_logs(load: Load) -> list[tuple[str, str]]:
    """Stage the next version of each table's log that the load changes; returns where each belongs.

    Raises:
        LoadError: another program has written to a table.
    """
    moves = []
    for part in load.record.parts:
        if part.rows:
            moves.append(_stage_history(load, load.tables[part.table], part))
    for state in load.tables.values():
        for kind, loads in state.snapshots.items():
            if loads[0] == load.record.load:
                moves.append(_stage_snapshot(load, state, kind, loads))
    return moves


def _stage_history(load: Load, state: TableState, part: LoadedPart) -> tuple[str, str]:
    root = f"{state.folder}/{_HISTORY}"
    added = []
    for file in load.storage.files(load.output.staged(root)):
        day, _, name = file.path.partition("/")
        added.append(replace(file, path=f"{day}/load={load.record.load}/{name}"))
    schema = _history_schema(state, StructType.fromJson(json.loads(part.schema)))
    return _stage(load, state, _HISTORY, root, schema, added=added, partition=COMMIT_DATE)


def _stage_snapshot(load: Load, state: TableState, kind: str, loads: Sequence[int]) -> tuple[str, str]:
    root = state.root(kind)
    files = load.storage.files(load.output.staged(state.snapshot(kind, loads[0])))
    added = [replace(file, path=f"{LOAD_FOLDER.format(loads[0])}/{file.path}") for file in files]
    removed = [
        replace(file, path=f"{LOAD_FOLDER.format(former)}/{file.path}")
        for former in loads[1:]
        for file in load.storage.files(state.snapshot(kind, former))
    ]
    return _stage(load, state, kind, root, state.shape(kind), added=added, removed=removed)


def _stage(
    load: Load,
    state: TableState,
    kind: str,
    root: str,
    schema: StructType,
    *,
    added: Sequence[StoredFile],
    removed: Sequence[StoredFile] = (),
    partition: str | None = None,
) -> tuple[str, str]:
    log, content = advance(
        state.logs.get(kind), schema, load=load.record.load, added=added, removed=removed, partition=partition
    )
    place = log_path(root, log.version)
    if load.storage.exists(place):
        raise LoadError(
            f"{load.storage.target(place)} already exists: another program has written to the Delta"
            " table, which only the loader may write; load into a new folder"
        )
    state.logs[kind] = log
    staged = load.output.staged(place)
    load.storage.replace(staged, content)
    return staged, place
