"""Column types in Arrow and SQL by their names, and constants that schema records spell as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import BinxError
from binx.lake.dataset.files import FileColumn
from binx.lake.tables.lives import TableColumn
from binx.rows.columns.schema import DEFAULT_CONTEXT
from binx.rows.columns.types import Kind, LogicalType, declared_type
from binx.rows.columns.types import arrow_type as declared_arrow_type
from binx.rows.ddl.column_definitions import written_type
from binx.rows.ddl.parsed_statements import ColumnSpec, DeclaredCharset
from binx.rows.ddl.resolve import resolve_column

_PLAIN = {
    str(kind): kind
    for kind in (
        *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64()),
        *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.float32(), pa.float64()),
        *(pa.string(), pa.binary(), pa.date32(), pa.duration("us")),
        *(pa.timestamp("us"), pa.timestamp("us", "UTC")),
    )
} | {"extension<arrow.json>": pa.string()}
_DECIMAL = re.compile(r"decimal128\((\d+), (\d+)\)")
_DICTIONARY = re.compile(r"dictionary<values=(.+), indices=\w+, ordered=\d>")
_LIST = re.compile(r"list<(\w+): (.+?)(?: not null)?>")
_STRUCT = re.compile(r"struct<(.+)>")
_MEMBER = re.compile(r"(\w+): ([^,]+?)(?: not null)?")
_RESERVED = {
    "_commit_version",
    "_commit_timestamp",
    "_misfits",
    "_unknown",
    "_deleted",
    "valid_from",
    "valid_to",
    "is_current",
}


@cache
def arrow_type(name: str) -> pa.DataType:
    """Return the type of values in ``current/``: as in ``changes/``, without dictionaries and JSON's mark."""
    if name in _PLAIN:
        return _PLAIN[name]
    if match := _DECIMAL.fullmatch(name):
        return pa.decimal128(int(match[1]), int(match[2]))
    if match := _DICTIONARY.fullmatch(name):
        return arrow_type(match[1])
    if match := _LIST.fullmatch(name):
        return pa.list_(pa.field(match[1], arrow_type(match[2])))
    if match := _STRUCT.fullmatch(name):
        members = [_MEMBER.fullmatch(member) for member in match[1].split(", ")]
        return pa.struct([(member[1], arrow_type(member[2])) for member in members if member])
    raise BinxError(f"{name!r} is no type of the data set; export the logs again with this version of binx")


def plain(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return a file's column in the type of :func:`arrow_type`."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
    return column if column.type == kind else column.cast(kind)


def constant(text: str | None, kind: pa.DataType) -> pa.Scalar | None:
    """Parse a record's constant (:mod:`binx.rows.absent`); None if the type has no text form."""
    if text is None:
        return pa.scalar(None, kind)
    if pa.types.is_binary(kind):
        return pa.scalar(bytes.fromhex(text), kind)
    if pa.types.is_nested(kind):
        return None
    value = pa.scalar(text, pa.string())
    try:
        if pa.types.is_duration(kind):
            return value.cast(pa.int64()).cast(kind)
        if pa.types.is_timestamp(kind):
            return value.cast(pa.timestamp("us")).cast(kind)
        return value.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def can_misfit(column: TableColumn | FileColumn) -> bool:
    """Whether values may be recorded in ``_misfits``, as :mod:`binx.rows.columns.types` has it."""
    if column.arrow_type == "string":
        return column.mysql_type.lower().startswith("set")
    return column.arrow_type.startswith(("date32", "timestamp", "dictionary"))


def output_names(columns: Sequence[TableColumn]) -> dict[int, str]:
    """Return the columns' names in ``current/``: their own, unless it clashes with one of the loader's."""
    taken = set(_RESERVED)
    names = {}
    for column in columns:
        name = column.name
        while name.lower() in taken:
            name += "_"
        taken.add(name.lower())
        names[column.id] = name
    return names


def chain_column(names: Iterable[str]) -> str:
    """Return the name of the column with the shard of a row, beside columns of these names."""
    taken, name = {own.lower() for own in names}, "_chain"
    while name in taken:
        name += "_"
    return name


def sortable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a key column's values in a form that sorts: numbers, text or binary."""
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return column.cast(pa.int64())
    if pa.types.is_date32(kind):
        return column.cast(pa.int32())
    if pa.types.is_boolean(kind):
        return column.cast(pa.int8())
    if pa.types.is_floating(kind):
        # Negative zero equals zero as a key.
        return pc.add(column, pa.scalar(0.0, kind))
    return column


def sql_type(column: TableColumn) -> ColumnSpec | None:
    """Return the SQL type of a column; None if it is not known."""
    return written_type(column.mysql_type)


def size_of(kind: ColumnSpec) -> int:
    """Return a type's length; of times, the digits of the fraction."""
    return kind.arguments[0] if kind.arguments else int(kind.base in ("char", "binary"))


_KINDS = {
    "int8": Kind.INT8, "int16": Kind.INT16, "int32": Kind.INT32, "int64": Kind.INT64, "uint64": Kind.UINT64,
    "float": Kind.FLOAT32, "double": Kind.FLOAT64, "bool": Kind.BOOL, "date32[day]": Kind.DATE,
    "timestamp[us]": Kind.DATETIME, "timestamp[us, tz=UTC]": Kind.TIMESTAMP, "duration[us]": Kind.TIME,
    "string": Kind.TEXT, "binary": Kind.BINARY,
}  # fmt: skip
_FRACTION = 6
"""Digits of a second's fraction where no type says how many."""


def logical_type(column: TableColumn, kind: pa.DataType) -> LogicalType:
    """Return the type of a column whose values have an Arrow type: the declared one if that has it."""
    declared = _declared(column.mysql_type, column.charset)
    if declared is not None:
        if pa.types.is_integer(kind):
            # Members whose values are numbers do not tell what these stand for.
            declared = declared._replace(members=None)
        if arrow_type(str(declared_arrow_type(declared))) == kind:
            return declared
    if pa.types.is_decimal(kind):
        return LogicalType(Kind.DECIMAL, "decimal", precision=kind.precision, scale=kind.scale)
    own = Kind.VECTOR if pa.types.is_list(kind) else _KINDS.get(str(kind), Kind.GEOMETRY)
    own = Kind.JSON if column.arrow_type == "extension<arrow.json>" else own
    digits = _FRACTION if pa.types.is_temporal(kind) else 0
    return LogicalType(own, own.value, fraction=digits, charset=column.charset or None)


@lru_cache(maxsize=4096)
def _declared(mysql_type: str, charset: str) -> LogicalType | None:
    spec = written_type(mysql_type)
    if spec is None:
        return None
    return declared_type(resolve_column(spec, DeclaredCharset(charset or None), DEFAULT_CONTEXT))
