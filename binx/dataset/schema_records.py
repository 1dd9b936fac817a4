"""The records of tables' schema versions: what they say, and how they come into a data set."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from binx.dataset.continuation import TablesRecord
from binx.dataset.dataset import Transaction, escape_name
from binx.errors import OutputError
from binx.rows.batches import TableChanges


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
        """Write records; one that is there stays where its version began earlier.

        Raises:
            OutputError: one cannot be written.
            SourceError: one that is there cannot be read.
        """
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
        """Write what is known at the end of a log, where no other log has left the same.

        Raises:
            OutputError: it cannot be written.
            SourceError: one that is there cannot be read.
        """
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
