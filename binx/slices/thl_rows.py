"""Row changes as Tungsten's listing has them, whole columns at a time.

Values are as those of JSON (:mod:`binx.slices.json_values`) but for these: text and times have no quotes,
bytes in hexadecimal, BIT(1) is 1 or 0, NULL is ``NULL``, and large and small floating-point numbers have the
exponent where Python has it. A JSON document stands as the log has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from binx.kernels.render.row_changes import Spelling
from binx.log.file import BinlogFile
from binx.rows.batches import ChangeBatch
from binx.rows.columns.types import Kind, LogicalType
from binx.rows.images import BatchImages, ChangeGroup, Images
from binx.slices.json_values import json_values, text_values, vector_values
from binx.slices.pieces import Changes, Part, Spelled, changes_of, columns
from binx.slices.texts import constant, python_json_reals, python_reals, with_misfits
from binx.source.wording import encoded

NULL = b"NULL"

_QUOTE = b'"'


def thl_values(array: pa.Array, logical: LogicalType) -> tuple[Spelled, ...]:
    """A column as texts."""
    special = _SPECIAL.get(logical.kind)
    if special is None:
        return tuple(map(_bare, json_values(array, logical)))
    return (special(array, logical)._replace(null=NULL),)


def _bare(spelled: Spelled) -> Spelled:
    null = NULL if spelled.null else b""
    if spelled.spelling is Spelling.SPELL_JSON:
        return spelled._replace(spelling=Spelling.SPELL_ESCAPED, null=null)
    if spelled.open != _QUOTE:
        return spelled._replace(null=null)
    return spelled._replace(open=b"", close=spelled.close.removesuffix(_QUOTE), null=null)


def _text(array: pa.Array, logical: LogicalType) -> Spelled:
    return _bare(text_values(array, logical, str))


def _binary(array: pa.Array, _: LogicalType) -> Spelled:
    return Spelled(Spelling.SPELL_HEXADECIMAL, array)


def _bool(array: pa.Array, _: LogicalType) -> Spelled:
    return Spelled(Spelling.SPELL_TEXT, pc.if_else(array, constant("1"), constant("0")))


def _real(array: pa.Array, _: LogicalType) -> Spelled:
    return Spelled(Spelling.SPELL_TEXT, python_reals(array))


def _vector(array: pa.Array, _: LogicalType) -> Spelled:
    return vector_values(array, python_json_reals(array.values))


def _json(array: pa.Array, logical: LogicalType) -> Spelled:
    return Spelled(Spelling.SPELL_TEXT if logical.base == "json" else Spelling.SPELL_ESCAPED, array)


_SPECIAL: dict[Kind, Callable[[pa.Array, LogicalType], Spelled]] = {
    Kind.BOOL: _bool,
    Kind.FLOAT32: _real,
    Kind.FLOAT64: _real,
    Kind.TEXT: _text,
    Kind.BINARY: _binary,
    Kind.JSON: _json,
    Kind.VECTOR: _vector,
}


EVENT_CLASS = "com.continuent.tungsten.replicator.event.ReplDBMSEvent"
"""What Tungsten calls the sort of its transactions; each names it."""

_EVENT = Spelled(Spelling.SPELL_EVENT)
_ORDINAL = Spelled(Spelling.SPELL_ORDINAL, close=b"\n")


def thl_rows(changes: ChangeBatch, _: BinlogFile) -> list[Changes]:
    """The row changes of a batch; a renderer for :func:`~binx.slices.changes.ordered_changes`."""
    images = BatchImages(changes)
    return changes_of(images, _BatchThl(images).row)


class _BatchThl:
    def __init__(self, images: BatchImages) -> None:
        self._images = images
        self._cache: dict[int, tuple[Spelled, ...]] = {}

    def row(self, group: ChangeGroup) -> Iterator[bytes | Part]:
        table = self._images.changes.table
        about = f" - ACTION = {group.operation.upper()}\n - SCHEMA = {table.db}\n - TABLE = {table.name}\n"
        yield Part(encoded(about), _EVENT)
        yield Part(b" - ROW# = ", _ORDINAL)
        for prefix, images in (("COL", group.after), ("KEY", group.before)):
            if images is not None:
                yield from self._values(prefix, images)

    def _values(self, prefix: str, images: Images) -> Iterator[bytes | Part]:
        for place in images.columns:
            lead = f"  - {prefix}({place + 1}: {self._images.columns[place].source_name}) = "
            yield from columns(encoded(lead), self._spelled(place), images.rows)
            yield b"\n"

    def _spelled(self, place: int) -> tuple[Spelled, ...]:
        found = self._cache.get(place)
        if found is None:
            column, values = self._images.columns[place], self._images.column(place)
            misfits = self._images.misfits.get(column.name)
            found = with_misfits(thl_values(values, column.type), values, misfits, NULL)
            self._cache[place] = found
        return found
