"""The schema of a Parquet file out of Arrow's, as pyarrow makes it."""

from __future__ import annotations

import binascii
from collections.abc import Collection, Mapping
from typing import NamedTuple

import pyarrow as pa

from binx.export.parquet_format.schema import (
    DATE,
    JSON,
    LIST,
    MAP,
    STRING,
    FileSchema,
    Group,
    Leaf,
    Meaning,
    Node,
    Physical,
    decimal,
    integer,
    timestamp,
)
from binx.kernels.numbers import Form
from binx.rows.remembering import made_once_for_alike_tables

_INT32_DIGITS, _INT64_DIGITS = 9, 18
"""Decimals of so many digits are written as integers."""

_PLAIN: dict[pa.DataType, tuple[Form, Physical, Meaning | None]] = {
    pa.bool_(): (Form.FORM_BOOL, Physical.BOOLEAN, None),
    pa.int8(): (Form.FORM_INT8, Physical.INT32, integer(8, signed=True)),
    pa.int16(): (Form.FORM_INT16, Physical.INT32, integer(16, signed=True)),
    pa.uint16(): (Form.FORM_UINT16, Physical.INT32, integer(16, signed=False)),
    pa.int32(): (Form.FORM_INT32, Physical.INT32, None),
    pa.uint32(): (Form.FORM_UINT32, Physical.INT32, integer(32, signed=False)),
    pa.int64(): (Form.FORM_INT64, Physical.INT64, None),
    pa.uint64(): (Form.FORM_UINT64, Physical.INT64, integer(64, signed=False)),
    pa.float32(): (Form.FORM_FLOAT32, Physical.FLOAT, None),
    pa.float64(): (Form.FORM_FLOAT64, Physical.DOUBLE, None),
    pa.date32(): (Form.FORM_INT32, Physical.INT32, DATE),
    pa.timestamp("us"): (Form.FORM_INT64, Physical.INT64, timestamp(utc=False)),
    pa.timestamp("us", tz="UTC"): (Form.FORM_INT64, Physical.INT64, timestamp(utc=True)),
    pa.duration("us"): (Form.FORM_INT64, Physical.INT64, None),
    pa.string(): (Form.FORM_BYTES, Physical.BYTE_ARRAY, STRING),
    pa.binary(): (Form.FORM_BYTES, Physical.BYTE_ARRAY, None),
    pa.json_(pa.string()): (Form.FORM_BYTES, Physical.BYTE_ARRAY, JSON),
}


def columns_of(schema: pa.Schema, texts: Collection[str] = ()) -> list[Node]:
    """The columns of a file.

    Args:
        schema: of what is written.
        texts: columns of words that need no dictionary, as readers take them for text.

    Raises:
        TypeError: a type is none of the data set's.
    """
    nodes = [_node(field.name, field.type, optional=field.nullable) for field in schema]
    return [
        node._replace(has_dictionary=False) if isinstance(node, Leaf) and node.name in texts else node
        for node in nodes
    ]


class ArrowColumns(NamedTuple):
    """The columns of files.

    Attributes:
        written: as Parquet has them.
        told: as Arrow shall read them: of differences between texts it makes no dictionaries.
    """

    written: FileSchema
    told: pa.Schema

    def facts(self, metadata: Mapping[bytes, bytes] | None) -> dict[str, str]:
        """What a file's footer says by name: metadata, and the schema as Arrow knows it."""
        told, facts = self.told, {}
        if metadata:
            told = told.with_metadata(metadata)
            facts = {name.decode(): value.decode() for name, value in metadata.items()}
        return {**facts, "ARROW:schema": binascii.b2a_base64(told.serialize(), newline=False).decode()}


def arrow_columns(schema: pa.Schema, texts: Collection[str] = ()) -> ArrowColumns:
    """The columns of files, as :func:`columns_of` has them; files of the same few columns share them.

    Args:
        schema: of what is written.
        texts: columns of words that Arrow shall read as text.

    Raises:
        TypeError: a type is none of the data set's.
    """
    return _arrow_columns(schema.remove_metadata(), tuple(texts))


@made_once_for_alike_tables
def _arrow_columns(schema: pa.Schema, texts: tuple[str, ...]) -> ArrowColumns:
    told = schema
    for name in texts:
        place = told.get_field_index(name)
        told = told.set(place, told.field(place).with_type(pa.string()))
    return ArrowColumns(FileSchema(columns_of(schema, texts)), told)


def _node(name: str, data_type: pa.DataType, *, optional: bool) -> Node:
    if pa.types.is_list(data_type):
        element = data_type.value_field
        child = _node("element", element.type, optional=element.nullable)
        _check_is_only_list(name, child)
        return Group(name, (child,), LIST, optional)
    if pa.types.is_map(data_type):
        item = data_type.item_field
        key = _node("key", data_type.key_type, optional=False)
        value = _node("value", item.type, optional=item.nullable)
        _check_is_only_list(name, key, value)
        return Group(name, (key, value), MAP, optional)
    if pa.types.is_struct(data_type):
        members = tuple(_node(field.name, field.type, optional=field.nullable) for field in data_type)
        return Group(name, members, None, optional)
    if pa.types.is_decimal128(data_type):
        return _decimal(name, data_type, optional=optional)
    if pa.types.is_dictionary(data_type) and data_type.value_type == pa.string():
        width = data_type.index_type.bit_width // 8
        return Leaf(name, Form.FORM_WORDS, Physical.BYTE_ARRAY, STRING, optional, width, has_dictionary=True)
    try:
        form, physical, meaning = _PLAIN[data_type]
    except KeyError:
        raise TypeError(f"column {name} has a type that is not written: {data_type}") from None
    return Leaf(name, form, physical, meaning, optional)


def _check_is_only_list(name: str, *parts: Node) -> None:
    for part in parts:
        if isinstance(part, Group):
            if part.meaning is not None:
                raise TypeError(f"column {name} has lists within lists, which are not written")
            _check_is_only_list(name, *part.children)


def _decimal(name: str, data_type: pa.DataType, *, optional: bool) -> Leaf:
    meaning = decimal(data_type.precision, data_type.scale)
    if data_type.precision <= _INT32_DIGITS:
        return Leaf(name, Form.FORM_DECIMAL_AS_INT32, Physical.INT32, meaning, optional)
    if data_type.precision <= _INT64_DIGITS:
        return Leaf(name, Form.FORM_DECIMAL_AS_INT64, Physical.INT64, meaning, optional)
    # One bit is the sign's.
    width = (10**data_type.precision).bit_length() // 8 + 1
    return Leaf(name, Form.FORM_DECIMAL, Physical.FIXED_LEN_BYTE_ARRAY, meaning, optional, width)
