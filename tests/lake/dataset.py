"""Small data sets as ``to-parquet`` writes them, and a model of the server whose changes they hold.

:class:`Server` keeps its tables in dictionaries, which are what a load must come to, and notes every row
image; :func:`write_export` writes images as files with their manifest, by the layout of the contract.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from binx.dataset.statement_batches import statements_schema
from binx.event.gtid.sets import GtidSet
from binx.event.statement_digest import digest_text

START = datetime(2026, 11, 20, 23, 0, tzinfo=UTC)
Key = tuple[Any, ...]
Name = tuple[str, str]


SQL_TYPES = {
    pa.int8(): "tinyint", pa.int16(): "smallint", pa.int32(): "int", pa.int64(): "bigint",
    pa.uint64(): "bigint unsigned", pa.float32(): "float", pa.float64(): "double", pa.bool_(): "bit(1)",
    pa.date32(): "date", pa.timestamp("us"): "datetime(6)", pa.timestamp("us", "UTC"): "timestamp(6)",
    pa.duration("us"): "time(6)", pa.string(): "varchar(100)", pa.binary(): "varbinary(100)",
}  # fmt: skip


def sql_type(kind: pa.DataType) -> str:
    """The type on the server of a column of this type, as COLUMN_TYPE has it."""
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return SQL_TYPES.get(kind, "")


def column_effect(name: str, kind: pa.DataType, **facts: Any) -> dict[str, Any]:
    """A column as ``effects`` of a statement have it."""
    return {"name": name, "mysql_type": sql_type(kind), "arrow_type": str(kind), "nullable": True, **facts}


@dataclass(frozen=True)
class Version:
    """A schema version of a table."""

    fields: tuple[tuple[str, pa.DataType], ...]
    key: tuple[str, ...]
    ddl: str
    valid_from: int

    @property
    def columns(self) -> list[str]:
        return [name for name, _ in self.fields]

    @property
    def name(self) -> str:
        text = f"{self.fields} {self.key}"
        return hashlib.sha256(text.encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Image:
    """A row image; ``present`` is None where all columns are."""

    table: Name
    version: Version
    change: str
    scn: int
    row: int
    transaction: str
    time: datetime
    values: Mapping[str, Any]
    present: frozenset[str] | None = None


@dataclass(frozen=True)
class Statement:
    scn: int
    transaction: str
    time: datetime
    db: str
    sql: str
    kind: str = "ddl"
    effects: tuple[Mapping[str, Any], ...] = ()


@dataclass
class Log:
    """One binary log of the model server."""

    number: int
    images: list[Image] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    time: int = 0
    versions: list[tuple[Name, Version]] = field(default_factory=list)

    def known_versions(self) -> list[tuple[Name, Version]]:
        """The schema versions that began in it, or that its images have, as an export of it lists them."""
        met = self.versions + [(image.table, image.version) for image in self.images]
        return list({(table, version.name): (table, version) for table, version in met}.values())


class Server:
    """A server in miniature: tables as dictionaries by key, and the log of what was done to them."""

    def __init__(self, server_id: int = 97, image: str = "FULL", first_log: int = 1) -> None:
        self.server_id = server_id
        self.image = image
        self.tables: dict[Name, dict[Key, dict[str, Any]]] = {}
        self.versions: dict[Name, Version] = {}
        self.clock = START
        self.transactions = 0
        self.logs: list[Log] = []
        self._offset = 0
        self.rotate(first_log)

    def rotate(self, number: int | None = None) -> None:
        number = self.logs[-1].number + 1 if number is None else number
        self.logs.append(Log(number, time=int(self.clock.timestamp())))
        self._offset = 157

    def _begin(self) -> tuple[int, str]:
        self.transactions += 1
        self._offset += 300
        self.clock += timedelta(minutes=7)
        return (
            self.logs[-1].number << 32 | self._offset,
            f"3e11fa47-0000-0000-0000-0000000000{self.server_id:02}:{self.transactions}",
        )

    def xa(self, xid: str, *changes: Any) -> Callable[[str], None]:
        """Prepare a transaction; returns what ends it, given ``COMMIT`` or ``ROLLBACK``."""
        before = {table: {key: dict(row) for key, row in rows.items()} for table, rows in self.tables.items()}
        self.transaction(*changes)
        scn, transaction = self.logs[-1].images[-1].scn, self.logs[-1].images[-1].transaction
        prepared = {"action": "prepared", "xid": xid}
        self.logs[-1].statements.append(
            Statement(scn, transaction, self.clock, "", f"XA PREPARE {xid}", "other", (prepared,))
        )
        after, self.tables = self.tables, before

        def end(verb: str) -> None:
            action = {"COMMIT": "committed", "ROLLBACK": "rolled_back"}[verb]
            self.ddl(f"XA {verb} {xid}", {"action": action, "xid": xid}, kind="other")
            if verb == "COMMIT":
                self.tables = after

        return end

    def ddl(self, sql: str, *effects: Mapping[str, Any], db: str = "shop", kind: str = "ddl") -> int:
        """Log a statement; what it does to tables, others say."""
        scn, transaction = self._begin()
        self.logs[-1].statements.append(Statement(scn, transaction, self.clock, db, sql, kind, effects))
        return scn

    def create(
        self,
        table: Name,
        fields: Sequence[tuple[str, pa.DataType]],
        key: Sequence[str],
        *,
        if_not_exists: bool = False,
    ) -> None:
        columns = [column_effect(*field) for field in fields]
        items = [f"`{column['name']}` {column['mysql_type']}" for column in columns]
        items += [f"PRIMARY KEY ({', '.join(f'`{name}`' for name in key)})"] if key else []
        sql = f"CREATE TABLE `{table[0]}`.`{table[1]}` ({', '.join(items)})"
        effect = {**_about("created", table), "columns": columns, "key": list(key)}
        scn = self.ddl(sql, {**effect, "if_not_exists": if_not_exists})
        self.tables[table] = {}
        self._set(table, Version(tuple(fields), tuple(key), sql, scn))

    def alter(
        self,
        table: Name,
        sql: str,
        fields: Sequence[tuple[str, pa.DataType]],
        renamed: Mapping[str, str] | None = None,
        convert: Mapping[str, Any] | None = None,
        *,
        before: Name | None = None,
    ) -> None:
        """Change a table's columns."""
        former = self.versions[table]
        names = {new: old for old, new in (renamed or {}).items()}
        key = tuple((renamed or {}).get(name, name) for name in former.key)
        effects = [
            {
                **_about("altered", before or table),
                "columns": [column_effect(*field) for field in fields],
                "key": list(key),
                "changes": list(_column_changes(dict(former.fields), dict(fields), names)),
            }
        ]
        if before is not None:
            effects.append(_renamed(before, table))
        scn = self.ddl(sql, *effects, db=table[0])
        for row in self.tables[table].values():
            old = dict(row)
            row.clear()
            for name, _ in fields:
                is_new = name not in names and name in names.values()
                value = None if is_new else old.get(names.get(name, name))
                row[name] = (convert or {}).get(name, lambda same: same)(value) if value is not None else None
        self._set(table, Version(tuple(fields), key, sql, scn))

    def _set(self, table: Name, version: Version) -> None:
        self.versions[table] = version
        self.logs[-1].versions.append((table, version))

    def truncate(self, table: Name, sql: str | None = None) -> None:
        self.ddl(sql or f"TRUNCATE TABLE {table[1]}", _about("truncated", table), db=table[0])
        self.tables[table].clear()

    def drop(self, table: Name) -> None:
        sql = f"DROP TABLE `{table[1]}` /* generated by server */"
        self.ddl(sql, _about("dropped", table), db=table[0])
        del self.tables[table], self.versions[table]

    def rename(self, *pairs: tuple[Name, Name]) -> None:
        sql = ", ".join(f"`{old[0]}`.`{old[1]}` TO `{new[0]}`.`{new[1]}`" for old, new in pairs)
        scn = self.ddl(f"RENAME TABLE {sql}", *[_renamed(old, new) for old, new in pairs])
        for old, new in pairs:
            self.tables[new] = self.tables.pop(old)
            version = self.versions.pop(old)
            self._set(new, Version(version.fields, version.key, version.ddl, scn))

    def transaction(self, *changes: Any) -> None:
        """Commit changes, each as a tuple or as a function that makes it when its turn comes.

        They are ``("insert", table, row)``, ``("update", table, key, new)``, ``("delete", table, key)``.
        """
        scn, transaction = self._begin()
        for row, change in enumerate(changes):
            kind, table, *rest = change() if callable(change) else change
            version = self.versions[table]
            rows = self.tables[table]
            images: list[tuple[str, dict[str, Any], frozenset[str] | None]]
            if kind == "insert":
                after = {name: rest[0].get(name) for name in version.columns}
                rows[self._key(version, after)] = after
                images = [("insert", after, None)]
            elif kind == "delete":
                before = rows.pop(rest[0])
                images = [("delete", before, self._before(version))]
            else:
                before = rows.pop(rest[0])
                after = {**before, **rest[1]}
                rows[self._key(version, after)] = after
                changed = frozenset(name for name in version.columns if before[name] != after[name])
                images = [
                    ("update_preimage", before, self._before(version)),
                    ("update_postimage", after, None if self.image == "FULL" else changed),
                ]
            for type_, values, present in images:
                self.logs[-1].images.append(
                    Image(table, version, type_, scn, row, transaction, self.clock, dict(values), present)
                )

    def _before(self, version: Version) -> frozenset[str] | None:
        return None if self.image == "FULL" or not version.key else frozenset(version.key)

    @staticmethod
    def _key(version: Version, row: Mapping[str, Any]) -> Key:
        return tuple(row[name] for name in version.key or version.columns)

    def rows(self, table: Name) -> list[dict[str, Any]]:
        """The table as SELECT would show it, in order of its key."""
        return [row for _, row in sorted(self.tables[table].items(), key=lambda item: repr(item[0]))]

    def export(self, folder: Path, log: Log, **options: Any) -> None:
        """Write one of the logs as an export."""
        write_export(folder, log, server_id=self.server_id, versions=log.known_versions(), **options)

    def export_all(self, folder: Path, **options: Any) -> None:
        """Write all logs."""
        for log in self.logs:
            self.export(folder, log, **options)


def renumbered(log: Log, by: int) -> Log:
    """The log as a replica writes the same transactions, into logs of its own numbers."""
    return Log(
        log.number + by,
        [replace(image, scn=image.scn + (by << 32)) for image in log.images],
        [replace(one, scn=one.scn + (by << 32)) for one in log.statements],
        log.time,
    )


def _bits(version: Version, present: frozenset[str] | None) -> bytes | None:
    if present is None:
        return None
    bits = bytearray((len(version.fields) + 7) // 8)
    for index, name in enumerate(version.columns):
        if name in present:
            bits[index // 8] |= 1 << (index % 8)
    return bytes(bits)


def _changes(images: Sequence[Image]) -> pa.Table:
    version = images[0].version
    timestamp = pa.timestamp("us", tz="UTC")
    columns: dict[str, pa.Array] = {
        "_change_type": pa.array([image.change for image in images], pa.string()).dictionary_encode(),
        "_commit_version": pa.array([image.scn for image in images], pa.int64()),
        "_commit_timestamp": pa.array([image.time for image in images], timestamp),
        "_row": pa.array([image.row for image in images], pa.int64()),
        "_transaction": pa.array([image.transaction for image in images], pa.string()).dictionary_encode(),
        "_event_timestamp": pa.array([image.time.replace(microsecond=0) for image in images], timestamp),
        "_position": pa.array([image.scn & 0xFFFFFFFF for image in images], pa.int64()),
        "_statement": pa.array([0] * len(images), pa.int32()),
        "_present": pa.array([_bits(version, image.present) for image in images], pa.binary()),
    }
    if any(pa.types.is_date(kind) or pa.types.is_timestamp(kind) for _, kind in version.fields):
        columns["_misfits"] = pa.nulls(len(images), pa.map_(pa.string(), pa.string()))
    for name, kind in version.fields:
        values = [
            image.values.get(name) if image.present is None or name in image.present else None
            for image in images
        ]
        array = pa.array(values, kind)
        columns[name] = array.dictionary_encode() if pa.types.is_string(kind) else array
    table = pa.table(columns)
    return table.replace_schema_metadata({"binx.schema_version": version.name})


def _about(action: str, table: Name) -> dict[str, Any]:
    return {"action": action, "db": table[0], "table": table[1]}


def _renamed(old: Name, new: Name) -> dict[str, Any]:
    return {**_about("renamed", old), "new_db": new[0], "new_table": new[1]}


def _column_changes(
    old: Mapping[str, pa.DataType], new: Mapping[str, pa.DataType], names: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    kept = {names.get(name, name) for name in new}
    for name in old:
        if name not in kept:
            yield {"action": "dropped", "name": name}
    for name, kind in new.items():
        former = names.get(name, name)
        if former not in old or (name not in names and name in names.values()):
            yield column_effect(name, kind, action="added", known=True)
        elif old[former] != kind:
            yield column_effect(name, kind, action="retyped", former=former)
        elif former != name:
            yield {"action": "renamed", "name": name, "former": former}


def _statements(statements: Sequence[Statement]) -> pa.Table:
    rows = [
        {
            "commit_version": one.scn,
            "commit_timestamp": one.time,
            "transaction": one.transaction,
            "ordinal": 0,
            "position": one.scn & 0xFFFFFFFF,
            "event_timestamp": one.time,
            "kind": one.kind,
            "db": one.db,
            "sql": one.sql,
            "sql_is_text": True,
            "error_code": 0,
            "digest_text": digest_text(one.sql) if one.kind == "dml" else None,
            "effects": [{"db": "", **effect} for effect in one.effects],
        }
        for one in statements
    ]
    return pa.Table.from_pylist(rows, schema=statements_schema())


def _write(folder: Path, path: str, rows: pa.Table, **entry: Any) -> dict[str, Any]:
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, target)
    content = target.read_bytes()
    return {
        "path": path,
        **entry,
        "rows": rows.num_rows,
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def write_export(
    folder: Path,
    log: Log,
    *,
    server_id: int = 97,
    identity: str = "1a2b3c4d",
    base: str = "mysql-bin",
    versions: Iterable[tuple[Name, Version]] = (),
    first: int = 0,
    last: int = 1 << 62,
    per_file: int = 1000,
    losses: Sequence[Any] = (),
    whole: bool = False,
    selection: Mapping[str, Any] | None = None,
) -> Path:
    """Write the transactions of a log from SCN ``first`` to ``last``; returns the manifest's path.

    Files hold whole transactions of one table and schema version, about ``per_file`` images each. ``whole``
    lets the manifest say that nothing was left out, as where no selection was asked for; ``selection``
    is what else was asked for, by default all tables by a pattern.
    """
    name = f"{base}.{log.number:06}"
    source = f"{name}.{identity}"
    images = [image for image in log.images if first <= image.scn <= last]
    statements = [one for one in log.statements if first <= one.scn <= last]
    groups: dict[Name, list[list[Image]]] = {}
    for image in images:
        listed = groups.setdefault(image.table, [])
        full = listed and len(listed[-1]) >= per_file and listed[-1][-1].scn != image.scn
        if not listed or full or listed[-1][-1].version != image.version:
            listed.append([])
        listed[-1].append(image)
    files = []
    for (db, table), parts in groups.items():
        for number, part in enumerate(parts):
            start = part[0].scn & 0xFFFFFFFF
            files.append(
                _write(
                    folder, f"changes/{db}/{table}/{source}-{start}-{number}.parquet", _changes(part),
                    kind="changes", db=db, table=table, schema_version=part[0].version.name,
                    first_commit_version=part[0].scn, last_commit_version=part[-1].scn,
                    partial_rows=sum(image.present is not None for image in part),
                )
            )  # fmt: skip
    if statements:
        files.append(
            _write(folder, f"statements/{source}.parquet", _statements(statements), kind="statements")
        )
    both: list[Image | Statement] = [*images, *statements]
    done = sorted({(one.scn, one.time, one.transaction) for one in both})
    transactions = pa.table(
        {
            "commit_version": [scn for scn, _, _ in done],
            "commit_timestamp": pa.array([time for _, time, _ in done], pa.timestamp("us", "UTC")),
            "original_commit_timestamp": pa.nulls(len(done), pa.timestamp("us", "UTC")),
            "end": [(scn & 0xFFFFFFFF) + 1 for scn, _, _ in done],
            "gtid": [gtid for _, _, gtid in done],
        }
    )
    files.append(_write(folder, f"transactions/{source}.parquet", transactions, kind="transactions"))
    for (db, table), version in versions:
        path = f"schemas/{db}/{table}/{version.name}.json"
        record = {
            "db": db,
            "table": table,
            "version": version.name,
            "columns": [
                {
                    "name": column,
                    "arrow_type": str(kind),
                    "mysql_type": sql_type(kind),
                    "primary_key_position": version.key.index(column) if column in version.key else None,
                }
                for column, kind in version.fields
            ],
            "primary_key": list(version.key),
            "valid_from": version.valid_from,
            "ddl": version.ddl,
        }
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            target.write_text(json.dumps(record))
        files.append(
            {
                "path": path, "kind": "schema", "db": db, "table": table, "schema_version": version.name,
                "rows": 0, "bytes": 0, "sha256": hashlib.sha256(target.read_bytes()).hexdigest(),
            }
        )  # fmt: skip
    tables = []
    sums = []
    gone = Counter(image.table for image in log.images if not (whole or first <= image.scn <= last))
    for db, table in {**groups, **gone}:
        parts = groups.get((db, table), [])
        mine = [image.change for part in parts for image in part]
        tables.append(
            {
                "db": db, "table": table, "inserts": mine.count("insert"),
                "updates": mine.count("update_postimage"), "deletes": mine.count("delete"),
            }
        )  # fmt: skip
        sums.append(
            {
                "db": db,
                "table": table,
                "images": len(mine) + gone[db, table],
                "written": len(mine),
                "filtered": gone[db, table],
                "undecodable": 0,
            }
        )
    times = [image.time for image in images] + [one.time for one in statements]
    scns = [image.scn for image in images] + [one.scn for one in statements]
    gtids = sorted({one.transaction for one in images} | {one.transaction for one in statements})
    manifest = {
        "contract": 1,
        "binx": "0.1.0",
        "source": {
            "name": name, "identity": identity, "bytes": 1000, "sha256": "0" * 64, "server_id": server_id,
            "server_version": "9.7.0", "flavour": "mysql", "create_timestamp": 0,
            "header_timestamp": log.time, "in_use": False, "file_number": log.number,
        },
        "request": {"selection": {} if whole else selection or {"tables": ["*.*"]}},
        "gtid_set": str(GtidSet.parse(",".join(gtids))) if gtids else "",
        "first_commit_version": min(scns, default=None),
        "last_commit_version": max(scns, default=None),
        "first_commit_timestamp": min(times).isoformat() if times else None,
        "last_commit_timestamp": max(times).isoformat() if times else None,
        "files": files,
        "tables": tables,
        "conservation": sums,
        "statements_left_out": len(log.statements) - len(statements),
        "losses": list(losses),
    }  # fmt: skip
    place = folder / "_manifest" / f"{source}.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(manifest))
    return place
