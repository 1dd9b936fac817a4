"""Serialize a catalog to JSON, from which the next run restores the same tables.

Attributes with default values are omitted, which most are.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import Enum
from operator import itemgetter
from typing import Any

from binx.rows.columns.schema import (
    Check,
    ColumnDefinition,
    Default,
    DefaultKind,
    ForeignKey,
    IndexDefinition,
    Partitioning,
    Provenance,
    TableDefinition,
)
from binx.rows.ddl.catalog import Catalog
from binx.rows.ddl.parsed_statements import DeclaredCharset

_Facts = dict[str, Any]


def catalog_record(catalog: Catalog) -> bytes:
    """Return all that a catalog knows, as JSON in ASCII; equal catalogs give equal bytes."""
    document = {
        "databases": {name: _facts(charset) for name, charset in sorted(catalog.databases.items())},
        "tables": _tables(catalog),
        "temporary": [
            [*connection, _tables(temporary)]
            for connection, temporary in sorted(catalog.temporary.items(), key=itemgetter(0))
        ],
        "expected": [
            [*position, [_facts(table) for table in tables]]
            for position, tables in sorted(catalog.expected.items())
        ],
    }
    return json.dumps(document, separators=(",", ":")).encode("ascii")


def _tables(catalog: Catalog) -> list[_Facts]:
    return [_facts(table) for table in sorted(catalog, key=lambda table: (table.db, table.name))]


def recorded_catalog(record: bytes) -> Catalog:
    """Return the catalog that a record was made of.

    Raises:
        ValueError, KeyError, TypeError, AttributeError, RecursionError: it is no such record.
    """
    document: _Facts = json.loads(record)
    catalog = Catalog()
    for table in document["tables"]:
        catalog.put(_table(table))
    for server, number, tables in document["temporary"]:
        temporary = catalog.temporary[server, number] = Catalog()
        for table in tables:
            temporary.put(_table(table))
    for log, position, tables in document["expected"]:
        for table in tables:
            catalog.expect((log, position), _table(table))
    catalog.databases = {name: DeclaredCharset(**facts) for name, facts in document["databases"].items()}
    return catalog


def _facts(value: tuple[Any, ...]) -> _Facts:
    """Return the fields of a named tuple whose values are not their defaults."""
    fields: tuple[str, ...] = value._fields  # type: ignore[attr-defined]
    defaults: _Facts = value._field_defaults  # type: ignore[attr-defined]
    return {
        name: _json_value(field)
        for name, field in zip(fields, value, strict=True)
        if name not in defaults or field != defaults[name]
    }


def _json_value(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return _facts(value) if hasattr(value, "_fields") else [_json_value(item) for item in value]
    return value


def _with_tuples(facts: _Facts) -> _Facts:
    return {name: _tuples(value) for name, value in facts.items()}


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _table(facts: _Facts) -> TableDefinition:
    nested: _Facts = {
        "columns": tuple(map(_column, facts.get("columns", ()))),
        "indexes": tuple(IndexDefinition(**_with_tuples(index)) for index in facts.get("indexes", ())),
        "foreign_keys": tuple(ForeignKey(**_with_tuples(key)) for key in facts.get("foreign_keys", ())),
        "provenance": Provenance(facts.get("provenance", Provenance.DDL)),
    }
    for name, made in _NESTED.items():
        if name in facts:
            nested[name] = made(facts[name])
    return TableDefinition(**(_with_tuples(facts) | nested))


_NESTED: dict[str, Callable[[Any], object]] = {
    "primary": lambda facts: IndexDefinition(**_with_tuples(facts)),
    "partitioning": lambda facts: Partitioning(**_with_tuples(facts)),
    "checks": lambda listed: tuple(Check(**_with_tuples(facts)) for facts in listed),
}


def _column(facts: _Facts) -> ColumnDefinition:
    defaults: _Facts = {
        name: Default(**{**facts[name], "kind": DefaultKind(facts[name]["kind"])})
        for name in ("default", "added")
        if name in facts
    }
    return ColumnDefinition(**(_with_tuples(facts) | defaults))
