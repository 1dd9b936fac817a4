"""What a data set keeps of tables: the records of their schema versions, and what is known at a log's end.

A log whose end was read has in its manifest, under ``behind``, what the log that comes next must know: the
tables at its end, the epoch, the number of the next transaction. So logs that are exported one by one become
what they would be if all were given at once. It is taken only from the log that the server wrote right
before, which its ROTATE, the times and the GTIDs of both tell: behind a gap a table may be another one, and
what was true once would look like a fact.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from binx.dataset.dataset import Transaction, escape_name
from binx.dataset.personal.rules import PersonalData
from binx.dataset.personal.statements import sealed_record, unsealed_catalog
from binx.errors import OutputError
from binx.event.gtid.sets import GtidSet
from binx.log.chain.ends import FileEnds, known_ends
from binx.log.file import BinlogFile
from binx.log.scanning import ENDINGS, Ending
from binx.rows.batches import TableChanges
from binx.rows.ddl.catalog import Catalog
from binx.source.names import is_named_next
from binx.storage.store import MANIFESTS, Store

_TOLERANCE = 1
"""Seconds between a ROTATE and the beginning of the next log: servers give both the same time."""

_NUMBER_DIGITS = 6
_LEVEL = 6


class TablesRecord(NamedTuple):
    """The tables known at the end of a log, as a file of the data set.

    Attributes:
        path: below the data set's folder, by the record's content: logs that change no table share it.
        data: the record, compressed as gzip does.
    """

    path: str
    data: bytes


class Behind(NamedTuple):
    """Where a log stands that comes right behind another one.

    Attributes:
        epoch: logs of the chain before that a server began at its start.
        seqno: number of the next transaction.
    """

    log: str
    catalog: Catalog
    epoch: int
    seqno: int


def tables_record(catalog: Catalog, rules: PersonalData | None) -> TablesRecord:
    """The record of the tables that are known."""
    record = sealed_record(catalog, rules)
    packer = zlib.compressobj(_LEVEL, wbits=16 + zlib.MAX_WBITS)
    return TablesRecord(_path_of(record), packer.compress(record) + packer.flush())


def _path_of(record: bytes) -> str:
    """Where a record of tables is below the data set's folder."""
    return f"schemas/tables-{hashlib.sha256(record).hexdigest()[:16]}.json.gz"


class BehindRecord(NamedTuple):
    """What is left of a log for the one that comes next; nothing where its end is damaged."""

    record: dict[str, Any] | None = None
    tables: TablesRecord | None = None


def behind_record(
    behind: Behind | None, file: BinlogFile, ending: Ending | None, rules: PersonalData | None
) -> BehindRecord:
    """What to leave for the log that comes next."""
    if behind is None or ending not in ENDINGS:
        return BehindRecord()
    ends, catalog = known_ends(file), behind.catalog
    tables = tables_record(catalog, rules) if len(catalog) or catalog.databases else None
    record = {
        "next": ends.next_file,
        "ended": ends.ended,
        "gtids_before": _gtids_before(ends),
        "epoch": behind.epoch,
        "seqno": behind.seqno,
        "tables": None if tables is None else tables.path,
    }
    return BehindRecord(record, tables)


def find_behind(store: Store, file: BinlogFile, rules: PersonalData | None = None) -> Behind | None:
    """What a data set tells of the logs before one; None where it does not have the log right before.

    Raises:
        OutputError: the manifest or the record of the log before cannot be read.
        SourceError: the data set cannot be read.
        UsageError: members in the record are sealed with another key.
    """
    name = _name_before(file)
    if name is None:
        return None
    ends = known_ends(file)
    begins = f"{escape_name(name)}."
    for is_same_id in (True, False):
        for one in store.names(MANIFESTS):
            if not (one.startswith(begins) and one.endswith(".json")):
                continue
            path = f"{MANIFESTS}/{one}"
            try:
                found = _behind(store, _read(store, path), ends, rules, is_same_id=is_same_id)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError, zlib.error) as error:
                raise OutputError(
                    f"its record of the previous log cannot be read: {error}; delete it and export its"
                    " log again",
                    path=store.path(path).partition("?")[0],
                ) from error
            if found is not None:
                return found
    return None


def _name_before(file: BinlogFile) -> str | None:
    """What the log is called that a server wrote before one; None where that is the first."""
    base, dot, number = file.name.rpartition(".")
    if not dot or not number.isdecimal() or int(number) < 2:
        return None
    return f"{base}.{int(number) - 1:0{_NUMBER_DIGITS}d}"


def _read(store: Store, path: str) -> dict[str, Any]:
    import json

    text = store.read(path)
    document: dict[str, Any] = {} if text is None else json.loads(text)
    return document


def _behind(
    store: Store, manifest: dict[str, Any], ends: FileEnds, rules: PersonalData | None, *, is_same_id: bool
) -> Behind | None:
    """What a manifest says for a log, where that is the one right behind."""
    behind, source = manifest.get("behind"), manifest.get("source")
    if behind is None or source is None or not _follows(manifest, source, behind, ends):
        return None
    # A server's id may change between two logs: then GTIDs must say that they are of one chain.
    if (source["server_id"] == ends.file.format.server_id) is not is_same_id:
        return None
    if not is_same_id and not _gtids_before(ends):
        return None
    catalog = Catalog()
    if behind["tables"] is not None:
        data = store.read(behind["tables"])
        if data is None:
            return None
        record = zlib.decompress(data, wbits=16 + zlib.MAX_WBITS)
        if _path_of(record) != behind["tables"]:
            raise ValueError(f"{behind['tables']} is not what was written")
        catalog = unsealed_catalog(record, rules)
    return Behind(str(source["name"]), catalog, int(behind["epoch"]), int(behind["seqno"]))


def _follows(
    manifest: dict[str, Any], source: dict[str, Any], behind: dict[str, Any], ends: FileEnds
) -> bool:
    """Whether a log is the one that its server wrote right behind another one."""
    description = ends.file.format
    if source["flavour"] != description.flavour.value:
        return False
    if behind["ended"] is None:
        # The server died, or goes on writing it: then only GTIDs tell that the export had all of it.
        follows = description.at_startup and bool(manifest["gtid_set"]) and ends.previous_gtids is not None
        follows = follows and not _is_selected(manifest)
    elif behind["next"] is None:
        # The server was stopped: the next log is of its next start, whenever that was.
        follows = description.at_startup and ends.begun >= behind["ended"] - _TOLERANCE
    else:
        name = ends.file.name
        follows = is_named_next(behind["next"], _name_before(ends.file) or "", name)
        follows = follows and abs(ends.begun - behind["ended"]) <= _TOLERANCE
    return follows and _gtids_follow(manifest, behind["gtids_before"], ends)


def _gtids_follow(manifest: dict[str, Any], before: str | None, ends: FileEnds) -> bool:
    """Whether the GTIDs before a log are those before another one and those in it."""
    now = _gtids_before(ends)
    if before is None or now is None:
        return before == now
    if ends.previous_gtids is None:
        last = dict(entry.rsplit("-", 1) for entry in now.split(",") if entry)
        return all(
            int(last.get(place, -1)) >= int(number)
            for place, number in (entry.rsplit("-", 1) for entry in before.split(",") if entry)
        )
    known = GtidSet.parse(before)
    if _is_selected(manifest):
        return known.issubset(ends.previous_gtids)
    return (known | GtidSet.parse(manifest["gtid_set"])) == ends.previous_gtids


def _is_selected(manifest: dict[str, Any]) -> bool:
    """Whether not all transactions of the log were exported."""
    request = manifest["request"]
    return bool(request["selection"]) or request.get("where") is not None


def _gtids_before(ends: FileEnds) -> str | None:
    """The GTIDs before a log, as it says itself; None where it does not."""
    if ends.previous_gtids is not None:
        return str(ends.previous_gtids)
    return None if ends.gtid_list is None else ",".join(map(str, ends.gtid_list))


class SchemaRecord(NamedTuple):
    """The record of a table's schema version, as text."""

    path: str
    valid_from: int
    text: str
    avro: str


def schema_record_of(changes: TableChanges) -> SchemaRecord:
    """The schema record of a table."""
    return SchemaRecord(
        f"{schema_path(changes.db, changes.name, changes.version)}.json",
        changes.valid_from,
        changes.schema_record(),
        changes.avro_schema(),
    )


class SchemaWriter:
    """Writes the schema records of a source; those that are new can be taken back."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._store = transaction.dataset.store
        self._new: list[str] = []

    def write(self, records: Iterable[SchemaRecord]) -> None:
        """Write records; one that is there stays where its version began earlier."""
        schemas: list[str] = []
        texts: list[str] = []
        for one in records:
            avro_path = f"{one.path.removesuffix('.json')}.avsc"
            there = self._store.read(one.path)
            if _valid_from(there) <= one.valid_from:
                continue
            if there is None:
                self._new += [one.path, avro_path]
            self._transaction.write(avro_path, one.avro.encode("utf-8", "surrogatepass"))
            self._transaction.write(one.path, one.text.encode("utf-8", "surrogatepass"))
            schemas.append(avro_path)
            texts.append(one.path)
        # A record that is there tells that the schema is.
        self._transaction.place(schemas + texts)

    def write_tables(self, record: TablesRecord) -> None:
        """Write what is known at the end of a log, where no other log has left the same."""
        if self._store.read(record.path) is None:
            self._new.append(record.path)
            self._transaction.write(record.path, record.data)
            self._transaction.place([record.path])

    def take_back(self) -> None:
        """Remove what was not there before, as far as that can be removed: what stays is not believed."""
        # A store that does not answer would let each removal wait for minutes.
        with suppress(OutputError):
            for name in self._new:
                self._store.remove(name)


def schema_path(db: str, table: str, version: str) -> str:
    """Where a schema version's records are below the data set's folder, without their suffixes."""
    return f"schemas/{escape_name(db)}/{escape_name(table)}/{version}"


def _valid_from(record: bytes | None) -> float:
    """The commit version that a schema record is valid from; infinite where there is none."""
    if record is None:
        return float("inf")
    try:
        found: dict[str, Any] = json.loads(record)
        return int(found["valid_from"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return float("inf")
