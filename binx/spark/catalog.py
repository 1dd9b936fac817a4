"""Tables of a catalog of the Spark session as the only store of rows, by its engine (Iceberg, Delta).

A load copies the rows of the keys that have changes out of a table (all rows, if its columns changed), merges
the images into them as it does with files of ``current/``, and commits: the state lists the files with the
rows before and after. Then ``MERGE INTO`` brings the table from the one to the other, and the files go. If a
load was killed in between, the next one does that first: merging again changes nothing.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa

from binx.errors import BinxError
from binx.lake.arrow.column_types import can_misfit, output_names
from binx.lake.arrow.images import stored_rows, united
from binx.lake.load_plan import made_anew
from binx.lake.options import LoadOptions
from binx.lake.place import LakeStore
from binx.lake.published.spark_types import spark_type, spark_types
from binx.lake.state.loaded_state import CatalogRows, LifeState, RangeFile, State
from binx.lake.table_name import TableName
from binx.lake.tables.lives import TableHistory
from binx.lake.tasks.image_sources import RowSource
from binx.lake.tasks.work import Work
from binx.rows.ddl.tokens import identifier
from binx.spark.catalog_table import LIFE, LOAD, VERSION_LOAD, WRITER, CatalogTable, Columns, Key, TableLayout
from binx.spark.frames import spread_of
from binx.spark.session import reason_of
from binx.spark.type_names import sql_name
from binx.spark.worker import keep_modules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TOGETHER = 4
_FEW = 100_000
"""So many row images have few keys: each executor gets them all, and one task writes their rows."""
_VERSIONS = "_versions"
_TAG_DIGITS = 12


class CatalogStore:
    """The tables of a catalog that hold a state's rows.

    ``name`` is a catalog with a namespace for each database, or a catalog and a namespace whose tables are
    named ``<db>_<table>``. Problems of a table are collected in ``errors``, files whose rows are in their
    table and that no reader has had in ``merged``.
    """

    def __init__(self, state: State, place: LakeStore, name: str, options: LoadOptions) -> None:
        self._state, self._place, self._name = state, place, name.split(".")
        self._partitions, self._orders = dict(options.partition_by), dict(options.sort_by)
        self._shared: set[str] = set()
        self.errors: dict[TableName, str] = {}
        self.merged: set[str] = set()
        if not state.writer:
            state.writer = uuid4().hex

    def target_of(self, name: TableName, suffix: str = "") -> str:
        """Return the name of a table in the catalog, as SQL has it."""
        table = f"{name.table}{suffix}"
        inside = [name.db, table] if len(self._name) == 1 else [f"{name.db}_{table}"]
        return ".".join(map(identifier, [*self._name, *inside]))

    @property
    def is_behind(self) -> bool:
        """Whether a table lacks what is committed."""
        return bool(self._state.emptied) or any(life.is_pending for life in self._state.lives.values())

    def copy_rows(
        self, spark: SparkSession, works: Sequence[Work], lives: Sequence[TableHistory]
    ) -> list[Work]:
        """Return the works with the rows that they start from; those whose table is not there begin again."""
        by_id = {life.id: life for life in lives}

        def copied(work: Work) -> Work:
            if work.former is None or work.former.catalog is None:
                return work
            work.error = self.errors.get(work.former.name, "")
            if not work.error:
                with self._noted(work.goal.name):
                    work = self._copied(spark, work, by_id[work.life])
                work.error = self.errors.pop(work.goal.name, "")
            return work

        with ThreadPoolExecutor(_TOGETHER) as pool:
            return list(pool.map(copied, works))

    def _copied(self, spark: SparkSession, work: Work, life: TableHistory) -> Work:
        former = work.former
        assert former is not None
        table = self._table(spark, former)
        if not self._is_as_left(table.properties(), former):
            return made_anew(work, life)
        is_all = len(work.epochs) > former.epochs or former.folder != work.goal.folder
        if is_all and former.scd2:
            # Versions that have ended are in no file.
            return made_anew(work, life)
        sources = [
            RowSource(work.life, unit, "", None, work.epochs[unit.epoch], unit.epoch, self._place.uri)
            for unit in work.to_apply
        ]
        rows = sum(unit.file.rows for unit in work.to_apply)
        key = _key_of(former)
        parts = 1 if rows <= _FEW else spark.sparkContext.defaultParallelism
        keys = None if is_all else self._keys(spark, sources, former, key)
        if keys is not None and parts == 1:
            # Spark does not know how few they are, and would shuffle the table.
            keys = keys.hint("broadcast")
        files = table.copy_rows(f"{work.goal.folder}/current", _columns_of(former), key, keys, parts)
        work.copied, work.copied_all = tuple(files), is_all
        work.state = replace(former, ranges=work.copied, lows="", closed=(), held=())
        return work

    def _is_as_left(self, found: Mapping[str, str], life: LifeState) -> bool:
        """Whether a table has the rows of a life, as the load that changed it last left them."""
        assert life.catalog is not None
        noted = (self._state.writer, _tag(life), str(life.catalog.load))
        return (found.get(WRITER), found.get(LIFE), found.get(LOAD)) == noted

    def _keys(
        self, spark: SparkSession, sources: Sequence[RowSource], former: LifeState, key: Key
    ) -> DataFrame:
        """Return the keys of row images, as the table has them."""
        names = output_names(former.columns)
        kinds = [sql_name(spark_type(_schema_of(former).field(names[number]).type)) for number in former.key]
        defined = []
        for number, ((name, has_misfits), kind) in enumerate(zip(key, kinds, strict=True)):
            defined.append(f"{identifier(name)} {kind}")
            defined += [f"`misfit {number}` string"] if has_misfits else []
        spread = spread_of(spark, [*map(pickle.dumps, sources)], pa.binary())
        columns = tuple(
            zip(former.key, (name for name, _ in key), (misfit for _, misfit in key), strict=True)
        )
        return spread.mapInArrow(partial(_read_keys, columns), ", ".join(defined)).distinct()

    def taken(self, life: LifeState, work: Work) -> LifeState:
        """Return a state whose files are to be brought into the catalog's table."""
        former, load, known = work.former, self._state.version + 1, self._state.lives.get(life.life)
        if known is not None and known.catalog is not None and known.name != life.name:
            self._state.emptied.append(known.name)
        if work.copied is None or former is None or former.catalog is None:
            life = replace(life, catalog=None)
            return replace(life, catalog=CatalogRows(load, life.rows, life.unknown, is_new=True))
        rows = CatalogRows(
            load,
            former.rows + _living(life.ranges) - _living(work.copied),
            former.unknown + _unknown(life.ranges) - _unknown(work.copied),
            before=work.copied,
            columns=former.columns,
            key=former.key,
            is_all=work.copied_all,
            is_new=former.name != life.name,
        )
        return replace(life, catalog=rows)

    def moved(self, life: LifeState) -> LifeState:
        """Return a state whose files, which readers may have open, are to be brought into a table."""
        self._shared |= {file.path for file in life.files}
        load = self._state.version + 1
        return replace(life, catalog=CatalogRows(load, life.rows, life.unknown, is_new=True))

    def bring_up(self, spark: SparkSession) -> None:
        """Bring the tables up to the committed state, which lists no files of theirs then."""
        owners: dict[str, TableName] = {}
        for life in sorted(self._state.lives.values(), key=lambda life: bool(life.ranges)):
            for suffix in ("", _VERSIONS)[: 1 + life.scd2] if life.catalog is not None else ():
                target = self.target_of(life.name, suffix)
                other = owners.setdefault(target.lower(), life.name)
                if other != life.name:
                    self.errors[life.name] = f"{target} has the rows of {other}"
        behind = [
            life for life in self._state.lives.values() if life.is_pending and life.name not in self.errors
        ]
        with ThreadPoolExecutor(_TOGETHER) as pool:
            running = {pool.submit(self._bring, spark, life): life for life in behind}
            for done in as_completed(running):
                life = running[done]
                with self._noted(life.name):
                    done.result()
                    self.merged |= {file.path for file in life.files} - self._shared
                    self._state.lives[life.life] = life.without_files()

    def empty(self, spark: SparkSession) -> None:
        """Delete the rows of tables that have none now."""
        used = {life.name for life in self._state.lives.values() if life.catalog is not None}
        for name in list(self._state.emptied):
            with self._noted(name):
                for suffix in ("", _VERSIONS) if name not in used else ():
                    table = CatalogTable(spark, self._place, self.target_of(name, suffix))
                    if table.properties().get(WRITER) == self._state.writer:
                        table.empty()
                self._state.emptied.remove(name)

    @contextmanager
    def _noted(self, name: TableName) -> Iterator[None]:
        """Note what fails of a table, and go on."""
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        try:
            yield
        except (PySparkException, Py4JError, BinxError, OSError, pa.ArrowException) as error:
            self.errors[name] = (
                f"{self.target_of(name)} could not be brought up to what is committed; the next load tries"
                f" again: {reason_of(error)}"
            )

    def _table(self, spark: SparkSession, life: LifeState, suffix: str = "") -> CatalogTable:
        load = 0 if life.catalog is None else life.catalog.load
        return CatalogTable(spark, self._place, self.target_of(life.name, suffix), _tag(life), load)

    def _bring(self, spark: SparkSession, life: LifeState) -> None:
        rows = life.catalog
        assert rows is not None
        columns, key = _columns_of(life), _key_of(life)
        files, before = ([file.path for file in listed] for listed in (life.ranges, rows.before))
        former = _columns_of(replace(life, columns=rows.columns)) if rows.columns else {}
        table = self._table(spark, life)
        self._prepare(table, life, columns)
        there = table.conform(columns, is_new=rows.is_new)
        carried = {identity: column for identity, column in former.items() if identity in there}
        keeps_key = rows.key == life.key and {*map(str, life.key)} <= carried.keys()
        if rows.is_new or (rows.is_all and not keeps_key):
            table.replace_rows(columns, files)
        else:
            table.merge(columns, key, files, before, carried)
        if life.scd2:
            self._bring_versions(spark, life, columns, before, former)
        table.note(**{LIFE: _tag(life), LOAD: str(rows.load)})

    def _prepare(self, table: CatalogTable, life: LifeState, columns: Columns) -> None:
        """Make the table, if need be.

        Raises:
            BinxError: it is not the one that the load has read, or has rows of something else.
        """
        assert life.catalog is not None
        found = table.properties()
        is_ours = found.get(WRITER) == self._state.writer
        is_same = is_ours and found.get(LIFE) == _tag(life) and int(found.get(LOAD, 0)) <= life.catalog.load
        if not life.catalog.is_new and not is_same:
            raise BinxError("it is not the table that the load began with: load with --rebuild")
        if not is_ours:
            layout = TableLayout(self._partitions.get(life.name, ""), self._orders.get(life.name, ""))
            table.take(self._state.writer, columns, layout, is_shared=len(self._name) > 1)

    def _bring_versions(
        self, spark: SparkSession, life: LifeState, columns: Columns, before: Sequence[str], former: Columns
    ) -> None:
        assert life.catalog is not None
        table, own = self._table(spark, life, _VERSIONS), _version_columns(columns)
        self._prepare(table, life, own)
        table.conform(own, is_new=life.catalog.is_new)
        versions = [file.path for file in life.versions]
        if life.catalog.is_new:
            stored = {name: column for name, column in own.items() if name != VERSION_LOAD}
            table.replace_rows(stored, versions)
        else:
            table.merge_versions(own, _key_of(life), versions, before, former)
        table.note(**{LIFE: _tag(life), LOAD: str(life.catalog.load)})


def _living(files: Sequence[RangeFile]) -> int:
    return sum(file.rows - file.deleted for file in files)


def _unknown(files: Sequence[RangeFile]) -> int:
    return sum(file.unknown for file in files)


def _tag(life: LifeState) -> str:
    """Return a short text for a loaded table, which columns and properties note."""
    return hashlib.sha256(life.life.encode()).hexdigest()[:_TAG_DIGITS]


def _schema_of(life: LifeState) -> pa.Schema:
    """Return the columns that files of ``current/`` have."""
    names, misfits = output_names(life.columns), any(map(can_misfit, life.columns))
    schema = stored_rows(united([], life.stored), life.stored, names, misfits=misfits).schema
    return schema.append(pa.field("_deleted", pa.bool_())) if life.soft_deletes else schema


def _columns_of(life: LifeState) -> Columns:
    """Return the columns of a table's rows by identity."""
    names = output_names(life.columns)
    ids = {name: str(number) for number, name in names.items()}
    schema = spark_types(_schema_of(life))
    return {ids.get(field.name, field.name): (field.name, sql_name(field.type)) for field in schema}


def _version_columns(columns: Columns) -> Columns:
    """Return the columns of versions, for those of rows."""
    own = {name: column for name, column in columns.items() if name not in ("_commit_timestamp", "_deleted")}
    times = {name: (name, "timestamp") for name in ("valid_from", "valid_to")}
    load = VERSION_LOAD
    while load in {name.lower() for name, _ in own.values()}:
        load += "_"
    return {**own, **times, "is_current": ("is_current", "boolean"), VERSION_LOAD: (load, "bigint")}


def _key_of(life: LifeState) -> Key:
    names = output_names(life.columns)
    misfits = {column.id for column in life.columns if can_misfit(column)}
    return [(names[number], number in misfits) for number in life.key]


def _read_keys(
    columns: Sequence[tuple[int, str, bool]], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Read the keys of sources; runs in a task."""
    keep_modules()
    for batch in batches:
        for packed in batch.column(0).to_pylist():
            for rows in pickle.loads(packed).images(only_key=True):
                found: dict[str, Any] = {}
                for number, (identity, name, has_misfits) in enumerate(columns):
                    values = rows.column(f"v{identity}")
                    found[name] = values.cast(spark_type(values.type))
                    if has_misfits:
                        misfits = f"m{identity}"
                        found[f"misfit {number}"] = (
                            rows.column(misfits)
                            if misfits in rows.column_names
                            else pa.nulls(len(rows), pa.string())
                        )
                yield from pa.table(found).to_batches()
