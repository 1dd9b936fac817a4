"""The state of a catalog as JSON, from which another run goes on: the same tables, to the last fact.

What has its default value is left out, as most facts of most columns do.
"""

from __future__ import annotations

import json
from enum import Enum
from typing import Any

from binx.rows.columns.schema import (
    ColumnDefinition,
    Default,
    DefaultKind,
    ForeignKey,
    IndexDefinition,
    Provenance,
    TableDefinition,
)
from binx.rows.ddl.catalog import Catalog
from binx.rows.ddl.statements import Charset

_Facts = dict[str, Any]


def catalog_record(catalog: Catalog) -> bytes:
    """All that a catalog knows, as JSON in ASCII; the same for catalogs that know the same."""
    document = {
        "databases": {name: _facts(charset) for name, charset in sorted(catalog.databases.items())},
        "tables": _tables(catalog),
        "temporary": [
            [*connection, _tables(catalog.temporary(connection))]
            for connection in sorted(catalog.connections)
        ],
        "expected": [
            [*place, [_facts(table) for table in tables]]
            for place, tables in sorted(catalog.expected.items())
        ],
    }
    return json.dumps(document, separators=(",", ":")).encode("ascii")


def _tables(catalog: Catalog) -> list[_Facts]:
    return [_facts(table) for table in sorted(catalog, key=lambda table: (table.db, table.name))]


def recorded_catalog(record: bytes) -> Catalog:
    """The catalog that a record was made of.

    Raises:
        ValueError, KeyError, TypeError, AttributeError, RecursionError: it is no such record.
    """
    document: _Facts = json.loads(record)
    catalog = Catalog()
    for table in document["tables"]:
        catalog.put(_table(table))
    for server, number, tables in document["temporary"]:
        own = Catalog()
        for table in tables:
            own.put(_table(table))
        catalog.keep_temporary((server, number), own)
    for log, position, tables in document["expected"]:
        for table in tables:
            catalog.expect((log, position), _table(table))
    catalog.databases = {name: Charset(**facts) for name, facts in document["databases"].items()}
    return catalog


def _facts(value: tuple[Any, ...]) -> _Facts:
    """The fields of a named tuple that have other values than their defaults."""
    fields: tuple[str, ...] = value._fields  # type: ignore[attr-defined]
    defaults: _Facts = value._field_defaults  # type: ignore[attr-defined]
    return {
        name: _plain(field)
        for name, field in zip(fields, value, strict=True)
        if name not in defaults or field != defaults[name]
    }


def _plain(value: object) -> object:
    """A value as JSON has it."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return _facts(value) if hasattr(value, "_fields") else [_plain(one) for one in value]
    return value


def _table(facts: _Facts) -> TableDefinition:
    facts["columns"] = tuple(map(_column, facts.get("columns", ())))
    facts["indexes"] = tuple(map(_index, facts.get("indexes", ())))
    facts["foreign_keys"] = tuple(map(_foreign_key, facts.get("foreign_keys", ())))
    facts["primary_key"] = tuple(facts.get("primary_key", ()))
    facts["provenance"] = Provenance(facts.get("provenance", Provenance.DDL))
    return TableDefinition(**facts)


def _column(facts: _Facts) -> ColumnDefinition:
    if "members" in facts:
        facts["members"] = tuple(facts["members"])
    for name in ("default", "added"):
        if name in facts:
            facts[name] = Default(**{**facts[name], "kind": DefaultKind(facts[name]["kind"])})
    return ColumnDefinition(**facts)


def _foreign_key(facts: _Facts) -> ForeignKey:
    listed = {name: tuple(facts[name]) for name in ("columns", "referenced")}
    return ForeignKey(**{**facts, **listed})


def _index(facts: _Facts) -> IndexDefinition:
    facts["prefixes"] = tuple(facts.get("prefixes", ()))
    return IndexDefinition(**{**facts, "columns": tuple(facts["columns"])})


__all__ = ["catalog_record", "recorded_catalog"]
