"""Publish ``current/`` and ``scd2/`` as Delta tables; the ``deltalake`` library writes the transaction logs.

Delta uses the files listed in the state; nothing is copied. The difference between a table's log and the
state becomes one version of the table. After a load that was killed before this, the next one catches up.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from binx.errors import BinxError
from binx.lake.place import LakeStore
from binx.lake.published.spark_types import spark_types
from binx.lake.state.loaded_state import RangeFile, State
from binx.version import install_command

if TYPE_CHECKING:
    from deltalake import DeltaTable, Schema

APPLICATION = "binx load"
_VERSIONS_A_CHECKPOINT = 10
_TOGETHER = 16


def publish(state: State, place: LakeStore, former: Collection[str]) -> None:
    """Bring the Delta tables up to the committed state."""
    try:
        from deltalake.exceptions import DeltaError
    except ImportError as error:
        raise BinxError(
            "the load is committed; --format delta needs the Python package deltalake:"
            f" {install_command('delta')}, then load again"
        ) from error
    tables: dict[str, Sequence[RangeFile]] = {f"{folder}/current": () for folder in former}
    tables |= {f"{folder}/scd2": () for folder in former}
    # A stopped table keeps its former name's folder, which another table may have by now; that one wins.
    names = {life: record.name for life, record in state.records.items()}
    for life in sorted(state.lives.values(), key=lambda life: names.get(life.life) == life.name):
        tables[f"{life.folder}/current"] = life.ranges
        tables[f"{life.folder}/scd2"] = life.versions
    for folder, files in tables.items():
        try:
            _publish(place, folder, files, state.version)
        except DeltaError as error:
            raise BinxError(
                "the load is committed, but its Delta table could not be written; the next load tries again:"
                f" {error}",
                path=place.shown(folder),
            ) from error


def _publish(place: LakeStore, folder: str, files: Sequence[RangeFile], load: int) -> None:
    """Commit the state's list of files to a table's log."""
    from deltalake import CommitProperties, DeltaTable, TableFeatures, Transaction
    from deltalake.transaction import RemoveAction, create_table_with_add_actions

    uri = place.shown(folder)
    exists = DeltaTable.is_deltatable(uri)
    if not exists and not files:
        return
    wanted = [file.path.removeprefix(f"{folder}/") for file in files]
    table = DeltaTable(uri) if exists else None
    known = {} if table is None else _sizes(table)
    if table is not None and set(known) == set(wanted):
        return
    new = [name for name in wanted if name not in known]
    shapes = _footers(place, folder, new or wanted[:1])
    schema = table.schema() if table is not None and not shapes else _schema(next(iter(shapes.values())))
    added = [_added(place, folder, name, shapes[name]) for name in new]
    properties = CommitProperties(app_transactions=[Transaction(APPLICATION, load)])
    if table is None:
        create_table_with_add_actions(uri, schema, added, mode="error", commit_properties=properties)
        return
    if not set(known) & set(wanted) and added:
        # No file stays: the columns may have changed.
        features = table.protocol().writer_features or []
        if "timestampNtz" not in features and "timestamp_ntz" in schema.to_json():
            table.alter.add_feature(
                TableFeatures.TimestampWithoutTimezone, allow_protocol_versions_increase=True
            )
        table.create_write_transaction(added, "overwrite", schema, commit_properties=properties)
    else:
        now = int(time.time() * 1000)
        gone = [RemoveAction(name, True, now, size) for name, size in known.items() if name not in wanted]
        table.create_write_transaction([*added, *gone], "append", schema, commit_properties=properties)
    if (table.version() + 1) % _VERSIONS_A_CHECKPOINT == 0:
        DeltaTable(uri).create_checkpoint()


def _sizes(table: DeltaTable) -> dict[str, int]:
    """Return the files of a table's last version, with their sizes in bytes."""
    actions = pa.table(table.get_add_actions(flatten=True))
    names = map(unquote, actions.column("path").to_pylist())
    return dict(zip(names, actions.column("size_bytes").to_pylist(), strict=True))


def _footers(place: LakeStore, folder: str, names: Sequence[str]) -> dict[str, pq.FileMetaData]:
    def read(name: str) -> pq.FileMetaData:
        return pq.read_metadata(place.inside(f"{folder}/{name}"), filesystem=place.filesystem)

    with ThreadPoolExecutor(_TOGETHER) as pool:
        return dict(zip(names, pool.map(read, names), strict=True))


def _schema(footer: pq.FileMetaData) -> Schema:
    from deltalake import Schema

    return Schema.from_arrow(spark_types(footer.schema.to_arrow_schema()))


def _added(place: LakeStore, folder: str, name: str, footer: pq.FileMetaData) -> Any:
    from deltalake.transaction import AddAction

    info = place.filesystem.get_file_info(place.inside(f"{folder}/{name}"))
    modified = (info.mtime_ns or 0) // 1_000_000
    return AddAction(name, info.size, {}, modified, True, json.dumps(_statistics(footer)))


def _statistics(footer: pq.FileMetaData) -> dict[str, Any]:
    """Return Delta's statistics of a file, for data skipping; bounds only of integers and short texts."""
    document: dict[str, Any] = {
        "numRecords": footer.num_rows,
        "minValues": {},
        "maxValues": {},
        "nullCount": {},
    }
    for column in range(footer.num_columns):
        name = footer.schema.column(column).path
        groups = [footer.row_group(group).column(column).statistics for group in range(footer.num_row_groups)]
        if "." in name or not all(group is not None and group.has_null_count for group in groups):
            continue
        document["nullCount"][name] = sum(group.null_count for group in groups)
        if groups and all(group.has_min_max and isinstance(group.min, int | str) for group in groups):
            document["minValues"][name] = min(group.min for group in groups)
            document["maxValues"][name] = max(group.max for group in groups)
    return document
