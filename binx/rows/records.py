"""Schema records: what stands in ``schemas/<db>/<table>/`` about each version of a table."""

from __future__ import annotations

import re
from typing import Any

from binx.rows.names import ResolvedColumn, ResolvedTable
from binx.rows.schema import Provenance
from binx.rows.types import (
    DEFAULT_ARROW_OPTIONS,
    INTEGER_NAMES,
    ArrowOptions,
    arrow_type,
    avro_type,
)

_NOT_IN_AVRO_NAMES = re.compile(r"[^A-Za-z0-9_]")


def schema_record(
    resolved: ResolvedTable,
    valid_from_scn: int,
    ddl: str | None = None,
    options: ArrowOptions = DEFAULT_ARROW_OPTIONS,
) -> dict[str, Any]:
    """One version of a table as JSON.

    Args:
        resolved: the table.
        valid_from_scn: the commit version of the first transaction that this version holds for.
        ddl: the statement that made it; by default that of the definition that was used.
        options: how types are written.
    """
    definition = resolved.definition
    return {
        "db": resolved.db,
        "table": resolved.name,
        "valid_from": valid_from_scn,
        "ddl": ddl if ddl is not None or definition is None else definition.ddl,
        "primary_key": list(resolved.primary_key),
        "columns": [_column_record(column, options) for column in resolved.columns],
        "warnings": list(resolved.warnings),
    }


def _column_record(column: ResolvedColumn, options: ArrowOptions) -> dict[str, Any]:
    logical = column.type
    provenance, absent = column.provenance, column.absent
    return {
        "name": column.name,
        "source_name": column.source_name,
        "mysql_type": column.mysql_type,
        "arrow_type": str(arrow_type(logical, options)),
        "kind": logical.kind.value,
        "nullable": column.nullable,
        "unsigned": logical.kind.value.startswith("u") if logical.kind in INTEGER_NAMES else None,
        "charset": logical.charset,
        "members": None if logical.members is None else list(logical.members),
        "primary_key_position": column.primary_key_position,
        "invisible": column.invisible,
        "generated": column.generated,
        "default": column.default,
        "absent": None if absent is None else {"value": absent.value, "misfit": absent.misfit},
        "provenance": {
            "name": provenance.name.value,
            "signedness": _value(provenance.signedness),
            "charset": _value(provenance.charset),
            "members": _value(provenance.members),
            "key": provenance.key.value,
        },
    }


def _value(provenance: Provenance | None) -> str | None:
    return None if provenance is None else provenance.value


def avro_schema(resolved: ResolvedTable) -> dict[str, Any]:
    """The table's own columns as an Avro record schema (Avro specification 1.11, "Schema Declaration").

    Each is a union with null, first, as a column may be absent from a row image. Names that Avro
    does not allow are escaped (``_xNN_``), the real one standing in the field's attribute ``mysql_name``.
    """
    names = [_avro_name(column.name) for column in resolved.columns]
    fields = []
    for column, name in zip(resolved.columns, names, strict=True):
        field: dict[str, Any] = {
            "name": name,
            "type": ["null", avro_type(column.type, f"{name}_geometry")],
            "default": None,
            "mysql_type": column.mysql_type,
        }
        if name != column.source_name:
            field["mysql_name"] = column.source_name
        fields.append(field)
    return {
        "type": "record",
        "name": _avro_name(resolved.name),
        "namespace": _avro_name(resolved.db),
        "fields": fields,
    }


def _avro_name(name: str) -> str:
    """The name with each character escaped that Avro does not allow; a digit may not come first."""
    escaped = _NOT_IN_AVRO_NAMES.sub(lambda match: f"_x{ord(match.group()):x}_", name)
    return f"_{escaped}" if not escaped or escaped[0].isdigit() else escaped
