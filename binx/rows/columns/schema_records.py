"""Schema records: the JSON files in ``schemas/<db>/<table>/``, one per schema version."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from binx.rows.columns.names import ResolvedColumn, ResolvedTable, primary_key
from binx.rows.columns.schema import Provenance
from binx.rows.columns.types import INTEGER_NAMES, ArrowOptions, arrow_type, avro_type

VERSION_DIGITS = 8

_ENCODE = json.JSONEncoder(ensure_ascii=False).encode
_NOT_IN_AVRO_NAMES = re.compile(r"[^A-Za-z0-9_]")


class ColumnRecords:
    """The columns of schema records as JSON, computed once for all tables with the same columns."""

    def __init__(self, columns: tuple[ResolvedColumn, ...], options: ArrowOptions) -> None:
        self.primary_key = primary_key(columns)
        self._columns = columns
        self._options = options

    @cached_property
    def _relied_on(self) -> str:
        """Everything that readers of rows rely on: columns, types, key; not their provenance."""
        records = [_column_record(column, self._options) for column in self._columns]
        for record in records:
            del record["provenance"]
        return f"{json.dumps(records, sort_keys=True)}, {json.dumps(self.primary_key)}"

    @cached_property
    def _members(self) -> str:
        records = [_column_record(column, self._options) for column in self._columns]
        return _members({"primary_key": self.primary_key, "columns": records})

    @cached_property
    def _avro_fields(self) -> str:
        return _members({"fields": _avro_fields(self._columns)})

    def version(self, db: str, table: str) -> str:
        """Return a table's schema version: 8 hex digits over everything that readers rely on."""
        text = f"[{json.dumps(db)}, {json.dumps(table)}, {self._relied_on}]"
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:VERSION_DIGITS]

    def schema_record(
        self, resolved: ResolvedTable, valid_from_scn: int, create_table: str | None = None
    ) -> str:
        """Return the schema record of one version of a table, as JSON.

        Args:
            valid_from_scn: the commit version of the first transaction for which this version is valid.
            create_table: the statement that makes the table as it was then; None if it is not known.
        """
        definition = resolved.definition
        members = (
            _member("db", resolved.db),
            _member("table", resolved.name),
            _member("valid_from", valid_from_scn),
            _member("ddl", None if definition is None else definition.ddl),
            _member("create_table", create_table),
            self._members,
            _members({"warnings": resolved.warnings}) if resolved.warnings else _member("warnings", []),
            _member("version", self.version(resolved.db, resolved.name)),
        )
        return _object(members)

    def avro_schema(self, resolved: ResolvedTable) -> str:
        """Return an Avro record schema of a table's own columns, as JSON.

        Each is a union with null first, as a column may be absent from a row image. Names that Avro does
        not allow are escaped (``_xNN_``), with the real name in the field's attribute ``mysql_name``.
        Source: Avro specification 1.11, "Schema Declaration".
        """
        members = (
            _member("type", "record"),
            _member("name", _avro_name(resolved.name)),
            _member("namespace", _avro_name(resolved.db)),
            self._avro_fields,
        )
        return _object(members)


def _members(document: dict[str, Any]) -> str:
    """Format an object's members, each on its own line, without the braces."""
    return json.dumps(document, indent=1, ensure_ascii=False)[2:-2]


def _member(name: str, value: str | int | list[str] | None) -> str:
    """Format a member with a one-line value, as :func:`_members` does."""
    return f' "{name}": {_ENCODE(value)}'


def _object(members: Iterable[str]) -> str:
    return "{\n" + ",\n".join(members) + "\n}\n"


def _column_record(column: ResolvedColumn, options: ArrowOptions) -> dict[str, Any]:
    logical = column.type
    provenance = column.provenance
    # Members that most columns lack are omitted.
    rare: dict[str, Any] = {} if column.added is None else {"added": column.added._asdict()}
    if column.changes_with is not None:
        rare["changes_with"] = list(column.changes_with)
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
        "absent": None if column.absent is None else column.absent._asdict(),
        **rare,
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


def _avro_fields(columns: Sequence[ResolvedColumn]) -> list[dict[str, Any]]:
    fields = []
    for column in columns:
        name = _avro_name(column.name)
        field: dict[str, Any] = {
            "name": name,
            "type": ["null", avro_type(column.type, f"{name}_geometry")],
            "default": None,
            "mysql_type": column.mysql_type,
        }
        if name != column.source_name:
            field["mysql_name"] = column.source_name
        fields.append(field)
    return fields


def _avro_name(name: str) -> str:
    """Escape the characters that Avro does not allow in a name; a digit must not come first."""
    escaped = _NOT_IN_AVRO_NAMES.sub(lambda match: f"_x{ord(match.group()):x}_", name)
    return f"_{escaped}" if not escaped or escaped[0].isdigit() else escaped
