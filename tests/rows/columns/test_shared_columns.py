"""Tables of the same columns: what is made once for all of them says of each what is its own."""

from __future__ import annotations

import json

from binx.event.column import Column, ColumnType
from binx.event.table_map import TableMap
from binx.rows.batches import TableChanges
from binx.rows.columns.names import resolve_columns
from binx.rows.columns.types import DEFAULT_ARROW_OPTIONS, ArrowOptions

COLUMNS = (
    Column(ColumnType.LONGLONG, 0, nullable=False, name="id", unsigned=True),
    Column(ColumnType.LONG, 0, nullable=True, name="n"),
)


def changes(table: str, options: ArrowOptions = DEFAULT_ARROW_OPTIONS) -> TableChanges:
    table_map = TableMap(
        table_id=1,
        flags=0,
        database="shop",
        table=table,
        column_types=bytes(column.type for column in COLUMNS),
        columns=COLUMNS,
        has_metadata=True,
        has_primary_key=False,
        unknown_metadata=(),
    )
    return TableChanges(table_map, resolve_columns(table_map, None), options, 4294967300)


def test_tables_of_the_same_columns_share_them_and_have_versions_and_records_of_their_own() -> None:
    one, other = changes("one"), changes("other")
    assert one.alike is other.alike
    assert one.version != other.version
    assert [json.loads(table.schema_record())["table"] for table in (one, other)] == ["one", "other"]
    assert [json.loads(table.avro_schema())["name"] for table in (one, other)] == ["one", "other"]
    assert one.schema.metadata != other.schema.metadata
    assert one.schema.remove_metadata() == other.schema.remove_metadata()


def test_tables_that_are_typed_otherwise_share_nothing() -> None:
    one, other = changes("one"), changes("one", ArrowOptions(unsigned_as_decimal=True))
    assert one.version != other.version
    assert one.schema.field("id").type != other.schema.field("id").type


def test_a_record_is_written_a_fact_a_line() -> None:
    for text in (changes("one").schema_record(), changes("one").avro_schema()):
        assert text == json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n"
