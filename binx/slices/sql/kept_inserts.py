"""What the texts of a table's plain inserts consist of, told once and not for each batch of rows.

A log of thousands of tables has as many batches in each piece, of a few rows each: to tell what their texts
consist of takes longer than to write these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from binx.rows.columns.column_buffers import ColumnBuffers
from binx.rows.images import INSERT, BatchImages, ChangeGroup, Images
from binx.rows.parts import Part, assembled, buffers_memory, kernel_part, value_width
from binx.slices.pieces import Changes, changes_of

if TYPE_CHECKING:
    import pyarrow as pa

    from binx.kernels.render.row_changes import KernelPart
    from binx.rows.batches import ChangeBatch, TableChanges

_SEEN_AS_A_WHOLE = ("_json_diff", "_misfits")


class _KeptPart(NamedTuple):
    """A part of the text of a plain insert, for any batch of the table.

    Attributes:
        place: of its column in the batch; None where it has none.
    """

    part: KernelPart
    place: int | None
    width: int


class KeptInserts:
    """Remembers, by table, what the texts of its plain inserts consist of.

    Plain are batches of inserts alone with all columns, each as the row kernel gave it; kept is what says of
    each column how it is spelled as it is, whatever its values. All others are told batch by batch.
    """

    def __init__(self) -> None:
        self._kept: dict[int, tuple[TableChanges, list[_KeptPart] | None]] = {}

    def changes_of(
        self,
        images: BatchImages,
        parts: Callable[[ChangeGroup], Iterable[bytes | Part]],
        marks: Callable[[ChangeGroup], pa.Array] | None = None,
        statement: Callable[[ChangeGroup], tuple[bytes, bytes, bytes] | None] | None = None,
    ) -> list[Changes]:
        """A batch's row changes, as :func:`~binx.slices.pieces.changes_of` gives them."""
        batch = images.changes
        if not _is_plain(batch):
            return changes_of(images, parts, marks, statement=statement)
        group = ChangeGroup(None, Images(None, tuple(range(len(images.columns)))))
        table, kept = self._kept.get(id(batch.table), (None, None))
        if table is None:
            told = assembled(parts(group))
            self._kept[id(batch.table)] = batch.table, _kept_parts(images, told)
            filled = [kernel_part(part) for part in told]
        elif kept is None:
            return changes_of(images, parts, marks, statement=statement)
        else:
            filled = [_filled(batch, one) for one in kept]
        versions, numbers = images.integers("_commit_version"), images.integers("_row")
        told_marks = None if marks is None else marks(group)
        around = None if statement is None else statement(group)
        return [Changes(versions, numbers, None, batch.rows, filled, told_marks, statement=around)]


def _is_plain(batch: ChangeBatch) -> bool:
    columns, places = batch.columns, batch.table.alike.places
    return (
        all(type(column) is ColumnBuffers for column in columns)
        and not batch.partial_rows
        and batch.change_types.count(INSERT) == batch.rows
        and all(columns[places[name]].values is None for name in _SEEN_AS_A_WHOLE if name in places)
    )


def _kept_parts(images: BatchImages, parts: Iterable[Part]) -> list[_KeptPart] | None:
    """The parts for any batch; None where one is made of this batch's values."""
    kept = []
    for part in parts:
        spelled = part.spelled
        if part.rows is not None or part.mask is not None:
            return None
        if spelled is None or (spelled.column is None and spelled.ask is None):
            kept.append(_KeptPart(kernel_part(part), None, 0))
            continue
        place = None if spelled.column is None else images.place_of(spelled.column)
        if place is None or spelled.ask is not None:
            return None
        bare = part._replace(spelled=spelled._replace(column=None))
        kept.append(_KeptPart(kernel_part(bare), place, value_width(spelled.column)))
    return kept


def _filled(batch: ChangeBatch, kept: _KeptPart) -> KernelPart:
    """A part for a batch."""
    part, place, width = kept
    column = None if place is None else batch.columns[place]
    if not isinstance(column, ColumnBuffers):
        return part
    spelling, texts, parameter, listed, _, rows, mask, ask = part
    memory = buffers_memory(column, width, batch.rows)
    return spelling, texts, parameter, listed, memory, rows, mask, ask
